/* contest_rows.c: rows to work on, and what is right. */
#include "contest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN 64
#define CACHED ((size_t)1 << 19)   /* elements */
#define CHECKED ((int64_t)1 << 20) /* elements, or one row if it is longer */

bool contest_parse(const char *text, contest_rows *rows) {
    char *end;
    long long first = strtoll(text, &end, 10), second = first;
    if (*end == 'x')
        second = strtoll(end + 1, &end, 10);
    else
        first = 1;
    if (*end || first < 1 || second < 1 || second > INT32_MAX / 2 || first > INT32_MAX / second)
        return false;
    memset(rows, 0, sizeof *rows);
    rows->rows = first;
    rows->n = second;
    return true;
}

static uint64_t next_random(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The four quarters of a number, added up, are nearly normal, with a deviation of sqrt(4 / 12). */
static float next_normal(uint64_t *state) {
    uint64_t bits = next_random(state);
    uint32_t sum = 0;
    int i;
    for (i = 0; i < 4; i++) sum += (uint32_t)(bits >> 16 * i & 0xffff);
    return ((float)sum / 65535.0f - 2.0f) * 3.4641016f;
}

static float *make_array(size_t count, void **block) {
    char *memory = malloc(count * sizeof(float) + 2 * ALIGN);
    *block = memory;
    if (!memory) return NULL;
    memory += (ALIGN - (uintptr_t)memory % ALIGN) % ALIGN;
    memset(memory, 0, count * sizeof(float) + ALIGN);
    return (float *)memory;
}

bool contest_rows_make(contest_rows *rows) {
    size_t count = (size_t)(rows->rows * rows->n), i;
    uint64_t state = 2;
    rows->x = make_array(count, &rows->block[0]);
    rows->y = make_array(count, &rows->block[1]);
    if (!rows->x || !rows->y) return false;
    for (i = 0; i < count; i++) rows->x[i] = next_normal(&state);
    return true;
}

void contest_rows_free(contest_rows *rows) {
    free(rows->block[0]);
    free(rows->block[1]);
    rows->block[0] = rows->block[1] = NULL;
}

static double row_error(const float *x, const float *y, int64_t n, bool log_softmax) {
    double top = x[0], sum = 0, worst = 0;
    int64_t i;
    for (i = 1; i < n; i++) top = x[i] > top ? x[i] : top;
    for (i = 0; i < n; i++) sum += exp(x[i] - top);
    for (i = 0; i < n; i++) {
        double want = log_softmax ? x[i] - top - log(sum) : exp(x[i] - top) / sum;
        double error = want == 0 ? fabs((double)y[i]) : fabs(y[i] - want) / fabs(want);
        if (!(error <= worst)) worst = isnan(error) ? (double)INFINITY : error;
    }
    return worst;
}

double contest_error(const contest_rows *rows, bool log_softmax) {
    int64_t wanted = CHECKED / rows->n + 1, row;
    int64_t step = rows->rows > wanted ? rows->rows / wanted : 1;
    double worst = 0;
    for (row = 0; row < rows->rows; row += step) {
        const float *x = rows->x + row * rows->n, *y = rows->y + row * rows->n;
        double error = row_error(x, y, rows->n, log_softmax);
        worst = error > worst ? error : worst;
    }
    return worst;
}
