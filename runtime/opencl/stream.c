/* Streams: an in-order queue each. */
#include "stream.h"

#include <string.h>

/* Launches that may wait in the driver before they are handed to the device. */
#define FLUSH_AFTER 16

anymax_status am_cl_stream_create(am_backend_device *device, am_backend_stream **out_stream) {
    am_backend_stream *stream = am_alloc_zero(1, sizeof *stream);
    cl_int code;
    if (!stream) return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "opencl: no memory for a stream");
    stream->device = device;
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

/* Before a command that asks for `work`: some watchdogs take what is handed over together for one.
 */
static cl_int make_room(am_backend_stream *stream, uint64_t work) {
    cl_int code = CL_SUCCESS;
    if (stream->queued && work > stream->device->launch_work - stream->work) {
        stream->queued = 0;
        stream->work = 0;
        code = stream->device->api->clFlush(stream->queue);
    }
    stream->work = work < UINT64_MAX - stream->work ? stream->work + work : UINT64_MAX;
    return code;
}

/* Queued work is handed over now and then, so that the device works while the host plans. */
static anymax_status queued(am_backend_stream *stream, cl_int code, const char *doing) {
    if (code == CL_SUCCESS && ++stream->queued >= FLUSH_AFTER) {
        stream->queued = 0;
        stream->work = 0;
        code = stream->device->api->clFlush(stream->queue);
    }
    return am_cl_status(code, doing);
}

anymax_status am_cl_enqueue(am_backend_stream *stream, cl_kernel kernel, size_t groups,
                            uint32_t items, uint64_t work, const char *name) {
    const size_t global = groups * items, local = items;
    const cl_int code = make_room(stream, work);
    if (code != CL_SUCCESS) return am_cl_status(code, name);
    return queued(stream,
                  stream->device->api->clEnqueueNDRangeKernel(stream->queue, kernel, 1, NULL,
                                                              &global, &local, 0, NULL, NULL),
                  name);
}

anymax_status am_cl_copy(am_backend_stream *stream, am_memory *to, size_t to_offset,
                         am_memory *from, size_t from_offset, size_t size_bytes) {
    if (size_bytes == 0) return ANYMAX_OK;
    return queued(stream,
                  stream->device->api->clEnqueueCopyBuffer(stream->queue, from->object, to->object,
                                                           from_offset, to_offset, size_bytes, 0,
                                                           NULL, NULL),
                  "copying");
}

anymax_status am_cl_write(am_backend_stream *stream, am_memory *to, size_t to_offset,
                          const void *data, size_t size_bytes) {
    if (size_bytes == 0) return ANYMAX_OK;
    return queued(stream,
                  stream->device->api->clEnqueueWriteBuffer(stream->queue, to->object, CL_TRUE,
                                                            to_offset, size_bytes, data, 0, NULL,
                                                            NULL),
                  "writing");
}

anymax_status am_cl_read(am_backend_stream *stream, am_memory *from, size_t from_offset, void *data,
                         size_t size_bytes) {
    if (size_bytes == 0) return ANYMAX_OK;
    return queued(stream,
                  stream->device->api->clEnqueueReadBuffer(stream->queue, from->object, CL_FALSE,
                                                           from_offset, size_bytes, data, 0, NULL,
                                                           NULL),
                  "reading");
}

anymax_status am_cl_zero(am_backend_stream *stream, am_memory *to, size_t to_offset,
                         size_t size_bytes) {
    static const cl_uint zero = 0;
    if (size_bytes == 0) return ANYMAX_OK;
    return queued(stream,
                  stream->device->api->clEnqueueFillBuffer(stream->queue, to->object, &zero,
                                                           sizeof zero, to_offset, size_bytes, 0,
                                                           NULL, NULL),
                  "clearing");
}

anymax_status am_cl_sync(am_backend_stream *stream) {
    stream->queued = 0;
    stream->work = 0;
    return am_cl_status(stream->device->api->clFinish(stream->queue), "waiting for the queue");
}
