/* Devices, buffers and streams as the rest of the library sees them. */
#ifndef AM_DEVICE_H
#define AM_DEVICE_H

#include <stdatomic.h>

#include "backend.h"
#include "fault.h"

struct anymax_device {
    const am_backend *backend;
    am_backend_device *state;
    am_limits limits;
    am_device_options options;
    am_faults faults; /* the backend reaches them through options */
    anymax_device_info info;
    atomic_size_t references;
    atomic_bool lost; /* once lost, every call says so */
};

struct anymax_buffer {
    anymax_device *device;
    am_memory *memory;
    size_t size_bytes;
    atomic_size_t references;
};

/* Buffers that queued work still needs; released at the next sync. */
typedef struct am_keep_list {
    anymax_buffer **items;
    size_t count, capacity;
} am_keep_list;

/* A host tensor with gaps: read into `data`, and spread over the tensor at the next sync. */
typedef struct am_spread am_spread;

typedef struct am_host_range {
    uintptr_t low, high;
} am_host_range;

struct anymax_stream {
    anymax_device *device;
    am_backend_stream *state; /* NULL in a stream that only plans */
    bool plan_only;
    anymax_buffer *workspace; /* NULL until it is needed */
    bool own_workspace;
    size_t workspace_bytes; /* the largest need so far */
    bool flags_pending;     /* work since the last sync may have raised bits of the status word */
    uint32_t flags;
    uint32_t word;      /* where the status word is read to; a read may be pending */
    bool stale;         /* the status word on the device may hold anything */
    anymax_status lack; /* work that was queued has not run: for the next sync to tell */
    am_keep_list keep;
    am_spread *spread, **spread_end; /* in stream order */
    am_spread *spare;                /* done with, for the next ones */
    am_host_range pending[8];        /* host memory that is written by the next sync */
    uint32_t pending_count;
    struct am_plan *plan; /* scratch of the planner, reused by every operation */
};

#define AM_FLAG_INDEX_RANGE 1u

/* Makes sure that the stream has `size_bytes` of workspace. */
anymax_status am_stream_reserve(anymax_stream *stream, const char *op, size_t size_bytes);
/* Keeps `buffer` until the next sync. */
anymax_status am_stream_keep(anymax_stream *stream, anymax_buffer *buffer);
/* Before host memory is read: settles where the next sync would write to it, so that calls follow
 * on each other through host memory too. Not between am_stream_keep and the work it is for. */
anymax_status am_stream_settle_host(anymax_stream *stream, const void *data, size_t size_bytes);
/* Notes device loss; returns `status`. */
anymax_status am_device_check(anymax_device *device, anymax_status status);
/* After an error of the backend: waits for what is queued, so that no memory of the caller's is
 * written later, and keeps what goes wrong then for the next sync. Returns `status`, its message
 * set. */
anymax_status am_stream_check(anymax_stream *stream, anymax_status status);
/* ANYMAX_ERROR_DEVICE_LOST, with its message, if the device is gone. */
anymax_status am_device_alive(anymax_device *device);

#endif
