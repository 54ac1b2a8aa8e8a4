/* A case: an operation with shapes, layouts, types and options, described in a line of a table. Its
 * inputs are random (by the program's seed and the case's name), its truth is the reference's. */
#ifndef SUPPORT_CASES_H
#define SUPPORT_CASES_H

#include "reference.h"
#include "trial.h"

typedef enum fill {
    FILL_NORMAL = 0, /* 3 N(0,1) */
    FILL_WIDE,       /* +-300: exp would overflow without the maximum */
    FILL_OFFSET,     /* near 1e4: scale * x rounded first would lose the digits */
    FILL_MASKED,     /* -inf here and there, whole rows of it now and then */
    FILL_POISON,     /* rows with NaN or +inf between sound ones */
    FILL_TIES,       /* whole numbers from 0 to 2 */
    FILL_EQUAL,      /* all the same */
    FILL_PEAK,       /* one entry 20 above the others */
    FILL_NEAR        /* N(0,1) / 2: large supports for entmax */
} fill;

typedef enum spread {
    SPREAD_NONE = 0,
    SPREAD_FULL,   /* like x */
    SPREAD_ROW,    /* one row for all: 1 on every other axis */
    SPREAD_COLUMN, /* one number a row: 1 on the row axis */
    SPREAD_SHORT   /* one row, without the leading axes (row axis last) */
} spread;

typedef struct op_case {
    const char *name, *op;
    uint32_t rank;
    int64_t shape[ANYMAX_MAX_RANK]; /* as handed over; infonce_loss: batch, length */
    int axis_back;                  /* row axis, counted from the last */
    fill fill;
    anymax_dtype in, out, index; /* index: default f32 stands for i32 */
    layout layout_in, layout_out;
    bool host, accumulate, typed; /* typed: not through anymax_call */
    const char *in_place;         /* input that the last output overwrites */
    bool give_saved;              /* backward gets y */
    bool values;                  /* backward tells loss and lse too */

    anymax_opt scale; /* or 1 / temperature of gumbel_softmax */
    bool row_scale;
    spread bias, noise;
    anymax_opt alpha;
    bool row_alpha;
    anymax_opt tau;
    anymax_opt temperature;
    double smoothing, z_loss;
    anymax_opt_int ignore_index;
    const char *reduction;
    bool weight, probabilities;
    bool no_up_loss, no_up_lse, no_lse;
    bool symmetric, plain_dot;
    int64_t negatives;
    /* Values instead of random ones, rows one after the other. */
    const double *given_x, *given_bias, *given_target, *given_prob, *given_weight;
    const char *only; /* the one gradient asked for, e.g. "grad.key" */
} op_case;

/* Runs a case and fails the test if anything is off; returns a hash of the output bytes. */
uint64_t op_case_run(const test_device *device, const op_case *c, bool backward);

/* The same, through a call of the test's own. */
uint64_t op_case_run_with(const test_device *device, const op_case *c, bool backward,
                          anymax_status (*call)(trial *t, anymax_stream *stream));

/* A random case of `op`: shape up to `most` elements, layouts, types, options. `name` must last. */
void op_case_random(op_case *c, const char *op, const char *name, uint64_t salt, int64_t most);

/* Parts of op_case_run. */
void op_case_options(trial *t, const op_case *c, bool backward);
anymax_status op_case_typed(trial *t, anymax_stream *stream);

#endif
