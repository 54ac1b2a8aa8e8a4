/* cross_entropy: loss = sum_j a_j (-log p_j) + c lse^2, with a_j = w_j ((1-e) t_j + e/n); t is one
 * at the target, or the target probabilities. With d_j = k (z_j - m) <= 0 and l = log sum exp(d),
 * kept apart as in log_softmax, -log p_j = l - d_j loses nothing to a common offset. */
#include "../map.h"
#define ROW_T0 MAP_T0
#define ROW_UNIT MAP_UNIT
#define ROW_LET              \
    MAP_LET                  \
    const real tj = am_idle( \
        LIT(0.0f), am_sel(am_lane(probabilities) > 0.0f, target_prob, am_at(target, LIT(1.0f))));
#define ROW_POISON MAP_POISON
#define ROW_INDEX(X) X(3, target)
#define ROW_INT(C) C(0, ignore_index)
#define ROW_CONST(C) C(1, smoothing) C(2, z_loss) C(3, probabilities)
/* Columns without the target, where it is one class, add to the sum of exp alone. `visible` serves
 * smoothing and nothing else. */
#define ROW_IDLE(first, end) \
    (probabilities == 0.0f && smoothing == 0.0f && (target < (first) || target >= (end)))
#define CE_NONE LIT(-0.0f)
/* lost: a masked class is wanted. */
#define ROW_S1(R)                                                                  \
    R(MAX, m, z)                                                                   \
    R(SUM, visible, am_idle(CE_NONE, am_sel(am_visible(z), LIT(1.0f), LIT(0.0f)))) \
    R(MAX, lost,                                                                   \
      am_idle(LIT(-AM_INF),                                                        \
              am_sel(am_visible(z), LIT(0.0f), am_sel(tj > 0.0f, LIT(1.0f), LIT(0.0f)))))
/* skipped: the row has no loss, since its target is ignored or outside of the classes. */
#define ROW_T1                                                                    \
    skipped = target == ignore_index ? ROWLIT(1.0f) : ROWLIT(0.0f);               \
    outside = target < 0 || target >= row_length ? 1.0f - skipped : ROWLIT(0.0f); \
    outside = probabilities > 0.0f ? ROWLIT(0.0f) : outside;                      \
    skipped = probabilities > 0.0f ? ROWLIT(0.0f) : skipped + outside;            \
    share = visible > 0.0f ? smoothing / visible : ROWLIT(0.0f);
#define CE_A am_sel(am_visible(z), (tj * (1.0f - smoothing) + share) * weight, LIT(0.0f))
#define ROW_KEEP(K) K(e, am_shifted_exp(z, m, k))
/* A class without a share in the loss may lie infinitely far below. */
#define CE_SUMS(R)                             \
    R(SUM, ties, am_sel(z == m, e, LIT(0.0f))) \
    R(SUM, rest, am_sel(z < m, e, LIT(0.0f)))  \
    R(SUM, total, am_idle(CE_NONE, CE_A))      \
    R(SUM, below, am_idle(CE_NONE, am_sel(CE_A > 0.0f, CE_A * am_below(z, m, k), LIT(0.0f))))
#define CE_COST                                                                              \
    logsum = ties == 0.0f ? ROWLIT(0.0f) : am_log1p_row((ties - 1.0f) + rest);               \
    norm = ties == 0.0f ? ROWLIT(0.0f) : logsum + k * m;                                     \
    cost = (total * logsum - below) + (z_loss > 0.0f ? z_loss * norm * norm : ROWLIT(0.0f)); \
    cost = lost > 0.0f ? ROWLIT(AM_INF) : cost;                                              \
    cost = skipped > 0.0f || m == -AM_INF ? ROWLIT(0.0f) : cost;
#if defined(ROW_FORWARD)
#define ROW_KEEP_LATER 0
#define ROW_PARAM(P) MAP_PARAM(P)
#define ROW_IN(I) MAP_IN(I) I(10, target_prob, 0.0f) I(11, weight, 1.0f)
#define ROW_VARS(V) MAP_VARS(V) V(skipped) V(outside) V(share) V(logsum) V(norm) V(cost) V(counted)
/* own: the weight of the targets, for the mean over rows. */
#define ROW_S2(R) CE_SUMS(R) R(SUM, own, am_idle(CE_NONE, (weight * tj)))
#define ROW_T2                                           \
    CE_COST                                              \
    counted = probabilities > 0.0f ? ROWLIT(1.0f) : own; \
    counted = skipped > 0.0f ? ROWLIT(0.0f) : counted;
#define ROW_ROW(O) O(4, loss, cost) O(5, lse, norm) O(6, counted, counted)
#define ROW_FLAG(F) F(0, outside > 0.0f)
#else
/* grad_x_j = scale (up_loss (p_j A - a_j) + (2 c lse up_loss + up_lse) p_j), A = sum a. Where one
 * class holds more than half (then 1/s > 1/2, as its e is 1), its p A - a is taken as minus the sum
 * of the others': p - 1 would cancel. Elsewhere it is that sum which would cancel. */
#define ROW_PARAM(P) MAP_PARAM(P) P(4, 4, up_loss) P(5, 5, up_lse)
#define ROW_IN(I) MAP_IN(I) I(10, target_prob, 0.0f) I(11, weight, 1.0f)
#define ROW_VARS(V) \
    MAP_VARS(V) V(skipped) V(outside) V(share) V(logsum) V(norm) V(cost) V(inv) V(up) V(pull)
#define ROW_S2(R) CE_SUMS(R)
#define ROW_T2                                                   \
    CE_COST                                                      \
    inv = am_inverse_row(ties + rest);                           \
    up = skipped > 0.0f || lost > 0.0f ? ROWLIT(0.0f) : up_loss; \
    pull = up_lse + (z_loss > 0.0f ? 2.0f * z_loss * norm * up : ROWLIT(0.0f));
#define CE_PART am_idle((e * inv) * total, ((e * inv) * total - CE_A))
#define CE_OWN am_idle(LIT(0.0f), am_sel(CE_A == 0.0f, LIT(0.0f), CE_A * am_lane(-up * scale)))
#define CE_FLAT (inv * ((total * up + pull) * scale))
#define ROW_NEED_3 (inv > 0.5f)
#define ROW_S3(R) R(SUM, others, am_sel(z < m, CE_PART, LIT(0.0f)))
#define ROW_FLAG(F) F(0, outside > 0.0f)
#define ROW_ROW(O) O(8, loss, cost) O(9, lse, norm)
/* Where no class holds more than half, and in columns without the target, e alone tells the
 * gradient: that of a masked class is 0. */
#define ROW_PLAIN (inv <= 0.5f && CE_FLAT - CE_FLAT == 0.0f)
#define ROW_OUT(O)                                                               \
    O(7, grad_x,                                                                 \
      am_plain(e * am_lane(CE_FLAT) + LIT(0.0f),                                  \
               am_sel(am_visible(z),                                             \
                      am_sel(am_and(z == m, am_lane(inv) > 0.5f),                \
                             (am_lane(-others) * up + (e * inv) * pull) * scale, \
                             e * am_lane(CE_FLAT) + CE_OWN),                     \
                      LIT(0.0f))))
#endif
