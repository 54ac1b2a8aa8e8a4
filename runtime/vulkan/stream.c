/* Streams: commands are recorded into a ring of batches, each with a command buffer, descriptor
 * sets, room for arguments and for host data on its way; a batch is submitted when it is full, or
 * at sync. Nothing is allocated after a stream was created. */
#include "stream.h"

#include <string.h>

/* ---------------------------------------------------------------- batches */

/* What a batch was to do, or to read, will not be done. */
static anymax_status drop(am_backend_stream *stream, am_vk_batch *batch, VkResult result,
                          const char *what) {
    batch->reads = 0;
    stream->dropped = result;
    return am_vk_fail(stream->dev, result, what);
}

static VkResult wait(am_backend_device *dev, const am_vk_batch *batch) {
    VkResult result = am_vk_strikes(dev, AM_FAULT_WAIT);
    if (result != VK_SUCCESS) return result;
    return dev->vkWaitForFences(dev->device, 1, &batch->fence, VK_TRUE, UINT64_MAX);
}

/* Before the host reads what the device wrote. */
VkResult am_vk_invalidate(am_backend_device *dev, const am_memory *memory) {
    VkMappedMemoryRange range = am_vk_whole_range(memory);
    VkResult result = am_vk_strikes(dev, AM_FAULT_OOM);
    if (result != VK_SUCCESS || memory->coherent) return result;
    return dev->vkInvalidateMappedMemoryRanges(dev->device, 1, &range);
}

/* Waits for a submitted batch and hands out what it read. A batch that cannot be waited for stays
 * submitted, as its objects may be in use. */
anymax_status am_vk_batch_finish(am_backend_stream *stream, am_vk_batch *batch) {
    am_backend_device *dev = stream->dev;
    VkResult result;
    if (!batch->submitted) return ANYMAX_OK;
    result = wait(dev, batch);
    if (result != VK_SUCCESS && result != VK_ERROR_DEVICE_LOST) result = wait(dev, batch);
    if (result != VK_SUCCESS) return drop(stream, batch, result, "vkWaitForFences");
    batch->submitted = false;
    if (batch->reads) result = am_vk_invalidate(dev, batch->down);
    if (result != VK_SUCCESS) return drop(stream, batch, result, "vkInvalidateMappedMemoryRanges");
    for (uint32_t i = 0; i < batch->reads; i++)
        memcpy(batch->read[i].data, batch->down->mapped + batch->read[i].offset,
               batch->read[i].size);
    batch->reads = 0;
    return ANYMAX_OK;
}

static void everything_barrier(am_backend_device *dev, VkCommandBuffer commands) {
    const VkPipelineStageFlags work =
        VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                         VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
    dev->vkCmdPipelineBarrier(commands, work, work, 0, 1, &barrier, 0, NULL, 0, NULL);
}

/* Room for a command that asks for `work`: some watchdogs take what was submitted together for one.
 */
static bool has_room(const am_backend_stream *stream, const am_vk_batch *batch, uint64_t work) {
    const uint64_t most = stream->dev->limits.launch_work;
    return batch->commands_used < AM_VK_BATCH_COMMANDS &&
           (batch->work == 0 || (batch->work <= most && work <= most - batch->work));
}

/* The batch that is being recorded, with room for one more command, whose work it counts. */
anymax_status am_vk_batch_open(am_backend_stream *stream, uint64_t work, am_vk_batch **out) {
    am_backend_device *dev = stream->dev;
    am_vk_batch *batch = &stream->batch[stream->current];
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    anymax_status status = am_vk_alive(dev);
    VkResult result;
    if (status != ANYMAX_OK) return status;
    if (stream->recording && !has_room(stream, batch, work)) {
        status = am_vk_submit(stream);
        if (status != ANYMAX_OK) return status;
        batch = &stream->batch[stream->current];
    }
    if (!stream->recording) {
        status = am_vk_batch_finish(stream, batch);
        if (status != ANYMAX_OK) return status;
        result = am_vk_strikes(dev, AM_FAULT_OOM);
        if (result == VK_SUCCESS) result = dev->vkResetCommandBuffer(batch->commands, 0);
        if (result == VK_SUCCESS) result = dev->vkBeginCommandBuffer(batch->commands, &begin);
        if (result != VK_SUCCESS) return am_vk_fail(dev, result, "vkBeginCommandBuffer");
        batch->commands_used = batch->sets_used = batch->args_used = 0;
        batch->work = 0;
        batch->up_used = batch->down_used = 0;
        batch->tears = stream->together;
        /* Another stream may have been at the same memory. */
        everything_barrier(dev, batch->commands);
        stream->range_count = 0;
        stream->recording = true;
    }
    batch->work += work;
    *out = batch;
    return ANYMAX_OK;
}

static VkResult offer(am_backend_device *dev, const am_vk_batch *batch) {
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &batch->commands};
    VkResult result = am_vk_strikes(dev, AM_FAULT_SUBMIT);
    if (result == VK_SUCCESS) result = dev->vkResetFences(dev->device, 1, &batch->fence);
    if (result != VK_SUCCESS) return result;
    am_mutex_lock(&dev->queue_lock); /* a queue is used by one thread at a time */
    result = dev->vkQueueSubmit(dev->queue, 1, &info, batch->fence);
    am_mutex_unlock(&dev->queue_lock);
    return result;
}

/* The batches that were submitted, oldest first, so that reads arrive in order. */
static anymax_status finish_all(am_backend_stream *stream) {
    anymax_status status = ANYMAX_OK;
    for (uint32_t i = 0; i < AM_VK_BATCHES; i++) {
        anymax_status one =
            am_vk_batch_finish(stream, &stream->batch[(stream->current + i) % AM_VK_BATCHES]);
        if (status == ANYMAX_OK) status = one;
    }
    return status;
}

anymax_status am_vk_submit(am_backend_stream *stream) {
    am_backend_device *dev = stream->dev;
    am_vk_batch *batch = &stream->batch[stream->current];
    VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask =
                                   VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                               .dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT};
    VkResult result;
    if (!stream->recording) return ANYMAX_OK;
    stream->recording = false;
    /* For what was read back, and for memory that the host sees. */
    dev->vkCmdPipelineBarrier(batch->commands,
                              VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                              VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
    result = am_vk_strikes(dev, AM_FAULT_OOM);
    if (result == VK_SUCCESS) result = dev->vkEndCommandBuffer(batch->commands);
    if (result == VK_SUCCESS) {
        /* A batch that is refused is as it was, and is offered again when nothing else runs. */
        result = offer(dev, batch);
        if (result != VK_SUCCESS && result != VK_ERROR_DEVICE_LOST &&
            finish_all(stream) == ANYMAX_OK)
            result = offer(dev, batch);
    }
    if (result != VK_SUCCESS) {
        anymax_status status = drop(stream, batch, result, "vkQueueSubmit");
        return status != ANYMAX_ERROR_DEVICE_LOST && batch->tears ? am_vk_torn(dev, "vulkan")
                                                                  : status;
    }
    batch->submitted = true;
    stream->current = (stream->current + 1) % AM_VK_BATCHES;
    return ANYMAX_OK;
}

anymax_status am_vk_drain(am_backend_stream *stream) {
    anymax_status status = am_vk_submit(stream), finished = finish_all(stream);
    return status == ANYMAX_OK ? finished : status;
}

void am_vk_quiesce(am_backend_stream *stream) {
    am_backend_device *dev = stream->dev;
    for (uint32_t i = 0; i < AM_VK_BATCHES; i++) {
        am_vk_batch *batch = &stream->batch[i];
        if (batch->submitted)
            dev->vkWaitForFences(dev->device, 1, &batch->fence, VK_TRUE, UINT64_MAX);
        if (batch->reads) stream->dropped = VK_ERROR_UNKNOWN;
        batch->reads = 0;
        batch->submitted = false;
    }
}

void am_vk_together(am_backend_stream *stream, bool on) {
    stream->together = on;
}

anymax_status am_vk_sync(am_backend_stream *stream) {
    anymax_status status = am_vk_drain(stream);
    if (status == ANYMAX_OK) status = am_vk_alive(stream->dev);
    if (status == ANYMAX_OK && stream->dropped != VK_SUCCESS)
        status = am_vk_fail(stream->dev, stream->dropped, "work was dropped");
    stream->dropped = VK_SUCCESS;
    if (status == ANYMAX_OK) am_vk_cache_save(stream->dev, true);
    return status;
}

bool am_vk_idle(const am_backend_stream *stream) {
    for (uint32_t i = 0; i < AM_VK_BATCHES; i++)
        if (stream->batch[i].submitted) return false;
    return !stream->recording;
}

/* ---------------------------------------------------------------- hazards */

static bool overlap(const am_vk_range *a, const am_vk_range *b) {
    return a->memory == b->memory && a->low < b->high && b->low < a->high &&
           (a->written || b->written);
}

/* Notes what a command touches, after a barrier where that meets an earlier one. */
void am_vk_order(am_backend_stream *stream, VkCommandBuffer commands, const am_vk_range *ranges,
                 uint32_t count) {
    bool hazard = stream->range_count + count > AM_VK_RANGES;
    for (uint32_t i = 0; i < count && !hazard; i++)
        for (uint32_t j = 0; j < stream->range_count && !hazard; j++)
            hazard = overlap(&ranges[i], &stream->range[j]);
    if (hazard) {
        everything_barrier(stream->dev, commands);
        stream->range_count = 0;
    }
    for (uint32_t i = 0; i < count; i++) stream->range[stream->range_count++] = ranges[i];
}

am_backend_device *am_vk_stream_device(am_backend_stream *stream) {
    return stream->dev;
}

/* ---------------------------------------------------------------- life */

static anymax_status batch_create(am_backend_stream *stream, am_vk_batch *batch) {
    am_backend_device *dev = stream->dev;
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = stream->command_pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
    VkDescriptorSetLayout layouts[AM_VK_BATCH_COMMANDS];
    VkDescriptorSetAllocateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorPool = stream->descriptor_pool,
                                        .descriptorSetCount = AM_VK_BATCH_COMMANDS,
                                        .pSetLayouts = layouts};
    anymax_status status =
        am_vk_memory_create(dev, AM_VK_UPLOAD, AM_VK_UP_OFFSET + AM_VK_UP_BYTES, &batch->up);
    VkResult result;
    if (status == ANYMAX_OK)
        status = am_vk_memory_create(dev, AM_VK_DOWNLOAD, AM_VK_DOWN_BYTES, &batch->down);
    if (status != ANYMAX_OK) return status;
    for (uint32_t i = 0; i < AM_VK_BATCH_COMMANDS; i++) layouts[i] = dev->set_layout;
    result = am_vk_strikes(dev, AM_FAULT_OOM);
    if (result == VK_SUCCESS) result = dev->vkCreateFence(dev->device, &fence, NULL, &batch->fence);
    if (result == VK_SUCCESS) result = am_vk_strikes(dev, AM_FAULT_OOM);
    if (result == VK_SUCCESS)
        result = dev->vkAllocateCommandBuffers(dev->device, &commands, &batch->commands);
    if (result == VK_SUCCESS) result = am_vk_strikes(dev, AM_FAULT_OOM);
    if (result == VK_SUCCESS)
        result = dev->vkAllocateDescriptorSets(dev->device, &sets, batch->sets);
    if (result != VK_SUCCESS) return am_vk_fail(dev, result, "a stream's objects");
    for (uint32_t i = 0; i < AM_VK_BATCH_COMMANDS; i++) {
        VkDescriptorBufferInfo args = {batch->up->buffer, 0, AM_VK_ARGS_BYTES};
        VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                      .dstSet = batch->sets[i],
                                      .dstBinding = 0,
                                      .descriptorCount = 1,
                                      .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
                                      .pBufferInfo = &args};
        dev->vkUpdateDescriptorSets(dev->device, 1, &write, 0, NULL);
    }
    return ANYMAX_OK;
}

static anymax_status pools_create(am_backend_stream *stream) {
    am_backend_device *dev = stream->dev;
    const uint32_t sets = AM_VK_BATCHES * AM_VK_BATCH_COMMANDS;
    VkCommandPoolCreateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                        .queueFamilyIndex = dev->facts.family};
    VkDescriptorPoolSize sizes[3] = {
        {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, sets},
        {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, sets * (dev->full ? 8u : 4u)},
        {VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, sets * AM_VK_QUADS}};
    VkDescriptorPoolCreateInfo descriptors = {.sType =
                                                  VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                              .maxSets = sets,
                                              .poolSizeCount = dev->full ? 3 : 2,
                                              .pPoolSizes = sizes};
    VkResult result = am_vk_strikes(dev, AM_FAULT_OOM);
    if (result == VK_SUCCESS)
        result = dev->vkCreateCommandPool(dev->device, &commands, NULL, &stream->command_pool);
    if (result == VK_SUCCESS) result = am_vk_strikes(dev, AM_FAULT_OOM);
    if (result == VK_SUCCESS)
        result =
            dev->vkCreateDescriptorPool(dev->device, &descriptors, NULL, &stream->descriptor_pool);
    return result == VK_SUCCESS ? ANYMAX_OK : am_vk_fail(dev, result, "a stream's pools");
}

anymax_status am_vk_stream_create(am_backend_device *dev, am_backend_stream **out_stream) {
    anymax_status status = am_vk_alive(dev);
    am_backend_stream *stream;
    if (status != ANYMAX_OK) return status;
    stream = am_alloc_zero(1, sizeof *stream);
    if (!stream) return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "vulkan: out of host memory");
    stream->dev = dev;
    status = pools_create(stream);
    for (uint32_t i = 0; i < AM_VK_BATCHES && status == ANYMAX_OK; i++)
        status = batch_create(stream, &stream->batch[i]);
    if (status != ANYMAX_OK) {
        am_vk_stream_destroy(stream);
        return status;
    }
    *out_stream = stream;
    return ANYMAX_OK;
}

void am_vk_stream_destroy(am_backend_stream *stream) {
    am_backend_device *dev;
    if (!stream) return;
    dev = stream->dev;
    am_vk_quiesce(stream);
    for (uint32_t i = 0; i < AM_VK_BATCHES; i++) {
        if (stream->batch[i].fence) dev->vkDestroyFence(dev->device, stream->batch[i].fence, NULL);
        am_vk_memory_destroy(dev, stream->batch[i].up);
        am_vk_memory_destroy(dev, stream->batch[i].down);
    }
    if (stream->descriptor_pool)
        dev->vkDestroyDescriptorPool(dev->device, stream->descriptor_pool, NULL);
    if (stream->command_pool) dev->vkDestroyCommandPool(dev->device, stream->command_pool, NULL);
    am_free(stream);
}
