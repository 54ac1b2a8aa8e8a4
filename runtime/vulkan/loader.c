/* The Vulkan loader, opened at run time, and what its devices say of themselves. */
#include "vk.h"

#include <stdio.h>
#include <string.h>

const char *const am_vk_loaders[] = {
#if defined(_WIN32)
    "vulkan-1.dll",
#elif defined(__APPLE__)
    "libvulkan.1.dylib",
    "libvulkan.dylib",
    "libMoltenVK.dylib",
#else
    "libvulkan.so.1",
    "libvulkan.so",
#endif
    NULL,
};

static anymax_status open_loader(am_vk_instance *vk) {
    for (size_t i = 0; am_vk_loaders[i]; i++) {
        void *library = am_library_open(am_vk_loaders[i]), *symbol;
        if (!library) continue;
        symbol = am_library_symbol(library, "vkGetInstanceProcAddr");
        if (!symbol)
            return am_fail(ANYMAX_ERROR_UNSUPPORTED,
                           "vulkan: the loader %s lacks vkGetInstanceProcAddr", am_vk_loaders[i]);
        /* A function pointer out of an object pointer, as dlsym has it. */
        memcpy(&vk->vkGetInstanceProcAddr, &symbol, sizeof symbol);
        am_library_path(symbol, am_vk_loaders[i], vk->loader, sizeof vk->loader);
        return ANYMAX_OK;
    }
    return am_fail(ANYMAX_ERROR_NOT_FOUND, "vulkan: there is no Vulkan loader (%s)",
                   am_vk_loaders[0]);
}

static bool instance_extension(const am_vk_instance *vk, const char *name) {
    VkExtensionProperties *list;
    uint32_t count = 0;
    bool found = false;
    if (vk->vkEnumerateInstanceExtensionProperties(NULL, &count, NULL) != VK_SUCCESS) return false;
    list = am_alloc_zero(count ? count : 1, sizeof *list);
    if (!list) return false;
    if (vk->vkEnumerateInstanceExtensionProperties(NULL, &count, list) >= 0)
        for (uint32_t i = 0; i < count; i++) found |= strcmp(list[i].extensionName, name) == 0;
    am_free(list);
    return found;
}

static anymax_status create_instance(am_vk_instance *vk) {
    PFN_vkEnumerateInstanceVersion version_of =
        (PFN_vkEnumerateInstanceVersion)vk->vkGetInstanceProcAddr(NULL,
                                                                  "vkEnumerateInstanceVersion");
    uint32_t version = VK_API_VERSION_1_0;
    VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                             .pApplicationName = "anymax",
                             .pEngineName = "anymax",
                             .engineVersion = ANYMAX_VERSION_MINOR,
                             .apiVersion = VK_API_VERSION_1_3};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pApplicationInfo = &app};
    const char *portability = VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME;
    VkResult result;
    if (version_of) version_of(&version);
    if (version < VK_API_VERSION_1_1)
        return am_fail(ANYMAX_ERROR_UNSUPPORTED,
                       "vulkan: the loader %s knows Vulkan 1.0; 1.1 is needed", vk->loader);
    if (instance_extension(vk, portability)) {
        info.flags = VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
        info.ppEnabledExtensionNames = &portability;
        info.enabledExtensionCount = 1;
    }
    result = vk->vkCreateInstance(&info, NULL, &vk->handle);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
        return am_fail(ANYMAX_ERROR_NOT_FOUND,
                       "vulkan: the loader %s finds no driver (VK_ERROR_INCOMPATIBLE_DRIVER)",
                       vk->loader);
    return result == VK_SUCCESS ? ANYMAX_OK : am_vk_fail(NULL, result, "vkCreateInstance");
}

static anymax_status list_devices(am_vk_instance *vk) {
    VkResult result = vk->vkEnumeratePhysicalDevices(vk->handle, &vk->count, NULL);
    if (result == VK_SUCCESS && vk->count) {
        vk->devices = am_alloc_zero(vk->count, sizeof *vk->devices);
        if (!vk->devices) return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "vulkan: out of host memory");
        result = vk->vkEnumeratePhysicalDevices(vk->handle, &vk->count, vk->devices);
        if (result == VK_INCOMPLETE) result = VK_SUCCESS;
    }
    if (result != VK_SUCCESS) return am_vk_fail(NULL, result, "vkEnumeratePhysicalDevices");
    if (!vk->count) return am_fail(ANYMAX_ERROR_NOT_FOUND, "vulkan: no driver has a device");
    return ANYMAX_OK;
}

anymax_status am_vk_instance_open(am_vk_instance *vk) {
    anymax_status status;
    memset(vk, 0, sizeof *vk);
    status = open_loader(vk);
    if (status != ANYMAX_OK) return status;
#define GET_LOADER(name) vk->name = (PFN_##name)vk->vkGetInstanceProcAddr(NULL, #name);
    AM_VK_LOADER_FUNCTIONS(GET_LOADER)
    if (!vk->vkCreateInstance || !vk->vkEnumerateInstanceExtensionProperties)
        return am_fail(ANYMAX_ERROR_UNSUPPORTED, "vulkan: the loader %s lacks functions",
                       vk->loader);
    status = create_instance(vk);
    if (status != ANYMAX_OK) return status;
    bool complete = true;
#define GET_INSTANCE(name)                                               \
    vk->name = (PFN_##name)vk->vkGetInstanceProcAddr(vk->handle, #name); \
    complete = complete && vk->name;
    AM_VK_INSTANCE_FUNCTIONS(GET_INSTANCE)
    if (!complete)
        status =
            am_fail(ANYMAX_ERROR_UNSUPPORTED, "vulkan: the loader %s lacks functions", vk->loader);
    if (status == ANYMAX_OK) status = list_devices(vk);
    if (status != ANYMAX_OK) am_vk_instance_close(vk);
    return status;
}

void am_vk_instance_close(am_vk_instance *vk) {
    am_free(vk->devices);
    if (vk->handle && vk->vkDestroyInstance) vk->vkDestroyInstance(vk->handle, NULL);
    vk->devices = NULL;
    vk->handle = VK_NULL_HANDLE;
}

bool am_vk_has_extension(const am_vk_instance *vk, VkPhysicalDevice device, const char *name) {
    VkExtensionProperties *list;
    uint32_t count = 0;
    bool found = false;
    if (vk->vkEnumerateDeviceExtensionProperties(device, NULL, &count, NULL) != VK_SUCCESS)
        return false;
    list = am_alloc_zero(count ? count : 1, sizeof *list);
    if (!list) return false;
    if (vk->vkEnumerateDeviceExtensionProperties(device, NULL, &count, list) >= 0)
        for (uint32_t i = 0; i < count; i++) found |= strcmp(list[i].extensionName, name) == 0;
    am_free(list);
    return found;
}

static void find_queue_family(const am_vk_instance *vk, VkPhysicalDevice device, am_vk_facts *out) {
    VkQueueFamilyProperties families[32];
    uint32_t count = 32;
    bool found = false;
    vk->vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families);
    /* The first one with compute: it can copy too, and is the one that drivers test most. */
    for (uint32_t i = 0; i < count && !found; i++) {
        if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
        out->family = i;
        found = true;
    }
    out->usable = out->usable && found;
}

static void get_chained(const am_vk_instance *vk, VkPhysicalDevice device, am_vk_facts *out) {
    const VkSubgroupFeatureFlags reduce =
        VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT;
    bool v12 = out->properties.apiVersion >= VK_API_VERSION_1_2;
    bool controls =
        v12 || am_vk_has_extension(vk, device, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
    bool drivers = v12 || am_vk_has_extension(vk, device, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME);
    bool v13 = out->properties.apiVersion >= VK_API_VERSION_1_3;
    bool sizes =
        v13 || am_vk_has_extension(vk, device, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
    VkPhysicalDeviceSubgroupSizeControlProperties size_limits = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
    VkPhysicalDeviceSubgroupSizeControlFeatures size_features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
    VkPhysicalDeviceFloatControlsProperties floats = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
    VkPhysicalDeviceDriverProperties driver = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceSubgroupProperties groups = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
    VkPhysicalDeviceMaintenance3Properties three = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES, .pNext = &groups};
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES,
                                       .pNext = &three};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                       .pNext = &id};
    VkPhysicalDevice16BitStorageFeatures narrow = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &narrow};
    if (sizes) {
        size_limits.pNext = all.pNext;
        all.pNext = &size_limits;
        size_features.pNext = features.pNext;
        features.pNext = &size_features;
    }
    if (controls) {
        floats.pNext = all.pNext;
        all.pNext = &floats;
    }
    if (drivers) {
        driver.pNext = all.pNext;
        all.pNext = &driver;
    }
    vk->vkGetPhysicalDeviceProperties2(device, &all);
    vk->vkGetPhysicalDeviceFeatures2(device, &features);
    out->storage16 = narrow.storageBuffer16BitAccess;
    out->keeps_infinities = controls && floats.shaderSignedZeroInfNanPreserveFloat32;
    out->float_controls_extension = !v12;
    out->max_alloc_bytes = three.maxMemoryAllocationSize;
    out->subgroup = groups.subgroupSize;
    out->subgroup_reduce = (groups.supportedOperations & reduce) == reduce &&
                           (groups.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT);
    out->full_subgroups = sizes && size_features.subgroupSizeControl &&
                          size_features.computeFullSubgroups &&
                          size_limits.minSubgroupSize <= out->subgroup &&
                          out->subgroup <= size_limits.maxSubgroupSize &&
                          (size_limits.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT);
    out->size_control_extension = !v13;
    memcpy(out->uuid, id.deviceUUID, sizeof out->uuid);
    if (drivers)
        snprintf(out->driver, sizeof out->driver, "%.120s %.120s", driver.driverName,
                 driver.driverInfo);
    else
        snprintf(out->driver, sizeof out->driver, "driver 0x%x", out->properties.driverVersion);
    out->loops_end_early = (drivers && driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE) ||
                           strncmp(out->properties.deviceName, "llvmpipe", 8) == 0;
}

/* Compute units, where the vendor has an extension that tells them; 0 elsewhere (Intel is one). */
static uint32_t count_cores(const am_vk_instance *vk, VkPhysicalDevice device) {
    uint32_t cores = 0;
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
#ifdef VK_AMD_shader_core_properties2
    VkPhysicalDeviceShaderCoreProperties2AMD amd = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD};
    if (am_vk_has_extension(vk, device, VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME)) {
        all.pNext = &amd;
        vk->vkGetPhysicalDeviceProperties2(device, &all);
        cores = amd.activeComputeUnitCount;
    }
#endif
#ifdef VK_NV_shader_sm_builtins
    VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nvidia = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
    if (!cores && am_vk_has_extension(vk, device, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) {
        all.pNext = &nvidia;
        vk->vkGetPhysicalDeviceProperties2(device, &all);
        cores = nvidia.shaderSMCount;
    }
#endif
#ifdef VK_ARM_shader_core_builtins
    VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM arm = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM};
    if (!cores && am_vk_has_extension(vk, device, VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME)) {
        all.pNext = &arm;
        vk->vkGetPhysicalDeviceProperties2(device, &all);
        cores = arm.shaderCoreCount;
    }
#endif
    return cores;
}

void am_vk_get_facts(const am_vk_instance *vk, VkPhysicalDevice device, am_vk_facts *out) {
    memset(out, 0, sizeof *out);
    vk->vkGetPhysicalDeviceProperties(device, &out->properties);
    vk->vkGetPhysicalDeviceMemoryProperties(device, &out->memory);
    out->usable = out->properties.apiVersion >= VK_API_VERSION_1_1;
    if (!out->usable) return;
    find_queue_family(vk, device, out);
    get_chained(vk, device, out);
    out->portability_subset = am_vk_has_extension(vk, device, "VK_KHR_portability_subset");
    for (uint32_t i = 0; i < out->memory.memoryHeapCount; i++)
        if (out->memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
            out->memory_bytes += out->memory.memoryHeaps[i].size;
    out->cores = out->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU
                     ? am_cpu_count()
                     : count_cores(vk, device);
}

void am_vk_fill_info(const am_vk_instance *vk, uint32_t index, const am_vk_facts *facts,
                     anymax_device_info *out) {
    const uint8_t *u = facts->uuid;
    memset(out, 0, sizeof *out);
    snprintf(out->selector, sizeof out->selector, "vulkan:%u", index);
    snprintf(out->backend, sizeof out->backend, "vulkan");
    snprintf(out->name, sizeof out->name, "%s", facts->properties.deviceName);
    snprintf(out->driver, sizeof out->driver, "%s", facts->driver);
    snprintf(out->loader, sizeof out->loader, "%s", vk->loader);
    snprintf(out->uuid, sizeof out->uuid,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
             u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
             u[15]);
    switch (facts->properties.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        out->type = ANYMAX_DEVICE_CPU;
        break;
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        out->type = ANYMAX_DEVICE_GPU;
        break;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        out->type = ANYMAX_DEVICE_INTEGRATED;
        break;
    default:
        out->type = ANYMAX_DEVICE_OTHER;
        break;
    }
    out->vendor = facts->properties.vendorID;
    out->compute_units = facts->cores;
    out->memory_bytes = facts->memory_bytes;
    out->max_alloc_bytes = facts->max_alloc_bytes;
    out->max_binding_bytes = facts->properties.limits.maxStorageBufferRange;
    out->storage16 = facts->storage16;
}
