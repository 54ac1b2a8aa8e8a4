/* Softmax cross-entropy: one row program, and a weighted mean where the loss is reduced. */
#include <math.h>
#include <string.h>

#include <anymax/loss.h>

#include "../error.h"
#include "op.h"

#define FLOATS (1u << ANYMAX_CLASS_FLOAT)
#define INDICES (1u << ANYMAX_CLASS_INDEX)

/* The caller's tensors of one call; those that a direction does not use are NULL. */
typedef struct arguments {
    const anymax_tensor *x, *target, *target_prob, *loss, *lse, *up_loss, *up_lse, *grad_x;
    bool accumulate, backward;
} arguments;

static void check_one_target(am_plan *plan, const arguments *a) {
    if (!a->target == !a->target_prob)
        am_plan_fail(plan,
                     am_fail(ANYMAX_ERROR_INVALID, "%s: %s of target and target_prob must be given",
                             am_plan_op(plan), a->target ? "only one" : "one"));
}

static void set_params(am_plan *plan, const anymax_cross_entropy *d, const arguments *a,
                       am_row_step *step) {
    anymax_opt smoothing = {d->label_smoothing != 0.0f, d->label_smoothing};
    anymax_opt z_loss = {d->z_loss != 0.0f, d->z_loss};
    int64_t ignore = d->ignore_index.set ? d->ignore_index.value : -100;
    float temperature = am_opt_in(plan, "temperature", d->temperature, 1.0f, 1e-30f, INFINITY);
    step->param[0] = 1.0f / temperature;
    step->param[1] = am_opt_in(plan, "label_smoothing", smoothing, 0.0f, 0.0f, 0.99999994f);
    step->param[2] = am_opt_in(plan, "z_loss", z_loss, 0.0f, 0.0f, INFINITY);
    step->param[3] = a->target_prob ? 1.0f : 0.0f;
    if (ignore < INT32_MIN + 2 || ignore > INT32_MAX)
        am_plan_fail(plan, am_fail(ANYMAX_ERROR_INVALID,
                                   "%s: ignore_index is %lld; it must lie between %d and %d",
                                   am_plan_op(plan), (long long)ignore, INT32_MIN + 2, INT32_MAX));
    step->iparam[0] = (int32_t)ignore;
}

static am_value one_number(am_plan *plan, const char *name, am_value value) {
    for (uint32_t i = 0; i < am_plan_rank(plan, value) && am_plan_ok(plan); i++)
        if (am_plan_shape(plan, value)[i] != 1)
            am_plan_fail(plan, am_fail(ANYMAX_ERROR_INVALID,
                                       "%s: %s must have one element, as the loss is reduced",
                                       am_plan_op(plan), name));
    return value;
}

static void exact_rows(am_plan *plan, const char *name, am_value value, uint32_t rank,
                       const int64_t *rows) {
    char has[160], wants[160];
    if (value < 0 || !am_plan_ok(plan) ||
        am_shape_equal(am_plan_rank(plan, value), am_plan_shape(plan, value), rank, rows))
        return;
    am_plan_fail(plan, am_fail(ANYMAX_ERROR_INVALID, "%s: %s has shape %s; %s is needed",
                               am_plan_op(plan), name,
                               am_shape_text(am_plan_rank(plan, value), am_plan_shape(plan, value),
                                             has, sizeof has),
                               am_shape_text(rank, rows, wants, sizeof wants)));
}

static am_value weight_of(am_plan *plan, const anymax_tensor *weight, am_value x, uint32_t axis) {
    am_value w = am_plan_input(plan, "weight", weight, FLOATS);
    int64_t classes;
    if (w < 0 || !am_plan_ok(plan)) return AM_NO_VALUE;
    classes = am_plan_shape(plan, x)[axis];
    if (am_plan_rank(plan, w) == 1 && am_plan_shape(plan, w)[0] == classes)
        return am_plan_spread(plan, w, x, axis);
    am_plan_fail(plan, am_fail(ANYMAX_ERROR_INVALID,
                               "%s: weight needs the shape (%lld,), one for each class",
                               am_plan_op(plan), (long long)classes));
    return AM_NO_VALUE;
}

/* How much each row counts in a mean. Forward, the loss's own program tells; backward this does,
 * which need not read x. */
static void count_rows(am_plan *plan, const am_row_step *loss, uint32_t axis, am_value counted) {
    bool probabilities = loss->param[3] > 0.0f, alike = probabilities || loss->value[11] < 0;
    am_row_step step;
    int64_t classes = am_plan_ok(plan) ? am_plan_shape(plan, loss->like)[axis] : 0;
    /* Without weights one column tells as much as all. */
    step = am_plan_row_step(
        AM_FAMILY(target_weight),
        alike ? am_plan_slice(plan, loss->like, axis, 0, classes ? 1 : 0) : loss->like, axis);
    if (!alike) step.value[0] = loss->value[11];
    step.value[1] = counted;
    step.value[3] = loss->value[3];
    step.param[0] = alike ? 1.0f : 0.0f;
    step.iparam[0] = probabilities ? -1 : loss->iparam[0];
    step.iparam[1] = probabilities || classes > INT32_MAX ? INT32_MAX : (int32_t)classes;
    am_plan_row_add(plan, &step);
}

/* The plan of both directions. */
static anymax_status run(anymax_stream *stream, const anymax_cross_entropy *d, const arguments *a) {
    am_plan *plan = am_plan_begin(stream, "cross_entropy");
    bool reduced = d->reduction != ANYMAX_REDUCE_NONE;
    int64_t rows[ANYMAX_MAX_RANK] = {0};
    const int64_t one = 1;
    uint32_t axis, rank;
    am_value x, loss, lse, per_row, counted;
    am_row_step step;
    am_plan_in_place(plan); /* x is last read by the step that writes grad_x */
    check_one_target(plan, a);
    if ((unsigned)d->reduction > ANYMAX_REDUCE_MEAN)
        am_plan_fail(plan,
                     am_fail(ANYMAX_ERROR_INVALID, "cross_entropy: reduction %d does not exist",
                             (int)d->reduction));
    if (!a->x) am_plan_fail(plan, am_fail(ANYMAX_ERROR_INVALID, "cross_entropy: x is missing"));
    x = am_plan_input(plan, "x", a->x, FLOATS);
    axis = am_axis_of(plan, d->axis, x);
    am_plan_rows_of(plan, x);
    rank = am_shape_without(am_plan_rank(plan, x), am_plan_shape(plan, x), axis, rows);
    loss = am_plan_output(plan, "loss", a->loss);
    lse = am_plan_output(plan, "lse", a->lse);
    if (reduced && a->loss) one_number(plan, "loss", loss);
    if (!a->backward && !a->loss)
        am_plan_fail(plan, am_fail(ANYMAX_ERROR_INVALID, "cross_entropy: loss is missing"));
    if (a->backward && !a->loss)
        loss = am_plan_virtual(plan, "loss", reduced ? 1 : rank, reduced ? &one : rows);
    if (a->backward && !a->lse) lse = am_plan_virtual(plan, "lse", rank, rows);
    per_row = reduced ? am_plan_scratch(plan, rank, rows) : loss;
    step = am_plan_row_step(AM_FAMILY(cross_entropy), x, axis);
    set_params(plan, d, a, &step);
    step.value[0] = x;
    step.value[10] = am_plan_input(plan, "target_prob", a->target_prob, FLOATS);
    step.value[11] = weight_of(plan, d->weight, x, axis);
    step.value[3] = am_plan_input(plan, "target", a->target, INDICES);
    exact_rows(plan, "target", step.value[3], rank, rows);
    if (am_plan_ok(plan))
        exact_rows(plan, "target_prob", step.value[10], am_plan_rank(plan, x),
                   am_plan_shape(plan, x));
    step.value[4] = per_row;
    step.value[5] = lse;
    counted = reduced ? am_plan_scratch(plan, rank, rows) : AM_NO_VALUE;
    if (!a->backward) step.value[6] = counted;
    am_plan_row_add(plan, &step);
    if (reduced) {
        am_row_step mean =
            am_plan_row_step(AM_FAMILY(weighted_mean), am_plan_flat(plan, per_row), 0);
        mean.value[0] = mean.like;
        if (a->backward) count_rows(plan, &step, axis, counted);
        mean.value[1] = am_plan_flat(plan, counted);
        mean.value[2] = loss;
        mean.param[0] = d->reduction == ANYMAX_REDUCE_MEAN ? 1.0f : 0.0f;
        am_plan_row_add(plan, &mean);
    }
    if (!a->backward) return am_plan_forward(plan);
    if (a->up_loss) am_plan_upstream(plan, loss, "up.loss", a->up_loss);
    if (a->up_lse) am_plan_upstream(plan, lse, "up.lse", a->up_lse);
    if (a->grad_x) am_plan_gradient(plan, x, "grad.x", a->grad_x, a->accumulate);
    return am_plan_backward(plan);
}

static anymax_status needs(anymax_stream *stream, const anymax_cross_entropy *desc) {
    if (!stream) return am_fail(ANYMAX_ERROR_INVALID, "cross_entropy: stream is NULL");
    return desc ? ANYMAX_OK : am_fail(ANYMAX_ERROR_INVALID, "cross_entropy: desc is NULL");
}

anymax_status anymax_cross_entropy_forward(anymax_stream *stream, const anymax_cross_entropy *desc,
                                           const anymax_tensor *x, const anymax_tensor *target,
                                           const anymax_tensor *target_prob,
                                           const anymax_tensor *loss, const anymax_tensor *lse) {
    arguments a = {.x = x, .target = target, .target_prob = target_prob, .loss = loss, .lse = lse};
    if (needs(stream, desc) != ANYMAX_OK) return ANYMAX_ERROR_INVALID;
    return run(stream, desc, &a);
}

anymax_status anymax_cross_entropy_backward(anymax_stream *stream, const anymax_cross_entropy *desc,
                                            const anymax_tensor *x, const anymax_tensor *target,
                                            const anymax_tensor *target_prob,
                                            const anymax_tensor *up_loss,
                                            const anymax_tensor *up_lse,
                                            const anymax_tensor *grad_x, bool accumulate) {
    return anymax_cross_entropy_value_and_grad(stream, desc, x, target, target_prob, up_loss,
                                               up_lse, NULL, NULL, grad_x, accumulate);
}

anymax_status anymax_cross_entropy_value_and_grad(
    anymax_stream *stream, const anymax_cross_entropy *desc, const anymax_tensor *x,
    const anymax_tensor *target, const anymax_tensor *target_prob, const anymax_tensor *up_loss,
    const anymax_tensor *up_lse, const anymax_tensor *loss, const anymax_tensor *lse,
    const anymax_tensor *grad_x, bool accumulate) {
    arguments a = {.x = x,
                   .target = target,
                   .target_prob = target_prob,
                   .loss = loss,
                   .lse = lse,
                   .up_loss = up_loss,
                   .up_lse = up_lse,
                   .grad_x = grad_x,
                   .accumulate = accumulate,
                   .backward = true};
    if (needs(stream, desc) != ANYMAX_OK) return ANYMAX_ERROR_INVALID;
    return run(stream, desc, &a);
}

/* ---------------------------------------------------------------- registry */

static anymax_status read_reduction(const am_call *call, anymax_reduction *out) {
    static const char *const names[] = {"none", "sum", "mean"};
    const char *text = am_call_string(call, "reduction");
    *out = ANYMAX_REDUCE_NONE;
    for (int i = 0; text && i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (anymax_reduction)i;
            return ANYMAX_OK;
        }
    return text ? am_fail(ANYMAX_ERROR_INVALID,
                          "%s: reduction is \"%.99s\"; it must be none, sum or mean", call->op,
                          text)
                : ANYMAX_OK;
}

static anymax_status call_cross_entropy(const am_op *op, const am_call *call) {
    anymax_opt smoothing = am_call_float(call, "label_smoothing"),
               z_loss = am_call_float(call, "z_loss");
    anymax_cross_entropy d = {.axis = am_call_int(call, "axis"),
                              .temperature = am_call_float(call, "temperature"),
                              .label_smoothing = smoothing.set ? smoothing.value : 0.0f,
                              .z_loss = z_loss.set ? z_loss.value : 0.0f,
                              .ignore_index = am_call_int(call, "ignore_index"),
                              .weight = am_call_tensor(call, "weight")};
    anymax_status status = read_reduction(call, &d.reduction);
    (void)op;
    if (status != ANYMAX_OK) return status;
    if (!call->backward)
        return anymax_cross_entropy_forward(
            call->stream, &d, am_call_tensor(call, "x"), am_call_tensor(call, "target"),
            am_call_tensor(call, "target_prob"), am_call_tensor(call, "loss"),
            am_call_tensor(call, "lse"));
    return anymax_cross_entropy_value_and_grad(
        call->stream, &d, am_call_tensor(call, "x"), am_call_tensor(call, "target"),
        am_call_tensor(call, "target_prob"), am_call_tensor(call, "up.loss"),
        am_call_tensor(call, "up.lse"), am_call_tensor(call, "loss"), am_call_tensor(call, "lse"),
        am_call_tensor(call, "grad.x"), am_call_bool(call, "accumulate"));
}

static anymax_status cross_entropy_shape(const am_op *op, const am_call *call, const char *output,
                                         uint32_t *rank, int64_t *shape) {
    const anymax_tensor *x = am_call_tensor(call, "x");
    anymax_opt_int axis = am_call_int(call, "axis");
    int64_t at = axis.set ? axis.value : -1;
    anymax_reduction reduction;
    (void)op;
    if (read_reduction(call, &reduction) != ANYMAX_OK) return ANYMAX_ERROR_INVALID;
    if (at < 0) at += x->rank;
    if (at < 0 || at >= x->rank)
        return am_fail(ANYMAX_ERROR_INVALID, "%s: axis %lld of a tensor of rank %u", call->op,
                       (long long)(axis.set ? axis.value : -1), x->rank);
    *rank = am_shape_without(x->rank, x->shape, (uint32_t)at, shape);
    if (strcmp(output, "loss") == 0 && reduction != ANYMAX_REDUCE_NONE) {
        *rank = 1;
        shape[0] = 1;
    }
    return ANYMAX_OK;
}

/* clang-format off: an entry is read as a table */
static const am_op ops[] = {
    {{"cross_entropy", "loss", "Softmax cross-entropy with index or probability targets.",
      "loss = lse - z_target, z = x / temperature, lse = log sum_j exp(z_j)",
      "Szegedy et al., 2015 (label smoothing); Chowdhery et al., 2022 (z-loss)",
      {{"x", "(..., n)", ANYMAX_CLASS_FLOAT, false, true},
       {"target", "(...)", ANYMAX_CLASS_INDEX, true, false},
       {"target_prob", "(..., n)", ANYMAX_CLASS_FLOAT, true, false},
       {"weight", "(n,)", ANYMAX_CLASS_FLOAT, true, false}},
      {{"loss", "(...) or (1,)", ANYMAX_CLASS_FLOAT, false, false},
       {"lse", "(...)", ANYMAX_CLASS_FLOAT, true, false}},
      {{"temperature", ANYMAX_VALUE_FLOAT, "1.0", "> 0", NULL},
       {"label_smoothing", ANYMAX_VALUE_FLOAT, "0.0", "0 <= e < 1", NULL},
       {"z_loss", ANYMAX_VALUE_FLOAT, "0.0", ">= 0", NULL},
       {"ignore_index", ANYMAX_VALUE_INT, "-100", "-2147483646 to 2147483647", NULL},
       {"reduction", ANYMAX_VALUE_STRING, "\"none\"", "none, sum, mean", NULL},
       {"axis", ANYMAX_VALUE_INT, "-1", "an axis of x", NULL}},
      true},
     0, NULL, call_cross_entropy, cross_entropy_shape},
};
/* clang-format on */

const am_op_list am_cross_entropy_ops = {ops, sizeof ops / sizeof ops[0]};
