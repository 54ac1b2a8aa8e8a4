/* log_softmax: y = k (z - m) - log sum exp(k (z - m)). The sum is taken apart into the c entries that
 * equal the maximum and the rest r, so that log1p(c - 1 + r) keeps the digits of a small rest. */
#include "../map.h"
#define ROW_PARAM(P) MAP_PARAM(P)
#define ROW_T0 MAP_T0
#define ROW_LET MAP_LET
#define ROW_GUARD MAP_GUARD
#define ROW_S1(R) R(MAX, m, z)
#define ROW_KEEP(K) K(e, am_shifted_exp(z, m, k))
#define LOGSUM_S2(R) \
    R(SUM, c, am_sel(z == m, e, LIT(0.0f))) R(SUM, r, am_sel(z < m, e, LIT(0.0f)))
#if defined(ROW_FORWARD)
#define ROW_IN(I) MAP_IN(I)
#define ROW_VARS(V) MAP_VARS(V) V(l)
#define ROW_S2(R) LOGSUM_S2(R)
#define ROW_MOVE(M) M(c, LIT(0.0f)) M(r, (c + r) * am_exp(k * w))
#define ROW_T2 l = c == 0.0f ? ROWLIT(0.0f) : am_log1p_row((c - 1.0f) + r);
#define ROW_OUT(O) O(1, y, am_sel(am_visible(z), (z - m) * k - l, LIT(-AM_INF)))
#else
/* grad_x = scale (g - p G), G = sum g over visible entries. At a maximum that stands alone this is
 * (1 - p) g - p (G - g), with 1 - p and G - g summed over the others. */
#define ROW_IN(I) MAP_IN(I) I(1, up_y, 0.0f)
#define ROW_VARS(V) MAP_VARS(V) V(inv) V(q) V(g)
#define ROW_S2(R)                                        \
    LOGSUM_S2(R) R(SUM, gm, am_sel(z == m, am_sel(am_visible(z), up_y, LIT(0.0f)), LIT(0.0f))) \
        R(SUM, go, am_sel(z < m, am_sel(am_visible(z), up_y, LIT(0.0f)), LIT(0.0f)))
#define ROW_T2                      \
    inv = am_inverse_row(c + r);    \
    q = ((c - 1.0f) + r) * inv;     \
    g = gm + go;
#define ROW_OUT(O)                                                                         \
    O(2, grad_x,                                                                           \
      am_sel(am_visible(z),                                                                \
             am_sel(am_and(z == m, am_lane(c) == 1.0f), up_y * q - (e * inv) * go,         \
                    up_y - (e * inv) * g) * scale, LIT(0.0f)))
#endif
