/* What the processor can run. Asks the operating system too (XGETBV): registers that it does not
 * save cannot be used, whatever CPUID says. */
#include <string.h>

#include "levels.h"

#if defined(__x86_64__) || defined(_M_X64)

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
static void cpuid(uint32_t leaf, uint32_t sub, uint32_t r[4]) {
    __cpuidex((int *)r, (int)leaf, (int)sub);
}
static uint64_t saved_registers(void) {
    return _xgetbv(0);
}
#else
#include <cpuid.h>
static void cpuid(uint32_t leaf, uint32_t sub, uint32_t r[4]) {
    __cpuid_count(leaf, sub, r[0], r[1], r[2], r[3]);
}
static uint64_t saved_registers(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}
#endif

enum { A, B, C, D };

static void leaf(uint32_t number, uint32_t r[4]) {
    uint32_t top[4];
    cpuid(number & 0x80000000u, 0, top);
    memset(r, 0, 4 * sizeof *r);
    if (number <= top[A]) cpuid(number, 0, r);
}

static bool all(uint32_t word, uint32_t bits) {
    return (word & bits) == bits;
}

bool am_cpu_can_run(am_level level) {
    uint32_t one[4], seven[4], extended[4];
    leaf(1, one);
    leaf(7, seven);
    leaf(0x80000001u, extended);
    /* SSE3, SSSE3, SSE4.1, SSE4.2, POPCNT */
    bool v2 = all(one[C], 1u << 0 | 1u << 9 | 1u << 19 | 1u << 20 | 1u << 23);
    /* FMA, MOVBE, OSXSAVE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT */
    bool v3 = v2 && all(one[C], 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29) &&
              all(seven[B], 1u << 3 | 1u << 5 | 1u << 8) && all(extended[C], 1u << 5) &&
              (saved_registers() & 0x06) == 0x06;
    /* AVX512 F, DQ, CD, BW, VL */
    bool v4 = v3 && all(seven[B], 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31) &&
              (saved_registers() & 0xe6) == 0xe6;
    return level == AM_LEVEL_V4 ? v4 : level == AM_LEVEL_V3 ? v3 : level == AM_LEVEL_V2 && v2;
}

void am_cpu_describe(char *name, uint32_t *vendor) {
    uint32_t r[4], brand[12];
    leaf(0, r);
    *vendor = r[B] == 0x756e6547u ? 0x8086u : r[B] == 0x68747541u ? 0x1022u : 0;
    for (uint32_t i = 0; i < 3; i++) leaf(0x80000002u + i, brand + 4 * i);
    memcpy(name, brand, sizeof brand);
    name[sizeof brand] = 0;
    char *begin = name + strspn(name, " ");
    size_t length = strlen(begin);
    while (length > 0 && begin[length - 1] == ' ') length--;
    memmove(name, begin, length);
    name[length] = 0;
    if (length == 0) strcpy(name, "x86-64 processor");
}

#else

bool am_cpu_can_run(am_level level) {
#if defined(__aarch64__) || defined(_M_ARM64)
    if (level == AM_LEVEL_NEON) return true;
#endif
    return level == AM_LEVEL_GENERIC;
}

void am_cpu_describe(char *name, uint32_t *vendor) {
#if defined(__aarch64__) || defined(_M_ARM64)
    strcpy(name, "arm64 processor");
#else
    strcpy(name, "processor");
#endif
    *vendor = 0;
}

#endif
