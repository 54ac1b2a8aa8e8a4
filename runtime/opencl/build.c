/* Programs: compiled on first use, kept on disk, checked against the device's limits. */
#include "opencl.h"

#include <stdio.h>
#include <string.h>

#define AM_CL_LIST 8 /* candidates of a lane; cl/row.cl */

#define AM_CL_PRODUCT_BYTES (32u << 10)
#define AM_CL_PRODUCT_ITEMS 8u /* smallest group of product.cl, GPU shape */

static const struct {
    const char *suffix;
    uint32_t items, chip, extras;
} variants[AM_CL_VARIANTS] = {
    [AM_CL_ALONG] = {"_along", 1, 0, 1},
    [AM_CL_ACROSS] = {"_across", 1, 0, 1},
    [AM_CL_SHORT] = {"_group", 64, 4, 0},
    [AM_CL_CHIP] = {"_group", 256, 8, 0},
    [AM_CL_CHIP_LONG] = {"_group", 256, 16, 0},
    [AM_CL_STREAM] = {"_group", 256, 0, 0},
    [AM_CL_EXTRAS + AM_CL_SHORT] = {"_group", 64, 4, 1},
    [AM_CL_EXTRAS + AM_CL_CHIP] = {"_group", 256, 8, 1},
    [AM_CL_EXTRAS + AM_CL_STREAM] = {"_group", 256, 0, 1},
};

uint32_t am_cl_chip(am_cl_variant variant) {
    return variants[variant].chip;
}

static const char *program_name(int program) {
    return program == AM_CL_PRODUCT ? "product" : am_program_table[program].name;
}

static void kernel_name(int program, am_cl_variant variant, char *out, size_t size) {
    if (program == AM_CL_PRODUCT) {
        snprintf(out, size, "am_product");
    } else {
        snprintf(out, size, "am_%s%s", am_program_table[program].name, variants[variant].suffix);
    }
}

/* Local memory that a group of one item would take. */
static uint64_t local_bytes_an_item(int program, am_cl_variant variant) {
    const am_program *p = &am_program_table[program];
    int sums = 1, i;
    for (i = 0; i < 3; i++)
        if (p->reductions[i] > sums) sums = p->reductions[i];
    return 4u * (uint64_t)(sums + (p->candidate && !variants[variant].chip ? AM_CL_LIST : 0));
}

/* The largest group, at most what the variant is made for, that the device's limits allow. */
static uint32_t first_items(const am_backend_device *device, int program, am_cl_variant variant) {
    uint32_t items = variants[variant].items;
    if (device->cpu_shape) return 1;
    if (program == AM_CL_PRODUCT) {
        for (items = 64; items > AM_CL_PRODUCT_ITEMS && items > device->group_items;) items /= 2;
        return items;
    }
    while (items > 1 && (items > device->group_items ||
                         items * local_bytes_an_item(program, variant) > device->local_bytes))
        items /= 2;
    return items;
}

static void log_build(const am_backend_device *device, cl_program program, const char *name) {
    char message[512] = "";
    size_t size = 0;
    char *log = NULL;
    if (device->api->clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL,
                                           &size) == CL_SUCCESS)
        log = am_alloc(size + 1);
    if (log && device->api->clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, size,
                                                  log, NULL) == CL_SUCCESS) {
        const char *first;
        log[size] = 0;
        first = strstr(log, "error");
        snprintf(message, sizeof message, "%.500s", first ? first : log);
    }
    am_log("opencl: %s does not build: %s", name, message);
    am_free(log);
}

static void cache_store(const am_backend_device *device, cl_program program, const char *key) {
    size_t size = 0;
    unsigned char *binary;
    if (device->api->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) !=
            CL_SUCCESS ||
        size == 0)
        return;
    binary = am_alloc(size);
    if (!binary) return;
    if (device->api->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) ==
        CL_SUCCESS)
        am_cache_write(key, binary, size);
    am_free(binary);
}

/* The program from its binary on disk, or NULL. `kernel_name` is one of the kernels in it. */
static cl_program cache_load(const am_backend_device *device, const char *key, const char *options,
                             const char *kernel_name) {
    const am_cl_api *api = device->api;
    size_t size = 0;
    unsigned char *binary = am_cache_read(key, &size);
    cl_int code, binary_code = CL_SUCCESS;
    cl_program program;
    cl_kernel kernel = NULL;
    if (!binary) return NULL;
    program = api->clCreateProgramWithBinary(device->context, 1, &device->id, &size,
                                             (const unsigned char **)&binary, &binary_code, &code);
    if (program && code == CL_SUCCESS && binary_code == CL_SUCCESS)
        code = api->clBuildProgram(program, 1, &device->id, options, NULL, NULL);
    am_free(binary);
    if (program && code == CL_SUCCESS && binary_code == CL_SUCCESS)
        kernel = api->clCreateKernel(program, kernel_name, &code);
    if (kernel) {
        api->clReleaseKernel(kernel);
        return program;
    }
    if (program) api->clReleaseProgram(program);
    am_cache_reject(key, "is not what the driver takes");
    return NULL;
}

am_cache_key am_cl_key(const char *identity, const char *source, const char *options) {
    const am_cache_part parts[] = {
        {identity, strlen(identity)}, {source, strlen(source)}, {options, strlen(options)}};
    return am_cache_key_make("cl", parts, sizeof parts / sizeof *parts);
}

static anymax_status build(const am_backend_device *device, int number, am_cl_variant variant,
                           uint32_t items, cl_program *out) {
    const char *name = program_name(number);
    char options[128], kernel[96], doing[96];
    char *source = am_cl_source(number, device->cpu_shape);
    const char *sources;
    am_cache_key key;
    cl_program program = NULL;
    /* One call to the compiler, whether or not the cache spares it. */
    const cl_int struck = am_cl_strikes(device, AM_FAULT_COMPILE);
    cl_int code;
    if (!source) return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "opencl: no memory for a source");
    /* -w: some drivers print warnings to the host's stderr. AM_ROLLED: compilers for processors
     * gain nothing from registers that are arrays, and take long. AM_DEPTH: the tiles of the CPU
     * shape's product take 18 KiB, or 13. */
    snprintf(options, sizeof options,
             "-cl-std=CL1.2 -w -DAM_ITEMS=%u -DAM_CHIP=%u -DAM_EXTRAS=%u -DAM_LIST=%d%s%s",
             (unsigned)items, (unsigned)variants[variant].chip, (unsigned)variants[variant].extras,
             AM_CL_LIST, device->is_cpu ? " -DAM_ROLLED" : "",
             strcmp(name, "product") == 0 && device->local_bytes < AM_CL_PRODUCT_BYTES
                 ? " -DAM_DEPTH=32"
                 : "");
    key = am_cl_key(device->identity, source, options);
    kernel_name(number, variant, kernel, sizeof kernel);
    code = am_cl_strikes(device, AM_FAULT_OOM);
    if (code == CL_SUCCESS && struck == CL_SUCCESS && !device->options.no_cache)
        program = cache_load(device, key.name, options, kernel);
    if (!program && code == CL_SUCCESS) {
        sources = source;
        program = device->api->clCreateProgramWithSource(device->context, 1, &sources, NULL, &code);
        if (code == CL_SUCCESS) code = struck;
        if (code == CL_SUCCESS)
            code = device->api->clBuildProgram(program, 1, &device->id, options, NULL, NULL);
        if (code == CL_SUCCESS && !device->options.no_cache) cache_store(device, program, key.name);
        if (code == CL_BUILD_PROGRAM_FAILURE) log_build(device, program, name);
    }
    am_free(source);
    if (code != CL_SUCCESS) {
        if (program) device->api->clReleaseProgram(program);
        snprintf(doing, sizeof doing, "building %s", name);
        return am_cl_status(code, doing);
    }
    *out = program;
    return ANYMAX_OK;
}

/* What one program object holds is listed under its first user: both ways and forms on CPUs. */
static void place_of(const am_backend_device *device, int *program, am_cl_variant *variant) {
    if (*program == AM_CL_PRODUCT) {
        *variant = 0;
    } else if (device->cpu_shape) {
        *program &= ~1;
        *variant = AM_CL_ALONG;
    }
}

/* The program, built outside of the lock: of two threads that build the same one keeps its own. */
static anymax_status get_program(am_backend_device *device, int number, am_cl_variant variant,
                                 am_cl_kernel_program *out) {
    am_cl_kernel_program fresh = {0};
    anymax_status status;
    place_of(device, &number, &variant);
    am_mutex_lock(&device->lock);
    *out = device->built[number][variant];
    am_mutex_unlock(&device->lock);
    if (out->program) return ANYMAX_OK;
    fresh.items = first_items(device, number, variant);
    for (;;) {
        char name[96];
        cl_kernel kernel;
        cl_int code;
        size_t allowed = 0;
        cl_ulong local = 0;
        status = build(device, number, variant, fresh.items, &fresh.program);
        if (status != ANYMAX_OK) return status;
        kernel_name(number, variant, name, sizeof name);
        code = am_cl_strikes(device, AM_FAULT_OOM);
        kernel = NULL;
        if (code == CL_SUCCESS) kernel = device->api->clCreateKernel(fresh.program, name, &code);
        if (code == CL_SUCCESS) {
            device->api->clGetKernelWorkGroupInfo(kernel, device->id, CL_KERNEL_WORK_GROUP_SIZE,
                                                  sizeof allowed, &allowed, NULL);
            device->api->clGetKernelWorkGroupInfo(kernel, device->id, CL_KERNEL_LOCAL_MEM_SIZE,
                                                  sizeof local, &local, NULL);
            device->api->clReleaseKernel(kernel);
        }
        if (code == CL_SUCCESS && allowed >= fresh.items && local <= device->local_bytes) break;
        /* Registers or local memory do not suffice for this size: a step down. */
        device->api->clReleaseProgram(fresh.program);
        if (code != CL_SUCCESS) return am_cl_status(code, name);
        if (fresh.items <= (number == AM_CL_PRODUCT ? AM_CL_PRODUCT_ITEMS : 1))
            return am_fail(ANYMAX_ERROR_UNSUPPORTED,
                           "opencl: %s needs %llu bytes of local memory and %u items, the device "
                           "allows %llu and %llu",
                           name, (unsigned long long)local, (unsigned)fresh.items,
                           (unsigned long long)device->local_bytes, (unsigned long long)allowed);
        fresh.items /= 2;
    }
    am_mutex_lock(&device->lock);
    if (!device->built[number][variant].program) {
        device->built[number][variant] = fresh;
        fresh.program = NULL;
    }
    *out = device->built[number][variant];
    am_mutex_unlock(&device->lock);
    if (fresh.program) device->api->clReleaseProgram(fresh.program);
    return ANYMAX_OK;
}

anymax_status am_cl_kernel(am_backend_stream *stream, int program, am_cl_variant variant,
                           cl_kernel *out_kernel, uint32_t *out_items) {
    am_cl_kernel_program from;
    char name[96];
    cl_int code;
    if (!stream->kernel[program][variant].kernel) {
        anymax_status status = get_program(stream->device, program, variant, &from);
        if (status != ANYMAX_OK) return status;
        kernel_name(program, variant, name, sizeof name);
        code = am_cl_strikes(stream->device, AM_FAULT_OOM);
        if (code == CL_SUCCESS)
            stream->kernel[program][variant].kernel =
                stream->device->api->clCreateKernel(from.program, name, &code);
        if (code != CL_SUCCESS) {
            stream->kernel[program][variant].kernel = NULL;
            return am_cl_status(code, name);
        }
        stream->kernel[program][variant].items = from.items;
    }
    *out_kernel = stream->kernel[program][variant].kernel;
    *out_items = stream->kernel[program][variant].items;
    return ANYMAX_OK;
}
