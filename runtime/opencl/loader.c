/* The OpenCL loader, opened at run time, and the names of its error codes. */
#include "opencl.h"

#include <string.h>

static struct {
    am_mutex lock;
    bool loaded;
    am_cl_api api;
} loader;

const char *const am_cl_loaders[] = {
#if defined(_WIN32)
    "OpenCL.dll",
#elif defined(__APPLE__)
    "/System/Library/Frameworks/OpenCL.framework/OpenCL",
#else
    "libOpenCL.so.1",
    "libOpenCL.so",
#endif
    NULL,
};

/* The name of the first function that is missing, or NULL. */
static const char *load_functions(void *library, am_cl_api *api) {
    void *symbol;
#define LOAD(result, name, arguments)           \
    symbol = am_library_symbol(library, #name); \
    if (!symbol) return #name;                  \
    memcpy(&api->name, &symbol, sizeof symbol);
    AM_CL_FUNCTIONS(LOAD)
#undef LOAD
    am_library_path(symbol, "", api->path, sizeof api->path);
    return NULL;
}

const am_cl_api *am_cl_load(void) {
    const am_cl_api *api = NULL;
    void *library = NULL;
    const char *missing;
    const char *name = "";
    size_t i;
    am_mutex_lock(&loader.lock);
    for (i = 0; !loader.loaded && !library && am_cl_loaders[i]; i++)
        library = am_library_open(name = am_cl_loaders[i]);
    /* Never closed again: drivers keep threads that run in it. */
    if (loader.loaded) {
        api = &loader.api;
    } else if (!library) {
        am_fail(ANYMAX_ERROR_UNSUPPORTED, "opencl: no loader found (%s)", am_cl_loaders[0]);
    } else if ((missing = load_functions(library, &loader.api)) != NULL) {
        am_fail(ANYMAX_ERROR_UNSUPPORTED, "opencl: the loader %s lacks %s: OpenCL 1.2 is needed",
                name, missing);
    } else {
        loader.loaded = true;
        api = &loader.api;
        if (!loader.api.path[0]) strncpy(loader.api.path, name, sizeof loader.api.path - 1);
    }
    am_mutex_unlock(&loader.lock);
    return api;
}

/* Codes of extensions and vendors that tell more than "error". */
#define AM_CL_PLATFORM_NOT_FOUND (-1001) /* cl_khr_icd */
#define AM_CL_NV_ERROR (-9999)           /* NVIDIA: an illegal access, or the watchdog */
#define AM_CL_INTEL_RESET (-6000)        /* Intel: the device was reset */

static const struct {
    cl_int code;
    const char *name;
    anymax_status status;
} codes[] = {
    {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND", ANYMAX_ERROR_NOT_FOUND},
    {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE", ANYMAX_ERROR_DEVICE_LOST},
    {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE", ANYMAX_ERROR_UNSUPPORTED},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE",
     ANYMAX_ERROR_OUT_OF_MEMORY},
    {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES", ANYMAX_ERROR_OUT_OF_MEMORY},
    {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY", ANYMAX_ERROR_OUT_OF_MEMORY},
    {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE", ANYMAX_ERROR_OUT_OF_MEMORY},
    {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE", ANYMAX_ERROR_DEVICE},
    {CL_INVALID_VALUE, "CL_INVALID_VALUE", ANYMAX_ERROR_DEVICE},
    {CL_INVALID_DEVICE, "CL_INVALID_DEVICE", ANYMAX_ERROR_DEVICE},
    {CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT", ANYMAX_ERROR_DEVICE_LOST},
    /* Queues are ours and valid: drivers say so of the queue of a device that was reset. */
    {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE", ANYMAX_ERROR_DEVICE_LOST},
    {CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT", ANYMAX_ERROR_DEVICE},
    {CL_INVALID_BINARY, "CL_INVALID_BINARY", ANYMAX_ERROR_DEVICE},
    {CL_INVALID_BUILD_OPTIONS, "CL_INVALID_BUILD_OPTIONS", ANYMAX_ERROR_DEVICE},
    {CL_INVALID_PROGRAM_EXECUTABLE, "CL_INVALID_PROGRAM_EXECUTABLE", ANYMAX_ERROR_DEVICE},
    {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME", ANYMAX_ERROR_DEVICE},
    {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS", ANYMAX_ERROR_DEVICE},
    {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE", ANYMAX_ERROR_DEVICE},
    {CL_INVALID_GLOBAL_WORK_SIZE, "CL_INVALID_GLOBAL_WORK_SIZE", ANYMAX_ERROR_DEVICE},
    {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
     ANYMAX_ERROR_DEVICE},
    {AM_CL_PLATFORM_NOT_FOUND, "CL_PLATFORM_NOT_FOUND_KHR", ANYMAX_ERROR_UNSUPPORTED},
    {AM_CL_NV_ERROR, "NVIDIA: illegal access or time limit", ANYMAX_ERROR_DEVICE_LOST},
    {AM_CL_INTEL_RESET, "Intel: device reset", ANYMAX_ERROR_DEVICE_LOST},
};

anymax_status am_cl_status(cl_int code, const char *doing) {
    size_t i;
    if (code == CL_SUCCESS) return ANYMAX_OK;
    for (i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].code == code)
            return am_fail(codes[i].status, "opencl: %s: %s (%d)", doing, codes[i].name, (int)code);
    return am_fail(ANYMAX_ERROR_DEVICE, "opencl: %s: error %d", doing, (int)code);
}
