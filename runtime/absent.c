/* Stands in for the backends that this build leaves out: they have no devices, and say why. */
#include "backend.h"
#include "error.h"

typedef void (*found_callback)(void *user, uint32_t index, const anymax_device_info *info);

#ifndef AM_HAVE_OPENCL
static anymax_status opencl_enumerate(found_callback found, void *user) {
    (void)found;
    (void)user;
    return am_fail(ANYMAX_ERROR_UNSUPPORTED, "opencl: not built into this library");
}

static anymax_status opencl_open(uint32_t index, const am_device_options *options,
                                 am_backend_device **out_device, am_limits *out_limits) {
    (void)index;
    (void)options;
    (void)out_device;
    (void)out_limits;
    return opencl_enumerate(NULL, NULL);
}

const am_backend am_opencl_backend = {
    .name = "opencl", .enumerate = opencl_enumerate, .open = opencl_open};
#endif

#ifndef AM_HAVE_VULKAN
static anymax_status vulkan_enumerate(found_callback found, void *user) {
    (void)found;
    (void)user;
    return am_fail(ANYMAX_ERROR_UNSUPPORTED, "vulkan: not built into this library");
}

static anymax_status vulkan_open(uint32_t index, const am_device_options *options,
                                 am_backend_device **out_device, am_limits *out_limits) {
    (void)index;
    (void)options;
    (void)out_device;
    (void)out_limits;
    return vulkan_enumerate(NULL, NULL);
}

const am_backend am_vulkan_backend = {
    .name = "vulkan", .enumerate = vulkan_enumerate, .open = vulkan_open};
#endif

/* A translation unit must not be empty where both are built. */
typedef int am_absent_unused;
