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
enum { ROW_KEEP(KEEP_AT) AM_ID(KEEP_COUNT) };
enum { ROW_ROW(ROW_AT) AM_ID(ROW_COUNT) };
enum { ROW_S1_GUARDED(SUM_AT) AM_ID(SUM_COUNT_1) };
enum { ROW_S2(SUM_AT) AM_ID(SUM_COUNT_2) };
enum { ROW_S3(SUM_AT) AM_ID(SUM_COUNT_3) };

/* What every loop over lanes can see. */
#define ROW_STATE(scalars_, indices_, args_) \
    const struct AM_ID(scalars) *const am_v = (const void *)(scalars_); \
    const struct AM_ID(indices) *const am_x = (const void *)(indices_); \
    const am_row_args *const am_args = (args_); \
    const int32_t row_length = am_args->n; \
    (void)am_v; (void)am_x; (void)row_length; ROW_CONST(GET_C) ROW_INT(GET_I)
/* A loop over the elements of a tile. */
#define ROW_TILE(bases, body, nexts) \
    ROW_STATE(am_tile_->scalars, am_tile_->indices, am_tile_->args) \
    bases \
    for (int am_j = 0; am_j < am_tile_->steps; am_j++) { \
        const int32_t am_column = am_tile_->column + am_j * am_tile_->column_step; \
        AM_LANES { \
            const int32_t am_place = am_column + am_tile_->lane_column[am_l]; \
            const ints col = am_place < am_tile_->column_end ? am_place : -1; \
            (void)col; \
            ROW_VARS(GET_V) ROW_PARAM(GET_P) ROW_INDEX(GET_X) body \
        } \
        nexts \
    }
#define ROW_STAGE(scalars_, keep_make, sums_) \
    ROW_TILE(ROW_IN(IN_BASE) ROW_KEEP(KEEP_BASE) sums_(SUM_BASE), \
             ROW_IN(IN_GET) ROW_LET scalars_ ROW_KEEP(keep_make) sums_(SUM_STEP), \
             ROW_IN(IN_NEXT) ROW_KEEP(KEEP_NEXT)) \
    sums_(SUM_DONE)
#define ROW_SEEN_2 ROW_S1_GUARDED(GET_R)
#define ROW_SEEN_3 ROW_S1_GUARDED(GET_R) ROW_S2(GET_R)
#define ROW_SEEN_4 ROW_S1_GUARDED(GET_R) ROW_S2(GET_R) ROW_S3(GET_R)

#if ROW_HAS_1
static void AM_ID(stage_1)(const am_tile *am_tile_, float *am_sums) {
    ROW_TILE(ROW_IN(IN_BASE) ROW_S1_GUARDED(SUM_BASE),
             ROW_IN(IN_GET) ROW_LET ROW_S1_GUARDED(SUM_STEP), ROW_IN(IN_NEXT))
    ROW_S1_GUARDED(SUM_DONE)
}
#endif
/* Twice, for rows that ROW_UNIT holds for and for others. */
#if ROW_HAS_UNIT
static int AM_ID(unit)(const am_tile *am_tile_) {
    int am_all = 1;
    ROW_STATE(am_tile_->scalars, am_tile_->indices, am_tile_->args)
    AM_LANES {
        ROW_VARS(GET_V) ROW_SEEN_2
        am_all &= ROW_UNIT;
    }
    return am_all;
}
#define ROW_TWICE(...) \
    if (AM_ID(unit)(am_tile_)) { \
        enum { am_unit = 1 }; \
        __VA_ARGS__ \
    } else { \
        enum { am_unit = 0 }; \
        __VA_ARGS__ \
    }
#else
#define ROW_TWICE(...) enum { am_unit = 0 }; __VA_ARGS__
#endif
#if ROW_HAS_2
static void AM_ID(stage_2)(const am_tile *am_tile_, float *am_sums) {
    ROW_TWICE(ROW_STAGE(ROW_SEEN_2, KEEP_MAKE, ROW_S2))
}
#endif
#if ROW_HAS_3
static void AM_ID(stage_3)(const am_tile *am_tile_, float *am_sums) {
    ROW_STAGE(ROW_SEEN_3, KEEP_GET, ROW_S3)
}
#endif
#if ROW_HAS_KEEP
static void AM_ID(keep)(const am_tile *am_tile_) {
    ROW_TWICE(ROW_TILE(ROW_IN(IN_BASE) ROW_KEEP(KEEP_BASE),
                       ROW_IN(IN_GET) ROW_LET ROW_SEEN_2 ROW_KEEP(KEEP_MAKE),
                       ROW_IN(IN_NEXT) ROW_KEEP(KEEP_NEXT)))
}
#endif
#if ROW_HAS_OUT
static void AM_ID(finish)(const am_tile *am_tile_) {
    ROW_TILE(ROW_IN(IN_BASE) ROW_KEEP(KEEP_BASE) ROW_OUT(OUT_BASE),
             ROW_IN(IN_GET) ROW_LET ROW_SEEN_4 ROW_KEEP(KEEP_GET) ROW_OUT(OUT_PUT),
             ROW_IN(IN_NEXT) ROW_KEEP(KEEP_NEXT) ROW_OUT(OUT_NEXT))
}
#endif
#if ROW_HAS_CANDIDATE
/* Most steps hold no candidate at all; that is found out by vectors, the rest lane by lane. */
static bool AM_ID(candidates)(const am_tile *am_tile_, am_list *am_found) {
    int32_t am_wanted[AM_W];
    float am_z[AM_W];
    int32_t am_full = 0;
    ROW_TILE(ROW_IN(IN_BASE),
             ROW_IN(IN_GET) ROW_LET ROW_SEEN_2 am_z[am_l] = z;
             am_wanted[am_l] = (ROW_CANDIDATE) ? 1 : 0;,
             am_full |= am_list_append(am_found, am_z, am_wanted); ROW_IN(IN_NEXT))
    return am_full == 0;
}
#define ROW_LIST(sums_, scalars_) \
    const float *am_z = am_tile_->in[0]; \
    ROW_TILE(sums_(SUM_BASE), const real z = am_z[am_l]; scalars_ sums_(SUM_STEP), am_z += AM_W;) \
    sums_(SUM_DONE)
static void AM_ID(list_2)(const am_tile *am_tile_, float *am_sums) {
    ROW_LIST(ROW_S2, ROW_SEEN_2)
}
#if ROW_HAS_3
static void AM_ID(list_3)(const am_tile *am_tile_, float *am_sums) {
    ROW_LIST(ROW_S3, ROW_SEEN_3)
}
#endif
#undef ROW_LIST
#endif

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

#if ROW_HAS_MOVE
static void AM_ID(move)(const float *am_scalars, const am_row_args *am_call, float *am_sums,
                        const float *am_fall) {
    ROW_STATE(am_scalars, NULL, am_call)
    AM_LANES {
        const real w = am_fall[am_l];
        ROW_VARS(GET_V) ROW_PARAM(GET_P) ROW_S2(SUM_GET)
        ROW_MOVE(MOVE_MAKE)
        ROW_MOVE(MOVE_PUT)
    }
}
#endif

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
#if ROW_HAS_1
    .stage[0] = AM_ID(stage_1),
#endif
#if ROW_HAS_2
    .stage[1] = AM_ID(stage_2),
#endif
#if ROW_HAS_3
    .stage[2] = AM_ID(stage_3),
#endif
#if ROW_HAS_KEEP
    .keep = AM_ID(keep),
#endif
#if ROW_HAS_OUT
    .finish = AM_ID(finish),
#endif
#if ROW_HAS_MOVE
    .move = AM_ID(move),
#endif
#if ROW_HAS_CANDIDATE
    .candidates = AM_ID(candidates),
    .list_stage[1] = AM_ID(list_2),
#if ROW_HAS_3
    .list_stage[2] = AM_ID(list_3),
#endif
#endif
};

#undef ROW_TABLE
#undef ROW_STATE
#undef ROW_TILE
#undef ROW_STAGE
#undef ROW_TWICE
#undef ROW_SEEN_2
#undef ROW_SEEN_3
#undef ROW_SEEN_4
#include "../math/row_undef.h"
