/* What must hold whatever the formula: rows sum to one, a shift changes nothing, permuted in means
 * permuted out, masked means absent, gradients are slopes; and the same bits twice, on another
 * thread count, on other neighbours, from host memory and from a buffer. */
#include "support/cases.h"
#include "support/numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const ops[] = {
    "softmax",        "log_softmax",           "logsumexp", "entmax15", "entmax",
    "gumbel_softmax", "logit_adjusted_softmax"};

/* ---------------------------------------------------------------- one map on given rows */

enum { N = 37, ROWS = 3, TOTAL = ROWS * N };

static bool single(const char *op) {
    return strcmp(op, "logsumexp") == 0;
}

/* Inputs of a map besides x: column k of them is extra[k]. */
static void give(trial *t, const double *x, int64_t n, const double *extra) {
    int64_t shape[2] = {ROWS, n};
    trial_input(t, "x", ANYMAX_F32, 2, shape, LAYOUT_PACKED, x);
    if (strcmp(t->op, "gumbel_softmax") == 0) {
        double *noise = malloc((size_t)(ROWS * n) * sizeof *noise);
        for (int64_t i = 0; i < ROWS * n; i++) noise[i] = log(extra[i % n]);
        trial_input(t, "noise", ANYMAX_F32, 2, shape, LAYOUT_PACKED, noise);
        free(noise);
    }
    if (strcmp(t->op, "logit_adjusted_softmax") == 0)
        trial_input(t, "prior", ANYMAX_F32, 1, &n, LAYOUT_PACKED, extra);
}

static void run_map(const char *op, const char *what, const double *x, int64_t n,
                    const double *extra, const double *want, double *got) {
    int64_t shape[2] = {ROWS, n};
    trial t = trial_make(&test_main_device, op, "%s", what);
    probe *y;
    give(&t, x, n, extra);
    y = trial_output(&t, "y", ANYMAX_F32, single(op) ? 1 : 2, shape, LAYOUT_PACKED, want);
    t.n = t.row_len = n;
    t.rank = 2;
    t.axis = 1;
    t.factor = 4;
    trial_run(&t);
    if (got) memcpy(got, y->value, y->count * sizeof *got);
    trial_end(&t);
}

typedef struct rows {
    double x[TOTAL], extra[N], y[TOTAL];
} rows;

/* Multiples of 1/64, so that a shift by 64 is exact; the truth by the reference. */
static void make(rows *m, const char *op) {
    rng r = rng_make(test_seed(), 3);
    reference ref = reference_make(op, ROWS, N);
    double noise[TOTAL];
    for (int i = 0; i < TOTAL; i++) m->x[i] = (double)(rng_below(&r, 513) - 256) / 64;
    for (int i = 0; i < N; i++) m->extra[i] = number_round(ANYMAX_F32, rng_uniform(&r, 0.5, 2));
    for (int i = 0; i < TOTAL; i++) noise[i] = number_round(ANYMAX_F32, log(m->extra[i % N]));
    ref.x = m->x;
    if (strcmp(op, "gumbel_softmax") == 0) ref.noise = noise;
    if (strcmp(op, "logit_adjusted_softmax") == 0) ref.prior = m->extra;
    ref.y = m->y;
    reference_forward(&ref);
}

START_TEST(sums_to_one) {
    rows m;
    double y[TOTAL];
    const char *op = ops[_i];
    if (single(op)) return; /* no weights */
    make(&m, op);
    run_map(op, "rows sum to one", m.x, N, m.extra, m.y, y);
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int k = 0; k < N; k++)
            sum += strcmp(op, "log_softmax") ? y[r * N + k] : exp(y[r * N + k]);
        ck_assert_msg(fabs(sum - 1) <= ldexp(16, -24), "%s: row %d sums to %.9g", op, r, sum);
    }
}
END_TEST

START_TEST(shift_invariance) {
    rows m;
    double x[TOTAL];
    make(&m, ops[_i]);
    for (int i = 0; i < TOTAL; i++) x[i] = m.x[i] + 64 * (1 + i / N);
    for (int r = 0; r < ROWS && single(ops[_i]); r++) m.y[r] += 64 * (1 + r);
    run_map(ops[_i], "a shift of each row", x, N, m.extra, m.y, NULL);
}
END_TEST

START_TEST(permutation) {
    rows m;
    double x[TOTAL], extra[N], want[TOTAL];
    make(&m, ops[_i]);
    for (int i = 0; i < TOTAL; i++) {
        int k = (i % N * 11 + 5) % N, from = i / N * N + k;
        x[i] = m.x[from];
        extra[i % N] = m.extra[k];
        want[i] = m.y[from];
    }
    run_map(ops[_i], "permuted columns", x, N, extra, single(ops[_i]) ? m.y : want, NULL);
}
END_TEST

/* Masked elements between the others: the same weights as without them, and exactly 0 (or -inf). */
START_TEST(masked_is_absent) {
    enum { WIDE = 3 * N };
    rows m;
    double x[ROWS * WIDE], extra[WIDE], want[ROWS * WIDE];
    bool logs = strcmp(ops[_i], "log_softmax") == 0;
    make(&m, ops[_i]);
    for (int i = 0; i < ROWS * WIDE; i++) {
        int k = i % WIDE, from = i / WIDE * N + k / 3;
        bool hidden = k % 3 != i / WIDE;
        x[i] = hidden ? -(double)INFINITY : m.x[from];
        extra[k] = m.extra[k / 3];
        want[i] = hidden ? (logs ? -(double)INFINITY : 0) : m.y[from];
    }
    run_map(ops[_i], "masked elements between the others", x, WIDE, extra,
            single(ops[_i]) ? m.y : want, NULL);
}
END_TEST

/* The gradient along a direction is the slope of the reference's forward pass. */
START_TEST(gradient_is_slope) {
    const char *op = ops[_i];
    int64_t shape[2] = {ROWS, N};
    rows m;
    double up[TOTAL], moved[TOTAL], noise[TOTAL], low[TOTAL], high[TOTAL], slope = 0, along = 0,
                                                                           size = 0;
    double direction[TOTAL], step = 1e-6;
    size_t outputs = single(op) ? ROWS : TOTAL;
    rng r = rng_make(test_seed(), 8);
    reference ref = reference_make(op, ROWS, N);
    trial t = trial_make(&test_main_device, op, "slopes");
    probe *g;
    make(&m, op);
    for (int i = 0; i < TOTAL; i++) {
        up[i] = number_round(ANYMAX_F32, rng_normal(&r));
        direction[i] = rng_normal(&r);
        noise[i] = number_round(ANYMAX_F32, log(m.extra[i % N]));
    }
    if (strcmp(op, "gumbel_softmax") == 0) ref.noise = noise;
    if (strcmp(op, "logit_adjusted_softmax") == 0) ref.prior = m.extra;
    ref.x = moved;
    for (int i = 0; i < TOTAL; i++) moved[i] = m.x[i] - step * direction[i];
    ref.y = low;
    reference_forward(&ref);
    for (int i = 0; i < TOTAL; i++) moved[i] = m.x[i] + step * direction[i];
    ref.y = high;
    reference_forward(&ref);
    for (size_t i = 0; i < outputs; i++) slope += up[i] * (high[i] - low[i]) / (2 * step);
    give(&t, m.x, N, m.extra);
    trial_input(&t, "up.y", ANYMAX_F32, single(op) ? 1 : 2, shape, LAYOUT_PACKED, up);
    g = trial_output(&t, "grad.x", ANYMAX_F32, 2, shape, LAYOUT_PACKED, NULL);
    trial_run(&t);
    for (int i = 0; i < TOTAL; i++) {
        along += g->value[i] * direction[i];
        size += fabs(g->value[i] * direction[i]);
    }
    trial_end(&t);
    ck_assert_msg(fabs(along - slope) <= 2e-5 * size,
                  "%s: the gradient gives %.9g, the slope is %.9g", op, along, slope);
}
END_TEST

/* ---------------------------------------------------------------- the same bits */

static const op_case again[] = {
    {.name = "bits, short rows", .op = "softmax", .rank = 2, .shape = {1000, 9}},
    {.name = "bits, rows", .op = "softmax", .rank = 2, .shape = {40, 1300}},
    {.name = "bits, one long row", .op = "softmax", .rank = 2, .shape = {1, 400000}},
    {.name = "bits, strided axis",
     .op = "log_softmax",
     .rank = 3,
     .shape = {5, 60, 70},
     .axis_back = 1},
    {.name = "bits, long rows", .op = "logsumexp", .rank = 2, .shape = {3, 100000}},
    {.name = "bits, entmax15", .op = "entmax15", .rank = 2, .shape = {30, 3000}},
    {.name = "bits, entmax", .op = "entmax", .rank = 2, .shape = {50, 300}, .row_alpha = true},
    {.name = "bits, mean",
     .op = "cross_entropy",
     .rank = 2,
     .shape = {5000, 11},
     .reduction = "mean",
     .weight = true,
     .smoothing = 0.1},
    {.name = "bits, products",
     .op = "infonce_loss",
     .rank = 2,
     .shape = {130, 70},
     .symmetric = true},
};

START_TEST(twice) {
    for (int way = 0; way < 2; way++) {
        uint64_t first = op_case_run(&test_main_device, &again[_i], way);
        uint64_t second = op_case_run(&test_main_device, &again[_i], way);
        ck_assert_msg(first == second, "%s: another run gave other bits", again[_i].name);
    }
}
END_TEST

/* Host memory and buffers hold the same numbers, so they give the same bits. */
START_TEST(from_the_host) {
    for (int way = 0; way < 2; way++) {
        op_case c = again[_i];
        uint64_t first = op_case_run(&test_main_device, &c, way);
        c.host = true;
        ck_assert_msg(first == op_case_run(&test_main_device, &c, way),
                      "%s: host memory gave other bits than a buffer", c.name);
    }
}
END_TEST

START_TEST(thread_counts) {
    static const uint32_t counts[] = {1, 2, 3, 7};
    if (!test_is_backend("cpu")) return; /* the thread count is the CPU's */
    for (int way = 0; way < 2; way++) {
        uint64_t first = 0;
        for (int i = 0; i < COUNT(counts); i++) {
            test_device d;
            uint64_t bits;
            test_device_open(&d, NULL, counts[i]);
            bits = op_case_run(&d, &again[_i], way);
            test_device_close(&d);
            if (i == 0) first = bits;
            ck_assert_msg(bits == first, "%s: %u threads gave other bits than one", again[_i].name,
                          counts[i]);
        }
    }
}
END_TEST

/* The CPU takes some rows together: softmax of a whole row alone, and its gradient, have the same
 * bits. Rows 1 and 2 are poisoned and wholly masked. */
enum { MOST_ROWS = 13, MOST_COLUMNS = 4096 };

static void soft(float *x, float *y, float *grad, int64_t rows, int64_t n) {
    const int64_t shape[2] = {rows, n};
    anymax_tensor tx = anymax_host_tensor(x, ANYMAX_F32, 2, shape);
    anymax_tensor ty = anymax_host_tensor(y, ANYMAX_F32, 2, shape);
    anymax_tensor tg = anymax_host_tensor(grad, ANYMAX_F32, 2, shape);
    anymax_map map = {.kind = ANYMAX_SOFTMAX};
    anymax_map_grads grads = {.x = &tg};
    anymax_stream *s = test_main_device.stream;
    ck_assert_int_eq(anymax_map_forward(s, &map, &tx, &ty), ANYMAX_OK);
    ck_assert_int_eq(anymax_map_backward(s, &map, &tx, NULL, &ty, &grads), ANYMAX_OK);
    ck_assert_int_eq(anymax_stream_sync(s), ANYMAX_OK);
}

START_TEST(row_by_row) {
    static const int64_t lengths[] = {256, 300, 320, 512, 1024, 1100, 2048, 4096};
    static float x[MOST_ROWS * MOST_COLUMNS], y[2][MOST_ROWS * MOST_COLUMNS],
        grad[2][MOST_ROWS * MOST_COLUMNS];
    int64_t n = lengths[_i];
    if (!test_is_backend("cpu")) return; /* elsewhere the lanes of a row follow from all rows */
    for (int64_t rows = 2; rows <= MOST_ROWS; rows++) {
        size_t size = (size_t)(rows * n) * sizeof *x;
        rng r = rng_make(test_seed(), (uint64_t)rows);
        for (int64_t i = 0; i < rows * n; i++) x[i] = (float)(4 * rng_normal(&r));
        if (rows > 2) x[n + n / 2] = NAN;
        for (int64_t i = 0; rows > 3 && i < n; i++) x[2 * n + i] = -INFINITY;
        soft(x, y[0], grad[0], rows, n);
        for (int64_t i = 0; i < rows; i++) soft(x + i * n, y[1] + i * n, grad[1] + i * n, 1, n);
        ck_assert_msg(memcmp(y[0], y[1], size) == 0 && memcmp(grad[0], grad[1], size) == 0,
                      "%lld rows of %lld: each alone has other bits", (long long)rows,
                      (long long)n);
    }
}
END_TEST

static void add(Suite *suite) {
    TCase *properties = tcase_create("properties"), *bits = tcase_create("bits");
    tcase_add_loop_test(properties, sums_to_one, 0, COUNT(ops));
    tcase_add_loop_test(properties, shift_invariance, 0, COUNT(ops));
    tcase_add_loop_test(properties, permutation, 0, COUNT(ops));
    tcase_add_loop_test(properties, masked_is_absent, 0, COUNT(ops));
    tcase_add_loop_test(properties, gradient_is_slope, 0, COUNT(ops));
    suite_add_tcase(suite, properties);
    tcase_add_loop_test(bits, twice, 0, COUNT(again));
    tcase_add_loop_test(bits, from_the_host, 0, COUNT(again));
    tcase_add_loop_test(bits, thread_counts, 0, COUNT(again));
    tcase_add_loop_test(bits, row_by_row, 0, 8);
    suite_add_tcase(suite, bits);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "property", add);
}
