/* anchor.h: what a speed is held against: a copy, or a read, of as many bytes by the same device in
 * the same process, in turn with what is measured. Written without the library, whose own buffers,
 * queues and kernels it must not depend on: a context of its own on the same device. */
#ifndef ANYMAX_BENCH_ANCHOR_H
#define ANYMAX_BENCH_ANCHOR_H

#include "array.h"

#include <anymax/core.h>

typedef enum anchor_kind {
    ANCHOR_COPY, /* of half of the bytes: they are read, and written */
    ANCHOR_READ  /* of all of them, into one sum for each few KiB */
} anchor_kind;

typedef struct anchor anchor;

/* A backend's way to do it; all that fails says why in the anchor's `error`. */
typedef struct anchor_backend {
    const char *name; /* "cpu" */
    bool (*open)(anchor *a);
    /* Buffers of `length` bytes (a multiple of ANCHOR_GRAIN), touched: `from` is full of
     * ANCHOR_WORD, `to`, for copies alone, of zeros. */
    bool (*resize)(anchor *a);
    bool (*run)(anchor *a);
    /* The first and the last word of `to`. */
    bool (*ends)(anchor *a, uint32_t word[2]);
    bool (*empty)(
        anchor *a); /* starts a kernel that does nothing, and waits; NULL: no such thing */
    void (*close)(anchor *a); /* also after a failure */
} anchor_backend;

/* Bytes of a buffer are a multiple of this: what an item, a group or a thread takes at a time. */
#define ANCHOR_GRAIN ((size_t)65536)

#define ANCHOR_WORD UINT32_C(0x01010101) /* as a float, a tiny number */

struct anchor {
    const anchor_backend *backend;
    const anymax_device_info *info; /* of the device, as the library opened it */
    uint32_t threads;               /* of a CPU device */
    anchor_kind kind;
    size_t length; /* of each buffer */
    void *state;   /* of the backend */
    io_error error;
};

extern const anchor_backend anchor_cpu, anchor_opencl, anchor_vulkan;

/* The same device again; NULL with the reason in *error. `info` outlives the anchor. */
anchor *anchor_create(const anymax_device_info *info, uint32_t threads, io_error *error);
void anchor_free(anchor *a); /* accepts NULL */

/* Makes buffers for `bytes` read and written; fewer where one allocation takes no more. A copy is
 * tried: what it does not copy it would be fast at. */
bool anchor_prepare(anchor *a, anchor_kind kind, double bytes, io_error *error);
/* Bytes that a run moves. */
double anchor_bytes(const anchor *a);
const char *anchor_kind_name(anchor_kind kind);

/* For timing.h; `user` is the anchor. */
bool anchor_run(void *user);
bool anchor_empty(void *user);

#endif
