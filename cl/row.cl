/* Kernel `row`: one row program (math/rows/) over rows of tensors; the stages are those of
 * runtime/launch.h. Included once for each program and form, with ROW_FORWARD or ROW_BACKWARD, the
 * program and math/row.h read before, and AM_KERNEL its name; row_macros.cl is read once.
 *
 * Form (row_form.cl) says what an item does. AM_CHIP: 0, or the columns that a lane of a group keeps
 * in registers (whole rows of up to AM_CHIP * lanes columns). Bytes: each stage reads the inputs once,
 * on chip only the first does; the finish writes the outputs.
 * Registers of an item of a group: AM_CHIP for each input and each kept lane, two for each sum, and
 * some 20 more; docs/gpu-compile.md has what compilers make of it. AM_EXTRAS 0: no input of slots 10
 * and up is given, and there is no code for one.
 * Local memory of a group: 4 * AM_ITEMS * (sums of the largest stage + AM_LIST); on CPUs what the host
 * passes as `area`, hints.x lanes; hints.y: rows between one that is written and the one that should
 * come into the cache, or 0; hints.z: results go past the caches. Barriers stand at top level, or in loops of at least one turn whose count depends
 * on args alone: a stage that a launch leaves out reduces nothing, but passes the same barriers. (PoCL
 * copies all that follows a barrier which may be left out.) Names of the skeleton have an underscore
 * or are macros, so that programs are free to use short ones. */
#undef MIX_ALL
#if AM_LANES == 16 && ROW_MIXED
#define MIX_ALL                                                                          \
    if (is_mixed) {                                                                      \
        MIX(12, bias) MIX(13, noise)                                                     \
        if (TURN_SIGN) am_turn(z_tile + (block_at - tile_at), am_lane(scale), block_end - block_at); \
    }
#else
#define MIX_ALL
#endif
__kernel __attribute__((reqd_work_group_size(AM_ITEMS, 1, 1))) void AM_KERNEL(
    const am_row_args args, const am_bases bases,
#if AM_LANES == 16
    __local float16 *area, const int4 hints,
#endif
    __global uchar *slot_15 POINTERS(SLOT_ARGUMENT)) {
    enum { ROW_S1_GUARDED(AT_3) AM_R1 };
    enum { ROW_S2(AT_3) AM_R2 };
    enum { ROW_S3(AT_3) AM_R3 };
    enum { ROW_S1_GUARDED(STATE_3) ROW_S2(STATE_3) ROW_S3(STATE_3) ROW_VARS(AT_1) AM_SCALARS };
#if AM_FORM == AM_GROUP
    enum { AM_R12 = (int)AM_R1 > (int)AM_R2 ? (int)AM_R1 : (int)AM_R2 };
    enum { AM_TREE = (int)AM_R12 > (int)AM_R3 ? (int)AM_R12 : (int)AM_R3 };
    __local float tree_words[AM_TREE * AM_ITEMS];
    const size_t this_item = get_group_id(0);
#if ROW_HAS_CANDIDATE && !AM_CHIP
    __local float list_words[AM_LIST * AM_ITEMS];
    const int list_turns = AM_LIST;
#endif
#else
    const size_t this_item = get_global_id(0);
#endif
    const uint all_parts = (uint)args.parts;
    const int do_stages = args.stages, row_length = args.n;
    const int this_part = args.part0 + (int)(this_item % all_parts);
    const int part_begin = this_part * args.part_len;
    const int part_length = min(args.part_len, args.n - part_begin);
    const am_pointer ws = slot_15 + bases.at[15];
    ROW_IN(SLOT) ROW_OUT(SLOT)
#if AM_CHIP
    const bool is_partial = false;
#else
    const bool is_partial = (do_stages & AM_STAGE_PARTIAL) != 0;
    const bool is_online = ROW_HAS_MOVE ? (do_stages & AM_STAGE_ONLINE) != 0 : false;
#endif

#if AM_LANES == 16
    /* The area: a lane for each absent input, tiles of inputs and outputs, then kept lanes or
     * candidates. */
    enum { AM_INS = 0 ROW_IN(COUNT_3), AM_OUTS = 0 ROW_OUT(COUNT_3) };
    enum { AM_KEEPS = 0 ROW_KEEP(COUNT_2) };
    const int area_lanes = hints.x;
    const int row_turns = TURNS(min(args.part_len, args.n)), part_turns = TURNS(part_length);
    const int block_turns = min(AM_BLOCK, (area_lanes - AM_INS) / (AM_INS + AM_OUTS));
    const bool is_mixed = ROW_MIXED && ((args.types[1] & 0x0fff0000u) != 0 || args.param[0] < 0.0f);
    ROW_IN(NEAR_IN) ROW_OUT(NEAR_OUT)
    const int row_lanes = AM_INS + AM_OUTS * block_turns + (0 ROW_IN(SKIPPED)) * row_turns;
    const bool is_resident = ROW_HAS_1 && (do_stages & AM_STAGE_ELEMENTS_1) && !is_partial &&
                             row_lanes <= area_lanes;
    int area_used = 0;
    ROW_IN(TILE) ROW_OUT(TILE_OUT)
    __local float16 *const keep_area = area + area_used;
#if ROW_HAS_KEEP
    enum { ROW_KEEP(KEEP_AT) AM_KEPT };
    const bool is_kept = ROW_HAS_2 && (ROW_HAS_3 || ROW_HAS_OUT) &&
                         (do_stages & AM_STAGE_ELEMENTS_2) && !is_partial && !is_online &&
                         AM_KEEPS * row_turns <= area_lanes - area_used;
#endif
#if ROW_HAS_CANDIDATE
    const int list_turns = ROW_HAS_KEEP ? 0 : area_lanes - area_used;
#endif
    for (int row_turn = 0; row_turn < args.lanes; row_turn++) {
        bool is_filled = false;
        ROW_BEGIN
#else
        ROW_BEGIN
        const int part_turns = TURNS(part_length);
#endif

        ROW_IN(PLACE) ROW_OUT(PLACE)
        ROW_S1_GUARDED(SCALAR_3) ROW_S2(SCALAR_3) ROW_S3(SCALAR_3) ROW_VARS(SCALAR_1)
        ROW_PARAM(PARAM) ROW_CONST(CONST) ROW_INT(INT) ROW_INDEX(INDEX)
        ROW_T0
#if AM_LANES == 16
        ROW_IN(LINE_IN) ROW_OUT(LINE_OUT)
#if ROW_MIXED
        SLOT(12, bias, 0) SLOT(13, noise, 0) PLACE(12, bias, 0) PLACE(13, noise, 0)
#endif
#endif
#if AM_CHIP
        ROW_IN(HOLD) ROW_KEEP(KEEP_HOLD)
        FOR_TURNS(turn_at) {
            COLUMN(turn_at) ROW_IN(HOLD_FILL)
        }
#else
        if (do_stages & AM_STAGE_LOAD) {
            ROW_S1_GUARDED(STATE_GET_3) ROW_S2(STATE_GET_3) ROW_S3(STATE_GET_3)
            ROW_VARS(STATE_GET_1)
        }
#endif

#if ROW_HAS_1
        ROW_S1_GUARDED(LANE) ROW_S2(LANE)
        {
            const bool is_active = (do_stages & (AM_STAGE_ELEMENTS_1 | AM_STAGE_FOLD_1)) != 0;
#if AM_CHIP
            ELEMENTS(ROW_S1_GUARDED, NONE)
#else
            if (!is_active) {
            } else if (do_stages & AM_STAGE_FOLD_1) {
                FOLD(ROW_S1_GUARDED, is_online ? AM_R1 + AM_R2 : AM_R1, 0)
#if ROW_HAS_MOVE
            } else if (is_online) {
                ONLINE_BLOCKS {
                    BLOCK
#if AM_FORM == AM_GROUP
                    const int block_end = min(block_at + AM_BLOCK, part_turns);
#endif
                    real block_top = m_v;
                    for (int turn_at = block_at; turn_at < block_end; turn_at++) {
                        COLUMN(turn_at) ROW_IN(GET) ROW_LET block_top = MAX_OP(block_top, z);
                        bad_v = MAX_OP(bad_v, ROW_GUARD);
                    }
                    MOVE_LANES(block_top)
                    const real m = m_v;
                    ROW_S2(BLOCK_LANE)
                    for (int turn_at = block_at; turn_at < block_end; turn_at++) {
                        COLUMN(turn_at) ROW_IN(GET) ROW_LET ROW_KEEP(ANCHORED) ROW_S2(STEP)
                    }
                    ROW_S2(BLOCK_ADD)
                }
                BLOCKS_END
#endif
            } else {
                ELEMENTS(ROW_S1_GUARDED, NONE)
            }
#endif
            REDUCE(ROW_S1_GUARDED)
#if !AM_CHIP
            if (is_active && is_partial && !is_online && !(do_stages & AM_STAGE_FOLD_1)) {
                ROW_S1_GUARDED(PARTIAL_PUT_1)
            } else
#endif
            if (is_active) {
                ROW_T1
            }
        }
#endif

#if ROW_HAS_CANDIDATE && !AM_CHIP
        int list_found = 0;
        bool is_listed = list_turns > 0 && (do_stages & AM_STAGE_ELEMENTS_2) &&
                         (do_stages & AM_STAGE_FINISH);
        if (is_listed) {
            FOR_BLOCKS {
                BLOCK FOR_TURNS(turn_at) {
                    COLUMN(turn_at) ROW_IN(GET) ROW_LET
                    if (AM_ANY(ROW_CANDIDATE)) {
                        if (list_found < list_turns) LIST(list_found) = z;
                        list_found++;
                    }
                }
            }
            BLOCKS_END
            is_listed = list_found <= list_turns;
        }
#endif

#if ROW_HAS_2
        {
            const bool fold_2 = (do_stages & AM_STAGE_FOLD_2) != 0;
            int turns_2 = fold_2 ? 1 : 0;
            if (do_stages & AM_STAGE_ELEMENTS_2) turns_2 += is_partial ? 1 : args.iterations;
            const bool is_active = turns_2 > 0;
            int stage_turn = 0;
            do {
#if AM_CHIP
                ROW_S2(RESET)
                ELEMENTS(ROW_S2, KEEP_PUT)
#else
                const bool is_folding = fold_2 && stage_turn == 0;
                if (!is_online || is_folding) {
                    ROW_S2(RESET)
                }
                if (!is_active) {
                } else if (is_folding && !is_online) {
                    FOLD(ROW_S2, AM_R2, 0)
#if ROW_HAS_MOVE
                } else if (is_folding) {
                    const int fold_length = args.parts_total, fold_turns = TURNS(fold_length);
                    for (int turn_at = 0; turn_at < fold_turns; turn_at++) {
                        const int fold_r = AM_R1 + AM_R2;
                        FOLD_COLUMN(turn_at)
                        int fold_j = 0;
                        ANCHOR(PARTIAL_GET(MAX, m), am_lane(m))
                        fold_j = AM_R1;
                        ROW_S2(PART_OLD) ROW_MOVE(PART_STEP) ROW_S2(PART_ADD)
                    }
                } else if (is_online) {
                    MOVE_LANES(am_lane(m))
#endif
#if ROW_HAS_CANDIDATE
                } else if (is_listed) {
                    LISTED(ROW_S2)
#endif
                } else {
                    ELEMENTS(ROW_S2, KEEP_PUT)
                }
#endif
                REDUCE(ROW_S2)
#if !AM_CHIP
                if (is_active && is_partial && !is_folding) {
                    if (is_online) {
                        ROW_S1_GUARDED(PARTIAL_PUT_BOTH_1) ROW_S2(PARTIAL_PUT_BOTH_2)
                    } else {
                        ROW_S2(PARTIAL_PUT_2)
                    }
                } else
#endif
                if (is_active) {
                    ROW_T2
                }
            } while (++stage_turn < turns_2);
        }
#endif

#if ROW_HAS_3
        ROW_S3(LANE)
        {
            const bool is_active = (do_stages & (AM_STAGE_ELEMENTS_3 | AM_STAGE_FOLD_3)) != 0;
#if AM_CHIP
            ELEMENTS(ROW_S3, KEEP_GET)
#else
            if (!is_active) {
            } else if (do_stages & AM_STAGE_FOLD_3) {
                FOLD(ROW_S3, AM_R3, 0)
#if ROW_HAS_CANDIDATE
            } else if (is_listed) {
                LISTED(ROW_S3)
#endif
            } else {
                ELEMENTS(ROW_S3, KEEP_GET)
            }
#endif
            REDUCE(ROW_S3)
#if !AM_CHIP
            if (is_active && is_partial && !(do_stages & AM_STAGE_FOLD_3)) {
                ROW_S3(PARTIAL_PUT_3)
            } else
#endif
            if (is_active) {
                ROW_T3
            }
        }
#endif

#if !AM_CHIP
        if ((do_stages & AM_STAGE_SAVE) && this_part == 0) {
            ROW_S1_GUARDED(STATE_PUT_3) ROW_S2(STATE_PUT_3) ROW_S3(STATE_PUT_3)
            ROW_VARS(STATE_PUT_1)
        }
#endif
        if (do_stages & AM_STAGE_FINISH) {
#if ROW_HAS_OUT
            FOR_BLOCKS {
                BLOCK FOR_TURNS(turn_at) {
                    COLUMN(turn_at) ROW_IN(GET) ROW_LET ROW_KEEP(KEEP_GET) ROW_OUT(PUT)
                    ROW_IN(AHEAD)
                }
                ROW_OUT(DRAIN)
            }
#endif
            if (this_part == 0) {
                ROW_ROW(PUT_ROW)
                ROW_FLAG(RAISE)
            }
        }
#if AM_LANES == 16
    }
#endif
}
