/* What a row program is to the CPU's skeleton, and what the skeleton hands to it.
 *
 * row.c expands one program into functions over a tile of at most AM_TILE steps of AM_W lanes;
 * level_row.c owns everything else: memory, types, strides, stages, folds. Both are compiled once
 * an instruction-set level, so a program costs little more than its maths. */
#ifndef AM_CPU_KERNEL_H
#define AM_CPU_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../pretend.h"
#include "../launch.h"

/* Lanes of a vector step, the same at every level: the order of sums does not depend on the level.
 */
#define AM_W 64
#define AM_TILE 16 /* steps of a tile across rows: 4 KiB a tensor */
#define AM_RUN 64  /* of a tile along a row; whatever the tile, sums of so many steps are one */
/* Rows up to this many steps keep ROW_KEEP values: 4 MiB; even from L3 they come faster than they
 * are computed again. */
#define AM_KEEP_STEPS 16384
#define AM_KEEP_ACROSS 4096   /* the same for 64 rows side by side */
#define AM_NEAR_COLUMNS 32768 /* as many, what is kept and the next row fit the second cache */
#define AM_CASCADE 16         /* runs whose sums are added up apart, then as many of these ... */
#define AM_CASCADES 4         /* ... and so on; the last level takes the rest */
#define AM_HOLD_STEPS 256     /* rows up to this many steps are converted once, not in each stage */
#define AM_LIST_STEPS 128     /* capacity of a lane of candidates */
#define AM_ROWS 8             /* that a block along them takes at most, ... */
#define AM_ROWS_VALUES                                                                         \
    8192                  /* ... as long as so many values, inputs and kept ones, suffice, ... \
                           */
#define AM_ROWS_KEPT 1024 /* in rows up to so many columns, where values are kept, ... */
#define AM_ROWS_READ 512  /* ... and where rows are read again: longer ones lose by it */
#define AM_MAX_IN 10      /* tensors of rows of one program */
#define AM_MAX_OUT 6
#define AM_MAX_KEEP 2
#define AM_MAX_SCALARS 48 /* row scalars, those of ROW_PARAM included */
#define AM_MAX_SUMS 12    /* reductions of one stage, or of stages 1 and 2 when they run together */
#define AM_MAX_INDEX 2

/* A step j of a tile holds AM_W elements, at in[i] + j * in_step[i]. */
typedef struct am_tile {
    const float *in[AM_MAX_IN];
    ptrdiff_t in_step[AM_MAX_IN];
    float *keep[AM_MAX_KEEP]; /* AM_W apart */
    float *out[AM_MAX_OUT];
    ptrdiff_t out_step[AM_MAX_OUT];
    const am_row_args *args;
    const float *scalars;   /* [scalar][AM_W] */
    const int32_t *indices; /* [index][AM_W] */
    int steps;
    /* The column of lane l of step j: column + j * column_step + lane_column[l], below column_end;
     * beyond it lies padding. */
    int32_t column, column_step, column_end;
    const int32_t *lane_column;
    ptrdiff_t ahead[AM_MAX_IN]; /* from an element to one that is wanted later; 0: nothing is */
    bool early;                 /* that one is wanted in this pass already */
    float fall; /* how far the anchor of the keep values lies below the row's: <= 0 */
} am_tile;

/* Candidates that were found so far: [slot][AM_W], across count[l] of them in lane l, along
 * count[0] in all, one after the other. */
typedef struct am_list {
    float *z;
    int32_t count[AM_W];
} am_list;

typedef enum am_reduction { AM_REDUCTION_SUM, AM_REDUCTION_MAX } am_reduction;

typedef struct am_cpu_slot {
    int8_t slot;
    int8_t param; /* parameters: number in args.param */
    float absent; /* inputs */
} am_cpu_slot;

/* The loops of a program, for lanes across rows (form 0) or along one (form 1: row scalars are read
 * from lane 0 alone). */
typedef struct am_cpu_form {
    bool apart; /* tiles may differ in what there is to do: short ones pay */
    /* Reduce a tile into sums, [reduction][AM_W]. Stage 2 writes tile.keep, stage 3 and the finish
     * read it. */
    void (*stage[3])(const am_tile *tile, float *sums);
    /* Whether the row needs stage 3: along only, elsewhere NULL. */
    bool (*need_3)(const float *scalars, const int32_t *indices, const am_row_args *args);
    void (*keep)(const am_tile *tile); /* writes tile.keep alone; NULL without ROW_KEEP */
    /* NULL without ROW_OUT; + 1 past the caches, + 2 with tile.fall < 0: along only. */
    void (*finish[4])(const am_tile *tile);
    /* Moves the sums of stage 2 in the lanes whose anchor rises by -w > 0; NULL without ROW_MOVE.
     */
    void (*move)(const float *scalars, const am_row_args *args, float *sums, const float *w);
    /* Appends the candidates of a tile; false when a lane is full. NULL without ROW_CANDIDATE.
     * list_stage: stages 2 and 3 over the list, which is tile.in[0]. */
    bool (*candidates)(const am_tile *tile, am_list *list);
    void (*list_stage[3])(const am_tile *tile, float *sums);
} am_cpu_form;

typedef struct am_cpu_row {
    int8_t has[3];  /* stages */
    int8_t sums[3]; /* reductions of each; stage 1 counts `bad` */
    int8_t scalars; /* those that travel with LOAD and SAVE; the parameters follow them */
    int8_t in_count, param_count, index_count, out_count, row_out_count, keep_count;
    int32_t iterations;
    bool mixed; /* the first input is z, made of x, bias, noise and the sign of the scale, which is
                 * the first parameter */
    const uint8_t *reductions; /* am_reduction of each, stage by stage */
    const am_cpu_slot *in, *param, *index, *out, *row_out;
    /* Row scalars before stage 1 (which = 0) or after stage `which`, for the first `lanes` lanes.
     */
    void (*scalars_at)(int which, float *scalars, const int32_t *indices, const am_row_args *args,
                       int lanes);
    const am_cpu_form *form[2];
    bool row_work; /* there is something to do in finish_row */
    /* Row scalars of the finish into values, [out][AM_W]; the bits of ROW_FLAG into flags. */
    void (*finish_row)(const float *scalars, const int32_t *indices, const am_row_args *args,
                       int lanes, float *values, int32_t *flags);
} am_cpu_row;

/* Scratch of one thread. */
typedef struct am_scratch {
    float in[AM_MAX_IN][AM_HOLD_STEPS * AM_W];
    float constant[AM_MAX_IN][AM_W];
    float out[AM_MAX_OUT][AM_RUN * AM_W];
    float keep[AM_MAX_KEEP][AM_KEEP_STEPS * AM_W];
    float list[AM_LIST_STEPS * AM_W + 16];
    float line[AM_RUN * AM_W];
    float mix[AM_RUN * AM_W];
    float anchor[AM_KEEP_STEPS / AM_RUN + 1]; /* of the tiles of a row */
    float scalars[AM_MAX_SCALARS][AM_W];
    int32_t indices[AM_MAX_INDEX][AM_W];
    float sums[AM_MAX_SUMS][AM_W];
    float older[AM_CASCADES][AM_MAX_SUMS][AM_W]; /* sums of earlier tiles */
    float more[AM_MAX_SUMS][AM_W];
    float values[AM_MAX_OUT][AM_W];
    int64_t at[3][AM_W];            /* the three indices of the rows of a block */
    int64_t row_at[AM_SLOTS][AM_W]; /* element of a row's first column */
    bool side_by_side[AM_SLOTS];    /* across: all AM_W rows are neighbours in memory */
    bool runs[AM_SLOTS];            /* at least some of them are, eight or more in a run */
    int64_t down[AM_SLOTS];         /* elements from one row to the next, 0: not always the same */
    const char *next[AM_SLOTS]; /* the next block's rows, if they come into the cache meanwhile */
    int64_t share[AM_SLOTS];    /* bytes of them for each column of AM_TURN lanes */
} am_scratch;

/* A row launch as one level runs it: unit u is part u % parts of block u / parts. */
typedef struct am_row_job {
    const am_cpu_row *program;
    const am_row_args *args;
    char *data[AM_SLOTS]; /* first byte of the binding, NULL for an absent tensor */
    bool across, keep, hold, online, list;
    bool stream;      /* outputs go past the caches */
    int32_t ahead;    /* rows from one that is worked on to the one that comes in; 0: none */
    bool tiles_ahead; /* within the row, tiles come in one by one, */
    bool early;       /* in the first pass, */
    int32_t asked;    /* but for so many steps, which stage 2 of the row before asks for */
    int block_rows;   /* 1 along a row, AM_W across */
} am_row_job;

typedef struct am_product_job {
    const am_product_args *args;
    char *data[3];
} am_product_job;

/* Sizes of the blocks of a product: a unit is one block of c. */
#define AM_BLOCK_M 192
#define AM_BLOCK_N 288 /* whole tiles of every level: 8, 24 and 32 wide */
#define AM_BLOCK_K 256

typedef struct am_product_scratch {
    float a[AM_BLOCK_M * AM_BLOCK_K], b[AM_BLOCK_N * AM_BLOCK_K], c[AM_BLOCK_M * AM_BLOCK_N];
} am_product_scratch;

typedef union am_thread_scratch {
    am_scratch row;
    am_product_scratch product;
} am_thread_scratch;

/* One instruction-set level. */
typedef struct am_cpu_level {
    am_level level;
    const char *name;
    const am_cpu_row *const *rows; /* by program */
    void (*row)(const am_row_job *job, int64_t first, int64_t end, am_scratch *scratch);
    void (*product)(const am_product_job *job, int64_t unit, am_product_scratch *scratch);
} am_cpu_level;

/* Raises bits of a word that other threads may raise bits of too. */
void am_cpu_raise(void *word, uint32_t bits);

#define AM_CAT2(a, b) a##_##b
#define AM_CAT(a, b) AM_CAT2(a, b)

#endif
