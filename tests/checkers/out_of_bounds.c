/* A shader that writes beyond its descriptor's range, but inside of the buffer, so that nothing
 * breaks. Whoever runs this under the validation layer learns whether its checks inside of shaders
 * are at work: they must report the write. out_of_bounds WORD    the word to write; the descriptor
 * sees words 0 to 63 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#include "out_of_bounds.h"

#define BUFFER_BYTES 256u
#define MEMORY_BYTES 4096u

static void check(VkResult result, const char *what) {
    if (result == VK_SUCCESS) return;
    fprintf(stderr, "out_of_bounds: %s: %d\n", what, (int)result);
    exit(1);
}

static VkPhysicalDevice first_device(VkInstance instance) {
    VkPhysicalDevice device = VK_NULL_HANDLE;
    uint32_t count = 1;
    VkResult result = vkEnumeratePhysicalDevices(instance, &count, &device);
    check(result == VK_INCOMPLETE ? VK_SUCCESS : result, "vkEnumeratePhysicalDevices");
    if (count == 0) check(VK_ERROR_INITIALIZATION_FAILED, "no device");
    return device;
}

/* Family 0 computes on every driver that has one family, and on all that are known. */
static VkDevice open_device(VkPhysicalDevice physical) {
    const float priority = 1.0f;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue};
    VkDevice device;
    check(vkCreateDevice(physical, &info, NULL, &device), "vkCreateDevice");
    return device;
}

/* Host-visible and coherent memory is everywhere. */
static uint32_t memory_type(VkPhysicalDevice physical, uint32_t allowed) {
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties memory;
    vkGetPhysicalDeviceMemoryProperties(physical, &memory);
    for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
        if ((allowed >> i & 1u) && (memory.memoryTypes[i].propertyFlags & wanted) == wanted)
            return i;
    check(VK_ERROR_OUT_OF_DEVICE_MEMORY, "no host memory");
    return 0;
}

static VkBuffer make_buffer(VkPhysicalDevice physical, VkDevice device, uint32_t first_word,
                            VkDeviceMemory *out_memory) {
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = BUFFER_BYTES,
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;
    VkBuffer buffer;
    void *words;
    check(vkCreateBuffer(device, &info, NULL, &buffer), "vkCreateBuffer");
    vkGetBufferMemoryRequirements(device, buffer, &needs);
    memory.allocationSize = needs.size + MEMORY_BYTES;
    memory.memoryTypeIndex = memory_type(physical, needs.memoryTypeBits);
    check(vkAllocateMemory(device, &memory, NULL, out_memory), "vkAllocateMemory");
    check(vkBindBufferMemory(device, buffer, *out_memory, 0), "vkBindBufferMemory");
    check(vkMapMemory(device, *out_memory, 0, VK_WHOLE_SIZE, 0, &words), "vkMapMemory");
    memset(words, 0, MEMORY_BYTES);
    memcpy(words, &first_word, sizeof first_word);
    vkUnmapMemory(device, *out_memory);
    return buffer;
}

typedef struct program {
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkShaderModule module;
    VkPipeline pipeline;
    VkDescriptorPool pool;
    VkDescriptorSet set;
} program;

static void make_program(VkDevice device, program *p) {
    const VkDescriptorSetLayoutBinding binding = {.descriptorType =
                                                      VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                  .descriptorCount = 1,
                                                  .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    const VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = 1,
        .pBindings = &binding};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &p->set_layout};
    const VkShaderModuleCreateInfo module = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                             .codeSize = sizeof out_of_bounds_spirv,
                                             .pCode = out_of_bounds_spirv};
    VkComputePipelineCreateInfo pipeline = {.sType =
                                                VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    check(vkCreateDescriptorSetLayout(device, &set, NULL, &p->set_layout), "set layout");
    check(vkCreatePipelineLayout(device, &layout, NULL, &p->layout), "pipeline layout");
    check(vkCreateShaderModule(device, &module, NULL, &p->module), "module");
    pipeline.layout = p->layout;
    pipeline.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    pipeline.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    pipeline.stage.module = p->module;
    pipeline.stage.pName = "main";
    check(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &pipeline, NULL, &p->pipeline),
          "pipeline");
}

static void bind(VkDevice device, program *p, VkBuffer buffer) {
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = 1,
                                             .poolSizeCount = 1,
                                             .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &p->set_layout};
    const VkDescriptorBufferInfo range = {buffer, 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = &range};
    check(vkCreateDescriptorPool(device, &pool, NULL, &p->pool), "pool");
    allocate.descriptorPool = p->pool;
    check(vkAllocateDescriptorSets(device, &allocate, &p->set), "set");
    write.dstSet = p->set;
    vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
}

static void run(VkDevice device, const program *p) {
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = 1};
    VkCommandBuffer commands;
    const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .commandBufferCount = 1,
                                 .pCommandBuffers = &commands};
    VkQueue queue;
    check(vkCreateCommandPool(device, &pool, NULL, &allocate.commandPool), "command pool");
    check(vkAllocateCommandBuffers(device, &allocate, &commands), "command buffer");
    check(vkBeginCommandBuffer(commands, &begin), "begin");
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->layout, 0, 1, &p->set, 0,
                            NULL);
    vkCmdDispatch(commands, 1, 1, 1);
    check(vkEndCommandBuffer(commands), "end");
    vkGetDeviceQueue(device, 0, 0, &queue);
    check(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE), "submit");
    check(vkQueueWaitIdle(queue), "wait");
    vkDestroyCommandPool(device, allocate.commandPool, NULL);
}

int main(int argc, char **argv) {
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_1};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkDeviceMemory memory;
    VkBuffer buffer;
    program p;
    unsigned long word = argc == 2 ? strtoul(argv[1], NULL, 10) : MEMORY_BYTES;
    if (word >= MEMORY_BYTES / 4) {
        fprintf(stderr, "usage: out_of_bounds WORD, below %u\n", MEMORY_BYTES / 4);
        return 2;
    }
    check(vkCreateInstance(&info, NULL, &instance), "vkCreateInstance");
    physical = first_device(instance);
    device = open_device(physical);
    buffer = make_buffer(physical, device, (uint32_t)word, &memory);
    make_program(device, &p);
    bind(device, &p, buffer);
    run(device, &p);
    vkDestroyDescriptorPool(device, p.pool, NULL);
    vkDestroyPipeline(device, p.pipeline, NULL);
    vkDestroyShaderModule(device, p.module, NULL);
    vkDestroyPipelineLayout(device, p.layout, NULL);
    vkDestroyDescriptorSetLayout(device, p.set_layout, NULL);
    vkDestroyBuffer(device, buffer, NULL);
    vkFreeMemory(device, memory, NULL);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    puts("done");
    return 0;
}
