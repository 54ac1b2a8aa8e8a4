/* The double-precision reference of the random tests against the golden files: neither is the
 * library's, so that agreement proves both. Needs no device. */
#include "support/golden.h"
#include "support/reference.h"
#include "support/suite.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const ops[] = {"softmax",       "log_softmax",  "logsumexp",
                                  "entmax15",      "entmax",       "gumbel_softmax",
                                  "cross_entropy", "infonce_loss", "logit_adjusted_softmax"};

static const double *values(const golden_case *c, const char *name) {
    const golden_tensor *t = golden_find(c, name);
    return t ? t->value : NULL;
}

static double number(const cJSON *params, const char *name, double otherwise) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(params, name);
    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

static reference describe(const char *op, const golden_case *c, const cJSON *params) {
    const golden_tensor *first = golden_find(c, "in.x");
    const golden_tensor *negative = golden_find(c, "in.negative");
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(params, "reduction");
    size_t n;
    reference r;
    if (first == NULL) first = golden_find(c, "in.query");
    n = (size_t)first->entry->shape[first->entry->rank - 1];
    r = reference_make(op, first->count / n, n);
    r.x = values(c, "in.x");
    r.noise = values(c, "in.noise");
    r.alpha = values(c, "in.alpha");
    r.prior = values(c, "in.prior");
    r.weight = values(c, "in.weight");
    r.target = values(c, "in.target");
    r.target_prob = values(c, "in.target_prob");
    r.query = values(c, "in.query");
    r.key = values(c, "in.key");
    r.negative = values(c, "in.negative");
    r.negatives = negative ? negative->count / n : 0;
    r.scale = number(params, "scale", r.scale);
    r.alpha_all = number(params, "alpha", r.alpha_all);
    r.tau = number(params, "tau", r.tau);
    r.temperature = number(params, "temperature", r.temperature);
    r.smoothing = number(params, "label_smoothing", 0);
    r.z_loss = number(params, "z_loss", 0);
    r.ignore_index = number(params, "ignore_index", -100);
    if (cJSON_IsString(text)) r.reduction = text->valuestring;
    r.plain_dot = cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(params, "normalize"));
    r.symmetric = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(params, "symmetric"));
    r.up_y = values(c, "up.y");
    r.up_loss = values(c, "up.loss");
    r.up_lse = values(c, "up.lse");
    return r;
}

/* Points the reference at memory for each result of the case. */
static double **place(reference *r, const char *name) {
    if (strcmp(name, "out.y") == 0) return &r->y;
    if (strcmp(name, "out.loss") == 0) return &r->loss;
    if (strcmp(name, "out.lse") == 0) return &r->lse;
    if (strcmp(name, "grad.x") == 0) return &r->grad_x;
    if (strcmp(name, "grad.alpha") == 0) return &r->grad_alpha;
    if (strcmp(name, "grad.query") == 0) return &r->grad_query;
    if (strcmp(name, "grad.key") == 0) return &r->grad_key;
    if (strcmp(name, "grad.negative") == 0) return &r->grad_negative;
    return NULL;
}

/* `bound` is relative to the largest number of the tensor: both sides are double, but either may
 * cancel (the files divide by (alpha - 1)^2 for the gradient in alpha). */
static void compare(const char *op, const golden_case *c, const golden_tensor *t, const double *got,
                    double bound) {
    double top = 1e-9;
    for (size_t i = 0; i < t->count; i++)
        if (isfinite(t->value[i])) top = fmax(top, fabs(t->value[i]));
    for (size_t i = 0; i < t->count; i++) {
        double want = t->value[i];
        bool same = isnan(want)   ? isnan(got[i])
                    : isinf(want) ? got[i] == want
                                  : fabs(got[i] - want) <= bound * top;
        ck_assert_msg(same, "%s/%s/%s[%zu]: reference %.17g, file %.17g", op, c->name, t->name, i,
                      got[i], want);
    }
}

static double bound_of(const char *op, const golden_case *c) {
    if (strncmp(op, "entmax", 6) == 0) return 1e-7;
    /* the files hold the share of smoothing, epsilon / n, to single precision there */
    if (golden_find(c, "in.target_prob")) return 1e-8;
    return 1e-11;
}

static void check_case(const char *op, const golden_case *c) {
    cJSON *params = cJSON_Parse(c->params);
    reference r = describe(op, c, params);
    for (int i = 0; i < c->count; i++) {
        double **at = place(&r, c->tensors[i].name);
        if (at != NULL) *at = calloc(c->tensors[i].count + 1, sizeof **at);
    }
    reference_forward(&r);
    if (golden_find(c, "up.y") || golden_find(c, "up.loss")) reference_backward(&r);
    for (int i = 0; i < c->count; i++) {
        const golden_tensor *t = &c->tensors[i];
        double **at = place(&r, t->name);
        if (at == NULL) continue;
        compare(op, c, t, *at, bound_of(op, c));
        free(*at);
    }
    cJSON_Delete(params);
}

START_TEST(golden) {
    io_safetensors file;
    golden_case c;
    char text[600];
    ck_assert_msg(golden_open(&file, ops[_i], text, sizeof text), "%s", text);
    for (size_t i = 0; golden_load(&file, i, &c); i++) {
        check_case(ops[_i], &c);
        golden_free(&c);
    }
    io_safetensors_close(&file);
}
END_TEST

static void add(TCase *cases) {
    tcase_add_loop_test(cases, golden, 0, COUNT(ops));
}

int main(void) {
    return suite_main("reference", add);
}
