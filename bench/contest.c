/* contest.c: turns, and medians over rounds. */
#include "contest.h"
#include "system.h"

#include <stdlib.h>

#define LEAST_ROUNDS 7
#define MOST_ROUNDS 101
#define TURN_SECONDS 5e-4 /* shorter turns are lost in the clock */
/* Thread pools wait awake for some milliseconds before they sleep: libgomp for 300,000 turns of a
 * loop, pthreadpool for 1,000,000. Threads that have just woken up may share a processor, until the
 * system puts them apart. */
#define SPIN_SECONDS 0.03
#define SETTLE_SECONDS 0.01

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool turn(const contestant *c, double *seconds) {
    double start;
    bool good;
    size_t i;
    if (c->threads) system_sleep(SPIN_SECONDS);
    start = timing_now();
    do good = c->run(c->user);
    while (good && c->threads && timing_now() - start < SETTLE_SECONDS);
    start = timing_now();
    for (i = 0; good && i < c->time.batch; i++) good = c->run(c->user);
    *seconds = (timing_now() - start) / (double)c->time.batch;
    return good;
}

static void conclude(contestant *c, double *seconds, double *share, size_t rounds) {
    qsort(seconds, rounds, sizeof *seconds, ascending);
    qsort(share, rounds, sizeof *share, ascending);
    c->time.rounds = rounds;
    c->time.min_ns = seconds[0] * 1e9;
    c->time.median_ns = seconds[rounds / 2] * 1e9;
    c->time.spread = (seconds[rounds * 3 / 4] - seconds[rounds / 4]) / seconds[rounds / 2];
    c->time.quartile_ns = seconds[rounds / 4] * 1e9;
    c->share = share[rounds / 2];
}

bool contest_run(contestant *all, size_t count, double seconds) {
    static double time[CONTEST_MOST][MOST_ROUNDS], share[CONTEST_MOST][MOST_ROUNDS];
    double start, first;
    size_t i, round;
    if (count > CONTEST_MOST) return false;
    for (i = 0; i < count; i++) {
        start = timing_now();
        if (!all[i].run(all[i].user)) return false;
        all[i].time.first_ns = (timing_now() - start) * 1e9;
        all[i].time.batch = 1;
        if (!turn(&all[i], &first)) return false;
        all[i].time.batch = (size_t)(TURN_SECONDS / (first > 1e-7 ? first : 1e-7)) + 1;
    }
    start = timing_now();
    for (round = 0; round < MOST_ROUNDS; round++) {
        if (round >= LEAST_ROUNDS && timing_now() - start > seconds) break;
        /* Another one begins each round, so that nobody always follows the same one. */
        for (i = 0; i < count; i++) {
            size_t who = (i + round) % count;
            if (!turn(&all[who], &time[who][round])) return false;
        }
        for (i = 0; i < count; i++) share[i][round] = time[0][round] / time[i][round];
    }
    for (i = 0; i < count; i++) conclude(&all[i], time[i], share[i], round);
    for (i = 0; i < count; i++)
        if (all[i].threads) all[i].share = all[0].time.quartile_ns / all[i].time.quartile_ns;
    return true;
}
