/* Building a plan: the caller's tensors, scratch, views and steps. */
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "os.h"
#include "plan_internal.h"

am_plan *am_plan_create(void) {
    return am_alloc_zero(1, sizeof(am_plan));
}

void am_plan_destroy(am_plan *plan) {
    am_free(plan);
}

am_plan *am_plan_begin(anymax_stream *stream, const char *op) {
    am_plan *plan = stream->plan;
    plan->stream = stream;
    plan->op = op;
    plan->status = ANYMAX_OK;
    am_plan_fail(plan, am_device_alive(stream->device));
    plan->in_place = plan->empty = false;
    plan->bases = plan->views = plan->steps = plan->actions = 0;
    plan->scratch_bytes = 0;
    return plan;
}

void am_plan_fail(am_plan *plan, anymax_status status) {
    if (status == ANYMAX_OK || plan->status != ANYMAX_OK) return;
    plan->status = status;
    /* Checks that follow may fail too and change the thread's message. */
    snprintf(plan->message, sizeof plan->message, "%s", anymax_error_message());
}

bool am_plan_ok(const am_plan *plan) {
    return plan->status == ANYMAX_OK;
}

const char *am_plan_op(const am_plan *plan) {
    return plan->op;
}

void am_plan_in_place(am_plan *plan) {
    plan->in_place = true;
}

void am_plan_rows_of(am_plan *plan, am_value value) {
    for (uint32_t i = 0; i < am_plan_rank(plan, value); i++)
        if (am_plan_shape(plan, value)[i] == 0) plan->empty = true;
}

static bool room(am_plan *plan, int used, int capacity, const char *what) {
    if (!am_plan_ok(plan)) return false;
    if (used < capacity) return true;
    am_plan_fail(
        plan, am_fail(ANYMAX_ERROR_UNSUPPORTED, "%s: more than %d %s", plan->op, capacity, what));
    return false;
}

/* ---------------------------------------------------------------- bases and views */

static am_value new_view(am_plan *plan, const am_view *view) {
    if (!room(plan, plan->views, AM_MAX_VIEWS, "views")) return AM_NO_VALUE;
    plan->view[plan->views] = *view;
    return plan->views++;
}

int am_plan_new_base(am_plan *plan, am_base_kind kind, const char *name, uint32_t rank,
                     const int64_t *shape) {
    am_base *b;
    am_view *v;
    uint64_t packed = 1; /* scratch that is too large wraps here, and is refused by its size */
    if (!room(plan, plan->bases, AM_MAX_BASES, "tensors") ||
        !room(plan, plan->views, AM_MAX_VIEWS, "views"))
        return -1;
    b = &plan->base[plan->bases];
    memset(b, 0, offsetof(am_base, caller));
    b->kind = kind;
    b->name = name;
    b->gradient = b->copy_to = -1;
    b->full = plan->views++;
    v = &plan->view[b->full];
    v->base = plan->bases++;
    v->rank = rank;
    v->offset = 0;
    v->full = true;
    v->flat = false;
    for (uint32_t i = rank; i-- > 0;) {
        v->shape[i] = shape[i];
        v->stride[i] = (int64_t)packed;
        v->dim[i] = i;
        v->start[i] = 0;
        packed *= shape[i] ? (uint64_t)shape[i] : 1;
    }
    return v->base;
}

static am_value caller(am_plan *plan, const char *name, const anymax_tensor *tensor,
                       unsigned classes, bool output) {
    am_checked checked;
    anymax_status status;
    int base;
    if (!am_plan_ok(plan)) return AM_NO_VALUE;
    status =
        am_tensor_check(plan->stream->device, plan->op, name, tensor, classes, output, &checked);
    if (status != ANYMAX_OK) {
        am_plan_fail(plan, status);
        return AM_NO_VALUE;
    }
    base = am_plan_new_base(plan, AM_BASE_CALLER, name, checked.tensor.rank, checked.tensor.shape);
    if (base < 0) return AM_NO_VALUE;
    plan->base[base].caller = checked;
    plan->base[base].output = output;
    plan->base[base].have = !output;
    memcpy(plan->view[plan->base[base].full].stride, checked.tensor.stride,
           sizeof checked.tensor.stride);
    if (!checked.tensor.buffer && !plan->stream->device->limits.host_memory && checked.count) {
        plan->base[base].staged = true;
        plan->base[base].scratch_bytes = checked.span_bytes;
        am_plan_give_scratch(plan, base);
    }
    return plan->base[base].full;
}

am_value am_plan_input(am_plan *plan, const char *name, const anymax_tensor *tensor,
                       unsigned classes) {
    return tensor ? caller(plan, name, tensor, classes, false) : AM_NO_VALUE;
}

am_value am_plan_output(am_plan *plan, const char *name, const anymax_tensor *tensor) {
    return tensor ? caller(plan, name, tensor, 1u << 0, true) : AM_NO_VALUE;
}

void am_plan_give_scratch(am_plan *plan, int base) {
    am_base *b = &plan->base[base];
    size_t align = plan->stream->device->limits.offset_align;
    if (align < 256) align = 256;
    plan->scratch_bytes = (plan->scratch_bytes + align - 1) / align * align;
    b->scratch_offset = plan->scratch_bytes;
    if (b->scratch_bytes > SIZE_MAX / 4 - plan->scratch_bytes) {
        am_plan_fail(plan, am_fail(ANYMAX_ERROR_OUT_OF_MEMORY,
                                   "%s: the workspace would be too large", plan->op));
        return;
    }
    plan->scratch_bytes += b->scratch_bytes;
}

static size_t packed_bytes(am_plan *plan, uint32_t rank, const int64_t *shape) {
    size_t bytes = 4;
    for (uint32_t i = 0; i < rank; i++)
        if (!am_mul(bytes, (size_t)shape[i], &bytes)) {
            am_plan_fail(plan, am_fail(ANYMAX_ERROR_OUT_OF_MEMORY,
                                       "%s: the workspace would be too large", plan->op));
            return 0;
        }
    return bytes;
}

am_value am_plan_virtual(am_plan *plan, const char *name, uint32_t rank, const int64_t *shape) {
    int base = am_plan_new_base(plan, AM_BASE_VIRTUAL, name, rank, shape);
    if (base < 0) return AM_NO_VALUE;
    plan->base[base].output = true;
    plan->base[base].scratch_bytes = packed_bytes(plan, rank, shape);
    return plan->base[base].full;
}

am_value am_plan_scratch(am_plan *plan, uint32_t rank, const int64_t *shape) {
    int base = am_plan_new_base(plan, AM_BASE_SCRATCH, "scratch", rank, shape);
    if (base < 0) return AM_NO_VALUE;
    plan->base[base].scratch_bytes = packed_bytes(plan, rank, shape);
    am_plan_give_scratch(plan, base);
    return plan->base[base].full;
}

uint32_t am_plan_rank(const am_plan *plan, am_value value) {
    return value < 0 ? 0 : plan->view[value].rank;
}

const int64_t *am_plan_shape(const am_plan *plan, am_value value) {
    static const int64_t none[ANYMAX_MAX_RANK];
    return value < 0 ? none : plan->view[value].shape;
}

am_value am_plan_transpose(am_plan *plan, am_value value, uint32_t a, uint32_t b) {
    am_view v, t;
    if (value < 0 || !am_plan_ok(plan)) return AM_NO_VALUE;
    t = v = plan->view[value];
    t.shape[a] = v.shape[b], t.shape[b] = v.shape[a];
    t.stride[a] = v.stride[b], t.stride[b] = v.stride[a];
    t.dim[a] = v.dim[b], t.dim[b] = v.dim[a];
    t.start[a] = v.start[b], t.start[b] = v.start[a];
    return new_view(plan, &t);
}

am_value am_plan_slice(am_plan *plan, am_value value, uint32_t dim, int64_t start, int64_t count) {
    am_view v;
    if (value < 0 || !am_plan_ok(plan)) return AM_NO_VALUE;
    v = plan->view[value];
    v.full = v.full && start == 0 && count == v.shape[dim];
    v.shape[dim] = count;
    v.start[dim] += start;
    v.offset += start * v.stride[dim];
    return new_view(plan, &v);
}

am_value am_plan_flat(am_plan *plan, am_value value) {
    am_view v, f = {0};
    if (value < 0 || !am_plan_ok(plan)) return AM_NO_VALUE;
    v = plan->view[value];
    f.base = v.base;
    f.rank = 1;
    f.shape[0] = 1;
    f.stride[0] = 1;
    f.full = v.full;
    f.flat = true;
    for (uint32_t i = 0; i < v.rank; i++) f.shape[0] *= v.shape[i];
    return new_view(plan, &f);
}

am_value am_plan_spread(am_plan *plan, am_value vector, am_value like, uint32_t axis) {
    am_view v;
    if (vector < 0 || like < 0 || !am_plan_ok(plan)) return AM_NO_VALUE;
    v = plan->view[vector];
    v.rank = plan->view[like].rank;
    v.flat = true; /* no view of another base is made of it: such vectors have no gradient */
    for (uint32_t i = 0; i < v.rank; i++) {
        v.shape[i] = i == axis ? plan->view[vector].shape[0] : 1;
        v.stride[i] = i == axis ? plan->view[vector].stride[0] : 0;
    }
    return new_view(plan, &v);
}

am_value am_plan_same_view(am_plan *plan, am_value value, int base) {
    const am_view *of;
    am_view v;
    if (value < 0 || base < 0 || !am_plan_ok(plan)) return AM_NO_VALUE;
    v = plan->view[value];
    of = &plan->view[plan->base[base].full];
    v.base = base;
    if (!v.flat) {
        v.offset = 0;
        for (uint32_t i = 0; i < v.rank; i++) {
            v.stride[i] = of->stride[v.dim[i]];
            v.offset += v.start[i] * v.stride[i];
        }
    }
    return new_view(plan, &v);
}

bool am_view_strides(const am_view *view, uint32_t rank, const int64_t *shape, bool exact,
                     int64_t *stride) {
    /* Aligned at the last dimension; leading ones are dropped. */
    for (uint32_t i = 0; i < rank; i++) stride[i] = 0;
    for (uint32_t i = 0; i < view->rank; i++) {
        uint32_t from_end = view->rank - 1 - i;
        if (from_end >= rank) {
            if (view->shape[i] != 1) return false;
        } else {
            uint32_t at = rank - 1 - from_end;
            if (view->shape[i] == shape[at])
                stride[at] = view->shape[i] == 1 ? 0 : view->stride[i];
            else if (view->shape[i] != 1 || exact)
                return false;
        }
    }
    if (exact)
        for (uint32_t i = view->rank; i < rank; i++)
            if (shape[rank - 1 - i] != 1) return false;
    return true;
}

/* ---------------------------------------------------------------- steps */

int am_program_slot(int program, const char *name) {
    const am_program *p = &am_program_table[program];
    for (int s = 0; s < AM_SLOTS; s++)
        if (p->slot[s].role != AM_ROLE_NONE && p->slot[s].name &&
            strcmp(p->slot[s].name, name) == 0)
            return s;
    return -1;
}

am_row_step am_plan_row_step(int family, am_value like, uint32_t axis) {
    am_row_step step = {.family = family, .like = like, .axis = axis};
    for (int s = 0; s < AM_SLOTS; s++) step.value[s] = AM_NO_VALUE;
    return step;
}

static void without_axis(const am_view *like, uint32_t axis, int64_t *shape) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < like->rank; i++)
        if (i != axis) shape[at++] = like->shape[i];
}

void am_plan_row_add(am_plan *plan, const am_row_step *step) {
    const am_program *p = &am_program_table[2 * step->family];
    const am_view *like;
    int64_t outer[ANYMAX_MAX_RANK] = {0}, unused[ANYMAX_MAX_RANK];
    if (!room(plan, plan->steps, AM_MAX_STEPS, "steps") || step->like < 0) return;
    like = &plan->view[step->like];
    without_axis(like, step->axis, outer);
    for (int s = 0; s < AM_SLOTS; s++) {
        const am_view *v;
        am_slot_role role = p->slot[s].role;
        bool along = role == AM_ROLE_IN || role == AM_ROLE_OUT;
        bool exact = role == AM_ROLE_OUT || role == AM_ROLE_ROW_OUT;
        uint32_t rank = along ? like->rank : like->rank - 1;
        char has[160], wants[160];
        if (step->value[s] < 0) continue;
        v = &plan->view[step->value[s]];
        if (am_view_strides(v, rank, along ? like->shape : outer, exact, unused)) continue;
        am_plan_fail(plan,
                     am_fail(ANYMAX_ERROR_INVALID, "%s: %s has shape %s; %s%s is needed", plan->op,
                             plan->base[v->base].name,
                             am_shape_text(v->rank, v->shape, has, sizeof has),
                             am_shape_text(rank, along ? like->shape : outer, wants, sizeof wants),
                             exact ? "" : ", or a shape that broadcasts to it,"));
        return;
    }
    plan->step[plan->steps].product = false;
    plan->step[plan->steps++].row = *step;
}

void am_plan_product_add(am_plan *plan, am_value a, am_value b, am_value c, float alpha) {
    am_step *step;
    if (!room(plan, plan->steps, AM_MAX_STEPS, "steps")) return;
    step = &plan->step[plan->steps++];
    step->product = true;
    step->row = am_plan_row_step(0, a, 0);
    step->row.value[0] = a;
    step->row.value[1] = b;
    step->row.value[2] = c;
    step->alpha = alpha;
}

am_action *am_plan_act(am_plan *plan, am_action_kind kind) {
    am_action *action;
    /* A plan that has failed is never run: any action will do. */
    if (!room(plan, plan->actions, AM_MAX_ACTIONS, "actions")) return &plan->action[0];
    action = &plan->action[plan->actions++];
    memset(action, 0, sizeof *action);
    action->kind = kind;
    action->alpha = 1.0f;
    for (int s = 0; s < AM_SLOTS; s++) action->value[s] = AM_NO_VALUE;
    return action;
}

void am_plan_act_forward(am_plan *plan, const am_step *step) {
    am_action *action = am_plan_act(plan, step->product ? AM_DO_PRODUCT : AM_DO_ROW);
    const am_view *like;
    if (!am_plan_ok(plan)) return;
    like = &plan->view[step->row.like];
    action->program = 2 * step->row.family;
    action->rank = like->rank;
    memcpy(action->shape, like->shape, sizeof action->shape);
    action->axis = step->row.axis;
    memcpy(action->param, step->row.param, sizeof action->param);
    memcpy(action->iparam, step->row.iparam, sizeof action->iparam);
    action->accumulate = step->row.accumulate;
    action->iterations = step->row.iterations;
    action->alpha = step->alpha;
    for (int s = 0; s < AM_SLOTS; s++) {
        am_value v = step->row.value[s];
        if (v >= 0 && plan->base[plan->view[v].base].kind != AM_BASE_VIRTUAL) action->value[s] = v;
    }
}

/* ---------------------------------------------------------------- forward */

void am_plan_have(am_plan *plan, am_value output) {
    if (output < 0 || !am_plan_ok(plan)) return;
    plan->base[plan->view[output].base].have = true;
    plan->base[plan->view[output].base].output = false;
}

/* Whether every step reads the caller's tensor `base` at the element that it writes and no other.
 */
static bool elementwise(const am_plan *plan, int base) {
    for (int i = 0; i < plan->steps; i++) {
        const am_step *step = &plan->step[i];
        const am_view *like = &plan->view[step->row.like];
        for (int s = 0; s < AM_SLOTS; s++) {
            am_slot_role role = am_program_table[2 * step->row.family].slot[s].role;
            const am_view *v;
            if (step->row.value[s] < 0) continue;
            v = &plan->view[step->row.value[s]];
            if (v->base != base) continue;
            if (step->product || v->flat || (role != AM_ROLE_IN && role != AM_ROLE_OUT) ||
                !am_shape_equal(v->rank, v->shape, like->rank, like->shape))
                return false;
        }
    }
    return true;
}

void am_plan_check_overlap(am_plan *plan, bool backward) {
    bool staged = backward && !plan->in_place; /* gradients then wait until all has been read */
    for (int i = 0; i < plan->bases && am_plan_ok(plan); i++) {
        const am_base *a = &plan->base[i];
        if (a->kind != AM_BASE_CALLER || !a->output) continue;
        for (int k = 0; k < plan->bases; k++) {
            const am_base *b = &plan->base[k];
            if (k == i || b->kind != AM_BASE_CALLER || (b->output && k < i)) continue;
            if (!am_tensor_overlap(&a->caller, &b->caller)) continue;
            bool same = am_tensor_same(&a->caller, &b->caller);
            if (!b->output && same && (staged || elementwise(plan, k))) continue;
            am_plan_fail(plan,
                         am_fail(ANYMAX_ERROR_INVALID,
                                 b->output ? "%s: outputs %s and %s overlap"
                                 : same ? "%s: output %s may not be %s, which other rows read too"
                                        : "%s: output %s overlaps %s without being exactly it",
                                 plan->op, a->name, b->name));
            return;
        }
    }
}

anymax_status am_plan_forward(am_plan *plan) {
    if (am_plan_ok(plan)) am_plan_check_overlap(plan, false);
    for (int i = 0; i < plan->steps && am_plan_ok(plan); i++)
        am_plan_act_forward(plan, &plan->step[i]);
    return am_plan_run(plan);
}
