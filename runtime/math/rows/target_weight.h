/* target_weight: with how much a row counts in the mean of a loss: the weight of its target class, or 1
 * where the weights are uniform; 0 where the target is ignored or out of range. It does not look at
 * the scores, so that a poisoned row leaves the gradients of the others alone. */
#define ROW_INDEX(X) X(3, target)
#define ROW_INT(C) C(0, ignore_index) C(1, classes)
#if defined(ROW_FORWARD)
#define ROW_CONST(C) C(0, alike)
#define ROW_IN(I) I(0, weight, 1.0f)
#define ROW_VARS(V) V(counts)
#define ROW_S1(R) R(SUM, own, am_at(target, weight))
#define ROW_T1                                                      \
    counts = alike > 0.0f ? ROWLIT(1.0f) : own;                   \
    counts = target == ignore_index ? ROWLIT(0.0f) : counts;        \
    counts = target < 0 || target >= classes ? ROWLIT(0.0f) : counts;
#define ROW_ROW(O) O(1, counted, counts)
#else
#define ROW_PARAM(P) P(1, 1, up_counted)
#define ROW_OUT(O) O(2, grad_weight, am_at(target, am_lane(up_counted)))
#endif
