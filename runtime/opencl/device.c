/* OpenCL devices and their memory, and the table of this backend. */
#include "opencl.h"
#include "stream.h"
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PLATFORMS 16
#define MAX_DEVICES 32 /* of a platform */

/* Extensions, by number so that no header beyond cl.h is needed. */
#define AM_CL_DEVICE_UUID_KHR 0x106A /* cl_khr_device_uuid */
/* Kernels index elements with 32 bits. */
#define RANGE_BYTES ((1ull << 31) - 64)

static void device_string(const am_cl_api *api, cl_device_id id, cl_device_info what, char *out,
                          size_t size) {
    memset(out, 0, size); /* not every driver ends its strings */
    if (api->clGetDeviceInfo(id, what, size, out, NULL) != CL_SUCCESS) out[0] = 0;
    out[size - 1] = 0;
}

static void platform_string(const am_cl_api *api, cl_platform_id id, cl_platform_info what,
                            char *out, size_t size) {
    memset(out, 0, size);
    if (api->clGetPlatformInfo(id, what, size, out, NULL) != CL_SUCCESS) out[0] = 0;
    out[size - 1] = 0;
}

static uint64_t device_number(const am_cl_api *api, cl_device_id id, cl_device_info what) {
    /* Drivers write 4 or 8 bytes, as the query's type is. */
    union {
        cl_uint narrow;
        cl_ulong wide;
    } value = {0};
    size_t size = 0;
    if (api->clGetDeviceInfo(id, what, sizeof value, &value, &size) != CL_SUCCESS) return 0;
    return size == sizeof value.narrow ? value.narrow : value.wide;
}

/* A device that OpenCL 1.2 kernels can run on: by its own version, not by its platform's. */
static bool usable(const am_cl_api *api, cl_device_id id) {
    char version[128];
    int major = 0, minor = 0;
    device_string(api, id, CL_DEVICE_VERSION, version, sizeof version);
    if (sscanf(version, "OpenCL %d.%d", &major, &minor) != 2) return false;
    return (major > 1 || (major == 1 && minor >= 2)) &&
           device_number(api, id, CL_DEVICE_AVAILABLE) != 0 &&
           device_number(api, id, CL_DEVICE_COMPILER_AVAILABLE) != 0;
}

typedef bool (*device_visitor)(void *user, const am_cl_api *api, uint32_t index,
                               cl_platform_id platform, cl_device_id id);

/* Visits the usable devices of all platforms in order, until `visit` returns false. */
static anymax_status each_device(device_visitor visit, void *user) {
    const am_cl_api *api = am_cl_load();
    cl_platform_id platforms[MAX_PLATFORMS] = {NULL};
    cl_device_id devices[MAX_DEVICES] = {NULL};
    cl_uint platform_count = 0, device_count, p, d;
    uint32_t index = 0;
    cl_int code;
    if (!api) return ANYMAX_ERROR_UNSUPPORTED;
    code = api->clGetPlatformIDs(MAX_PLATFORMS, platforms, &platform_count);
    if (code != CL_SUCCESS) return am_cl_status(code, "listing platforms");
    if (platform_count > MAX_PLATFORMS) platform_count = MAX_PLATFORMS;
    for (p = 0; p < platform_count; p++) {
        device_count = 0;
        if (api->clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices,
                                &device_count) != CL_SUCCESS)
            continue;
        if (device_count > MAX_DEVICES) device_count = MAX_DEVICES;
        for (d = 0; d < device_count; d++) {
            if (!devices[d] || !usable(api, devices[d])) continue;
            if (!visit(user, api, index++, platforms[p], devices[d])) return ANYMAX_OK;
        }
    }
    if (index == 0)
        return am_fail(ANYMAX_ERROR_UNSUPPORTED,
                       "opencl: %u platforms, but no device of OpenCL 1.2 or later",
                       (unsigned)platform_count);
    return ANYMAX_OK;
}

static anymax_device_type type_of(const am_cl_api *api, cl_device_id id) {
    const uint64_t type = device_number(api, id, CL_DEVICE_TYPE);
    if (type & CL_DEVICE_TYPE_GPU)
        return device_number(api, id, CL_DEVICE_HOST_UNIFIED_MEMORY) ? ANYMAX_DEVICE_INTEGRATED
                                                                     : ANYMAX_DEVICE_GPU;
    return type & CL_DEVICE_TYPE_CPU ? ANYMAX_DEVICE_CPU : ANYMAX_DEVICE_OTHER;
}

static uint64_t smaller(uint64_t a, uint64_t b) {
    return b != 0 && b < a ? b : a;
}

static uint64_t range_of(uint64_t alloc_bytes) {
    return smaller(RANGE_BYTES, alloc_bytes);
}

static void device_uuid(const am_cl_api *api, cl_device_id id, char *out, size_t size) {
    unsigned char b[16];
    out[0] = 0;
    if (api->clGetDeviceInfo(id, AM_CL_DEVICE_UUID_KHR, sizeof b, b, NULL) != CL_SUCCESS) return;
    snprintf(out, size, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
}

static void describe(const am_cl_api *api, uint32_t index, cl_platform_id platform, cl_device_id id,
                     anymax_device_info *info) {
    char platform_name[128], driver[120];
    memset(info, 0, sizeof *info);
    snprintf(info->selector, sizeof info->selector, "opencl:%u", (unsigned)index);
    snprintf(info->backend, sizeof info->backend, "opencl");
    device_string(api, id, CL_DEVICE_NAME, info->name, sizeof info->name);
    platform_string(api, platform, CL_PLATFORM_NAME, platform_name, sizeof platform_name);
    device_string(api, id, CL_DRIVER_VERSION, driver, sizeof driver);
    snprintf(info->driver, sizeof info->driver, "%s %s", platform_name, driver);
    snprintf(info->loader, sizeof info->loader, "%s", api->path);
    device_uuid(api, id, info->uuid, sizeof info->uuid);
    info->type = type_of(api, id);
    info->vendor = (uint32_t)device_number(api, id, CL_DEVICE_VENDOR_ID);
    info->compute_units = (uint32_t)device_number(api, id, CL_DEVICE_MAX_COMPUTE_UNITS);
    info->memory_bytes = device_number(api, id, CL_DEVICE_GLOBAL_MEM_SIZE);
    info->max_alloc_bytes = device_number(api, id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    info->max_binding_bytes = range_of(info->max_alloc_bytes);
    info->storage16 = true; /* vload_half and vstore_half are in the core */
}

typedef struct listing {
    void (*found)(void *user, uint32_t index, const anymax_device_info *info);
    void *user;
} listing;

static bool list_device(void *user, const am_cl_api *api, uint32_t index, cl_platform_id platform,
                        cl_device_id id) {
    const listing *list = user;
    anymax_device_info info;
    describe(api, index, platform, id, &info);
    list->found(list->user, index, &info);
    return true;
}

static anymax_status cl_enumerate(void (*found)(void *user, uint32_t index,
                                                const anymax_device_info *info),
                                  void *user) {
    listing list = {found, user};
    return each_device(list_device, &list);
}

typedef struct choice {
    uint32_t index;
    bool found;
    cl_platform_id platform;
    cl_device_id id;
} choice;

static bool choose_device(void *user, const am_cl_api *api, uint32_t index, cl_platform_id platform,
                          cl_device_id id) {
    choice *c = user;
    (void)api;
    if (index != c->index) return true;
    c->found = true;
    c->platform = platform;
    c->id = id;
    return false;
}

static void set_limits(am_backend_device *device, am_limits *limits) {
    const am_cl_api *api = device->api;
    const am_pretend *pretend = &device->options.pretend;
    const uint32_t units = (uint32_t)device_number(api, device->id, CL_DEVICE_MAX_COMPUTE_UNITS);
    uint64_t longest = device->cpu_shape ? 1u << 27 : AM_GPU_LONGEST_ROW;
    size_t sizes[3] = {1, 1, 1};
    memset(limits, 0, sizeof *limits);
    limits->alloc_bytes =
        smaller(device_number(api, device->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE), pretend->alloc_bytes);
    limits->range_bytes = smaller(range_of(limits->alloc_bytes), pretend->range_bytes);
    limits->offset_align = pretend->align > 4 ? pretend->align : 4;
    limits->bindings = (uint32_t)smaller(AM_SLOTS, pretend->buffers);
    limits->split_length = device->cpu_shape ? 262144 : 16384;
    limits->split_rows = device->cpu_shape ? 8 : 2 * (units ? units : 16);
    limits->part_length = device->cpu_shape ? 65536 : 4096;
    limits->max_parts = 256;
    limits->launch_work = UINT64_MAX;
    if (!device->is_cpu || !device->cpu_shape)
        limits->launch_work = am_work_of_cores(units ? units : 16);
    limits->launch_work = smaller(limits->launch_work, pretend->work);
    limits->row_block = device->cpu_shape ? 16 : 1; /* rows of a vector share a list */
    /* An item turns once for each lane of columns in each of some 48 passes, at most. */
    if (pretend->trips)
        longest =
            smaller(longest, (uint64_t)(pretend->trips / 48 + 1) * (device->cpu_shape ? 16 : 64));
    limits->longest_row = (uint32_t)longest;
    if (pretend->part) {
        limits->part_length = (pretend->part + 63) / 64 * 64;
        limits->split_length = pretend->part;
        limits->split_rows = UINT32_MAX;
    }
    device->launch_work = limits->launch_work;
    device->units = units ? units : 16;
    device->max_groups = (uint32_t)smaller(1u << 22, pretend->groups);
    device->memory_bytes = pretend->memory_bytes;
    device->local_bytes =
        smaller(device_number(api, device->id, CL_DEVICE_LOCAL_MEM_SIZE), pretend->shared_bytes);
    device->group_items =
        (uint32_t)smaller(device_number(api, device->id, CL_DEVICE_MAX_WORK_GROUP_SIZE), 1u << 16);
    if (api->clGetDeviceInfo(device->id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes,
                             NULL) == CL_SUCCESS)
        device->group_items = (uint32_t)smaller(device->group_items, sizes[0]);
    device->group_items = (uint32_t)smaller(device->group_items, pretend->invocations);
}

void am_cl_identity(const am_cl_api *api, cl_platform_id platform, cl_device_id id, char *out,
                    size_t size) {
    char name[256], version[128], driver[128], uuid[40], platform_name[128], platform_version[256];
    device_string(api, id, CL_DEVICE_NAME, name, sizeof name);
    device_string(api, id, CL_DEVICE_VERSION, version, sizeof version);
    device_string(api, id, CL_DRIVER_VERSION, driver, sizeof driver);
    device_uuid(api, id, uuid, sizeof uuid);
    platform_string(api, platform, CL_PLATFORM_NAME, platform_name, sizeof platform_name);
    platform_string(api, platform, CL_PLATFORM_VERSION, platform_version, sizeof platform_version);
    snprintf(out, size, "%s|%llx|%s|%s|%s|%s|%s", name,
             (unsigned long long)device_number(api, id, CL_DEVICE_VENDOR_ID), version, driver, uuid,
             platform_name, platform_version);
}

/* PoCL keeps on disk what it compiles (POCL_KERNEL_CACHE, on by default), and to give a program's
 * binary it compiles each of its kernels once more: 1.9 s (PoCL 3.1) for what is built in 0.7 s and
 * saves 25 ms next time. */
static bool keeps_kernels(const char *identity) {
    const char *on = getenv("POCL_KERNEL_CACHE");
    return strstr(identity, "|Portable Computing Language|") && (!on || *on == '1');
}

cl_int am_cl_strikes(const am_backend_device *device, am_fault kind) {
    switch (am_fault_strikes(device->options.faults, kind)) {
    case AM_FAULT_NONE:
        return CL_SUCCESS;
    case AM_FAULT_COMPILE:
        return CL_BUILD_PROGRAM_FAILURE;
    case AM_FAULT_SUBMIT:
    case AM_FAULT_WAIT:
        return CL_OUT_OF_RESOURCES;
    case AM_FAULT_LOST:
        return CL_DEVICE_NOT_AVAILABLE;
    default:
        return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    }
}

static void cl_close(am_backend_device *device) {
    int i, j;
    if (!device) return;
    for (i = 0; i < AM_PROGRAM_COUNT + 1; i++)
        for (j = 0; j < AM_CL_VARIANTS; j++)
            if (device->built[i][j].program)
                device->api->clReleaseProgram(device->built[i][j].program);
    if (device->nothing) device->api->clReleaseMemObject(device->nothing);
    if (device->context) device->api->clReleaseContext(device->context);
    am_mutex_destroy(&device->lock);
    am_free(device);
}

static anymax_status cl_open(uint32_t index, const am_device_options *options,
                             am_backend_device **out_device, am_limits *out_limits) {
    choice c = {.index = index};
    am_backend_device *device;
    cl_int code;
    anymax_status status = each_device(choose_device, &c);
    if (status != ANYMAX_OK) return status;
    if (!c.found)
        return am_fail(ANYMAX_ERROR_NOT_FOUND, "opencl: there is no device %u", (unsigned)index);
    device = am_alloc_zero(1, sizeof *device);
    if (!device || !am_mutex_init(&device->lock)) {
        am_free(device);
        return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "opencl: no memory for a device");
    }
    device->api = am_cl_load();
    device->id = c.id;
    device->options = *options;
    device->is_cpu = type_of(device->api, c.id) == ANYMAX_DEVICE_CPU;
    device->cpu_shape = options->pretend.shape == AM_SHAPE_AUTO
                            ? device->is_cpu
                            : options->pretend.shape == AM_SHAPE_CPU;
    am_cl_identity(device->api, c.platform, c.id, device->identity, sizeof device->identity);
    if (!options->always_cache && keeps_kernels(device->identity)) device->options.no_cache = true;
    set_limits(device, out_limits);
    {
        cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              (cl_context_properties)c.platform, 0};
        code = am_cl_strikes(device, AM_FAULT_OOM);
        if (code == CL_SUCCESS)
            device->context = device->api->clCreateContext(properties, 1, &c.id, NULL, NULL, &code);
    }
    if (code == CL_SUCCESS) code = am_cl_strikes(device, AM_FAULT_OOM);
    if (code == CL_SUCCESS)
        device->nothing =
            device->api->clCreateBuffer(device->context, CL_MEM_READ_WRITE, 64, NULL, &code);
    if (code != CL_SUCCESS) {
        cl_close(device);
        return am_cl_status(code, "opening the device");
    }
    *out_device = device;
    return ANYMAX_OK;
}

/* Memory that is counted against what the device is pretended to have. */
static bool count_memory(am_backend_device *device, uint64_t size_bytes) {
    bool fits;
    am_mutex_lock(&device->lock);
    fits = device->memory_bytes == 0 || (size_bytes <= device->memory_bytes &&
                                         device->memory_used <= device->memory_bytes - size_bytes);
    if (fits) device->memory_used += size_bytes;
    am_mutex_unlock(&device->lock);
    return fits;
}

static void uncount_memory(am_backend_device *device, uint64_t size_bytes) {
    am_mutex_lock(&device->lock);
    device->memory_used -= size_bytes;
    am_mutex_unlock(&device->lock);
}

static anymax_status cl_memory_create(am_backend_device *device, size_t size_bytes,
                                      am_memory **out_memory) {
    am_memory *memory;
    char doing[64];
    cl_int code;
    if (!count_memory(device, size_bytes))
        return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY,
                       "opencl: %llu bytes do not fit beside the %llu in use of %llu",
                       (unsigned long long)size_bytes, (unsigned long long)device->memory_used,
                       (unsigned long long)device->memory_bytes);
    memory = am_alloc_zero(1, sizeof *memory);
    if (!memory) {
        uncount_memory(device, size_bytes);
        return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "opencl: no host memory for a buffer");
    }
    memory->size_bytes = size_bytes;
    code = am_cl_strikes(device, AM_FAULT_OOM);
    if (code == CL_SUCCESS)
        memory->object = device->api->clCreateBuffer(device->context, CL_MEM_READ_WRITE, size_bytes,
                                                     NULL, &code);
    if (code != CL_SUCCESS) {
        am_free(memory);
        uncount_memory(device, size_bytes);
        snprintf(doing, sizeof doing, "creating a buffer of %llu bytes",
                 (unsigned long long)size_bytes);
        return am_cl_status(code, doing);
    }
    *out_memory = memory;
    return ANYMAX_OK;
}

static void cl_memory_destroy(am_backend_device *device, am_memory *memory) {
    if (!memory) return;
    device->api->clReleaseMemObject(memory->object);
    uncount_memory(device, memory->size_bytes);
    am_free(memory);
}

const am_backend am_opencl_backend = {
    .name = "opencl",
    .drivers = &am_cl_drivers,
    .enumerate = cl_enumerate,
    .open = cl_open,
    .close = cl_close,
    .memory_create = cl_memory_create,
    .memory_wrap = NULL, /* host memory is not seen by kernels */
    .memory_destroy = cl_memory_destroy,
    .stream_create = am_cl_stream_create,
    .stream_destroy = am_cl_stream_destroy,
    .row_prepare = am_cl_row_prepare,
    .product_prepare = am_cl_product_prepare,
    .row = am_cl_row,
    .product = am_cl_product,
    .copy = am_cl_copy,
    .write = am_cl_write,
    .read = am_cl_read,
    .zero = am_cl_zero,
    .sync = am_cl_sync,
};
