/* An OpenCL driver that does one thing, BEHAVIOUR, when it is listed. What it says of its platform
 * and its one device is just enough for that. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl_icd.h>

#include <string.h>

#include "misbehave.h"

struct _cl_platform_id {
    const cl_icd_dispatch *dispatch;
};
struct _cl_device_id {
    const cl_icd_dispatch *dispatch;
};

static cl_int answer(const void *data, size_t data_size, size_t size, void *out, size_t *out_size) {
    if (out_size) *out_size = data_size;
    if (!out) return CL_SUCCESS;
    if (size < data_size) return CL_INVALID_VALUE;
    memcpy(out, data, data_size);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL platform_info(cl_platform_id platform, cl_platform_info what, size_t size,
                                        void *out, size_t *out_size) {
    const char *text = "fake";
    (void)platform;
    if (what == CL_PLATFORM_EXTENSIONS) text = "cl_khr_icd";
    if (what == CL_PLATFORM_VERSION) text = "OpenCL 3.0 fake";
    return answer(text, strlen(text) + 1, size, out, out_size);
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t size,
                                      void *out, size_t *out_size) {
    const cl_bool yes = CL_TRUE;
    const cl_device_type type = CL_DEVICE_TYPE_ACCELERATOR;
    (void)device;
    if (BEHAVIOUR == LATE_CRASH) misbehave(CRASH);
    switch (what) {
    case CL_DEVICE_NAME: /* without its end, as some drivers have it */
        return answer("fake accelerator", 16, size, out, out_size);
    case CL_DEVICE_VERSION:
        return answer(BEHAVIOUR == OLD ? "OpenCL 1.1 fake" : "OpenCL 1.2 fake", 16, size, out,
                      out_size);
    case CL_DRIVER_VERSION:
        return answer("7.5", 4, size, out, out_size);
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_COMPILER_AVAILABLE:
    case CL_DEVICE_ENDIAN_LITTLE:
        return answer(&yes, sizeof yes, size, out, out_size);
    case CL_DEVICE_TYPE:
        return answer(&type, sizeof type, size, out, out_size);
    default:
        return CL_INVALID_VALUE;
    }
}

static cl_int CL_API_CALL devices(cl_platform_id platform, cl_device_type type, cl_uint room,
                                  cl_device_id *out, cl_uint *count);
static cl_context CL_API_CALL no_context(const cl_context_properties *properties, cl_uint count,
                                         const cl_device_id *list,
                                         void(CL_CALLBACK *notify)(const char *, const void *,
                                                                   size_t, void *),
                                         void *user, cl_int *code) {
    (void)properties;
    (void)count;
    (void)list;
    (void)notify;
    (void)user;
    if (code) *code = CL_DEVICE_NOT_AVAILABLE;
    return NULL;
}

static const cl_icd_dispatch table = {.clGetPlatformInfo = platform_info,
                                      .clGetDeviceIDs = devices,
                                      .clGetDeviceInfo = device_info,
                                      .clCreateContext = no_context};
static struct _cl_platform_id the_platform = {&table};
static struct _cl_device_id the_device = {&table};

static cl_int CL_API_CALL devices(cl_platform_id platform, cl_device_type type, cl_uint room,
                                  cl_device_id *out, cl_uint *count) {
    (void)platform;
    if (BEHAVIOUR == EMPTY) return CL_DEVICE_NOT_FOUND;
    if (!(type & (CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_DEFAULT))) return CL_DEVICE_NOT_FOUND;
    if (out && room > 0) out[0] = &the_device;
    if (count) *count = BEHAVIOUR == MANY ? 0xfffffff0u : 1;
    return CL_SUCCESS;
}

EXPORTED cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info what,
                                              size_t size, void *out, size_t *out_size) {
    return platform_info(platform, what, size, out, out_size);
}

static cl_int CL_API_CALL platforms(cl_uint room, cl_platform_id *out, cl_uint *count) {
    misbehave(BEHAVIOUR);
    if (BEHAVIOUR == FAIL) return -77777; /* no code of any specification */
    if (out && room > 0) out[0] = &the_platform;
    if (count) *count = BEHAVIOUR == GARBAGE ? 0xfffffff0u : 1;
    return CL_SUCCESS;
}

EXPORTED void *CL_API_CALL clGetExtensionFunctionAddress(const char *name) {
    cl_int(CL_API_CALL * function)(cl_uint, cl_platform_id *, cl_uint *) = platforms;
    void *address;
    memcpy(&address, &function, sizeof address);
    return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? address : NULL;
}

EXPORTED cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *out,
                                                   cl_uint *count) {
    return platforms(room, out, count);
}
