/* Maps: checks, plans and registry entries. A new map is one entry of `ops`, at the end. */
#include <math.h>
#include <string.h>

#include <anymax/map.h>

#include "../error.h"
#include "op.h"

#define FLOATS (1u << ANYMAX_CLASS_FLOAT)

/* What the planner needs to know of a map. */
typedef struct map_traits {
    int family;      /* its row programs */
    bool row_output; /* one number a row */
    bool has_alpha;  /* a parameter alpha, per call or per row */
} map_traits;

/* The registry entry of a kind; NULL if there is none. */
static const am_op *entry_of(anymax_map_kind kind);

static const map_traits *traits_of(const am_op *op) {
    return op->data;
}

/* ---------------------------------------------------------------- plan */

/* -tau log(prior), as a tensor that broadcasts against x. */
static am_value log_prior(am_plan *plan, const anymax_map *map, am_value x, uint32_t axis) {
    am_value prior = am_plan_input(plan, "prior", map->prior, FLOATS), made;
    float tau = am_opt_in(plan, "tau", map->tau, 1.0f, 0.0f, INFINITY);
    int64_t n;
    am_row_step step;
    if (prior < 0 || !am_plan_ok(plan)) return AM_NO_VALUE;
    n = am_plan_shape(plan, x)[axis];
    if (am_plan_rank(plan, prior) != 1 || am_plan_shape(plan, prior)[0] != n) {
        am_plan_fail(plan, am_fail(ANYMAX_ERROR_INVALID,
                                   "map: prior needs the shape (%lld,), one for each class",
                                   (long long)n));
        return AM_NO_VALUE;
    }
    made = am_plan_scratch(plan, 1, &n);
    step = am_plan_row_step(AM_FAMILY(log_prior), prior, 0);
    step.value[0] = prior;
    step.value[1] = made;
    step.param[0] = tau;
    am_plan_row_add(plan, &step);
    return am_plan_spread(plan, made, x, axis);
}

/* The prior takes whichever of the two additive slots is free. */
static void add_prior(am_plan *plan, const anymax_map *map, am_value x, uint32_t axis,
                      am_row_step *step) {
    int slot = step->value[AM_SLOT_BIAS] < 0 ? AM_SLOT_BIAS : AM_SLOT_NOISE;
    if (!map->prior) return;
    if (step->value[slot] >= 0)
        am_plan_fail(plan, am_fail(ANYMAX_ERROR_UNSUPPORTED,
                                   "%s: bias, noise and prior at once; add the prior to the bias",
                                   am_plan_op(plan)));
    step->value[slot] = log_prior(plan, map, x, axis);
}

static void check_alpha(am_plan *plan, const anymax_map *map, const map_traits *traits) {
    if (traits->has_alpha || (!map->alpha.set && !map->row_alpha)) return;
    am_plan_fail(plan, am_fail(ANYMAX_ERROR_INVALID, "%s: alpha is given, but this map has none",
                               am_plan_op(plan)));
}

/* The threshold search of entmax takes fewer sweeps for a small alpha; 0: as many as any alpha
 * needs (docs/numerics.md has the counts). */
static int32_t sweeps(float alpha) {
    return alpha <= 1.5f ? 12 : alpha <= 2.0f ? 20 : 0;
}

/* The one step of a map, y given or virtual. */
static am_row_step map_step(am_plan *plan, const anymax_map *map, am_value x, am_value y,
                            uint32_t axis) {
    const map_traits *traits = traits_of(entry_of(map->kind));
    am_row_step step = am_plan_row_step(traits->family, x, axis);
    step.value[0] = x;
    step.value[1] = y;
    step.value[AM_SLOT_BIAS] = am_plan_input(plan, "bias", map->bias, FLOATS);
    step.value[AM_SLOT_NOISE] = am_plan_input(plan, "noise", map->noise, FLOATS);
    add_prior(plan, map, x, axis, &step);
    step.value[AM_SLOT_SCALE] = am_plan_input(plan, "scale", map->row_scale, FLOATS);
    step.param[0] = am_opt_in(plan, "scale", map->scale, 1.0f, -INFINITY, INFINITY);
    check_alpha(plan, map, traits);
    if (traits->has_alpha) {
        step.value[4] = am_plan_input(plan, "alpha", map->row_alpha, FLOATS);
        step.param[1] = am_opt_in(plan, "alpha", map->alpha, 1.5f, 1.0f, 10.0f);
        step.iterations = sweeps(step.value[4] < 0 ? step.param[1] : 10.0f);
    }
    return step;
}

static am_plan *begin(anymax_stream *stream, const anymax_map *map) {
    am_plan *plan = am_plan_begin(stream, entry_of(map->kind)->info.name);
    am_plan_in_place(plan); /* one step writes the result, and reads each row before it does */
    return plan;
}

static anymax_status needs(anymax_stream *stream, const anymax_map *map) {
    if (!stream) return am_fail(ANYMAX_ERROR_INVALID, "map: stream is NULL");
    if (!map) return am_fail(ANYMAX_ERROR_INVALID, "map: map is NULL");
    if (!entry_of(map->kind))
        return am_fail(ANYMAX_ERROR_INVALID, "map: kind %d does not exist", (int)map->kind);
    return ANYMAX_OK;
}

static am_value needed(am_plan *plan, const char *name, const anymax_tensor *tensor, bool output) {
    if (!tensor)
        am_plan_fail(plan,
                     am_fail(ANYMAX_ERROR_INVALID, "%s: %s is missing", am_plan_op(plan), name));
    return output ? am_plan_output(plan, name, tensor) : am_plan_input(plan, name, tensor, FLOATS);
}

anymax_status anymax_map_forward(anymax_stream *stream, const anymax_map *map,
                                 const anymax_tensor *x, const anymax_tensor *y) {
    am_plan *plan;
    am_value vx, vy;
    uint32_t axis;
    am_row_step step;
    if (needs(stream, map) != ANYMAX_OK) return ANYMAX_ERROR_INVALID;
    plan = begin(stream, map);
    vx = needed(plan, "x", x, false);
    vy = needed(plan, "y", y, true);
    axis = am_axis_of(plan, map->axis, vx);
    am_plan_rows_of(plan, vx);
    step = map_step(plan, map, vx, vy, axis);
    am_plan_row_add(plan, &step);
    return am_plan_forward(plan);
}

anymax_status anymax_map_backward(anymax_stream *stream, const anymax_map *map,
                                  const anymax_tensor *x, const anymax_tensor *y,
                                  const anymax_tensor *up_y, const anymax_map_grads *grads) {
    static const anymax_map_grads none;
    am_plan *plan;
    am_value vx, vy;
    uint32_t axis;
    am_row_step step;
    int64_t shape[ANYMAX_MAX_RANK];
    if (needs(stream, map) != ANYMAX_OK) return ANYMAX_ERROR_INVALID;
    if (!grads) grads = &none;
    plan = begin(stream, map);
    vx = needed(plan, "x", x, false);
    axis = am_axis_of(plan, map->axis, vx);
    am_plan_rows_of(plan, vx);
    if (y) {
        vy = am_plan_input(plan, "y", y, FLOATS);
        am_plan_have(plan, vy);
    } else if (traits_of(entry_of(map->kind))->row_output) {
        uint32_t rank =
            am_shape_without(am_plan_rank(plan, vx), am_plan_shape(plan, vx), axis, shape);
        vy = am_plan_virtual(plan, "y", rank, shape);
    } else {
        vy = am_plan_virtual(plan, "y", am_plan_rank(plan, vx), am_plan_shape(plan, vx));
    }
    step = map_step(plan, map, vx, vy, axis);
    am_plan_row_add(plan, &step);
    am_plan_upstream(plan, vy, "up.y", up_y);
    if (grads->x) am_plan_gradient(plan, vx, "grad.x", grads->x, grads->accumulate);
    if (grads->alpha)
        am_plan_gradient(plan, step.value[4], "grad.alpha", grads->alpha, grads->accumulate);
    return am_plan_backward(plan);
}

/* ---------------------------------------------------------------- registry */

static anymax_status run_map(const am_op *op, const am_call *call, const anymax_map *map) {
    anymax_map_grads grads = {0};
    (void)op;
    if (!call->backward)
        return anymax_map_forward(call->stream, map, am_call_tensor(call, "x"),
                                  am_call_tensor(call, "y"));
    grads.x = am_call_tensor(call, "grad.x");
    grads.alpha = am_call_tensor(call, "grad.alpha");
    grads.accumulate = am_call_bool(call, "accumulate");
    return anymax_map_backward(call->stream, map, am_call_tensor(call, "x"),
                               am_call_tensor(call, "y"), am_call_tensor(call, "up.y"), &grads);
}

static anymax_map read_map(const am_op *op, const am_call *call) {
    anymax_map map = {.kind = (anymax_map_kind)op->detail};
    map.axis = am_call_int(call, "axis");
    map.scale = am_call_float(call, "scale");
    map.row_scale = am_call_tensor(call, "scale");
    map.bias = am_call_tensor(call, "bias");
    map.noise = am_call_tensor(call, "noise");
    map.alpha = am_call_float(call, "alpha");
    map.row_alpha = am_call_tensor(call, "alpha");
    return map;
}

static anymax_status call_map(const am_op *op, const am_call *call) {
    anymax_map map = read_map(op, call);
    return run_map(op, call, &map);
}

static anymax_status call_gumbel(const am_op *op, const am_call *call) {
    anymax_opt t = am_call_float(call, "temperature");
    anymax_map map;
    if (t.set && !(t.value > 0.0f && t.value <= 3.0e38f))
        return am_fail(ANYMAX_ERROR_INVALID,
                       "gumbel_softmax: temperature is %g; it must be positive", (double)t.value);
    map = anymax_gumbel_softmax(am_call_tensor(call, "noise"), t.set ? t.value : 1.0f);
    map.axis = am_call_int(call, "axis");
    return run_map(op, call, &map);
}

static anymax_status call_logit_adjusted(const am_op *op, const am_call *call) {
    anymax_opt tau = am_call_float(call, "tau");
    anymax_map map =
        anymax_logit_adjusted_softmax(am_call_tensor(call, "prior"), tau.set ? tau.value : 1.0f);
    map.axis = am_call_int(call, "axis");
    return run_map(op, call, &map);
}

static anymax_status map_shape(const am_op *op, const am_call *call, const char *output,
                               uint32_t *rank, int64_t *shape) {
    const anymax_tensor *x = am_call_tensor(call, "x");
    anymax_opt_int axis = am_call_int(call, "axis");
    int64_t at = axis.set ? axis.value : -1;
    (void)output;
    if (at < 0) at += x->rank;
    if (at < 0 || at >= x->rank)
        return am_fail(ANYMAX_ERROR_INVALID, "%s: axis %lld of a tensor of rank %u", call->op,
                       (long long)(axis.set ? axis.value : -1), x->rank);
    *rank = x->rank;
    memcpy(shape, x->shape, x->rank * sizeof *shape);
    if (traits_of(op)->row_output) *rank = am_shape_without(x->rank, x->shape, (uint32_t)at, shape);
    return ANYMAX_OK;
}

#define X_INPUT \
    { "x", "(..., n)", ANYMAX_CLASS_FLOAT, false, true }
#define SCALE_INPUT \
    { "scale", "(...)", ANYMAX_CLASS_FLOAT, true, false }
#define BIAS_INPUT \
    { "bias", "(..., n)", ANYMAX_CLASS_FLOAT, true, false }
#define NOISE_INPUT \
    { "noise", "(..., n)", ANYMAX_CLASS_FLOAT, true, false }
#define Y_OUTPUT \
    { "y", "(..., n)", ANYMAX_CLASS_FLOAT, false, false }
#define SCALE_PARAM \
    { "scale", ANYMAX_VALUE_FLOAT, "1.0", "any finite number", "scale" }
#define AXIS_PARAM \
    { "axis", ANYMAX_VALUE_INT, "-1", "an axis of x", NULL }

/* clang-format off: an entry is read as a table */
static const am_op ops[] = {
    {{"softmax", "map", "Softmax with an inverse temperature.",
      "y_i = exp(scale x_i) / sum_j exp(scale x_j)",
      "Milakov and Gimelshein, 2018, arXiv 1805.02867",
      {X_INPUT, SCALE_INPUT, BIAS_INPUT, NOISE_INPUT}, {Y_OUTPUT}, {SCALE_PARAM, AXIS_PARAM}, false},
     ANYMAX_SOFTMAX, &(const map_traits){AM_FAMILY(softmax), false, false}, call_map, map_shape},
    {{"log_softmax", "map", "Logarithm of softmax.", "y_i = scale x_i - log sum_j exp(scale x_j)",
      "textbook",
      {X_INPUT, SCALE_INPUT, BIAS_INPUT, NOISE_INPUT}, {Y_OUTPUT}, {SCALE_PARAM, AXIS_PARAM}, false},
     ANYMAX_LOG_SOFTMAX, &(const map_traits){AM_FAMILY(log_softmax), false, false}, call_map, map_shape},
    {{"logsumexp", "map", "Log-sum-exp of each row.", "y = log sum_j exp(scale x_j)", "textbook",
      {X_INPUT, SCALE_INPUT, BIAS_INPUT, NOISE_INPUT},
      {{"y", "(...)", ANYMAX_CLASS_FLOAT, false, false}}, {SCALE_PARAM, AXIS_PARAM}, false},
     ANYMAX_LOGSUMEXP, &(const map_traits){AM_FAMILY(logsumexp), true, false}, call_map, map_shape},
    {{"entmax15", "map", "1.5-entmax, exactly.", "y_i = max(x_i/2 - tau, 0)^2 with sum y = 1",
      "Peters, Niculae and Martins, 2019, arXiv 1905.05702",
      {X_INPUT, SCALE_INPUT, BIAS_INPUT, NOISE_INPUT}, {Y_OUTPUT}, {SCALE_PARAM, AXIS_PARAM}, false},
     ANYMAX_ENTMAX15, &(const map_traits){AM_FAMILY(entmax15), false, false}, call_map, map_shape},
    {{"entmax", "map", "Alpha-entmax with a general, possibly per-row alpha.",
      "y_i = max((alpha-1) x_i - tau, 0)^(1/(alpha-1)) with sum y = 1",
      "Peters et al., 2019, arXiv 1905.05702; Correia et al., 2019, arXiv 1909.00015",
      {X_INPUT, {"alpha", "(...)", ANYMAX_CLASS_FLOAT, true, true}, SCALE_INPUT, BIAS_INPUT, NOISE_INPUT},
      {Y_OUTPUT},
      {{"alpha", ANYMAX_VALUE_FLOAT, "1.5", "1 to 10", "alpha"}, SCALE_PARAM, AXIS_PARAM}, false},
     ANYMAX_ENTMAX, &(const map_traits){AM_FAMILY(entmax), false, true}, call_map, map_shape},
    {{"gumbel_softmax", "map", "Gumbel-softmax sample (soft).", "y = softmax((x + noise) / temperature)",
      "Jang et al., 2017, arXiv 1611.01144",
      {X_INPUT, {"noise", "(..., n)", ANYMAX_CLASS_FLOAT, false, false}}, {Y_OUTPUT},
      {{"temperature", ANYMAX_VALUE_FLOAT, "1.0", "> 0", NULL}, AXIS_PARAM}, false},
     ANYMAX_SOFTMAX, &(const map_traits){AM_FAMILY(softmax), false, false}, call_gumbel, map_shape},
    {{"logit_adjusted_softmax", "map", "Softmax after a post-hoc logit adjustment by the class prior.",
      "y = softmax(x - tau log(prior))", "Menon et al., 2021, arXiv 2007.07314",
      {X_INPUT, {"prior", "(n,)", ANYMAX_CLASS_FLOAT, false, false}}, {Y_OUTPUT},
      {{"tau", ANYMAX_VALUE_FLOAT, "1.0", ">= 0", NULL}, AXIS_PARAM}, false},
     ANYMAX_SOFTMAX, &(const map_traits){AM_FAMILY(softmax), false, false}, call_logit_adjusted, map_shape},
};
/* clang-format on */

static const am_op *entry_of(anymax_map_kind kind) {
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (ops[i].detail == (int)kind) return &ops[i];
    return NULL;
}

const am_op_list am_map_ops = {ops, sizeof ops / sizeof ops[0]};
