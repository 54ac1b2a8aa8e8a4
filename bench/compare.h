/* compare.h: how far a result lies from its truth, in units of the tolerance. */
#ifndef ANYMAX_BENCH_COMPARE_H
#define ANYMAX_BENCH_COMPARE_H

#include "call.h"

/* What the tolerance of a result follows from (tests/tolerance.h). */
typedef struct truth {
    const char *op, *tensor; /* "softmax", "y" or "grad.x" */
    int64_t n;               /* length of the longest sum */
    size_t row;              /* elements of a row in tensors of rank `rank`; 0: no rows */
    uint32_t rank;
    double input, up;        /* largest inputs and upstream gradients, times scale */
    double alpha;            /* entmax: of every row; 0: not entmax */
    const double *row_alpha; /* entmax: of each row, or NULL */
    const double *weights;   /* entmax: the true weights, or NULL */
    size_t weight_count;
} truth;

typedef struct verdict {
    double units; /* of the worst element; above 1 it fails; infinite for a lone NaN or infinity */
    size_t index;
    double got, want;
    double error; /* largest finite |got - want| of all elements */
} verdict;

/* Fills n, row, rank, input, up and alpha from the inputs and parameters of a call, as the golden
 * tests do: from names alone. */
truth truth_of_call(op_call *call);

verdict compare_result(const truth *t, const call_tensor *result, const double *want);

#endif
