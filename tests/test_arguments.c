/* Contracts of a call: what is refused, with which words, leaving outputs untouched; workspace
 * queries and the caller's own workspace; aliasing; missing gradients. */
#include "support/cases.h"
#include "support/numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- refused */

#define F ANYMAX_F32
static const double zeros[64];

/* A softmax of 3 x 5 into y, sound until `spoil` changes it. */
typedef struct refused {
    const char *name;
    anymax_status status;
    const char *says; /* part of the message */
    void (*spoil)(trial *t);
    const char *op; /* NULL: softmax */
    bool backward;
} refused;

static anymax_tensor *tensor(trial *t, const char *name) {
    probe *p = trial_find(t, name);
    return &p->tensor;
}

static void rank7(trial *t) {
    tensor(t, "x")->rank = 7;
}
static void other_shape(trial *t) {
    tensor(t, "y")->shape[1] = 4;
}
static void other_rank(trial *t) {
    tensor(t, "y")->rank = 1;
}
static void negative_dim(trial *t) {
    tensor(t, "x")->shape[0] = -3;
}
static void index_x(trial *t) {
    tensor(t, "x")->dtype = ANYMAX_I32;
}
static void bool_y(trial *t) {
    tensor(t, "y")->dtype = ANYMAX_BOOL;
}
static void no_type(trial *t) {
    tensor(t, "x")->dtype = (anymax_dtype)99;
}

static void strides(anymax_tensor *t, int64_t a, int64_t b) {
    t->strided = true;
    t->stride[0] = a;
    t->stride[1] = b;
}

static void negative_stride(trial *t) {
    strides(tensor(t, "x"), 5, -1);
}
static void zero_stride_output(trial *t) {
    strides(tensor(t, "y"), 0, 1);
}
static void zero_stride_output_row(trial *t) {
    strides(tensor(t, "y"), 1, 0);
}
static void overlapping_output(trial *t) {
    strides(tensor(t, "y"), 4, 1);
}
static void beyond_the_end(trial *t) {
    strides(tensor(t, "x"), 5000, 1);
}
static void huge_stride(trial *t) {
    strides(tensor(t, "x"), INT64_MAX / 2, 1);
}
static void odd_offset(trial *t) {
    tensor(t, "x")->offset_bytes += 2;
}
static void offset_past_end(trial *t) {
    tensor(t, "x")->offset_bytes = 1 << 20;
}
static void huge_offset(trial *t) {
    tensor(t, "y")->offset_bytes = SIZE_MAX - 3;
}
static void no_memory(trial *t) {
    tensor(t, "x")->buffer = NULL;
}

/* y begins in the middle of x: a row further on. */
static void partial_overlap(trial *t) {
    *tensor(t, "y") = *tensor(t, "x");
    strides(tensor(t, "y"), 5, 1);
    tensor(t, "y")->offset_bytes -= 4;
}

/* Not one element in common, but bytes: an f16 output over an f32 input. */
static void other_type_overlap(trial *t) {
    *tensor(t, "y") = *tensor(t, "x");
    tensor(t, "y")->dtype = ANYMAX_F16;
}

static void axis_2(trial *t) {
    trial_int(t, "axis", 2);
}
static void axis_minus_3(trial *t) {
    trial_int(t, "axis", -3);
}
static void nan_scale(trial *t) {
    trial_float(t, "scale", (double)NAN);
}
static void infinite_scale(trial *t) {
    trial_float(t, "scale", (double)INFINITY);
}
static void scale_overflow(trial *t) {
    trial_float(t, "scale", 1e300);
}
static void scale_string(trial *t) {
    trial_string(t, "scale", "much");
}
static void unknown_param(trial *t) {
    trial_float(t, "temper", 1);
}
static void scale_twice(trial *t) {
    trial_float(t, "scale", 1);
    trial_float(t, "scale", 2);
}
static void alpha_low(trial *t) {
    trial_float(t, "alpha", 0.99);
}
static void alpha_high(trial *t) {
    trial_float(t, "alpha", 10.5);
}
static void alpha_nan(trial *t) {
    trial_float(t, "alpha", (double)NAN);
}
static void temperature_0(trial *t) {
    trial_float(t, "temperature", 0);
}
static void temperature_minus(trial *t) {
    trial_float(t, "temperature", -1);
}
static void tau_minus(trial *t) {
    trial_float(t, "tau", -0.5);
}
static void smoothing_1(trial *t) {
    trial_float(t, "label_smoothing", 1);
}
static void smoothing_minus(trial *t) {
    trial_float(t, "label_smoothing", -0.1);
}
static void z_loss_minus(trial *t) {
    trial_float(t, "z_loss", -0.1);
}
static void reduction_average(trial *t) {
    trial_string(t, "reduction", "average");
}
static void float_target(trial *t) {
    tensor(t, "target")->dtype = ANYMAX_F32;
}
static void short_target(trial *t) {
    tensor(t, "target")->shape[0] = 2;
}
static void missing_target(trial *t) {
    snprintf(trial_find(t, "target")->name, 24, "lse_");
}
static void missing_x(trial *t) {
    snprintf(trial_find(t, "x")->name, 24, "z");
}
static void twice_x(trial *t) {
    snprintf(trial_find(t, "y")->name, 24, "x");
}
static void up_shape(trial *t) {
    tensor(t, "up.y")->shape[0] = 2;
}
static void grad_shape(trial *t) {
    tensor(t, "grad.x")->shape[1] = 3;
}
static void grad_of_noise(trial *t) {
    snprintf(trial_find(t, "grad.x")->name, 24, "grad.noise");
}
static void noise_shape(trial *t) {
    tensor(t, "noise")->shape[1] = 4;
}
static void prior_shape(trial *t) {
    tensor(t, "prior")->shape[0] = 4;
}

#define INVALID ANYMAX_ERROR_INVALID
static const refused table[] = {
    {"rank 7", INVALID, "rank", rank7, NULL, false},
    {"y of another shape", INVALID, "(3, 4)", other_shape, NULL, false},
    {"y of another rank", INVALID, "y", other_rank, NULL, false},
    {"negative dimension", INVALID, "x", negative_dim, NULL, false},
    {"integers for x", INVALID, "x", index_x, NULL, false},
    {"bool for y", INVALID, "y", bool_y, NULL, false},
    {"no such type", INVALID, "x", no_type, NULL, false},
    {"negative stride", INVALID, "stride", negative_stride, NULL, false},
    {"rows of y on one another", INVALID, "y", zero_stride_output, NULL, false},
    {"elements of y on one another", INVALID, "y", zero_stride_output_row, NULL, false},
    {"rows of y that overlap", INVALID, "overlap", overlapping_output, NULL, false},
    {"x ends beyond its buffer", INVALID, "x", beyond_the_end, NULL, false},
    {"a stride that overflows", INVALID, "stride", huge_stride, NULL, false},
    {"an offset inside an element", INVALID, "multiple", odd_offset, NULL, false},
    {"an offset past the buffer", INVALID, "x", offset_past_end, NULL, false},
    {"an offset that overflows", INVALID, "y", huge_offset, NULL, false},
    {"neither buffer nor data", INVALID, "x", no_memory, NULL, false},
    {"partial overlap", INVALID, "overlap", partial_overlap, NULL, false},
    {"overlap with another type", INVALID, "overlap", other_type_overlap, NULL, false},
    {"axis 2 of 2", INVALID, "axis", axis_2, NULL, false},
    {"axis -3 of 2", INVALID, "axis", axis_minus_3, NULL, false},
    {"NaN for scale", INVALID, "scale", nan_scale, NULL, false},
    {"infinite scale", INVALID, "scale", infinite_scale, NULL, false},
    {"a scale beyond floats", INVALID, "scale", scale_overflow, NULL, false},
    {"a string for scale", INVALID, "scale", scale_string, NULL, false},
    {"scale twice", INVALID, "twice", scale_twice, NULL, false},
    {"no such parameter", ANYMAX_ERROR_NOT_FOUND, "temper", unknown_param, NULL, false},
    {"no x", ANYMAX_ERROR_NOT_FOUND, "z", missing_x, NULL, false},
    {"x twice", INVALID, "x", twice_x, NULL, false},
    {"alpha 0.99", INVALID, "alpha is 0.99", alpha_low, "entmax", false},
    {"alpha 10.5", INVALID, "alpha is 10.5", alpha_high, "entmax", false},
    {"alpha NaN", INVALID, "alpha", alpha_nan, "entmax", false},
    {"alpha 0.99, backward", INVALID, "alpha is 0.99", alpha_low, "entmax", true},
    {"temperature 0", INVALID, "temperature", temperature_0, "gumbel_softmax", false},
    {"temperature -1", INVALID, "temperature", temperature_minus, "gumbel_softmax", false},
    {"noise of another shape", INVALID, "noise", noise_shape, "gumbel_softmax", false},
    {"tau -0.5", INVALID, "tau", tau_minus, "logit_adjusted_softmax", false},
    {"prior of another length", INVALID, "prior", prior_shape, "logit_adjusted_softmax", false},
    {"up.y of another shape", INVALID, "up.y", up_shape, NULL, true},
    {"grad.x of another shape", INVALID, "grad.x", grad_shape, NULL, true},
    {"gradient of noise", INVALID, "noise", grad_of_noise, "gumbel_softmax", true},
    {"temperature 0", INVALID, "temperature", temperature_0, "cross_entropy", false},
    {"smoothing 1", INVALID, "label_smoothing", smoothing_1, "cross_entropy", false},
    {"smoothing -0.1", INVALID, "label_smoothing", smoothing_minus, "cross_entropy", false},
    {"z_loss -0.1", INVALID, "z_loss", z_loss_minus, "cross_entropy", false},
    {"reduction average", INVALID, "average", reduction_average, "cross_entropy", false},
    {"floats for target", INVALID, "target", float_target, "cross_entropy", false},
    {"target of another length", INVALID, "target", short_target, "cross_entropy", false},
    {"no such tensor", ANYMAX_ERROR_NOT_FOUND, "lse_", missing_target, "cross_entropy", false},
};

static void build(trial *t, const refused *r) {
    static const int64_t shape[2] = {3, 5}, rows = 3, n = 5;
    bool loss = strcmp(t->op, "cross_entropy") == 0;
    trial_input(t, "x", F, 2, shape, LAYOUT_PACKED, zeros);
    if (strcmp(t->op, "gumbel_softmax") == 0)
        trial_input(t, "noise", F, 2, shape, LAYOUT_PACKED, zeros);
    if (strcmp(t->op, "logit_adjusted_softmax") == 0)
        trial_input(t, "prior", F, 1, &n, LAYOUT_PACKED, zeros);
    if (loss) trial_input(t, "target", ANYMAX_I32, 1, &rows, LAYOUT_PACKED, zeros);
    if (r->backward) {
        trial_input(t, "up.y", F, 2, shape, LAYOUT_PACKED, zeros);
        trial_output(t, "grad.x", F, 2, shape, LAYOUT_PACKED, NULL);
    } else if (loss) {
        trial_output(t, "loss", F, 1, &rows, LAYOUT_PACKED, NULL);
    } else {
        trial_output(t, "y", F, 2, shape, LAYOUT_PACKED, NULL);
    }
}

static anymax_status spoiled(trial *t, anymax_stream *stream) {
    const refused *r = t->user;
    anymax_named_tensor tensors[TRIAL_TENSORS];
    anymax_tensor kept[TRIAL_TENSORS];
    anymax_status status;
    char names[TRIAL_TENSORS][24];
    for (int i = 0; i < t->count; i++) {
        kept[i] = t->probes[i].tensor;
        memcpy(names[i], t->probes[i].name, sizeof names[i]);
    }
    r->spoil(t);
    for (int i = 0; i < t->count; i++) {
        tensors[i].name = t->probes[i].name;
        tensors[i].tensor = &t->probes[i].tensor;
    }
    status =
        anymax_call(stream, t->op, tensors, (size_t)t->count, t->params, (size_t)t->param_count);
    for (int i = 0; i < t->count; i++) {
        t->probes[i].tensor = kept[i];
        memcpy(t->probes[i].name, names[i], sizeof names[i]);
    }
    return status;
}

START_TEST(refused_call) {
    const refused *r = &table[_i];
    trial t = trial_make(&test_main_device, r->op ? r->op : "softmax", "refused: %s", r->name);
    build(&t, r);
    t.call = spoiled;
    t.user = r;
    t.expect = r->status;
    t.expect_text = r->says;
    trial_run(&t);
    ck_assert_msg(strstr(anymax_error_message(), "\n") == NULL, "a message is one line");
    trial_end(&t);
}
END_TEST

/* A buffer of another device is refused, of the same backend or of another. */
START_TEST(other_device) {
    static const int64_t shape[1] = {16};
    test_device other;
    anymax_buffer *mine, *foreign;
    anymax_tensor x, y;
    anymax_map m = {ANYMAX_SOFTMAX};
    test_device_open(&other, NULL, 0);
    ck_assert_int_eq(anymax_buffer_create(test_main_device.device, 64, &mine), ANYMAX_OK);
    ck_assert_int_eq(anymax_buffer_create(other.device, 64, &foreign), ANYMAX_OK);
    x = anymax_buffer_tensor(mine, 0, F, 1, shape);
    y = anymax_buffer_tensor(foreign, 0, F, 1, shape);
    ck_assert_int_eq(anymax_map_forward(test_main_device.stream, &m, &x, &y), ANYMAX_ERROR_INVALID);
    ck_assert_msg(strstr(anymax_error_message(), "another device"), "%s", anymax_error_message());
    ck_assert_int_eq(anymax_buffer_write(other.stream, mine, 0, &x, 4), ANYMAX_ERROR_INVALID);
    anymax_buffer_release(mine);
    anymax_buffer_release(foreign);
    test_device_close(&other);
}
END_TEST

/* NULL where something is needed is an error, never a crash. */
START_TEST(nulls) {
    static const int64_t shape[1] = {4};
    float data[4] = {0};
    anymax_tensor x = anymax_host_tensor(data, F, 1, shape);
    anymax_map m = {ANYMAX_SOFTMAX};
    anymax_cross_entropy ce = {0};
    anymax_infonce nce = {0};
    anymax_stream *s = test_main_device.stream;
    ck_assert_int_eq(anymax_map_forward(NULL, &m, &x, &x), INVALID);
    ck_assert_int_eq(anymax_map_forward(s, NULL, &x, &x), INVALID);
    ck_assert_int_eq(anymax_map_forward(s, &m, NULL, &x), INVALID);
    ck_assert_int_eq(anymax_map_forward(s, &m, &x, NULL), INVALID);
    /* The first fault is the one that is told. */
    ck_assert_int_eq(anymax_map_forward(s, &m, NULL, NULL), INVALID);
    ck_assert_str_eq(anymax_error_message(), "softmax: x is missing");
    ck_assert_int_eq(anymax_cross_entropy_forward(s, &ce, &x, NULL, NULL, &x, NULL), INVALID);
    ck_assert_int_eq(anymax_cross_entropy_forward(s, NULL, &x, NULL, &x, &x, NULL), INVALID);
    ck_assert_int_eq(anymax_infonce_forward(s, &nce, NULL, &x, NULL, &x, NULL), INVALID);
    ck_assert_int_eq(anymax_call(s, NULL, NULL, 0, NULL, 0), ANYMAX_ERROR_NOT_FOUND);
    ck_assert_int_eq(anymax_call(s, "softmin", NULL, 0, NULL, 0), ANYMAX_ERROR_NOT_FOUND);
    ck_assert_int_eq(anymax_call(s, "softmax", NULL, 0, NULL, 0), INVALID);
    ck_assert_int_eq(anymax_call(s, "softmax", NULL, 3, NULL, 0), INVALID);
    m.kind = (anymax_map_kind)1000;
    ck_assert_int_eq(anymax_map_forward(s, &m, &x, &x), INVALID);
    ck_assert(strlen(anymax_error_message()) > 0);
}
END_TEST

/* ---------------------------------------------------------------- missing gradients */

/* By name, an upstream gradient that is missing counts as zero; with all of them missing the
 * gradients are zero, and with `accumulate` they stay as they are. */
START_TEST(missing_upstream) {
    static const int64_t shape[2] = {3, 5};
    double first[15];
    for (int i = 0; i < 15; i++) first[i] = i;
    for (int add = 0; add < 2; add++) {
        trial t = trial_make(&test_main_device, "softmax", "no upstream gradient");
        trial_input(&t, "x", F, 2, shape, LAYOUT_PACKED, zeros);
        trial_accumulated(&t, "grad.x", F, 2, shape, LAYOUT_GAPS, add ? first : NULL, zeros);
        if (add) trial_bool(&t, "accumulate", true);
        trial_run(&t);
        trial_end(&t);
    }
}
END_TEST

/* ---------------------------------------------------------------- workspace */

typedef struct space_case {
    const char *name;
    op_case c;
    bool backward;
} space_case;

static const space_case spaces[] = {
    {"symmetric infonce",
     {.op = "infonce_loss", .rank = 2, .shape = {40, 12}, .symmetric = true},
     true},
    {"a split row", {.op = "softmax", .rank = 2, .shape = {1, 300000}}, false},
    {"entmax backward", {.op = "entmax", .rank = 2, .shape = {30, 100}, .row_alpha = true}, true},
    {"a mean", {.op = "cross_entropy", .rank = 2, .shape = {300, 10}, .reduction = "mean"}, false},
};

static anymax_status through(trial *t, anymax_stream *stream) {
    anymax_named_tensor tensors[TRIAL_TENSORS];
    for (int i = 0; i < t->count; i++) {
        tensors[i].name = t->probes[i].name;
        tensors[i].tensor = &t->probes[i].tensor;
    }
    return anymax_call(stream, t->op, tensors, (size_t)t->count, t->params, (size_t)t->param_count);
}

static size_t asked; /* what the query said */

/* Asks for the workspace without running, then runs in a workspace of just that size, whose
 * surroundings are checked; then in one that is a byte smaller, which must be refused. */
static anymax_status within(trial *t, anymax_stream *unused) {
    anymax_device *device = test_main_device.device;
    anymax_stream_desc desc = {.plan_only = true};
    anymax_stream *stream = NULL;
    anymax_buffer *workspace = NULL;
    anymax_status status, refused_status;
    (void)unused;
    ck_assert_int_eq(anymax_stream_create(device, &desc, &stream), ANYMAX_OK);
    ck_assert_msg(through(t, stream) == ANYMAX_OK, "%s", anymax_error_message());
    asked = anymax_stream_workspace_bytes(stream);
    anymax_stream_release(stream);
    if (asked == 0) return through(t, test_main_device.stream);
    desc.plan_only = false;
    if (asked > 1) {
        ck_assert_int_eq(anymax_buffer_create(device, asked - 1, &workspace), ANYMAX_OK);
        desc.workspace = workspace;
        status = anymax_stream_create(device, &desc, &stream);
        refused_status = status == ANYMAX_OK ? through(t, stream) : status;
        ck_assert_msg(refused_status == ANYMAX_ERROR_INVALID,
                      "a workspace that is a byte short: %s", anymax_status_string(refused_status));
        anymax_stream_release(status == ANYMAX_OK ? stream : NULL);
        anymax_buffer_release(workspace);
    }
    ck_assert_int_eq(anymax_buffer_create(device, asked, &workspace), ANYMAX_OK);
    desc.workspace = workspace;
    ck_assert_int_eq(anymax_stream_create(device, &desc, &stream), ANYMAX_OK);
    status = through(t, stream);
    ck_assert_int_eq(anymax_stream_sync(stream), ANYMAX_OK);
    ck_assert_uint_eq(anymax_stream_workspace_bytes(stream), asked);
    anymax_stream_release(stream);
    anymax_buffer_release(workspace);
    return status;
}

START_TEST(workspace) {
    op_case c = spaces[_i].c;
    c.name = spaces[_i].name;
    op_case_run_with(&test_main_device, &c, spaces[_i].backward, within);
    ck_assert_uint_gt(asked, 0);
}
END_TEST

/* A stream that only plans runs nothing and refuses copies. */
static float out_of_reach; /* of a stream that only plans: never touched */

START_TEST(plan_only) {
    static const int64_t shape[1] = {4};
    float x[4] = {1, 2, 3, 4}, y[4] = {-1, -1, -1, -1};
    anymax_tensor tx = anymax_host_tensor(x, F, 1, shape), ty = anymax_host_tensor(y, F, 1, shape);
    anymax_stream_desc desc = {.plan_only = true};
    anymax_map m = {ANYMAX_SOFTMAX};
    anymax_stream *stream;
    anymax_buffer *buffer;
    ck_assert_int_eq(anymax_stream_create(test_main_device.device, &desc, &stream), ANYMAX_OK);
    ck_assert_int_eq(anymax_buffer_create(test_main_device.device, 16, &buffer), ANYMAX_OK);
    ck_assert_int_eq(anymax_map_forward(stream, &m, &tx, &ty), ANYMAX_OK);
    ck_assert_int_eq(anymax_stream_sync(stream), ANYMAX_OK);
    for (int i = 0; i < 4; i++) ck_assert(y[i] == -1);
    ck_assert_int_eq(anymax_buffer_write(stream, buffer, 0, x, 16), INVALID);
    anymax_buffer_release(buffer);
    anymax_stream_release(stream);
}
END_TEST

/* What would take more launches than anyone can wait for is refused within a second or so. */
START_TEST(endless) {
    static const int64_t shape[2] = {(int64_t)1 << 40, (int64_t)1 << 20};
    anymax_tensor t = anymax_host_tensor(&out_of_reach, F, 2, shape);
    anymax_stream_desc desc = {.plan_only = true};
    anymax_map m = {ANYMAX_SOFTMAX};
    anymax_stream *stream;
    anymax_status status;
    ck_assert_int_eq(anymax_stream_create(test_main_device.device, &desc, &stream), ANYMAX_OK);
    status = anymax_map_forward(stream, &m, &t, &t);
    ck_assert(status == ANYMAX_ERROR_UNSUPPORTED || status == ANYMAX_ERROR_OUT_OF_MEMORY);
    ck_assert(strlen(anymax_error_message()) > 0);
    anymax_stream_release(stream);
}
END_TEST

/* ---------------------------------------------------------------- host memory */

static float x_host[6] = {1, 2, 3, 4, 5, 7}, out_host[4];

static anymax_tensor column(float *data, int64_t length) {
    anymax_tensor t = anymax_host_tensor(data, F, 1, &length);
    t.strided = true;
    t.stride[0] = 2;
    return t;
}

static void sync_ok(anymax_stream *stream) {
    ck_assert_int_eq(anymax_stream_sync(stream), ANYMAX_OK);
}

static void out_is(float a, float b, float c, float d) {
    const float wants[4] = {a, b, c, d};
    for (int i = 0; i < 4; i++)
        ck_assert_msg(fabsf(out_host[i] - wants[i]) < 1e-4f, "element %d is %g, not %g", i,
                      (double)out_host[i], (double)wants[i]);
}

/* Outputs with gaps leave alone what lies in them, be it another output, of the same call or not.
 */
START_TEST(host_columns) {
    static const int64_t shape[2] = {2, 3}, rows = 2;
    static int32_t target[2] = {0, 1};
    anymax_tensor x = anymax_host_tensor(x_host, F, 2, shape), left = column(out_host, 2);
    anymax_tensor right = column(out_host + 1, 2),
                  t = anymax_host_tensor(target, ANYMAX_I32, 1, &rows);
    anymax_cross_entropy loss = {.reduction = ANYMAX_REDUCE_NONE};
    anymax_map sum = {.kind = ANYMAX_LOGSUMEXP};
    anymax_stream *stream;
    ck_assert_int_eq(anymax_stream_create(test_main_device.device, NULL, &stream), ANYMAX_OK);
    ck_assert_int_eq(anymax_cross_entropy_forward(stream, &loss, &x, &t, NULL, &left, &right),
                     ANYMAX_OK);
    sync_ok(stream);
    out_is(2.407606f, 3.407606f, 2.169846f, 7.169846f);
    memset(out_host, 0, sizeof out_host);
    ck_assert_int_eq(anymax_map_forward(stream, &sum, &x, &right), ANYMAX_OK);
    ck_assert_int_eq(anymax_map_forward(stream, &sum, &x, &left), ANYMAX_OK);
    sync_ok(stream);
    out_is(3.407606f, 3.407606f, 7.169846f, 7.169846f);
    anymax_stream_release(stream);
}
END_TEST

/* The left and the right half of one matrix do not overlap; with a column in common they do. */
START_TEST(host_halves) {
    static const int64_t shape[2] = {2, 2};
    static float matrix[8] = {1, 2, 0, 0, 3, 5, 0, 0};
    anymax_tensor x = anymax_host_tensor(matrix, F, 2, shape),
                  y = anymax_host_tensor(matrix + 2, F, 2, shape);
    anymax_map softmax = {.kind = ANYMAX_SOFTMAX};
    anymax_stream *stream;
    strides(&x, 4, 1);
    strides(&y, 4, 1);
    ck_assert_int_eq(anymax_stream_create(test_main_device.device, NULL, &stream), ANYMAX_OK);
    ck_assert_int_eq(anymax_map_forward(stream, &softmax, &x, &y), ANYMAX_OK);
    sync_ok(stream);
    memcpy(out_host, matrix, sizeof out_host);
    out_is(1, 2, 0.268941f, 0.731059f);
    memcpy(out_host, matrix + 4, sizeof out_host);
    out_is(3, 5, 0.119203f, 0.880797f);
    y.data = matrix + 1;
    ck_assert_int_eq(anymax_map_forward(stream, &softmax, &x, &y), INVALID);
    anymax_stream_release(stream);
}
END_TEST

/* Only the sum of data and offset_bytes matters, for alignment and for being in place. */
START_TEST(host_offset) {
    static float memory[8];
    static const int64_t n = 3;
    anymax_tensor x = anymax_host_tensor((char *)memory + 1, F, 1, &n);
    anymax_tensor y = anymax_host_tensor(memory + 1, F, 1, &n);
    anymax_map softmax = {.kind = ANYMAX_SOFTMAX};
    anymax_stream *stream;
    x.offset_bytes = 3;
    memcpy(memory + 1, x_host, 3 * sizeof *memory);
    ck_assert_int_eq(anymax_stream_create(test_main_device.device, NULL, &stream), ANYMAX_OK);
    ck_assert_int_eq(anymax_map_forward(stream, &softmax, &x, &y), ANYMAX_OK);
    sync_ok(stream);
    memcpy(out_host, memory + 1, sizeof out_host);
    out_is(0.090031f, 0.244728f, 0.665241f, 0);
    x.offset_bytes = 2;
    ck_assert_int_eq(anymax_map_forward(stream, &softmax, &x, &y), INVALID);
    anymax_stream_release(stream);
}
END_TEST

/* An input that several rows read cannot be the output. */
START_TEST(output_over_shared) {
    static const int64_t shape[2] = {2, 2}, n = 2;
    anymax_tensor x = anymax_host_tensor(x_host, F, 2, shape),
                  both = anymax_host_tensor(out_host, F, 1, &n);
    anymax_map sum = {.kind = ANYMAX_LOGSUMEXP, .bias = &both};
    anymax_stream *stream;
    out_host[0] = out_host[1] = 5;
    ck_assert_int_eq(anymax_stream_create(test_main_device.device, NULL, &stream), ANYMAX_OK);
    ck_assert_int_eq(anymax_map_forward(stream, &sum, &x, &both), INVALID);
    ck_assert(out_host[0] == 5 && out_host[1] == 5);
    anymax_stream_release(stream);
}
END_TEST

/* Without classes a reduced loss is left alone, whatever the workspace holds. */
START_TEST(no_classes) {
    static const int64_t shape[2] = {3, 0}, full[2] = {3, 2}, rows = 3, one = 1;
    static int32_t target[3];
    anymax_tensor x = anymax_host_tensor(x_host, F, 2, full),
                  loss = anymax_host_tensor(out_host, F, 1, &one);
    anymax_tensor t = anymax_host_tensor(target, ANYMAX_I32, 1, &rows);
    anymax_cross_entropy mean = {.reduction = ANYMAX_REDUCE_MEAN};
    anymax_stream *stream;
    ck_assert_int_eq(anymax_stream_create(test_main_device.device, NULL, &stream), ANYMAX_OK);
    ck_assert_int_eq(anymax_cross_entropy_forward(stream, &mean, &x, &t, NULL, &loss, NULL),
                     ANYMAX_OK);
    sync_ok(stream);
    out_host[0] = 5;
    x = anymax_host_tensor(x_host, F, 2, shape);
    ck_assert_int_eq(anymax_cross_entropy_forward(stream, &mean, &x, &t, NULL, &loss, NULL),
                     ANYMAX_OK);
    sync_ok(stream);
    ck_assert(out_host[0] == 5);
    anymax_stream_release(stream);
}
END_TEST

/* ---------------------------------------------------------------- shapes by name */

START_TEST(call_shape) {
    static const int64_t shape[3] = {2, 3, 5};
    anymax_tensor x = anymax_host_tensor(NULL, F, 3, shape),
                  t = anymax_host_tensor(NULL, ANYMAX_I32, 2, shape);
    anymax_named_tensor in[2] = {{"x", &x}, {"target", &t}};
    anymax_named_value axis = {"axis", {.type = ANYMAX_VALUE_INT, .i = 1}};
    anymax_named_value mean = {"reduction", {.type = ANYMAX_VALUE_STRING, .s = "mean"}};
    uint32_t rank;
    int64_t out[ANYMAX_MAX_RANK];
    ck_assert_int_eq(anymax_call_shape("softmax", in, 1, NULL, 0, "y", &rank, out), ANYMAX_OK);
    ck_assert(rank == 3 && out[0] == 2 && out[1] == 3 && out[2] == 5);
    ck_assert_int_eq(anymax_call_shape("logsumexp", in, 1, &axis, 1, "y", &rank, out), ANYMAX_OK);
    ck_assert(rank == 2 && out[0] == 2 && out[1] == 5);
    ck_assert_int_eq(anymax_call_shape("cross_entropy", in, 2, &mean, 1, "loss", &rank, out),
                     ANYMAX_OK);
    ck_assert((rank == 1 && out[0] == 1) || rank == 0);
    ck_assert_int_eq(anymax_call_shape("cross_entropy", in, 2, &mean, 1, "lse", &rank, out),
                     ANYMAX_OK);
    ck_assert(rank == 2 && out[0] == 2 && out[1] == 3);
    ck_assert_int_eq(anymax_call_shape("softmax", in, 1, NULL, 0, "w", &rank, out),
                     ANYMAX_ERROR_NOT_FOUND);
}
END_TEST

static void add(Suite *suite) {
    TCase *refusals = tcase_create("refused"), *contracts = tcase_create("contracts");
    tcase_add_loop_test(refusals, refused_call, 0, COUNT(table));
    tcase_add_test(refusals, other_device);
    tcase_add_test(refusals, nulls);
    suite_add_tcase(suite, refusals);
    tcase_add_test(contracts, missing_upstream);
    tcase_add_loop_test(contracts, workspace, 0, COUNT(spaces));
    tcase_add_test(contracts, plan_only);
    tcase_add_test(contracts, endless);
    tcase_add_test(contracts, host_columns);
    tcase_add_test(contracts, host_halves);
    tcase_add_test(contracts, host_offset);
    tcase_add_test(contracts, output_over_shared);
    tcase_add_test(contracts, no_classes);
    tcase_add_test(contracts, call_shape);
    suite_add_tcase(suite, contracts);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "arguments", add);
}
