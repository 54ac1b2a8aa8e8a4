/* row: one row program over rows of tensors; its maths is in runtime/math/rows/.
 *
 * A group of T items holds T / L rows, L lanes a row. Along: the lanes of a row are neighbours and
 * lane i takes columns i, i + L, ... (with EACH = 4: four at 4 i, four at 4 (i + L), ...); across:
 * neighbours take neighbouring rows. Group y takes part part0 + y of its rows. Moves each input once a stage (once in all with CHIP), each output once.
 * Shared memory: 4 * T * (reductions of the largest stage + LIST) bytes. Registers of an item:
 * UNROLL for each input that is given, two for each sum, some 20 more (docs/gpu-compile.md). Items
 * without a row work on the last one and store nothing, so that every barrier is reached by all.
 *
 * Names of the skeleton begin with am_: the others belong to the program. */
#define AM_ONE(op, n, e) + 1
#define AM_ONE_VAR(n) + 1
const int AM_R1 = 0 ROW_S1_GUARDED(AM_ONE);
const int AM_R2 = 0 ROW_S2(AM_ONE);
const int AM_R3 = 0 ROW_S3(AM_ONE);
const int AM_SCALARS = AM_R1 + AM_R2 + AM_R3 ROW_VARS(AM_ONE_VAR);
const int AM_RMAX = max(AM_R1, max(AM_R2, AM_R3));
#include "row_reduce.glsl"

/* ---- tensors by name */
#if FULL
#define AM_DEF_IN(s, n, absent) AM_LOAD(s, n) AM_LOAD_QUAD(s, n)
#else
#define AM_DEF_IN(s, n, absent) AM_LOAD(s, n)
#endif
#define AM_DEF_PARAM(s, i, n) AM_LOAD(s, n)
#define AM_DEF_INDEX(s, n) AM_LOAD_INDEX(s, n)
#define AM_DEF_OUT(s, n, e) AM_STORE(s, n)
ROW_IN(AM_DEF_IN) ROW_PARAM(AM_DEF_PARAM) ROW_INDEX(AM_DEF_INDEX)
ROW_OUT(AM_DEF_OUT) ROW_ROW(AM_DEF_OUT)

/* The row's element of slot s; of rows in elements, the first column of this group's part. */
int am_row_at(ivec3 place, ivec4 t, int s2) {
    int at = t.x + place.x * t.z;
    return DIMS == 1 ? at : at + place.y * t.w + place.z * s2;
}
#define AM_ROW_AT(s) am_row_at(am_place, args.tensor[s], args.s2[(s) >> 2][(s) & 3])

/* ---- row scalars */
#define AM_NAME(op, n, e) rowf n = 0.0f;
#define AM_VAR(n) rowf n = 0.0f;
#define AM_GET_PARAM(s, i, n)                                                    \
    rowf n = args.param[(i) >> 2][(i) & 3];                                      \
    if (AM_TYPE_##s != AM_ABSENT) n = am_load_##n(AM_ROW_AT(s));
#define AM_GET_CONST(i, n) const rowf n = args.param[(i) >> 2][(i) & 3];
#define AM_GET_INT(i, n) const rowi n = args.iparam[i];
#define AM_GET_INDEX(s, n)                                                       \
    rowi n = args.row_base + am_row;                                             \
    if (AM_TYPE_##s != AM_ABSENT) n = am_load_##n(AM_ROW_AT(s));
#define AM_LOAD_NAME(op, n, e) n = AM_WORD(am_at++);
#define AM_LOAD_VAR(n) n = AM_WORD(am_at++);
#define AM_SAVE_NAME(op, n, e) AM_PUT_WORD(am_at++, n)
#define AM_SAVE_VAR(n) AM_PUT_WORD(am_at++, n)
#define AM_SCALARS_DO(F, V) ROW_S1_GUARDED(F) ROW_S2(F) ROW_S3(F) ROW_VARS(V)

/* ---- elements: UNROLL columns a lane are loaded, then worked on */
#define AM_BASE(s, n, absent)                                                    \
    const int n##_step = args.tensor[s].y;                                       \
    const int n##_base = AM_ROW_AT(s) + am_shift * n##_step;
#define AM_ARRAY(s, n, absent) float n##_k[UNROLL];
/* Column am_u of a lane in one turn. */
#define AM_COLUMN                                                                \
    (((am_block * (UNROLL / EACH) + am_u / EACH) * am_lanes + am_lane) * EACH + am_u % EACH)
/* No column beyond the last one is loaded. */
#define AM_NEAR (EVEN ? AM_COLUMN : min(AM_COLUMN, am_length - 1))
#if FULL
#define AM_QUAD(s) ((QUADS >> s & 1) != 0)
#else
#define AM_QUAD(s) false
#endif
#define AM_READ(s, n, absent)                                                    \
    if (!AM_QUAD(s)) n##_k[am_u] = absent;                                       \
    if (AM_TYPE_##s != AM_ABSENT && !AM_QUAD(s))                                 \
        n##_k[am_u] = am_load_##n(n##_base + am_c * n##_step);
#define AM_READ_QUAD(s, n, absent)                                               \
    if (AM_QUAD(s)) {                                                            \
        const int am_at = n##_base + args.quads[AM_BIND_##s & 3];            \
        const vec4 am_v = am_load_quad_##n((am_at + am_c) >> 2);                 \
        n##_k[am_u] = am_v.x;                                                    \
        n##_k[am_u + 1] = am_v.y;                                                \
        n##_k[am_u + 2] = am_v.z;                                                \
        n##_k[am_u + 3] = am_v.w;                                                \
    }
#if FULL
#define AM_READ_QUADS                                                            \
    [[unroll]] for (int am_q = 0; am_q < UNROLL / 4; am_q++) {                   \
        const int am_u = 4 * am_q, am_c = AM_NEAR;                               \
        ROW_IN(AM_READ_QUAD)                                                     \
    }
#else
#define AM_READ_QUADS
#endif
#define AM_READ_BLOCK                                                            \
    [[unroll]] for (int am_u = 0; am_u < UNROLL; am_u++) {                       \
        const int am_c = AM_NEAR;                                                \
        ROW_IN(AM_READ)                                                          \
    }                                                                            \
    AM_READ_QUADS
#define AM_GET(s, n, absent) const real n = am_sel(am_inside, n##_k[am_u], absent);
#define AM_KEPT(n, e) const real n = (e);
#define AM_BLOCKS for (int am_block = 0; am_block < am_blocks; am_block++)
/* BODY sees the inputs, col, and what ROW_LET derives from them. */
#define AM_COLUMNS(BODY)                                                         \
    [[unroll]] for (int am_u = 0; am_u < UNROLL; am_u++) {                       \
        const int am_c = AM_COLUMN;                                              \
        const bool am_inside = EVEN || am_c < am_length;                         \
        const int col = am_inside ? am_first + am_c : -1;                        \
        ROW_IN(AM_GET) ROW_LET BODY                                              \
    }
#define AM_PASS(BODY)                                                            \
    AM_BLOCKS {                                                                  \
        if (!CHIP) { AM_READ_BLOCK }                                             \
        AM_COLUMNS(BODY)                                                         \
    }
/* Sums of AM_CHUNK turns are added up first, then added to the lane's: rounding grows with the sum
 * of the two counts, not with their product. */
#define AM_CHUNK 32
#define AM_CHUNKS                                                                \
    for (int am_from = 0; am_from < am_blocks; am_from += AM_CHUNK)
#define AM_CHUNK_BLOCKS                                                          \
    for (int am_block = am_from, am_to = min(am_from + AM_CHUNK, am_blocks);     \
         am_block < am_to; am_block++)
#define AM_STREAMED(S, KEEP)                                                     \
    AM_CHUNKS {                                                                  \
        S(AM_OPEN)                                                               \
        AM_CHUNK_BLOCKS {                                                        \
            if (!CHIP) { AM_READ_BLOCK }                                         \
            AM_COLUMNS(KEEP S(AM_STEP))                                          \
        }                                                                        \
        S(AM_CLOSE)                                                              \
    }
#define AM_STAGE(S, KEEP)                                                        \
    {                                                                            \
        S(AM_LANE)                                                               \
        AM_STREAMED(S, KEEP)                                                     \
        AM_REDUCE(S)                                                             \
    }
/* Stages 2 and 3: over the row's candidates, where all of its lanes could hold theirs. */
#define AM_STAGE_LISTED(S, KEEP)                                                 \
    {                                                                            \
        S(AM_LANE)                                                               \
        if (LIST > 0 && am_listed) { AM_LISTED(S, KEEP) }                        \
        else { AM_STREAMED(S, KEEP) }                                            \
        AM_REDUCE(S)                                                             \
    }

/* ---- finish */
#define AM_OUT_BASE(s, n, e) AM_BASE(s, n, )
#define AM_OUT(s, n, e)                                                          \
    if (AM_TYPE_##s != AM_ABSENT && am_inside && am_live)                        \
        am_store_##n(n##_base + am_c * n##_step, am_sel(bad > 0.0f, AM_NAN, (e)), \
                     (ACCUMULATE >> s & 1) != 0);
#define AM_ROW_OUT(s, n, e)                                                      \
    if (AM_TYPE_##s != AM_ABSENT)                                                \
        am_store_##n(AM_ROW_AT(s), am_sel(bad > 0.0f, AM_NAN, (e)), (ACCUMULATE >> s & 1) != 0);
#define AM_RAISE(bit, c)                                                         \
    if (AM_TYPE_15 != AM_ABSENT && (c))                                          \
        atomicOr(am_words[AM_BIND_15].v[args.flags], 1u << (bit));

void main() {
    const int am_lid = int(gl_LocalInvocationID.x);
    const int am_lanes = REDUCE >= 2 ? AM_GROUP : REDUCE == 0 ? 1 : args.lanes;
    const int am_held = AM_GROUP / am_lanes; /* rows of a group */
    const bool am_across = args.across != 0;
    const int am_lane = REDUCE >= 2 ? am_lid : REDUCE == 0 ? 0
                      : am_across ? am_lid / am_held : am_lid & (am_lanes - 1);
    const int am_slot = REDUCE >= 2 ? 0 : REDUCE == 0 ? am_lid
                      : am_across ? am_lid & (am_held - 1) : am_lid / am_lanes;
    const int am_apart = am_across ? am_held : 1;
    const int am_lid_first = am_across ? am_slot : am_lid - am_lane;
    const int am_wanted = args.row0 + int(gl_WorkGroupID.x) * am_held + am_slot;
    const bool am_live = EVEN || am_wanted < args.rows, am_writes = am_live && am_lane == 0;
    const int am_row = EVEN ? am_wanted : min(am_wanted, args.rows - 1);
    const ivec3 am_place = DIMS == 1 ? ivec3(am_row, 0, 0)
                                     : ivec3(am_row % args.d0, am_row / args.d0 % args.d1,
                                             am_row / args.d0 / args.d1);
    /* Offsets point at the first column of the launch's first part. */
    const int am_part = args.part0 + int(gl_WorkGroupID.y);
    const int am_shift = int(gl_WorkGroupID.y) * args.part_len;
    const int am_first = am_part * args.part_len;
    const int am_length = min(args.n - am_first, args.part_len);
    const int am_blocks = CHIP ? 1 : (am_length + am_lanes * UNROLL - 1) / (am_lanes * UNROLL);
    const int row_length = args.n;

    ROW_IN(AM_BASE) ROW_IN(AM_ARRAY)
    ROW_PARAM(AM_GET_PARAM) ROW_CONST(AM_GET_CONST) ROW_INT(AM_GET_INT) ROW_INDEX(AM_GET_INDEX)
    ROW_S1_GUARDED(AM_NAME) ROW_S2(AM_NAME) ROW_S3(AM_NAME) ROW_VARS(AM_VAR)
    ROW_T0
    if (LOAD) {
        int am_at = args.state_in + am_row * AM_SCALARS;
        AM_SCALARS_DO(AM_LOAD_NAME, AM_LOAD_VAR)
    }
    if (CHIP) {
        const int am_block = 0;
        AM_READ_BLOCK
    }
#if ROW_HAS_MOVE
    if (ONLINE && FOLD_1) {
        AM_FOLD(ROW_S1_GUARDED, AM_R1 + AM_R2)
        ROW_T1
        AM_FOLD_ONLINE
        ROW_T2
    } else if (ONLINE) {
        ROW_S1_GUARDED(AM_LANE) ROW_S2(AM_LANE)
        AM_ONLINE_PASS
        AM_REDUCE(ROW_S1_GUARDED)
        AM_MOVE_TO(m)
        AM_REDUCE(ROW_S2)
        if (PARTIAL) { AM_WRITE_PARTIAL(AM_BOTH, AM_R1 + AM_R2) }
        else { ROW_T1 ROW_T2 }
    }
#endif
#if ROW_HAS_1
    if (FOLD_1 && !ONLINE) {
        AM_FOLD(ROW_S1_GUARDED, AM_R1)
        ROW_T1
    }
    if (ELEMENTS_1 && !ONLINE) {
        AM_STAGE(ROW_S1_GUARDED, )
        if (PARTIAL) { AM_WRITE_PARTIAL(ROW_S1_GUARDED, AM_R1) }
        else { ROW_T1 }
    }
#endif
    bool am_listed = false;
#if ROW_HAS_CANDIDATE
    int am_count = 0;
    if (LIST > 0) {
        float am_over = 0.0f;
        AM_PASS(AM_COLLECT)
        real am_over_v = am_count > LIST ? 1.0f : 0.0f;
        AM_REDUCE(AM_OVERFLOW)
        am_listed = am_over == 0.0f;
    }
#endif
#if ROW_HAS_2
    if (FOLD_2 && !ONLINE) {
        AM_FOLD(ROW_S2, AM_R2)
        ROW_T2
    }
    if (ELEMENTS_2 && !ONLINE) {
        const int am_turns = PARTIAL ? 1 : args.iterations;
        for (int am_turn = 0; am_turn < am_turns; am_turn++) {
            AM_STAGE_LISTED(ROW_S2, ROW_KEEP(AM_KEPT))
            if (!PARTIAL) { ROW_T2 }
        }
        if (PARTIAL) { AM_WRITE_PARTIAL(ROW_S2, AM_R2) }
    }
#endif
#if ROW_HAS_3
    if (FOLD_3) {
        AM_FOLD(ROW_S3, AM_R3)
        ROW_T3
    }
    if (ELEMENTS_3) {
        AM_STAGE_LISTED(ROW_S3, ROW_KEEP(AM_KEPT))
        if (PARTIAL) { AM_WRITE_PARTIAL(ROW_S3, AM_R3) }
        else { ROW_T3 }
    }
#endif
    if (SAVE && am_writes && am_part == 0) {
        int am_at = args.state_out + am_row * AM_SCALARS;
        AM_SCALARS_DO(AM_SAVE_NAME, AM_SAVE_VAR)
    }
    if (FINISH) {
#if ROW_HAS_OUT
        ROW_OUT(AM_OUT_BASE)
        AM_PASS(ROW_KEEP(AM_KEPT) ROW_OUT(AM_OUT))
#endif
        if (am_writes && am_part == 0) {
            ROW_ROW(AM_ROW_OUT)
            ROW_FLAG(AM_RAISE)
        }
    }
}
