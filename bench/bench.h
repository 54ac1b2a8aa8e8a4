/* bench.h: what `anymax bench` measures. */
#ifndef ANYMAX_BENCH_BENCH_H
#define ANYMAX_BENCH_BENCH_H

#include "anchor.h"
#include "call.h"
#include "timing.h"

typedef enum bench_way { BENCH_FORWARD = 1, BENCH_BACKWARD = 2, BENCH_BOTH = 3 } bench_way;

static inline const char *bench_way_name(bench_way way) {
    return way == BENCH_FORWARD ? "forward" : way == BENCH_BACKWARD ? "backward" : "both";
}

/* One operation, shape, type and direction on one device: tensors in its buffers. */
typedef struct bench_case {
    const anymax_op_info *op;
    anymax_device *device;
    anymax_stream *stream;
    uint32_t rank; /* of the shape that was asked for; its last axis is the row */
    int64_t shape[ANYMAX_MAX_RANK];
    io_dtype storage;
    bench_way way;
    op_call call; /* the tensors of all directions */
    anymax_buffer *buffer[CALL_MAX];
    double bytes;    /* what the definition reads and writes: each tensor once */
    double written;  /* of these: results */
    double elements; /* of the first input */
} bench_case;

typedef struct bench_result {
    char op[64], device[32], name[256], shape[96];
    const char *dtype, *direction;
    uint32_t threads; /* of a CPU device; 0 on others */
    double bytes, elements;
    timing time;
    const char *anchor; /* "copy" or "read"; NULL: there was none */
    double anchor_gbps; /* of its median */
    double share;       /* median over the rounds of the case's GB/s / the anchor's */
    double share_best;  /* a quarter of the rounds were better */
} bench_result;

typedef struct bench_latency_result {
    char device[32];
    double first_ns; /* from opening the device to the first result */
    timing call;     /* of a tiny input */
    double empty_ns; /* launch of an empty kernel; 0: the device has no launches */
    double ratio;    /* call / empty, the median over the rounds */
} bench_latency_result;

/* What was asked for. */
typedef struct bench_options {
    char **device, **shape, **dtype;
    char *direction, *json, *svg;
    uint32_t threads;
    double seconds; /* for each measurement */
    double most;    /* elements of --scaling */
    bool full;      /* all standard shapes and types */
} bench_options;

static inline double bench_gbps(const bench_result *r) {
    return r->bytes / r->time.median_ns;
}

/* "4096x4096" */
bool bench_parse_shape(const char *text, uint32_t *rank, int64_t *shape);
void bench_shape_text(char *text, size_t size, uint32_t rank, const int64_t *shape);
/* The shapes of an operation that are measured by default, or with --full; NULL past the last. */
const char *bench_standard_shape(const anymax_op_info *op, size_t index, bool full);
bool bench_has_gradient(const anymax_op_info *op);
/* Threads of a CPU device; 0 on others. */
uint32_t bench_threads(uint32_t wanted, const anymax_device_info *info);
/* "12.3 us" */
void bench_time_text(char *text, size_t size, double ns);

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
/* Whether a tensor of the case is a result. */
bool bench_is_result(const bench_case *c, const char *name);

/* The modes of `anymax bench`; each returns the exit code. `op` NULL: all of them. */
int bench_measure(const bench_options *options, const anymax_op_info *op);
int bench_latency(const bench_options *options);
int bench_scaling(const bench_options *options, const anymax_op_info *op);

void bench_print_table(const bench_result *results, size_t count);
/* To a file, or to stdout if it is "-"; false after a message. */
bool bench_write_json(const char *path, const bench_result *results, size_t count);
bool bench_write_latency(const char *path, const bench_latency_result *results, size_t count);

#endif
