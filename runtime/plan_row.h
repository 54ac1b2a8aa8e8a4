/* The planner of row programs: from one request to launches that respect a device's limits.
 *
 * Knows no device: limits come in, launches go out through a sink, so that its arithmetic is tested
 * without the memory that it plans for. */
#ifndef AM_PLAN_ROW_H
#define AM_PLAN_ROW_H

#include "backend.h"

/* A tensor as one slot of a request sees it. */
typedef struct am_row_slot {
    am_memory *memory; /* NULL: absent */
    size_t offset_bytes;
    uint32_t type; /* AM_F32, ... */
    uint32_t element_bytes;
    int64_t stride[5]; /* of the outer dimensions, in elements */
    int64_t step;      /* along the row; 0 for one value a row */
} am_row_slot;

typedef struct am_row_request {
    int program;
    uint32_t outer_rank; /* dimensions that number the rows, the last one fastest */
    int64_t outer[5];
    int64_t n; /* columns */
    am_row_slot slot[AM_SLOTS];
    float param[AM_MAX_PARAMS];
    int32_t iparam[AM_MAX_INTS];
    uint32_t accumulate; /* bit s: slot s is added to */
    int32_t iterations;  /* of stage 2; 0: the program's own */
} am_row_request;

/* Where launches go. The first `status_bytes` of the workspace hold the status word, then come
 * partial states, then (from pack_offset) copies of tensors that share one binding. */
typedef struct am_sink {
    const am_limits *limits;
    const am_pretend *pretend;
    am_memory *workspace;
    size_t pack_offset;
    size_t partial_bytes; /* out: the most that one launch needed, status word included */
    size_t pack_bytes;    /* out: the same of packed tensors */
    uint32_t launches;    /* out: made so far; beyond AM_MAX_LAUNCHES an operation is refused */
    void *user;
    anymax_status (*row)(void *user, const am_row_launch *launch);
    anymax_status (*product)(void *user, const am_product_launch *launch);
    anymax_status (*copy)(void *user, am_memory *to, size_t to_offset, am_memory *from,
                          size_t from_offset, size_t size_bytes);
} am_sink;

/* A second of planning or so, and far more memory than a device has. */
#define AM_MAX_LAUNCHES (1u << 20)
anymax_status am_sink_count(am_sink *sink);

anymax_status am_plan_row(am_sink *sink, const am_row_request *request);

/* c (+)= alpha a b over `batch`; slots 0 a (m x k), 1 b (k x n), 2 c (m x n). */
typedef struct am_product_request {
    int64_t m, n, k, batch;
    float alpha;
    bool accumulate;
    struct {
        am_memory *memory;
        size_t offset_bytes;
        uint32_t type, element_bytes;
        int64_t row, column, batch; /* strides in elements */
    } slot[3];
} am_product_request;

anymax_status am_plan_product(am_sink *sink, const am_product_request *request);

/* Shared with plan_product.c: gives `slots` ranges binding numbers, merging or packing them when
 * there are more than the device can bind. `share` is the slot (or -1) that lies in the workspace
 * before pack_offset, with which packed tensors share a binding. */
typedef struct am_fit {
    am_binding *binding;
    uint32_t *binds;
    int slots, share;
    int32_t *offset[AM_SLOTS]; /* the slot's element offset within its binding */
    uint32_t element_bytes[AM_SLOTS];
    struct {
        am_memory *memory;
        size_t offset_bytes, size_bytes, packed_offset;
    } back[AM_SLOTS]; /* outputs to copy back after the launch */
    int back_count;
} am_fit;

anymax_status am_fit_bindings(am_sink *sink, am_fit *fit);
anymax_status am_fit_copy_back(am_sink *sink, const am_fit *fit);

#endif
