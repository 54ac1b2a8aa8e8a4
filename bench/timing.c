/* timing.c: wall time of repeated work. */
#include "timing.h"

#include <stdlib.h>
#include <time.h>

#define MIN_ROUNDS 7
/* Of work so slow that more would take ten times what was asked for. */
#define FEW_ROUNDS 3
#define MAX_ROUNDS 101
/* Shorter rounds are lost in the clock and in wake-ups; the time that there is makes them longer.
 */
#define ROUND_SECONDS 2e-4
/* Work that takes longer goes through more memory than any cache has: nothing to be warmed up. */
#define WARM_SECONDS 0.05

double timing_now(void) {
    struct timespec t;
    if (timespec_get(&t, TIME_UTC) == 0) return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct series {
    const timing_work *work;
    size_t batch;
    double first; /* seconds */
    double round[MAX_ROUNDS];
} series;

static bool run_batch(const timing_work *work, size_t batch, double *seconds) {
    double start = timing_now();
    size_t i;
    for (i = 0; i < batch; i++)
        if (!work->run(work->user)) return false;
    *seconds = (timing_now() - start) / (double)batch;
    return true;
}

static bool warm_up(series *s, double round_seconds) {
    double warm;
    if (round_seconds < ROUND_SECONDS) round_seconds = ROUND_SECONDS;
    if (!run_batch(s->work, 1, &s->first) || !run_batch(s->work, 2, &warm)) return false;
    if (warm < 1e-7) warm = 1e-7;
    s->batch = warm < round_seconds ? (size_t)(round_seconds / warm) + 1 : 1;
    return true;
}

/* Rounds of all series in turn; 0 when a run was false. */
static size_t run_rounds(series *const *all, size_t count, double seconds) {
    double start, untimed;
    size_t rounds, k;
    for (k = 0; k < count; k++)
        if (!warm_up(all[k], seconds / (double)count / MAX_ROUNDS)) return 0;
    start = timing_now();
    for (rounds = 0; rounds < MAX_ROUNDS; rounds++) {
        double spent = timing_now() - start;
        size_t enough = spent > 10 * seconds ? FEW_ROUNDS : MIN_ROUNDS;
        if (rounds >= enough && spent >= seconds) break;
        for (k = 0; k < count; k++) {
            series *s = all[k];
            double before = rounds ? s->round[rounds - 1] : s->first;
            if (count > 1 && before < WARM_SECONDS && !run_batch(s->work, 1, &untimed)) return 0;
            if (!run_batch(s->work, s->batch, &s->round[rounds])) return 0;
        }
    }
    return rounds;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sum_up(series *s, size_t rounds, timing *out) {
    double *round = s->round;
    qsort(round, rounds, sizeof *round, ascending);
    out->first_ns = s->first * 1e9;
    out->min_ns = round[0] * 1e9;
    out->quartile_ns = round[rounds / 4] * 1e9;
    out->median_ns = round[rounds / 2] * 1e9;
    out->spread = (round[rounds * 3 / 4] - round[rounds / 4]) / round[rounds / 2];
    out->rounds = rounds;
    out->batch = s->batch;
}

bool timing_measure(const timing_work *work, double seconds, timing *out) {
    series s = {.work = work}, *all = &s;
    size_t rounds = run_rounds(&all, 1, seconds);
    if (rounds) sum_up(&s, rounds, out);
    return rounds != 0;
}

bool timing_paired(const timing_work *work, const timing_work *anchor, double seconds,
                   timing_pair *out) {
    series s[2] = {{.work = work}, {.work = anchor}}, *all[2] = {&s[0], &s[1]};
    size_t rounds = run_rounds(all, 2, 2 * seconds), i;
    double ratio[MAX_ROUNDS];
    if (!rounds) return false;
    for (i = 0; i < rounds; i++) ratio[i] = s[1].round[i] / s[0].round[i];
    qsort(ratio, rounds, sizeof *ratio, ascending);
    out->ratio = ratio[rounds / 2];
    out->ratio_best = ratio[rounds * 3 / 4];
    sum_up(&s[0], rounds, &out->work);
    sum_up(&s[1], rounds, &out->anchor);
    return true;
}
