/* A Vulkan driver that does one thing, BEHAVIOUR, when it is listed: CRASH and its kin as soon as
 * the loader greets it, LATE_CRASH when an instance is made, FAIL refuses the instance. */
#include <vulkan/vulkan.h>

#include <string.h>

#include "misbehave.h"

static VKAPI_ATTR VkResult VKAPI_CALL extensions(const char *layer, uint32_t *count,
                                                 VkExtensionProperties *out) {
    (void)layer;
    (void)out;
    *count = 0;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL create(const VkInstanceCreateInfo *info,
                                             const VkAllocationCallbacks *memory, VkInstance *out) {
    (void)info;
    (void)memory;
    (void)out;
    if (BEHAVIOUR == LATE_CRASH) misbehave(CRASH);
    return VK_ERROR_INITIALIZATION_FAILED;
}

EXPORTED VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance instance,
                                                                            const char *name) {
    (void)instance;
    if (strcmp(name, "vkCreateInstance") == 0) return (PFN_vkVoidFunction)create;
    if (strcmp(name, "vkEnumerateInstanceExtensionProperties") == 0)
        return (PFN_vkVoidFunction)extensions;
    return NULL;
}

EXPORTED VKAPI_ATTR VkResult VKAPI_CALL
vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version) {
    misbehave(BEHAVIOUR);
    *version = BEHAVIOUR == GARBAGE ? 0 : 5;
    return BEHAVIOUR == GARBAGE ? VK_ERROR_INCOMPATIBLE_DRIVER : VK_SUCCESS;
}
