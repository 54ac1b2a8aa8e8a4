/* Copies between host and device, in stream order and of any bytes: through the rings of the
 * stream's batches, or directly where the host sees the memory and nothing is queued. */
#include "stream.h"
#include "work.h"

#include <string.h>

#define DIRECT_READ_BYTES \
    ((size_t)64 << 10) /* from here on waiting is cheaper than copying twice */

static void record_copy(am_backend_stream *stream, am_vk_batch *batch, const am_memory *to,
                        size_t to_offset, const am_memory *from, size_t from_offset, size_t size) {
    am_backend_device *dev = stream->dev;
    VkBufferCopy region = {from_offset, to_offset, size};
    am_vk_range ranges[2] = {{from, from_offset, from_offset + size, false},
                             {to, to_offset, to_offset + size, true}};
    am_vk_order(stream, batch->commands, ranges, 2);
    dev->vkCmdCopyBuffer(batch->commands, from->buffer, to->buffer, 1, &region);
    batch->commands_used++;
}

static void record_zero(am_backend_stream *stream, am_vk_batch *batch, const am_memory *to,
                        size_t to_offset, size_t size) {
    am_vk_range range = {to, to_offset, to_offset + size, true};
    am_vk_order(stream, batch->commands, &range, 1);
    stream->dev->vkCmdFillBuffer(batch->commands, to->buffer, to_offset, size, 0);
    batch->commands_used++;
}

/* Copies, or clears where there is no `from`, in pieces that the device may take at once. */
static anymax_status record_pieces(am_backend_stream *stream, const am_memory *to, size_t to_offset,
                                   const am_memory *from, size_t from_offset, size_t size_bytes) {
    const size_t most = am_copy_most(stream->dev->limits.launch_work);
    const bool together = stream->together;
    anymax_status status = ANYMAX_OK;
    size_t done = 0;
    while (done < size_bytes) {
        const size_t size = size_bytes - done < most ? size_bytes - done : most;
        am_vk_batch *batch;
        status = am_vk_batch_open(stream, am_copy_work(size), &batch);
        if (status != ANYMAX_OK) break;
        if (from)
            record_copy(stream, batch, to, to_offset + done, from, from_offset + done, size);
        else
            record_zero(stream, batch, to, to_offset + done, size);
        done += size;
        stream->together = true;
    }
    stream->together = together;
    if (status != ANYMAX_OK && status != ANYMAX_ERROR_DEVICE_LOST && done > 0)
        return am_vk_torn(stream->dev, "vulkan");
    return status;
}

anymax_status am_vk_copy(am_backend_stream *stream, am_memory *to, size_t to_offset,
                         am_memory *from, size_t from_offset, size_t size_bytes) {
    return record_pieces(stream, to, to_offset, from, from_offset, size_bytes);
}

anymax_status am_vk_zero(am_backend_stream *stream, am_memory *to, size_t to_offset,
                         size_t size_bytes) {
    return record_pieces(stream, to, to_offset, NULL, 0, size_bytes);
}

anymax_status am_vk_write(am_backend_stream *stream, am_memory *to, size_t to_offset,
                          const void *data, size_t size_bytes) {
    const uint8_t *from = data;
    const bool together = stream->together;
    anymax_status status = am_vk_alive(stream->dev);
    if (status != ANYMAX_OK) return status;
    /* What the host writes before a submission, the submission sees. */
    if (to->mapped && to->coherent && am_vk_idle(stream)) {
        memcpy(to->mapped + to_offset, data, size_bytes);
        return ANYMAX_OK;
    }
    while (size_bytes > 0) {
        am_vk_batch *batch;
        size_t size = size_bytes < AM_VK_UP_BYTES ? size_bytes : AM_VK_UP_BYTES;
        status = am_vk_batch_open(stream, am_copy_work(size), &batch);
        if (status == ANYMAX_OK && AM_VK_UP_BYTES - batch->up_used < size) {
            status = am_vk_submit(stream);
            if (status == ANYMAX_OK) status = am_vk_batch_open(stream, am_copy_work(size), &batch);
        }
        if (status != ANYMAX_OK) break;
        memcpy(batch->up->mapped + AM_VK_UP_OFFSET + batch->up_used, from, size);
        record_copy(stream, batch, to, to_offset, batch->up, AM_VK_UP_OFFSET + batch->up_used,
                    size);
        batch->up_used += size;
        from += size;
        to_offset += size;
        size_bytes -= size;
        stream->together = true;
    }
    stream->together = together;
    if (status != ANYMAX_OK && status != ANYMAX_ERROR_DEVICE_LOST && from != data)
        return am_vk_torn(stream->dev, "vulkan");
    return status;
}

/* What no ring holds goes through memory of its own: `data` is filled as a whole, or not at all. */
static anymax_status read_large(am_backend_stream *stream, am_memory *from, size_t from_offset,
                                void *data, size_t size_bytes) {
    am_backend_device *dev = stream->dev;
    am_memory *down = NULL;
    anymax_status status = am_vk_memory_create(dev, AM_VK_DOWNLOAD, size_bytes, &down);
    if (status == ANYMAX_OK) status = record_pieces(stream, down, 0, from, from_offset, size_bytes);
    if (status == ANYMAX_OK) status = am_vk_drain(stream);
    if (status != ANYMAX_OK && down) am_vk_quiesce(stream); /* it may be at work in `down` */
    if (status == ANYMAX_OK) {
        VkResult result = am_vk_invalidate(dev, down);
        if (result != VK_SUCCESS)
            status = am_vk_fail(dev, result, "vkInvalidateMappedMemoryRanges");
    }
    if (status == ANYMAX_OK) memcpy(data, down->mapped, size_bytes);
    am_vk_memory_destroy(dev, down);
    return status;
}

anymax_status am_vk_read(am_backend_stream *stream, am_memory *from, size_t from_offset, void *data,
                         size_t size_bytes) {
    am_vk_batch *batch;
    anymax_status status = am_vk_alive(stream->dev);
    if (status != ANYMAX_OK) return status;
    if (from->mapped && from->cached && from->coherent &&
        (size_bytes >= DIRECT_READ_BYTES || am_vk_idle(stream))) {
        status = am_vk_drain(stream);
        if (status == ANYMAX_OK) memcpy(data, from->mapped + from_offset, size_bytes);
        return status;
    }
    if (size_bytes == 0) return ANYMAX_OK;
    if (size_bytes > AM_VK_DOWN_BYTES)
        return read_large(stream, from, from_offset, data, size_bytes);
    status = am_vk_batch_open(stream, am_copy_work(size_bytes), &batch);
    if (status == ANYMAX_OK && AM_VK_DOWN_BYTES - batch->down_used < size_bytes) {
        status = am_vk_submit(stream);
        if (status == ANYMAX_OK)
            status = am_vk_batch_open(stream, am_copy_work(size_bytes), &batch);
    }
    if (status != ANYMAX_OK) return status;
    record_copy(stream, batch, batch->down, batch->down_used, from, from_offset, size_bytes);
    batch->read[batch->reads].data = data;
    batch->read[batch->reads].offset = batch->down_used;
    batch->read[batch->reads++].size = size_bytes;
    batch->down_used += size_bytes;
    return ANYMAX_OK;
}
