/* Losses: cross-entropy with every option, InfoNCE with every option, against the reference; and
 * what becomes of targets out of range. */
#include "support/cases.h"

#include <stdio.h>
#include <string.h>

#define CE .op = "cross_entropy", .rank = 2
#define NCE .op = "infonce_loss", .rank = 2

static const op_case table[] = {
    {CE, .name = "one class", .shape = {5, 1}},
    {CE, .name = "f16", .shape = {7, 100}, .in = ANYMAX_F16, .out = ANYMAX_F16},
    {CE, .name = "bf16 in, f32 out", .shape = {7, 100}, .in = ANYMAX_BF16},
    {CE, .name = "i64 targets", .shape = {7, 100}, .index = ANYMAX_I64},
    {CE, .name = "u8 targets", .shape = {7, 100}, .index = ANYMAX_U8},
    {CE, .name = "strided", .shape = {7, 65}, .layout_in = LAYOUT_GAPS, .layout_out = LAYOUT_GAPS},
    {CE, .name = "permuted", .shape = {7, 65}, .layout_in = LAYOUT_PERMUTED},
    {CE, .name = "odd offsets, host", .shape = {7, 65}, .layout_in = LAYOUT_ODD, .host = true},
    {CE, .name = "wide", .shape = {7, 300}, .fill = FILL_WIDE},
    {CE, .name = "masked classes", .shape = {16, 30}, .fill = FILL_MASKED},
    {CE, .name = "masked classes, smoothing", .shape = {16, 30}, .fill = FILL_MASKED,
     .smoothing = 0.1},
    {CE, .name = "masked classes, mean", .shape = {16, 30}, .fill = FILL_MASKED,
     .reduction = "mean"},
    {CE, .name = "poisoned rows", .shape = {16, 30}, .fill = FILL_POISON},
    {CE, .name = "poisoned rows, mean: the others keep their gradients", .shape = {16, 30},
     .fill = FILL_POISON, .reduction = "mean"},
    {CE, .name = "sum", .shape = {50, 30}, .reduction = "sum"},
    {CE, .name = "mean", .shape = {50, 30}, .reduction = "mean"},
    {CE, .name = "mean, typed", .shape = {50, 30}, .reduction = "mean", .typed = true},
    {CE, .name = "mean of 3000 rows", .shape = {3000, 10}, .reduction = "mean", .weight = true},
    {CE, .name = "weights, mean", .shape = {50, 30}, .reduction = "mean", .weight = true},
    {CE, .name = "everything", .shape = {50, 30}, .reduction = "mean", .weight = true,
     .smoothing = 0.2, .z_loss = 0.01, .temperature = {true, 2.0f}, .ignore_index = {true, 3},
     .typed = true},
    {CE, .name = "everything, f16", .shape = {50, 31}, .reduction = "sum", .weight = true,
     .smoothing = 0.2, .z_loss = 0.01, .temperature = {true, 2.0f}, .in = ANYMAX_F16,
     .out = ANYMAX_F16},
    {CE, .name = "ignored 0", .shape = {20, 7}, .ignore_index = {true, 0}, .reduction = "mean"},
    {CE, .name = "ignored 255, u8", .shape = {20, 7}, .ignore_index = {true, 255},
     .index = ANYMAX_U8, .reduction = "mean"},
    {CE, .name = "probabilities", .shape = {20, 40}, .probabilities = true},
    {CE, .name = "probabilities, all options", .shape = {20, 40}, .probabilities = true,
     .weight = true, .smoothing = 0.1, .reduction = "mean", .typed = true},
    {CE, .name = "probabilities, masked", .shape = {20, 40}, .probabilities = true,
     .fill = FILL_MASKED},
    {CE, .name = "loss alone has a gradient", .shape = {9, 40}, .no_up_lse = true, .no_lse = true},
    {CE, .name = "lse alone has a gradient", .shape = {9, 40}, .no_up_loss = true, .typed = true},
    {CE, .name = "in place", .shape = {9, 40}, .in_place = "x"},
    {CE, .name = "added to", .shape = {9, 40}, .accumulate = true},
    {CE, .name = "added to, bf16", .shape = {9, 41}, .accumulate = true, .in = ANYMAX_BF16,
     .out = ANYMAX_BF16, .reduction = "mean"},
    {CE, .name = "100000 classes", .shape = {2, 100000}},
    {CE, .name = "100000 classes, all options", .shape = {2, 100000}, .weight = true,
     .smoothing = 0.1, .z_loss = 0.001, .reduction = "mean"},
    {.op = "cross_entropy",
     .name = "axis 1 of 4",
     .rank = 4,
     .shape = {2, 21, 6, 5},
     .axis_back = 2},
    {.op = "cross_entropy",
     .name = "axis 1 of 4, mean, typed",
     .rank = 4,
     .shape = {2, 21, 6, 5},
     .axis_back = 2,
     .reduction = "mean",
     .typed = true,
     .weight = true,
     .layout_in = LAYOUT_GAPS},
    {.op = "cross_entropy", .name = "one row of rank 1", .rank = 1, .shape = {77}, .typed = true},

    {NCE, .name = "one pair", .shape = {1, 8}},
    {NCE, .name = "33 pairs", .shape = {33, 17}},
    {NCE, .name = "negatives", .shape = {9, 20}, .negatives = 31},
    {NCE, .name = "symmetric", .shape = {40, 20}, .symmetric = true},
    {NCE, .name = "symmetric with negatives", .shape = {9, 20}, .negatives = 5, .symmetric = true},
    {NCE, .name = "plain dot", .shape = {9, 20}, .plain_dot = true, .temperature = {true, 4.0f}},
    {NCE, .name = "f16", .shape = {20, 33}, .in = ANYMAX_F16, .out = ANYMAX_F16, .negatives = 3},
    {NCE, .name = "bf16, strided", .shape = {20, 33}, .in = ANYMAX_BF16, .layout_in = LAYOUT_GAPS},
    {NCE, .name = "permuted", .shape = {20, 33}, .layout_in = LAYOUT_PERMUTED,
     .layout_out = LAYOUT_GAPS},
    {NCE, .name = "host memory, typed", .shape = {20, 33}, .host = true, .typed = true},
    {NCE, .name = "added to", .shape = {20, 33}, .accumulate = true, .negatives = 3},
    {NCE, .name = "gradient of key alone", .shape = {20, 33}, .only = "grad.key", .negatives = 3},
    {NCE, .name = "gradient of negative alone", .shape = {20, 33}, .only = "grad.negative",
     .negatives = 3, .typed = true},
    {NCE, .name = "lse alone has a gradient", .shape = {20, 33}, .no_up_loss = true,
     .negatives = 3},
    {NCE, .name = "loss alone has a gradient", .shape = {20, 33}, .no_up_lse = true,
     .no_lse = true},
    {NCE, .name = "300 pairs of length 200", .shape = {300, 200}, .negatives = 77},
};

START_TEST(table_case) {
    op_case with_values = table[_i];
    op_case_run(&test_main_device, &table[_i], false);
    op_case_run(&test_main_device, &table[_i], true);
    if (strcmp(table[_i].op, "cross_entropy") != 0) return;
    with_values.values = true;
    op_case_run(&test_main_device, &with_values, true);
}
END_TEST

START_TEST(class_counts) {
    for (int64_t n = 2; n < 1200; n = n < 66 ? n + 1 : n * 2 - 61) {
        char name[32];
        op_case c = {CE, .name = name, .shape = {3, n}, .smoothing = n % 2 ? 0.1 : 0,
                     .weight = n % 3 == 0};
        snprintf(name, sizeof name, "%lld classes", (long long)n);
        op_case_run(&test_main_device, &c, false);
        c.values = n % 5 == 0;
        op_case_run(&test_main_device, &c, true);
    }
}
END_TEST

START_TEST(zero_sizes) {
    static const int64_t shapes[][2] = {{0, 5}, {3, 0}, {0, 0}};
    for (int i = 0; i < COUNT(shapes); i++) {
        op_case c = {CE, .name = "a dimension of 0", .shape = {shapes[i][0], shapes[i][1]}};
        op_case_run(&test_main_device, &c, false);
        op_case_run(&test_main_device, &c, true);
    }
}
END_TEST

/* ---------------------------------------------------------------- nothing counts, out of range */

static void small(trial *t, const double *target, anymax_dtype index, const char *reduction,
                  const double *loss, const double *grad, bool backward) {
    static const int64_t shape[2] = {2, 3}, rows = 2, one = 1;
    static const double x[6] = {1, 5, 10, 0, 0, 0}, up[2] = {1, 1};
    bool reduced = strcmp(reduction, "none") != 0;
    t->n = t->row_len = 3;
    t->rank = 2;
    t->axis = 1;
    trial_string(t, "reduction", reduction);
    trial_input(t, "x", ANYMAX_F32, 2, shape, LAYOUT_PACKED, x);
    trial_input(t, "target", index, 1, &rows, LAYOUT_PACKED, target);
    if (!backward) {
        trial_output(t, "loss", ANYMAX_F32, 1, reduced ? &one : &rows, LAYOUT_PACKED, loss);
        return;
    }
    trial_input(t, "up.loss", ANYMAX_F32, 1, reduced ? &one : &rows, LAYOUT_PACKED, up);
    trial_output(t, "grad.x", ANYMAX_F32, 2, shape, LAYOUT_PACKED, grad);
}

START_TEST(nothing_counts) {
    static const double target[2] = {-100, -100}, zero[6] = {0};
    static const char *const reductions[] = {"none", "sum", "mean"};
    for (int i = 0; i < 6; i++) {
        trial t =
            trial_make(&test_main_device, "cross_entropy", "all ignored, %s", reductions[i / 2]);
        small(&t, target, ANYMAX_I32, reductions[i / 2], zero, zero, i % 2);
        trial_run(&t);
        trial_end(&t);
    }
}
END_TEST

/* A target out of range leaves its row out, raises ANYMAX_ERROR_DATA at the next sync, and does no
 * harm to the call after it. Values beyond 32 bits must not wrap into range. */
START_TEST(out_of_range) {
    static const double bad[][2] = {
        {3, 1}, {-1, 1}, {1000, 1}, {4294967296.0, 1}, {-4294967295.0, 1}};
    static const anymax_dtype types[] = {ANYMAX_I32, ANYMAX_I32, ANYMAX_I32, ANYMAX_I64,
                                         ANYMAX_I64};
    const double log3 = log(3), third = 1.0 / 3;
    double loss[2] = {0, log3}, grad[6] = {0, 0, 0, third, -2 * third, third};
    static const double good[2] = {2, 1};
    double good_loss[2] = {log1p(exp(-5) + exp(-9)), log3};
    for (int way = 0; way < 2; way++) {
        trial t = trial_make(&test_main_device, "cross_entropy", "target %g", bad[_i][0]);
        small(&t, bad[_i], types[_i], "none", loss, grad, way == 1);
        t.expect_sync = ANYMAX_ERROR_DATA;
        trial_run(&t);
        trial_end(&t);
        t = trial_make(&test_main_device, "cross_entropy", "the call after target %g", bad[_i][0]);
        small(&t, good, types[_i], "none", good_loss, NULL, false);
        trial_run(&t);
        trial_end(&t);
    }
}
END_TEST

/* The values do not depend on whether anybody wants the gradient. */
START_TEST(values_alone) {
    static const char *const reductions[] = {"none", "sum", "mean"};
    static const float x[] = {1, 5, 3, 0, 0, 0};
    static const int32_t target[] = {1, 0};
    static const int64_t shape[2] = {2, 3}, rows = 2, one = 1;
    for (int i = 0; i < 3; i++) {
        anymax_cross_entropy d = {.reduction = (anymax_reduction)i, .z_loss = 0.5f};
        float want[2], got[2] = {-1, -1}, lse[2] = {-1, -1};
        anymax_tensor tx = anymax_host_tensor((void *)x, ANYMAX_F32, 2, shape);
        anymax_tensor tt = anymax_host_tensor((void *)target, ANYMAX_I32, 1, &rows);
        anymax_tensor tw = anymax_host_tensor(want, ANYMAX_F32, 1, i ? &one : &rows), tg = tw, tl;
        anymax_stream *s = test_main_device.stream;
        tg.data = got;
        tl = anymax_host_tensor(lse, ANYMAX_F32, 1, &rows);
        ck_assert_int_eq(anymax_cross_entropy_forward(s, &d, &tx, &tt, NULL, &tw, NULL), ANYMAX_OK);
        ck_assert_int_eq(anymax_cross_entropy_value_and_grad(s, &d, &tx, &tt, NULL, NULL, NULL, &tg,
                                                             &tl, NULL, false),
                         ANYMAX_OK);
        ck_assert_int_eq(anymax_stream_sync(s), ANYMAX_OK);
        ck_assert_msg(got[0] == want[0] && (i || got[1] == want[1]), "%s: %g instead of %g",
                      reductions[i], (double)got[0], (double)want[0]);
        ck_assert(lse[1] > 1.09f && lse[1] < 1.1f); /* log 3 */
    }
}
END_TEST

static void add(Suite *suite) {
    TCase *cases = tcase_create("table"), *targets = tcase_create("targets");
    tcase_add_loop_test(cases, table_case, 0, COUNT(table));
    tcase_add_test(cases, class_counts);
    tcase_add_test(cases, zero_sizes);
    suite_add_tcase(suite, cases);
    tcase_add_test(targets, nothing_counts);
    tcase_add_loop_test(targets, out_of_range, 0, 5);
    tcase_add_test(targets, values_alone);
    suite_add_tcase(suite, targets);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "loss", add);
}
