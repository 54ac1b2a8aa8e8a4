/* Streams: ordered work of one device, its workspace, and what is reported at a sync. */
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "error.h"
#include "os.h"
#include "plan.h"

struct am_spread {
    am_spread *next;
    anymax_tensor to;
    size_t capacity;      /* of data */
    bool filled;          /* by the next sync; false: the read was refused */
    unsigned char data[]; /* as far as the tensor reaches */
};

static anymax_status zero_status_word(anymax_stream *stream) {
    const am_backend *backend = stream->device->backend;
    anymax_status status =
        backend->zero(stream->state, stream->workspace->memory, 0, AM_STATUS_BYTES);
    stream->stale = status != ANYMAX_OK;
    return am_device_check(stream->device, status);
}

anymax_status anymax_stream_create(anymax_device *device, const anymax_stream_desc *desc,
                                   anymax_stream **out_stream) {
    static const anymax_stream_desc standard;
    anymax_stream *stream;
    anymax_status status = ANYMAX_OK;
    if (!out_stream) return am_fail(ANYMAX_ERROR_INVALID, "stream_create: out_stream is NULL");
    *out_stream = NULL;
    if (!device) return am_fail(ANYMAX_ERROR_INVALID, "stream_create: device is NULL");
    if (!desc) desc = &standard;
    if (am_device_alive(device) != ANYMAX_OK) return ANYMAX_ERROR_DEVICE_LOST;
    if (desc->workspace && desc->workspace->device != device)
        return am_fail(ANYMAX_ERROR_INVALID,
                       "stream_create: workspace is a buffer of another device");
    if (desc->workspace && desc->workspace->size_bytes < AM_STATUS_BYTES)
        return am_fail(ANYMAX_ERROR_INVALID,
                       "stream_create: workspace has %zu bytes; at least %d are needed",
                       desc->workspace->size_bytes, AM_STATUS_BYTES);
    stream = am_alloc_zero(1, sizeof *stream);
    if (!stream) return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "stream_create: no host memory");
    anymax_device_retain(device);
    stream->device = device;
    stream->plan_only = desc->plan_only;
    stream->spread_end = &stream->spread;
    stream->plan = am_plan_create();
    if (!stream->plan)
        status = am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "stream_create: no host memory");
    if (status == ANYMAX_OK && !stream->plan_only)
        status =
            am_device_check(device, device->backend->stream_create(device->state, &stream->state));
    if (status == ANYMAX_OK && desc->workspace && !stream->plan_only) {
        anymax_buffer_retain(desc->workspace);
        stream->workspace = desc->workspace;
        status = zero_status_word(stream);
    } else {
        stream->own_workspace = true;
    }
    if (status != ANYMAX_OK) {
        anymax_stream_release(stream);
        return status;
    }
    *out_stream = stream;
    return ANYMAX_OK;
}

static void release_kept(anymax_stream *stream) {
    for (size_t i = 0; i < stream->keep.count; i++) anymax_buffer_release(stream->keep.items[i]);
    stream->keep.count = 0;
}

/* Copies what has been read to where it goes. */
static void spread(const am_spread *s) {
    const anymax_tensor *t = &s->to;
    size_t size = anymax_dtype_size(t->dtype);
    int64_t at[ANYMAX_MAX_RANK] = {0}, element = 0;
    for (;;) {
        uint32_t d = t->rank;
        memcpy((unsigned char *)t->data + (size_t)element * size, s->data + (size_t)element * size,
               size);
        while (d > 0) {
            d--;
            element += t->stride[d];
            if (++at[d] < t->shape[d]) break;
            element -= t->shape[d] * t->stride[d];
            at[d] = 0;
            if (d == 0) return;
        }
        if (t->rank == 0) return;
    }
}

static void spread_all(anymax_stream *stream, bool filled) {
    for (am_spread *s = stream->spread; s; s = s->next)
        if (filled && s->filled) spread(s);
    *stream->spread_end = stream->spare;
    stream->spare = stream->spread;
    stream->spread = NULL;
    stream->spread_end = &stream->spread;
}

/* A spare one that is large enough; else a new one, in place of a spare one: there are never more
 * than were once needed together, and in the end all are as large as the largest need. */
static am_spread *take_spread(anymax_stream *stream, size_t size_bytes) {
    am_spread **at = &stream->spare, *s;
    while (*at && (*at)->capacity < size_bytes) at = &(*at)->next;
    if (!*at) at = &stream->spare;
    s = *at;
    if (s) *at = s->next;
    if (s && s->capacity >= size_bytes) return s;
    am_free(s);
    s = am_alloc(sizeof *s + size_bytes);
    if (s) s->capacity = size_bytes;
    return s;
}

/* The last range grows where there are too many: what waits too often is right all the same. */
static void add_pending(anymax_stream *stream, const void *data, size_t size) {
    const uint32_t most = sizeof stream->pending / sizeof stream->pending[0];
    const am_host_range fresh = {(uintptr_t)data, (uintptr_t)data + size};
    am_host_range *last = &stream->pending[most - 1];
    if (stream->pending_count < most) {
        stream->pending[stream->pending_count++] = fresh;
        return;
    }
    if (fresh.low < last->low) last->low = fresh.low;
    if (fresh.high > last->high) last->high = fresh.high;
}

anymax_status am_stream_read_tensor(anymax_stream *stream, am_memory *from, size_t from_offset,
                                    const am_checked *to) {
    const am_backend *backend = stream->device->backend;
    am_spread *s;
    anymax_status status;
    if (!stream->device->limits.host_memory) add_pending(stream, to->tensor.data, to->span_bytes);
    /* Behind one that has to be spread all others wait, for the sake of their order. */
    if (to->packed && !stream->spread)
        return backend->read(stream->state, from, from_offset, to->tensor.data, to->span_bytes);
    s = take_spread(stream, to->span_bytes);
    if (!s) return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "stream: no host memory");
    s->next = NULL;
    s->to = to->tensor;
    *stream->spread_end = s;
    stream->spread_end = &s->next;
    status = backend->read(stream->state, from, from_offset, s->data, to->span_bytes);
    s->filled = status == ANYMAX_OK;
    return status;
}

void anymax_stream_release(anymax_stream *stream) {
    anymax_device *device;
    if (!stream) return;
    device = stream->device;
    if (stream->state) {
        anymax_status status = ANYMAX_ERROR_DEVICE_LOST;
        if (!atomic_load(&device->lost))
            status = am_device_check(device, device->backend->sync(stream->state));
        device->backend->stream_destroy(stream->state);
        spread_all(stream, status == ANYMAX_OK);
    }
    while (stream->spare) {
        am_spread *next = stream->spare->next;
        am_free(stream->spare);
        stream->spare = next;
    }
    release_kept(stream);
    am_free(stream->keep.items);
    anymax_buffer_release(stream->workspace);
    am_plan_destroy(stream->plan);
    am_free(stream);
    anymax_device_release(device);
}

/* Waits, and collects the bits that kernels have raised since the last look. */
static anymax_status settle(anymax_stream *stream) {
    const am_backend *backend = stream->device->backend;
    anymax_status status = ANYMAX_OK, synced;
    bool look = stream->flags_pending && stream->workspace && !stream->stale;
    stream->word = 0;
    stream->flags_pending = false;
    if (look)
        status = backend->read(stream->state, stream->workspace->memory, 0, &stream->word,
                               sizeof stream->word);
    synced = backend->sync(stream->state);
    if (synced != ANYMAX_OK) status = synced;
    spread_all(stream, status == ANYMAX_OK);
    stream->pending_count = 0;
    if (status != ANYMAX_OK) {
        /* Buffers are kept: what has been queued may still run. */
        stream->stale = true;
        return am_device_check(stream->device, status);
    }
    release_kept(stream);
    stream->flags |= stream->word;
    /* Where this is refused, the word stays stale: a matter of the next operation. */
    if (stream->word && zero_status_word(stream) == ANYMAX_ERROR_DEVICE_LOST)
        return ANYMAX_ERROR_DEVICE_LOST;
    return ANYMAX_OK;
}

/* As settle, for an operation: what did not run is for the next sync to tell. */
static anymax_status settle_early(anymax_stream *stream) {
    anymax_status status = settle(stream);
    if (status != ANYMAX_OK) stream->lack = status;
    return status;
}

anymax_status am_stream_settle_host(anymax_stream *stream, const void *data, size_t size_bytes) {
    const uintptr_t low = (uintptr_t)data, high = low + size_bytes;
    for (uint32_t i = 0; i < stream->pending_count; i++)
        if (stream->pending[i].low < high && low < stream->pending[i].high)
            return settle_early(stream);
    return ANYMAX_OK;
}

anymax_status am_stream_check(anymax_stream *stream, anymax_status status) {
    char message[512];
    if (status == ANYMAX_OK || am_device_check(stream->device, status) == ANYMAX_ERROR_DEVICE_LOST)
        return status;
    snprintf(message, sizeof message, "%s", anymax_error_message());
    if (settle_early(stream) == ANYMAX_ERROR_DEVICE_LOST) return ANYMAX_ERROR_DEVICE_LOST;
    return am_fail(status, "%s", message);
}

anymax_status anymax_stream_sync(anymax_stream *stream) {
    anymax_status status, lack;
    uint32_t flags;
    if (!stream) return am_fail(ANYMAX_ERROR_INVALID, "stream_sync: stream is NULL");
    if (am_device_alive(stream->device) != ANYMAX_OK) return ANYMAX_ERROR_DEVICE_LOST;
    if (stream->plan_only) return ANYMAX_OK;
    status = settle(stream);
    flags = stream->flags;
    lack = stream->lack;
    stream->flags = 0;
    stream->lack = ANYMAX_OK;
    if (status != ANYMAX_OK) return status;
    if (lack != ANYMAX_OK)
        return am_fail(lack,
                       "stream_sync: a call since the last sync failed, and with it work that "
                       "was queued before it did not run");
    if (flags & AM_FLAG_INDEX_RANGE)
        return am_fail(
            ANYMAX_ERROR_DATA,
            "stream_sync: a target was out of range since the last sync; its row was left out");
    return ANYMAX_OK;
}

anymax_device *anymax_stream_device(const anymax_stream *stream) {
    return stream ? stream->device : NULL;
}

size_t anymax_stream_workspace_bytes(const anymax_stream *stream) {
    return stream ? stream->workspace_bytes : 0;
}

anymax_status am_stream_keep(anymax_stream *stream, anymax_buffer *buffer) {
    am_keep_list *keep = &stream->keep;
    /* A backend that shares memory with the host has finished when a call returns. */
    if (stream->device->limits.host_memory) return ANYMAX_OK;
    for (size_t i = 0; i < keep->count; i++)
        if (keep->items[i] == buffer) return ANYMAX_OK;
    if (keep->count == keep->capacity) {
        size_t capacity = keep->capacity ? keep->capacity * 2 : 16;
        anymax_buffer **items = am_alloc(capacity * sizeof *items);
        if (!items) return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "stream: no host memory");
        if (keep->count) memcpy(items, keep->items, keep->count * sizeof *items);
        am_free(keep->items);
        keep->items = items;
        keep->capacity = capacity;
    }
    anymax_buffer_retain(buffer);
    keep->items[keep->count++] = buffer;
    return ANYMAX_OK;
}

anymax_status am_stream_reserve(anymax_stream *stream, const char *op, size_t size_bytes) {
    anymax_buffer *larger;
    anymax_status status;
    if (size_bytes > stream->workspace_bytes) stream->workspace_bytes = size_bytes;
    if (stream->plan_only) return ANYMAX_OK;
    if (stream->workspace && size_bytes <= stream->workspace->size_bytes)
        return stream->stale ? am_stream_check(stream, zero_status_word(stream)) : ANYMAX_OK;
    if (!stream->own_workspace)
        return am_fail(ANYMAX_ERROR_INVALID,
                       "%s: the stream's workspace has %zu bytes, and %zu are needed", op,
                       stream->workspace->size_bytes, size_bytes);
    /* The status word moves with the workspace: look at the old one first. */
    if (stream->workspace && stream->flags_pending) {
        status = settle_early(stream);
        if (status != ANYMAX_OK) return status;
    }
    status = anymax_buffer_create(stream->device, size_bytes, &larger);
    if (status != ANYMAX_OK) return status;
    if (stream->workspace) {
        status = am_stream_keep(stream, stream->workspace);
        if (status != ANYMAX_OK) {
            anymax_buffer_release(larger);
            return status;
        }
        anymax_buffer_release(stream->workspace);
    }
    stream->workspace = larger;
    return am_stream_check(stream, zero_status_word(stream));
}

/* ---------------------------------------------------------------- copies */

static anymax_status check_range(anymax_stream *stream, const char *call, const char *what,
                                 anymax_buffer *buffer, size_t offset, size_t size) {
    if (!stream || !buffer)
        return am_fail(ANYMAX_ERROR_INVALID, "%s: %s is NULL", call, stream ? what : "stream");
    if (stream->plan_only) return am_fail(ANYMAX_ERROR_INVALID, "%s: the stream only plans", call);
    if (buffer->device != stream->device)
        return am_fail(ANYMAX_ERROR_INVALID, "%s: %s belongs to another device", call, what);
    if (offset > buffer->size_bytes || size > buffer->size_bytes - offset)
        return am_fail(ANYMAX_ERROR_INVALID, "%s: bytes %zu to %zu of %s, which has %zu", call,
                       offset, offset + size, what, buffer->size_bytes);
    return am_device_alive(stream->device);
}

anymax_status anymax_buffer_write(anymax_stream *stream, anymax_buffer *buffer, size_t offset_bytes,
                                  const void *data, size_t size_bytes) {
    anymax_status status =
        check_range(stream, "buffer_write", "buffer", buffer, offset_bytes, size_bytes);
    if (status != ANYMAX_OK || size_bytes == 0) return status;
    if (!data) return am_fail(ANYMAX_ERROR_INVALID, "buffer_write: data is NULL");
    status = am_stream_settle_host(stream, data, size_bytes);
    if (status == ANYMAX_OK) status = am_stream_keep(stream, buffer);
    if (status != ANYMAX_OK) return status;
    return am_stream_check(stream, stream->device->backend->write(stream->state, buffer->memory,
                                                                  offset_bytes, data, size_bytes));
}

anymax_status anymax_buffer_read(anymax_stream *stream, anymax_buffer *buffer, size_t offset_bytes,
                                 void *data, size_t size_bytes) {
    am_checked bytes = {.count = size_bytes, .span_bytes = size_bytes, .packed = true};
    anymax_status status =
        check_range(stream, "buffer_read", "buffer", buffer, offset_bytes, size_bytes);
    if (status != ANYMAX_OK || size_bytes == 0) return status;
    if (!data) return am_fail(ANYMAX_ERROR_INVALID, "buffer_read: data is NULL");
    status = am_stream_keep(stream, buffer);
    if (status != ANYMAX_OK) return status;
    bytes.tensor = anymax_host_tensor(data, ANYMAX_U8, 1, &(int64_t){(int64_t)size_bytes});
    bytes.tensor.stride[0] = 1;
    return am_stream_check(stream,
                           am_stream_read_tensor(stream, buffer->memory, offset_bytes, &bytes));
}

anymax_status anymax_buffer_copy(anymax_stream *stream, anymax_buffer *to, size_t to_offset_bytes,
                                 anymax_buffer *from, size_t from_offset_bytes, size_t size_bytes) {
    anymax_status status =
        check_range(stream, "buffer_copy", "to", to, to_offset_bytes, size_bytes);
    if (status == ANYMAX_OK)
        status = check_range(stream, "buffer_copy", "from", from, from_offset_bytes, size_bytes);
    if (status != ANYMAX_OK || size_bytes == 0) return status;
    if (to == from && to_offset_bytes < from_offset_bytes + size_bytes &&
        from_offset_bytes < to_offset_bytes + size_bytes)
        return am_fail(ANYMAX_ERROR_INVALID, "buffer_copy: the ranges overlap");
    status = am_stream_keep(stream, to);
    if (status == ANYMAX_OK) status = am_stream_keep(stream, from);
    if (status != ANYMAX_OK) return status;
    return am_stream_check(stream, stream->device->backend->copy(stream->state, to->memory,
                                                                 to_offset_bytes, from->memory,
                                                                 from_offset_bytes, size_bytes));
}
