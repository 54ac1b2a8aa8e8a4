/* Streams of the OpenCL backend: in-order queues and what goes into them besides kernels. */
#ifndef AM_OPENCL_STREAM_H
#define AM_OPENCL_STREAM_H

#include "opencl.h"

anymax_status am_cl_stream_create(am_backend_device *device, am_backend_stream **out_stream);
void am_cl_stream_destroy(am_backend_stream *stream);
anymax_status am_cl_copy(am_backend_stream *stream, am_memory *to, size_t to_offset,
                         am_memory *from, size_t from_offset, size_t size_bytes);
anymax_status am_cl_write(am_backend_stream *stream, am_memory *to, size_t to_offset,
                          const void *data, size_t size_bytes);
anymax_status am_cl_read(am_backend_stream *stream, am_memory *from, size_t from_offset, void *data,
                         size_t size_bytes);
anymax_status am_cl_zero(am_backend_stream *stream, am_memory *to, size_t to_offset,
                         size_t size_bytes);
anymax_status am_cl_sync(am_backend_stream *stream);

#endif
