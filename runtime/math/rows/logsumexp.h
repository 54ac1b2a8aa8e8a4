/* logsumexp: y = k m + log1p(ties - 1 + rest), one number a row (as in log_softmax). */
#include "../map.h"
#define ROW_T0 MAP_T0
#define ROW_UNIT MAP_UNIT
#define ROW_LET MAP_LET
#define ROW_POISON MAP_POISON
#define ROW_IN(I) MAP_IN(I)
#define ROW_S1(R) R(MAX, m, z)
#define ROW_KEEP(K) K(e, am_shifted_exp(z, m, k))
#if defined(ROW_FORWARD)
#define ROW_KEEP_LATER 0
#define ROW_PARAM(P) MAP_PARAM(P)
#define ROW_VARS(V) MAP_VARS(V) V(logsum)
#define ROW_S2(R) \
    R(SUM, ties, am_sel(z == m, e, LIT(0.0f))) R(SUM, rest, am_sel(z < m, e, LIT(0.0f)))
#define ROW_MOVE(M) M(ties, LIT(0.0f)) M(rest, (ties + rest) * am_moved(w, k))
#define ROW_T2 logsum = ties == 0.0f ? ROWLIT(-AM_INF) : am_log1p_row((ties - 1.0f) + rest) + k * m;
#define ROW_ROW(O) O(1, y, logsum)
#else
#define ROW_PARAM(P) MAP_PARAM(P) P(1, 1, up_y)
#define ROW_VARS(V) MAP_VARS(V) V(g)
#define ROW_S2(R) R(SUM, s, e)
#define ROW_T2 g = am_inverse_row(s) * scale * up_y;
#define ROW_OUT(O) O(2, grad_x, (e * g))
#endif
