/* The lane of the CPU: a plain float inside a loop over AM_W lanes, which the compiler vectorises.
 *
 * Row scalars are lanes too: AM_W rows side by side when lanes run across rows, AM_W copies of one
 * number when they run along a row. So one expansion of a program serves both directions. */
#ifndef AM_CPU_LANES_H
#define AM_CPU_LANES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__clang__)
#define AM_LANE_LOOP _Pragma("clang loop vectorize(assume_safety)")
#define AM_ALWAYS_INLINE __attribute__((always_inline))
#elif defined(__GNUC__)
#define AM_LANE_LOOP _Pragma("GCC ivdep")
#define AM_ALWAYS_INLINE __attribute__((always_inline))
#else
#define AM_LANE_LOOP
#define AM_ALWAYS_INLINE
#endif

/* Lanes whose sums fit the registers beside what an expression needs. */
#if defined(__AVX512F__)
#define AM_CHUNK 64
#elif defined(__AVX__)
#define AM_CHUNK 32
#else
#define AM_CHUNK 16
#endif

/* A loop over lanes: no lane reads what another lane writes. */
#define AM_LANES AM_LANE_LOOP for (int am_l = 0; am_l < AM_CHUNK; am_l++)

static inline AM_ALWAYS_INLINE int32_t am_bits(float x) {
    int32_t i;
    memcpy(&i, &x, 4);
    return i;
}

static inline AM_ALWAYS_INLINE float am_from_bits(int32_t i) {
    float x;
    memcpy(&x, &i, 4);
    return x;
}

#define AM_FN static inline AM_ALWAYS_INLINE
#define real float
#define ints int32_t
#define cond int
#define rowf float
#define rowi int32_t
#define LIT(c) (c)
#define ILIT(c) (c)
#define ROWLIT(c) (c)
#define AM_INF INFINITY
#if defined(__GNUC__) && !defined(__clang__)
/* By masks: GCC turns nested ?: into branches, and does not vectorise a loop that has any left. */
static inline AM_ALWAYS_INLINE float am_select(int32_t c, float a, float b) {
    return am_from_bits((am_bits(a) & -c) | (am_bits(b) & ~-c));
}
#define am_sel(c, a, b) am_select(c, a, b)
#else
#define am_sel(c, a, b) ((c) ? (a) : (b))
#endif
#define am_and(a, b) ((a) & (b))
#define am_or(a, b) ((a) | (b))
#define am_float(i) ((float)(i))
/* The conversion of a NaN is undefined in C. */
#define am_int(x) ((int32_t)am_sel((x) == (x), x, 0.0f))
#if defined(__SSE4_1__) || defined(__aarch64__)
#define am_round(x) rintf(x)
#else
/* Without an instruction for it: 1.5 * 2^23 leaves no room for a fraction. For |x| < 2^22. */
#define am_round(x) (((x) + 12582912.0f) - 12582912.0f)
#endif
#define am_sqrt(x) sqrtf(x)
#define am_fabs(x) fabsf(x)
#define am_row(v) (v)
#if defined(__FMA__) || defined(__aarch64__)
#define am_fma(a, b, c) fmaf(a, b, c)
#else
#define am_fma(a, b, c) ((a) * (b) + (c))
#endif
/* By addition: 1.5 * 2^23 + n ends with the bits of n, and a NaN needs no case of its own. */
#define am_pow2(n) \
    am_from_bits((int32_t)(((uint32_t)am_bits((n) + 12582912.0f) << 23) + 0x3f800000u))
/* The sum whose last bits are n serves both; no clamp. */
#define AM_SPLIT(x, c, n, s)                                        \
    const real c = x, am_sum = am_fma(c, 1.44269504f, 12582912.0f); \
    const real n = am_sum - 12582912.0f;                            \
    const real s = am_from_bits((int32_t)(((uint32_t)am_bits(am_sum) << 23) + 0x3f800000u));

/* Constants of a loop: what ROW_IDLE and ROW_PLAIN said of its tile, and (below) ROW_UNIT of its
 * rows. */
enum { am_idles = 0, am_plains = 0, am_unit = 0 };
#define am_idle(a, b) (am_idles ? (a) : (b))
#define am_plain(a, b) (am_plains ? (a) : (b))

#include "../math/am.h"

#undef am_shifted_exp
#define am_shifted_exp(z, m, k) \
    (am_unit ? am_exp_negative((z) - (m)) : am_exp_shifted(z, am_lane(m), am_lane(k)))

#endif
