/* Expands the row program that has just been included, then clears it. kernel.h says what each
 * function is, math/README.md what each macro. */
#include "../math/row.h"
#include "row_macros.h"

struct AM_ID(scalars) {
    ROW_S1_GUARDED(FIELD_R) ROW_S2(FIELD_R) ROW_S3(FIELD_R) ROW_VARS(FIELD_V) ROW_PARAM(FIELD_P)
};
struct AM_ID(indices) { ROW_INDEX(FIELD_X) int32_t none; };
enum { ROW_IN(IN_AT) AM_ID(IN_COUNT) };
enum { ROW_OUT(OUT_AT) AM_ID(OUT_COUNT) };
/* ROW_KEPT: the ROW_KEEP values that something after stage 2 reads. */
#if ROW_KEEP_LATER
#define ROW_KEPT(K) ROW_KEEP(K)
#else
#define ROW_KEPT(K)
#endif
enum { ROW_KEPT(KEEP_AT) AM_ID(KEEP_COUNT) };
enum { ROW_ROW(ROW_AT) AM_ID(ROW_COUNT) };
enum { ROW_S1_GUARDED(SUM_AT) AM_ID(SUM_COUNT_1) };
enum { ROW_S2(SUM_AT) AM_ID(SUM_COUNT_2) };
enum { ROW_S3(SUM_AT) AM_ID(SUM_COUNT_3) };

/* What every function can see. */
#define ROW_STATE(scalars_, indices_, args_) \
    const struct AM_ID(scalars) *const am_v = (const void *)(scalars_); \
    const struct AM_ID(indices) *const am_x = (const void *)(indices_); \
    const am_row_args *const am_args = (args_); \
    const int32_t row_length = am_args->n; \
    (void)am_v; (void)am_x; (void)row_length; ROW_CONST(GET_C) ROW_INT(GET_I)
#define ROW_SEEN_2 ROW_S1_GUARDED(GET_R)
#define ROW_SEEN_3 ROW_S1_GUARDED(GET_R) ROW_S2(GET_R)
#define ROW_SEEN_4 ROW_S1_GUARDED(GET_R) ROW_S2(GET_R) ROW_S3(GET_R)

#define ROW_WATCH(what) AM_CAT(WATCH_##what, ROW_HAS_POISON)
#define ROW_WATCH_DONE(of_row) AM_CAT(ROW_WATCH(DONE), AM_FORM)(of_row)
#define ROW_SUM(what) AM_CAT(SUM_##what, AM_FORM)

#define AM_FORM across
#include "row_form.h"
#undef AM_FORM
#define AM_FORM along
#define AM_ALONG
#include "row_form.h"
#undef AM_FORM
#undef AM_ALONG

#define AM_AT am_l
/* Row scalars at point `which`: 0 before stage 1, else after that stage. */
static void AM_ID(scalars_at)(int am_which, float *am_scalars, const int32_t *am_indices,
                              const am_row_args *am_call, int am_lanes) {
    struct AM_ID(scalars) *const am_v = (void *)am_scalars;
    const struct AM_ID(indices) *const am_x = (const void *)am_indices;
    const am_row_args *const am_args = am_call;
    const int32_t row_length = am_args->n;
    (void)am_x;
    (void)row_length;
    ROW_CONST(GET_C)
    ROW_INT(GET_I)
#define ROW_AFTER(statements) \
    for (int am_l = 0; am_l < am_lanes; am_l++) { \
        ROW_PARAM(GET_P) ROW_INDEX(GET_X) \
        ROW_S1_GUARDED(LOAD_R) ROW_S2(LOAD_R) ROW_S3(LOAD_R) ROW_VARS(LOAD_V) \
        statements \
        ROW_S1_GUARDED(STORE_R) ROW_S2(STORE_R) ROW_S3(STORE_R) ROW_VARS(STORE_V) \
    }
    if (am_which == 0) {
        ROW_AFTER(ROW_T0)
    } else if (am_which == 1) {
        ROW_AFTER(ROW_T1)
    } else if (am_which == 2) {
        ROW_AFTER(ROW_T2)
    } else {
        ROW_AFTER(ROW_T3)
    }
#undef ROW_AFTER
}

static void AM_ID(finish_row)(const float *am_scalars, const int32_t *am_indices,
                              const am_row_args *am_call, int am_lanes, float *am_values,
                              int32_t *am_flags) {
    ROW_STATE(am_scalars, am_indices, am_call)
    (void)am_values;
    for (int am_l = 0; am_l < am_lanes; am_l++) {
        int32_t am_raised = 0;
        ROW_VARS(GET_V) ROW_PARAM(GET_P) ROW_INDEX(GET_X) ROW_SEEN_4
        ROW_ROW(ROW_PUT)
        ROW_FLAG(FLAG_PUT)
        am_flags[am_l] = am_raised;
    }
}

static const uint8_t AM_ID(reductions)[] = {ROW_S1_GUARDED(OP_AT) ROW_S2(OP_AT) ROW_S3(OP_AT)};
/* An empty list keeps one unused entry, as C has no empty arrays. */
static const am_cpu_slot AM_ID(slots_in)[] = {ROW_IN(SLOT_I){0, 0, 0.0f}};
static const am_cpu_slot AM_ID(slots_param)[] = {ROW_PARAM(SLOT_P){0, 0, 0.0f}};
static const am_cpu_slot AM_ID(slots_index)[] = {ROW_INDEX(SLOT_X){0, 0, 0.0f}};
static const am_cpu_slot AM_ID(slots_out)[] = {ROW_OUT(SLOT_O){0, 0, 0.0f}};
static const am_cpu_slot AM_ID(slots_row)[] = {ROW_ROW(SLOT_O){0, 0, 0.0f}};

_Static_assert(AM_ID(IN_COUNT) <= AM_MAX_IN, "AM_MAX_IN");
_Static_assert(AM_ID(OUT_COUNT) <= AM_MAX_OUT && AM_ID(ROW_COUNT) <= AM_MAX_OUT, "AM_MAX_OUT");
_Static_assert(AM_ID(KEEP_COUNT) <= AM_MAX_KEEP, "AM_MAX_KEEP");
_Static_assert(0 ROW_INDEX(ONE_X) <= AM_MAX_INDEX, "AM_MAX_INDEX");
_Static_assert((int)AM_ID(SUM_COUNT_1) + (int)AM_ID(SUM_COUNT_2) <= AM_MAX_SUMS &&
                   AM_ID(SUM_COUNT_3) <= AM_MAX_SUMS, "AM_MAX_SUMS");
_Static_assert(sizeof(struct AM_ID(scalars)) <= sizeof(float[AM_MAX_SCALARS][AM_W]),
               "AM_MAX_SCALARS");

#define ROW_TABLE AM_CAT(AM_CAT(AM_CAT(am_cpu_row, AM_ROW_NAME), AM_HALF), AM_LEVEL)
extern const am_cpu_row ROW_TABLE;
const am_cpu_row ROW_TABLE = {
    .has = {ROW_HAS_1, ROW_HAS_2, ROW_HAS_3},
    .sums = {AM_ID(SUM_COUNT_1), AM_ID(SUM_COUNT_2), AM_ID(SUM_COUNT_3)},
    .scalars = 0 ROW_S1_GUARDED(ONE_R) ROW_S2(ONE_R) ROW_S3(ONE_R) ROW_VARS(ONE_V),
    .in_count = AM_ID(IN_COUNT),
    .param_count = 0 ROW_PARAM(ONE_P),
    .index_count = 0 ROW_INDEX(ONE_X),
    .out_count = AM_ID(OUT_COUNT),
    .row_out_count = AM_ID(ROW_COUNT),
    .keep_count = AM_ID(KEEP_COUNT),
    .row_work = 0 ROW_ROW(ONE_O) ROW_FLAG(ONE_F) > 0,
    .iterations = ROW_N2,
    .mixed = ROW_MIXED,
    .reductions = AM_ID(reductions),
    .in = AM_ID(slots_in),
    .param = AM_ID(slots_param),
    .index = AM_ID(slots_index),
    .out = AM_ID(slots_out),
    .row_out = AM_ID(slots_row),
    .scalars_at = AM_ID(scalars_at),
    .finish_row = AM_ID(finish_row),
    .form = {&AM_CAT(AM_ID(form), across), &AM_CAT(AM_ID(form), along)},
};

#undef ROW_TABLE
#undef ROW_STATE
#undef ROW_KEPT
#undef ROW_WATCH
#undef ROW_WATCH_DONE
#undef ROW_SUM
#undef AM_AT
#undef ROW_SEEN_2
#undef ROW_SEEN_3
#undef ROW_SEEN_4
#include "../math/row_undef.h"
