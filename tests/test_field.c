/* What broke for people elsewhere, as small cases: a letter and a number stand for a class of
 * faults.
 *
 *     A  masks and non-finite values          P  precision
 *     I  index arithmetic, limits, offsets    S  shapes, tails, strides
 *     W  work-groups, sub-groups, shared memory
 *     C  processors behind OpenCL and Vulkan  L  losses and their labels      E  entmax
 *
 * Each row names the fault; what is right is the reference's answer, or stands in the row. */
#include "support/cases.h"
#include "support/numbers.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INF ((double)INFINITY)
#define NUM ((double)NAN)
#define X(...)                    \
    .given_x = (const double[]) { \
        __VA_ARGS__               \
    }
#define ROWS(r, n) .rank = 2, .shape = {r, n}
#define SOFT .op = "softmax"
#define LOGS .op = "log_softmax"
#define LSE .op = "logsumexp"
#define CE .op = "cross_entropy"

static const op_case rows[] = {
    {SOFT, .name = "A7 +inf makes its own row NaN", ROWS(2, 3), X(INF, 1, 2, 0, 1, 2)},
    {SOFT, .name = "A8 all -inf, one NaN, two +inf, all NaN, a sound row", ROWS(5, 3),
     X(-INF, -INF, -INF, 1, NUM, 2, INF, INF, 0, NUM, NUM, NUM, 1, 2, 3)},
    {LOGS, .name = "A8 the same, log_softmax", ROWS(5, 3),
     X(-INF, -INF, -INF, 1, NUM, 2, INF, INF, 0, NUM, NUM, NUM, 1, 2, 3)},
    {.op = "entmax15",
     .name = "A8 the same, entmax15",
     ROWS(5, 3),
     X(-INF, -INF, -INF, 1, NUM, 2, INF, INF, 0, NUM, NUM, NUM, 1, 2, 3)},
    {.op = "entmax",
     .name = "A8 the same, entmax",
     ROWS(5, 3),
     X(-INF, -INF, -INF, 1, NUM, 2, INF, INF, 0, NUM, NUM, NUM, 1, 2, 3)},
    {CE, .name = "A8 the same, cross_entropy", ROWS(5, 3),
     X(-INF, -INF, -INF, 1, NUM, 2, INF, INF, 0, NUM, NUM, NUM, 1, 2, 3)},
    {LSE, .name = "A9 logsumexp of nothing: gradient 0, not NaN", ROWS(1, 2), X(-INF, -INF)},
    {CE, .name = "A10 a soft target of 0 at a masked class: gradient 0", ROWS(1, 3), X(-INF, 0, 0),
     .probabilities = true, .given_prob = (const double[]){0, 0.5, 0.5}},
    {LOGS, .name = "A11 NaN, +inf and -inf in one row: all NaN, the next untouched", ROWS(2, 3),
     X(NUM, INF, -INF, 1, 2, 3)},
    {SOFT, .name = "A12 scores beyond the range of exp", ROWS(2, 4),
     X(151.3, 150, 0, -5, -151, -150, -90, -95)},
    {LOGS, .name = "A16 rows shorter than a group: one column", ROWS(3, 1), X(5, -INF, 0)},
    {LOGS, .name = "A16 two columns", ROWS(3, 2), X(5, 4, -INF, 2, 1e4, -1e4)},
    {LOGS, .name = "A16 three columns", ROWS(2, 3), X(5, 4, -INF, 3, 3, 3)},
    {SOFT, .name = "A17 huge finite and -inf biases in one mask", ROWS(2, 5), .typed = true,
     X(1, 2, 3, 4, 5, 1, 2, 3, 4, 5), .bias = SPREAD_FULL,
     .given_bias =
         (const double[]){0, -1e30, -1e10, -FLT_MAX, -INF, -1e30, -1e30, -1e30, -1e30, -INF}},
    {LOGS, .name = "A17 the same, log_softmax", ROWS(1, 5), .typed = true, X(1, 2, 3, 4, 5),
     .bias = SPREAD_FULL, .given_bias = (const double[]){0, -1e30, -1e10, -FLT_MAX, -INF}},

    {SOFT, .name = "P4 f16, 256 columns", ROWS(4, 256), .in = ANYMAX_F16, .out = ANYMAX_F16},
    {SOFT, .name = "P4 f16, 4096 columns: no worse than rounding", ROWS(4, 4096), .in = ANYMAX_F16,
     .out = ANYMAX_F16},
    {CE, .name = "P6 a probability of just 1 in f16", ROWS(2, 2), X(40, 0, 0, 60000),
     .in = ANYMAX_F16, .out = ANYMAX_F16, .given_target = (const double[]){0, 1}},
    {CE, .name = "P6 a probability of just 1 in bf16", ROWS(2, 2), X(40, 0, 0, 60000),
     .in = ANYMAX_BF16, .out = ANYMAX_BF16, .given_target = (const double[]){0, 1}},

    {SOFT, .name = "I6 more rows than groups of a dispatch", ROWS(70000, 4)},

    {SOFT, .name = "S1 ten ones: padding lanes do not count", ROWS(1, 10),
     X(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)},
    {SOFT, .name = "S1 a single one", ROWS(1, 1), X(1)},
    {SOFT, .name = "S16 axis 1 of a transpose", .rank = 2, .shape = {4, 3},
     .layout_in = LAYOUT_PERMUTED},
    {SOFT, .name = "S16 into every second column of a wider buffer", ROWS(3, 4),
     .layout_out = LAYOUT_GAPS},
    {SOFT, .name = "S17 a permuted upstream gradient", .rank = 4, .shape = {2, 3, 4, 5},
     .layout_in = LAYOUT_PERMUTED},
    {SOFT, .name = "W4 the maximum in the last of 100 columns", ROWS(1, 100), .scale = {true, 1.0f},
     .fill = FILL_TIES},
    {SOFT, .name = "C3 16 elements under a group of 256", ROWS(4, 4)},
    {SOFT, .name = "C6 7 columns, guards intact", ROWS(3, 7)},
    {SOFT, .name = "C6 217 columns, guards intact", ROWS(3, 217)},

    {CE, .name = "L1 no row counts: the mean is 0", ROWS(1, 3), X(1, 5, 10), .reduction = "mean",
     .given_target = (const double[]){-100}},
    {CE, .name = "L5 weights, smoothing and an ignored row: the mean is 2.5405", ROWS(2, 2),
     X(1, 2, 3, 0.4), .weight = true, .given_weight = (const double[]){0.2, 0.3}, .smoothing = 0.1,
     .reduction = "mean", .given_target = (const double[]){-100, 1}},
    {CE, .name = "L7 ignored -100: the divisor counts kept rows", ROWS(3, 3),
     X(1, 5, 10, 1, 2, 3, 3, 1, 0), .reduction = "mean",
     .given_target = (const double[]){0, -100, 2}},
    {CE, .name = "L7 ignored 0", ROWS(3, 3), X(1, 5, 10, 1, 2, 3, 3, 1, 0), .reduction = "mean",
     .ignore_index = {true, 0}, .given_target = (const double[]){0, 1, 2}},
    {CE, .name = "L8 gradient of an ignored row is just 0", ROWS(2, 3), X(1, 5, 10, 1, 2, 3),
     .no_up_lse = true, .given_target = (const double[]){-100, 1}},
    {CE, .name = "L9 102400 classes", ROWS(3, 102400)},
    {CE, .name = "L9 128256 classes, bf16", ROWS(3, 128256), .in = ANYMAX_BF16},
    {CE, .name = "L9 151936 classes", ROWS(1, 151936), .smoothing = 0.1},
    {CE, .name = "L9 643251 classes", ROWS(1, 643251)},

    {.op = "entmax15", .name = "E1 an all -inf row", ROWS(2, 3), X(-INF, -INF, -INF, 1, 2, 3)},
    {.op = "entmax",
     .name = "E1 an all -inf row, sparsemax",
     ROWS(2, 3),
     X(-INF, -INF, -INF, 1, 2, 3.5),
     .alpha = {true, 2.0f}},
    {.op = "entmax", .name = "E2 a masked column", ROWS(2, 4), X(1, -INF, 0.5, 2, -INF, 3, 1, 0)},
    {.op = "entmax", .name = "E3 alpha 1", ROWS(2, 5), .alpha = {true, 1.0f}, .fill = FILL_NEAR},
    {.op = "entmax",
     .name = "E3 alpha 1 + 1e-7",
     ROWS(2, 5),
     .alpha = {true, 1.0000001f},
     .fill = FILL_NEAR},
    {.op = "entmax",
     .name = "E3 alpha 1.0001",
     ROWS(2, 5),
     .alpha = {true, 1.0001f},
     .fill = FILL_NEAR},
    {.op = "entmax", .name = "E3 alpha 1.5", ROWS(2, 5), .alpha = {true, 1.5f}, .fill = FILL_NEAR},
    {.op = "entmax", .name = "E3 alpha 2", ROWS(2, 5), .alpha = {true, 2.0f}, .fill = FILL_NEAR},
    {.op = "entmax", .name = "E3 alpha 4", ROWS(2, 5), .alpha = {true, 4.0f}, .fill = FILL_NEAR},
    {.op = "entmax", .name = "E3 alpha 10", ROWS(2, 5), .alpha = {true, 10.0f}, .fill = FILL_NEAR},
    {.op = "entmax15",
     .name = "E4 three dimensions, the middle one 1",
     .rank = 3,
     .shape = {2, 1, 3},
     X(1, 2, 3, 0.5, 0, 0.25)},
    {.op = "entmax15",
     .name = "E4 axis 0 of the transpose",
     .rank = 2,
     .shape = {3, 2},
     .axis_back = 1,
     .layout_in = LAYOUT_PERMUTED,
     X(1, 2, 3, 0.5, 0, 0.25)},
    {.op = "entmax15", .name = "E5 four at the top, one below", ROWS(1, 5), X(1, 1, 1, 1, 0)},
    {.op = "entmax15", .name = "E5 all equal", ROWS(1, 6), X(1, 1, 1, 1, 1, 1)},
    {.op = "entmax15", .name = "E5 two at the threshold", ROWS(1, 3), X(2, 0, 0)},
    {.op = "entmax15", .name = "E5 32000 columns", ROWS(1, 32000)},
    {.op = "entmax", .name = "E5 32000 columns", ROWS(1, 32000), .alpha = {true, 1.3f}},
};

START_TEST(field_row) {
    op_case_run(&test_main_device, &rows[_i], false);
    op_case_run(&test_main_device, &rows[_i], true);
}
END_TEST

/* ---------------------------------------------------------------- rows with answers of their own
 */

static probe *softmax_of(trial *t, const double *x, int64_t n) {
    trial_input(t, "x", ANYMAX_F32, 1, &n, LAYOUT_PACKED, x);
    return trial_output(t, "y", ANYMAX_F32, 1, &n, LAYOUT_PACKED, NULL);
}

static double sum_of(const probe *p) {
    double sum = 0;
    for (size_t i = 0; i < p->count; i++) sum += p->value[i];
    return sum;
}

/* A row that is wholly at the lowest finite number is not masked: no NaN, and it sums to one. */
START_TEST(a3_lowest_finite_bias) {
    double x[8], lowest[8];
    int64_t n = 8;
    trial t = trial_make(&test_main_device, "softmax", "A3 a bias of -FLT_MAX everywhere");
    probe *y;
    for (int i = 0; i < 8; i++) x[i] = -10 - 0.25 * i, lowest[i] = -FLT_MAX;
    y = softmax_of(&t, x, 8);
    trial_input(&t, "bias", ANYMAX_F32, 1, &n, LAYOUT_PACKED, lowest);
    trial_run(&t);
    ck_assert_msg(fabs(sum_of(y) - 1) < 1e-6, "the row sums to %.9g", sum_of(y));
    trial_end(&t);
}
END_TEST

/* bf16 logits all equal over 262,144 classes: the loss is log V, and the gradient sums to 0. */
START_TEST(p5_equal_logits) {
    enum { V = 262144 };
    static double x[V];
    static const double one = 1, target = 77;
    int64_t shape[2] = {1, V}, row = 1;
    for (int way = 0; way < 2; way++) {
        trial t =
            trial_make(&test_main_device, "cross_entropy", "P5 equal logits over 262144 classes");
        probe *p;
        for (int i = 0; i < V; i++) x[i] = 3;
        trial_input(&t, "x", ANYMAX_BF16, 2, shape, LAYOUT_PACKED, x);
        trial_input(&t, "target", ANYMAX_I32, 1, &row, LAYOUT_PACKED, &target);
        if (way == 1) trial_input(&t, "up.loss", ANYMAX_F32, 1, &row, LAYOUT_PACKED, &one);
        p = way ? trial_output(&t, "grad.x", ANYMAX_F32, 2, shape, LAYOUT_PACKED, NULL)
                : trial_output(&t, "loss", ANYMAX_F32, 1, &row, LAYOUT_PACKED, NULL);
        trial_run(&t);
        if (way == 0)
            ck_assert_msg(fabs(p->value[0] - log(V)) < 1e-5, "loss %.9g", p->value[0]);
        else
            ck_assert_msg(fabs(sum_of(p)) < 1e-6, "the gradient sums to %g", sum_of(p));
        trial_end(&t);
    }
}
END_TEST

/* Sizes around powers of two, and everything up to 1100, forward and backward; one row holds for
 * all. */
START_TEST(s2_lengths) {
    for (int64_t n = 1 + _i; n <= 1100; n += 11) {
        char name[40];
        op_case c = {SOFT, .name = name, ROWS(2, n)};
        snprintf(name, sizeof name, "S2, C1 %lld columns", (long long)n);
        op_case_run(&test_main_device, &c, n % 2);
    }
}
END_TEST

START_TEST(s2_powers_of_two) {
    for (int64_t p = 2048; p <= 65536; p *= 2)
        for (int k = -1; k <= 2; k++) {
            char name[40];
            op_case c = {SOFT, .name = name, ROWS(1, k == 2 ? p + p / 2 : p + k)};
            snprintf(name, sizeof name, "S2 %lld columns", (long long)c.shape[1]);
            op_case_run(&test_main_device, &c, false);
            op_case_run(&test_main_device, &c, true);
        }
}
END_TEST

/* {2, 4, 2, 2} along axis 1 with a batch stride of 32 instead of 16, and every byte between
 * untouched. */
START_TEST(s15_batch_stride) {
    enum { WHOLE = 2 * 32 };
    float x[WHOLE], y[WHOLE];
    anymax_map m = {.kind = ANYMAX_SOFTMAX, .axis = anymax_some_int(1)};
    anymax_tensor tx = {
        .data = x, .rank = 4, .shape = {2, 4, 2, 2}, .strided = true, .stride = {32, 4, 2, 1}};
    anymax_tensor ty = tx;
    ty.data = y;
    for (int i = 0; i < WHOLE; i++) x[i] = (float)(i % 7), y[i] = -1;
    ck_assert_int_eq(anymax_map_forward(test_main_device.stream, &m, &tx, &ty), ANYMAX_OK);
    ck_assert_int_eq(anymax_stream_sync(test_main_device.stream), ANYMAX_OK);
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < 4; i++) {
            double sum = 0;
            for (int c = 0; c < 4; c++) sum += y[b * 32 + c * 4 + i];
            ck_assert_msg(fabs(sum - 1) < 1e-6, "S15 batch %d, place %d: %g", b, i, sum);
        }
    for (int i = 16; i < 32; i++)
        ck_assert_msg(y[i] == -1 && y[32 + i] == -1, "S15 between the batches");
}
END_TEST

/* Offsets that suit no binding alignment, in one buffer: f32 at bytes 4, 36, 60, f16 at 2, and the
 * same plan at elements 0 and 48. */
START_TEST(i9_offsets) {
    static const size_t offsets[] = {4, 36, 60, 0, 192, 2, 6, 34};
    enum { N = 9, BYTES = 512 };
    for (int i = 0; i < COUNT(offsets); i++) {
        bool half = offsets[i] % 4 != 0;
        anymax_dtype dtype = half ? ANYMAX_F16 : ANYMAX_F32;
        size_t size = anymax_dtype_size(dtype);
        unsigned char image[BYTES], back[BYTES];
        int64_t n = N;
        anymax_map m = {.kind = ANYMAX_SOFTMAX};
        anymax_buffer *in, *out;
        anymax_tensor x, y;
        double sum = 0;
        memset(image, 0x5a, sizeof image);
        for (int k = 0; k < N; k++)
            number_store(dtype, k * 0.25, image + offsets[i] + (size_t)k * size);
        ck_assert_int_eq(anymax_buffer_create(test_main_device.device, BYTES, &in), ANYMAX_OK);
        ck_assert_int_eq(anymax_buffer_create(test_main_device.device, BYTES, &out), ANYMAX_OK);
        anymax_buffer_write(test_main_device.stream, in, 0, image, BYTES);
        anymax_buffer_write(test_main_device.stream, out, 0, image, BYTES);
        x = anymax_buffer_tensor(in, offsets[i], dtype, 1, &n);
        y = anymax_buffer_tensor(out, offsets[i], dtype, 1, &n);
        ck_assert_int_eq(anymax_map_forward(test_main_device.stream, &m, &x, &y), ANYMAX_OK);
        anymax_buffer_read(test_main_device.stream, out, 0, back, BYTES);
        ck_assert_int_eq(anymax_stream_sync(test_main_device.stream), ANYMAX_OK);
        for (int k = 0; k < N; k++) sum += number_load(dtype, back + offsets[i] + (size_t)k * size);
        ck_assert_msg(fabs(sum - 1) < 1e-3, "I9 offset %zu: the row sums to %g", offsets[i], sum);
        memcpy(back + offsets[i], image + offsets[i], N * size);
        ck_assert_msg(memcmp(image, back, BYTES) == 0,
                      "I9 offset %zu: bytes beside the row changed", offsets[i]);
        anymax_buffer_release(in);
        anymax_buffer_release(out);
    }
}
END_TEST

/* A range of 1 MiB: 64 KiB at the end of 8 MiB is one binding, 2 MiB are several. */
START_TEST(i8_ranges) {
    enum { BYTES = 8 << 20, SMALL = 16384, LARGE = 2 << 18 };
    static float y[LARGE];
    test_device d;
    anymax_buffer *b;
    anymax_map m = {.kind = ANYMAX_SOFTMAX};
    test_device_open(&d, "range=1m", 0);
    ck_assert_int_eq(anymax_buffer_create(d.device, BYTES, &b), ANYMAX_OK);
    for (int i = 0; i < 2; i++) {
        int64_t shape[2] = {i ? 64 : 4, i ? LARGE / 64 : SMALL / 4}, count = shape[0] * shape[1];
        anymax_tensor t = anymax_buffer_tensor(b, BYTES - (size_t)count * 4, ANYMAX_F32, 2, shape);
        for (int64_t k = 0; k < count; k++) y[k] = (float)(k % 5);
        anymax_buffer_write(d.stream, b, t.offset_bytes, y, (size_t)count * 4);
        ck_assert_msg(anymax_map_forward(d.stream, &m, &t, &t) == ANYMAX_OK, "%s",
                      anymax_error_message());
        anymax_buffer_read(d.stream, b, t.offset_bytes, y, (size_t)count * 4);
        ck_assert_int_eq(anymax_stream_sync(d.stream), ANYMAX_OK);
        for (int64_t r = 0; r < shape[0]; r++) {
            double sum = 0;
            for (int64_t k = 0; k < shape[1]; k++) sum += y[r * shape[1] + k];
            ck_assert_msg(fabs(sum - 1) < 1e-5, "I8 %lld bytes, row %lld: %g", (long long)count * 4,
                          (long long)r, sum);
        }
    }
    anymax_buffer_release(b);
    test_device_close(&d);
}
END_TEST

/* Sizes beyond 32 bits, planned and not run: a status, never a wrapped launch. */
START_TEST(i5_planned_only) {
    static const int64_t shapes[][2] = {
        {1, 2147483647}, {1, ((int64_t)1 << 32) + 8}, {18423, 131072}, {((int64_t)1 << 33), 4}};
    anymax_stream_desc desc = {.plan_only = true};
    anymax_stream *stream;
    float nowhere[4];
    anymax_map m = {.kind = ANYMAX_LOG_SOFTMAX};
    ck_assert_int_eq(anymax_stream_create(test_main_device.device, &desc, &stream), ANYMAX_OK);
    for (int i = 0; i < COUNT(shapes); i++) {
        anymax_tensor x = anymax_host_tensor(nowhere, ANYMAX_F16, 2, shapes[i]), y = x;
        anymax_status status = anymax_map_forward(stream, &m, &x, &y);
        ck_assert_msg(status == ANYMAX_OK || status == ANYMAX_ERROR_UNSUPPORTED ||
                          status == ANYMAX_ERROR_OUT_OF_MEMORY,
                      "I5 %lld x %lld: %s", (long long)shapes[i][0], (long long)shapes[i][1],
                      anymax_error_message());
    }
    anymax_stream_release(stream);
}
END_TEST

/* Labels beyond the classes, whatever is ignored: the row is left out, sync says so, and the next
 * call is as right as ever. */
START_TEST(l2_l3_l4_labels) {
    static const char *const reductions[] = {"none", "sum", "mean"};
    static const double x[9] = {1, 5, 10, 0, 0, 0, 2, 2, 2}, labels[3] = {0, 255, 254},
                        fine[3] = {0, 1, 2};
    double first = 9 + log1p(exp(-5) + exp(-9)), each[3] = {first, 0, 0};
    int64_t shape[2] = {3, 3}, three = 3, one = 1;
    for (int i = 0; i < 3; i++) {
        double fine_loss[3] = {first, log(3), log(3)}, fine_sum = first + 2 * log(3);
        if (i == 2) fine_sum /= 3;
        for (int next = 0; next < 2; next++) {
            trial t = trial_make(&test_main_device, "cross_entropy",
                                 "L2-L4 label 254 of 3, 255 ignored, %s, %s", reductions[i],
                                 next ? "the call after it" : "first");
            trial_input(&t, "x", ANYMAX_F32, 2, shape, LAYOUT_PACKED, x);
            trial_input(&t, "target", ANYMAX_U8, 1, &three, LAYOUT_PACKED, next ? fine : labels);
            trial_int(&t, "ignore_index", 255);
            trial_string(&t, "reduction", reductions[i]);
            trial_output(&t, "loss", ANYMAX_F32, 1, i ? &one : &three, LAYOUT_PACKED,
                         next ? (i ? &fine_sum : fine_loss) : each);
            if (!next) t.expect_sync = ANYMAX_ERROR_DATA;
            t.n = 3;
            trial_run(&t);
            trial_end(&t);
        }
    }
}
END_TEST

/* The number of the report. */
START_TEST(l5_number) {
    static const double x[4] = {1, 2, 3, 0.4}, target[2] = {-100, 1}, weight[2] = {0.2, 0.3};
    int64_t shape[2] = {2, 2}, two = 2, one = 1;
    trial t = trial_make(&test_main_device, "cross_entropy", "L5 2.5405");
    probe *loss;
    trial_input(&t, "x", ANYMAX_F32, 2, shape, LAYOUT_PACKED, x);
    trial_input(&t, "target", ANYMAX_I64, 1, &two, LAYOUT_PACKED, target);
    trial_input(&t, "weight", ANYMAX_F32, 1, &two, LAYOUT_PACKED, weight);
    trial_float(&t, "label_smoothing", 0.1);
    trial_string(&t, "reduction", "mean");
    loss = trial_output(&t, "loss", ANYMAX_F32, 1, &one, LAYOUT_PACKED, NULL);
    trial_run(&t);
    ck_assert_msg(fabs(loss->value[0] - 2.5405) < 5e-5, "L5 loss %.6g", loss->value[0]);
    trial_end(&t);
}
END_TEST

/* Sub-group sizes and group sizes that are not the device's own. */
START_TEST(w_limits) {
    static const char *const limits[] = {"invocations=100",
                                         "subgroup=4",
                                         "subgroup=8",
                                         "subgroup=16",
                                         "shape=gpu,subgroup=4",
                                         "shape=gpu,subgroup=none",
                                         "shape=gpu,invocations=100",
                                         "shape=gpu,invocations=128,shared=16k"};
    static const op_case cases[] = {
        {SOFT, .name = "W4 100 columns", ROWS(5, 100)},
        {.op = "entmax15", .name = "W2 100 columns", ROWS(5, 100)},
        {CE, .name = "W5 217 classes", ROWS(5, 217), .smoothing = 0.1},
    };
    test_device d;
    test_device_open(&d, limits[_i], 0);
    for (int i = 0; i < COUNT(cases); i++) {
        op_case_run(&d, &cases[i], false);
        op_case_run(&d, &cases[i], true);
    }
    test_device_close(&d);
}
END_TEST

static void add(Suite *suite) {
    TCase *table = tcase_create("rows"), *own = tcase_create("answers"),
          *limits = tcase_create("limits");
    tcase_add_loop_test(table, field_row, 0, COUNT(rows));
    suite_add_tcase(suite, table);
    tcase_add_test(own, a3_lowest_finite_bias);
    tcase_add_test(own, p5_equal_logits);
    tcase_add_loop_test(own, s2_lengths, 0, 11);
    tcase_add_test(own, s2_powers_of_two);
    tcase_add_test(own, s15_batch_stride);
    tcase_add_test(own, i9_offsets);
    tcase_add_test(own, i8_ranges);
    tcase_add_test(own, i5_planned_only);
    tcase_add_test(own, l2_l3_l4_labels);
    tcase_add_test(own, l5_number);
    suite_add_tcase(suite, own);
    tcase_add_loop_test(limits, w_limits, 0, 8);
    suite_add_tcase(suite, limits);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "field", add);
}
