/* entmax: y = E(k (z - m) - tau), E(v) = (1 + a v)_+^(1/a), a = alpha - 1, with sum y = 1. As a goes to 0,
 * E goes to exp and y to softmax, without a case of its own. tau lies in [0, L(n)], L(f) = (1 - f^-a)/a
 * the inverse of E at 1/f. Newton on F^a (a norm for a <= 1, convex in tau: it climbs from 0 without
 * overshooting); the bracket [low, high] guards it where a > 1. */
#if defined(ROW_FORWARD)
#include "../map.h"
#define ROW_IN(I) MAP_IN(I)
#define ROW_PARAM(P) MAP_PARAM(P) P(4, 1, alpha)
#define ROW_T0 MAP_T0 a = alpha - 1.0f;
#define ROW_LET MAP_LET
#define ROW_GUARD MAP_GUARD
#define ROW_VARS(V) MAP_VARS(V) V(a) V(tau) V(low) V(high) V(next)
#define ROW_S1(R) R(MAX, m, z) R(SUM, count, am_sel(am_visible(z), LIT(1.0f), LIT(0.0f)))
#define ROW_T1 tau = ROWLIT(0.0f); low = ROWLIT(0.0f); \
    high = count > 1.0f ? am_row(am_qlog(am_lane(count), am_lane(a))) : ROWLIT(1e-30f);
#define ROW_CANDIDATE (z - m) * k * a > -1.0f
#define ENTMAX_Y am_qexp(z, am_lane(m), am_lane(k), am_lane(tau), am_lane(a))
#define ROW_S2(R) R(SUM, f, ENTMAX_Y) R(SUM, d, am_qexp_slope(z, am_lane(m), am_lane(k), am_lane(tau), am_lane(a)))
#define ROW_N2 32
#define ROW_T2                                                                                  \
    low = f >= 1.0f ? tau : low;                                                                \
    high = f >= 1.0f ? high : tau;                                                              \
    next = d > 0.0f ? tau + f / d * am_row(am_qlog(am_lane(f), am_lane(a))) : tau;              \
    tau = next >= low && next <= high ? next : 0.5f * (low + high);
#define ROW_S3(R) R(SUM, q, ENTMAX_Y)
#define ROW_OUT(O) O(1, y, ENTMAX_Y * am_inverse_row(q))
#ifndef AM_ENTMAX_FUNCTIONS
#define AM_ENTMAX_FUNCTIONS
/* E(k (z - m) - tau), 0 where z is masked */
AM_FN real am_qexp(real z, real m, real k, real tau, real a) {
    real v = am_sel(am_visible(z), (z - m) * k - tau, LIT(-3.0e38f));
    real u = 1.0f + a * v;
    real inside = am_sel(u > 0.0f, a * v, LIT(0.0f));
    real p = am_exp(am_sel(a > 0.0f, am_log1p(inside) / am_sel(a > 0.0f, a, LIT(1.0f)), v));
    return am_sel(am_or(u > 0.0f, a == 0.0f), p, LIT(0.0f));
}
/* its derivative, E / (1 + a v) */
AM_FN real am_qexp_slope(real z, real m, real k, real tau, real a) {
    real v = am_sel(am_visible(z), (z - m) * k - tau, LIT(-3.0e38f));
    real u = 1.0f + a * v;
    return am_sel(u > 0.0f, am_qexp(z, m, k, tau, a) / am_sel(u > 0.0f, u, LIT(1.0f)), LIT(0.0f));
}
/* L(f) = (1 - f^-a) / a, log f at a = 0: by its own series where a log f is small */
AM_FN real am_qlog(real f, real a) {
    real l = am_log(f);
    real v = a * l;
    real series = l * (1.0f - 0.5f * v * (1.0f - 0.33333333f * v * (1.0f - 0.25f * v)));
    return am_sel(am_fabs(v) < 0.03f, series, (1.0f - am_exp(-v)) / am_sel(a > 0.0f, a, LIT(1.0f)));
}
#endif
#else
/* From y, with l = -log y and s = y e^(a l) = y^(2 - alpha) on the support:
 *     grad_x = scale s (g - sum s g / sum s)
 *     grad_alpha = [G1 M - sum g B + a (sum g y l M - H sum g B)] / (2 sum s)
 * where B = y l^2 f(a l), f(v) = 2 (e^v - 1 - v) / v^2, M = sum B, H = sum y l, G1 = sum g y. This is the
 * gradient of the paper with its terms in 1/a and 1/a^2 cancelled by hand, so that it stays exact as
 * a goes to 0. */
#define ROW_IN(I) I(1, y, 0.0f) I(2, up_y, 0.0f)
#define ROW_PARAM(P) P(14, 0, scale) P(4, 1, alpha)
#define ROW_VARS(V) V(q) V(a) V(slope)
#define ROW_T0 a = alpha - 1.0f;
#define ROW_GUARD am_poison(y)
#define ROW_LET                                                                              \
    const real l = am_sel(y > 0.0f, -am_log(am_sel(y > 0.0f, y, LIT(1.0f))), LIT(0.0f));     \
    const real s = am_sel(y > 0.0f, y * am_exp(l * a), LIT(0.0f));                           \
    const real b = am_entmax_curve(y, l, s, am_lane(a));                                     \
    const real g = am_sel(y > 0.0f, up_y, LIT(0.0f));
#define ROW_S1(R)                                                                            \
    R(SUM, ss, s) R(SUM, sg, s * g) R(SUM, h, y * l) R(SUM, mb, b) R(SUM, gy, g * y)         \
        R(SUM, gb, g * b) R(SUM, gh, g * y * l)
#define ROW_T1                                                                               \
    q = sg * am_inverse_row(ss);                                                             \
    slope = (gy * mb - gb + a * (gh * mb - h * gb)) * 0.5f * am_inverse_row(ss);
#define ROW_OUT(O) O(3, grad_x, s * (g - q) * scale)
#define ROW_ROW(O) O(5, grad_alpha, slope)
#ifndef AM_ENTMAX_CURVE
#define AM_ENTMAX_CURVE
/* y l^2 f(a l) = 2 (s - y - a y l) / a^2 */
AM_FN real am_entmax_curve(real y, real l, real s, real a) {
    real v = a * l;
    real f = 1.0f + v * 0.33333333f * (1.0f + v * 0.25f * (1.0f + v * 0.2f * (1.0f + v * 0.16666667f)));
    real far = 2.0f * ((s - y) - y * v) / am_sel(a > 0.0f, a * a, LIT(1.0f));
    return am_sel(v < 0.5f, y * l * l * f, far);
}
#endif
#endif
