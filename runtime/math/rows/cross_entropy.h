/* cross_entropy: loss = sum_j a_j (-log p_j) + c lse^2, with a_j = (1-e) w_j t_j + (e/n) w_j; t is one
 * at the target, or the target probabilities. With d_j = k (z_j - m) <= 0 and l = log sum exp(d), kept
 * apart as in log_softmax, -log p_j = l - d_j loses nothing to a common offset. */
#include "../map.h"
#define ROW_T0 MAP_T0
#define ROW_LET                                                                             \
    MAP_LET const real tj = am_sel(am_lane(probabilities) > 0.0f, target_prob, am_at(target, LIT(1.0f)));
#define ROW_GUARD MAP_GUARD
#define ROW_INDEX(X) X(3, target)
#define ROW_INT(C) C(0, ignore_index)
#define ROW_CONST(C) C(1, smoothing) C(2, z_loss) C(3, probabilities)
/* lost: a masked class is wanted. Row states: live rows have a visible class and a target that
 * counts. */
#define ROW_S1(R)                                                          \
    R(MAX, m, z) R(SUM, visible, am_sel(am_visible(z), LIT(1.0f), LIT(0.0f))) \
        R(MAX, lost, am_sel(am_visible(z), LIT(0.0f), am_sel(tj > 0.0f, LIT(1.0f), LIT(0.0f))))
#define CE_T1                                                                                 \
    ignored = probabilities > 0.0f ? ROWLIT(0.0f) : (target == ignore_index ? ROWLIT(1.0f) : ROWLIT(0.0f)); \
    outside = probabilities > 0.0f ? ROWLIT(0.0f)                                             \
              : (target < 0 || target >= row_length ? 1.0f - ignored : ROWLIT(0.0f));            \
    share = visible > 0.0f ? smoothing / visible : ROWLIT(0.0f);
#define ROW_KEEP(K) K(e, am_shifted_exp(z, m, k))
#if defined(ROW_FORWARD)
#define ROW_PARAM(P) MAP_PARAM(P)
#define ROW_IN(I) MAP_IN(I) I(1, target_prob, 0.0f) I(2, weight, 1.0f)
#define ROW_VARS(V) \
    MAP_VARS(V) V(ignored) V(outside) V(share) V(l) V(norm) V(cost) V(counted)
#define ROW_T1 CE_T1
#define ROW_S2(R)                                                                          \
    R(SUM, c, am_sel(z == m, e, LIT(0.0f))) R(SUM, r, am_sel(z < m, e, LIT(0.0f)))         \
        R(SUM, own, weight * tj)                                                           \
        R(SUM, tc, am_sel(am_visible(z), (weight * tj) * ((z - m) * k), LIT(0.0f)))        \
        R(SUM, all, am_sel(am_visible(z), weight, LIT(0.0f)))                              \
        R(SUM, ac, am_sel(am_visible(z), weight * ((z - m) * k), LIT(0.0f)))
#define ROW_T2                                                                              \
    l = c > 0.0f ? am_log1p_row((c - 1.0f) + r) : ROWLIT(0.0f);                             \
    norm = c > 0.0f ? l + k * m : ROWLIT(0.0f);                                             \
    cost = (1.0f - smoothing) * (own * l - tc) + share * (all * l - ac) + z_loss * norm * norm; \
    cost = lost > 0.0f ? ROWLIT(AM_INF) : cost;                                             \
    cost = ignored + outside > 0.0f || visible == 0.0f ? ROWLIT(0.0f) : cost;               \
    counted = ignored + outside > 0.0f ? ROWLIT(0.0f) : (probabilities > 0.0f ? ROWLIT(1.0f) : own);
#define ROW_ROW(O) O(4, loss, cost) O(5, lse, norm) O(6, counted, counted)
#define ROW_FLAG(F) F(0, outside > 0.0f)
#else
/* grad_x_j = scale (up_loss (p_j A - a_j) + (2 c lse up_loss + up_lse) p_j), A = sum a. Where one class
 * alone holds the maximum, its p A - a is minus the sum of the others': p - 1 would cancel. */
#define ROW_PARAM(P) MAP_PARAM(P) P(4, 4, up_loss) P(5, 5, up_lse)
#define ROW_IN(I) MAP_IN(I) I(1, target_prob, 0.0f) I(2, weight, 1.0f)
#define ROW_VARS(V) \
    MAP_VARS(V) V(ignored) V(outside) V(share) V(inv) V(total) V(up) V(pull) V(norm)
#define ROW_T1 CE_T1
#define ROW_S2(R)                                                                          \
    R(SUM, c, am_sel(z == m, e, LIT(0.0f))) R(SUM, r, am_sel(z < m, e, LIT(0.0f)))         \
        R(SUM, own, am_sel(am_visible(z), weight * tj, LIT(0.0f)))                         \
        R(SUM, all, am_sel(am_visible(z), weight, LIT(0.0f)))
#define ROW_T2                                                                             \
    inv = am_inverse_row(c + r);                                                           \
    norm = c > 0.0f ? am_log1p_row((c - 1.0f) + r) + k * m : ROWLIT(0.0f);                 \
    total = (1.0f - smoothing) * own + share * all;                                        \
    up = ignored + outside + lost > 0.0f ? ROWLIT(0.0f) : up_loss;                         \
    pull = 2.0f * z_loss * norm * up + up_lse;
#define CE_PART ((e * inv) * total - weight * ((1.0f - smoothing) * tj + share))
#define ROW_S3(R) R(SUM, others, am_sel(am_and(z < m, am_visible(z)), CE_PART, LIT(0.0f)))
#define ROW_OUT(O)                                                                          \
    O(7, grad_x,                                                                            \
      am_sel(am_visible(z),                                                                 \
             (am_sel(am_and(z == m, am_lane(c) == 1.0f), am_lane(-others), CE_PART) * up +  \
              (e * inv) * pull) * scale, LIT(0.0f)))
#endif
