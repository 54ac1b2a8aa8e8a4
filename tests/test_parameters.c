/* Parameters that are refused, with which words, leaving outputs untouched; names that are missing,
 * long or no text; tensors without elements. */
#include "support/cases.h"
#include "support/numbers.h"

#include <string.h>

#define F ANYMAX_F32
static const double zeros[64];

#define FLOAT(x) \
    { .type = ANYMAX_VALUE_FLOAT, .f = (double)(x) }
#define INT(x) \
    { .type = ANYMAX_VALUE_INT, .i = (x) }
#define TEXT(x) \
    { .type = ANYMAX_VALUE_STRING, .s = (x) }

static const struct {
    const char *op, *name;
    anymax_value value;
    const char *says;
} params[] = {
    {"softmax", "axis", INT(2), "axis 2 of a tensor of rank 2"},
    {"softmax", "axis", INT(-3), "axis -3 of"},
    {"softmax", "axis", INT(INT64_MAX), "axis 9223372036854775807 of"},
    {"softmax", "axis", INT(INT64_MIN), "axis -9223372036854775808 of"},
    {"softmax", "axis", FLOAT(1), "axis is a number; it must be an integer"},
    {"softmax", "scale", FLOAT(NAN), "scale"},
    {"softmax", "scale", FLOAT(INFINITY), "scale is inf; it must be finite"},
    {"softmax", "scale", FLOAT(-INFINITY), "scale is -inf"},
    {"softmax", "scale", FLOAT(1e300), "scale"}, /* not a float */
    {"softmax", "scale", TEXT("much"), "scale is a string; it must be a number"},
    {"softmax", "scale", {.type = ANYMAX_VALUE_BOOL}, "scale is a bool"},
    {"softmax", "scale", {.type = ANYMAX_VALUE_LIST, .list = zeros, .count = 1}, "is a list"},
    {"softmax", "scale", {.type = ANYMAX_VALUE_LIST, .count = 1}, "points to NULL"},
    {"softmax", "scale", {.type = (anymax_value_type)99}, "unknown type"},
    {"softmax", "scale", {.type = (anymax_value_type)-1}, "unknown type"},
    {"softmax", "temper", FLOAT(1), "no parameter temper"},
    {"softmax", "accumulate", INT(1), "accumulate is an integer; it must be a bool"},
    {"entmax", "alpha", FLOAT(0.99), "alpha is 0.99; it must lie between 1 and 10"},
    {"entmax", "alpha", FLOAT(10.5), "alpha is 10.5"},
    {"entmax", "alpha", INT(11), "alpha is 11"},
    {"entmax", "alpha", FLOAT(NAN), "alpha"},
    {"gumbel_softmax", "temperature", FLOAT(0), "temperature is 0; it must be positive"},
    {"gumbel_softmax", "temperature", FLOAT(-1), "temperature is -1"},
    {"gumbel_softmax", "temperature", FLOAT(NAN), "temperature"},
    {"gumbel_softmax", "temperature", FLOAT(1e-300), "temperature is 0"},
    {"logit_adjusted_softmax", "tau", FLOAT(-0.5), "tau is -0.5; it must be at least 0"},
    {"logit_adjusted_softmax", "tau", FLOAT(INFINITY), "tau is inf"},
    {"cross_entropy", "temperature", FLOAT(0), "temperature is 0"},
    {"cross_entropy", "temperature", FLOAT(INFINITY), "temperature is inf"},
    {"cross_entropy", "label_smoothing", FLOAT(1), "label_smoothing is 1"},
    {"cross_entropy", "label_smoothing", FLOAT(0.9999999999), "label_smoothing is 1"},
    {"cross_entropy", "label_smoothing", FLOAT(-0.1), "label_smoothing is -0.1"},
    {"cross_entropy", "label_smoothing", FLOAT(NAN), "label_smoothing"},
    {"cross_entropy", "z_loss", FLOAT(-0.1), "z_loss is -0.1"},
    {"cross_entropy", "z_loss", FLOAT(INFINITY), "z_loss is inf"},
    {"cross_entropy", "ignore_index", INT(3000000000), "ignore_index is 3000000000"},
    {"cross_entropy", "ignore_index", INT(INT64_MIN), "ignore_index is -9223372036854775808"},
    {"cross_entropy", "ignore_index", FLOAT(1), "ignore_index is a number"},
    {"cross_entropy", "reduction", TEXT("average"), "reduction is \"average\"; it must be none"},
    {"cross_entropy", "reduction", TEXT(""), "reduction is \"\""},
    {"cross_entropy", "reduction", TEXT(NULL), "reduction points to NULL"},
    {"cross_entropy", "reduction", INT(1), "reduction is an integer; it must be a string"},
    {"infonce_loss", "temperature", FLOAT(0), "temperature is 0"},
    {"infonce_loss", "temperature", FLOAT(NAN), "temperature"},
    {"infonce_loss", "symmetric", INT(1), "symmetric is an integer; it must be a bool"},
    {"infonce_loss", "axis", INT(1), "no parameter axis"},
};

static void build(trial *t, bool backward) {
    static const int64_t shape[2] = {3, 5}, rows = 3, n = 5;
    bool contrastive = strcmp(t->op, "infonce_loss") == 0;
    bool loss = contrastive || strcmp(t->op, "cross_entropy") == 0;
    trial_input(t, contrastive ? "query" : "x", F, 2, shape, LAYOUT_PACKED, zeros);
    if (contrastive) trial_input(t, "key", F, 2, shape, LAYOUT_PACKED, zeros);
    if (strcmp(t->op, "gumbel_softmax") == 0)
        trial_input(t, "noise", F, 2, shape, LAYOUT_PACKED, zeros);
    if (strcmp(t->op, "logit_adjusted_softmax") == 0)
        trial_input(t, "prior", F, 1, &n, LAYOUT_PACKED, zeros);
    if (loss && !contrastive) trial_input(t, "target", ANYMAX_I32, 1, &rows, LAYOUT_PACKED, zeros);
    if (backward) {
        trial_input(t, "up.y", F, 2, shape, LAYOUT_PACKED, zeros);
        trial_output(t, "grad.x", F, 2, shape, LAYOUT_PACKED, NULL);
    } else if (loss) {
        trial_output(t, "loss", F, 1, &rows, LAYOUT_PACKED, NULL);
    } else {
        trial_output(t, "y", F, 2, shape, LAYOUT_PACKED, NULL);
    }
}

START_TEST(refused_param) {
    trial t = trial_make(&test_main_device, params[_i].op, "refused: %s", params[_i].says);
    bool known = strncmp(params[_i].says, "no parameter", 12) != 0;
    build(&t, false);
    t.params[0].name = params[_i].name;
    t.params[0].value = params[_i].value;
    t.param_count = 1;
    t.expect = known ? ANYMAX_ERROR_INVALID : ANYMAX_ERROR_NOT_FOUND;
    t.expect_text = params[_i].says;
    trial_run(&t);
    trial_end(&t);
}
END_TEST

/* Backward refuses what forward does. */
START_TEST(refused_param_backward) {
    trial t = trial_make(&test_main_device, "entmax", "refused: alpha, backward");
    build(&t, true);
    trial_float(&t, "alpha", 0.99);
    t.expect = ANYMAX_ERROR_INVALID;
    t.expect_text = "alpha is 0.99";
    trial_run(&t);
    trial_end(&t);
}
END_TEST

/* ---------------------------------------------------------------- names */

static void says_a_line(anymax_status status, anymax_status want, const char *text) {
    const char *message = anymax_error_message();
    ck_assert_int_eq(status, want);
    ck_assert_msg(strstr(message, text) && strlen(message) < 300, "%s", message);
    for (; *message; message++)
        ck_assert_msg((unsigned char)*message >= ' ', "byte %d in a message", *message);
}

/* Names may be missing, long or no text: the message stays one line that can be read. */
START_TEST(hostile_names) {
    static const int64_t shape[1] = {4};
    static char name[3000];
    float data[4] = {0};
    anymax_tensor x = anymax_host_tensor(data, F, 1, shape);
    anymax_named_tensor in[2] = {{"x", &x}, {name, &x}};
    anymax_named_value scale = {name, FLOAT(1)}, none = {NULL, FLOAT(1)};
    anymax_stream *s = test_main_device.stream;
    uint32_t rank;
    int64_t out[ANYMAX_MAX_RANK];
    memset(name, '%', sizeof name - 1);
    memcpy(name, "\n\033[31m", 6);
    says_a_line(anymax_call(s, name, in, 1, NULL, 0), ANYMAX_ERROR_NOT_FOUND, "no operation");
    says_a_line(anymax_call(s, "softmax", in, 2, NULL, 0), ANYMAX_ERROR_NOT_FOUND, "no tensor");
    says_a_line(anymax_call(s, "softmax", in, 1, &scale, 1), ANYMAX_ERROR_NOT_FOUND,
                "no parameter");
    says_a_line(anymax_call_shape("softmax", in, 1, NULL, 0, name, &rank, out),
                ANYMAX_ERROR_NOT_FOUND, "no output");
    says_a_line(anymax_call(s, "softmax", in, 1, &none, 1), ANYMAX_ERROR_INVALID, "has no name");
    in[1].name = NULL;
    says_a_line(anymax_call(s, "softmax", in, 2, NULL, 0), ANYMAX_ERROR_INVALID, "has no name");
    in[1].name = "grad.";
    says_a_line(anymax_call(s, "softmax", in, 2, NULL, 0), ANYMAX_ERROR_NOT_FOUND, "grad.");
}
END_TEST

/* ---------------------------------------------------------------- no elements */

static void strides(anymax_tensor *t, int64_t a, int64_t b) {
    t->strided = true;
    t->stride[0] = a;
    t->stride[1] = b;
}

/* Without elements no stride is too large and no memory is needed; numbers of rows still add up. */
START_TEST(no_elements) {
    static const int64_t none[2] = {0, (int64_t)1 << 62}, many[2] = {(int64_t)1 << 62, 0};
    anymax_tensor x = anymax_host_tensor(NULL, F, 2, none), y = x;
    anymax_tensor q = anymax_host_tensor(NULL, F, 2, many),
                  rows = anymax_host_tensor(NULL, F, 1, many);
    anymax_map softmax = {.kind = ANYMAX_SOFTMAX};
    anymax_infonce nce = {0};
    anymax_stream *s = test_main_device.stream;
    strides(&y, (int64_t)1 << 62, 3);
    ck_assert_int_eq(anymax_map_forward(s, &softmax, &x, &y), ANYMAX_OK);
    ck_assert_int_eq(anymax_stream_sync(s), ANYMAX_OK);
    rows.data = &nce;
    says_a_line(anymax_infonce_forward(s, &nce, &q, &q, &q, &rows, NULL), ANYMAX_ERROR_INVALID,
                "infonce_loss: ");
}
END_TEST

static void add(Suite *suite) {
    TCase *refused = tcase_create("refused");
    tcase_add_loop_test(refused, refused_param, 0, COUNT(params));
    tcase_add_test(refused, refused_param_backward);
    tcase_add_test(refused, hostile_names);
    tcase_add_test(refused, no_elements);
    suite_add_tcase(suite, refused);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "parameters", add);
}
