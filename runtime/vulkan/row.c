/* Launches of the kernel `row`: shape, pipeline, and as many dispatches as the limits ask for. */
#include "stream.h"
#include "work.h"

#include <string.h>

#define ANY_FLOAT 7u /* AM_ANY of shaders/common.glsl */

/* A launch of whole rows that can raise no flag leaves the workspace alone. */
static bool needs_workspace(const am_row_launch *launch) {
    const int32_t states = AM_STAGE_FOLD_1 | AM_STAGE_FOLD_2 | AM_STAGE_FOLD_3 | AM_STAGE_LOAD |
                           AM_STAGE_SAVE | AM_STAGE_PARTIAL;
    return (launch->args.stages & states) || am_program_table[launch->program].flags;
}

static void make_key(const am_backend_device *dev, const am_row_launch *launch,
                     const am_vk_shape *s, am_vk_key *key) {
    const am_row_args *a = &launch->args;
    uint32_t types[2] = {0, 0}, binds[2] = {0, 0};
    for (int slot = 0; slot < AM_SLOTS; slot++) {
        uint32_t type;
        if (!launch->binding[slot].memory) continue;
        if (slot == AM_SLOT_WORKSPACE && !needs_workspace(launch)) continue;
        type = slot == AM_SLOT_WORKSPACE ? AM_F32 : am_nibble(a->types, slot);
        if (s->plain && slot != AM_SLOT_WORKSPACE && type <= AM_BF16) type = ANY_FLOAT;
        am_set_nibble(types, slot, type);
        am_set_nibble(binds, slot, am_nibble(a->binds, slot));
    }
    memset(key, 0, sizeof *key);
    key->module = (uint32_t)dev->row_modules[launch->program];
    key->spec[0] = s->items;
    key->spec[1] = types[0];
    key->spec[2] = types[1];
    key->spec[3] = binds[0];
    key->spec[4] = binds[1];
    key->spec[5] = (uint32_t)s->stages;
    key->spec[6] = (uint32_t)a->accumulate;
    key->spec[7] = s->unroll;
    key->spec[8] = s->chip;
    key->spec[9] = s->reduce;
    key->spec[10] = s->dims;
    key->spec[11] = s->list;
    key->spec[12] = s->each;
    key->spec[14] = s->even && (uint32_t)(a->rows - a->row0) % (s->items / s->lanes) == 0;
}

/* What the shader sees: the block in shaders/row_args.glsl. */
typedef struct row_block {
    am_row_args args;
    int32_t quads[AM_VK_QUADS];
} row_block;

static_assert(sizeof(row_block) <= AM_VK_ARGS_BYTES, "a dispatch's room in the ring");

/* Every row of the slot begins with a texel, wherever its parts do. */
static bool in_quads(const am_row_args *a, int slot, int64_t first) {
    return a->tensor[slot].step == 1 && (a->part_len % 4 == 0 || a->parts_total == 1) &&
           ((first + a->tensor[slot].offset) | a->tensor[slot].s0 | a->tensor[slot].s1 |
            a->s2[slot]) %
                   4 ==
               0;
}

/* Slots that are loaded as texels, as a mask; which changes no bit. Slots that share a binding see
 * the same texels. */
static uint32_t choose_quads(const am_backend_device *dev, const am_row_launch *launch,
                             const am_vk_shape *shape, am_vk_dispatch *d, int32_t *quads) {
    const am_program *program = &am_program_table[launch->program];
    uint32_t mask = 0;
    for (int s = 0; dev->quads && shape->each == 4 && s < AM_SLOT_WORKSPACE; s++) {
        const am_binding *b = &launch->binding[s];
        const uint32_t type = am_nibble(launch->args.types, s), bytes = type == AM_F32 ? 4 : 2;
        const uint32_t at = am_nibble(launch->args.binds, s);
        VkBufferView view;
        if (!b->memory || at >= AM_VK_QUADS || program->slot[s].role != AM_ROLE_IN) continue;
        if (type != AM_F32 && type != AM_F16 && type != AM_BF16) continue;
        view = b->memory->quads[bytes == 2];
        if (!view || (d->quads[at].memory && d->quads[at].view != view)) continue;
        if (!in_quads(&launch->args, s, (int64_t)(b->offset_bytes / bytes))) continue;
        d->quads[at].memory = b->memory;
        d->quads[at].view = view;
        quads[at] = (int32_t)(b->offset_bytes / bytes);
        mask |= 1u << s;
    }
    return mask;
}

/* Ranges by binding number: slots that share one have equal ranges. */
static anymax_status gather_bindings(const am_backend_device *dev, const am_row_launch *launch,
                                     uint32_t quads, am_vk_dispatch *d) {
    for (int slot = 0; slot < AM_SLOTS; slot++) {
        const am_binding *b = &launch->binding[slot];
        uint32_t at = am_nibble(launch->args.binds, slot);
        if (!b->memory || (quads >> slot & 1)) continue;
        if (slot == AM_SLOT_WORKSPACE && !needs_workspace(launch)) continue;
        if (at >= dev->bindings)
            return am_fail(ANYMAX_ERROR_UNSUPPORTED,
                           "vulkan: %s needs more than %u storage buffers",
                           am_program_table[launch->program].name, dev->bindings);
        if (!d->binding[at].memory) {
            d->binding[at] = *b;
        } else {
            if (d->binding[at].span_bytes < b->span_bytes)
                d->binding[at].span_bytes = b->span_bytes;
            d->binding[at].written |= b->written;
        }
    }
    return ANYMAX_OK;
}

/* Moves a launch's first part on by `parts`: offsets of rows in elements point at that part. */
static void skip_parts(const am_program *program, am_row_args *a, int32_t parts) {
    a->part0 += parts;
    for (int s = 0; s < AM_SLOT_WORKSPACE; s++)
        if (program->slot[s].role == AM_ROLE_IN || program->slot[s].role == AM_ROLE_OUT)
            a->tensor[s].offset += parts * a->part_len * a->tensor[s].step;
}

static bool nothing_to_do(const am_row_args *a) {
    return a->rows <= a->row0 || a->n <= 0 || a->parts <= 0;
}

/* Shape, bindings and pipeline of a launch. */
static anymax_status make_ready(am_backend_device *dev, const am_row_launch *launch,
                                am_vk_shape *shape, am_vk_dispatch *d, int32_t *quads) {
    const am_program *program = &am_program_table[launch->program];
    am_vk_key key;
    anymax_status status;
    if (dev->row_modules[launch->program] < 0)
        return am_fail(ANYMAX_ERROR_UNSUPPORTED, "vulkan: there is no shader for %s",
                       program->name);
    am_vk_choose_shape(dev, program, &launch->args, (uint32_t)launch->rows, shape);
    memset(d, 0, sizeof *d);
    make_key(dev, launch, shape, &key);
    key.spec[13] = choose_quads(dev, launch, shape, d, quads);
    status = gather_bindings(dev, launch, key.spec[13], d);
    return status == ANYMAX_OK ? am_vk_pipeline_get(dev, &key, &d->pipeline) : status;
}

anymax_status am_vk_row_prepare(am_backend_stream *stream, const am_row_launch *launch) {
    int32_t quads[AM_VK_QUADS];
    am_vk_shape shape;
    am_vk_dispatch d;
    if (nothing_to_do(&launch->args)) return ANYMAX_OK;
    return make_ready(am_vk_stream_device(stream), launch, &shape, &d, quads);
}

anymax_status am_vk_row(am_backend_stream *stream, const am_row_launch *launch) {
    am_backend_device *dev = am_vk_stream_device(stream);
    const am_program *program = &am_program_table[launch->program];
    am_vk_dispatch d;
    row_block block = {.args = launch->args};
    am_row_args *a = &block.args;
    am_vk_shape shape;
    int64_t held, most;
    anymax_status status;
    if (nothing_to_do(a)) return ANYMAX_OK;
    status = make_ready(dev, launch, &shape, &d, block.quads);
    if (status != ANYMAX_OK) return status;
    a->lanes = (int32_t)shape.lanes;
    a->across = shape.across;
    a->stages = shape.stages;
    d.args = &block;
    d.args_size = sizeof block;
    d.groups[2] = 1;
    held = shape.items / shape.lanes;
    most = (int64_t)dev->max_groups * held;
    for (int32_t parts = launch->args.parts; parts > 0 && status == ANYMAX_OK;) {
        int32_t now = parts < (int32_t)dev->max_groups ? parts : (int32_t)dev->max_groups;
        a->row0 = launch->args.row0;
        while (a->row0 < launch->args.rows && status == ANYMAX_OK) {
            int64_t rows = launch->args.rows - a->row0;
            if (rows > most) rows = most;
            a->rows = (int32_t)(a->row0 + rows);
            d.groups[0] = (uint32_t)((rows + held - 1) / held);
            d.groups[1] = (uint32_t)now;
            a->parts = now;
            d.work = am_row_work(program, a);
            status = am_vk_dispatch_record(stream, &d);
            d.follows = true;
            a->row0 = a->rows;
        }
        skip_parts(program, a, now);
        parts -= now;
    }
    return status;
}
