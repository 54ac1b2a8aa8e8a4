/* product: c (+)= alpha a b for each of a batch; any strides and float types, sums in f32, k in
 * order.
 *
 * TILED 1: a group of 64 items owns a 32 x 32 tile of c, an item 4 x 4 of it; tiles of a and b, 16
 * deep, pass through 4.2 KiB of shared memory: 2 m n k flops from 4 (m k n / 32 + n k m / 32 + m n)
 * bytes, 64 registers an item on GCN. Group (x, y, z): tile column, tile row, member of the batch.
 * TILED 0, for processors: an item owns an 8 x 8 tile by itself, DEPTH steps of k a turn of its
 * loop, as turns and loads are what costs there. Group (x, 0, z): tiles in row-major order. */
layout(std140, set = 0, binding = 0) uniform am_product_args {
    int m, n, k, batch;
    int accumulate;
    float alpha;
    int row0, pad;
    uvec4 types_binds;
    ivec4 tensor[3]; /* offset, row, column, batch */
} args;

layout(constant_id = 5) const bool TILED = true;
layout(constant_id = 6) const bool ADD = false;
layout(constant_id = 7) const int DEPTH = 4;

AM_LOAD(0, a)
AM_LOAD(1, b)
AM_STORE(2, c)

#define TILE 32
#define TILE_K 16
#define SIDE 8 /* of the items of a group, and of a tile that an item owns alone */
shared float am_a[TILE_K * (TILE + 1)];
shared float am_b[TILE_K * (TILE + 1)];

int at_a(int i, int q) { return args.tensor[0].x + i * args.tensor[0].y + q * args.tensor[0].z; }
int at_b(int q, int j) { return args.tensor[1].x + q * args.tensor[1].y + j * args.tensor[1].z; }
int at_c(int i, int j) { return args.tensor[2].x + i * args.tensor[2].y + j * args.tensor[2].z; }

void put(int i, int j, int z, float sum) {
    if (i < args.m && j < args.n)
        am_store_c(at_c(i, j) + z * args.tensor[2].w, args.alpha * sum, ADD);
}

/* Rows, columns and depths beyond the end are 0. */
void tiled(int z) {
    const int lid = int(gl_LocalInvocationIndex), x = lid & (SIDE - 1), y = lid / SIDE;
    const int i0 = args.row0 + int(gl_WorkGroupID.y) * TILE, j0 = int(gl_WorkGroupID.x) * TILE;
    /* Neighbouring items read neighbouring addresses, whichever way a matrix lies. */
    const bool a_deep = abs(args.tensor[0].z) <= abs(args.tensor[0].y);
    const bool b_deep = abs(args.tensor[1].y) < abs(args.tensor[1].z);
    float sum[16];
    [[unroll]] for (int s = 0; s < 16; s++) sum[s] = 0.0f;
    for (int q0 = 0; q0 < args.k; q0 += TILE_K) {
        [[unroll]] for (int e = 0; e < TILE * TILE_K; e += SIDE * SIDE) {
            const int at = e + lid;
            const int aq = a_deep ? at & (TILE_K - 1) : at / TILE;
            const int ai = a_deep ? at / TILE_K : at & (TILE - 1);
            const int bq = b_deep ? at & (TILE_K - 1) : at / TILE;
            const int bj = b_deep ? at / TILE_K : at & (TILE - 1);
            const int i = min(i0 + ai, args.m - 1), j = min(j0 + bj, args.n - 1);
            float a = am_load_a(at_a(i, min(q0 + aq, args.k - 1)) + z * args.tensor[0].w);
            float b = am_load_b(at_b(min(q0 + bq, args.k - 1), j) + z * args.tensor[1].w);
            am_a[aq * (TILE + 1) + ai] = q0 + aq < args.k ? a : 0.0f;
            am_b[bq * (TILE + 1) + bj] = q0 + bq < args.k ? b : 0.0f;
        }
        barrier();
        for (int q = 0; q < TILE_K; q++) {
            float a[4], b[4];
            [[unroll]] for (int s = 0; s < 4; s++) {
                a[s] = am_a[q * (TILE + 1) + y + s * SIDE];
                b[s] = am_b[q * (TILE + 1) + x + s * SIDE];
            }
            [[unroll]] for (int s = 0; s < 16; s++) sum[s] += a[s >> 2] * b[s & 3];
        }
        barrier();
    }
    [[unroll]] for (int s = 0; s < 16; s++)
        put(i0 + y + (s >> 2) * SIDE, j0 + x + (s & 3) * SIDE, z, sum[s]);
}

void alone(int z) {
    const int across = (args.n + SIDE - 1) / SIDE, tile = int(gl_GlobalInvocationID.x);
    const int i0 = args.row0 + tile / across * SIDE, j0 = tile % across * SIDE;
    float sum[SIDE * SIDE];
    [[unroll]] for (int s = 0; s < SIDE * SIDE; s++) sum[s] = 0.0f;
    for (int q0 = 0; q0 < args.k; q0 += DEPTH) {
        [[unroll]] for (int d = 0; d < DEPTH; d++) {
            const int q = min(q0 + d, args.k - 1);
            const bool inside = q0 + d < args.k;
            float a[SIDE], b[SIDE];
            [[unroll]] for (int s = 0; s < SIDE; s++) {
                a[s] = am_load_a(at_a(min(i0 + s, args.m - 1), q) + z * args.tensor[0].w);
                b[s] = am_load_b(at_b(q, min(j0 + s, args.n - 1)) + z * args.tensor[1].w);
                a[s] = inside ? a[s] : 0.0f;
                b[s] = inside ? b[s] : 0.0f;
            }
            [[unroll]] for (int s = 0; s < SIDE * SIDE; s++)
                sum[s] += a[s / SIDE] * b[s & (SIDE - 1)];
        }
    }
    [[unroll]] for (int s = 0; s < SIDE * SIDE; s++)
        put(i0 + s / SIDE, j0 + (s & (SIDE - 1)), z, sum[s]);
}

void main() {
    const int z = int(gl_WorkGroupID.z);
    if (TILED) tiled(z);
    else alone(z);
}
