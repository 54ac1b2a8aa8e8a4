/* Contrastive losses: products and row programs in one plan, whose backward is derived. */
#include <math.h>
#include <string.h>

#include <anymax/loss.h>

#include "../error.h"
#include "op.h"

#define FLOATS (1u << ANYMAX_CLASS_FLOAT)

typedef struct arguments {
    const anymax_tensor *query, *key, *negative, *loss, *lse, *up_loss, *up_lse;
    const anymax_infonce_grads *grads; /* NULL: forward */
} arguments;

/* A matrix (rows, dim) whose rows have length 1; the matrix itself where they need not. */
static am_value units(am_plan *plan, am_value v, bool plain) {
    am_row_step step;
    if (plain || v < 0 || !am_plan_ok(plan)) return v;
    step = am_plan_row_step(AM_FAMILY(unit), v, 1);
    step.value[0] = v;
    step.value[1] = am_plan_scratch(plan, 2, am_plan_shape(plan, v));
    am_plan_row_add(plan, &step);
    return step.value[1];
}

/* Cross-entropy of each row of s (along `axis`), whose target is the row's own number. */
static void own_target(am_plan *plan, am_value s, uint32_t axis, float scale, am_value loss,
                       am_value lse) {
    am_row_step step = am_plan_row_step(AM_FAMILY(cross_entropy), s, axis);
    step.value[0] = s;
    step.value[4] = loss;
    step.value[5] = lse;
    step.param[0] = scale;
    step.iparam[0] = -1; /* no row is ignored */
    am_plan_row_add(plan, &step);
}

static void add_scaled(am_plan *plan, am_value x, float factor, am_value y, bool second) {
    am_row_step step = am_plan_row_step(AM_FAMILY(scale), x, 0);
    step.value[0] = x;
    step.value[1] = y;
    step.param[0] = factor;
    if (second) step.accumulate = 1u << 1;
    am_plan_row_add(plan, &step);
}

static am_value matrix(am_plan *plan, const char *name, const anymax_tensor *tensor, bool needed,
                       int64_t dim) {
    am_value v = am_plan_input(plan, name, tensor, FLOATS);
    if (!am_plan_ok(plan) || (!tensor && !needed)) return AM_NO_VALUE;
    if (!tensor)
        am_plan_fail(plan,
                     am_fail(ANYMAX_ERROR_INVALID, "%s: %s is missing", am_plan_op(plan), name));
    else if (am_plan_rank(plan, v) != 2)
        am_plan_fail(plan, am_fail(ANYMAX_ERROR_INVALID,
                                   "%s: %s has rank %u; it must be a matrix (rows, dim)",
                                   am_plan_op(plan), name, am_plan_rank(plan, v)));
    else if (dim >= 0 && am_plan_shape(plan, v)[1] != dim)
        am_plan_fail(plan, am_fail(ANYMAX_ERROR_INVALID,
                                   "%s: %s has vectors of length %lld, query of length %lld",
                                   am_plan_op(plan), name, (long long)am_plan_shape(plan, v)[1],
                                   (long long)dim));
    return v;
}

static anymax_status run(anymax_stream *stream, const anymax_infonce *d, const arguments *a) {
    am_plan *plan = am_plan_begin(stream, "infonce_loss");
    float scale = 1.0f / am_opt_in(plan, "temperature", d->temperature, 0.1f, 1e-30f, INFINITY);
    am_value query = matrix(plan, "query", a->query, true, -1);
    int64_t dim = am_plan_shape(plan, query)[1], batch = am_plan_shape(plan, query)[0];
    am_value key = matrix(plan, "key", a->key, true, dim);
    am_value negative = matrix(plan, "negative", a->negative, false, dim);
    am_value q, k, n, s, square, loss, lse, rows_loss;
    int64_t size[2] = {batch, batch};
    am_plan_rows_of(plan, query);
    if (am_plan_ok(plan) && am_plan_shape(plan, key)[0] != batch)
        am_plan_fail(plan, am_fail(ANYMAX_ERROR_INVALID,
                                   "infonce_loss: there are %lld queries and %lld keys",
                                   (long long)batch, (long long)am_plan_shape(plan, key)[0]));
    if (a->grads) {
        loss = am_plan_virtual(plan, "loss", 1, &batch);
        lse = am_plan_virtual(plan, "lse", 1, &batch);
    } else {
        if (!a->loss)
            am_plan_fail(plan, am_fail(ANYMAX_ERROR_INVALID, "infonce_loss: loss is missing"));
        loss = am_plan_output(plan, "loss", a->loss);
        lse = am_plan_output(plan, "lse", a->lse);
    }
    if (negative >= 0 && am_plan_ok(plan)) {
        /* Vectors without elements can be more in number than any memory has room for. */
        if (am_plan_shape(plan, negative)[0] > INT64_MAX - batch)
            am_plan_fail(plan,
                         am_fail(ANYMAX_ERROR_INVALID,
                                 "infonce_loss: %lld keys and %lld negatives are too many",
                                 (long long)batch, (long long)am_plan_shape(plan, negative)[0]));
        else
            size[1] += am_plan_shape(plan, negative)[0];
    }
    q = units(plan, query, d->plain_dot);
    k = units(plan, key, d->plain_dot);
    n = units(plan, negative, d->plain_dot);
    s = am_plan_scratch(plan, 2, size);
    square = am_plan_slice(plan, s, 1, 0, batch);
    am_plan_product_add(plan, q, am_plan_transpose(plan, k, 0, 1), square, 1.0f);
    if (n >= 0)
        am_plan_product_add(plan, q, am_plan_transpose(plan, n, 0, 1),
                            am_plan_slice(plan, s, 1, batch, size[1] - batch), 1.0f);
    rows_loss = d->symmetric ? am_plan_scratch(plan, 1, &batch) : loss;
    own_target(plan, s, 1, scale, rows_loss, lse);
    if (d->symmetric) {
        am_value columns_loss = am_plan_scratch(plan, 1, &batch);
        am_value mean = am_plan_scratch(plan, 1, &batch); /* f32: a narrow loss is rounded once */
        own_target(plan, square, 0, scale, columns_loss, AM_NO_VALUE);
        add_scaled(plan, rows_loss, 0.5f, mean, false);
        add_scaled(plan, columns_loss, 0.5f, mean, true);
        add_scaled(plan, mean, 1.0f, loss, false);
    }
    if (!a->grads) return am_plan_forward(plan);
    if (a->up_loss) am_plan_upstream(plan, loss, "up.loss", a->up_loss);
    if (a->up_lse) am_plan_upstream(plan, lse, "up.lse", a->up_lse);
    if (a->grads->query)
        am_plan_gradient(plan, query, "grad.query", a->grads->query, a->grads->accumulate);
    if (a->grads->key) am_plan_gradient(plan, key, "grad.key", a->grads->key, a->grads->accumulate);
    if (a->grads->negative)
        am_plan_gradient(plan, negative, "grad.negative", a->grads->negative, a->grads->accumulate);
    return am_plan_backward(plan);
}

static anymax_status needs(anymax_stream *stream, const void *desc) {
    if (!stream) return am_fail(ANYMAX_ERROR_INVALID, "infonce_loss: stream is NULL");
    return desc ? ANYMAX_OK : am_fail(ANYMAX_ERROR_INVALID, "infonce_loss: desc is NULL");
}

anymax_status anymax_infonce_forward(anymax_stream *stream, const anymax_infonce *desc,
                                     const anymax_tensor *query, const anymax_tensor *key,
                                     const anymax_tensor *negative, const anymax_tensor *loss,
                                     const anymax_tensor *lse) {
    arguments a = {.query = query, .key = key, .negative = negative, .loss = loss, .lse = lse};
    if (needs(stream, desc) != ANYMAX_OK) return ANYMAX_ERROR_INVALID;
    return run(stream, desc, &a);
}

anymax_status anymax_infonce_backward(anymax_stream *stream, const anymax_infonce *desc,
                                      const anymax_tensor *query, const anymax_tensor *key,
                                      const anymax_tensor *negative, const anymax_tensor *up_loss,
                                      const anymax_tensor *up_lse,
                                      const anymax_infonce_grads *grads) {
    static const anymax_infonce_grads none;
    arguments a = {.query = query,
                   .key = key,
                   .negative = negative,
                   .up_loss = up_loss,
                   .up_lse = up_lse,
                   .grads = grads ? grads : &none};
    if (needs(stream, desc) != ANYMAX_OK) return ANYMAX_ERROR_INVALID;
    return run(stream, desc, &a);
}

/* ---------------------------------------------------------------- registry */

static anymax_status call_infonce(const am_op *op, const am_call *call) {
    anymax_infonce d = {.temperature = am_call_float(call, "temperature"),
                        .plain_dot = !am_call_bool_or(call, "normalize", true),
                        .symmetric = am_call_bool(call, "symmetric")};
    anymax_infonce_grads grads = {
        am_call_tensor(call, "grad.query"), am_call_tensor(call, "grad.key"),
        am_call_tensor(call, "grad.negative"), am_call_bool(call, "accumulate")};
    const anymax_tensor *query = am_call_tensor(call, "query"), *key = am_call_tensor(call, "key");
    const anymax_tensor *negative = am_call_tensor(call, "negative");
    (void)op;
    if (!call->backward)
        return anymax_infonce_forward(call->stream, &d, query, key, negative,
                                      am_call_tensor(call, "loss"), am_call_tensor(call, "lse"));
    return anymax_infonce_backward(call->stream, &d, query, key, negative,
                                   am_call_tensor(call, "up.loss"), am_call_tensor(call, "up.lse"),
                                   &grads);
}

static anymax_status infonce_shape(const am_op *op, const am_call *call, const char *output,
                                   uint32_t *rank, int64_t *shape) {
    const anymax_tensor *query = am_call_tensor(call, "query");
    (void)op;
    (void)output;
    if (query->rank != 2)
        return am_fail(ANYMAX_ERROR_INVALID,
                       "infonce_loss: query has rank %u; it must be a matrix (rows, dim)",
                       query->rank);
    *rank = 1;
    shape[0] = query->shape[0];
    return ANYMAX_OK;
}

/* clang-format off: an entry is read as a table */
static const am_op ops[] = {
    {{"infonce_loss", "loss", "InfoNCE: each query against its own key, the other keys and extra negatives.",
      "loss_i = log sum_j exp(S_ij) - S_ii, S = unit(query) unit(key)^T / T",
      "van den Oord et al., 2018, arXiv 1807.03748; symmetric: Radford et al., 2021",
      {{"query", "(batch, dim)", ANYMAX_CLASS_FLOAT, false, true},
       {"key", "(batch, dim)", ANYMAX_CLASS_FLOAT, false, true},
       {"negative", "(N, dim)", ANYMAX_CLASS_FLOAT, true, true}},
      {{"loss", "(batch,)", ANYMAX_CLASS_FLOAT, false, false},
       {"lse", "(batch,)", ANYMAX_CLASS_FLOAT, true, false}},
      {{"temperature", ANYMAX_VALUE_FLOAT, "0.1", "> 0", NULL},
       {"normalize", ANYMAX_VALUE_BOOL, "true", "", NULL},
       {"symmetric", ANYMAX_VALUE_BOOL, "false", "", NULL}},
      false},
     0, NULL, call_infonce, infonce_shape},
};
/* clang-format on */

const am_op_list am_contrastive_ops = {ops, sizeof ops / sizeof ops[0]};
