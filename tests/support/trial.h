/* One call of one operation on guarded tensors, held against its truth.
 *
 *     trial t = trial_make(device, "softmax", "random, 7 x 129");
 *     trial_input(&t, "x", ANYMAX_F32, 2, shape, LAYOUT_PACKED, values);
 *     trial_output(&t, "y", ANYMAX_F32, 2, shape, LAYOUT_PACKED, want);
 *     trial_run(&t);   fails the test, with a report, if anything is off
 *     trial_end(&t);
 */
#ifndef SUPPORT_TRIAL_H
#define SUPPORT_TRIAL_H

#include "../tolerance.h"
#include "device.h"
#include "probe.h"

#define TRIAL_TENSORS 14
#define TRIAL_PARAMS 12

typedef struct trial trial;
struct trial {
    const test_device *device;
    const char *op;
    char label[192];
    probe probes[TRIAL_TENSORS];
    double *want[TRIAL_TENSORS]; /* of outputs; NULL: not checked */
    int count;
    anymax_named_value params[TRIAL_PARAMS];
    int param_count;

    /* The call; trial_by_name by default. */
    anymax_status (*call)(trial *t, anymax_stream *stream);
    const void *user;
    bool host;            /* tensors in host memory */
    const char *in_place; /* name of the input whose memory the last output is */
    bool untouched;       /* outputs must keep their bytes: nothing was to be done */
    anymax_status expect, expect_sync;
    const char *expect_text; /* part of the message of a call that is refused */

    /* For the tolerance. */
    const char *tolerance; /* operation whose rows of the table count, default `op` */
    int64_t n;             /* longest sum */
    int64_t row_len, axis; /* rows: length, and where their axis lies in tensors of rank `rank`; */
    uint32_t rank;         /* row_len 0: the tensor counts as one row */
    double factor;         /* scale, or 1 / temperature */
    double alpha;          /* 0: the operation has none */
    const double *row_alpha; /* one a row */
    const double *weights;   /* (rows, row_len), for the least weight of a row */
    anymax_dtype saved;      /* type in which y was saved for backward */

    double worst;  /* after trial_run: largest error in units of the tolerance */
    uint64_t bits; /* and a hash of all output bytes */
};

trial trial_make(const test_device *device, const char *op, const char *format, ...);
/* Both return the probe, valid until trial_end. */
probe *trial_input(trial *t, const char *name, anymax_dtype dtype, uint32_t rank,
                   const int64_t *shape, layout layout, const double *values);
/* `want` may be NULL: the output is then only held against its guards. */
probe *trial_output(trial *t, const char *name, anymax_dtype dtype, uint32_t rank,
                    const int64_t *shape, layout layout, const double *want);
/* An output that is added to. */
probe *trial_accumulated(trial *t, const char *name, anymax_dtype dtype, uint32_t rank,
                         const int64_t *shape, layout layout, const double *first,
                         const double *want);
probe *trial_find(trial *t, const char *name);
/* The tensor of that name, or NULL: for typed calls. */
const anymax_tensor *trial_tensor(trial *t, const char *name);

void trial_float(trial *t, const char *name, double value);
void trial_int(trial *t, const char *name, int64_t value);
void trial_bool(trial *t, const char *name, bool value);
void trial_string(trial *t, const char *name, const char *value);

/* anymax_call with all tensors and parameters. */
anymax_status trial_by_name(trial *t, anymax_stream *stream);
/* Runs and checks. trial_try leaves the verdict to the caller: false, with the report in `text`. */
bool trial_try(trial *t, char *text, size_t size);
void trial_run(trial *t);
void trial_end(trial *t);

#endif
