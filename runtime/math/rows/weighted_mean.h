/* weighted_mean: y = sum x / sum counted over the row, or sum x where `divide` is 0; 0 if nothing
 * counts. The last step of a reduced loss. */
#define ROW_CONST(C) C(0, divide)
#if defined(ROW_FORWARD)
#define ROW_IN(I) I(0, x, 0.0f) I(1, counted, 0.0f)
#define ROW_VARS(V) V(mean)
#define ROW_S1(R) R(SUM, s, x) R(SUM, w, counted)
#define ROW_T1 mean = divide > 0.0f ? s * am_inverse_row(w) : s;
#define ROW_ROW(O) O(2, y, mean)
#else
#define ROW_IN(I) I(1, counted, 0.0f)
#define ROW_PARAM(P) P(2, 1, up_y)
#define ROW_VARS(V) V(each)
#define ROW_S1(R) R(SUM, w, counted)
#define ROW_T1 each = divide > 0.0f ? up_y * am_inverse_row(w) : up_y;
#define ROW_OUT(O) O(3, grad_x, am_lane(each))
#endif
