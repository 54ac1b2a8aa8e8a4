/* The three forms of kernel `row`, one of which is wanted (AM_FORM): how rows and columns fall to
 * items and lanes. Read again whenever the form changes.
 *
 * along   an item takes a row (or a part of one), 16 columns in a lane: CPUs
 * across  an item takes 16 neighbouring rows, column by column: CPUs, strided axes and short rows
 * group   AM_ITEMS items take G = AM_ITEMS / args.lanes rows, args.lanes items a row; sums meet in a
 *         tree in local memory: GPUs. args.across: neighbouring items take neighbouring rows */
#undef rowf
#undef rowi
#undef ROWLIT
#undef am_row
#undef ROW_ITEM
#undef ROW_PLACES
#undef COLUMN
#undef TURNS
#undef MASK
#undef ON
#undef ROW_LOAD
#undef ROW_STORE
#undef ROW_LOAD_INDEX
#undef NEAR_ROWS
#undef NEAR_COLUMNS
#undef REDUCE
#undef AM_ANY
#undef LIST

#define AM_ALONG 1
#define AM_ACROSS 2
#define AM_GROUP 3

#if AM_FORM == AM_ACROSS

#define rowf float16
#define rowi int16
#define ROWLIT(c) ((float16)(c))
#define am_row(v) (v)
/* Surplus rows repeat the last one and are not stored. `block`: 16 rows in a line, so that their
 * places are s0 apart. */
#define ROW_ITEM                                                          \
    const uint first_row = (uint)args.row0 + 16u * (uint)(this_item / all_parts);  \
    const int row_count = (int)min(16u, (uint)args.rows - first_row);         \
    const int16 this_row = (int)first_row + min(AM_IOTA, row_count - 1);           \
    const int16 row_live = AM_IOTA < row_count;                                   \
    const int q0_first = this_row.s0 % args.d0;                                \
    const bool row_block = row_count == 16 && q0_first <= args.d0 - 16;
#define ROW_PLACES                                                        \
    int16 row_q0 = q0_first + AM_IOTA, row_q1 = this_row.s0 / args.d0 % args.d1;       \
    int16 row_q2 = this_row.s0 / args.d0 / args.d1;                                \
    if (!row_block) {                                                         \
        row_q0 = this_row % args.d0;                                               \
        row_q1 = this_row / args.d0;                                               \
        row_q2 = row_q1 / args.d1;                                                \
        row_q1 -= row_q2 * args.d1;                                               \
    }
#define TURNS(part_length) (part_length)
#define COLUMN(turn_at)                    \
    const bool col_full = true;          \
    const int col_rel = (turn_at);             \
    const int16 col = (int16)(part_begin + (turn_at));
#define MASK(v, absent) (v)
#define ON row_live
#define NEAR_ROWS(slot) (row_block && args.tensor[slot].s0 == 1)
#define NEAR_COLUMNS(slot) NEAR_ROWS(slot)
#define ROW_LOAD(p, type, near, at) am_load_any(p, type, near, at)
#define ROW_STORE(p, type, near, at, v) am_store_any(p, type, near, at, v, row_live)
#define ROW_LOAD_INDEX(p, type, at) am_load_indices(p, type, at)
#define REDUCE(S) S(REDUCE_ROWS)
#define REDUCE_ROWS(op, name, e) name = name##_v;
#define AM_ANY(c) any(c)
#define LIST(j) keep_lanes[j]

#elif AM_FORM == AM_ALONG

#define rowf float
#define rowi int
#define ROWLIT(c) ((float)(c))
#define am_row(v) ((v).s0)
#define ROW_ITEM                                            \
    const int this_row = args.row0 + (int)(this_item / all_parts);        \
    const bool row_live = true;
#define ROW_PLACES                                          \
    const int row_q0 = this_row % args.d0, row_q1 = this_row / args.d0 % args.d1, row_q2 = this_row / args.d0 / args.d1;
#define TURNS(part_length) (((part_length) + 15) / 16)
#define COLUMN(turn_at)                                                     \
    const bool col_full = (turn_at) * 16 + 16 <= part_length;                        \
    const int16 col_ahead = (turn_at) * 16 + AM_IOTA;                           \
    const int16 col_rel = min(col_ahead, part_length - 1);                         \
    const int16 col = am_sel(col_ahead < part_length, part_begin + col_ahead, (int16)(-1));
#define MASK(v, absent) am_mask(col_full, col, v, absent)
#define ON (col >= 0)
#define NEAR_ROWS(slot) false
#define NEAR_COLUMNS(slot) (args.tensor[slot].step == 1)
#define ROW_LOAD(p, type, near, at) am_load1(p, type, at)
#define ROW_STORE(p, type, near, at, v) am_store1(p, type, at, v)
#define ROW_LOAD_INDEX(p, type, at) am_load_index(p, type, at)
#define REDUCE(S) S(REDUCE_LANES)
#define REDUCE_LANES(op, name, e) name = am_fold_##op(name##_v);
#define AM_ANY(c) any(c)
#define LIST(j) keep_lanes[j]

#else

#define rowf float
#define rowi int
#define ROWLIT(c) ((float)(c))
#define am_row(v) (v)
/* Surplus rows of the last group repeat the last one and are not stored. */
#define ROW_ITEM                                                                         \
    const int local_id = (int)get_local_id(0), row_lanes = args.lanes, group_rows = AM_ITEMS / row_lanes;  \
    const int this_lane = args.across ? local_id / group_rows : local_id % row_lanes;                            \
    const int tree_hop = args.across ? group_rows : 1, tree_root = local_id - this_lane * tree_hop;                    \
    const uint wanted_row = (uint)args.row0 + (uint)(this_item / all_parts) * (uint)group_rows +           \
                        (uint)(args.across ? tree_root : local_id / row_lanes);                        \
    const bool row_live = wanted_row < (uint)args.rows;                                          \
    const int this_row = row_live ? (int)wanted_row : args.rows - 1;
#define ROW_PLACES                                          \
    const int row_q0 = this_row % args.d0, row_q1 = this_row / args.d0 % args.d1, row_q2 = this_row / args.d0 / args.d1;
#define TURNS(part_length) (((part_length) + row_lanes - 1) / row_lanes)
#define COLUMN(turn_at)                                 \
    const int col_ahead = (turn_at) * row_lanes + this_lane;         \
    const bool col_full = col_ahead < part_length;             \
    const int col_rel = min(col_ahead, part_length - 1);       \
    const int col = col_full ? part_begin + col_ahead : -1;
#define MASK(v, absent) (col_full ? (v) : (absent))
#define ON (col_full && row_live)
#define NEAR_ROWS(slot) false
#define NEAR_COLUMNS(slot) false
#define ROW_LOAD(p, type, near, at) am_load1(p, type, at)
#define ROW_STORE(p, type, near, at, v)                  \
    do {                                                 \
        if (this_lane == 0 && row_live) am_store1(p, type, at, v); \
    } while (0)
#define ROW_LOAD_INDEX(p, type, at) am_load_index(p, type, at)
/* All sums of a stage climb together, a barrier a step. */
#define REDUCE(S)                                  \
    S(TREE_PUT) barrier(CLK_LOCAL_MEM_FENCE);      \
    for (int tree_half = row_lanes >> 1; tree_half > 0; tree_half >>= 1) {     \
        if (this_lane < tree_half) {                            \
            S(TREE_STEP)                           \
        }                                          \
        barrier(CLK_LOCAL_MEM_FENCE);              \
    }                                              \
    S(TREE_GET) barrier(CLK_LOCAL_MEM_FENCE);
#define TREE(name) tree_words[at_##name * AM_ITEMS + local_id]
#define TREE_PUT(op, name, e) TREE(name) = name##_v;
#define TREE_STEP(op, name, e) \
    TREE(name) = op##_OP(TREE(name), tree_words[at_##name * AM_ITEMS + local_id + tree_half * tree_hop]);
#define TREE_GET(op, name, e) name = tree_words[at_##name * AM_ITEMS + tree_root];
#define AM_ANY(c) (c)
#define LIST(j) list_words[(j) * AM_ITEMS + local_id]

#endif
