/* Running a plan: once to measure the workspace, once to launch. */
#include <string.h>

#include "error.h"
#include "plan_internal.h"

/* Memory of the caller that launches write to: how many will, and have. */
typedef struct written {
    am_memory *memory;
    uint32_t planned, done;
} written;

typedef struct run {
    am_plan *plan;
    am_sink sink;
    bool dry;     /* measures only */
    bool prepare; /* what will be launched is built, while dry */
    written output[AM_MAX_BASES];
    int outputs;
    bool torn;           /* an output has been written in part */
    size_t scratch_from; /* where scratch begins in the workspace */
    bool flags;          /* a launch may raise bits of the status word */
} run;

/* ---------------------------------------------------------------- where things are */

static am_memory *memory_of(run *r, const am_base *b, size_t *offset) {
    anymax_device *device = r->plan->stream->device;
    am_memory *memory = NULL;
    if (b->kind == AM_BASE_SCRATCH || b->staged) {
        *offset = r->scratch_from + b->scratch_offset;
        return r->sink.workspace;
    }
    *offset = b->caller.tensor.offset_bytes;
    if (b->caller.tensor.buffer) return b->caller.tensor.buffer->memory;
    if (b->caller.count)
        device->backend->memory_wrap(device->state, b->caller.tensor.data, &memory);
    return memory;
}

static anymax_dtype dtype_of(const am_base *b) {
    return b->kind == AM_BASE_CALLER ? b->caller.tensor.dtype : ANYMAX_F32;
}

/* ---------------------------------------------------------------- launches */

static written *find_output(run *r, am_memory *memory) {
    for (int i = 0; i < r->outputs; i++)
        if (r->output[i].memory == memory) return &r->output[i];
    if (r->outputs == AM_MAX_BASES) return NULL;
    r->output[r->outputs] = (written){.memory = memory};
    return &r->output[r->outputs++];
}

/* Counts what a launch writes: planned while dry, done afterwards. */
static void count_outputs(run *r, const am_binding *binding, int count) {
    anymax_stream *stream = r->plan->stream;
    bool torn = false;
    for (int s = 0; s < count; s++) {
        written *w;
        if (!binding[s].written || !binding[s].memory || binding[s].memory == r->sink.workspace)
            continue;
        w = find_output(r, binding[s].memory);
        if (w) *(r->dry ? &w->planned : &w->done) += 1;
    }
    for (int i = 0; i < r->outputs; i++)
        torn |= r->output[i].done > 0 && r->output[i].done < r->output[i].planned;
    if (torn != r->torn && stream->device->backend->together)
        stream->device->backend->together(stream->state, torn);
    r->torn = torn;
}

/* Stages before the last write to the workspace alone. */
static void count_row(run *r, const am_row_launch *launch) {
    if (launch->args.stages & AM_STAGE_FINISH) count_outputs(r, launch->binding, AM_SLOTS);
}

static anymax_status run_row(void *user, const am_row_launch *launch) {
    run *r = user;
    anymax_stream *stream = r->plan->stream;
    const am_backend *backend = stream->device->backend;
    anymax_status status;
    r->flags |= am_program_table[launch->program].flags;
    if (r->dry) {
        count_row(r, launch);
        return r->prepare && backend->row_prepare ? backend->row_prepare(stream->state, launch)
                                                  : ANYMAX_OK;
    }
    status = backend->row(stream->state, launch);
    if (status == ANYMAX_OK) count_row(r, launch);
    return status;
}

static anymax_status run_product(void *user, const am_product_launch *launch) {
    run *r = user;
    anymax_stream *stream = r->plan->stream;
    const am_backend *backend = stream->device->backend;
    anymax_status status;
    if (r->dry) {
        count_outputs(r, launch->binding, 3);
        return r->prepare && backend->product_prepare
                   ? backend->product_prepare(stream->state, launch)
                   : ANYMAX_OK;
    }
    status = backend->product(stream->state, launch);
    if (status == ANYMAX_OK) count_outputs(r, launch->binding, 3);
    return status;
}

static anymax_status run_copy(void *user, am_memory *to, size_t to_offset, am_memory *from,
                              size_t from_offset, size_t size) {
    run *r = user;
    anymax_stream *stream = r->plan->stream;
    am_binding binding = {.memory = to, .written = true};
    anymax_status status = ANYMAX_OK;
    if (!r->dry)
        status =
            stream->device->backend->copy(stream->state, to, to_offset, from, from_offset, size);
    if (status == ANYMAX_OK) count_outputs(r, &binding, 1);
    return status;
}

static anymax_status do_row(run *r, const am_action *a) {
    const am_program *p = &am_program_table[a->program];
    am_row_request q;
    uint32_t rank = a->rank, at = 0;
    int64_t outer[ANYMAX_MAX_RANK];
    q.program = a->program;
    q.accumulate = a->accumulate;
    q.iterations = a->iterations;
    memcpy(q.param, a->param, sizeof q.param);
    memcpy(q.iparam, a->iparam, sizeof q.iparam);
    q.n = rank ? a->shape[a->axis] : 1;
    for (uint32_t i = 0; i < rank; i++)
        if (i != a->axis) outer[at++] = a->shape[i];
    q.outer_rank = at;
    memcpy(q.outer, outer, at * sizeof outer[0]);
    for (int s = 0; s < AM_SLOTS; s++) {
        am_row_slot *slot = &q.slot[s];
        bool along = p->slot[s].role == AM_ROLE_IN || p->slot[s].role == AM_ROLE_OUT;
        int64_t stride[ANYMAX_MAX_RANK];
        const am_view *v;
        slot->memory = NULL;
        slot->step = 0;
        if (a->value[s] < 0) continue;
        v = &r->plan->view[a->value[s]];
        slot->memory = memory_of(r, &r->plan->base[v->base], &slot->offset_bytes);
        slot->type = am_kernel_type(dtype_of(&r->plan->base[v->base]));
        slot->element_bytes = (uint32_t)anymax_dtype_size(dtype_of(&r->plan->base[v->base]));
        slot->offset_bytes += (size_t)v->offset * slot->element_bytes;
        am_view_strides(v, along ? rank : at, along ? a->shape : outer, false, stride);
        at = 0;
        for (uint32_t i = 0; i < rank; i++) {
            if (i == a->axis) {
                if (along) slot->step = stride[i];
            } else {
                slot->stride[at] = along ? stride[i] : stride[at];
                at++;
            }
        }
    }
    return am_plan_row(&r->sink, &q);
}

static anymax_status do_product(run *r, const am_action *a) {
    am_product_request q;
    memset(&q, 0, sizeof q);
    q.alpha = a->alpha;
    q.accumulate = a->accumulate != 0;
    q.batch = 1;
    for (int s = 0; s < 3; s++) {
        const am_view *v = &r->plan->view[a->value[s]];
        const am_base *b = &r->plan->base[v->base];
        q.slot[s].memory = memory_of(r, b, &q.slot[s].offset_bytes);
        q.slot[s].type = am_kernel_type(dtype_of(b));
        q.slot[s].element_bytes = (uint32_t)anymax_dtype_size(dtype_of(b));
        q.slot[s].offset_bytes += (size_t)v->offset * q.slot[s].element_bytes;
        q.slot[s].row = v->stride[0];
        q.slot[s].column = v->stride[1];
    }
    q.m = r->plan->view[a->value[2]].shape[0];
    q.n = r->plan->view[a->value[2]].shape[1];
    q.k = r->plan->view[a->value[0]].shape[1];
    return am_plan_product(&r->sink, &q);
}

static anymax_status do_zero(run *r, const am_action *a) {
    anymax_stream *stream = r->plan->stream;
    const am_base *b = &r->plan->base[r->plan->view[a->value[0]].base];
    size_t offset;
    am_memory *memory = memory_of(r, b, &offset);
    if (r->dry || b->scratch_bytes == 0) return ANYMAX_OK;
    return stream->device->backend->zero(stream->state, memory, offset, b->scratch_bytes);
}

static anymax_status all_actions(run *r) {
    anymax_status status = ANYMAX_OK;
    for (int i = 0; i < r->plan->actions && status == ANYMAX_OK; i++) {
        const am_action *a = &r->plan->action[i];
        switch (a->kind) {
        case AM_DO_ROW:
            status = do_row(r, a);
            break;
        case AM_DO_PRODUCT:
            status = do_product(r, a);
            break;
        case AM_DO_ZERO:
            status = do_zero(r, a);
            break;
        }
    }
    return status;
}

/* ---------------------------------------------------------------- host tensors */

/* Whether an action writes base `i`, and whether it reads it or adds to it. */
static void touched(const am_plan *plan, int base, bool *written, bool *read) {
    *written = *read = false;
    for (int i = 0; i < plan->actions; i++) {
        const am_action *a = &plan->action[i];
        for (int s = 0; s < AM_SLOTS; s++) {
            am_slot_role role = a->kind == AM_DO_ROW ? am_program_table[a->program].slot[s].role
                                : s == 2             ? AM_ROLE_OUT
                                                     : AM_ROLE_IN;
            bool output = role == AM_ROLE_OUT || role == AM_ROLE_ROW_OUT;
            if (a->value[s] < 0 || plan->view[a->value[s]].base != base) continue;
            *written |= output;
            *read |= !output || a->accumulate != 0;
        }
    }
}

static anymax_status stage(run *r, bool in) {
    anymax_stream *stream = r->plan->stream;
    const am_backend *backend = stream->device->backend;
    for (int i = 0; i < r->plan->bases; i++) {
        const am_base *b = &r->plan->base[i];
        bool written, read;
        size_t at = r->scratch_from + b->scratch_offset;
        anymax_status status = ANYMAX_OK;
        if (!b->staged) continue;
        touched(r->plan, i, &written, &read);
        if (in && read)
            status = backend->write(stream->state, stream->workspace->memory, at,
                                    b->caller.tensor.data, b->caller.span_bytes);
        else if (!in && written)
            status = am_stream_read_tensor(stream, stream->workspace->memory, at, &b->caller);
        if (status != ANYMAX_OK) return status;
    }
    return ANYMAX_OK;
}

/* What an earlier call is still to write to host memory, and this one reads. */
static anymax_status settle_inputs(am_plan *plan) {
    for (int i = 0; i < plan->bases; i++) {
        const am_base *b = &plan->base[i];
        bool written, read;
        anymax_status status = ANYMAX_OK;
        if (!b->staged) continue;
        touched(plan, i, &written, &read);
        if (read)
            status =
                am_stream_settle_host(plan->stream, b->caller.tensor.data, b->caller.span_bytes);
        if (status != ANYMAX_OK) return status;
    }
    return ANYMAX_OK;
}

static anymax_status keep_buffers(am_plan *plan) {
    for (int i = 0; i < plan->bases; i++) {
        anymax_buffer *buffer =
            plan->base[i].kind == AM_BASE_CALLER ? plan->base[i].caller.tensor.buffer : NULL;
        anymax_status status = buffer ? am_stream_keep(plan->stream, buffer) : ANYMAX_OK;
        if (status != ANYMAX_OK) return status;
    }
    return ANYMAX_OK;
}

/* ---------------------------------------------------------------- run */

static size_t aligned(const am_plan *plan, size_t bytes) {
    size_t align = plan->stream->device->limits.offset_align;
    if (align < 256) align = 256;
    return (bytes + align - 1) / align * align;
}

/* All launches. Where one is refused while an output has been written in part, nothing that is on
 * the device can be relied upon any more. */
static anymax_status launch_all(run *r) {
    anymax_stream *stream = r->plan->stream;
    anymax_status status = all_actions(r);
    if (r->torn && stream->device->backend->together)
        stream->device->backend->together(stream->state, false);
    if (status == ANYMAX_OK || status == ANYMAX_ERROR_DEVICE_LOST || !r->torn) return status;
    return am_fail_torn(r->plan->op);
}

/* Every row launch sees the workspace, for its status word at least. */
anymax_status am_plan_run(am_plan *plan) {
    anymax_stream *stream = plan->stream;
    anymax_status status = plan->status;
    int walks;
    run r;
    if (status != ANYMAX_OK) return am_fail(status, "%s", plan->message);
    if (plan->empty) return ANYMAX_OK;
    r.plan = plan;
    r.dry = true;
    r.torn = r.flags = false;
    r.scratch_from = 0;
    r.sink = (am_sink){.limits = &stream->device->limits,
                       .pretend = &stream->device->options.pretend,
                       .workspace = (am_memory *)stream, /* not touched while dry */
                       .partial_bytes = AM_STATUS_BYTES,
                       .user = &r,
                       .row = run_row,
                       .product = run_product,
                       .copy = run_copy};
    /* Where tensors are packed, whether they fit depends on where the first walk put things: walk
     * again, so that nothing is refused once launches have begun. The last walk has kernels built,
     * for the same reason. */
    walks = stream->device->limits.bindings < AM_SLOTS ? 2 : 1;
    for (int walk = 0; walk < walks; walk++) {
        r.sink.launches = 0;
        r.outputs = 0;
        r.prepare = walk == walks - 1 && !stream->plan_only;
        status = all_actions(&r);
        if (status != ANYMAX_OK) return am_device_check(stream->device, status);
        r.sink.pack_offset = aligned(plan, r.sink.partial_bytes);
        r.scratch_from = r.sink.pack_offset + aligned(plan, r.sink.pack_bytes);
    }
    status = am_stream_reserve(stream, plan->op, r.scratch_from + plan->scratch_bytes);
    if (status != ANYMAX_OK || stream->plan_only) return status;
    r.sink.workspace = stream->workspace->memory;
    r.sink.launches = 0;
    r.dry = r.prepare = false;
    status = settle_inputs(plan);
    if (status == ANYMAX_OK) status = keep_buffers(plan);
    if (status == ANYMAX_OK) status = am_stream_keep(stream, stream->workspace);
    if (status != ANYMAX_OK) return status;
    stream->flags_pending |= r.flags;
    status = stage(&r, true);
    if (status == ANYMAX_OK) status = launch_all(&r);
    if (status == ANYMAX_OK) status = stage(&r, false);
    return am_stream_check(stream, status);
}
