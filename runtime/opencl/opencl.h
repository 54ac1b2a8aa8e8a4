/* Inside the OpenCL backend: the loader's functions, devices, programs, streams. */
#ifndef AM_OPENCL_H
#define AM_OPENCL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include "../backend.h"
#include "../error.h"
#include "../fault.h"
#include "../os.h"
#include "../probe.h"
#include "../program.h"

/* F(result, name, arguments): what is used of OpenCL 1.2. */
#define AM_CL_FUNCTIONS(F)                                                                         \
    F(cl_int, clGetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *))                            \
    F(cl_int, clGetPlatformInfo, (cl_platform_id, cl_platform_info, size_t, void *, size_t *))     \
    F(cl_int, clGetDeviceIDs,                                                                      \
      (cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *))                        \
    F(cl_int, clGetDeviceInfo, (cl_device_id, cl_device_info, size_t, void *, size_t *))           \
    F(cl_context, clCreateContext,                                                                 \
      (const cl_context_properties *, cl_uint, const cl_device_id *,                               \
       void(CL_CALLBACK *)(const char *, const void *, size_t, void *), void *, cl_int *))         \
    F(cl_int, clReleaseContext, (cl_context))                                                      \
    F(cl_command_queue, clCreateCommandQueue,                                                      \
      (cl_context, cl_device_id, cl_command_queue_properties, cl_int *))                           \
    F(cl_int, clReleaseCommandQueue, (cl_command_queue))                                           \
    F(cl_mem, clCreateBuffer, (cl_context, cl_mem_flags, size_t, void *, cl_int *))                \
    F(cl_int, clReleaseMemObject, (cl_mem))                                                        \
    F(cl_program, clCreateProgramWithSource,                                                       \
      (cl_context, cl_uint, const char **, const size_t *, cl_int *))                              \
    F(cl_program, clCreateProgramWithBinary,                                                       \
      (cl_context, cl_uint, const cl_device_id *, const size_t *, const unsigned char **,          \
       cl_int *, cl_int *))                                                                        \
    F(cl_int, clBuildProgram,                                                                      \
      (cl_program, cl_uint, const cl_device_id *, const char *,                                    \
       void(CL_CALLBACK *)(cl_program, void *), void *))                                           \
    F(cl_int, clGetProgramInfo, (cl_program, cl_program_info, size_t, void *, size_t *))           \
    F(cl_int, clGetProgramBuildInfo,                                                               \
      (cl_program, cl_device_id, cl_program_build_info, size_t, void *, size_t *))                 \
    F(cl_int, clReleaseProgram, (cl_program))                                                      \
    F(cl_kernel, clCreateKernel, (cl_program, const char *, cl_int *))                             \
    F(cl_int, clReleaseKernel, (cl_kernel))                                                        \
    F(cl_int, clSetKernelArg, (cl_kernel, cl_uint, size_t, const void *))                          \
    F(cl_int, clGetKernelWorkGroupInfo,                                                            \
      (cl_kernel, cl_device_id, cl_kernel_work_group_info, size_t, void *, size_t *))              \
    F(cl_int, clEnqueueNDRangeKernel,                                                              \
      (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,       \
       cl_uint, const cl_event *, cl_event *))                                                     \
    F(cl_int, clEnqueueReadBuffer,                                                                 \
      (cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *,       \
       cl_event *))                                                                                \
    F(cl_int, clEnqueueWriteBuffer,                                                                \
      (cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint, const cl_event *, \
       cl_event *))                                                                                \
    F(cl_int, clEnqueueCopyBuffer,                                                                 \
      (cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const cl_event *,        \
       cl_event *))                                                                                \
    F(cl_int, clEnqueueFillBuffer,                                                                 \
      (cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint, const cl_event *,  \
       cl_event *))                                                                                \
    F(cl_int, clFlush, (cl_command_queue))                                                         \
    F(cl_int, clFinish, (cl_command_queue))

typedef struct am_cl_api {
#define AM_CL_FIELD(result, name, arguments) result(CL_API_CALL *name) arguments;
    AM_CL_FUNCTIONS(AM_CL_FIELD)
#undef AM_CL_FIELD
    char path[256]; /* of the library that they come from */
} am_cl_api;

/* Names of the loader's library, best first, then NULL. */
extern const char *const am_cl_loaders[];
extern const am_drivers am_cl_drivers;
/* The functions, loaded by the first call. NULL with a message set if there is no usable loader. */
const am_cl_api *am_cl_load(void);

/* The status for what the driver answered, with its message: what was being done, and the code's
 * name. CL_SUCCESS is ANYMAX_OK. */
anymax_status am_cl_status(cl_int code, const char *doing);

/* Device, driver and platform: what a compiled program depends on beside its source and options. */
void am_cl_identity(const am_cl_api *api, cl_platform_id platform, cl_device_id id, char *out,
                    size_t size);

/* What a fault on purpose makes of a call: the code that the driver is to have answered with. */
cl_int am_cl_strikes(const struct am_backend_device *device, am_fault kind);

/* How a row kernel was compiled; see cl/row_form.cl. */
typedef enum am_cl_variant {
    AM_CL_ALONG, /* CPU shape */
    AM_CL_ACROSS,
    AM_CL_SHORT, /* GPU shape: few registers, small groups */
    AM_CL_CHIP,
    AM_CL_CHIP_LONG,
    AM_CL_STREAM,
    /* Added to one of the GPU shape where one of the extras (launch.h) is given. */
    AM_CL_EXTRAS = AM_CL_STREAM + 1 - AM_CL_SHORT,
    AM_CL_VARIANTS = AM_CL_STREAM + 1 + AM_CL_EXTRAS
} am_cl_variant;

/* Number of the kernel `product`, which has variant 0 alone. */
#define AM_CL_PRODUCT AM_PROGRAM_COUNT

typedef struct am_cl_kernel_program {
    cl_program program;
    uint32_t items; /* of a group */
} am_cl_kernel_program;

struct am_backend_device {
    const am_cl_api *api;
    cl_device_id id;
    cl_context context;
    am_device_options options;
    char identity[1024]; /* am_cl_identity */
    bool is_cpu;
    bool cpu_shape;        /* as is_cpu, unless forced */
    uint32_t units;        /* compute units */
    uint32_t max_groups;   /* of one dispatch */
    uint32_t group_items;  /* largest group that the device allows */
    uint64_t local_bytes;  /* local memory of a group */
    uint64_t memory_bytes; /* 0: no limit but the driver's */
    uint64_t launch_work;  /* of the limits */
    am_mutex lock;         /* guards what follows */
    uint64_t memory_used;
    am_cl_kernel_program built[AM_PROGRAM_COUNT + 1][AM_CL_VARIANTS];
    cl_mem nothing; /* bound where a slot is absent */
};

struct am_memory {
    cl_mem object;
    size_t size_bytes;
};

struct am_backend_stream {
    am_backend_device *device;
    cl_command_queue queue;
    uint32_t queued; /* commands since the last flush */
    uint64_t work;   /* and what they ask for */
    uint64_t taken;  /* commands that the queue took, ever */
    /* Kernel objects belong to a stream: setting arguments is not thread-safe. */
    struct {
        cl_kernel kernel;
        uint32_t items;
    } kernel[AM_PROGRAM_COUNT + 1][AM_CL_VARIANTS];
};

/* The kernel of a program, compiled if need be. */
anymax_status am_cl_kernel(am_backend_stream *stream, int program, am_cl_variant variant,
                           cl_kernel *out_kernel, uint32_t *out_items);
/* Name of the cached binary: `identity` is the device's. */
am_cache_key am_cl_key(const char *identity, const char *source, const char *options);
/* Columns that a lane keeps in registers. */
uint32_t am_cl_chip(am_cl_variant variant);
anymax_status am_cl_enqueue(am_backend_stream *stream, cl_kernel kernel, size_t groups,
                            uint32_t items, uint64_t work, const char *name);
/* Status of a launch that began after `before` commands: torn if some of its own were taken. */
anymax_status am_cl_launched(const am_backend_stream *stream, uint64_t before, anymax_status status,
                             const char *name);
/* The source of a program: AM_PROGRAM number, or AM_CL_PRODUCT. am_alloc'ed; NULL: no memory. */
char *am_cl_source(int program, bool cpu_shape);

anymax_status am_cl_row_prepare(am_backend_stream *stream, const am_row_launch *launch);
anymax_status am_cl_product_prepare(am_backend_stream *stream, const am_product_launch *launch);
anymax_status am_cl_row(am_backend_stream *stream, const am_row_launch *launch);
anymax_status am_cl_product(am_backend_stream *stream, const am_product_launch *launch);

#endif
