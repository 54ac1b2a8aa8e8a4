/* What the macros of a row program are expanded with in kernel `row` (row.cl), the same for all
 * programs; read once, after common.cl. A part of row.cl: shaders/row.comp has its macros itself, the
 * CPU in runtime/cpu/row_macros.h. */
#ifndef AM_CHIP
#define AM_CHIP 0
#endif
#ifndef AM_EXTRAS
#define AM_EXTRAS 1 /* inputs of slots 10 and up may be there; else their code is left out */
#endif
#ifndef AM_LIST
#define AM_LIST 8 /* candidates that a lane of a group can list */
#endif
#ifndef AM_BLOCK
/* Turns of a tile, and between two moves of the anchor. */
#define AM_BLOCK (AM_LANES == 16 ? 32 : 8)
#endif

#define SUM_ID 0.0f
#define MAX_ID -AM_INF
#define SUM_OP(a, b) ((a) + (b))
#define MAX_OP(a, b) am_sel((a) < (b), (b), (a))
#define NONE(a, b)

/* What an item has: the slots of its tensors; then what a row has: places and scalars. */
#define HERE(slot, name)                                                                 \
    const am_pointer name##_p = slot_##slot + bases.at[slot];                            \
    const uint name##_type = AM_NIBBLE(args.types, slot);
#define SLOT(slot, name, e) HERE(slot, name) const int name##_step = args.tensor[slot].step;
#define AT_ROW(slot)                                                                     \
    (args.tensor[slot].offset + row_p0 * args.tensor[slot].s0 + row_p1 * args.tensor[slot].s1 + \
     row_p2 * args.s2[slot])
#define PLACE(slot, name, e)                                                             \
    const rowi name##_at = AT_ROW(slot) + (this_part - args.part0) * args.part_len * name##_step;
#define PARAM(slot, i, name)                                                             \
    HERE(slot, name)                                                                     \
    rowf name = ROWLIT(args.param[i]);                                                   \
    if (name##_type != AM_ABSENT)                                                        \
        name = ROW_LOAD(name##_p, name##_type, NEAR_ROWS(slot), AT_ROW(slot));
#define CONST(i, name) const rowf name = ROWLIT(args.param[i]);
#define INT(i, name) const rowi name = (rowi)(args.iparam[i]);
#define INDEX(slot, name)                                                                \
    HERE(slot, name)                                                                     \
    rowi name = args.row_base + this_row;                                                \
    if (name##_type != AM_ABSENT) name = ROW_LOAD_INDEX(name##_p, name##_type, AT_ROW(slot));
#define SCALAR_1(name) rowf name = ROWLIT(0.0f);
#define SCALAR_3(op, name, e) SCALAR_1(name)
#define POINTERS(P) P(0) P(1) P(2) P(3) P(4) P(5) P(6) P(7) P(8) P(9) P(10) P(11) P(12) P(13) P(14)
#define COUNT_2(a, b) +1
#define COUNT_3(a, b, c) +1

/* Lanes. */
#define LANE(op, name, e) real name##_v = LIT(op##_ID);
#define RESET(op, name, e) name##_v = LIT(op##_ID);
/* A lane sums a block apart before it adds it: small terms are not lost one by one in a large sum.
 */
#define BLOCK_LANE(op, name, e) real name##_b = LIT(op##_ID);
#define BLOCK_ADD(op, name, e) name##_v = op##_OP(name##_v, name##_b);
#define STEP(op, name, e) name##_b = op##_OP(name##_b, (e));
#define POISONED(e) am_sel(am_lane(bad) > 0.0f, LIT(AM_NAN), (e))
#if AM_LANES == 16
/* The first `near` turns are read, or written, where they lie; skip: there is a tile to be filled. */
#define NEAR_IN(slot, name, absent)                                                      \
    const bool name##_direct = DIRECT(name) && !(slot == 0 && is_mixed);                 \
    const int name##_near = name##_direct ? part_length / 16 : 0;                        \
    const int name##_skip = name##_type != AM_ABSENT && !name##_direct;
#define NEAR_OUT(slot, name, e)                                                          \
    const int name##_near =                                                              \
        DIRECT(name) && !(args.accumulate >> slot & 1) ? part_length / 16 : 0;
#define SKIPPED(slot, name, absent) +name##_skip
/* Without a tile one lane is read again and again: `absent`, or what is left of a row. */
#define TILE(slot, name, absent)                                                         \
    __local float16 *const name##_tile = area + area_used;                               \
    area_used += name##_skip ? (is_resident ? row_turns : block_turns) : 1;              \
    if (name##_type == AM_ABSENT) name##_tile[0] = LIT(absent);
#define TILE_OUT(slot, name, e)                                                          \
    __local float16 *const name##_tile = area + area_used;                               \
    area_used += block_turns;
#define LINE_IN(slot, name, absent)                                                      \
    __global const float *const name##_line = LINE(name);                                \
    TAIL(name, absent)
#define LINE_OUT(slot, name, e)                                                          \
    __global float *const name##_line = LINE(name);                                      \
    const bool name##_past = hints.z && ALIGNED(name);
#define FOR_BLOCKS for (int block_at = 0; block_at < part_turns; block_at += block_turns)
#define BLOCK                                                                            \
    const int block_end = min(block_at + block_turns, part_turns);                       \
    const int tile_at = is_resident ? 0 : block_at;                                      \
    if (!is_filled) {                                                                    \
        ROW_IN(FILL)                                                                     \
        MIX_ALL                                                                          \
    }
#define BLOCKS_END is_filled = is_resident;
#define FOR_TURNS(t) for (int t = block_at; t < block_end; t++)
#define ONLINE_BLOCKS FOR_BLOCKS
#define GET(slot, name, absent)                                                          \
    const real name = turn_at < name##_near ? vload16((size_t)turn_at, name##_line)      \
                                            : name##_tile[(turn_at - tile_at) * name##_skip];
#define PUT(slot, name, e)                                                               \
    {                                                                                    \
        const real put_value = POISONED(e);                                              \
        if (turn_at < name##_near && name##_past)                                        \
            am_write_past(put_value, name##_line + 16 * turn_at);                        \
        else if (turn_at < name##_near)                                                  \
            vstore16(put_value, (size_t)turn_at, name##_line);                           \
        else                                                                             \
            name##_tile[turn_at - block_at] = put_value;                                 \
    }
#define KEEP_AT(name, e) keep_##name,
#define KEEP_PUT(name, e) \
    const real name = (e); if (is_kept) keep_area[keep_##name * row_turns + turn_at] = name;
#define KEEP_GET(name, e)                                                                \
    real name;                                                                           \
    if (is_kept) name = keep_area[keep_##name * row_turns + turn_at]; else name = (e);
#define AM_ANY(c) any(c)
#define LIST(j) keep_area[j]
#else
#define FOR_BLOCKS
#define BLOCK
#define BLOCKS_END
#define THERE(slot) (slot < 10 || AM_EXTRAS)
#define LOAD(slot, name, absent)                                                         \
    (THERE(slot) ? am_load_or(name##_p, name##_type, name##_at + col_rel * name##_step,  \
                              col_full, absent)                                          \
                 : LIT(absent))
#define PUT(slot, name, e)                                                               \
    if (name##_type != AM_ABSENT && col_full && row_live) {                              \
        const int put_at = name##_at + col_rel * name##_step;                            \
        real put_value = POISONED(e);                                                    \
        if (args.accumulate >> slot & 1)                                                 \
            put_value = am_load1(name##_p, name##_type, put_at) + put_value;             \
        am_store1(name##_p, name##_type, put_at, put_value);                             \
    }
#define AM_ANY(c) (c)
#define LIST(j) list_words[(j) * AM_ITEMS + local_id]
#if AM_CHIP
#if defined(AM_ROLLED)
#define AM_UNROLL
#elif defined(__clang__) || defined(cl_nv_pragma_unroll)
#define AM_UNROLL _Pragma("unroll")
#else
#define AM_UNROLL
#endif
#define FOR_TURNS(t) AM_UNROLL for (int t = 0; t < AM_CHIP; t++) if (t < part_turns)
#define HOLD(slot, name, absent) real name##_r[AM_CHIP];
#define HOLD_FILL(slot, name, absent) if (THERE(slot)) name##_r[turn_at] = LOAD(slot, name, absent);
#define GET(slot, name, absent) const real name = THERE(slot) ? name##_r[turn_at] : LIT(absent);
#define KEEP_HOLD(name, e) real name##_r[AM_CHIP];
#define KEEP_PUT(name, e) const real name = (e); name##_r[turn_at] = name;
#define KEEP_GET(name, e) const real name = ROW_HAS_2 ? name##_r[turn_at] : (e);
#else
#define FOR_TURNS(t) for (int t = 0; t < part_turns; t++)
#define ONLINE_BLOCKS for (int block_at = 0; block_at < part_turns; block_at += AM_BLOCK)
#define GET(slot, name, absent) const real name = LOAD(slot, name, absent);
#define KEEP_PUT(name, e) const real name = (e);
#define KEEP_GET(name, e) const real name = (e);
#endif
#endif
#define ELEMENTS(S, KEEP)                                                                \
    FOR_BLOCKS {                                                                         \
        BLOCK S(BLOCK_LANE) FOR_TURNS(turn_at) {                                         \
            COLUMN(turn_at) ROW_IN(GET) ROW_LET ROW_KEEP(KEEP) S(STEP)                   \
            if (!ROW_HAS_OUT) {                                                          \
                ROW_IN(AHEAD)                                                            \
            }                                                                            \
        }                                                                                \
        S(BLOCK_ADD)                                                                     \
    }                                                                                    \
    BLOCKS_END
#define LISTED(S)                                                                        \
    {                                                                                    \
        S(BLOCK_LANE)                                                                    \
        for (int turn_at = 0; turn_at < list_found; turn_at++) {                         \
            const real z = LIST(turn_at);                                                \
            S(STEP)                                                                      \
        }                                                                                \
        S(BLOCK_ADD)                                                                     \
    }

/* Workspace: partial states and row scalars. j: number of a reduction, R: how many there are. */
#define AT_PARTIAL(words, R, j) (args.words + (this_row * (R) + (j)) * args.parts_total)
#if AM_LANES == 16
#define PARTIAL_LOAD(at) am_load(ws, AM_F32, PARTIAL_NEAR, at)
#else
#define PARTIAL_LOAD(at) am_load1(ws, AM_F32, at)
#endif
#define PARTIAL_GET(op, name)                                                            \
    MASK(PARTIAL_LOAD(AT_PARTIAL(partial_in, fold_r, fold_j + at_##name) + col_rel), LIT(op##_ID))
#define FOLD_STEP(op, name, e) name##_v = op##_OP(name##_v, PARTIAL_GET(op, name));
#define FOLD(S, R, J)                                                                    \
    {                                                                                    \
        const int fold_length = args.parts_total, fold_r = (R), fold_j = (J);            \
        const int fold_turns = TURNS(fold_length);                                       \
        for (int turn_at = 0; turn_at < fold_turns; turn_at++) {                         \
            FOLD_COLUMN(turn_at) S(FOLD_STEP)                                            \
        }                                                                                \
    }
#define PARTIAL_PUT_AT(R, j, name) \
    ROW_STORE(ws, AM_F32, false, AT_PARTIAL(partial_out, R, j) + this_part, name);
#define PARTIAL_PUT_1(op, name, e) PARTIAL_PUT_AT(AM_R1, at_##name, name)
#define PARTIAL_PUT_2(op, name, e) PARTIAL_PUT_AT(AM_R2, at_##name, name)
#define PARTIAL_PUT_3(op, name, e) PARTIAL_PUT_AT(AM_R3, at_##name, name)
#define PARTIAL_PUT_BOTH_1(op, name, e) PARTIAL_PUT_AT(AM_R1 + AM_R2, at_##name, name)
#define PARTIAL_PUT_BOTH_2(op, name, e) PARTIAL_PUT_AT(AM_R1 + AM_R2, AM_R1 + at_##name, name)
#define AT_1(name) state_##name,
#define AT_3(op, name, e) at_##name,
#define STATE_3(op, name, e) state_##name,
#define AT_STATE(words, name) (args.words + this_row * AM_SCALARS + state_##name)
#define STATE_GET_1(name) name = ROW_LOAD(ws, AM_F32, false, AT_STATE(state_in, name));
#define STATE_GET_3(op, name, e) STATE_GET_1(name)
#define STATE_PUT_1(name) ROW_STORE(ws, AM_F32, false, AT_STATE(state_out, name), name);
#define STATE_PUT_3(op, name, e) STATE_PUT_1(name)

/* A larger anchor: `up` where it is larger, w how much the old one lies below. */
#define ANCHOR(old, new)                                          \
    const real anchor_new = (new), anchor_old = (old), anchor_gap = anchor_old - anchor_new; \
    const real w = am_sel(anchor_gap > -3.0e38f, anchor_gap, LIT(-3.0e38f));
#define ANCHOR_UP (anchor_old < anchor_new)
#define MOVE_OLD(op, name, e) const real name = name##_v;
#define MOVE_STEP(name, e) name##_v = am_sel(ANCHOR_UP, (e), name);
#define MOVE_LANES(new)                                                        \
    {                                                                          \
        ANCHOR(m_v, new)                                                       \
        ROW_S2(MOVE_OLD) ROW_MOVE(MOVE_STEP) m_v = am_sel(ANCHOR_UP, anchor_new, m_v); \
    }
#define PART_OLD(op, name, e) const real name = PARTIAL_GET(op, name); real name##_q = name;
#define PART_STEP(name, e) name##_q = am_sel(ANCHOR_UP, (e), name);
#define PART_ADD(op, name, e) name##_v = op##_OP(name##_v, name##_q);

/* Outputs; a poisoned row is NaN throughout. */
#define PUT_ROW(slot, name, e)                                                           \
    {                                                                                    \
        HERE(slot, name)                                                                 \
        if (name##_type != AM_ABSENT && ROW_WRITER) {                                    \
            rowf put_value = bad > 0.0f ? ROWLIT(AM_NAN) : (e);                          \
            if (args.accumulate >> slot & 1)                                             \
                put_value = ROW_LOAD(name##_p, name##_type, NEAR_ROWS(slot), AT_ROW(slot)) + \
                            put_value;                                                   \
            ROW_STORE(name##_p, name##_type, NEAR_ROWS(slot), AT_ROW(slot), put_value);  \
        }                                                                                \
    }
#define ANCHORED(name, e) const real name = (e);
#define SLOT_ARGUMENT(s) , __global uchar *slot_##s
