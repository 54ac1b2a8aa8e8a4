/* Contracts of a call: tensors that are refused, with which words, leaving outputs untouched;
 * missing gradients; shapes by name. */
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
static void too_large(trial *t) {
    tensor(t, "x")->shape[0] = tensor(t, "x")->shape[1] = (int64_t)1 << 40;
}
static void begins_late(trial *t) {
    tensor(t, "x")->buffer = NULL;
    tensor(t, "x")->data = t;
    tensor(t, "x")->offset_bytes = SIZE_MAX;
}
static void ends_late(trial *t) {
    tensor(t, "x")->buffer = NULL;
    tensor(t, "x")->data = (void *)(UINTPTR_MAX - 15);
    tensor(t, "x")->offset_bytes = 0;
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

static void scale_twice(trial *t) {
    trial_float(t, "scale", 1);
    trial_float(t, "scale", 2);
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
static void upstream_alone(trial *t) {
    snprintf(trial_find(t, "y")->name, 24, "up.y");
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
    {"more elements than numbers", INVALID, "too large", too_large, NULL, false},
    {"memory that begins nowhere", INVALID, "begins beyond", begins_late, NULL, false},
    {"memory that ends nowhere", INVALID, "ends beyond", ends_late, NULL, false},
    {"neither buffer nor data", INVALID, "x", no_memory, NULL, false},
    {"partial overlap", INVALID, "overlap", partial_overlap, NULL, false},
    {"overlap with another type", INVALID, "overlap", other_type_overlap, NULL, false},
    {"scale twice", INVALID, "twice", scale_twice, NULL, false},
    {"no x", ANYMAX_ERROR_NOT_FOUND, "z", missing_x, NULL, false},
    {"x twice", INVALID, "x", twice_x, NULL, false},
    {"noise of another shape", INVALID, "noise", noise_shape, "gumbel_softmax", false},
    {"prior of another length", INVALID, "prior", prior_shape, "logit_adjusted_softmax", false},
    {"up.y without grad.x", INVALID, "no gradient", upstream_alone, NULL, false},
    {"up.y of another shape", INVALID, "up.y", up_shape, NULL, true},
    {"grad.x of another shape", INVALID, "grad.x", grad_shape, NULL, true},
    {"gradient of noise", INVALID, "noise", grad_of_noise, "gumbel_softmax", true},
    {"floats for target", INVALID, "target", float_target, "cross_entropy", false},
    {"target of another length", INVALID, "target", short_target, "cross_entropy", false},
    {"no such tensor", ANYMAX_ERROR_NOT_FOUND, "lse_", missing_target, "cross_entropy", false},
};

static void build(trial *t, bool backward) {
    static const int64_t shape[2] = {3, 5}, rows = 3, n = 5;
    bool loss = strcmp(t->op, "cross_entropy") == 0;
    trial_input(t, "x", F, 2, shape, LAYOUT_PACKED, zeros);
    if (strcmp(t->op, "gumbel_softmax") == 0)
        trial_input(t, "noise", F, 2, shape, LAYOUT_PACKED, zeros);
    if (strcmp(t->op, "logit_adjusted_softmax") == 0)
        trial_input(t, "prior", F, 1, &n, LAYOUT_PACKED, zeros);
    if (loss) trial_input(t, "target", ANYMAX_I32, 1, &rows, LAYOUT_PACKED, zeros);
    if (backward) {
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
    build(&t, r->backward);
    t.call = spoiled;
    t.user = r;
    t.expect = r->status;
    t.expect_text = r->says;
    trial_run(&t);
    ck_assert_msg(strstr(anymax_error_message(), "\n") == NULL, "a message is one line");
    trial_end(&t);
}
END_TEST

/* ---------------------------------------------------------------- other objects */

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
    x.shape[1] = -3;
    ck_assert_int_eq(anymax_call_shape("softmax", in, 1, NULL, 0, "y", &rank, out), INVALID);
    ck_assert_str_eq(anymax_error_message(), "softmax: x has a negative dimension: (2, -3, 5)");
    x.rank = 7;
    ck_assert_int_eq(anymax_call_shape("softmax", in, 1, NULL, 0, "y", &rank, out), INVALID);
}
END_TEST

static void add(Suite *suite) {
    TCase *refusals = tcase_create("refused"), *contracts = tcase_create("contracts");
    tcase_add_loop_test(refusals, refused_call, 0, COUNT(table));
    tcase_add_test(refusals, other_device);
    tcase_add_test(refusals, nulls);
    suite_add_tcase(suite, refusals);
    tcase_add_test(contracts, missing_upstream);
    tcase_add_test(contracts, call_shape);
    suite_add_tcase(suite, contracts);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "arguments", add);
}
