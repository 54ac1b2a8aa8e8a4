/* The registry: every operation by name, and the checks that all calls by name share. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../error.h"
#include "../tensor.h"
#include "op.h"

static const am_op_list *const lists[] = {&am_map_ops, &am_cross_entropy_ops, &am_contrastive_ops};
#define LISTS (sizeof lists / sizeof lists[0])

size_t anymax_op_count(void) {
    size_t count = 0;
    for (size_t i = 0; i < LISTS; i++) count += lists[i]->count;
    return count;
}

static const am_op *op_at(size_t index) {
    for (size_t i = 0; i < LISTS; i++) {
        if (index < lists[i]->count) return &lists[i]->ops[index];
        index -= lists[i]->count;
    }
    return NULL;
}

static const am_op *op_find(const char *name) {
    const am_op *op;
    for (size_t i = 0; name && (op = op_at(i)) != NULL; i++)
        if (strcmp(op->info.name, name) == 0) return op;
    return NULL;
}

const anymax_op_info *anymax_op_at(size_t index) {
    const am_op *op = op_at(index);
    return op ? &op->info : NULL;
}

const anymax_op_info *anymax_op_find(const char *name) {
    const am_op *op = op_find(name);
    return op ? &op->info : NULL;
}

/* ---------------------------------------------------------------- arguments */

const anymax_tensor *am_call_tensor(const am_call *call, const char *name) {
    for (size_t i = 0; i < call->tensor_count; i++)
        if (strcmp(call->tensors[i].name, name) == 0) return call->tensors[i].tensor;
    return NULL;
}

static const anymax_value *param(const am_call *call, const char *name) {
    for (size_t i = 0; i < call->param_count; i++)
        if (strcmp(call->params[i].name, name) == 0 &&
            call->params[i].value.type != ANYMAX_VALUE_ABSENT)
            return &call->params[i].value;
    return NULL;
}

anymax_opt am_call_float(const am_call *call, const char *name) {
    const anymax_value *v = param(call, name);
    anymax_opt none = {0};
    return v ? anymax_some(v->type == ANYMAX_VALUE_INT ? (float)v->i : (float)v->f) : none;
}

anymax_opt_int am_call_int(const am_call *call, const char *name) {
    const anymax_value *v = param(call, name);
    anymax_opt_int none = {0};
    return v ? anymax_some_int(v->i) : none;
}

bool am_call_bool_or(const am_call *call, const char *name, bool standard) {
    const anymax_value *v = param(call, name);
    return v ? v->b : standard;
}

bool am_call_bool(const am_call *call, const char *name) {
    return am_call_bool_or(call, name, false);
}

const char *am_call_string(const am_call *call, const char *name) {
    const anymax_value *v = param(call, name);
    return v ? v->s : NULL;
}

/* ---------------------------------------------------------------- checks */

static const anymax_op_tensor *tensor_named(const anymax_op_tensor *list, const char *name) {
    for (int i = 0; i < ANYMAX_OP_MAX_TENSORS && list[i].name; i++)
        if (strcmp(list[i].name, name) == 0) return &list[i];
    return NULL;
}

static const char *type_name(anymax_value_type type) {
    static const char *const names[] = {"absent",   "a bool",   "an integer",
                                        "a number", "a string", "a list"};
    return (unsigned)type < sizeof names / sizeof names[0] ? names[type] : "of an unknown type";
}

static anymax_status check_params(const anymax_op_info *info, const am_call *call) {
    for (size_t i = 0; i < call->param_count; i++) {
        const char *name = call->params[i].name;
        const anymax_value *v = &call->params[i].value;
        anymax_value_type wants = ANYMAX_VALUE_ABSENT;
        if (!name) return am_fail(ANYMAX_ERROR_INVALID, "%s: a parameter has no name", info->name);
        for (int k = 0; k < ANYMAX_OP_MAX_TENSORS && info->params[k].name; k++)
            if (strcmp(info->params[k].name, name) == 0) wants = info->params[k].type;
        if (strcmp(name, "accumulate") == 0) wants = ANYMAX_VALUE_BOOL;
        if (wants == ANYMAX_VALUE_ABSENT)
            return am_fail(ANYMAX_ERROR_NOT_FOUND, "%s: there is no parameter %.99s", info->name,
                           name);
        for (size_t k = 0; k < i; k++)
            if (strcmp(call->params[k].name, name) == 0)
                return am_fail(ANYMAX_ERROR_INVALID, "%s: %s is given twice", info->name, name);
        if ((v->type == ANYMAX_VALUE_STRING && !v->s) ||
            (v->type == ANYMAX_VALUE_LIST && v->count && !v->list))
            return am_fail(ANYMAX_ERROR_INVALID, "%s: parameter %s points to NULL", info->name,
                           name);
        if (v->type == ANYMAX_VALUE_ABSENT || v->type == wants ||
            (v->type == ANYMAX_VALUE_INT && wants == ANYMAX_VALUE_FLOAT))
            continue;
        return am_fail(ANYMAX_ERROR_INVALID, "%s: parameter %s is %s; it must be %s", info->name,
                       name, type_name(v->type), type_name(wants));
    }
    return ANYMAX_OK;
}

static anymax_status check_tensors(const anymax_op_info *info, am_call *call) {
    for (size_t i = 0; i < call->tensor_count; i++) {
        const char *name = call->tensors[i].name;
        const anymax_op_tensor *entry;
        if (!name) return am_fail(ANYMAX_ERROR_INVALID, "%s: a tensor has no name", info->name);
        if (strncmp(name, "grad.", 5) == 0) {
            entry = tensor_named(info->inputs, name + 5);
            if (entry && !entry->differentiable)
                return am_fail(ANYMAX_ERROR_INVALID, "%s: %.99s has no gradient", info->name,
                               name + 5);
            if (entry && call->tensors[i].tensor) call->backward = true;
        } else if (strncmp(name, "up.", 3) == 0) {
            entry = tensor_named(info->outputs, name + 3);
        } else {
            entry = tensor_named(info->inputs, name);
            if (!entry) entry = tensor_named(info->outputs, name);
        }
        if (!entry)
            return am_fail(ANYMAX_ERROR_NOT_FOUND, "%s: there is no tensor %.99s", info->name,
                           name);
        for (size_t k = 0; k < i; k++)
            if (strcmp(call->tensors[k].name, name) == 0)
                return am_fail(ANYMAX_ERROR_INVALID, "%s: %s is given twice", info->name, name);
        if (call->tensors[i].tensor &&
            am_tensor_check_shape(info->name, name, call->tensors[i].tensor) != ANYMAX_OK)
            return ANYMAX_ERROR_INVALID;
    }
    for (size_t i = 0; i < call->tensor_count && !call->backward; i++)
        if (call->tensors[i].tensor && strncmp(call->tensors[i].name, "up.", 3) == 0)
            return am_fail(ANYMAX_ERROR_INVALID, "%s: %s is given, but no gradient is asked for",
                           info->name, call->tensors[i].name);
    for (int i = 0; i < ANYMAX_OP_MAX_TENSORS && info->inputs[i].name; i++)
        if (!info->inputs[i].optional && !am_call_tensor(call, info->inputs[i].name))
            return am_fail(ANYMAX_ERROR_INVALID, "%s: input %s is missing", info->name,
                           info->inputs[i].name);
    return ANYMAX_OK;
}

static anymax_status prepare(const char *name, am_call *call, const am_op **out) {
    const am_op *op = op_find(name);
    anymax_status status;
    if (!op)
        return am_fail(ANYMAX_ERROR_NOT_FOUND, "there is no operation %.99s", name ? name : "NULL");
    if ((call->tensor_count && !call->tensors) || (call->param_count && !call->params))
        return am_fail(ANYMAX_ERROR_INVALID, "%s: a list of arguments is NULL", name);
    call->op = op->info.name;
    *out = op;
    status = check_tensors(&op->info, call);
    return status == ANYMAX_OK ? check_params(&op->info, call) : status;
}

anymax_status anymax_call(anymax_stream *stream, const char *name,
                          const anymax_named_tensor *tensors, size_t tensor_count,
                          const anymax_named_value *params, size_t param_count) {
    am_call call = {.stream = stream,
                    .tensors = tensors,
                    .tensor_count = tensor_count,
                    .params = params,
                    .param_count = param_count};
    const am_op *op;
    anymax_status status;
    if (!stream) return am_fail(ANYMAX_ERROR_INVALID, "call: stream is NULL");
    status = prepare(name, &call, &op);
    return status == ANYMAX_OK ? op->run(op, &call) : status;
}

anymax_status anymax_call_shape(const char *name, const anymax_named_tensor *tensors,
                                size_t tensor_count, const anymax_named_value *params,
                                size_t param_count, const char *output, uint32_t *rank,
                                int64_t *shape) {
    am_call call = {.tensors = tensors,
                    .tensor_count = tensor_count,
                    .params = params,
                    .param_count = param_count};
    const am_op *op;
    anymax_status status = prepare(name, &call, &op);
    if (status != ANYMAX_OK) return status;
    if (!output || !rank || !shape)
        return am_fail(ANYMAX_ERROR_INVALID, "%s: output, rank or shape is NULL", name);
    if (!tensor_named(op->info.outputs, output))
        return am_fail(ANYMAX_ERROR_NOT_FOUND, "%s: there is no output %.99s", name, output);
    return op->shape(op, &call, output, rank, shape);
}

/* ---------------------------------------------------------------- shared by operations */

float am_opt_in(am_plan *plan, const char *name, anymax_opt opt, float standard, float low,
                float high) {
    if (!opt.set) return standard;
    if (isfinite(opt.value) && opt.value >= low && opt.value <= high) return opt.value;
    if (isinf(high) && isinf(low))
        am_plan_fail(plan, am_fail(ANYMAX_ERROR_INVALID, "%s: %s is %g; it must be finite",
                                   am_plan_op(plan), name, (double)opt.value));
    else if (isinf(high))
        am_plan_fail(plan, am_fail(ANYMAX_ERROR_INVALID, "%s: %s is %g; it must be at least %g",
                                   am_plan_op(plan), name, (double)opt.value, (double)low));
    else
        am_plan_fail(plan,
                     am_fail(ANYMAX_ERROR_INVALID, "%s: %s is %g; it must lie between %g and %g",
                             am_plan_op(plan), name, (double)opt.value, (double)low, (double)high));
    return standard;
}

uint32_t am_axis_of(am_plan *plan, anymax_opt_int axis, am_value x) {
    int64_t rank = am_plan_rank(plan, x), at = axis.set ? axis.value : -1;
    if (!am_plan_ok(plan)) return 0;
    if (at < 0) at += rank;
    if (at >= 0 && at < rank) return (uint32_t)at;
    am_plan_fail(plan, am_fail(ANYMAX_ERROR_INVALID, "%s: axis %lld of a tensor of rank %lld",
                               am_plan_op(plan), (long long)(axis.set ? axis.value : -1),
                               (long long)rank));
    return 0;
}

uint32_t am_shape_without(uint32_t rank, const int64_t *shape, uint32_t axis, int64_t *out) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < rank; i++)
        if (i != axis) out[at++] = shape[i];
    return at;
}
