/* The arguments of a launch: what the planner hands to a backend, the same block in three
 * languages.
 *
 * A launch names kernel, program, rows, parts and arguments, never group counts. Every field has 4
 * bytes, so that C, OpenCL C (by value) and GLSL (std140 uniform buffer) agree on the layout;
 * cl/row.cl and shaders/row.comp repeat the struct in the same order. */
#ifndef AM_LAUNCH_H
#define AM_LAUNCH_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* Tensor slots of a row program: 0..9 its own, 10 and 11 those of its inputs that calls mostly
 * leave out, the rest shared by all programs. Inputs from 10 on are the extras: kernels may come
 * without code for them. */
#define AM_SLOTS 16
#define AM_SLOT_EXTRAS 10
#define AM_SLOT_BIAS 12
#define AM_SLOT_NOISE 13
#define AM_SLOT_SCALE 14
#define AM_SLOT_WORKSPACE 15 /* f32 words: flags, partial states, row scalars */

/* The first bytes of every workspace: the status word that kernels raise bits of. */
#define AM_STATUS_BYTES 256

/* Element types as kernels see them; 4 bits each in `types`. */
enum { AM_ABSENT = 0, AM_F32 = 1, AM_F16 = 2, AM_BF16 = 3, AM_I32 = 4, AM_I64 = 5, AM_U8 = 6 };

/* What one launch does of the stages of a program (args.stages). A row that one launch finishes has
 * ELEMENTS of each stage it has, and FINISH. A row that is split takes a launch for each stage: it
 * folds the partial states that the launch before wrote (FOLD), runs the row scalars, reduces the
 * elements of its own part for the next stage and writes them as partial states (PARTIAL). */
enum {
    AM_STAGE_ELEMENTS_1 = 1 << 0,
    AM_STAGE_ELEMENTS_2 = 1 << 1, /* args.iterations times when no FOLD_2 is set, else once */
    AM_STAGE_ELEMENTS_3 = 1 << 2,
    AM_STAGE_FOLD_1 = 1 << 3,
    AM_STAGE_FOLD_2 = 1 << 4, /* comes before ELEMENTS_2 */
    AM_STAGE_FOLD_3 = 1 << 5,
    AM_STAGE_ONLINE = 1 << 6,  /* stages 1 and 2 in one pass over the elements (with ELEMENTS_1 and
                                  ELEMENTS_2, or FOLD_1 and FOLD_2): programs with ROW_MOVE */
    AM_STAGE_LOAD = 1 << 7,    /* row scalars come from state_in */
    AM_STAGE_SAVE = 1 << 8,    /* row scalars go to state_out (written for part 0 alone) */
    AM_STAGE_PARTIAL = 1 << 9, /* sums of the last ELEMENTS stage go to partial_out, no finish */
    AM_STAGE_FINISH = 1 << 10  /* elements and row outputs are written; flags are raised */
};

#define AM_MAX_PARAMS 8
#define AM_MAX_INTS 4

typedef struct am_row_args {
    int32_t n;        /* columns of a row */
    int32_t rows;     /* end of the rows of this dispatch */
    int32_t row0;     /* first row of this dispatch: a backend may cut a launch into several */
    int32_t row_base; /* number of the launch's row 0 among all rows of the operation */
    int32_t d0, d1;   /* row r is at (r % d0, r / d0 % d1, r / (d0 * d1)) */
    int32_t part_len; /* columns of a part; n when rows are whole */
    int32_t part0;    /* first part of this launch; the tensors' offsets are at its first column */
    int32_t parts;    /* parts of this launch, 1 when rows are whole */
    int32_t parts_total; /* parts of a row */
    int32_t stages;
    int32_t iterations; /* of stage 2 */
    int32_t accumulate; /* bit s: slot s is added to */
    int32_t lanes;      /* lanes a row, set by the backend */
    int32_t across;     /* neighbouring lanes take neighbouring rows, set by the backend */
    int32_t flags;      /* word of the workspace whose bits are raised by ROW_FLAG */
    int32_t partial_in, partial_out; /* words: ((row * reductions) + r) * parts_total + part */
    int32_t state_in, state_out;     /* words: row * scalars + i */
    float param[AM_MAX_PARAMS];
    int32_t iparam[AM_MAX_INTS];
    uint32_t types[2]; /* 4 bits a slot */
    uint32_t binds[2]; /* 4 bits a slot: number of the storage binding (Vulkan) */
    /* Element (r, c): offset + r's three indices * s0, s1, s2 + (c - part0 * part_len) * step. */
    struct {
        int32_t offset, step, s0, s1;
    } tensor[AM_SLOTS];
    int32_t s2[AM_SLOTS];
} am_row_args;

static_assert(sizeof(am_row_args) == 464,
              "the layout is repeated in cl/row.cl and shaders/row.comp");
static_assert(offsetof(am_row_args, param) == 80, "vec4 in GLSL");
static_assert(offsetof(am_row_args, types) == 128, "uvec4 in GLSL");
static_assert(offsetof(am_row_args, tensor) == 144, "ivec4 in GLSL");

static inline uint32_t am_nibble(const uint32_t *words, int slot) {
    return words[slot >> 3] >> ((slot & 7) * 4) & 15u;
}

static inline void am_set_nibble(uint32_t *words, int slot, uint32_t value) {
    int at = (slot & 7) * 4;
    words[slot >> 3] = (words[slot >> 3] & ~(15u << at)) | value << at;
}

/* c (+)= alpha * a b, for each of `batch`: a m x k, b k x n, c m x n, any strides (so transposes
 * need no copy). Slots: 0 a, 1 b, 2 c. The sum over k runs in one fixed order. */
typedef struct am_product_args {
    int32_t m, n, k, batch;
    int32_t accumulate;
    float alpha;
    int32_t row0,
        pad; /* first row of c of this dispatch: a backend may cut a launch into several */
    uint32_t types[2], binds[2];
    struct {
        int32_t offset, row, column, batch; /* elements */
    } tensor[3];
} am_product_args;

static_assert(sizeof(am_product_args) == 96, "the layout is repeated in the kernels");

#endif
