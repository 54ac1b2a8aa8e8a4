/* unit: y = x / max(|x|, 1e-12), a vector of length 1. The largest magnitude m is taken out first,
 * so that no square overflows or vanishes. */
#define ROW_S1(R) R(MAX, m, am_fabs(x))
#define ROW_T1 m = m < 1e-30f ? ROWLIT(1e-30f) : m;
#define UNIT_X (x / am_lane(m))
#if defined(ROW_FORWARD)
#define ROW_IN(I) I(0, x, 0.0f)
#define ROW_VARS(V) V(root) V(inv)
#define ROW_S2(R) R(SUM, s, (UNIT_X * UNIT_X))
#define ROW_T2             \
    root = am_sqrt_row(s); \
    inv = m * root <= 1e-12f ? m * 1e12f : 1.0f / root;
#define ROW_OUT(O) O(1, y, (UNIT_X * inv))
#else
/* grad_x = (g - y sum y g) / |x|; below the floor y = x 1e12 and the gradient is g 1e12. */
#define ROW_IN(I) I(0, x, 0.0f) I(1, up_y, 0.0f)
#define ROW_VARS(V) V(inv) V(d)
#define ROW_S2(R) R(SUM, s, (UNIT_X * UNIT_X)) R(SUM, xg, (UNIT_X * up_y))
#define ROW_T2                                 \
    inv = m * am_sqrt_row(s);                  \
    d = inv <= 1e-12f ? ROWLIT(0.0f) : xg / s; \
    inv = inv <= 1e-12f ? ROWLIT(1e12f) : 1.0f / inv;
#define ROW_OUT(O) O(2, grad_x, (up_y - UNIT_X * d) * inv)
#endif
