/* unit: y = x / max(|x|, 1e-12), a vector of length 1. */
#if defined(ROW_FORWARD)
#define ROW_IN(I) I(0, x, 0.0f)
#define ROW_VARS(V) V(inv)
/* The largest magnitude is taken out first, so that no square overflows or vanishes. */
#define ROW_S1(R) R(MAX, m, am_fabs(x))
#define ROW_T1 m = m > 1e-30f ? m : ROWLIT(1e-30f);
#define ROW_S2(R) R(SUM, s, (x / am_lane(m)) * (x / am_lane(m)))
#define ROW_T2 inv = m * am_sqrt_row(s); inv = inv > 1e-12f ? 1.0f / inv : ROWLIT(1e12f);
#define ROW_OUT(O) O(1, y, x * inv)
#else
/* grad_x = (g - y sum y g) / |x|; below the floor y = x 1e12 and the gradient is g 1e12. */
#define ROW_IN(I) I(0, x, 0.0f) I(1, up_y, 0.0f)
#define ROW_VARS(V) V(inv) V(d)
#define ROW_S1(R) R(MAX, m, am_fabs(x))
#define ROW_T1 m = m > 1e-30f ? m : ROWLIT(1e-30f);
#define ROW_S2(R) R(SUM, s, (x / am_lane(m)) * (x / am_lane(m))) R(SUM, xg, (x / am_lane(m)) * up_y)
#define ROW_T2                                                                          \
    inv = m * am_sqrt_row(s);                                                           \
    d = inv > 1e-12f ? xg / (s * m) : ROWLIT(0.0f);                                     \
    inv = inv > 1e-12f ? 1.0f / inv : ROWLIT(1e12f);
#define ROW_OUT(O) O(2, grad_x, (up_y - x * d) * inv)
#endif
