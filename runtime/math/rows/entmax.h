/* entmax: y = (a k (z - m) + T)_+^(1/a), a = alpha - 1, with sum y = 1; T in [n^-a, 1] is y^a at
 * the maximum.
 *
 * a <= 1 (plain): as y = E(k (z - m) - tau) with E(v) = (1 + a v)_+^(1/a) and T = 1 - a tau, which
 * goes to softmax as a goes to 0, without a case of its own. With F = sum y, F^a is a norm and so
 * convex in tau: Newton climbs from tau = 0 and never overshoots.
 *
 * a > 1 (wide): y has an infinite slope at the threshold, so that T itself could not hold an entry
 * near it. The threshold is kept as a value `ref` of z, and above it
 *     y = (rho^a + a k (z - ref))^(1/a).
 * A search (rho = 0) narrows (low, high], where F(low) >= 1 > F(high), until no z lies between:
 * each step interpolates log F over log (m - ref) and goes at least to the next z. Then ref = high,
 * and F is convex in rho, the entry of a z at ref: Newton again. */
#if defined(ROW_FORWARD)
#include "../map.h"
#define ROW_IN(I) MAP_IN(I)
#define ROW_PARAM(P) MAP_PARAM(P) P(4, 1, alpha)
#define ROW_T0 MAP_T0 a = alpha > 1.0f ? alpha - 1.0f : ROWLIT(0.0f);
#define ROW_LET MAP_LET
#define ROW_POISON MAP_POISON
#define ROW_BAD am_poison(am_lane((alpha * scale)))
#define ROW_VARS(V)                                                                          \
    MAP_VARS(V)                                                                              \
    V(a)                                                                                     \
    V(wide)                                                                                  \
    V(search)                                                                                \
    V(turn) V(ref) V(tau) V(rho) V(top) V(lift) V(low) V(low_f) V(low_gap) V(high) V(high_f) \
        V(high_gap) V(inside) V(power) V(next) V(found)
#define ROW_S1(R) R(MAX, m, z)
#define ROW_T1                                                             \
    wide = a > 1.0f ? ROWLIT(1.0f) : ROWLIT(0.0f);                         \
    search = k > 0.0f && m > -AM_INF ? wide : ROWLIT(0.0f);                \
    next = 1.0f / (search > 0.0f ? a * k : ROWLIT(1.0f));                  \
    next = m - (next < 1.0e38f ? next : ROWLIT(1.0e38f));                  \
    ref = search > 0.0f ? (next > -3.0e38f ? next : ROWLIT(-3.0e38f)) : m; \
    low = ROWLIT(-AM_INF);                                                 \
    high = m;                                                              \
    top = ROWLIT(1.0f);                                                    \
    rho = wide - search;                                                   \
    lift = ROWLIT(1.0f);                                                   \
    tau = rho > 0.0f ? -1.0f / a : ROWLIT(0.0f);
/* With room for the rounding of this product. */
#define ROW_CANDIDATE am_and(am_visible(z), am_below(z, m, k) * a > -1.0001f)
#define ENTMAX_Y am_entmax(z, am_lane(ref), am_lane(k), am_lane(tau), am_lane(a), am_lane(rho))
#define ROW_S2(R)                                                                          \
    R(SUM, f, ENTMAX_Y)                                                                    \
    R(SUM, d,                                                                              \
      am_entmax_slope(z, am_lane(ref), am_lane(k), am_lane(tau), am_lane(a), am_lane(rho), \
                      am_lane(lift)))                                                      \
    R(MAX, under, am_sel(z < ref, z, LIT(-AM_INF)))                                        \
    R(MAX, over, am_sel(z > ref, -z, LIT(-AM_INF)))
#define ROW_N2 24
/* power: the exponent of F over the gap m - ref, from the ends of the bracket or from the slope. */
#define ENTMAX_ULP(v) (1.2e-7f * ((v) < 0.0f ? -(v) : (v)))
#define ENTMAX_SEARCH                                                                            \
    inside = f < 1.0f ? ROWLIT(1.0f) : ROWLIT(0.0f);                                             \
    found = inside > 0.0f ? (under <= low ? search : ROWLIT(0.0f))                               \
                          : (-over >= high ? search : ROWLIT(0.0f));                             \
    high_f = search * inside > 0.0f ? f : high_f;                                                \
    high = search * inside > 0.0f ? ref : high;                                                  \
    high_gap = m - high;                                                                         \
    low_f = search > 0.0f && inside == 0.0f ? f : low_f;                                         \
    low = search > 0.0f && inside == 0.0f ? ref : low;                                           \
    low_gap = low > -AM_INF ? m - low : ROWLIT(1.0f);                                            \
    low_f = low > -AM_INF ? low_f : ROWLIT(2.0f);                                                \
    power = k * low_gap * d / (f > 0.0f ? f : ROWLIT(1.0f));                                     \
    power = power > 1.0f / a ? power : 1.0f / a;                                                 \
    power = high_f > 0.0f && high_gap > 0.0f                                                     \
                ? am_log_row(low_f / high_f) / am_log_row(low_gap / high_gap)                    \
                : power;                                                                         \
    next = -am_log_row(low_f) / power;                                                           \
    next = high_f > 0.0f || next > -11.0f ? next : ROWLIT(-11.0f);                               \
    turn = turn < 1.5f ? turn + 1.0f : ROWLIT(0.0f);                                             \
    next = turn > 1.5f && high_gap > 0.0f ? am_sqrt_row(low_gap) * am_sqrt_row(high_gap)         \
                                          : low_gap * am_exp_row(next);                          \
    next = m - next;                                                                             \
    next = next < high ? next : high - ENTMAX_ULP(high);                                         \
    next = next > low ? next : low + ENTMAX_ULP(low);                                            \
    next = low > -AM_INF ? next : under;                                                         \
    next = inside > 0.0f ? (next < under && next > low ? next : under)                           \
                         : (next > -over && next < high ? next : -over);                         \
    ref = search > 0.0f ? (found > 0.0f ? high : next) : ref;                                    \
    top = found > 0.0f && low > -AM_INF ? am_exp_row(am_log_row(a * k * (ref - low)) / a) : top; \
    top = top < 1.0f ? top : ROWLIT(1.0f);                                                       \
    search = search - found;
#define ENTMAX_SOLVE                                                                          \
    next = d > 0.0f ? rho - (f - 1.0f) / d : top;                                             \
    next = next < top ? next : top;                                                           \
    next = next > 1.0e-30f ? next : ROWLIT(1.0e-30f);                                         \
    next = found > 0.0f && 1.0f - high_f < top ? 1.0f - high_f : (found > 0.0f ? top : next); \
    rho = wide > 0.0f && search == 0.0f ? next : ROWLIT(0.0f);                                \
    lift = rho > 0.0f ? am_exp_row(a * am_log_row(rho)) : ROWLIT(0.0f);
#define ROW_T2                                                                        \
    found = ROWLIT(0.0f);                                                             \
    next = d > 0.0f ? f / d * am_row(am_qlog(am_lane(f), am_lane(a))) : ROWLIT(0.0f); \
    tau = wide > 0.0f ? tau : tau + next;                                             \
    ENTMAX_SEARCH                                                                     \
    ENTMAX_SOLVE                                                                      \
    tau = wide > 0.0f ? -lift / a : tau;                                              \
    lift = rho > 0.0f ? lift / rho : ROWLIT(1.0f);
#define ROW_S3(R) R(SUM, total, ENTMAX_Y)
#define ROW_OUT(O) O(1, y, (ENTMAX_Y * am_inverse_row(total)))
#ifndef AM_ENTMAX_FUNCTIONS
#define AM_ENTMAX_FUNCTIONS
/* y at z, where z is visible and above the threshold, else 0. */
AM_FN real am_entmax(real z, real ref, real k, real tau, real a, real rho) {
    real w = am_sel(am_visible(z), am_gap(z, ref) * k, LIT(-3.0e38f));
    real base = am_sel(a > 1.0f, LIT(0.0f), LIT(1.0f));
    real x = a * (w - tau);
    real on = am_sel(am_and(base + x > 0.0f, am_or(a <= 1.0f, w >= 0.0f)), LIT(1.0f), LIT(0.0f));
    real l = am_log_sum(base, am_sel(on > 0.0f, x, LIT(1.0f))) / am_sel(a > 0.0f, a, LIT(1.0f));
    real y = am_exp_negative(am_sel(a > 0.0f, l, w - tau));
    return am_sel(am_and(a > 1.0f, w == 0.0f), rho, am_sel(on > 0.0f, y, LIT(0.0f)));
}
/* y^(1-a) lift: the slope of F over tau, or over rho where lift = rho^(a-1). */
AM_FN real am_entmax_slope(real z, real ref, real k, real tau, real a, real rho, real lift) {
    real y = am_entmax(z, ref, k, tau, a, rho);
    real w = am_gap(z, ref) * k;
    real u = am_sel(y > 0.0f, am_sel(a > 1.0f, LIT(0.0f), LIT(1.0f)) + a * (w - tau), LIT(1.0f));
    real tie = am_sel(rho > 0.0f, LIT(1.0f), LIT(0.0f));
    return am_sel(am_and(am_visible(z), am_and(a > 1.0f, w == 0.0f)), tie, y * lift / u);
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
/* From y, with l = -log y and s = y^(1-a) = e^((a-1) l) on the support:
 *     grad_x = scale s (g - q), q = sum s g / sum s
 *     grad_alpha = [G1 M - sum g B + a (sum g y l M - H sum g B)] / (2 sum s)
 * where B = y l^2 f(a l), f(v) = 2 (e^v - 1 - v) / v^2, M = sum B, H = sum y l, G1 = sum g y. This
 * is the gradient of the paper with its terms in 1/a and 1/a^2 cancelled by hand, so that it stays
 * exact as a goes to 0. For a > 1 s grows without bound towards the threshold: the sums hold s and
 * B relative to the largest s, e^top. Where one entry has more than half of sum s, its gradient is
 * minus the sum of the others', as its g - q cancels. */
#define ROW_IN(I) I(1, y, 0.0f) I(2, up_y, 0.0f)
#define ROW_PARAM(P) P(14, 0, scale) P(4, 1, alpha)
#define ROW_VARS(V) V(a) V(shrink) V(inv) V(q) V(slope)
#define ROW_T0 a = alpha > 1.0f ? alpha - 1.0f : ROWLIT(0.0f);
#define ROW_POISON y
#define ROW_LET                                                                          \
    const real l = am_sel(y > 0.0f, -am_log(am_sel(y > 0.0f, y, LIT(1.0f))), LIT(0.0f)); \
    const real t = am_sel(y > 0.0f, l * (a - 1.0f), LIT(-AM_INF));                       \
    const real g = am_sel(y > 0.0f, up_y, LIT(0.0f));
#define ROW_S1(R) R(MAX, top, t)
#define ROW_T1 shrink = top > -AM_INF ? am_exp_row(-top) : ROWLIT(0.0f);
#define ROW_KEEP(K) K(r, am_shifted_exp(t, top, 1.0f))
#define ENTMAX_B am_entmax_curve((y * shrink), l, r, am_lane(a))
#define ROW_S2(R)       \
    R(SUM, ss, r)       \
    R(SUM, sg, (r * g)) \
    R(SUM, h, (y * l))  \
    R(SUM, mb, ENTMAX_B) R(SUM, gy, (g * y)) R(SUM, gb, (g * ENTMAX_B)) R(SUM, gh, (g * y * l))
#define ROW_T2                \
    inv = am_inverse_row(ss); \
    q = sg * inv;             \
    slope = ((gy * mb - gb) + a * (gh * mb - h * gb)) * 0.5f * inv;
#define ENTMAX_PART (am_exp(t) * (g - q))
#define ROW_NEED_3 (inv > 0.5f)
#define ROW_S3(R) R(SUM, others, am_sel(am_and(y > 0.0f, t < top), ENTMAX_PART, LIT(0.0f)))
#define ROW_OUT(O)                                                                                 \
    O(3, grad_x,                                                                                   \
      am_sel(y > 0.0f,                                                                             \
             am_sel(am_and(t == top, am_lane(inv) > 0.5f), am_lane(-others), ENTMAX_PART) * scale, \
             LIT(0.0f)))
#define ROW_ROW(O) O(5, grad_alpha, slope)
#ifndef AM_ENTMAX_CURVE
#define AM_ENTMAX_CURVE
/* y l^2 f(a l) = 2 (s - y - a y l) / a^2: by the series of f where that would cancel */
AM_FN real am_entmax_curve(real y, real l, real s, real a) {
    real v = a * l;
    real f = v * 0.1f + 1.0f;
    f = f * v * 0.11111111f + 1.0f;
    f = f * v * 0.125f + 1.0f;
    f = f * v * 0.14285714f + 1.0f;
    f = f * v * 0.16666667f + 1.0f;
    f = f * v * 0.2f + 1.0f;
    f = f * v * 0.25f + 1.0f;
    f = f * v * 0.33333333f + 1.0f;
    real far = 2.0f * ((s - y) - y * v) / am_sel(a > 0.0f, a * a, LIT(1.0f));
    return am_sel(v < 1.0f, y * l * l * f, far);
}
#endif
#endif
