/* compare.h: how far a result lies from its truth, in units of the tolerance. */
#ifndef ANYMAX_BENCH_COMPARE_H
#define ANYMAX_BENCH_COMPARE_H

#include "call.h"

/* What the tolerance of a result follows from (tests/tolerance.h). */
typedef struct truth {
    const char *op, *tensor;  /* "softmax", "y" or "grad.x" */
    int64_t n;                /* length of the longest sum */
    uint32_t rank;            /* of the tensors that have rows of that length */
    double input, up;         /* largest inputs and upstream gradients, times scale */
    double alpha;             /* entmax: of every row; 0: not entmax */
    const double *row_alpha;  /* entmax: of each row, or NULL */
    const double *weights;    /* entmax: the true weights, or NULL */
    size_t weight_count;
} truth;

typedef struct verdict {
    double units; /* of the worst element; above 1 it fails; infinite for a lone NaN or infinity */
    size_t index;
    double got, want;
    double error; /* largest finite |got - want| of all elements */
} verdict;

/* Fills n, input, up and alpha from the inputs and parameters of a call. `n` is the length of x's
 * last axis, or the longest axis of all inputs where there is no x. */
truth truth_of_call(op_call *call);

verdict compare_result(const truth *t, const call_tensor *result, const double *want);

#endif
