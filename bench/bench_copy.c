/* bench_copy.c: the yardstick: a device's own copy between two of its buffers. */
#include "bench.h"

#include <stdlib.h>

typedef struct copy_case {
    anymax_stream *stream;
    anymax_buffer *from, *to;
    size_t bytes;
} copy_case;

static bool copy_once(void *user) {
    copy_case *c = user;
    return anymax_buffer_copy(c->stream, c->to, 0, c->from, 0, c->bytes) == ANYMAX_OK &&
           anymax_stream_sync(c->stream) == ANYMAX_OK;
}

double bench_copy_gbps(anymax_device *device, anymax_stream *stream, double bytes, double seconds) {
    uint64_t most = anymax_device_get_info(device)->max_alloc_bytes;
    copy_case c = {stream, NULL, NULL, (size_t)(bytes / 2) / 4096 * 4096 + 4096};
    void *zeros;
    timing t;
    double gbps = 0;
    if (most && c.bytes > most) c.bytes = (size_t)most;
    zeros = calloc(1, c.bytes);
    if (zeros && anymax_buffer_create(device, c.bytes, &c.from) == ANYMAX_OK &&
        anymax_buffer_create(device, c.bytes, &c.to) == ANYMAX_OK &&
        anymax_buffer_write(stream, c.from, 0, zeros, c.bytes) == ANYMAX_OK &&
        anymax_buffer_write(stream, c.to, 0, zeros, c.bytes) == ANYMAX_OK &&
        timing_measure(copy_once, &c, seconds, &t))
        gbps = 2 * (double)c.bytes / t.median_ns;
    anymax_stream_sync(stream);
    anymax_buffer_release(c.from);
    anymax_buffer_release(c.to);
    free(zeros);
    return gbps;
}
