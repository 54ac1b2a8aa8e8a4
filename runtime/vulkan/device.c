/* Opening and closing a Vulkan device, its limits, and the table of the backend. */
#include "vk.h"
#include "work.h"

#include <string.h>

/* ---------------------------------------------------------------- errors */

static const char *result_name(VkResult result) {
    switch (result) {
    case VK_NOT_READY:
        return "VK_NOT_READY";
    case VK_TIMEOUT:
        return "VK_TIMEOUT";
    case VK_INCOMPLETE:
        return "VK_INCOMPLETE";
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED:
        return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST:
        return "VK_ERROR_DEVICE_LOST";
    case VK_ERROR_MEMORY_MAP_FAILED:
        return "VK_ERROR_MEMORY_MAP_FAILED";
    case VK_ERROR_LAYER_NOT_PRESENT:
        return "VK_ERROR_LAYER_NOT_PRESENT";
    case VK_ERROR_EXTENSION_NOT_PRESENT:
        return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case VK_ERROR_FEATURE_NOT_PRESENT:
        return "VK_ERROR_FEATURE_NOT_PRESENT";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
        return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case VK_ERROR_TOO_MANY_OBJECTS:
        return "VK_ERROR_TOO_MANY_OBJECTS";
    case VK_ERROR_FRAGMENTED_POOL:
        return "VK_ERROR_FRAGMENTED_POOL";
    case VK_ERROR_OUT_OF_POOL_MEMORY:
        return "VK_ERROR_OUT_OF_POOL_MEMORY";
    case VK_ERROR_INVALID_SHADER_NV:
        return "VK_ERROR_INVALID_SHADER_NV";
    case VK_ERROR_UNKNOWN:
        return "VK_ERROR_UNKNOWN";
    default:
        return "an unnamed code";
    }
}

anymax_status am_vk_fail(am_backend_device *dev, VkResult result, const char *what) {
    anymax_status status = ANYMAX_ERROR_DEVICE;
    if (result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
        result == VK_ERROR_TOO_MANY_OBJECTS || result == VK_ERROR_OUT_OF_POOL_MEMORY)
        status = ANYMAX_ERROR_OUT_OF_MEMORY;
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) status = ANYMAX_ERROR_NOT_FOUND;
    if (result == VK_ERROR_DEVICE_LOST) {
        status = ANYMAX_ERROR_DEVICE_LOST;
        if (dev) atomic_store(&dev->lost, true);
    }
    return am_fail(status, "vulkan: %s: %s (%d)", what, result_name(result), (int)result);
}

anymax_status am_vk_alive(am_backend_device *dev) {
    if (!atomic_load(&dev->lost)) return ANYMAX_OK;
    return am_fail(ANYMAX_ERROR_DEVICE_LOST, "vulkan: the device was lost (VK_ERROR_DEVICE_LOST)");
}

anymax_status am_vk_torn(am_backend_device *dev, const char *what) {
    atomic_store(&dev->lost, true);
    return am_fail_torn(what);
}

VkResult am_vk_strikes(am_backend_device *dev, am_fault kind) {
    switch (am_fault_strikes(dev->faults, kind)) {
    case AM_FAULT_NONE:
        return VK_SUCCESS;
    case AM_FAULT_COMPILE:
        return VK_ERROR_INVALID_SHADER_NV;
    case AM_FAULT_SUBMIT:
    case AM_FAULT_WAIT:
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    case AM_FAULT_LOST:
        return VK_ERROR_DEVICE_LOST;
    default:
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    }
}

/* ---------------------------------------------------------------- enumerate */

static anymax_status vk_enumerate(void (*found)(void *user, uint32_t index,
                                                const anymax_device_info *info),
                                  void *user) {
    am_vk_instance vk;
    uint32_t usable = 0;
    anymax_status status = am_vk_instance_open(&vk);
    if (status != ANYMAX_OK) return status;
    for (uint32_t i = 0; i < vk.count; i++) {
        am_vk_facts facts;
        anymax_device_info info;
        am_vk_get_facts(&vk, vk.devices[i], &facts);
        if (!facts.usable) continue;
        am_vk_fill_info(&vk, i, &facts, &info);
        found(user, i, &info);
        usable++;
    }
    if (!usable)
        status = am_fail(ANYMAX_ERROR_UNSUPPORTED,
                         "vulkan: no device has Vulkan 1.1 and compute (%s)", vk.loader);
    am_vk_instance_close(&vk);
    return status;
}

/* ---------------------------------------------------------------- open */

static uint32_t lower(uint32_t value, uint32_t pretended) {
    return pretended && pretended < value ? pretended : value;
}

/* Turns of all its loops that an invocation of lavapipe may take; after 65,535 it leaves each loop
 * early, silently (Mesa 22.3.6). */
#define LAVAPIPE_TRIPS 65000u
/* Without a count from the driver: enough groups for any device. */
#define UNKNOWN_CORES 16u

static void set_capabilities(am_backend_device *dev) {
    const VkPhysicalDeviceLimits *l = &dev->facts.properties.limits;
    const am_pretend *p = &dev->pretend;
    uint32_t buffers = lower(l->maxPerStageDescriptorStorageBuffers, p->buffers);
    dev->range_bytes = l->maxStorageBufferRange;
    if (p->range_bytes && p->range_bytes < dev->range_bytes) dev->range_bytes = p->range_bytes;
    if (dev->range_bytes > 0x7fffffffu) dev->range_bytes = 0x7fffffffu;
    dev->max_groups = l->maxComputeWorkGroupCount[0] < l->maxComputeWorkGroupCount[1]
                          ? l->maxComputeWorkGroupCount[0]
                          : l->maxComputeWorkGroupCount[1];
    if (dev->max_groups > 65535) dev->max_groups = 65535;
    dev->max_groups = lower(dev->max_groups, p->groups);
    dev->max_items = lower(l->maxComputeWorkGroupInvocations, p->invocations);
    dev->max_items = lower(dev->max_items, l->maxComputeWorkGroupSize[0]);
    dev->shared_bytes = lower(l->maxComputeSharedMemorySize, p->shared_bytes);
    dev->subgroup = lower(dev->facts.subgroup ? dev->facts.subgroup : 1, p->subgroup);
    dev->trips = dev->facts.loops_end_early ? LAVAPIPE_TRIPS : 0;
    if (p->trips && (!dev->trips || p->trips < dev->trips)) dev->trips = p->trips;
    dev->cpu_shape = p->shape == AM_SHAPE_CPU ||
                     (p->shape == AM_SHAPE_AUTO &&
                      dev->facts.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU);
    dev->full = buffers >= 8 && dev->facts.storage16 && dev->facts.subgroup_reduce &&
                !p->no_storage16 && !p->no_subgroups;
    dev->bindings = dev->full ? 8 : buffers < 4 ? buffers : 4;
    dev->quads = dev->full && dev->cpu_shape;
    dev->size_control =
        dev->full && dev->facts.full_subgroups && dev->subgroup == dev->facts.subgroup;
    /* With no sub-groups to go by, a processor still has vectors. */
    if (p->no_subgroups || !dev->facts.subgroup_reduce) dev->subgroup = 8;
    dev->cores = dev->facts.cores ? dev->facts.cores : UNKNOWN_CORES;
}

static uint32_t alignment(uint32_t device, uint32_t pretended) {
    uint32_t align = device < 4 ? 4 : device;
    while (align < pretended) align *= 2; /* a larger alignment is the lower limit */
    return align;
}

static void set_limits(am_backend_device *dev) {
    const VkPhysicalDeviceLimits *l = &dev->facts.properties.limits;
    const am_pretend *p = &dev->pretend;
    am_limits *out = &dev->limits;
    memset(out, 0, sizeof *out);
    out->range_bytes = dev->range_bytes;
    out->alloc_bytes = dev->facts.max_alloc_bytes;
    if (p->alloc_bytes && p->alloc_bytes < out->alloc_bytes) out->alloc_bytes = p->alloc_bytes;
    out->offset_align = alignment((uint32_t)l->minStorageBufferOffsetAlignment, p->align);
    out->bindings = dev->bindings;
    if (dev->cpu_shape) {
        out->split_length = 65536;
        out->split_rows = 2 * dev->cores;
        out->part_length = 16384;
    } else {
        out->split_length = 16384;
        out->split_rows = 2 * dev->cores;
        out->part_length = 4096;
    }
    out->longest_row = am_vk_longest_row(dev);
    out->max_parts = 256;
    out->launch_work =
        dev->facts.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU && dev->cpu_shape
            ? UINT64_MAX
            : am_work_of_cores(dev->cores);
    if (p->work && p->work < out->launch_work) out->launch_work = p->work;
    out->row_block = 1;
}

static anymax_status create_device(am_backend_device *dev, VkPhysicalDevice physical) {
    const float priority = 1.0f;
    const char *extensions[3];
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = dev->facts.family,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkPhysicalDevice16BitStorageFeatures narrow = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
        .storageBuffer16BitAccess = VK_TRUE};
    VkPhysicalDeviceSubgroupSizeControlFeatures sizes = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES,
        .subgroupSizeControl = VK_TRUE,
        .computeFullSubgroups = VK_TRUE};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue,
                               .ppEnabledExtensionNames = extensions};
    bool complete = true;
    VkResult result;
    if (dev->full) info.pNext = &narrow;
    if (dev->size_control) {
        narrow.pNext = &sizes;
        if (dev->facts.size_control_extension)
            extensions[info.enabledExtensionCount++] = VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME;
    }
    if (dev->facts.portability_subset)
        extensions[info.enabledExtensionCount++] = "VK_KHR_portability_subset";
    if (dev->facts.keeps_infinities && dev->facts.float_controls_extension)
        extensions[info.enabledExtensionCount++] = VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME;
    result = am_vk_strikes(dev, AM_FAULT_OOM);
    if (result == VK_SUCCESS) result = dev->vk.vkCreateDevice(physical, &info, NULL, &dev->device);
    if (result != VK_SUCCESS) return am_vk_fail(dev, result, "vkCreateDevice");
#define GET_DEVICE(name)                                                     \
    dev->name = (PFN_##name)dev->vk.vkGetDeviceProcAddr(dev->device, #name); \
    complete = complete && dev->name;
    AM_VK_DEVICE_FUNCTIONS(GET_DEVICE)
    if (!complete)
        return am_fail(ANYMAX_ERROR_DEVICE, "vulkan: the driver of %s lacks functions",
                       dev->facts.properties.deviceName);
    dev->vkGetDeviceQueue(dev->device, dev->facts.family, 0, &dev->queue);
    return ANYMAX_OK;
}

static void vk_close(am_backend_device *dev) {
    if (!dev) return;
    if (dev->device && dev->vkDeviceWaitIdle) {
        if (!atomic_load(&dev->lost)) dev->vkDeviceWaitIdle(dev->device);
        am_vk_pipelines_close(dev);
        am_vk_blocks_free(dev);
    }
    if (dev->device && dev->vkDestroyDevice) dev->vkDestroyDevice(dev->device, NULL);
    am_vk_instance_close(&dev->vk);
    am_mutex_destroy(&dev->queue_lock);
    am_mutex_destroy(&dev->memory_lock);
    am_mutex_destroy(&dev->pipeline_lock);
    am_free(dev);
}

static anymax_status open_parts(am_backend_device *dev, uint32_t index) {
    anymax_status status = am_vk_instance_open(&dev->vk);
    if (status != ANYMAX_OK) return status;
    if (index >= dev->vk.count)
        return am_fail(ANYMAX_ERROR_NOT_FOUND, "vulkan: there is no device %u; there are %u", index,
                       dev->vk.count);
    am_vk_get_facts(&dev->vk, dev->vk.devices[index], &dev->facts);
    if (!dev->facts.usable)
        return am_fail(ANYMAX_ERROR_UNSUPPORTED, "vulkan: %s lacks Vulkan 1.1 or compute",
                       dev->facts.properties.deviceName);
    set_capabilities(dev);
    set_limits(dev);
    status = create_device(dev, dev->vk.devices[index]);
    return status == ANYMAX_OK ? am_vk_pipelines_open(dev) : status;
}

static anymax_status vk_open(uint32_t index, const am_device_options *options,
                             am_backend_device **out_device, am_limits *out_limits) {
    am_backend_device *dev = am_alloc_zero(1, sizeof *dev);
    anymax_status status;
    if (!dev) return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "vulkan: out of host memory");
    dev->pretend = options->pretend;
    dev->faults = options->faults;
    dev->cache_off = options->no_cache;
    atomic_init(&dev->lost, false);
    if (!am_mutex_init(&dev->queue_lock) || !am_mutex_init(&dev->memory_lock) ||
        !am_mutex_init(&dev->pipeline_lock))
        status = am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "vulkan: no mutex could be made");
    else
        status = open_parts(dev, index);
    if (status != ANYMAX_OK) {
        vk_close(dev);
        return status;
    }
    *out_limits = dev->limits;
    *out_device = dev;
    return ANYMAX_OK;
}

const am_backend am_vulkan_backend = {
    .name = "vulkan",
    .drivers = &am_vk_drivers,
    .enumerate = vk_enumerate,
    .open = vk_open,
    .close = vk_close,
    .memory_create = am_vk_memory_new,
    .memory_wrap = NULL, /* kernels do not reach host memory */
    .memory_destroy = am_vk_memory_destroy,
    .stream_create = am_vk_stream_create,
    .stream_destroy = am_vk_stream_destroy,
    .row_prepare = am_vk_row_prepare,
    .product_prepare = am_vk_product_prepare,
    .row = am_vk_row,
    .product = am_vk_product,
    .copy = am_vk_copy,
    .write = am_vk_write,
    .read = am_vk_read,
    .zero = am_vk_zero,
    .sync = am_vk_sync,
    .together = am_vk_together,
};
