/* anymax/core.h: status codes, devices, buffers, tensors and streams.
 *
 * Everything here is backend neutral: the same calls drive the CPU, OpenCL and Vulkan devices.
 * No function prints, exits or aborts; each returns an anymax_status, and anymax_error_message()
 * says in one sentence what was wrong in the last failed call of the calling thread.
 *
 * Threads: "Thread-safe" means that any number of threads may make the call at the same time, with
 * the same handles. Where it says "one thread at a time", a handle belongs to no thread in
 * particular: another thread may go on with it once the caller has ordered the two (by a mutex,
 * say). Results do not depend on the number of threads or on what others do.
 */
#ifndef ANYMAX_CORE_H
#define ANYMAX_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(ANYMAX_STATIC)
#define ANYMAX_API
#elif defined(_WIN32)
#ifdef ANYMAX_BUILDING
#define ANYMAX_API __declspec(dllexport)
#else
#define ANYMAX_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define ANYMAX_API __attribute__((visibility("default")))
#else
#define ANYMAX_API
#endif

/* What sets a struct to its defaults in both languages: anymax_map map = ANYMAX_ZERO; */
#ifdef __cplusplus
#define ANYMAX_ZERO \
    {}
#else
#define ANYMAX_ZERO \
    { 0 }
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define ANYMAX_VERSION_MAJOR 0
#define ANYMAX_VERSION_MINOR 1
#define ANYMAX_VERSION_PATCH 0

/* Version of the library that is running, as major * 1000000 + minor * 1000 + patch. Compare it
 * with the three macros, which tell the version of the headers. Thread-safe. */
ANYMAX_API uint32_t anymax_version(void);

/* After INVALID, UNSUPPORTED and NOT_FOUND nothing has been touched. After OUT_OF_MEMORY and DEVICE
 * each output of the call is whole or as it was, and the next call may be made. After DEVICE_LOST
 * buffers hold nothing that counts (host tensors are whole or as they were); every handle can still
 * be released, and the device opened again. */
typedef enum anymax_status {
    ANYMAX_OK = 0,
    ANYMAX_ERROR_INVALID = 1,       /* wrong everywhere: an argument breaks the documented rules */
    ANYMAX_ERROR_UNSUPPORTED = 2,   /* right, but not on this device: worth a retry elsewhere */
    ANYMAX_ERROR_NOT_FOUND = 3,     /* no such device, operation, tensor or parameter */
    ANYMAX_ERROR_OUT_OF_MEMORY = 4, /* host or device memory ran out; the device stays usable */
    ANYMAX_ERROR_DEVICE = 5,      /* the driver refused or failed; its own code is in the message */
    ANYMAX_ERROR_DEVICE_LOST = 6, /* the device is gone; every later call on it says so too */
    ANYMAX_ERROR_DATA = 7         /* a kernel found data out of range (a target, for one) */
} anymax_status;

/* Short name of a status, e.g. "invalid argument". Never NULL. Thread-safe. */
ANYMAX_API const char *anymax_status_string(anymax_status status);

/* One sentence on the last failure in the calling thread, with the values at fault; "" if nothing
 * has failed. Valid until the next anymax call of this thread. Thread-safe. */
ANYMAX_API const char *anymax_error_message(void);

/* Warnings go to this callback (a cache that had to be rebuilt, for one); without one they are
 * dropped. A message is one line, without its end, valid during the call. It comes from whichever
 * thread met the cause, and from several at a time: the callback must be thread-safe, and must not
 * call the library. Set it before devices are opened: it is process wide. A call that another
 * thread has begun may still reach the callback that was set before. Thread-safe. */
typedef void (*anymax_log_callback)(void *user, const char *message);
ANYMAX_API void anymax_set_log(anymax_log_callback callback, void *user);

/* A number whose zero is a legal value other than its default: {0} means the default. */
typedef struct anymax_opt {
    bool set;
    float value;
} anymax_opt;

typedef struct anymax_opt_int {
    bool set;
    int64_t value;
} anymax_opt_int;

static inline anymax_opt anymax_some(float value) {
    anymax_opt o = {true, value};
    return o;
}

static inline anymax_opt_int anymax_some_int(int64_t value) {
    anymax_opt_int o = {true, value};
    return o;
}

/* ---------------------------------------------------------------- devices */

typedef enum anymax_device_type {
    ANYMAX_DEVICE_CPU = 0,        /* a processor, native or through a software driver */
    ANYMAX_DEVICE_GPU = 1,        /* discrete */
    ANYMAX_DEVICE_INTEGRATED = 2, /* shares memory with the host */
    ANYMAX_DEVICE_OTHER = 3
} anymax_device_type;

typedef struct anymax_device_info {
    char selector[32]; /* stable: "cpu", "opencl:0", "vulkan:1" */
    char backend[16];  /* "cpu", "opencl", "vulkan" */
    char name[256];    /* as the driver gives it */
    char driver[256];  /* driver name and version */
    char loader[256];  /* library through which the driver was reached; "" on the CPU */
    char uuid[37];     /* lower-case hexadecimal with dashes; "" if the driver has none */
    anymax_device_type type;
    uint32_t vendor;        /* PCI vendor id; 0 if unknown */
    uint32_t compute_units; /* cores, compute units; 0 if unknown */
    uint64_t memory_bytes;  /* memory of the device; 0 if unknown */
    uint64_t max_alloc_bytes;
    uint64_t max_binding_bytes; /* largest range of a buffer that one kernel argument can see */
    bool storage16;             /* 16-bit elements are read and written natively */
    char probe[64]; /* how its driver was tried before it was loaded: "in a child process, 90 ms",
                       "remembered ..."; "" on the CPU */
} anymax_device_info;

typedef struct anymax_device anymax_device;

/* Calls `visit` for each device found, the CPU first, and, for each backend that could not be used
 * (no loader, no driver, a failing driver), once with `info` NULL and the reason. Opens nothing.
 * Where the helper anymax-probe is installed, drivers are tried in a child process before this one
 * loads them (docs/robustness.md), when they are met for the first time, also by device_open.
 * `reason` is NULL for a device. Returning false from `visit` ends the walk. Thread-safe. */
typedef bool (*anymax_device_visitor)(void *user, const anymax_device_info *info,
                                      const char *reason);
ANYMAX_API anymax_status anymax_devices_visit(anymax_device_visitor visit, void *user);

/* All zero is the default of every field. */
typedef struct anymax_device_desc {
    /* Which device: a selector ("cpu", "opencl", "opencl:1", "vulkan:0"), a type ("gpu"), a vendor
     * ("amd", "intel", "nvidia", "qualcomm", "arm", "apple", "mesa"), a UUID, or a part of the
     * device's name, upper and lower case alike; the first device that fits is taken. "gpu" takes
     * discrete devices before integrated ones and never a processor. NULL or "": ANYMAX_DEVICE in
     * the environment, else the CPU. */
    const char *selector;
    uint32_t threads;    /* worker threads of a CPU device; 0: ANYMAX_THREADS, else one a core */
    const char *pretend; /* lowered limits, same grammar as ANYMAX_PRETEND; NULL: that variable */
    bool no_cache;       /* do not read or write compiled kernels on disk (also ANYMAX_CACHE=off) */
} anymax_device_desc;

/* Opens a device. One reference is returned in *out_device. Nothing is compiled yet. Thread-safe.
 */
ANYMAX_API anymax_status anymax_device_open(const anymax_device_desc *desc,
                                            anymax_device **out_device);
/* Takes another reference, or returns one; the last release closes the device, once its streams and
 * buffers are gone. NULL is accepted. Thread-safe. */
ANYMAX_API void anymax_device_retain(anymax_device *device);
ANYMAX_API void anymax_device_release(anymax_device *device);
/* Facts of an open device. Valid while the device is. Thread-safe. */
ANYMAX_API const anymax_device_info *anymax_device_get_info(const anymax_device *device);

/* ---------------------------------------------------------------- buffers */

typedef struct anymax_buffer anymax_buffer;

/* Memory of the device, uninitialised. size_bytes 0 is refused. Thread-safe. */
ANYMAX_API anymax_status anymax_buffer_create(anymax_device *device, size_t size_bytes,
                                              anymax_buffer **out_buffer);
/* As for devices. A stream keeps the buffers that its queued work needs. Thread-safe. */
ANYMAX_API void anymax_buffer_retain(anymax_buffer *buffer);
ANYMAX_API void anymax_buffer_release(anymax_buffer *buffer);
/* As it was created. 0 for NULL. Thread-safe. */
ANYMAX_API size_t anymax_buffer_size(const anymax_buffer *buffer);

/* ---------------------------------------------------------------- tensors */

typedef enum anymax_dtype {
    ANYMAX_F32 = 0,
    ANYMAX_F16 = 1,
    ANYMAX_BF16 = 2,
    ANYMAX_I32 = 3, /* indices */
    ANYMAX_I64 = 4, /* indices */
    ANYMAX_U8 = 5,  /* indices and masks */
    ANYMAX_BOOL = 6 /* masks: one byte, 0 or 1 */
} anymax_dtype;

/* Bytes of one element; 0 for an unknown type. Thread-safe. */
ANYMAX_API size_t anymax_dtype_size(anymax_dtype dtype);

#define ANYMAX_MAX_RANK 6

/* A strided view of device memory (`buffer`) or of host memory (`data`, with `buffer` NULL). Host
 * memory is read when the operation is called and written by the time the stream has been synced
 * (on the CPU: in place); it must stay valid until then. A call that reads what an earlier call of
 * the same stream is still to write waits for it. The first element lies at a multiple of
 * its size; what lies between the elements of a strided output stays as it is. */
typedef struct anymax_tensor {
    anymax_buffer *buffer; /* device memory, or NULL for host memory */
    void *data;            /* host memory; not used with a buffer */
    size_t offset_bytes;   /* of the first element, from the start of buffer or data */
    anymax_dtype dtype;    /* default f32 */
    uint32_t rank;         /* 0 to 6; rank 0 is a single number */
    int64_t shape[ANYMAX_MAX_RANK];
    bool strided;                    /* false: packed, last axis fastest; `stride` is not read */
    int64_t stride[ANYMAX_MAX_RANK]; /* in elements, >= 0; 0 repeats an element (inputs only) */
} anymax_tensor;

/* A packed tensor over host memory, or over a buffer. `shape` has `rank` entries. */
static inline anymax_tensor anymax_host_tensor(void *data, anymax_dtype dtype, uint32_t rank,
                                               const int64_t *shape) {
    anymax_tensor t = ANYMAX_ZERO;
    uint32_t i;
    t.data = data;
    t.dtype = dtype;
    t.rank = rank;
    for (i = 0; i < rank && i < ANYMAX_MAX_RANK; i++) t.shape[i] = shape[i];
    return t;
}

static inline anymax_tensor anymax_buffer_tensor(anymax_buffer *buffer, size_t offset_bytes,
                                                 anymax_dtype dtype, uint32_t rank,
                                                 const int64_t *shape) {
    anymax_tensor t = anymax_host_tensor(NULL, dtype, rank, shape);
    t.buffer = buffer;
    t.offset_bytes = offset_bytes;
    return t;
}

/* ---------------------------------------------------------------- streams */

typedef struct anymax_stream anymax_stream;

/* All zero is the default of every field. */
typedef struct anymax_stream_desc {
    bool plan_only; /* runs nothing: only tells anymax_stream_workspace_bytes */
    /* Scratch to use instead of the stream's own, by nothing else while the stream lives. An
     * operation that needs more is refused. NULL: its own, grown. */
    anymax_buffer *workspace;
} anymax_stream_desc;

/* An ordered queue of work of one device. Operations may return before they have run; failures that
 * come later reach the thread that syncs. A stream is used by one thread at a time, in this and all
 * other headers; streams of one device may be used from many threads at the same time, and may read
 * the same buffer. Between streams there is no order: sync the one that wrote a buffer before
 * another one reads or writes it. desc NULL means all defaults. Creating is thread-safe. */
ANYMAX_API anymax_status anymax_stream_create(anymax_device *device, const anymax_stream_desc *desc,
                                              anymax_stream **out_stream);
/* Waits for queued work, then frees. NULL is accepted. One thread at a time. */
ANYMAX_API void anymax_stream_release(anymax_stream *stream);
/* Waits until all queued work is done and host tensors are written; reports what failed since the
 * last sync (ANYMAX_ERROR_DATA: a kernel met an index out of range; that row was left out). After
 * another error each output since then is whole or as it was, and is not written to any more. */
ANYMAX_API anymax_status anymax_stream_sync(anymax_stream *stream);
/* The device that the stream belongs to. Thread-safe. */
ANYMAX_API anymax_device *anymax_stream_device(const anymax_stream *stream);
/* Largest scratch in bytes that one of the operations given to this stream so far needs (host
 * tensors of a device that cannot see host memory are staged in scratch too). A stream created with
 * `plan_only` answers without running anything. One thread at a time. */
ANYMAX_API size_t anymax_stream_workspace_bytes(const anymax_stream *stream);

/* Copies between host memory and a buffer, in stream order. write: `data` may be reused on return.
 * read: `data` is filled by the time of the next sync. A range outside the buffer is refused. */
ANYMAX_API anymax_status anymax_buffer_write(anymax_stream *stream, anymax_buffer *buffer,
                                             size_t offset_bytes, const void *data,
                                             size_t size_bytes);
ANYMAX_API anymax_status anymax_buffer_read(anymax_stream *stream, anymax_buffer *buffer,
                                            size_t offset_bytes, void *data, size_t size_bytes);
/* Copies within the device, in stream order. Overlapping ranges of one buffer are refused. */
ANYMAX_API anymax_status anymax_buffer_copy(anymax_stream *stream, anymax_buffer *to,
                                            size_t to_offset_bytes, anymax_buffer *from,
                                            size_t from_offset_bytes, size_t size_bytes);

#ifdef __cplusplus
}
#endif
#endif
