/* The options of a case, as parameters by name and as the descriptors of the typed functions. */
#include "cases.h"

#include <string.h>

static bool is(const op_case *c, const char *op) {
    return strcmp(c->op, op) == 0;
}

static void map_options(trial *t, const op_case *c) {
    bool scaled = is(c, "softmax") || is(c, "log_softmax") || is(c, "logsumexp");
    if (scaled && c->scale.set) trial_float(t, "scale", c->scale.value);
    if (is(c, "gumbel_softmax") && c->temperature.set)
        trial_float(t, "temperature", c->temperature.value);
    if (is(c, "entmax") && c->alpha.set && !c->row_alpha) trial_float(t, "alpha", c->alpha.value);
    if (is(c, "logit_adjusted_softmax") && c->tau.set) trial_float(t, "tau", c->tau.value);
}

static void loss_options(trial *t, const op_case *c) {
    if (c->temperature.set) trial_float(t, "temperature", c->temperature.value);
    if (is(c, "infonce_loss")) {
        if (c->plain_dot) trial_bool(t, "normalize", false);
        if (c->symmetric) trial_bool(t, "symmetric", true);
        return;
    }
    if (c->smoothing > 0) trial_float(t, "label_smoothing", c->smoothing);
    if (c->z_loss > 0) trial_float(t, "z_loss", c->z_loss);
    if (c->ignore_index.set) trial_int(t, "ignore_index", c->ignore_index.value);
    if (c->reduction) trial_string(t, "reduction", c->reduction);
}

void op_case_options(trial *t, const op_case *c, bool backward) {
    if (reference_is_map(c->op))
        map_options(t, c);
    else
        loss_options(t, c);
    if (c->axis_back > 0) trial_int(t, "axis", -1 - c->axis_back);
    if (backward && c->accumulate) trial_bool(t, "accumulate", true);
}

/* ---------------------------------------------------------------- typed */

static anymax_opt_int axis_of(const op_case *c) {
    anymax_opt_int axis = {false, 0};
    /* counted from the front here, from the end in op_case_options */
    return c->axis_back > 0 ? anymax_some_int((int64_t)c->rank - 1 - c->axis_back) : axis;
}

static anymax_status typed_map(trial *t, const op_case *c, anymax_stream *stream) {
    static const char *const kinds[] = {"softmax", "log_softmax", "logsumexp", "entmax15",
                                        "entmax"};
    const anymax_tensor *x = trial_tensor(t, "x"), *y = trial_tensor(t, "y");
    const anymax_tensor *up = trial_tensor(t, "up.y");
    anymax_map m = {ANYMAX_SOFTMAX};
    anymax_map_grads grads = {0};
    if (is(c, "gumbel_softmax"))
        m = anymax_gumbel_softmax(NULL, c->temperature.set ? c->temperature.value : 1.0f);
    if (is(c, "logit_adjusted_softmax"))
        m = anymax_logit_adjusted_softmax(NULL, c->tau.set ? c->tau.value : 1.0f);
    for (int i = 0; i < COUNT(kinds); i++)
        if (is(c, kinds[i])) m.kind = (anymax_map_kind)i;
    m.axis = axis_of(c);
    if (c->scale.set && !c->row_scale) m.scale = c->scale;
    m.row_scale = trial_tensor(t, "scale");
    m.bias = trial_tensor(t, "bias");
    m.noise = trial_tensor(t, "noise");
    m.alpha = c->alpha;
    m.row_alpha = trial_tensor(t, "alpha");
    m.prior = trial_tensor(t, "prior");
    if (up == NULL) return anymax_map_forward(stream, &m, x, y);
    grads.x = trial_tensor(t, "grad.x");
    grads.alpha = trial_tensor(t, "grad.alpha");
    grads.accumulate = c->accumulate;
    return anymax_map_backward(stream, &m, x, y, up, &grads);
}

static anymax_status typed_cross_entropy(trial *t, const op_case *c, anymax_stream *stream) {
    const anymax_tensor *x = trial_tensor(t, "x"), *target = trial_tensor(t, "target");
    const anymax_tensor *prob = trial_tensor(t, "target_prob"), *grad = trial_tensor(t, "grad.x");
    anymax_cross_entropy d = {0};
    d.axis = axis_of(c);
    d.temperature = c->temperature;
    d.label_smoothing = (float)c->smoothing;
    d.z_loss = (float)c->z_loss;
    d.ignore_index = c->ignore_index;
    d.weight = trial_tensor(t, "weight");
    if (c->reduction && strcmp(c->reduction, "sum") == 0) d.reduction = ANYMAX_REDUCE_SUM;
    if (c->reduction && strcmp(c->reduction, "mean") == 0) d.reduction = ANYMAX_REDUCE_MEAN;
    if (grad == NULL)
        return anymax_cross_entropy_forward(stream, &d, x, target, prob, trial_tensor(t, "loss"),
                                            trial_tensor(t, "lse"));
    if (c->values)
        return anymax_cross_entropy_value_and_grad(
            stream, &d, x, target, prob, trial_tensor(t, "up.loss"), trial_tensor(t, "up.lse"),
            trial_tensor(t, "loss"), trial_tensor(t, "lse"), grad, c->accumulate);
    return anymax_cross_entropy_backward(stream, &d, x, target, prob, trial_tensor(t, "up.loss"),
                                         trial_tensor(t, "up.lse"), grad, c->accumulate);
}

static anymax_status typed_infonce(trial *t, const op_case *c, anymax_stream *stream) {
    const anymax_tensor *query = trial_tensor(t, "query"), *key = trial_tensor(t, "key");
    const anymax_tensor *negative = trial_tensor(t, "negative");
    anymax_infonce d = {0};
    anymax_infonce_grads grads = {0};
    d.temperature = c->temperature;
    d.plain_dot = c->plain_dot;
    d.symmetric = c->symmetric;
    grads.query = trial_tensor(t, "grad.query");
    grads.key = trial_tensor(t, "grad.key");
    grads.negative = trial_tensor(t, "grad.negative");
    grads.accumulate = c->accumulate;
    if (grads.query == NULL && grads.key == NULL && grads.negative == NULL)
        return anymax_infonce_forward(stream, &d, query, key, negative, trial_tensor(t, "loss"),
                                      trial_tensor(t, "lse"));
    return anymax_infonce_backward(stream, &d, query, key, negative, trial_tensor(t, "up.loss"),
                                   trial_tensor(t, "up.lse"), &grads);
}

anymax_status op_case_typed(trial *t, anymax_stream *stream) {
    const op_case *c = t->user;
    if (reference_is_map(c->op)) return typed_map(t, c, stream);
    return is(c, "cross_entropy") ? typed_cross_entropy(t, c, stream) : typed_infonce(t, c, stream);
}
