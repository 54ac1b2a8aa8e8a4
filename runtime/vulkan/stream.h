/* A stream of the Vulkan backend: its batches, and how stream.c and transfer.c share them. */
#ifndef AM_VK_STREAM_H
#define AM_VK_STREAM_H

#include "vk.h"

#define AM_VK_BATCHES 4         /* in flight */
#define AM_VK_BATCH_COMMANDS 64 /* dispatches and copies of one */
#define AM_VK_ARGS_BYTES 512u   /* of one dispatch: a multiple of any uniform offset alignment */
#define AM_VK_UP_OFFSET (AM_VK_ARGS_BYTES * AM_VK_BATCH_COMMANDS)
#define AM_VK_UP_BYTES ((size_t)1 << 20)
#define AM_VK_DOWN_BYTES ((size_t)1 << 20)
#define AM_VK_RANGES 48 /* remembered between two barriers */

typedef struct am_vk_batch {
    VkCommandBuffer commands;
    VkFence fence;
    VkDescriptorSet sets[AM_VK_BATCH_COMMANDS];
    am_memory *up;   /* arguments, then host data to be written */
    am_memory *down; /* data that was read */
    struct {
        void *data;
        size_t offset, size;
    } read[AM_VK_BATCH_COMMANDS];
    uint32_t commands_used, sets_used, args_used, reads;
    uint64_t work; /* that its commands ask for */
    size_t up_used, down_used;
    bool tears; /* begins in the middle of what belongs together */
    bool submitted;
} am_vk_batch;

typedef struct am_vk_range {
    const am_memory *memory;
    size_t low, high;
    bool written;
} am_vk_range;

struct am_backend_stream {
    am_backend_device *dev;
    VkCommandPool command_pool;
    VkDescriptorPool descriptor_pool;
    am_vk_batch batch[AM_VK_BATCHES];
    uint32_t current;
    bool recording;
    am_vk_range range[AM_VK_RANGES]; /* that commands touched since the last barrier */
    uint32_t range_count;
    bool together;    /* what is recorded belongs to what was recorded before */
    VkResult dropped; /* why recorded work or reads were dropped, for the next sync */
};

anymax_status am_vk_batch_open(am_backend_stream *stream, uint64_t work, am_vk_batch **out);
anymax_status am_vk_batch_finish(am_backend_stream *stream, am_vk_batch *batch);
anymax_status am_vk_submit(am_backend_stream *stream);
anymax_status am_vk_drain(am_backend_stream *stream);
/* Waits for the device whatever goes wrong; reads are dropped. */
void am_vk_quiesce(am_backend_stream *stream);
bool am_vk_idle(const am_backend_stream *stream);
void am_vk_order(am_backend_stream *stream, VkCommandBuffer commands, const am_vk_range *ranges,
                 uint32_t count);

VkResult am_vk_invalidate(am_backend_device *dev, const am_memory *memory);
/* All mapped memory of the block that holds a buffer (memory.c). */
VkMappedMemoryRange am_vk_whole_range(const am_memory *memory);

#endif
