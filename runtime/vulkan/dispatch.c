/* Dispatches of a stream: their descriptors, their order, their arguments. */
#include "stream.h"

#include <string.h>

/* Whole words, within buffer and limit. */
static VkDescriptorBufferInfo buffer_of(const am_backend_device *dev, const am_binding *b) {
    VkDeviceSize range = ((VkDeviceSize)b->span_bytes + 3) / 4 * 4;
    const VkDeviceSize most = b->memory->size_bytes - b->offset_bytes,
                       limit = dev->facts.properties.limits.maxStorageBufferRange;
    if (range > most) range = most;
    if (range > limit) range = limit;
    return (VkDescriptorBufferInfo){b->memory->buffer, b->offset_bytes, range};
}

/* A set with the bindings of the dispatch. What it does not use needs a buffer all the same: one
 * that it does use, so that no hazard is seen between dispatches that have nothing in common. */
static VkDescriptorSet fill_set(am_backend_stream *stream, am_vk_batch *batch,
                                const am_vk_dispatch *dispatch) {
    am_backend_device *dev = stream->dev;
    VkDescriptorSet set = batch->sets[batch->sets_used++];
    uint32_t count = dev->full ? 8 : 4;
    VkDescriptorBufferInfo buffers[AM_VK_MAX_BINDINGS],
        spare = {.buffer = batch->up->buffer, .range = 16};
    VkWriteDescriptorSet write[1 + AM_VK_QUADS] = {
        {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
         .dstSet = set,
         .dstBinding = 1,
         .descriptorCount = count,
         .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
         .pBufferInfo = buffers}};
    for (uint32_t i = 0; i < count; i++)
        if (dispatch->binding[i].memory) spare = buffer_of(dev, &dispatch->binding[i]);
    for (uint32_t i = 0; i < count; i++)
        buffers[i] = dispatch->binding[i].memory ? buffer_of(dev, &dispatch->binding[i]) : spare;
    for (uint32_t i = 0; i < AM_VK_QUADS; i++)
        write[1 + i] = (VkWriteDescriptorSet){
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
            .dstSet = set,
            .dstBinding = 2 + i,
            .descriptorCount = 1,
            .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
            .pTexelBufferView =
                dispatch->quads[i].memory ? &dispatch->quads[i].view : &batch->up->quads[0]};
    dev->vkUpdateDescriptorSets(dev->device, dev->full ? 1 + AM_VK_QUADS : 1, write, 0, NULL);
    return set;
}

/* Every storage binding counts as written, as one array holds them all and validation layers go by
 * that; and texels are of all of their memory. */
static void order_dispatch(am_backend_stream *stream, const am_vk_batch *batch,
                           const am_vk_dispatch *dispatch) {
    am_vk_range ranges[AM_VK_MAX_BINDINGS + AM_VK_QUADS];
    uint32_t count = 0;
    for (int i = 0; i < AM_VK_MAX_BINDINGS; i++) {
        const am_binding *b = &dispatch->binding[i];
        if (b->memory)
            ranges[count++] = (am_vk_range){b->memory, b->offset_bytes,
                                            (b->offset_bytes + b->span_bytes + 3) / 4 * 4, true};
    }
    for (int i = 0; i < AM_VK_QUADS; i++)
        if (dispatch->quads[i].memory)
            ranges[count++] = (am_vk_range){dispatch->quads[i].memory, 0, SIZE_MAX, false};
    am_vk_order(stream, batch->commands, ranges, count);
}

anymax_status am_vk_dispatch_record(am_backend_stream *stream, const am_vk_dispatch *dispatch) {
    am_backend_device *dev = stream->dev;
    am_vk_batch *batch;
    VkDescriptorSet set;
    uint32_t offset;
    anymax_status status = am_vk_batch_open(stream, dispatch->work, &batch);
    if (status != ANYMAX_OK)
        return dispatch->follows && status != ANYMAX_ERROR_DEVICE_LOST ? am_vk_torn(dev, "vulkan")
                                                                       : status;
    if (dispatch->follows && !batch->sets_used) batch->tears = true;
    if (dispatch->follows && batch->sets_used)
        set = batch->sets[batch->sets_used - 1];
    else
        set = fill_set(stream, batch, dispatch);
    order_dispatch(stream, batch, dispatch);
    offset = AM_VK_ARGS_BYTES * batch->args_used++;
    memcpy(batch->up->mapped + offset, dispatch->args, dispatch->args_size);
    batch->commands_used++;
    dev->vkCmdBindPipeline(batch->commands, VK_PIPELINE_BIND_POINT_COMPUTE, dispatch->pipeline);
    dev->vkCmdBindDescriptorSets(batch->commands, VK_PIPELINE_BIND_POINT_COMPUTE, dev->layout, 0, 1,
                                 &set, 1, &offset);
    dev->vkCmdDispatch(batch->commands, dispatch->groups[0], dispatch->groups[1],
                       dispatch->groups[2]);
    return ANYMAX_OK;
}
