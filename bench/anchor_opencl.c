/* anchor_opencl.c: copy and read kernels of an OpenCL device, in a context of their own. */
#include "anchor.h"

#include "opencl/opencl.h" /* the list of functions */

#include <stdlib.h>
#include <string.h>

/* An item takes vectors that lie in a row on processors, where a core then runs along memory; on
 * GPUs they lie a whole range apart, so that neighbours always read neighbours. */
static const char source[] =
    "#ifdef PROCESSOR\n"
    "#define FIRST(turns) (get_global_id(0) * turns)\n"
    "#define STEP 1\n"
    "#define FOLD(v) fold4(v.lo.lo + v.lo.hi + v.hi.lo + v.hi.hi)\n"
    "#else\n"
    "#define FIRST(turns) get_global_id(0)\n"
    "#define STEP get_global_size(0)\n"
    "#define FOLD(v) fold4(v)\n"
    "#endif\n"
    "float fold4(float4 v) { return v.x + v.y + v.z + v.w; }\n"
    "kernel void copy(global VECTOR *to, global const VECTOR *from) {\n"
    "    size_t i = FIRST(COPY_TURNS), step = STEP;\n"
    "    for (int k = 0; k < COPY_TURNS; k++) to[i + k * step] = from[i + k * step];\n"
    "}\n"
    "kernel void read(global float *to, global const VECTOR *from) {\n"
    "    size_t i = FIRST(READ_TURNS), step = STEP;\n"
    "    VECTOR sum = from[i];\n"
    "    for (int k = 1; k < READ_TURNS; k++) sum += from[i + k * step];\n"
    "    to[get_global_id(0)] = FOLD(sum);\n"
    "}\n"
    "kernel void empty(global float *to) {}\n";

/* Vectors, and how many of them an item takes. */
typedef struct cl_shape {
    const char *options;
    size_t vector_bytes, turns[2]; /* by anchor_kind */
} cl_shape;
static const cl_shape processor_shape = {
    "-DPROCESSOR -DVECTOR=float16 -DCOPY_TURNS=64 -DREAD_TURNS=256", 64, {64, 256}};
static const cl_shape gpu_shape = {"-DVECTOR=float4 -DCOPY_TURNS=1 -DREAD_TURNS=16", 16, {1, 16}};

/* The first two are numbered as anchor_kind is. */
enum { EMPTY = 2, KERNELS };
static const char *const kernel_names[KERNELS] = {"copy", "read", "empty"};

typedef struct cl_state {
    am_cl_api api;
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel[KERNELS];
    cl_mem from, to;
    const cl_shape *shape;
} cl_state;

static bool failed(anchor *a, const char *doing, cl_int code) {
    return io_fail(&a->error, "%s: OpenCL error %d", doing, (int)code);
}

static bool load(anchor *a, am_cl_api *api) {
    void *library = am_library_open(a->info->loader), *symbol;
    if (!library) return io_fail(&a->error, "%s cannot be opened", a->info->loader);
#define LOAD(result, name, arguments)                                     \
    symbol = am_library_symbol(library, #name);                           \
    if (!symbol) return io_fail(&a->error, "the loader lacks %s", #name); \
    memcpy(&api->name, &symbol, sizeof symbol);
    AM_CL_FUNCTIONS(LOAD)
#undef LOAD
    return true;
}

/* The first device of that name: others of the same name are the same model. */
static bool find_device(anchor *a, cl_state *s) {
    cl_platform_id platforms[16];
    cl_device_id devices[32];
    cl_uint platform_count = 0, count, p, d;
    char name[sizeof a->info->name];
    cl_device_type type = 0;
    if (s->api.clGetPlatformIDs(16, platforms, &platform_count) != CL_SUCCESS) platform_count = 0;
    for (p = 0; p < platform_count && p < 16; p++) {
        if (s->api.clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 32, devices, &count) !=
            CL_SUCCESS)
            continue;
        for (d = 0; d < count && d < 32; d++) {
            memset(name, 0, sizeof name);
            s->api.clGetDeviceInfo(devices[d], CL_DEVICE_NAME, sizeof name - 1, name, NULL);
            if (strcmp(name, a->info->name) != 0) continue;
            s->id = devices[d];
            s->api.clGetDeviceInfo(s->id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
            s->shape = type & CL_DEVICE_TYPE_CPU ? &processor_shape : &gpu_shape;
            return true;
        }
    }
    return io_fail(&a->error, "no OpenCL device has the name %.200s", a->info->name);
}

static bool build(anchor *a, cl_state *s) {
    const char *text = source;
    cl_int code;
    int k;
    s->context = s->api.clCreateContext(NULL, 1, &s->id, NULL, NULL, &code);
    if (!s->context) return failed(a, "creating a context", code);
    s->queue = s->api.clCreateCommandQueue(s->context, s->id, 0, &code);
    if (!s->queue) return failed(a, "creating a queue", code);
    s->program = s->api.clCreateProgramWithSource(s->context, 1, &text, NULL, &code);
    if (!s->program) return failed(a, "creating a program", code);
    code = s->api.clBuildProgram(s->program, 1, &s->id, s->shape->options, NULL, NULL);
    if (code != CL_SUCCESS) return failed(a, "building the copy kernel", code);
    for (k = 0; k < KERNELS; k++) {
        s->kernel[k] = s->api.clCreateKernel(s->program, kernel_names[k], &code);
        if (!s->kernel[k]) return failed(a, "creating a kernel", code);
    }
    return true;
}

static bool cl_open(anchor *a) {
    cl_state *s = calloc(1, sizeof *s);
    a->state = s;
    if (!s) return io_fail(&a->error, "no memory");
    return load(a, &s->api) && find_device(a, s) && build(a, s);
}

static bool touched_buffer(anchor *a, cl_state *s, cl_mem *buffer, cl_uint word) {
    cl_int code;
    if (*buffer) s->api.clReleaseMemObject(*buffer);
    *buffer = s->api.clCreateBuffer(s->context, CL_MEM_READ_WRITE, a->length, NULL, &code);
    if (!*buffer) return failed(a, "creating a buffer", code);
    code = s->api.clEnqueueFillBuffer(s->queue, *buffer, &word, sizeof word, 0, a->length, 0, NULL,
                                      NULL);
    if (code == CL_SUCCESS) code = s->api.clFinish(s->queue);
    return code == CL_SUCCESS ? true : failed(a, "filling a buffer", code);
}

static bool cl_resize(anchor *a) {
    cl_state *s = a->state;
    int k;
    if (!touched_buffer(a, s, &s->from, ANCHOR_WORD) || !touched_buffer(a, s, &s->to, 0))
        return false;
    for (k = 0; k < KERNELS; k++) {
        cl_int code = s->api.clSetKernelArg(s->kernel[k], 0, sizeof s->to, &s->to);
        if (code == CL_SUCCESS && k != EMPTY)
            code = s->api.clSetKernelArg(s->kernel[k], 1, sizeof s->from, &s->from);
        if (code != CL_SUCCESS) return failed(a, "setting a kernel's argument", code);
    }
    return true;
}

static bool launch(anchor *a, int kernel, size_t items) {
    cl_state *s = a->state;
    cl_int code = s->api.clEnqueueNDRangeKernel(s->queue, s->kernel[kernel], 1, NULL, &items, NULL,
                                                0, NULL, NULL);
    if (code == CL_SUCCESS) code = s->api.clFinish(s->queue);
    return code == CL_SUCCESS ? true : failed(a, "running a kernel", code);
}

static bool cl_run(anchor *a) {
    const cl_state *s = a->state;
    return launch(a, (int)a->kind, a->length / s->shape->vector_bytes / s->shape->turns[a->kind]);
}

static bool cl_ends(anchor *a, uint32_t word[2]) {
    const cl_state *s = a->state;
    size_t i;
    for (i = 0; i < 2; i++) {
        size_t at = i ? a->length - sizeof *word : 0;
        cl_int code = s->api.clEnqueueReadBuffer(s->queue, s->to, CL_TRUE, at, sizeof *word,
                                                 &word[i], 0, NULL, NULL);
        if (code != CL_SUCCESS) return failed(a, "reading a buffer", code);
    }
    return true;
}

static bool cl_empty(anchor *a) {
    return launch(a, EMPTY, 1);
}

static void cl_close(anchor *a) {
    cl_state *s = a->state;
    int k;
    if (!s) return;
    if (s->from) s->api.clReleaseMemObject(s->from);
    if (s->to) s->api.clReleaseMemObject(s->to);
    for (k = 0; k < KERNELS; k++)
        if (s->kernel[k]) s->api.clReleaseKernel(s->kernel[k]);
    if (s->program) s->api.clReleaseProgram(s->program);
    if (s->queue) s->api.clReleaseCommandQueue(s->queue);
    if (s->context) s->api.clReleaseContext(s->context);
    free(s);
}

const anchor_backend anchor_opencl = {.name = "opencl",
                                      .open = cl_open,
                                      .resize = cl_resize,
                                      .run = cl_run,
                                      .ends = cl_ends,
                                      .empty = cl_empty,
                                      .close = cl_close};
