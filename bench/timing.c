/* timing.c: wall time of repeated work. */
#include "timing.h"

#include <stdlib.h>
#include <time.h>

#define MIN_ROUNDS 7
#define FEW_ROUNDS 3 /* of work so slow that more would take ten times what was asked for */
#define MAX_ROUNDS 101
#define ROUND_SECONDS 2e-4 /* shorter rounds are lost in the clock and in wake-ups */

double timing_now(void) {
    struct timespec t;
    if (timespec_get(&t, TIME_UTC) == 0) return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool round_of(bool (*work)(void *), void *user, size_t batch, double *seconds) {
    double start = timing_now();
    size_t i;
    for (i = 0; i < batch; i++)
        if (!work(user)) return false;
    *seconds = (timing_now() - start) / (double)batch;
    return true;
}

bool timing_measure(bool (*work)(void *user), void *user, double seconds, timing *out) {
    double round[MAX_ROUNDS], warm, start;
    if (!round_of(work, user, 1, &out->first_ns) || !round_of(work, user, 2, &warm)) return false;
    out->batch =
        warm < ROUND_SECONDS ? (size_t)(ROUND_SECONDS / (warm > 1e-7 ? warm : 1e-7)) + 1 : 1;
    start = timing_now();
    for (out->rounds = 0; out->rounds < MAX_ROUNDS; out->rounds++) {
        double spent = timing_now() - start;
        size_t enough = spent > 10 * seconds ? FEW_ROUNDS : MIN_ROUNDS;
        if (out->rounds >= enough && spent >= seconds) break;
        if (!round_of(work, user, out->batch, &round[out->rounds])) return false;
    }
    qsort(round, out->rounds, sizeof *round, ascending);
    out->first_ns *= 1e9;
    out->min_ns = round[0] * 1e9;
    out->median_ns = round[out->rounds / 2] * 1e9;
    out->spread = (round[out->rounds * 3 / 4] - round[out->rounds / 4]) / round[out->rounds / 2];
    return true;
}
