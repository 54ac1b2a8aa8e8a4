/* Launches of the kernel `product`. */
#include "opencl.h"
#include "work.h"

/* Rows [row0, m) of the batches of `args`, cut so that a dispatch has at most `max_groups` groups.
 */
static anymax_status take_rows(am_backend_stream *stream, cl_kernel kernel, uint32_t items,
                               am_product_args args) {
    const uint64_t tile_rows = stream->device->cpu_shape ? 64 : 32;
    const uint64_t groups = ((uint64_t)args.n + 31) / 32 * (uint64_t)args.batch;
    const uint64_t end = (uint64_t)args.m;
    uint64_t row = (uint64_t)args.row0, step = stream->device->max_groups / groups;
    anymax_status status = ANYMAX_OK;
    step = (step ? step : 1) * tile_rows;
    for (; row < end && status == ANYMAX_OK; row += step) {
        const uint64_t next = end - row > step ? row + step : end;
        const uint64_t down = (next - row + tile_rows - 1) / tile_rows;
        args.row0 = (int32_t)row;
        args.m = (int32_t)next;
        status = am_cl_status(stream->device->api->clSetKernelArg(kernel, 0, sizeof args, &args),
                              "product");
        if (status == ANYMAX_OK)
            status = am_cl_enqueue(stream, kernel, (size_t)(groups * down), items,
                                   am_product_work(&args), "product");
    }
    return status;
}

anymax_status am_cl_product_prepare(am_backend_stream *stream, const am_product_launch *launch) {
    const am_product_args *args = &launch->args;
    cl_kernel kernel;
    uint32_t items;
    if (args->m <= args->row0 || args->n <= 0 || args->batch <= 0) return ANYMAX_OK;
    return am_cl_kernel(stream, AM_CL_PRODUCT, 0, &kernel, &items);
}

anymax_status am_cl_product(am_backend_stream *stream, const am_product_launch *launch) {
    const am_cl_api *api = stream->device->api;
    const uint64_t across = ((uint64_t)launch->args.n + 31) / 32, before = stream->taken;
    am_product_args args = launch->args;
    cl_ulong bases[AM_SLOTS] = {0};
    int32_t batch = 0, step;
    cl_kernel kernel;
    uint32_t items;
    cl_uint s;
    cl_int code;
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
    if (code != CL_SUCCESS) return am_cl_status(code, "product");
    step = (int32_t)(stream->device->max_groups / across);
    if (step < 1) step = 1;
    for (; batch < launch->args.batch && status == ANYMAX_OK; batch += args.batch) {
        args.batch = launch->args.batch - batch < step ? launch->args.batch - batch : step;
        for (s = 0; s < 3; s++)
            args.tensor[s].offset =
                launch->args.tensor[s].offset + batch * launch->args.tensor[s].batch;
        status = take_rows(stream, kernel, items, args);
    }
    return am_cl_launched(stream, before, status, "product");
}
