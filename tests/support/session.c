/* Sessions (see session.h). */
#include "session.h"

#include "device.h"

#include <stdlib.h>
#include <string.h>

#define POISON 0xa5

static const session_tensor *tensor_of(const session *s, int i) {
    return &s->program->tensor[i];
}

static bool is_there(const session *s, int i) {
    return i < SESSION_TENSORS && tensor_of(s, i)->name != NULL;
}

static bool is_target(const session_tensor *t) {
    return strcmp(t->name, "target") == 0;
}

/* A tensor in place has the memory of the one before it. */
static int home(const session *s, int i) {
    return s->program->in_place && i == 1 ? 0 : i;
}

static size_t count_of(const session_tensor *t) {
    size_t count = 1;
    for (uint32_t d = 0; d < t->rank; d++) count *= (size_t)t->shape[d];
    return count;
}

static size_t bytes_of(const session_tensor *t) {
    return 4 * (t->gaps ? 2 * count_of(t) - 1 : count_of(t));
}

static anymax_tensor view(const session *s, int i) {
    const session_tensor *t = tensor_of(s, i);
    const int at = home(s, i);
    anymax_tensor out = anymax_host_tensor(
        t->host ? s->memory[at] : NULL, is_target(t) ? ANYMAX_I32 : ANYMAX_F32, t->rank, t->shape);
    if (!t->host) out.buffer = s->buffer[at];
    out.strided = t->gaps;
    for (uint32_t d = t->rank; t->gaps && d-- > 0;)
        out.stride[d] = d + 1 == t->rank ? 2 : out.stride[d + 1] * t->shape[d + 1];
    return out;
}

/* What a tensor holds before the call: poison in outputs and gaps, small numbers elsewhere. */
static void first_bytes(const session_tensor *t, int i, unsigned char *out) {
    const size_t step = t->gaps ? 2 : 1;
    memset(out, POISON, bytes_of(t));
    for (size_t k = 0; k < count_of(t) && (!t->output || t->holds); k++) {
        const uint32_t mixed = (uint32_t)(k * 2654435761u + (uint32_t)i * 40503u) >> 16;
        const float number = (float)(mixed % 1000) / 250.0f - 2.0f;
        const int32_t index = (int32_t)(mixed % 5);
        if (is_target(t))
            memcpy(out + 4 * step * k, &index, 4);
        else
            memcpy(out + 4 * step * k, &number, 4);
    }
}

/* ---------------------------------------------------------------- steps */

static anymax_status open_device(session *s) {
    anymax_device_desc desc = {.selector = test_selector(), .pretend = s->pretend};
    return s->device ? ANYMAX_OK : anymax_device_open(&desc, &s->device);
}

static anymax_status make_buffers(session *s) {
    anymax_status status = ANYMAX_OK;
    for (int i = 0; is_there(s, i) && status == ANYMAX_OK; i++)
        if (!tensor_of(s, i)->host && home(s, i) == i && !s->buffer[i])
            status = anymax_buffer_create(s->device, bytes_of(tensor_of(s, i)), &s->buffer[i]);
    return status;
}

static anymax_status fill(session *s) {
    anymax_status status = ANYMAX_OK;
    for (int i = 0; is_there(s, i); i++) {
        if (home(s, i) != i) continue;
        if (!s->memory[i]) s->memory[i] = malloc(bytes_of(tensor_of(s, i)));
        if (!s->memory[i]) abort();
        first_bytes(tensor_of(s, i), i, s->memory[i]);
    }
    for (int i = 0; is_there(s, i) && status == ANYMAX_OK; i++)
        if (s->buffer[i])
            status = anymax_buffer_write(s->stream, s->buffer[i], 0, s->memory[i],
                                         bytes_of(tensor_of(s, i)));
    return status == ANYMAX_OK ? anymax_stream_sync(s->stream) : status;
}

anymax_status session_call(session *s) {
    anymax_tensor tensors[SESSION_TENSORS];
    anymax_named_tensor named[SESSION_TENSORS];
    size_t count = 0;
    while (is_there(s, (int)count)) {
        tensors[count] = view(s, (int)count);
        named[count].name = tensor_of(s, (int)count)->name;
        named[count].tensor = &tensors[count];
        count++;
    }
    return anymax_call(s->stream, s->program->op, named, count, &s->program->param,
                       s->program->param.name ? 1 : 0);
}

static bool is_read(const session *s, int i) {
    return is_there(s, i) && s->buffer[i] && tensor_of(s, s->program->in_place ? 1 : i)->output;
}

static anymax_status fetch(session *s) {
    anymax_status status = ANYMAX_OK;
    for (int i = 0; is_there(s, i) && status == ANYMAX_OK; i++)
        if (is_read(s, i))
            status = anymax_buffer_read(s->stream, s->buffer[i], 0, s->memory[i],
                                        bytes_of(tensor_of(s, i)));
    return status;
}

static anymax_status do_step(session *s) {
    anymax_status status;
    switch (s->step) {
    case SESSION_OPEN:
        return open_device(s);
    case SESSION_STREAM:
        return s->stream ? ANYMAX_OK : anymax_stream_create(s->device, NULL, &s->stream);
    case SESSION_BUFFERS:
        return make_buffers(s);
    case SESSION_FILL:
        return fill(s);
    case SESSION_CALL:
        status = session_call(s);
        return status == ANYMAX_OK && s->program->twice ? session_call(s) : status;
    case SESSION_FETCH:
        return fetch(s);
    default:
        return anymax_stream_sync(s->stream);
    }
}

anymax_status session_run(session *s) {
    anymax_status status = ANYMAX_OK;
    if (s->step == SESSION_DONE) s->step = SESSION_FILL;
    while (s->step != SESSION_DONE && status == ANYMAX_OK) {
        status = do_step(s);
        if (status == ANYMAX_OK) s->step++;
    }
    return status;
}

anymax_status session_look(session *s) {
    anymax_status status;
    for (int i = 0; is_there(s, i); i++) {
        if (!is_read(s, i) || s->memory[i]) continue;
        s->memory[i] = malloc(bytes_of(tensor_of(s, i)));
        if (!s->memory[i]) abort();
    }
    status = fetch(s);
    return status == ANYMAX_OK ? anymax_stream_sync(s->stream) : status;
}

/* ---------------------------------------------------------------- results */

static bool is_output(const session *s, int i) {
    return is_there(s, i) && tensor_of(s, i)->output;
}

unsigned char *session_outputs(const session *s) {
    size_t bytes = 0;
    unsigned char *copy;
    for (int i = 0; is_there(s, i); i++) bytes += is_output(s, i) ? bytes_of(tensor_of(s, i)) : 0;
    copy = malloc(bytes);
    if (!copy) abort();
    bytes = 0;
    for (int i = 0; is_there(s, i); i++) {
        if (!is_output(s, i)) continue;
        memcpy(copy + bytes, s->memory[home(s, i)], bytes_of(tensor_of(s, i)));
        bytes += bytes_of(tensor_of(s, i));
    }
    return copy;
}

static bool is_untouched(const session *s, int i) {
    const session_tensor *first = tensor_of(s, home(s, i));
    const size_t bytes = bytes_of(first);
    unsigned char *before = malloc(bytes);
    bool same;
    if (!before) abort();
    first_bytes(first, home(s, i), before);
    same = memcmp(before, s->memory[home(s, i)], bytes) == 0;
    free(before);
    return same;
}

const char *session_differs(const session *s, const unsigned char *want, session_allowed allowed,
                            bool buffers) {
    for (int i = 0; is_there(s, i); i++) {
        const session_tensor *t = tensor_of(s, i);
        const unsigned char *memory = s->memory[home(s, i)];
        if (!t->output) continue;
        if ((buffers || t->host) && memory &&
            !(allowed.whole && memcmp(want, memory, bytes_of(t)) == 0) &&
            !(allowed.untouched && is_untouched(s, i)))
            return t->name;
        want += bytes_of(t);
    }
    return NULL;
}

void session_forget(session *s) {
    for (int i = 0; i < SESSION_TENSORS; i++) {
        free(s->memory[i]);
        s->memory[i] = NULL;
    }
}

void session_restart(session *s) {
    session_forget(s);
    anymax_stream_release(s->stream);
    for (int i = 0; i < SESSION_TENSORS; i++) anymax_buffer_release(s->buffer[i]);
    *s = (session){.program = s->program, .pretend = s->pretend, .device = s->device};
}

void session_close(session *s) {
    session_restart(s);
    anymax_device_release(s->device);
    s->device = NULL;
}
