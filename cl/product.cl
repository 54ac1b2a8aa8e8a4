/* Kernel `product` (on the CPU: runtime/cpu/level_product.c): c = alpha a b, or c += alpha a b; a m x k,
 * b k x n, batched, any strides, any float types. The sum over k runs in index order, in f32.
 *
 * AM_LANES 16: an item takes 64 rows and 32 columns of c, 8 rows in 16 float16 registers at a time;
 * b, a and the sums lie in local memory (8 KiB, and 160 bytes for each of AM_DEPTH steps of k) (CPUs).
 * AM_LANES 1: a group (of 64 items, or fewer) takes 32 x 32 of c, 16 steps of k at a time in local
 * memory (4.2 KiB), an item 4 x 4 or more of them: 2 m n k flops from
 * 4 (m k n / 32 + n k m / 32 + m n) bytes. */
#ifndef am_fma
#if defined(FP_FAST_FMAF)
#define am_fma(a, b, c) fma(a, b, c)
#else
#define am_fma(a, b, c) ((a) * (b) + (c))
#endif
#endif

#define A args.tensor[0]
#define B args.tensor[1]
#define C args.tensor[2]

#if AM_LANES == 16

#define TILE_ROWS 8
#define ITEM_ROWS 64
#ifndef AM_DEPTH
#define AM_DEPTH 64 /* a multiple of 16 */
#endif

/* Up to 32 columns of `depth` rows of b. */
__attribute__((noinline)) void am_fill_columns(__local float16 *tile, am_pointer b, uint type,
                                               int at, int row_step, int column_step, int depth,
                                               int columns) {
    __local float *words = (__local float *)tile;
    if (type == AM_F32 && column_step == 1 && columns == 32) {
        for (int k = 0; k < depth; k++) {
            tile[2 * k] = vload16(0, (__global const float *)b + at + k * row_step);
            tile[2 * k + 1] = vload16(1, (__global const float *)b + at + k * row_step);
        }
    } else if (column_step == 1) {
        for (int k = 0; k < depth; k++)
            am_fill_along(tile + 2 * k, b, type, at + k * row_step, 1, columns, 0.0f);
    } else {
        for (int j = 0; j < columns; j++)
            for (int k = 0; k < depth; k++)
                words[k * 32 + j] = am_load1(b, type, at + k * row_step + j * column_step);
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void am_product(
    const am_product_args args, const am_bases bases, __global uchar *slot_0,
    __global uchar *slot_1, __global uchar *slot_2) {
    __local float16 b_tile[AM_DEPTH * 2], sums[ITEM_ROWS * 2], a_tile[TILE_ROWS * AM_DEPTH / 16];
    const am_pointer a = slot_0 + bases.at[0], b = slot_1 + bases.at[1], c = slot_2 + bases.at[2];
    const uint a_type = AM_NIBBLE(args.types, 0), b_type = AM_NIBBLE(args.types, 1);
    const uint c_type = AM_NIBBLE(args.types, 2);
    const size_t across = (args.n + 31) / 32;
    const size_t down = (args.m - args.row0 + ITEM_ROWS - 1) / ITEM_ROWS;
    const size_t item = get_global_id(0);
    const int column = (int)(item % across) * 32, batch = (int)(item / across / down);
    const int row = args.row0 + (int)(item / across % down) * ITEM_ROWS;
    const int columns = min(args.n - column, 32), rows = min(args.m - row, ITEM_ROWS);
    const int a_at = A.offset + batch * A.batch + row * A.row;
    const int b_at = B.offset + batch * B.batch + column * B.column;
    const int c_at = C.offset + batch * C.batch + row * C.row + column * C.column;
    __local const float *const a_words = (__local const float *)a_tile;
    /* What lies beyond the edges is never stored, but must not be a trap. */
    for (int i = 0; i < ITEM_ROWS * 2; i++) sums[i] = (float16)(0.0f);
    for (int i = 0; i < AM_DEPTH * 2; i++) b_tile[i] = (float16)(0.0f);
    for (int i = 0; i < TILE_ROWS * AM_DEPTH / 16; i++) a_tile[i] = (float16)(0.0f);
    for (int k0 = 0; k0 < args.k; k0 += AM_DEPTH) {
        const int depth = min(args.k - k0, AM_DEPTH);
        am_fill_columns(b_tile, b, b_type, b_at + k0 * B.row, B.row, B.column, depth, columns);
        for (int r = 0; r < rows; r += TILE_ROWS) {
            for (int i = 0; i < TILE_ROWS && r + i < rows; i++)
                am_fill_along(a_tile + i * (AM_DEPTH / 16), a, a_type,
                              a_at + (r + i) * A.row + k0 * A.column, A.column, depth, 0.0f);
            float16 sum_0[TILE_ROWS], sum_1[TILE_ROWS];
#define EACH(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
#define TAKE(i) sum_0[i] = sums[(r + i) * 2]; sum_1[i] = sums[(r + i) * 2 + 1];
#define ADD(i)                                                                \
    {                                                                         \
        const float16 u = (float16)(a_words[i * AM_DEPTH + k]);               \
        sum_0[i] = am_fma(u, v_0, sum_0[i]);                                  \
        sum_1[i] = am_fma(u, v_1, sum_1[i]);                                  \
    }
#define GIVE(i) sums[(r + i) * 2] = sum_0[i]; sums[(r + i) * 2 + 1] = sum_1[i];
            EACH(TAKE)
            for (int k = 0; k < depth; k++) {
                const float16 v_0 = b_tile[2 * k], v_1 = b_tile[2 * k + 1];
                EACH(ADD)
            }
            EACH(GIVE)
        }
    }
    for (int r = 0; r < rows; r++) {
        sums[r * 2] *= args.alpha;
        sums[r * 2 + 1] *= args.alpha;
        am_drain_along(sums + r * 2, c, c_type, c_at + r * C.row, C.column, columns,
                       args.accumulate != 0);
    }
}

#else

#define TILE 32
#define DEPTH 16
#define STEP_Y (AM_ITEMS / 8)
#define DOWN (TILE / STEP_Y) /* rows of an item, STEP_Y apart; columns are 8 apart */

__kernel __attribute__((reqd_work_group_size(AM_ITEMS, 1, 1))) void am_product(
    const am_product_args args, const am_bases bases, __global uchar *slot_0,
    __global uchar *slot_1, __global uchar *slot_2) {
    /* A pad of one keeps columns of a tile in different banks. */
    __local float a_tile[DEPTH][TILE + 1], b_tile[DEPTH][TILE + 1];
    const am_pointer a = slot_0 + bases.at[0], b = slot_1 + bases.at[1], c = slot_2 + bases.at[2];
    const uint a_type = AM_NIBBLE(args.types, 0), b_type = AM_NIBBLE(args.types, 1);
    const uint c_type = AM_NIBBLE(args.types, 2);
    const size_t across = (args.n + TILE - 1) / TILE, down = (args.m - args.row0 + TILE - 1) / TILE;
    const size_t item = get_group_id(0);
    const int column = (int)(item % across) * TILE, batch = (int)(item / across / down);
    const int row = args.row0 + (int)(item / across % down) * TILE;
    const int lid = (int)get_local_id(0), x = lid % 8, y = lid / 8;
    const int a_first = A.offset + batch * A.batch, b_first = B.offset + batch * B.batch;
    float sum[DOWN][4];
    for (int i = 0; i < DOWN; i++)
        for (int j = 0; j < 4; j++) sum[i][j] = 0.0f;
    for (int k0 = 0; k0 < args.k; k0 += DEPTH) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int e = lid; e < TILE * DEPTH; e += AM_ITEMS) {
            /* Neighbouring items take neighbouring elements, whichever way the tensor lies. */
            const int ad = A.column == 1 ? e % DEPTH : e / TILE;
            const int ar = A.column == 1 ? e / DEPTH : e % TILE;
            const int bd = B.row == 1 ? e % DEPTH : e / TILE;
            const int bc = B.row == 1 ? e / DEPTH : e % TILE;
            const int a_at = a_first + (row + ar) * A.row + (k0 + ad) * A.column;
            const int b_at = b_first + (k0 + bd) * B.row + (column + bc) * B.column;
            const bool a_in = row + ar < args.m && k0 + ad < args.k;
            const bool b_in = column + bc < args.n && k0 + bd < args.k;
            a_tile[ad][ar] = a_in ? am_load1(a, a_type, a_at) : 0.0f;
            b_tile[bd][bc] = b_in ? am_load1(b, b_type, b_at) : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int d = 0; d < DEPTH; d++) {
            float u[DOWN], v[4];
            for (int i = 0; i < DOWN; i++) u[i] = a_tile[d][y + STEP_Y * i];
            for (int j = 0; j < 4; j++) v[j] = b_tile[d][x + 8 * j];
            for (int i = 0; i < DOWN; i++)
                for (int j = 0; j < 4; j++) sum[i][j] = am_fma(u[i], v[j], sum[i][j]);
        }
    }
    for (int i = 0; i < DOWN; i++) {
        for (int j = 0; j < 4; j++) {
            const int r = row + y + STEP_Y * i, s = column + x + 8 * j;
            if (r < args.m && s < args.n) {
                const int at = C.offset + batch * C.batch + r * C.row + s * C.column;
                float v = sum[i][j] * args.alpha;
                if (args.accumulate) v = am_load1(c, c_type, at) + v;
                am_store1(c, c_type, at, v);
            }
        }
    }
}

#endif
