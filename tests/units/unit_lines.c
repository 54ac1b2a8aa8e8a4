/* Conversion of 16-bit floats at each instruction-set level: all values of both types, and f32
 * around all that they round to, against arithmetic in double. Lines of every length and alignment;
 * squares turned over. */
#include "lines_level.h"

#include "../support/suite.h"

#include <math.h>
#include <string.h>

#include "cpu/half.h"
#include "cpu/turn.h"
#include "launch.h"

/* Without a call into Check for each of millions of values. */
#define WANT(condition, ...)                         \
    do {                                             \
        if (!(condition)) ck_abort_msg(__VA_ARGS__); \
    } while (0)

#define LEVEL(name) extern const lines_level lines_##name;
LINES_LEVELS
#undef LEVEL
#define LEVEL(name) &lines_##name,
static const lines_level *const levels[] = {LINES_LEVELS};
#undef LEVEL

static const struct {
    uint32_t type;
    int digits, bias;
} types[] = {{AM_F16, 10, 15}, {AM_BF16, 7, 127}};

/* The levels that run here; the loop tests go over types and these. */
static const lines_level *level_at(int i) {
    const lines_level *level = levels[i / COUNT(types)];
    return am_cpu_can_run(level->level) ? level : NULL;
}

static bool word_is_nan(int t, uint32_t word) {
    return (word & 0x7fff) > (uint32_t)(2 * types[t].bias + 1) << types[t].digits;
}

static double value_of(int t, uint32_t word) {
    int digits = types[t].digits, exponent = (word & 0x7fff) >> digits;
    double fraction = word & ((1u << digits) - 1), sign = word & 0x8000 ? -1 : 1;
    if (exponent == 2 * types[t].bias + 1) return sign * INFINITY;
    if (exponent > 0)
        fraction += 1 << digits;
    else
        exponent = 1;
    return sign * ldexp(fraction, exponent - types[t].bias - digits);
}

/* To the nearest, ties to even, beyond the largest to infinity. */
static uint32_t word_of(int t, float x) {
    int digits = types[t].digits, bias = types[t].bias, exponent;
    uint32_t sign = signbit(x) ? 0x8000 : 0, infinity = (uint32_t)(2 * bias + 1) << digits;
    if (isinf(x)) return sign | infinity;
    frexp(x, &exponent);
    if (x == 0 || exponent < 2 - bias) exponent = 2 - bias;
    uint32_t word = (uint32_t)(exponent + bias - 2) << digits;
    word += (uint32_t)nearbyint(ldexp(fabs((double)x), digits + 1 - exponent));
    return sign | (word < infinity ? word : infinity);
}

START_TEST(widens) {
    static uint16_t words[0x10000];
    static float got[0x10000];
    const lines_level *level = level_at(_i);
    int t = _i % COUNT(types);
    if (level == NULL) return;
    for (uint32_t w = 0; w < 0x10000; w++) words[w] = (uint16_t)w;
    level->load(got, (const char *)words, types[t].type, 1, 0x10000);
    for (uint32_t w = 0; w < 0x10000; w++) {
        float plain = types[t].type == AM_F16 ? am_from_f16(words[w]) : am_from_bf16(words[w]);
        uint32_t bits = am_float_word(got[w]);
        if (word_is_nan(t, w)) {
            /* Sign and payload stay; the bit that says quiet may be set. */
            uint32_t want = (w & 0x8000) << 16 | 0x7f800000 |
                            (w & ((1u << types[t].digits) - 1)) << (23 - types[t].digits);
            WANT((bits | 0x400000) == (want | 0x400000), "%s: %04x is %08x", level->name, w, bits);
            WANT((am_float_word(plain) | 0x400000) == (want | 0x400000), "plainly %04x", w);
            continue;
        }
        WANT(bits == am_float_word((float)value_of(t, w)), "%s: %04x is %08x", level->name, w,
             bits);
        WANT(am_float_word(plain) == bits, "plainly %04x", w);
    }
}
END_TEST

/* Lower halves of words: those next to where rounding changes its mind, in either type. */
static const uint32_t lower[] = {0,      1,      0x0fff, 0x1000, 0x1001, 0x2fff, 0x3000,
                                 0x3001, 0x7fff, 0x8000, 0x8001, 0xefff, 0xf000, 0xffff};

START_TEST(narrows) {
    static float from[0x10000];
    static uint16_t got[0x10000];
    static _Alignas(64) uint16_t streamed[0x10000];
    const lines_level *level = level_at(_i / COUNT(lower));
    int t = _i / COUNT(lower) % COUNT(types);
    if (level == NULL) return;
    for (uint32_t w = 0; w < 0x10000; w++)
        from[w] = am_word_float(w << 16 | lower[_i % COUNT(lower)]);
    level->store((char *)got, types[t].type, 1, from, 0x10000);
    level->stream((char *)streamed, types[t].type, from, 0x10000);
    WANT(memcmp(got, streamed, sizeof got) == 0, "%s: past the caches", level->name);
    for (uint32_t w = 0; w < 0x10000; w++) {
        uint16_t plain = types[t].type == AM_F16 ? am_to_f16(from[w]) : am_to_bf16(from[w]);
        WANT(plain == got[w], "%s: %08x is %04x, plainly %04x", level->name, am_float_word(from[w]),
             got[w], plain);
        if (isnan(from[w]))
            WANT(word_is_nan(t, got[w]) && (got[w] & 1 << (types[t].digits - 1)) != 0,
                 "%s: %08x is %04x", level->name, am_float_word(from[w]), got[w]);
        else
            WANT(got[w] == word_of(t, from[w]), "%s: %08x is %04x", level->name,
                 am_float_word(from[w]), got[w]);
    }
}
END_TEST

/* Every length up to a few steps, at every place of a line of the cache; around what is written
 * nothing changes. */
#define LONGEST 300
#define AROUND 64
#define CANARY 0x5a

static void check_around(const char *block, size_t first, size_t size, size_t all) {
    for (size_t i = 0; i < all; i++)
        WANT((i >= first && i < first + size) || block[i] == CANARY,
             "byte %zu, not of %zu from %zu", i, size, first);
}

START_TEST(lengths) {
    static _Alignas(64) char block[4 * LONGEST + 3 * AROUND], same[sizeof block];
    float from[LONGEST], back[LONGEST + 1];
    const lines_level *level = level_at(_i * COUNT(types));
    static const uint32_t all[] = {AM_F32, AM_F16, AM_BF16};
    if (level == NULL) return;
    for (int i = 0; i < LONGEST; i++) from[i] = (float)(i - 100) / 8;
    for (int which = 0; which < 3; which++) {
        size_t size = all[which] == AM_F32 ? 4 : 2;
        for (int count = 0; count <= LONGEST; count += count < 80 ? 1 : 11)
            for (size_t place = 0; place < 64; place += size) {
                memset(block, CANARY, sizeof block);
                memset(same, CANARY, sizeof same);
                level->store(block + AROUND + place, all[which], 1, from, count);
                level->stream(same + AROUND + place, all[which], from, count);
                check_around(block, AROUND + place, (size_t)count * size, sizeof block);
                WANT(memcmp(block, same, sizeof block) == 0, "%s: %d", level->name, count);
                back[count] = 4711;
                level->load(back, block + AROUND + place, all[which], 1, count);
                for (int i = 0; i <= count; i++)
                    WANT(back[i] == (i < count ? from[i] : 4711), "%s: %d of %d", level->name, i,
                         count);
            }
    }
}
END_TEST

/* A square out of a larger one, into a larger one. */
START_TEST(turns) {
    enum { WIDE = AM_TURN + 5 };
    const lines_level *level = level_at(_i * COUNT(types));
    float from[AM_TURN][WIDE], to[AM_TURN][WIDE];
    if (level == NULL) return;
    for (int i = 0; i < AM_TURN; i++)
        for (int j = 0; j < WIDE; j++) {
            from[i][j] = (float)(i * WIDE + j);
            to[i][j] = -1;
        }
    level->turn(&to[0][1], WIDE, &from[0][2], WIDE);
    for (int i = 0; i < AM_TURN; i++)
        for (int j = 0; j < WIDE; j++) {
            float want = j >= 1 && j <= AM_TURN ? (float)((j - 1) * WIDE + i + 2) : -1;
            WANT(to[i][j] == want, "%s: line %d, number %d: %g", level->name, i, j, to[i][j]);
        }
}
END_TEST

static void add(TCase *all) {
    int lines = COUNT(levels) * COUNT(types);
    tcase_add_loop_test(all, widens, 0, lines);
    tcase_add_loop_test(all, narrows, 0, lines * COUNT(lower));
    tcase_add_loop_test(all, lengths, 0, COUNT(levels));
    tcase_add_loop_test(all, turns, 0, COUNT(levels));
}

int main(void) {
    return suite_main("lines", add);
}
