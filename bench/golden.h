/* golden.h: golden files: cases of one operation with their double-precision results.
 *
 * Tensors are named CASE/in.NAME, CASE/out.NAME, CASE/up.NAME and CASE/grad.NAME; the metadata maps
 * CASE to its parameters in JSON. A case whose name ends in ".narrow" has inputs that are exact in
 * f16 and bf16 too. */
#ifndef ANYMAX_BENCH_GOLDEN_H
#define ANYMAX_BENCH_GOLDEN_H

#include "call.h"
#include "compare.h"
#include "safetensors.h"

typedef struct golden_failure {
    char text[480];
} golden_failure;

/* Worst results of the cases of one operation on one device in one storage type. */
typedef struct golden_result {
    size_t cases, failed;
    double forward, backward;   /* worst error in units of the tolerance */
    char where[128];            /* case and tensor of the worst of both */
    golden_failure failures[8]; /* the first ones */
} golden_result;

/* Runs all cases of the file that fit the storage type, forward and gradients. False with an error
 * if the file is not a golden file of the operation; a case that fails is counted in the result. */
bool golden_run(io_safetensors *file, const anymax_op_info *op, anymax_stream *stream,
                io_dtype storage, golden_result *result, io_error *error);

#endif
