/* Kernel `product`: c = alpha a b, or c += alpha a b; a m x k, b k x n, batched, any strides, any float
 * types. The sum over k runs in index order, in f32.
 *
 * AM_LANES 16: an item takes 8 rows and 32 columns of c, in 16 float16 registers (CPUs).
 * AM_LANES 1: a group (of 64 items, or fewer) takes 32 x 32 of c, 16 steps of k at a time in local memory
 * (4.2 KiB), an item 4 x 4 or more of them: 2 m n k flops from 4 (m k n / 32 + n k m / 32 + m n) bytes. */
#if defined(FP_FAST_FMAF)
#define am_fma(a, b, c) fma(a, b, c)
#else
#define am_fma(a, b, c) ((a) * (b) + (c))
#endif

#define A args.tensor[0]
#define B args.tensor[1]
#define C args.tensor[2]

#if AM_LANES == 16

#define TILE_ROWS 8

/* 16 neighbouring columns of row `k` of b, and of c: `at` is the first one. */
#define COLUMNS_OF(tensor, at) ((at) + min(AM_IOTA, left - 1) * tensor.column)

/* alpha times one row of sums goes to row r of c. */
void am_product_put(const am_product_args *args_of, am_pointer c, int at, int column, uint type, int left,
                    float16 sum) {
    const int16 on = AM_IOTA < left;
    const int16 places = at + min(AM_IOTA, left - 1) * column;
    const bool near = column == 1 && left >= 16;
    if (left <= 0) return;
    float16 v = sum * args_of->alpha;
    if (args_of->accumulate) v = am_load(c, type, near, places, v) + v;
    am_store(c, type, near, places, v, on);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void am_product(
    const am_product_args args, const am_bases bases, __global uchar *slot_0, __global uchar *slot_1,
    __global uchar *slot_2) {
    const am_pointer a = slot_0 + bases.at[0], b = slot_1 + bases.at[1], c = slot_2 + bases.at[2];
    const uint a_type = AM_NIBBLE(args.types, 0), b_type = AM_NIBBLE(args.types, 1);
    const uint c_type = AM_NIBBLE(args.types, 2);
    const size_t across = (args.n + 31) / 32, down = (args.m - args.row0 + TILE_ROWS - 1) / TILE_ROWS;
    const size_t item = get_global_id(0);
    const int column = (int)(item % across) * 32, batch = (int)(item / across / down);
    const int row = args.row0 + (int)(item / across % down) * TILE_ROWS;
    const int left = min(args.n - column, 16), right = args.n - column - 16;
    const bool near = B.column == 1 && left >= 16, near_1 = B.column == 1 && right >= 16;
    /* Surplus rows and columns repeat the last one and are not stored. */
    int a_at[TILE_ROWS];
    for (int i = 0; i < TILE_ROWS; i++)
        a_at[i] = A.offset + batch * A.batch + min(row + i, args.m - 1) * A.row;
    const int b_first = B.offset + batch * B.batch;
    const int16 b_0 = b_first + (column + min(AM_IOTA, left - 1)) * B.column;
    const int16 b_1 = b_first + min(column + 16 + AM_IOTA, args.n - 1) * B.column;
    float16 sum_0[TILE_ROWS], sum_1[TILE_ROWS];
    for (int i = 0; i < TILE_ROWS; i++) sum_0[i] = sum_1[i] = (float16)(0.0f);
    for (int k = 0; k < args.k; k++) {
        const float16 v_0 = am_load(b, b_type, near, b_0 + k * B.row, (float16)(0.0f));
        const float16 v_1 = am_load(b, b_type, near_1, b_1 + k * B.row, (float16)(0.0f));
        for (int i = 0; i < TILE_ROWS; i++) {
            const float16 u = (float16)(am_load1(a, a_type, a_at[i] + k * A.column));
            sum_0[i] = am_fma(u, v_0, sum_0[i]);
            sum_1[i] = am_fma(u, v_1, sum_1[i]);
        }
    }
    for (int i = 0; i < TILE_ROWS && row + i < args.m; i++) {
        const int at = C.offset + batch * C.batch + (row + i) * C.row + column * C.column;
        am_product_put(&args, c, at, C.column, c_type, left, sum_0[i]);
        am_product_put(&args, c, at + 16 * C.column, C.column, c_type, min(right, 16), sum_1[i]);
    }
}

#else

#define TILE 32
#define DEPTH 16
#define STEP_Y (AM_ITEMS / 8)
#define DOWN (TILE / STEP_Y) /* rows of an item, STEP_Y apart; columns are 8 apart */

__kernel __attribute__((reqd_work_group_size(AM_ITEMS, 1, 1))) void am_product(
    const am_product_args args, const am_bases bases, __global uchar *slot_0, __global uchar *slot_1,
    __global uchar *slot_2) {
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
            const int ad = A.column == 1 ? e % DEPTH : e / TILE, ar = A.column == 1 ? e / DEPTH : e % TILE;
            const int bd = B.row == 1 ? e % DEPTH : e / TILE, bc = B.row == 1 ? e / DEPTH : e % TILE;
            const bool a_in = row + ar < args.m && k0 + ad < args.k;
            const bool b_in = column + bc < args.n && k0 + bd < args.k;
            a_tile[ad][ar] =
                a_in ? am_load1(a, a_type, a_first + (row + ar) * A.row + (k0 + ad) * A.column) : 0.0f;
            b_tile[bd][bc] =
                b_in ? am_load1(b, b_type, b_first + (k0 + bd) * B.row + (column + bc) * B.column) : 0.0f;
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
