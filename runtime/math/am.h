/* The common subset of C, OpenCL C and GLSL in which row programs are written, and its functions.
 *
 * A skeleton defines the lane before it includes this file:
 *     real    a lane: float, or float16 in CPU-shaped OpenCL       LIT(c)     a constant of it
 *     ints    its integers (columns)                               ILIT(c)
 *     cond    what a comparison of lanes gives
 *     rowf    a row scalar: float; float16 when lanes run across rows     ROWLIT(c)
 *     rowi    its integers
 *     AM_FN   how a function is declared
 *     am_sel(c, a, b)  lanes: a where c, else b      am_and(a, b), am_or(a, b)  conditions of lanes
 *     am_bits(x) am_from_bits(i)  reinterpretation   am_float(i) am_int(x)      conversion
 *     am_round(x) to the nearest, even               am_sqrt(x) am_fabs(x)
 *     am_row(v)   a lane value (all lanes alike) as a row scalar
 *     am_fma(a, b, c)  a b + c, rounded once where that is cheap     am_pow2(n)  2^n, |n| <= 126
 *     AM_INF
 * Row scalars select with ?: (both sides row scalars: ROWLIT), never with if; lanes with am_sel. No
 * pointers, no structs, no loops over lanes. */

#ifndef am_fma
#define am_fma(a, b, c) ((a) * (b) + (c))
#endif
/* a where ROW_IDLE holds and the skeleton asks, else b. */
#ifndef am_idle
#define am_idle(a, b) b
#endif
/* The same where ROW_PLAIN holds too. */
#ifndef am_plain
#define am_plain(a, b) b
#endif
#ifndef am_pow2
/* The mask: no shift of whatever integer a NaN becomes. */
#define am_pow2(n) am_from_bits(((am_int(n) + 127) & 255) << 23)
#endif

/* c: x, or what stands for it below -87.3; n: c / ln 2 to the nearest integer; s: 2^n. Where
 * integers out of range do no harm, what becomes of n and s below -87.3 does not matter. */
#ifndef AM_SPLIT
#define AM_SPLIT(x, c, n, s)                     \
    real c = am_sel(x < -87.3f, LIT(-87.3f), x); \
    real n = am_round(c * 1.44269504f);          \
    real s = am_pow2(n);
#endif

/* exp(x) for x <= 0 (and up to 88): 2 ulp; exactly 0 below -87.3; NaN stays NaN. */
AM_FN real am_exp_negative(real x) {
    /* exp(x) = 2^n exp(r), |r| <= ln 2 / 2, with ln 2 in two parts (Cody and Waite) and a
     * polynomial of least error on that interval, 4e-9. */
    AM_SPLIT(x, c, n, s)
    real r = am_fma(n, LIT(2.12194440e-4f), am_fma(n, LIT(-0.693359375f), c));
    real p = LIT(1.38145123e-3f);
    p = am_fma(p, r, LIT(8.36875290e-3f));
    p = am_fma(p, r, LIT(4.16683890e-2f));
    p = am_fma(p, r, LIT(1.66665196e-1f));
    p = am_fma(p, r, LIT(4.99999940e-1f));
    p = am_fma(p, r, LIT(1.0f));
    p = am_fma(p, r, LIT(1.0f));
    return am_sel(x < -87.3f, LIT(0.0f), p * s);
}

/* exp(x) for any x up to 88.7 (from there on it stays): 2 ulp; 0 and NaN as above. The power of two
 * of a positive x has two factors, as 2^128 is not a float. */
AM_FN real am_exp(real x) {
    real c = am_sel(x > 88.72f, LIT(88.72f), x);
    real up = am_sel(c > 0.0f, am_round(c * 1.44269504f), LIT(0.0f));
    real r = (c - up * 0.693359375f) + up * 2.12194440e-4f;
    ints e = am_int(up);
    ints h = e >> 1;
    real s = am_exp_negative(r) * am_from_bits((h + 127) << 23);
    return s * am_from_bits((e - h + 127) << 23);
}

/* log(1 + f) + e ln 2 for f in [sqrt(1/2) - 1, sqrt(2) - 1], to the last digits for small f too
 * (the polynomial of Cephes' logf). */
AM_FN real am_log_near_one(real f, real e) {
    real z = f * f;
    real p = LIT(7.0376836292e-2f);
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    return ((f * z * p + e * -2.12194440e-4f) - 0.5f * z + f) + e * 0.693359375f;
}

/* log(x) for x >= 2^-126: 2 ulp. 0 and below are the caller's business. */
AM_FN real am_log(real x) {
    ints b = am_bits(x) - 0x3f3504f3;
    real f = am_from_bits((b & 0x007fffff) + 0x3f3504f3) - 1.0f;
    return am_log_near_one(f, am_float(b >> 23));
}

/* log(base + x) for a base of 0 or 1 and 2^-126 < base + x < 2^126: 3 ulp, for tiny x too; about
 * -88 where the sum is 0. The exponent n is that of the rounded sum, the fraction (base + x) 2^-n -
 * 1 comes from x itself. (The usual correction x - (u - 1) with u = 1 + x is what some shader
 * compilers simplify to 0.) */
AM_FN real am_log_sum(real base, real x) {
    ints n = (am_bits(base + x) - 0x3f3504f3) >> 23;
    real s = am_from_bits(((127 - n) & 255) << 23);
    return am_log_near_one(s * x + (s * base - 1.0f), am_float(n));
}

/* log(1 + x), x > -1. */
AM_FN real am_log1p(real x) {
    return am_log_sum(LIT(1.0f), x);
}

/* 1 where a visible value must poison its row: NaN or +inf, but not -inf, which masks. By bits, as
 * a driver may assume that there are no infinities. */
AM_FN real am_poison(real x) {
    ints b = am_bits(x);
    return am_sel(am_and((b & 0x7fffffff) >= 0x7f800000, b != -0x00800000), LIT(1.0f), LIT(0.0f));
}

/* z - m for z <= m, kept finite, as 0 times an overflow is NaN. */
AM_FN real am_gap(real z, real m) {
    real d = z - m;
    return am_sel(d > -3.4028234e38f, d, LIT(-3.4028234e38f));
}

/* exp(k (z - m)) for a visible z <= m, 0 where z is masked; k >= 0. */
AM_FN real am_exp_shifted(real z, real m, real k) {
    return am_sel(z == -AM_INF, LIT(0.0f), am_exp_negative(am_gap(z, m) * k));
}

/* Row scalars as lanes, and the functions on row scalars. */
#define am_lane(v) LIT(v)
#define am_exp_row(x) am_row(am_exp(am_lane(x)))
#define am_log_row(x) am_row(am_log(am_lane(x)))
#define am_log1p_row(x) am_row(am_log1p(am_lane(x)))
#define am_sqrt_row(x) am_row(am_sqrt(am_lane(x)))
/* 1/s, and 0 for s == 0: NaN stays NaN. */
#define am_inverse_row(s) ((s) == 0.0f ? ROWLIT(0.0f) : 1.0f / (s))

/* v in column i, else 0: the gather of a row. Padding lanes have column -1. */
#define am_at(i, v) am_sel(col == (i), (v), LIT(0.0f))
#define am_visible(z) ((z) > -AM_INF)
#define am_shifted_exp(z, m, k) am_exp_shifted(z, am_lane(m), am_lane(k))
/* k (z - m) of a visible z. */
#define am_below(z, m, k) (am_gap(z, am_lane(m)) * (k))
/* The factor exp(k w) of ROW_MOVE, also where w is -inf: a lane that has seen nothing holds zeros.
 */
#define am_moved(w, k) am_exp_negative(am_gap(w, LIT(0.0f)) * (k))
