/* scale: y = factor x, element by element; with accumulation, the sum of several. */
#define ROW_CONST(C) C(0, factor)
#if defined(ROW_FORWARD)
#define ROW_IN(I) I(0, x, 0.0f)
#define ROW_OUT(O) O(1, y, (x * factor))
#else
#define ROW_IN(I) I(1, up_y, 0.0f)
#define ROW_OUT(O) O(2, grad_x, (up_y * factor))
#endif
