/* softmax: y = e / sum e, e = exp(k (z - m)), m the maximum of z. */
#include "../map.h"
#define ROW_PARAM(P) MAP_PARAM(P)
#define ROW_T0 MAP_T0
#define ROW_UNIT MAP_UNIT
#define ROW_LET MAP_LET
#define ROW_POISON MAP_POISON
#define ROW_KEEP(K) K(e, am_shifted_exp(z, m, k))
#if defined(ROW_FORWARD)
#define ROW_IN(I) MAP_IN(I)
#define ROW_VARS(V) MAP_VARS(V) V(inv)
#define ROW_S1(R) R(MAX, m, z)
#define ROW_S2(R) R(SUM, s, e)
#define ROW_MOVE(M) M(s, (s * am_moved(w, k)))
#define ROW_KEEP_MOVE(M) M(e, (e * am_moved(w, k)))
#define ROW_T2 inv = am_inverse_row(s);
#define ROW_OUT(O) O(1, y, (e * inv))
#else
/* grad_x = scale p (g - sum p g), with g taken relative to its value gm at the maximum: where one
 * entry holds nearly all the weight, its own g - sum p g would cancel, and the row no longer sum to
 * zero. */
#define ROW_IN(I) MAP_IN(I) I(1, up_y, 0.0f)
#define ROW_VARS(V) MAP_VARS(V) V(inv)
#define ROW_S1(R) R(MAX, m, z)
#define ROW_S2(R) R(SUM, s, e) R(MAX, gm, am_sel(z == m, up_y, LIT(-AM_INF)))
#define ROW_T2               \
    inv = am_inverse_row(s); \
    gm = m > -AM_INF ? gm : ROWLIT(0.0f);
#define ROW_S3(R) R(SUM, d, am_sel(am_visible(z), (e * (up_y - gm)), LIT(0.0f)))
#define ROW_T3 d = d * inv;
#define ROW_OUT(O) \
    O(2, grad_x, am_sel(am_visible(z), (e * inv) * ((up_y - gm) - d) * scale, LIT(0.0f)))
#endif
