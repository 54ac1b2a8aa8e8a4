/* entmax15: y = (s - tau)_+^2 with sum y = 1, s = k (z - m) / 2 <= 0. Newton on N = sqrt(sum y),
 * which is convex and decreasing in tau, from tau = -1: it climbs and never overshoots; 10 steps
 * reach the rounding of f32 for any row up to 2,000,000 (see docs/numerics.md). Only z with s > -1
 * can matter. */
#if defined(ROW_FORWARD)
#include "../map.h"
#define ROW_PARAM(P) MAP_PARAM(P)
#define ROW_T0 MAP_T0
#define ROW_LET MAP_LET
#define ROW_POISON MAP_POISON
#define ROW_BAD am_poison(am_lane(scale))
#define ROW_IN(I) MAP_IN(I)
#define ROW_VARS(V) MAP_VARS(V) V(tau) V(size)
#define ROW_S1(R) R(MAX, m, z)
#define ROW_T1 tau = ROWLIT(-1.0f);
#define ENTMAX15_U am_entmax15_excess(z, am_lane(m), am_lane(k), am_lane(tau))
/* With room for the rounding of this product. */
#define ROW_CANDIDATE am_and(am_visible(z), am_below(z, m, k) > -2.0001f)
#define ROW_S2(R) R(SUM, f, (ENTMAX15_U * ENTMAX15_U)) R(SUM, d, ENTMAX15_U)
#define ROW_N2 10
#define ROW_T2             \
    size = am_sqrt_row(f); \
    tau = d > 0.0f ? tau + (size - 1.0f) * size / d : tau;
#define ROW_S3(R) R(SUM, total, (ENTMAX15_U * ENTMAX15_U))
#define ROW_OUT(O) O(1, y, (ENTMAX15_U * ENTMAX15_U * am_inverse_row(total)))
#ifndef AM_ENTMAX15_EXCESS
#define AM_ENTMAX15_EXCESS
/* max(k (z - m) / 2 - tau, 0), 0 where z is masked */
AM_FN real am_entmax15_excess(real z, real m, real k, real tau) {
    real u = am_gap(z, m) * k * 0.5f - tau;
    return am_sel(am_and(am_visible(z), u > 0.0f), u, LIT(0.0f));
}
#endif
#else
/* From y: r = sqrt(y), grad_x = scale r (g - sum r g / sum r). */
#define ROW_PARAM(P) P(14, 0, scale)
#define ROW_IN(I) I(1, y, 0.0f) I(2, up_y, 0.0f)
#define ROW_POISON y
#define ROW_VARS(V) V(q)
#define ROW_LET const real root = am_sqrt(am_sel(y > 0.0f, y, LIT(0.0f)));
#define ROW_S1(R) R(SUM, s, root) R(SUM, e, am_sel(y > 0.0f, root * up_y, LIT(0.0f)))
#define ROW_T1 q = e * am_inverse_row(s);
#define ROW_OUT(O) O(3, grad_x, am_sel(y > 0.0f, root * (up_y - q) * scale, LIT(0.0f)))
#endif
