/* The three forms of kernel `row`, one of which is wanted (AM_FORM): how rows and columns fall to
 * items and lanes. Read again whenever the form changes. A part of row.cl: Vulkan has one form, in
 * shaders/row.comp itself, and the CPU its own, in runtime/cpu/block.h.
 *
 * along   an item takes args.lanes rows (or parts of rows) in turn, 16 columns in a lane: CPUs
 * across  an item takes args.lanes times 16 neighbouring rows, column by column: CPUs, strided axes
 *         and short rows
 * group   AM_ITEMS items take G = AM_ITEMS / args.lanes rows, args.lanes items a row; sums meet in
 *         a tree in local memory: GPUs. args.across: neighbouring items take neighbouring rows
 *
 * On CPUs local memory is ordinary memory, close by: `along` and `across` convert elements into
 * tiles of lanes there, the whole row if it fits, so that loops over elements know neither types nor
 * strides. What is a lane as it lies (DIRECT) is used there, less the last columns of a row. */
#undef rowf
#undef rowi
#undef ROWLIT
#undef am_row
#undef ROW_BEGIN
#undef TURNS
#undef COLUMN
#undef MASK
#undef DIRECT
#undef LINE
#undef ALIGNED
#undef TAIL
#undef AHEAD
#undef FILL
#undef MIX
#undef TURN_SIGN
#undef DRAIN
#undef NEAR_ROWS
#undef ROW_LOAD
#undef ROW_STORE
#undef ROW_LOAD_INDEX
#undef REDUCE
#undef RAISE
#undef ROW_WRITER

#define AM_ALONG 1
#define AM_ACROSS 2
#define AM_GROUP 3

#define ROW_PLACE_OF(row)                                   \
    int row_q0 = (row), row_q1 = 0, row_q2 = 0;             \
    if (row_q0 >= args.d0) {                                \
        row_q1 = row_q0 / args.d0;                          \
        row_q0 -= row_q1 * args.d0;                         \
        row_q2 = row_q1 / args.d1;                          \
        row_q1 -= row_q2 * args.d1;                         \
    }

#if AM_FORM == AM_ACROSS

#define rowf float16
#define rowi int16
#define ROWLIT(c) ((float16)(c))
#define am_row(v) (v)
/* Surplus rows repeat the last one and are not stored. row_block: 16 rows in a line, so that their
 * places are s0 apart. */
#define ROW_BEGIN                                                                        \
    const uint item_turn = (uint)(this_item / all_parts) * (uint)args.lanes + (uint)row_turn; \
    const uint first_row = (uint)args.row0 + 16u * item_turn;                            \
    if (first_row >= (uint)args.rows) break;                                             \
    const int row_count = (int)min(16u, (uint)args.rows - first_row);                    \
    const int16 this_row = (int)first_row + min(AM_IOTA, row_count - 1);                 \
    const int16 row_live = AM_IOTA < row_count;                                          \
    ROW_PLACE_OF((int)first_row)                                                         \
    const bool row_block = row_count == 16 && row_q0 <= args.d0 - 16;                    \
    int16 row_p0 = row_q0 + AM_IOTA, row_p1 = row_q1, row_p2 = row_q2;                   \
    if (!row_block) {                                                                    \
        row_p0 = this_row % args.d0;                                                     \
        row_p1 = this_row / args.d0;                                                     \
        row_p2 = row_p1 / args.d1;                                                       \
        row_p1 -= row_p2 * args.d1;                                                      \
    }
#define TURNS(columns) (columns)
#define COLUMN(t) const int16 col = part_begin + (t);
#define FOLD_COLUMN(t) const int col_rel = (t);
#define MASK(v, absent) (v)
#define PARTIAL_NEAR false
#define NEAR_ROWS(slot) (row_block && args.tensor[slot].s0 == 1)
#define DIRECT(name) false
#define ALIGNED(name)                                                                    \
    (((size_t)name##_p & 63) == 0 && block_turns % 16 == 0 && !any((name##_at & 15) != 0))
#define LINE(name) ((__global float *)name##_p)
#define TAIL(name, absent)
#define AHEAD(slot, name, absent)
#define FILL(slot, name, absent)                                                         \
    if (name##_skip)                                                                     \
        am_fill_across(name##_tile + (block_at - tile_at), name##_p, name##_type, NEAR_ROWS(slot), \
                       name##_at + block_at * name##_step, name##_step, block_end - block_at);
#define MIX(slot, name)                                                                  \
    if (name##_type != AM_ABSENT)                                                        \
        am_add_across(z_tile + (block_at - tile_at), name##_p, name##_type, NEAR_ROWS(slot), \
                      name##_at + block_at * name##_step, name##_step, block_end - block_at);
#define TURN_SIGN true
#define DRAIN(slot, name, e)                                                             \
    if (name##_type != AM_ABSENT)                                                        \
        am_drain_across(name##_tile, name##_p, name##_type, NEAR_ROWS(slot),             \
                        name##_at + block_at * name##_step, name##_step, block_end - block_at, \
                        args.accumulate >> slot & 1, row_count, name##_past);
#define ROW_WRITER true
#define ROW_LOAD(p, type, near, at) am_load(p, type, near, at)
#define ROW_STORE(p, type, near, at, v) am_store(p, type, near, at, v, row_live)
#define ROW_LOAD_INDEX(p, type, at) am_load_indices(p, type, at)
#define REDUCE(S) S(REDUCE_ROWS)
#define REDUCE_ROWS(op, name, e) if (is_active) name = name##_v;
#define RAISE(bit, c) \
    if (args.flags >= 0 && any((c) && row_live)) \
        atomic_or((__global volatile uint *)ws + args.flags, 1u << (bit));

#elif AM_FORM == AM_ALONG

#define rowf float
#define rowi int
#define ROWLIT(c) ((float)(c))
#define am_row(v) ((v).s0)
#define ROW_BEGIN                                                                        \
    const uint item_turn = (uint)(this_item / all_parts) * (uint)args.lanes + (uint)row_turn; \
    const uint wanted_row = (uint)args.row0 + item_turn;                                 \
    if (wanted_row >= (uint)args.rows) break;                                            \
    const int this_row = (int)wanted_row;                                                \
    ROW_PLACE_OF(this_row)                                                               \
    const int row_p0 = row_q0, row_p1 = row_q1, row_p2 = row_q2;
#define TURNS(columns) (((columns) + 15) / 16)
#define COLUMN(t)                                                                        \
    const int16 col_ahead = (t) * 16 + AM_IOTA;                                          \
    const int16 col = am_sel(col_ahead < part_length, part_begin + col_ahead, (int16)(-1));
#define FOLD_COLUMN(t)                                                                   \
    const bool col_full = (t) * 16 + 16 <= fold_length;                                  \
    const int16 col_ahead = (t) * 16 + AM_IOTA, col_rel = min(col_ahead, fold_length - 1);
#define MASK(v, absent) am_sel(col_ahead < fold_length, v, absent)
#define PARTIAL_NEAR col_full
#define NEAR_ROWS(slot) false
#define DIRECT(name) (name##_type == AM_F32 && name##_step == 1)
#define LINE(name) ((__global float *)name##_p + name##_at)
/* While a row is written, a later one comes into the cache. (Not the right one where the rows change
 * over to another dimension: no harm.) */
#define AHEAD(slot, name, absent)                                                        \
    if (hints.y > 0 && name##_type != AM_ABSENT && name##_step == 1)                     \
        am_prefetch(name##_p + ((long)(name##_at + turn_at * 16 + hints.y * args.tensor[slot].s0) \
                                << (name##_type == AM_F32 ? 2 : 1)));
#define ALIGNED(name) (((size_t)name##_line & 63) == 0)
#define TAIL(name, absent)                                                               \
    if (name##_direct && part_length % 16 != 0)                                          \
        am_fill_along(name##_tile, name##_p, AM_F32, name##_at + name##_near * 16, 1,    \
                      part_length % 16, absent);
#define FILL(slot, name, absent)                                                         \
    if (name##_skip)                                                                     \
        am_fill_along(name##_tile + (block_at - tile_at), name##_p, name##_type,         \
                      name##_at + block_at * 16 * name##_step, name##_step,              \
                      min(part_length, block_end * 16) - block_at * 16, absent);
#define MIX(slot, name)                                                                  \
    if (name##_type != AM_ABSENT)                                                        \
        am_add_along(z_tile + (block_at - tile_at), name##_p, name##_type,               \
                     name##_at + block_at * 16 * name##_step, name##_step,               \
                     min(part_length, block_end * 16) - block_at * 16);
#define TURN_SIGN (scale < 0.0f)
#define DRAIN(slot, name, e)                                                             \
    if (name##_type != AM_ABSENT && name##_near < block_end) {                           \
        const int drain_from = max(block_at, name##_near);                               \
        am_drain_along(name##_tile + (drain_from - block_at), name##_p, name##_type,     \
                       name##_at + drain_from * 16 * name##_step, name##_step,           \
                       min(part_length, block_end * 16) - drain_from * 16,               \
                       args.accumulate >> slot & 1);                                     \
    }
#define ROW_WRITER true
#define ROW_LOAD(p, type, near, at) am_load1(p, type, at)
#define ROW_STORE(p, type, near, at, v) am_store1(p, type, at, v)
#define ROW_LOAD_INDEX(p, type, at) am_load_index(p, type, at)
#define REDUCE(S) S(REDUCE_LANES)
#define REDUCE_LANES(op, name, e) if (is_active) name = am_fold_##op(name##_v);
#define RAISE(bit, c) \
    if (args.flags >= 0 && (c)) \
        atomic_or((__global volatile uint *)ws + args.flags, 1u << (bit));

#else

#define rowf float
#define rowi int
#define ROWLIT(c) ((float)(c))
#define am_row(v) (v)
/* Surplus rows of the last group repeat the last one and are not stored. */
#define ROW_BEGIN                                                                        \
    const int local_id = (int)get_local_id(0);                                           \
    const int row_lanes = args.lanes, group_rows = AM_ITEMS / row_lanes;                 \
    const int this_lane = args.across ? local_id / group_rows : local_id % row_lanes;    \
    const int tree_hop = args.across ? group_rows : 1;                                   \
    const int tree_root = local_id - this_lane * tree_hop;                               \
    const uint wanted_row = (uint)args.row0 + (uint)(this_item / all_parts) * (uint)group_rows + \
                            (uint)(args.across ? tree_root : local_id / row_lanes);      \
    const bool row_live = wanted_row < (uint)args.rows;                                  \
    const int this_row = row_live ? (int)wanted_row : args.rows - 1;                     \
    ROW_PLACE_OF(this_row)                                                               \
    const int row_p0 = row_q0, row_p1 = row_q1, row_p2 = row_q2;
#define TURNS(columns) (((columns) + row_lanes - 1) / row_lanes)
#define COLUMN(t)                                        \
    const int col_ahead = (t) * row_lanes + this_lane;   \
    const bool col_full = col_ahead < part_length;       \
    const int col_rel = min(col_ahead, part_length - 1); \
    const int col = col_full ? part_begin + col_ahead : -1;
#define FOLD_COLUMN(t)                                   \
    const int col_ahead = (t) * row_lanes + this_lane;   \
    const bool col_full = col_ahead < fold_length;       \
    const int col_rel = min(col_ahead, fold_length - 1);
#define MASK(v, absent) (col_full ? (v) : (absent))
#define NEAR_ROWS(slot) false
#define AHEAD(slot, name, absent)
#define DRAIN(slot, name, e)
#define ROW_WRITER (this_lane == 0 && row_live)
#define ROW_LOAD(p, type, near, at) am_load1(p, type, at)
#define ROW_STORE(p, type, near, at, v)                               \
    do {                                                              \
        if (this_lane == 0 && row_live) am_store1(p, type, at, v);    \
    } while (0)
#define ROW_LOAD_INDEX(p, type, at) am_load_index(p, type, at)
/* All sums of a stage climb together, a barrier a step. */
#define REDUCE(S)                                                         \
    {                                                                     \
        int tree_half = row_lanes >> 1;                                   \
        S(TREE_PUT) barrier(CLK_LOCAL_MEM_FENCE);                         \
        do {                                                              \
            if (this_lane < tree_half) {                                  \
                S(TREE_STEP)                                              \
            }                                                             \
            barrier(CLK_LOCAL_MEM_FENCE);                                 \
            tree_half >>= 1;                                              \
        } while (tree_half > 0);                                          \
        S(TREE_GET) barrier(CLK_LOCAL_MEM_FENCE);                         \
    }
#define TREE(name) tree_words[at_##name * AM_ITEMS + local_id]
#define TREE_PUT(op, name, e) TREE(name) = name##_v;
#define TREE_STEP(op, name, e) \
    TREE(name) = op##_OP(TREE(name), \
                         tree_words[at_##name * AM_ITEMS + local_id + tree_half * tree_hop]);
#define TREE_GET(op, name, e) if (is_active) name = tree_words[at_##name * AM_ITEMS + tree_root];
#define RAISE(bit, c)                                              \
    if (args.flags >= 0 && row_live && this_lane == 0 && (c))      \
        atomic_or((__global volatile uint *)ws + args.flags, 1u << (bit));

#endif
