/* log_softmax: y = k (z - m) - log sum exp(k (z - m)). The sum is taken apart into the entries
 * that equal the maximum (ties) and the rest, so that log1p(ties - 1 + rest) keeps the digits of a
 * small rest. */
#include "../map.h"
#define ROW_PARAM(P) MAP_PARAM(P)
#define ROW_T0 MAP_T0
#define ROW_UNIT MAP_UNIT
#define ROW_LET MAP_LET
#define ROW_POISON MAP_POISON
#define ROW_S1(R) R(MAX, m, z)
#define ROW_KEEP(K) K(e, am_shifted_exp(z, m, k))
#define LOGSUM_S2(R) \
    R(SUM, ties, am_sel(z == m, e, LIT(0.0f))) R(SUM, rest, am_sel(z < m, e, LIT(0.0f)))
#if defined(ROW_FORWARD)
#define ROW_KEEP_LATER 0
#define ROW_IN(I) MAP_IN(I)
#define ROW_VARS(V) MAP_VARS(V) V(logsum)
#define ROW_S2(R) LOGSUM_S2(R)
#define ROW_MOVE(M) M(ties, LIT(0.0f)) M(rest, (ties + rest) * am_moved(w, k))
#define ROW_T2 logsum = ties == 0.0f ? ROWLIT(0.0f) : am_log1p_row((ties - 1.0f) + rest);
#define ROW_OUT(O) O(1, y, am_sel(am_visible(z), am_below(z, m, k) - logsum, LIT(-AM_INF)))
#else
/* grad_x = scale (g - p G), G = sum g over visible entries. At a maximum that holds more than half
 * (then it stands alone) this is (1 - p) g - p (G - g), with 1 - p and G - g summed over the
 * others. */
#define ROW_IN(I) MAP_IN(I) I(1, up_y, 0.0f)
#define ROW_VARS(V) MAP_VARS(V) V(inv) V(other) V(all)
#define ROW_S2(R)                                                       \
    LOGSUM_S2(R)                                                        \
    R(SUM, top, am_sel(am_and(z == m, am_visible(z)), up_y, LIT(0.0f))) \
    R(SUM, low, am_sel(am_and(z < m, am_visible(z)), up_y, LIT(0.0f)))
#define ROW_T2                            \
    inv = am_inverse_row(ties + rest);    \
    other = ((ties - 1.0f) + rest) * inv; \
    all = top + low;
#define ROW_OUT(O)                                                                         \
    O(2, grad_x,                                                                           \
      am_sel(am_visible(z),                                                                \
             am_sel(am_and(z == m, am_lane(inv) > 0.5f), (up_y * other) - (e * inv) * low, \
                    up_y - (e * inv) * all) *                                              \
                 scale,                                                                    \
             LIT(0.0f)))
#endif
