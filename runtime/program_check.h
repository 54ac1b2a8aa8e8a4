/* Read by program.c after each program: its numbers do not clash. Bits are summed and OR-ed: the
 * two are equal only if none comes twice. */
#include "math/row.h"
#define PROGRAM_SLOTS                                                                     \
    (0 ROW_IN(SLOT_BIT_3) ROW_PARAM(SLOT_BIT_3) ROW_INDEX(SLOT_BIT_2) ROW_OUT(SLOT_BIT_3) \
         ROW_ROW(SLOT_BIT_3))
#define PROGRAM_PARAMS (0 ROW_PARAM(PARAM_BIT_3) ROW_CONST(PARAM_BIT_2))
#define PROGRAM_INTS (0 ROW_INT(PARAM_BIT_2))
enum {
#define SLOT_JOIN +
    AM_CAT(sum_slots_, AM_PROGRAM_NAME, AM_PROGRAM_WAY) = PROGRAM_SLOTS,
    AM_CAT(sum_params_, AM_PROGRAM_NAME, AM_PROGRAM_WAY) = PROGRAM_PARAMS,
    AM_CAT(sum_ints_, AM_PROGRAM_NAME, AM_PROGRAM_WAY) = PROGRAM_INTS,
#undef SLOT_JOIN
#define SLOT_JOIN |
    AM_CAT(or_slots_, AM_PROGRAM_NAME, AM_PROGRAM_WAY) = PROGRAM_SLOTS,
    AM_CAT(or_params_, AM_PROGRAM_NAME, AM_PROGRAM_WAY) = PROGRAM_PARAMS,
    AM_CAT(or_ints_, AM_PROGRAM_NAME, AM_PROGRAM_WAY) = PROGRAM_INTS
#undef SLOT_JOIN
};
static_assert((int)AM_CAT(sum_slots_, AM_PROGRAM_NAME, AM_PROGRAM_WAY) ==
                  (int)AM_CAT(or_slots_, AM_PROGRAM_NAME, AM_PROGRAM_WAY),
              "a slot is used twice");
static_assert((AM_CAT(or_slots_, AM_PROGRAM_NAME, AM_PROGRAM_WAY) &
               ~(0xfff | 1 << AM_SLOT_BIAS | 1 << AM_SLOT_NOISE | 1 << AM_SLOT_SCALE)) == 0,
              "slots 0 to 11 are the program's, 12 to 14 the modifiers'");
static_assert((int)AM_CAT(sum_params_, AM_PROGRAM_NAME, AM_PROGRAM_WAY) ==
                  (int)AM_CAT(or_params_, AM_PROGRAM_NAME, AM_PROGRAM_WAY),
              "a param is used twice");
static_assert(AM_CAT(or_params_, AM_PROGRAM_NAME, AM_PROGRAM_WAY) < 1 << AM_MAX_PARAMS,
              "a param is out of range");
static_assert((int)AM_CAT(sum_ints_, AM_PROGRAM_NAME, AM_PROGRAM_WAY) ==
                  (int)AM_CAT(or_ints_, AM_PROGRAM_NAME, AM_PROGRAM_WAY),
              "an iparam is used twice");
static_assert(AM_CAT(or_ints_, AM_PROGRAM_NAME, AM_PROGRAM_WAY) < 1 << AM_MAX_INTS,
              "an iparam is out of range");
static_assert(ROW_HAS_1 || !(ROW_HAS_2 || ROW_HAS_3), "stages 2 and 3 need a stage 1");
static_assert(ROW_HAS_2 || !ROW_HAS_3, "stage 3 needs a stage 2");
static_assert(!ROW_HAS_MOVE || (0 ROW_S1(COUNT_3)) == 1, "ROW_MOVE: stage 1 is the maximum alone");
#undef PROGRAM_SLOTS
#undef PROGRAM_PARAMS
#undef PROGRAM_INTS
#include "math/row_undef.h"
