/* The lane of runtime/math/am.h in GLSL: one float an item. */
/* Everything is precise: the two-part constants of exp and log must not be reassociated. */
#define real precise float
#define ints int
#define cond bool
#define rowf precise float
#define rowi int
#define LIT(c) (c)
#define ILIT(c) (c)
#define ROWLIT(c) (c)
#define AM_FN
#define am_sel(c, a, b) mix(b, a, c)
#define am_and(a, b) ((a) && (b))
#define am_or(a, b) ((a) || (b))
#define am_bits(x) floatBitsToInt(x)
#define am_from_bits(i) intBitsToFloat(i)
#define am_float(i) float(i)
#define am_int(x) int(x)
#define am_round(x) roundEven(x)
#define am_sqrt(x) sqrt(x)
#define am_fabs(x) abs(x)
#define am_row(v) (v)
#include "am.h"
/* GLSL has no casts of this form, and needs none. */
#undef am_lane
#define am_lane(v) (v)
