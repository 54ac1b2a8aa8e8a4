/* contest.h: several ways to do one job, timed in turns in one process, and the rows they work on.
 *
 * What a machine is able to do changes from one second to the next. So speeds are compared within a
 * round, in which each contestant has one turn, and the median over rounds is told. */
#ifndef ANYMAX_BENCH_CONTEST_H
#define ANYMAX_BENCH_CONTEST_H

#include "timing.h"

#include <stddef.h>
#include <stdint.h>

#define CONTEST_MOST 16

typedef struct contestant {
    const char *name;
    bool (*run)(void *user); /* one call, whose work is done when it returns */
    void *user;
    bool threads; /* it uses more than one */
    timing time;
    double share; /* of the speed of the first contestant, which is the yardstick */
} contestant;

/* Rounds until `seconds` are spent, at least seven. A turn is a call to warm up, then as many as
 * can be timed. Before the turn of threads all others' have gone to sleep, and they warm up until
 * each has a processor of its own; some rounds fail in that all the same, so the medians of threads
 * mean little: `share` is of the faster quarter of rounds. False as soon as a call is false, or
 * with more than CONTEST_MOST. */
bool contest_run(contestant *all, size_t count, double seconds);

/* GB/s of the median round, or with threads of the faster quarter. */
static inline double contest_gbps(const contestant *c, double bytes) {
    return bytes / (c->threads ? c->time.quartile_ns : c->time.median_ns);
}

/* ---------------------------------------------------------------- rows */

typedef struct contest_rows {
    int64_t rows, n;
    float *x, *y; /* at a multiple of 64 bytes, with 64 bytes behind them that may be read */
    void *block[2];
} contest_rows;

/* "4096x4096", or "4096" for one row. */
bool contest_parse(const char *text, contest_rows *rows);
/* Memory, all of it touched; x normal with a deviation of 2, from a fixed seed. */
bool contest_rows_make(contest_rows *rows);
void contest_rows_free(contest_rows *rows); /* also after a failure, and all zero */

/* Largest relative error of y against softmax (or log_softmax) of x in double precision: every row
 * of a small case, evenly spread ones of a large one. Infinite where y is not a number. */
double contest_error(const contest_rows *rows, bool log_softmax);
#define CONTEST_WRONG 1e-5 /* an error that no rounding explains */

#endif
