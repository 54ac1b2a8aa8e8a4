/* Kernel `product`: c (+)= alpha a b. Compiled once a level.
 *
 * A unit is one block of c, AM_BLOCK_M x AM_BLOCK_N, held in f32 while k runs in steps of
 * AM_BLOCK_K: both operands are packed to f32 panels (which takes care of types and strides), then
 * tiles of TILE_M x TILE_N accumulate in registers. The sum over k has one order, whatever the
 * thread. */
#include "elements.h"
#include "kernel.h"

/* Tiles that fit the registers. GCC unrolls smaller ones before it vectorises them, and then
 * spills: 4 x 16 reaches 10 GFLOP/s where 4 x 24 reaches 134 (GCC 12, AVX2, Zen 5). */
#if defined(__AVX512F__)
#define TILE_M 12
#define TILE_N 32
#elif defined(__AVX2__) || defined(__aarch64__)
#define TILE_M 4
#define TILE_N 24
#else
#define TILE_M 4
#define TILE_N 8
#endif

#if defined(__FMA__) || defined(__aarch64__)
#define am_fma(a, b, c) fmaf(a, b, c)
#else
#define am_fma(a, b, c) ((a) * (b) + (c))
#endif

_Static_assert(AM_BLOCK_M % TILE_M == 0 && AM_BLOCK_N % TILE_N == 0, "blocks hold whole tiles");

/* Element (i, k) of an operand, i along the side that becomes a side of c. */
typedef struct operand {
    const char *data;
    uint32_t type;
    int64_t side, deep; /* strides along i and k, in elements */
} operand;

/* Packs `sides` x `deeps` elements as panels of `width` sides: panel[k][width], zero-padded. */
static void pack(const operand *o, int sides, int deeps, int width, float *to) {
    size_t size = am_type_size(o->type);
    float line[AM_BLOCK_K];
    for (int i = 0; i < sides; i += width, to += (ptrdiff_t)width * deeps) {
        int live = sides - i < width ? sides - i : width;
        const char *from = o->data + i * o->side * (int64_t)size;
        if (live < width) memset(to, 0, (size_t)width * (size_t)deeps * 4);
        if (o->deep == 1) {
            for (int s = 0; s < live; s++) {
                am_load_line(line, from + s * o->side * (int64_t)size, o->type, 1, deeps);
                for (int k = 0; k < deeps; k++) to[k * width + s] = line[k];
            }
        } else {
            for (int k = 0; k < deeps; k++)
                am_load_line(to + k * width, from + k * o->deep * (int64_t)size, o->type,
                             (ptrdiff_t)o->side, live);
        }
    }
}

/* Adds to c. The sum over the k of a block is apart from that of the blocks, so it drifts less. */
static void tile(const float *restrict a, const float *restrict b, int deeps, float *restrict c) {
    float sum[TILE_M][TILE_N];
    for (int i = 0; i < TILE_M; i++)
        for (int j = 0; j < TILE_N; j++) sum[i][j] = 0.0f;
    for (int k = 0; k < deeps; k++, a += TILE_M, b += TILE_N)
        for (int i = 0; i < TILE_M; i++)
            for (int j = 0; j < TILE_N; j++) sum[i][j] = am_fma(a[i], b[j], sum[i][j]);
    for (int i = 0; i < TILE_M; i++)
        for (int j = 0; j < TILE_N; j++) c[i * AM_BLOCK_N + j] += sum[i][j];
}

static void write_block(const am_product_job *job, int64_t at, int rows, int columns, float *c) {
    const am_product_args *p = job->args;
    uint32_t type = am_nibble(p->types, 2);
    float line[AM_BLOCK_N];
    for (int i = 0; i < rows; i++, c += AM_BLOCK_N) {
        char *to =
            job->data[2] + (at + (int64_t)i * p->tensor[2].row) * (int64_t)am_type_size(type);
        for (int j = 0; j < columns; j++) c[j] *= p->alpha;
        if (p->accumulate)
            am_add_line(to, type, p->tensor[2].column, c, columns, line);
        else
            am_store_line(to, type, p->tensor[2].column, c, columns);
    }
}

static operand operand_of(const am_product_job *job, int slot, int64_t at, int64_t side,
                          int64_t deep) {
    operand o = {.type = am_nibble(job->args->types, slot), .side = side, .deep = deep};
    o.data = job->data[slot] + at * (int64_t)am_type_size(o.type);
    return o;
}

void AM_CAT(am_cpu_product, AM_LEVEL)(const am_product_job *job, int64_t unit,
                                      am_product_scratch *scratch);
void AM_CAT(am_cpu_product, AM_LEVEL)(const am_product_job *job, int64_t unit,
                                      am_product_scratch *s) {
    const am_product_args *p = job->args;
    int64_t across = ((int64_t)p->n + AM_BLOCK_N - 1) / AM_BLOCK_N;
    int64_t down = ((int64_t)p->m - p->row0 + AM_BLOCK_M - 1) / AM_BLOCK_M;
    int64_t row = p->row0 + unit / across % down * AM_BLOCK_M, column = unit % across * AM_BLOCK_N;
    int64_t batch = unit / across / down;
    int rows = (int)(p->m - row < AM_BLOCK_M ? p->m - row : AM_BLOCK_M);
    int columns = (int)(p->n - column < AM_BLOCK_N ? p->n - column : AM_BLOCK_N);
    memset(s->c, 0, sizeof s->c);
    for (int64_t k = 0; k < p->k; k += AM_BLOCK_K) {
        int deeps = (int)(p->k - k < AM_BLOCK_K ? p->k - k : AM_BLOCK_K);
        operand a = operand_of(job, 0,
                               p->tensor[0].offset + batch * p->tensor[0].batch +
                                   row * p->tensor[0].row + k * p->tensor[0].column,
                               p->tensor[0].row, p->tensor[0].column);
        operand b = operand_of(job, 1,
                               p->tensor[1].offset + batch * p->tensor[1].batch +
                                   k * p->tensor[1].row + column * p->tensor[1].column,
                               p->tensor[1].column, p->tensor[1].row);
        pack(&a, rows, deeps, TILE_M, s->a);
        pack(&b, columns, deeps, TILE_N, s->b);
        for (int j = 0; j < columns; j += TILE_N)
            for (int i = 0; i < rows; i += TILE_M)
                tile(s->a + i * deeps, s->b + j * deeps, deeps, s->c + i * AM_BLOCK_N + j);
    }
    write_block(job,
                p->tensor[2].offset + batch * p->tensor[2].batch + row * p->tensor[2].row +
                    column * p->tensor[2].column,
                rows, columns, s->c);
}
