/* Accuracy where the plain formulas lose it, with the numbers that are promised. Every case runs
 * short and long (so that rows are also split), on whole rows and across strided ones. */
#include "support/cases.h"
#include "support/numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs an operation on one f32 row of n numbers (or its `inner` equal neighbours, row axis first)
 * and returns the first row of the output. */
typedef struct row_run {
    const char *op;
    int64_t n, inner;
    const double *x, *up; /* up: backward */
    anymax_opt scale, alpha;
} row_run;

static void repeat(const double *row, int64_t n, int64_t inner, double *out) {
    for (int64_t k = 0; k < n; k++)
        for (int64_t r = 0; r < inner; r++) out[k * inner + r] = row[k];
}

static void run_row(const row_run *run, double *out) {
    bool single = strcmp(run->op, "logsumexp") == 0;
    int64_t shape[2] = {run->n, run->inner}, rows = run->inner;
    double *wide = malloc((size_t)(run->n * run->inner) * sizeof *wide);
    trial t = trial_make(&test_main_device, run->op, "%lld columns, %lld rows", (long long)run->n,
                         (long long)run->inner);
    probe *result;
    int64_t count = single && !run->up ? 1 : run->n;
    ck_assert_ptr_nonnull(wide);
    repeat(run->x, run->n, run->inner, wide);
    trial_input(&t, "x", ANYMAX_F32, 2, shape, LAYOUT_PACKED, wide);
    trial_int(&t, "axis", 0);
    if (run->scale.set) trial_float(&t, "scale", run->scale.value);
    if (run->alpha.set) trial_float(&t, "alpha", run->alpha.value);
    if (run->up) {
        repeat(run->up, single ? 1 : run->n, run->inner, wide);
        if (single)
            trial_input(&t, "up.y", ANYMAX_F32, 1, &rows, LAYOUT_PACKED, wide);
        else
            trial_input(&t, "up.y", ANYMAX_F32, 2, shape, LAYOUT_PACKED, wide);
        result = trial_output(&t, "grad.x", ANYMAX_F32, 2, shape, LAYOUT_PACKED, NULL);
    } else if (single) {
        result = trial_output(&t, "y", ANYMAX_F32, 1, &rows, LAYOUT_PACKED, NULL);
    } else {
        result = trial_output(&t, "y", ANYMAX_F32, 2, shape, LAYOUT_PACKED, NULL);
    }
    trial_run(&t);
    for (int64_t k = 0; k < count; k++) out[k] = result->value[k * run->inner];
    trial_end(&t);
    free(wide);
}

static double ulps(double got, double want) {
    int e;
    frexp(want, &e);
    return fabs(got - want) / ldexp(1, e - 24);
}

static const int64_t inners[] = {1, 37};

/* ---------------------------------------------------------------- two equal logits */

/* log_softmax([v, v]) is -ln 2 to 2 ulp, logsumexp([v, v]) is v + ln 2 to one rounding, up to 1e8.
 */
START_TEST(two_equal) {
    static const double values[] = {0,   1,    -1,  17.3, -300.7, 1e4, -1e4, 12345.678,
                                    1e6, -1e6, 1e7, 3e7,  -5e7,   1e8, -1e8, 88.9};
    for (int i = 0; i < COUNT(values) * COUNT(inners); i++) {
        double v = number_round(ANYMAX_F32, values[i / 2]), x[2] = {v, v}, y[2];
        row_run run = {.op = "log_softmax", .n = 2, .inner = inners[i % 2], .x = x};
        run_row(&run, y);
        for (int k = 0; k < 2; k++)
            ck_assert_msg(ulps(y[k], -log(2)) <= 2, "log_softmax([%g, %g])[%d] = %.9g: %.3g ulp", v,
                          v, k, y[k], ulps(y[k], -log(2)));
        run.op = "logsumexp";
        run_row(&run, y);
        /* one rounding, of a sum whose parts are correct to half an ulp each */
        ck_assert_msg(fabs(y[0] - (v + log(2))) <=
                          tol_half_ulp(ANYMAX_F32, fabs(v + log(2))) * 1.0001 + ldexp(1, -24),
                      "logsumexp([%g, %g]) = %.9g, want %.12g", v, v, y[0], v + log(2));
    }
}
END_TEST

/* ---------------------------------------------------------------- one logit far above */

static const int64_t lengths[] = {2, 5, 33, 1000, 70000};

/* A peak 20 above the others, which differ a little; at a place that is not the first. */
static double *peaked(int64_t n, double peak, double base) {
    double *x = malloc((size_t)n * sizeof *x);
    rng r = rng_make(test_seed(), (uint64_t)n);
    ck_assert_ptr_nonnull(x);
    for (int64_t k = 0; k < n; k++)
        x[k] = number_round(ANYMAX_F32, base + rng_uniform(&r, -0.5, 0));
    x[n / 2] = number_round(ANYMAX_F32, base + peak);
    return x;
}

/* The small probabilities, and log_softmax of the large one (about -2e-9 for each other entry, not
 * 0), keep their relative accuracy. */
START_TEST(peak_of_20) {
    int64_t n = lengths[_i];
    for (int i = 0; i < 2; i++) {
        int64_t inner = n > 1000 ? 1 : inners[i], at = n / 2;
        double *x = peaked(n, 20, 0), *y = malloc((size_t)n * sizeof *y), rest = 0;
        double bound =
            6e-6 + ldexp(sqrt((double)n), -27); /* exp's argument of 20 rounds to 20 * 2^-24 */
        row_run run = {.op = "softmax", .n = n, .inner = inner, .x = x};
        for (int64_t k = 0; k < n; k++)
            if (k != at) rest += exp(x[k] - x[at]);
        run_row(&run, y);
        for (int64_t k = 0; k < n; k++) {
            double want = exp(x[k] - x[at]) / (1 + rest);
            ck_assert_msg(fabs(y[k] / want - 1) <= bound, "softmax: y[%lld] = %.9g, want %.9g",
                          (long long)k, y[k], want);
        }
        run.op = "log_softmax";
        run_row(&run, y);
        ck_assert_msg(fabs(y[at] / -log1p(rest) - 1) <= bound,
                      "log_softmax at the peak: %.9g, want %.9g", y[at], -log1p(rest));
        free(x);
        free(y);
    }
}
END_TEST

/* Of the largest entry. In a flat row each of n entries is rounded, and so is the mean that all
 * share. */
static double sum_bound(int64_t n, double peak) {
    return ldexp(8 + 2 * (peak < 17 ? (double)n : sqrt((double)n)), -24);
}

/* The gradient rows of softmax sum to zero to rounding of their largest entry, 20 and 1e4 above. */
START_TEST(gradient_sums_softmax) {
    static const double peaks[] = {0, 5, 17, 20, 30, 80, 1e4};
    int64_t n = lengths[_i];
    double *up = malloc((size_t)n * sizeof *up), *g = malloc((size_t)n * sizeof *g);
    rng r = rng_make(test_seed(), 77);
    for (int64_t k = 0; k < n; k++) up[k] = number_round(ANYMAX_F32, 3 + rng_normal(&r));
    for (int i = 0; i < COUNT(peaks) * COUNT(inners); i++) {
        double *x = peaked(n, peaks[i / 2], 0), sum = 0, most = 0, bound;
        row_run run = {
            .op = "softmax", .n = n, .inner = n > 1000 ? 1 : inners[i % 2], .x = x, .up = up};
        run_row(&run, g);
        for (int64_t k = 0; k < n; k++) {
            sum += g[k];
            most = fmax(most, fabs(g[k]));
        }
        bound = sum_bound(n, peaks[i / 2]) * most;
        ck_assert_msg(fabs(sum) <= bound,
                      "%lld columns, peak %g: the gradients sum to %g, the largest is %g",
                      (long long)n, peaks[i / 2], sum, most);
        if (peaks[i / 2] == 20)
            ck_assert_msg(fabs(g[n / 2]) > 0, "the gradient of the peak vanished");
        free(x);
    }
    free(up);
    free(g);
}
END_TEST

/* The same of cross_entropy, with the target at the peak and elsewhere: the target's gradient is
 * minus the sum of the others, never p - 1. */
static void sums_cross_entropy(int64_t n, double peak, int64_t target, double smoothing) {
    static const double one = 1;
    int64_t shape[2] = {1, n}, rows = 1;
    double *x = peaked(n, peak, 0), at = (double)target, sum = 0, most = 0;
    trial t = trial_make(&test_main_device, "cross_entropy", "%lld classes, peak %g, target %lld",
                         (long long)n, peak, (long long)target);
    probe *g;
    trial_input(&t, "x", ANYMAX_F32, 2, shape, LAYOUT_PACKED, x);
    trial_input(&t, "target", ANYMAX_I32, 1, &rows, LAYOUT_PACKED, &at);
    trial_input(&t, "up.loss", ANYMAX_F32, 1, &rows, LAYOUT_PACKED, &one);
    if (smoothing > 0) trial_float(&t, "label_smoothing", smoothing);
    g = trial_output(&t, "grad.x", ANYMAX_F32, 2, shape, LAYOUT_PACKED, NULL);
    trial_run(&t);
    for (int64_t k = 0; k < n; k++) {
        sum += g->value[k];
        most = fmax(most, fabs(g->value[k]));
    }
    ck_assert_msg(
        fabs(sum) <= sum_bound(n, peak) * most,
        "cross_entropy, %lld classes, peak %g, target %lld: gradients sum to %g, the largest is %g",
        (long long)n, peak, (long long)target, sum, most);
    if (peak == 20 && target == n / 2 && smoothing == 0) {
        double rest = 0;
        for (int64_t k = 0; k < n; k++)
            if (k != target) rest += exp(x[k] - x[target]);
        ck_assert_msg(fabs(g->value[target] / (-rest / (1 + rest)) - 1) <= 1e-5,
                      "the target's gradient is %.9g, want %.9g", g->value[target],
                      -rest / (1 + rest));
    }
    trial_end(&t);
    free(x);
}

START_TEST(gradient_sums_cross_entropy) {
    static const double peaks[] = {0, 5, 17, 20, 30, 80, 1e4};
    int64_t n = lengths[_i];
    for (int i = 0; i < COUNT(peaks); i++) {
        sums_cross_entropy(n, peaks[i], n / 2, 0);
        sums_cross_entropy(n, peaks[i], 0, 0);
        if (n < 70000) sums_cross_entropy(n, peaks[i], n / 2, 0.1);
    }
}
END_TEST

/* ---------------------------------------------------------------- offsets and scales */

/* Scores near 1e4 with scale 0.3 keep 2e-7: scale (x - max), not scale x - max. */
START_TEST(offset_and_scale) {
    static const double x[6] = {10000, 10000.5, 9999.25, 10001.0, 9998.125, 10000.75};
    double scale = number_round(ANYMAX_F32, 0.3), y[6], sum = 0;
    for (int i = 0; i < COUNT(inners); i++) {
        row_run run = {
            .op = "softmax", .n = 6, .inner = inners[i], .x = x, .scale = anymax_some(0.3f)};
        run_row(&run, y);
        sum = 0;
        for (int k = 0; k < 6; k++) sum += exp(scale * (x[k] - 10001));
        for (int k = 0; k < 6; k++) {
            double want = exp(scale * (x[k] - 10001)) / sum;
            ck_assert_msg(fabs(y[k] / want - 1) <= 4e-7 && fabs(y[k] - want) <= 2e-7,
                          "y[%d] = %.9g, want %.9g", k, y[k], want);
        }
    }
}
END_TEST

/* ---------------------------------------------------------------- entmax near softmax */

/* entmax is softmax at alpha = 1 and continuous there, in both directions; its gradients are
 * finite. */
START_TEST(entmax_near_softmax) {
    static const float alphas[] = {1.0f, 1.0000001f, 1.000001f, 1.00001f, 1.0001f, 1.001f};
    enum { N = 40 };
    double x[N], up[N], soft[N], soft_grad[N], y[N], g[N];
    rng r = rng_make(test_seed(), 4);
    row_run run = {.op = "softmax", .n = N, .inner = 1, .x = x};
    for (int k = 0; k < N; k++) {
        x[k] = number_round(ANYMAX_F32, 2 * rng_normal(&r));
        up[k] = number_round(ANYMAX_F32, rng_normal(&r));
    }
    run_row(&run, soft);
    run.up = up;
    run_row(&run, soft_grad);
    run.op = "entmax";
    for (int i = 0; i < COUNT(alphas); i++) {
        /* dy/dalpha is at most y l^2 / 2 or so, with l = -log y up to 12 here */
        double a = (double)alphas[i] - 1, bound = 2e-6 + 20 * a;
        run.alpha = anymax_some(alphas[i]);
        run.up = NULL;
        run_row(&run, y);
        run.up = up;
        run_row(&run, g);
        for (int k = 0; k < N; k++) {
            ck_assert_msg(fabs(y[k] - soft[k]) <= bound * fmax(soft[k], 1e-3),
                          "alpha %.8g: y[%d] = %.9g, softmax %.9g", 1 + a, k, y[k], soft[k]);
            ck_assert_msg(fabs(g[k] - soft_grad[k]) <= bound,
                          "alpha %.8g: gradient[%d] = %.9g, softmax %.9g", 1 + a, k, g[k],
                          soft_grad[k]);
        }
    }
}
END_TEST

static void add(Suite *suite) {
    TCase *cases = tcase_create("numerics");
    tcase_add_test(cases, two_equal);
    tcase_add_loop_test(cases, peak_of_20, 0, COUNT(lengths));
    tcase_add_loop_test(cases, gradient_sums_softmax, 0, COUNT(lengths));
    tcase_add_loop_test(cases, gradient_sums_cross_entropy, 0, COUNT(lengths));
    tcase_add_test(cases, offset_and_scale);
    tcase_add_test(cases, entmax_near_softmax);
    suite_add_tcase(suite, cases);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "numerics", add);
}
