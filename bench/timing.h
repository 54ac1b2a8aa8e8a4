/* timing.h: wall time of repeated work. */
#ifndef ANYMAX_BENCH_TIMING_H
#define ANYMAX_BENCH_TIMING_H

#include <stdbool.h>
#include <stddef.h>

double timing_now(void); /* seconds; only differences mean anything */

typedef struct timing {
    double first_ns; /* the very first call: compiles, allocates */
    double median_ns, min_ns;
    double spread;        /* (third quartile - first quartile) / median */
    size_t rounds, batch; /* batch: calls in a round, so that a round can be timed */
} timing;

/* Runs `work` until rounds and time suffice. False as soon as `work` is false. */
bool timing_measure(bool (*work)(void *user), void *user, double seconds, timing *out);

#endif
