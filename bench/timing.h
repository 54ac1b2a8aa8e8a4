/* timing.h: wall time of repeated work, alone or in turn with a yardstick. */
#ifndef ANYMAX_BENCH_TIMING_H
#define ANYMAX_BENCH_TIMING_H

#include <stdbool.h>
#include <stddef.h>

double timing_now(void); /* seconds; only differences mean anything */

typedef struct timing {
    double first_ns; /* the very first call: compiles, allocates */
    double min_ns, quartile_ns, median_ns;
    double spread;        /* (third quartile - first quartile) / median */
    size_t rounds, batch; /* batch: calls in a round, so that a round can be timed */
} timing;

typedef struct timing_work {
    bool (*run)(void *user);
    void *user;
} timing_work;

/* Work and yardstick in turn. What disturbs the machine for a while then meets both, so that the
 * ratio of a round says more than the ratio of two medians. */
typedef struct timing_pair {
    timing work, anchor;
    double ratio;      /* median over the rounds of the yardstick's time / the work's */
    double ratio_best; /* third quartile of the same: a quarter of the rounds were better */
} timing_pair;

/* Runs `work` until rounds and time suffice. False as soon as a run is false. */
bool timing_measure(const timing_work *work, double seconds, timing *out);
/* Likewise, `seconds` for each of the two. Each is run once untimed before a timed round, so that
 * it finds the caches as itself would leave them and not as the other one does. */
bool timing_paired(const timing_work *work, const timing_work *anchor, double seconds,
                   timing_pair *out);

#endif
