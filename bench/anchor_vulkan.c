/* anchor_vulkan.c: copy and read shaders of a Vulkan device, on a VkDevice of their own. */
#include "anchor.h"

#include "vulkan/vk.h" /* the lists of functions */

#include "anchor_vulkan_spirv.h"

#include <stdlib.h>
#include <string.h>

#define EMPTY 2 /* the kernel behind those of anchor_kind */
#define KERNELS 3
#define PEEK 2          /* number of the buffer that the host reads */
#define WIDE_ITEMS 256u /* of a group on GPUs: 4 KiB of vec4 */
#define LANES 8u        /* likewise on processors */

typedef struct vk_state {
    am_vk_instance vk;
#define MEMBER(name) PFN_##name name;
    AM_VK_DEVICE_FUNCTIONS(MEMBER)
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    VkPhysicalDeviceMemoryProperties memory_types;
    VkBuffer buffer[3]; /* to, from, and one that the host reads */
    VkDeviceMemory memory[3];
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool set_pool;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkShaderModule module;
    VkPipeline pipeline[KERNELS];
    VkCommandPool pool;
    VkCommandBuffer commands;
    int recorded; /* which kernel is in them; -1: none */
    VkFence fence;
} vk_state;

static bool good(anchor *a, VkResult result, const char *doing) {
    return result == VK_SUCCESS ? true
                                : io_fail(&a->error, "%s: Vulkan error %d", doing, (int)result);
}

static bool has_portability(const am_vk_instance *vk) {
    VkExtensionProperties *list;
    uint32_t count = 0, i;
    bool found = false;
    if (vk->vkEnumerateInstanceExtensionProperties(NULL, &count, NULL) != VK_SUCCESS) return false;
    list = calloc(count + 1, sizeof *list);
    if (list && vk->vkEnumerateInstanceExtensionProperties(NULL, &count, list) == VK_SUCCESS)
        for (i = 0; i < count; i++)
            found |=
                strcmp(list[i].extensionName, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME) == 0;
    free(list);
    return found;
}

static bool open_instance(anchor *a, am_vk_instance *vk) {
    static const char *const portability = VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME;
    VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                             .apiVersion = VK_API_VERSION_1_1};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pApplicationInfo = &app};
    void *library = am_library_open(a->info->loader), *symbol;
    symbol = library ? am_library_symbol(library, "vkGetInstanceProcAddr") : NULL;
    if (!symbol) return io_fail(&a->error, "%s cannot be opened", a->info->loader);
    memcpy(&vk->vkGetInstanceProcAddr, &symbol, sizeof symbol);
#define GET(name) vk->name = (PFN_##name)vk->vkGetInstanceProcAddr(vk->handle, #name);
    AM_VK_LOADER_FUNCTIONS(GET)
    if (has_portability(vk)) {
        info.flags = VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
        info.ppEnabledExtensionNames = &portability;
        info.enabledExtensionCount = 1;
    }
    if (!good(a, vk->vkCreateInstance(&info, NULL, &vk->handle), "vkCreateInstance")) return false;
    AM_VK_INSTANCE_FUNCTIONS(GET)
    return true;
}

/* The number in "vulkan:1" is the driver's own. */
static bool find_device(anchor *a, vk_state *s, VkPhysicalDevice *out) {
    VkPhysicalDevice devices[32];
    VkQueueFamilyProperties families[16];
    uint32_t count = 32, index = (uint32_t)strtoul(strchr(a->info->selector, ':') + 1, NULL, 10);
    VkResult result = s->vk.vkEnumeratePhysicalDevices(s->vk.handle, &count, devices);
    if (result < 0 || index >= count)
        return io_fail(&a->error, "there is no Vulkan device %u", (unsigned)index);
    *out = devices[index];
    s->vk.vkGetPhysicalDeviceMemoryProperties(*out, &s->memory_types);
    count = 16;
    s->vk.vkGetPhysicalDeviceQueueFamilyProperties(*out, &count, families);
    for (s->family = 0; s->family < count; s->family++)
        if (families[s->family].queueFlags & VK_QUEUE_COMPUTE_BIT) return true;
    return io_fail(&a->error, "no queue of compute");
}

static bool open_device(anchor *a, vk_state *s) {
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue};
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    if (!open_instance(a, &s->vk) || !find_device(a, s, &physical)) return false;
    queue.queueFamilyIndex = s->family;
    if (!good(a, s->vk.vkCreateDevice(physical, &info, NULL, &s->device), "vkCreateDevice"))
        return false;
#define GET_DEVICE(name) s->name = (PFN_##name)s->vk.vkGetDeviceProcAddr(s->device, #name);
    AM_VK_DEVICE_FUNCTIONS(GET_DEVICE)
    s->vkGetDeviceQueue(s->device, s->family, 0, &s->queue);
    return true;
}

static bool make_pipelines(anchor *a, vk_state *s) {
    bool processor = a->info->type == ANYMAX_DEVICE_CPU;
    uint32_t constants[3] = {processor ? LANES : WIDE_ITEMS, 0, processor};
    const VkSpecializationMapEntry entries[3] = {{0, 0, 4}, {1, 4, 4}, {2, 8, 4}};
    const VkSpecializationInfo special = {3, entries, sizeof constants, constants};
    VkShaderModuleCreateInfo module = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                       .codeSize = sizeof anchor_vulkan_spirv,
                                       .pCode = anchor_vulkan_spirv};
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .pName = "main",
                  .pSpecializationInfo = &special},
        .layout = s->layout};
    if (!good(a, s->vkCreateShaderModule(s->device, &module, NULL, &s->module),
              "vkCreateShaderModule"))
        return false;
    info.stage.module = s->module;
    for (constants[1] = 0; constants[1] < KERNELS; constants[1]++)
        if (!good(a,
                  s->vkCreateComputePipelines(s->device, VK_NULL_HANDLE, 1, &info, NULL,
                                              &s->pipeline[constants[1]]),
                  "vkCreateComputePipelines"))
            return false;
    return true;
}

static bool make_set(anchor *a, vk_state *s) {
    const VkDescriptorSetLayoutBinding bindings[2] = {
        {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}};
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2};
    VkDescriptorSetLayoutCreateInfo set_layout = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = 2,
        .pBindings = bindings};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &s->set_layout};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = 1,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                       .descriptorSetCount = 1,
                                       .pSetLayouts = &s->set_layout};
    if (!good(a, s->vkCreateDescriptorSetLayout(s->device, &set_layout, NULL, &s->set_layout),
              "vkCreateDescriptorSetLayout") ||
        !good(a, s->vkCreatePipelineLayout(s->device, &layout, NULL, &s->layout),
              "vkCreatePipelineLayout") ||
        !good(a, s->vkCreateDescriptorPool(s->device, &pool, NULL, &s->set_pool),
              "vkCreateDescriptorPool"))
        return false;
    set.descriptorPool = s->set_pool;
    return good(a, s->vkAllocateDescriptorSets(s->device, &set, &s->set),
                "vkAllocateDescriptorSets");
}

static bool make_commands(anchor *a, vk_state *s) {
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = s->family};
    VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    s->recorded = -1;
    if (!good(a, s->vkCreateCommandPool(s->device, &pool, NULL, &s->pool), "vkCreateCommandPool"))
        return false;
    commands.commandPool = s->pool;
    return good(a, s->vkAllocateCommandBuffers(s->device, &commands, &s->commands),
                "vkAllocateCommandBuffers") &&
           good(a, s->vkCreateFence(s->device, &fence, NULL, &s->fence), "vkCreateFence");
}

static bool vk_open(anchor *a) {
    vk_state *s = calloc(1, sizeof *s);
    a->state = s;
    if (!s) return io_fail(&a->error, "no memory");
    return open_device(a, s) && make_set(a, s) && make_pipelines(a, s) && make_commands(a, s);
}

/* ---------------------------------------------------------------- commands */

static bool begin(anchor *a, vk_state *s) {
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    return good(a, s->vkBeginCommandBuffer(s->commands, &info), "vkBeginCommandBuffer");
}

static bool submit(anchor *a, vk_state *s) {
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &s->commands};
    return good(a, s->vkQueueSubmit(s->queue, 1, &info, s->fence), "vkQueueSubmit") &&
           good(a, s->vkWaitForFences(s->device, 1, &s->fence, VK_TRUE, UINT64_MAX),
                "vkWaitForFences") &&
           good(a, s->vkResetFences(s->device, 1, &s->fence), "vkResetFences");
}

/* Recorded once, submitted each time; a fence lies between any two runs. */
static bool run_kernel(anchor *a, int kernel) {
    vk_state *s = a->state;
    uint32_t blocks = (uint32_t)(a->length / ANCHOR_GRAIN), wide = 1;
    if (kernel == ANCHOR_COPY && a->info->type != ANYMAX_DEVICE_CPU)
        wide = (uint32_t)(ANCHOR_GRAIN / 16 / WIDE_ITEMS);
    if (s->recorded != kernel) {
        s->recorded = -1;
        if (!begin(a, s)) return false;
        s->vkCmdBindPipeline(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, s->pipeline[kernel]);
        s->vkCmdBindDescriptorSets(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, s->layout, 0, 1,
                                   &s->set, 0, NULL);
        s->vkCmdDispatch(s->commands, wide, kernel == EMPTY ? 1 : blocks, 1);
        if (!good(a, s->vkEndCommandBuffer(s->commands), "vkEndCommandBuffer")) return false;
        s->recorded = kernel;
    }
    return submit(a, s);
}

static bool vk_run(anchor *a) {
    return run_kernel(a, (int)a->kind);
}

static bool vk_empty(anchor *a) {
    return run_kernel(a, EMPTY);
}

/* ---------------------------------------------------------------- buffers */

static void drop_buffers(vk_state *s) {
    int i;
    for (i = 0; i <= PEEK; i++) {
        if (s->buffer[i]) s->vkDestroyBuffer(s->device, s->buffer[i], NULL);
        if (s->memory[i]) s->vkFreeMemory(s->device, s->memory[i], NULL);
        s->buffer[i] = VK_NULL_HANDLE;
        s->memory[i] = VK_NULL_HANDLE;
    }
}

/* The first type with these properties, of no special kind; else any that is allowed. */
static uint32_t memory_type(const vk_state *s, uint32_t allowed, uint32_t wanted) {
    const uint32_t odd = VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT;
    uint32_t t;
    for (t = 0; t < s->memory_types.memoryTypeCount; t++) {
        uint32_t flags = s->memory_types.memoryTypes[t].propertyFlags;
        if ((allowed >> t & 1) && (flags & wanted) == wanted && !(flags & odd)) return t;
    }
    for (t = 0; t + 1 < s->memory_types.memoryTypeCount && !(allowed >> t & 1); t++) {
    }
    return t;
}

static bool make_buffer(anchor *a, vk_state *s, uint32_t number, VkDeviceSize size,
                        uint32_t properties) {
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = size,
                               .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                        VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                        VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements need;
    if (!good(a, s->vkCreateBuffer(s->device, &info, NULL, &s->buffer[number]), "vkCreateBuffer"))
        return false;
    s->vkGetBufferMemoryRequirements(s->device, s->buffer[number], &need);
    memory.allocationSize = need.size;
    memory.memoryTypeIndex = memory_type(s, need.memoryTypeBits, properties);
    return good(a, s->vkAllocateMemory(s->device, &memory, NULL, &s->memory[number]),
                "vkAllocateMemory") &&
           good(a, s->vkBindBufferMemory(s->device, s->buffer[number], s->memory[number], 0),
                "vkBindBufferMemory");
}

static void bind_buffer(vk_state *s, uint32_t binding) {
    VkDescriptorBufferInfo range = {s->buffer[binding], 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = s->set,
                                  .dstBinding = binding,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = &range};
    s->vkUpdateDescriptorSets(s->device, 1, &write, 0, NULL);
}

static bool vk_resize(anchor *a) {
    const uint32_t local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                   visible =
                       VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    vk_state *s = a->state;
    drop_buffers(s);
    s->recorded = -1;
    if (!make_buffer(a, s, 0, a->length, local) || !make_buffer(a, s, 1, a->length, local) ||
        !make_buffer(a, s, PEEK, 2 * sizeof(uint32_t), visible) || !begin(a, s))
        return false;
    bind_buffer(s, 0);
    bind_buffer(s, 1);
    s->vkCmdFillBuffer(s->commands, s->buffer[0], 0, VK_WHOLE_SIZE, 0);
    s->vkCmdFillBuffer(s->commands, s->buffer[1], 0, VK_WHOLE_SIZE, ANCHOR_WORD);
    return good(a, s->vkEndCommandBuffer(s->commands), "vkEndCommandBuffer") && submit(a, s);
}

static bool vk_ends(anchor *a, uint32_t word[2]) {
    vk_state *s = a->state;
    const VkBufferCopy ranges[2] = {{0, 0, sizeof *word},
                                    {a->length - sizeof *word, sizeof *word, sizeof *word}};
    const VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    void *mapped;
    s->recorded = -1;
    if (!begin(a, s)) return false;
    s->vkCmdCopyBuffer(s->commands, s->buffer[0], s->buffer[PEEK], 2, ranges);
    s->vkCmdPipelineBarrier(s->commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                            0, 1, &to_host, 0, NULL, 0, NULL);
    if (!good(a, s->vkEndCommandBuffer(s->commands), "vkEndCommandBuffer") || !submit(a, s) ||
        !good(a, s->vkMapMemory(s->device, s->memory[PEEK], 0, VK_WHOLE_SIZE, 0, &mapped),
              "vkMapMemory"))
        return false;
    memcpy(word, mapped, 2 * sizeof *word); /* freeing the memory ends the mapping */
    return true;
}

static void vk_close(anchor *a) {
    vk_state *s = a->state;
    int k;
    if (!s) return;
    if (s->device && s->vkDestroyDevice) {
        s->vkDeviceWaitIdle(s->device);
        drop_buffers(s);
        s->vkDestroyFence(s->device, s->fence, NULL);
        s->vkDestroyCommandPool(s->device, s->pool, NULL);
        for (k = 0; k < KERNELS; k++) s->vkDestroyPipeline(s->device, s->pipeline[k], NULL);
        s->vkDestroyShaderModule(s->device, s->module, NULL);
        s->vkDestroyPipelineLayout(s->device, s->layout, NULL);
        s->vkDestroyDescriptorPool(s->device, s->set_pool, NULL);
        s->vkDestroyDescriptorSetLayout(s->device, s->set_layout, NULL);
        s->vkDestroyDevice(s->device, NULL);
    }
    if (s->vk.handle && s->vk.vkDestroyInstance) s->vk.vkDestroyInstance(s->vk.handle, NULL);
    free(s);
}

const anchor_backend anchor_vulkan = {.name = "vulkan",
                                      .open = vk_open,
                                      .resize = vk_resize,
                                      .run = vk_run,
                                      .ends = vk_ends,
                                      .empty = vk_empty,
                                      .close = vk_close};
