/* Streams: an in-order queue each. */
#include "stream.h"
#include "work.h"

#include <string.h>

/* Launches that may wait in the driver before they are handed to the device. */
#define FLUSH_AFTER 16

anymax_status am_cl_stream_create(am_backend_device *device, am_backend_stream **out_stream) {
    am_backend_stream *stream = am_alloc_zero(1, sizeof *stream);
    cl_int code;
    if (!stream) return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "opencl: no memory for a stream");
    stream->device = device;
    code = am_cl_strikes(device, AM_FAULT_OOM);
    if (code == CL_SUCCESS)
        stream->queue = device->api->clCreateCommandQueue(device->context, device->id, 0, &code);
    if (code != CL_SUCCESS) {
        am_free(stream);
        return am_cl_status(code, "creating a queue");
    }
    *out_stream = stream;
    return ANYMAX_OK;
}

void am_cl_stream_destroy(am_backend_stream *stream) {
    const am_cl_api *api;
    int i, j;
    if (!stream) return;
    api = stream->device->api;
    api->clFinish(stream->queue);
    for (i = 0; i < AM_PROGRAM_COUNT + 1; i++)
        for (j = 0; j < AM_CL_VARIANTS; j++)
            if (stream->kernel[i][j].kernel) api->clReleaseKernel(stream->kernel[i][j].kernel);
    api->clReleaseCommandQueue(stream->queue);
    am_free(stream);
}

/* A command, kept until the driver has taken it. */
typedef struct command {
    enum { KERNEL, COPY, WRITE, READ, CLEAR } verb;
    const char *doing; /* for messages */
    cl_kernel kernel;
    size_t items, group; /* of a kernel, in all and in a group */
    cl_mem from, to;
    size_t from_offset, to_offset, size_bytes;
    void *read;
    const void *written;
} command;

static cl_int enqueue(am_backend_stream *stream, const command *c) {
    static const cl_uint zero = 0;
    const am_cl_api *api = stream->device->api;
    const cl_command_queue queue = stream->queue;
    const cl_int struck = am_cl_strikes(stream->device, AM_FAULT_SUBMIT);
    if (struck != CL_SUCCESS) return struck;
    switch (c->verb) {
    case KERNEL:
        return api->clEnqueueNDRangeKernel(queue, c->kernel, 1, NULL, &c->items, &c->group, 0, NULL,
                                           NULL);
    case COPY:
        return api->clEnqueueCopyBuffer(queue, c->from, c->to, c->from_offset, c->to_offset,
                                        c->size_bytes, 0, NULL, NULL);
    case WRITE:
        return api->clEnqueueWriteBuffer(queue, c->to, CL_TRUE, c->to_offset, c->size_bytes,
                                         c->written, 0, NULL, NULL);
    case READ:
        /* Waiting, as a read that is queued could not be taken back when something fails. */
        return api->clEnqueueReadBuffer(queue, c->from, CL_TRUE, c->from_offset, c->size_bytes,
                                        c->read, 0, NULL, NULL);
    case CLEAR:
        break;
    }
    return api->clEnqueueFillBuffer(queue, c->to, &zero, sizeof zero, c->to_offset, c->size_bytes,
                                    0, NULL, NULL);
}

static cl_int finish(am_backend_stream *stream) {
    const cl_int struck = am_cl_strikes(stream->device, AM_FAULT_WAIT);
    return struck == CL_SUCCESS ? stream->device->api->clFinish(stream->queue) : struck;
}

/* When a queue cannot be waited for twice, nobody knows which of its commands have run. */
anymax_status am_cl_sync(am_backend_stream *stream) {
    anymax_status status;
    cl_int code = finish(stream);
    if (code != CL_SUCCESS) code = finish(stream);
    stream->queued = 0;
    stream->work = 0;
    status = am_cl_status(code, "waiting for the queue");
    return status == ANYMAX_OK || status == ANYMAX_ERROR_DEVICE_LOST ? status
                                                                     : am_fail_torn("the queue");
}

/* Hands over what is queued. Where that is refused, waiting does it too. */
static anymax_status flush(am_backend_stream *stream) {
    cl_int code = am_cl_strikes(stream->device, AM_FAULT_SUBMIT);
    if (code == CL_SUCCESS) code = stream->device->api->clFlush(stream->queue);
    stream->queued = 0;
    stream->work = 0;
    return code == CL_SUCCESS ? ANYMAX_OK : am_cl_sync(stream);
}

/* Some watchdogs take what is handed over together for one: commands that ask for more than
 * `launch_work` are not. What is refused is offered again when nothing else is queued. */
static anymax_status queue(am_backend_stream *stream, uint64_t work, const command *c) {
    const uint64_t most = stream->device->launch_work;
    anymax_status status = ANYMAX_OK;
    cl_int code;
    if (stream->queued && (stream->work > most || work > most - stream->work))
        status = flush(stream);
    if (status != ANYMAX_OK) return status;
    code = enqueue(stream, c);
    if (code != CL_SUCCESS) {
        status = am_cl_sync(stream);
        if (status != ANYMAX_OK) return status;
        code = enqueue(stream, c);
    }
    if (code != CL_SUCCESS) return am_cl_status(code, c->doing);
    stream->work = work < UINT64_MAX - stream->work ? stream->work + work : UINT64_MAX;
    stream->taken++;
    /* Queued work is handed over now and then, so that the device works while the host plans. */
    return ++stream->queued >= FLUSH_AFTER ? flush(stream) : ANYMAX_OK;
}

anymax_status am_cl_enqueue(am_backend_stream *stream, cl_kernel kernel, size_t groups,
                            uint32_t items, uint64_t work, const char *name) {
    const command c = {
        .verb = KERNEL, .doing = name, .kernel = kernel, .items = groups * items, .group = items};
    return queue(stream, work, &c);
}

anymax_status am_cl_launched(const am_backend_stream *stream, uint64_t before, anymax_status status,
                             const char *name) {
    if (status == ANYMAX_OK || status == ANYMAX_ERROR_DEVICE_LOST || stream->taken == before)
        return status;
    return am_fail_torn(name);
}

/* A copy, or zeros, in pieces that the device may take at once. */
static anymax_status queue_pieces(am_backend_stream *stream, command c) {
    const size_t most = am_copy_most(stream->device->launch_work);
    const uint64_t before = stream->taken;
    anymax_status status = ANYMAX_OK;
    size_t left = c.size_bytes;
    for (; left > 0 && status == ANYMAX_OK; left -= c.size_bytes) {
        c.size_bytes = left < most ? left : most;
        status = queue(stream, am_copy_work(c.size_bytes), &c);
        c.from_offset += c.size_bytes;
        c.to_offset += c.size_bytes;
    }
    return am_cl_launched(stream, before, status, c.doing);
}

anymax_status am_cl_copy(am_backend_stream *stream, am_memory *to, size_t to_offset,
                         am_memory *from, size_t from_offset, size_t size_bytes) {
    const command c = {.verb = COPY,
                       .doing = "copying",
                       .from = from->object,
                       .from_offset = from_offset,
                       .to = to->object,
                       .to_offset = to_offset,
                       .size_bytes = size_bytes};
    return queue_pieces(stream, c);
}

anymax_status am_cl_write(am_backend_stream *stream, am_memory *to, size_t to_offset,
                          const void *data, size_t size_bytes) {
    const command c = {.verb = WRITE,
                       .doing = "writing",
                       .to = to->object,
                       .to_offset = to_offset,
                       .written = data,
                       .size_bytes = size_bytes};
    return size_bytes ? queue(stream, 0, &c) : ANYMAX_OK;
}

anymax_status am_cl_read(am_backend_stream *stream, am_memory *from, size_t from_offset, void *data,
                         size_t size_bytes) {
    const command c = {.verb = READ,
                       .doing = "reading",
                       .from = from->object,
                       .from_offset = from_offset,
                       .read = data,
                       .size_bytes = size_bytes};
    return size_bytes ? queue(stream, 0, &c) : ANYMAX_OK;
}

anymax_status am_cl_zero(am_backend_stream *stream, am_memory *to, size_t to_offset,
                         size_t size_bytes) {
    const command c = {.verb = CLEAR,
                       .doing = "clearing",
                       .to = to->object,
                       .to_offset = to_offset,
                       .size_bytes = size_bytes};
    return queue_pieces(stream, c);
}
