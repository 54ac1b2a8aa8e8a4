/* Launches of the kernel `product`. */
#include "opencl.h"

anymax_status am_cl_product(am_backend_stream *stream, const am_product_launch *launch) {
    const am_cl_api *api = stream->device->api;
    const uint64_t tile_rows = stream->device->cpu_shape ? 64 : 32;
    const uint64_t across = ((uint64_t)launch->args.n + 31) / 32;
    am_product_args args = launch->args;
    uint64_t row = (uint64_t)args.row0, step;
    const uint64_t end = (uint64_t)args.m;
    cl_ulong bases[AM_SLOTS] = {0};
    cl_kernel kernel;
    uint32_t items;
    cl_uint s;
    cl_int code = CL_SUCCESS;
    anymax_status status;
    if (args.m <= args.row0 || args.n <= 0 || args.batch <= 0) return ANYMAX_OK;
    status = am_cl_kernel(stream, AM_CL_PRODUCT, 0, &kernel, &items);
    if (status != ANYMAX_OK) return status;
    for (s = 0; s < 3; s++) bases[s] = launch->binding[s].offset_bytes;
    code = api->clSetKernelArg(kernel, 1, sizeof bases, bases);
    for (s = 0; s < 3 && code == CL_SUCCESS; s++)
        code = api->clSetKernelArg(kernel, 2 + s, sizeof(cl_mem),
                                   launch->binding[s].memory ? &launch->binding[s].memory->object
                                                             : &stream->device->nothing);
    /* Rows are cut so that a dispatch stays within the device's number of groups. */
    step = stream->device->max_groups / (across * (uint64_t)args.batch);
    step = (step ? step : 1) * tile_rows;
    for (; row < end && code == CL_SUCCESS && status == ANYMAX_OK; row += step) {
        const uint64_t next = end - row > step ? row + step : end;
        const uint64_t down = (next - row + tile_rows - 1) / tile_rows;
        args.row0 = (int32_t)row;
        args.m = (int32_t)next;
        code = api->clSetKernelArg(kernel, 0, sizeof args, &args);
        if (code == CL_SUCCESS)
            status = am_cl_enqueue(stream, kernel, (size_t)(across * down * (uint64_t)args.batch),
                                   items, "product");
    }
    return code == CL_SUCCESS ? status : am_cl_status(code, "product");
}
