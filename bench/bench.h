/* bench.h: what `anymax bench` measures. */
#ifndef ANYMAX_BENCH_BENCH_H
#define ANYMAX_BENCH_BENCH_H

#include "call.h"
#include "timing.h"

/* One operation, shape, type and direction on one device: tensors in its buffers. */
typedef struct bench_case {
    const anymax_op_info *op;
    anymax_device *device;
    anymax_stream *stream;
    uint32_t rank; /* of the shape that was asked for; its last axis is the row */
    int64_t shape[ANYMAX_MAX_RANK];
    io_dtype storage;
    bool backward;
    op_call call;
    anymax_buffer *buffer[CALL_MAX];
    double bytes; /* what the definition reads and writes: each tensor once */
} bench_case;

typedef struct bench_result {
    char op[64], device[32], name[256], shape[96];
    const char *dtype, *direction;
    uint32_t threads; /* of a CPU device; 0 on others */
    double bytes;
    timing time;
    double copy_gbps;
} bench_result;

static inline double bench_gbps(const bench_result *r) {
    return r->bytes / r->time.median_ns;
}

/* "4096x4096" */
bool bench_parse_shape(const char *text, uint32_t *rank, int64_t *shape);
void bench_shape_text(char *text, size_t size, uint32_t rank, const int64_t *shape);
/* The shapes of an operation that are measured by default; NULL past the last. */
const char *bench_standard_shape(const anymax_op_info *op, size_t index);

/* Makes inputs from a fixed seed and touches every buffer. Frees with bench_case_free, also after a
 * failure. */
bool bench_case_make(bench_case *c, io_error *error);
void bench_case_free(bench_case *c);
/* Runs once and waits. */
bool bench_case_run(void *bench_case);
/* Runs and holds the results against double precision: every row of a small case, evenly spread
 * rows of a large one. Operations without a loop of their own in tests/support have their golden
 * cases run on the device instead. */
bool bench_case_check(bench_case *c, io_error *error);

/* Bandwidth of this device's own copy of `bytes` / 2 bytes, read and write counted; 0 if unknown.
 */
double bench_copy_gbps(anymax_device *device, anymax_stream *stream, double bytes, double seconds);

bool bench_write_json(const char *path, const bench_result *results, size_t count);

#endif
