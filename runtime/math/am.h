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
 *     AM_INF
 * Row scalars select with ?: (both sides row scalars: ROWLIT), never with if; lanes with am_sel. No
 * pointers, no structs, no loops over lanes. */

/* exp(x) for any x up to 88.7: 2 ulp; exactly 0 below -87.3; NaN stays NaN. */
AM_FN real am_exp(real x) {
    /* exp(x) = 2^n exp(r), |r| <= ln 2 / 2, with ln 2 in two parts (Cody and Waite) and a polynomial
     * fitted to exp on that interval (the coefficients of Cephes' expf). */
    real c = am_sel(x < -87.3f, LIT(-87.3f), am_sel(x > 88.72f, LIT(88.72f), x));
    real n = am_round(c * 1.44269504f);
    real r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
    real p = LIT(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r) * r + r + 1.0f;
    /* Two factors, as 2^128 is not a float. */
    ints e = am_int(n);
    ints h = e >> 1;
    real s = am_from_bits((h + 127) << 23) * am_from_bits((e - h + 127) << 23);
    return am_sel(x < -87.3f, LIT(0.0f), p * s);
}

/* log(x) for x >= 2^-126: 2 ulp. 0 and below are the caller's business. */
AM_FN real am_log(real x) {
    ints b = am_bits(x) - 0x3f3504f3;
    real e = am_float(b >> 23);
    real m = am_from_bits((b & 0x007fffff) + 0x3f3504f3) - 1.0f;
    real z = m * m;
    real p = LIT(7.0376836292e-2f);
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    return ((m * z * p + e * -2.12194440e-4f) - 0.5f * z + m) + e * 0.693359375f;
}

/* log(1 + x) for x > -1, to the last digits for small x too. */
AM_FN real am_log1p(real x) {
    real u = 1.0f + x;
    real v = am_sel(u > 0.0f, u, LIT(1.0f));
    return am_sel(u == 1.0f, x, am_log(v) + (x - (u - 1.0f)) / v);
}

/* 1 where a visible value must poison its row: NaN or +inf, but not -inf, which masks. By bits, as a
 * driver may assume that there are no infinities. */
AM_FN real am_poison(real x) {
    ints b = am_bits(x);
    return am_sel(am_and((b & 0x7fffffff) >= 0x7f800000, b != -0x00800000), LIT(1.0f), LIT(0.0f));
}

/* exp(k (z - m)) for a visible z <= m, 0 where z is masked; k >= 0. The difference is clamped, as 0
 * times an overflow is NaN. */
AM_FN real am_exp_shifted(real z, real m, real k) {
    real d = z - m;
    d = am_sel(d > -3.0e38f, d, LIT(-3.0e38f));
    return am_sel(z > -AM_INF, am_exp(k * d), LIT(0.0f));
}

/* Row scalars as lanes, and the functions on row scalars. */
#define am_lane(v) ((real)(v))
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
