/* logsumexp: y = k m + log1p(c - 1 + r), one number a row (c, r as in log_softmax). */
#include "../map.h"
#define ROW_T0 MAP_T0
#define ROW_LET MAP_LET
#define ROW_GUARD MAP_GUARD
#define ROW_IN(I) MAP_IN(I)
#define ROW_S1(R) R(MAX, m, z)
#define ROW_KEEP(K) K(e, am_shifted_exp(z, m, k))
#if defined(ROW_FORWARD)
#define ROW_PARAM(P) MAP_PARAM(P)
#define ROW_VARS(V) MAP_VARS(V) V(l)
#define ROW_S2(R) R(SUM, c, am_sel(z == m, e, LIT(0.0f))) R(SUM, r, am_sel(z < m, e, LIT(0.0f)))
#define ROW_MOVE(M) M(c, LIT(0.0f)) M(r, (c + r) * am_exp(k * w))
#define ROW_T2 l = c == 0.0f ? ROWLIT(-AM_INF) : am_log1p_row((c - 1.0f) + r) + k * m;
#define ROW_ROW(O) O(1, y, l)
#else
#define ROW_PARAM(P) MAP_PARAM(P) P(1, 1, up_y)
#define ROW_VARS(V) MAP_VARS(V) V(g)
#define ROW_S2(R) R(SUM, s, e)
#define ROW_T2 g = am_inverse_row(s) * scale * up_y;
#define ROW_OUT(O) O(2, grad_x, e * g)
#endif
