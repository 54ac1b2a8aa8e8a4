/* The line between the planner and a backend: one table of functions, memory, streams, launches.
 *
 * A backend knows kernels, never operations. Arguments reach it checked: sizes fit, spans lie
 * inside their memory and inside the limits that the backend itself reported. */
#ifndef AM_BACKEND_H
#define AM_BACKEND_H

#include <anymax/core.h>

#include "launch.h"
#include "pretend.h"
#include "program.h"

/* What the planner must respect on a device; each backend fills it in at open, lowered by pretend.
 */
typedef struct am_limits {
    uint64_t range_bytes;  /* largest span of one tensor of a launch */
    uint64_t alloc_bytes;  /* largest memory object */
    uint32_t offset_align; /* of a tensor's base offset; a power of two, >= 4. The planner aligns
                              binding offsets down to it and puts the rest into args.offset */
    uint32_t bindings;     /* different memory ranges that a launch may use, workspace included */
    uint32_t split_length; /* rows longer than this are cut into parts ... */
    uint32_t split_rows;   /* ... if there are fewer of them than this, and always beyond: */
    uint32_t longest_row;  /* longest row that one launch may take whole (loop trips, watchdog) */
    uint32_t part_length;  /* columns of a part, at least; a multiple of 64 */
    uint32_t max_parts;    /* parts of a row, at most; part_length grows beyond it. */
    uint64_t launch_work;  /* of one launch, as work.h counts it; UINT64_MAX: no watchdog. Nothing
                              else depends on it, so smaller launches give the same bits */
    uint32_t row_block;    /* rows, from a launch's first on, that kernels may take decisions for
                              together: they stay in one launch */
    bool host_memory;      /* kernels reach host memory directly */
} am_limits;

/* Opaque to the planner; each backend defines its own. */
typedef struct am_memory am_memory;
typedef struct am_backend_device am_backend_device;
typedef struct am_backend_stream am_backend_stream;

/* A range of memory that a launch uses. `offset_bytes` is a multiple of limits.offset_align. */
typedef struct am_binding {
    am_memory *memory; /* NULL: the slot is absent */
    size_t offset_bytes;
    size_t span_bytes; /* from offset_bytes to the end of the last element that may be touched */
    bool written;
} am_binding;

typedef struct am_row_launch {
    int program;
    am_row_args args; /* args.binds is set by the planner: equal ranges share a binding */
    int32_t rows;     /* of the launch before it was cut into [args.row0, args.rows). How a row is
                         laid out follows from these, never from what a piece has of them */
    am_binding binding[AM_SLOTS];
} am_row_launch;

typedef struct am_product_launch {
    am_product_args args;
    am_binding binding[3];
} am_product_launch;

typedef struct am_backend {
    const char *name;
    /* What listing devices loads into the process, to be tried elsewhere first; NULL: nothing. */
    const struct am_drivers *drivers;
    /* Calls `found` for each device, in a stable order: `index` is the number in its selector. On
     * failure returns a status with its message set (am_fail): the reason why there is none. */
    anymax_status (*enumerate)(void (*found)(void *user, uint32_t index,
                                             const anymax_device_info *info),
                               void *user);
    anymax_status (*open)(uint32_t index, const am_device_options *options,
                          am_backend_device **out_device, am_limits *out_limits);
    void (*close)(am_backend_device *device);

    anymax_status (*memory_create)(am_backend_device *device, size_t size_bytes,
                                   am_memory **out_memory);
    /* Only where limits.host_memory: a view of the caller's memory; creates nothing on the heap. */
    anymax_status (*memory_wrap)(am_backend_device *device, void *data, am_memory **out_memory);
    void (*memory_destroy)(am_backend_device *device, am_memory *memory);

    anymax_status (*stream_create)(am_backend_device *device, am_backend_stream **out_stream);
    void (*stream_destroy)(am_backend_stream *stream);

    /* Finds or builds what the launch will run. Optional: NULL where nothing is built. */
    anymax_status (*row_prepare)(am_backend_stream *stream, const am_row_launch *launch);
    anymax_status (*product_prepare)(am_backend_stream *stream, const am_product_launch *launch);

    /* In stream order. A launch returns once it is queued (or done). What the driver refuses is
     * offered a second time when nothing else is queued. After an error the stream can be used as
     * before, and what the call was to do is done wholly or not at all; where that cannot be said
     * (work in pieces, of which some have run) the error is ANYMAX_ERROR_DEVICE_LOST. */
    anymax_status (*row)(am_backend_stream *stream, const am_row_launch *launch);
    anymax_status (*product)(am_backend_stream *stream, const am_product_launch *launch);
    anymax_status (*copy)(am_backend_stream *stream, am_memory *to, size_t to_offset,
                          am_memory *from, size_t from_offset, size_t size_bytes);
    /* `data` may be reused on return. Any offset and size, not only multiples of four. */
    anymax_status (*write)(am_backend_stream *stream, am_memory *to, size_t to_offset,
                           const void *data, size_t size_bytes);
    /* `data` is filled when sync succeeds, and never written to after a sync that failed. */
    anymax_status (*read)(am_backend_stream *stream, am_memory *from, size_t from_offset,
                          void *data, size_t size_bytes);
    /* Sets whole words to zero; offset and size are multiples of four. */
    anymax_status (*zero)(am_backend_stream *stream, am_memory *to, size_t to_offset,
                          size_t size_bytes);
    /* An error tells that work queued since the last sync has not run: each call's wholly, or not
     * at all. */
    anymax_status (*sync)(am_backend_stream *stream);
    /* Work from `together` true to false is torn if only its end is dropped: the device is lost
     * then. Optional: NULL where what is queued is never dropped. */
    void (*together)(am_backend_stream *stream, bool on);
} am_backend;

extern const am_backend am_cpu_backend, am_opencl_backend, am_vulkan_backend;

#endif
