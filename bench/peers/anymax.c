/* anymax.c: this library, through its public interface, on host memory in place. */
#include "command.h"
#include "peers.h"

#include <stdlib.h>

typedef struct state {
    anymax_device *device;
    anymax_stream *stream;
    anymax_map map;
    anymax_tensor x, y;
} state;

static bool run(void *user) {
    state *s = user;
    return anymax_map_forward(s->stream, &s->map, &s->x, &s->y) == ANYMAX_OK &&
           anymax_stream_sync(s->stream) == ANYMAX_OK;
}

static void release(void *user) {
    state *s = user;
    if (!s) return;
    anymax_stream_release(s->stream);
    anymax_device_release(s->device);
    free(s);
}

bool peer_anymax(const peer_job *job, peer_call *call) {
    anymax_device_desc desc = {.selector = "cpu", .threads = job->threads};
    int64_t shape[2] = {job->rows.rows, job->rows.n};
    state *s = calloc(1, sizeof *s);
    if (!s) return false;
    s->map.kind = job->log_softmax ? ANYMAX_LOG_SOFTMAX : ANYMAX_SOFTMAX;
    s->x = anymax_host_tensor(job->rows.x, ANYMAX_F32, 2, shape);
    s->y = anymax_host_tensor(job->rows.y, ANYMAX_F32, 2, shape);
    if (anymax_device_open(&desc, &s->device) != ANYMAX_OK ||
        anymax_stream_create(s->device, NULL, &s->stream) != ANYMAX_OK) {
        cmd_error("%s", anymax_error_message());
        release(s);
        return false;
    }
    call->state = s;
    call->run = run;
    call->free = release;
    return true;
}
