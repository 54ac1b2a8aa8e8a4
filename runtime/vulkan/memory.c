/* Device memory: buffers of their own in blocks of device memory, as a driver may allow no more
 * than 4096 allocations. Large buffers have a block to themselves. */
#include "stream.h"

#include <string.h>

#define BLOCK_BYTES ((VkDeviceSize)16 << 20)
#define ALONE_BYTES ((VkDeviceSize)2 << 20) /* from this size on a buffer has its own block */

/* Free ranges of a block, in order of their offsets. */
typedef struct hole {
    VkDeviceSize offset, size;
    struct hole *next;
} hole;

struct am_vk_block {
    VkDeviceMemory memory;
    uint32_t type;
    VkDeviceSize size, used;
    uint8_t *mapped;
    hole *holes;
    am_vk_block *next;
};

static uint32_t type_flags(const am_backend_device *dev, uint32_t type) {
    return dev->facts.memory.memoryTypes[type].propertyFlags;
}

/* The first type that has all the flags of an entry of the list, best entry first; -1 if there is
 * none. Types that a driver marks as special (protected, lazily allocated) are not taken. */
static int choose_type(const am_backend_device *dev, am_vk_use use, uint32_t allowed) {
    const uint32_t local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                   visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                   coherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                   cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    const uint32_t shared[] = {local | visible | coherent | cached, local | visible | coherent,
                               local, 0};
    const uint32_t separate[] = {local, 0, 0, 0};
    const uint32_t upload[] = {visible | coherent, visible | coherent, visible | coherent,
                               visible | coherent};
    const uint32_t download[] = {visible | coherent | cached, visible | cached, visible | coherent,
                                 visible};
    const uint32_t odd = VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT;
    bool discrete = dev->facts.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    const uint32_t *list = use == AM_VK_UPLOAD     ? upload
                           : use == AM_VK_DOWNLOAD ? download
                           : discrete              ? separate
                                                   : shared;
    for (int i = 0; i < 4; i++)
        for (uint32_t t = 0; t < dev->facts.memory.memoryTypeCount; t++)
            if ((allowed >> t & 1) && (type_flags(dev, t) & list[i]) == list[i] &&
                !(type_flags(dev, t) & odd))
                return (int)t;
    return -1;
}

static void block_free(am_backend_device *dev, am_vk_block *block) {
    while (block->holes) {
        hole *h = block->holes;
        block->holes = h->next;
        am_free(h);
    }
    if (block->memory) dev->vkFreeMemory(dev->device, block->memory, NULL);
    am_free(block);
}

static anymax_status block_create(am_backend_device *dev, uint32_t type, VkDeviceSize size,
                                  am_vk_block **out) {
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .allocationSize = size,
                                 .memoryTypeIndex = type};
    am_vk_block *block = am_alloc_zero(1, sizeof *block);
    hole *whole = am_alloc_zero(1, sizeof *whole);
    VkResult result;
    if (!block || !whole) {
        am_free(block);
        am_free(whole);
        return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "vulkan: out of host memory");
    }
    block->type = type;
    block->size = size;
    block->holes = whole;
    whole->size = size;
    result = am_vk_strikes(dev, AM_FAULT_OOM);
    if (result == VK_SUCCESS)
        result = dev->vkAllocateMemory(dev->device, &info, NULL, &block->memory);
    if (result == VK_SUCCESS && (type_flags(dev, type) & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)) {
        void *mapped = NULL;
        result = am_vk_strikes(dev, AM_FAULT_OOM);
        if (result == VK_SUCCESS)
            result = dev->vkMapMemory(dev->device, block->memory, 0, VK_WHOLE_SIZE, 0, &mapped);
        block->mapped = mapped;
    }
    if (result != VK_SUCCESS) {
        block_free(dev, block);
        return am_vk_fail(dev, result, "vkAllocateMemory");
    }
    *out = block;
    return ANYMAX_OK;
}

/* First fit. The range taken includes what alignment skips. */
static bool block_take(am_vk_block *block, VkDeviceSize size, VkDeviceSize align, am_memory *m,
                       VkDeviceSize *at) {
    for (hole **link = &block->holes; *link; link = &(*link)->next) {
        hole *h = *link;
        VkDeviceSize start = (h->offset + align - 1) / align * align, end = start + size;
        if (end > h->offset + h->size) continue;
        *at = start;
        m->block_offset = h->offset;
        m->block_size = end - h->offset;
        h->size -= m->block_size;
        h->offset = end;
        if (h->size == 0) {
            *link = h->next;
            am_free(h);
        }
        block->used += m->block_size;
        return true;
    }
    return false;
}

/* Returns a range; a hole that cannot be recorded for want of host memory stays lost until the
 * block is empty. */
static void block_give(am_vk_block *block, VkDeviceSize offset, VkDeviceSize size) {
    hole **link = &block->holes, *before = NULL, *h;
    block->used -= size;
    while (*link && (*link)->offset < offset) {
        before = *link;
        link = &before->next;
    }
    if (before && before->offset + before->size == offset) {
        before->size += size;
    } else {
        h = am_alloc_zero(1, sizeof *h);
        if (!h) return;
        h->offset = offset;
        h->size = size;
        h->next = *link;
        *link = h;
        before = h;
    }
    h = before->next;
    if (h && before->offset + before->size == h->offset) {
        before->size += h->size;
        before->next = h->next;
        am_free(h);
    }
}

static anymax_status place(am_backend_device *dev, const VkMemoryRequirements *need, uint32_t type,
                           am_memory *m, VkDeviceSize *at) {
    /* Neighbours of a mapped range that is not coherent must not share an atom with it. */
    VkDeviceSize atom = dev->facts.properties.limits.nonCoherentAtomSize, align = need->alignment;
    VkDeviceSize size, most = dev->facts.max_alloc_bytes;
    anymax_status status;
    am_vk_block *block;
    if (align < atom) align = atom;
    size = (need->size + atom - 1) / atom * atom;
    if (size < ALONE_BYTES)
        for (block = dev->blocks; block; block = block->next)
            if (block->type == type && block_take(block, size, align, m, at)) {
                m->block = block;
                return ANYMAX_OK;
            }
    status = block_create(dev, type, size < ALONE_BYTES && BLOCK_BYTES <= most ? BLOCK_BYTES : size,
                          &block);
    if (status != ANYMAX_OK) return status;
    block_take(block, size, align, m, at);
    m->block = block;
    block->next = dev->blocks;
    dev->blocks = block;
    return ANYMAX_OK;
}

/* Takes `size` from what the device is believed to have. */
static anymax_status account(am_backend_device *dev, size_t size, size_t *accounted) {
    const am_pretend *p = &dev->pretend;
    if (p->memory_bytes && dev->allocated_bytes + size > p->memory_bytes)
        return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY,
                       "vulkan: %llu bytes do not fit the %llu of the (pretended) device",
                       (unsigned long long)size, (unsigned long long)p->memory_bytes);
    dev->allocated_bytes += size;
    *accounted = size;
    return ANYMAX_OK;
}

static anymax_status bind(am_backend_device *dev, am_vk_use use, am_memory *m) {
    VkMemoryRequirements need;
    VkDeviceSize at = 0;
    anymax_status status;
    VkResult result;
    int type;
    dev->vkGetBufferMemoryRequirements(dev->device, m->buffer, &need);
    type = choose_type(dev, use, need.memoryTypeBits);
    if (type < 0)
        return am_fail(ANYMAX_ERROR_DEVICE, "vulkan: the device has no memory type for buffers");
    status = place(dev, &need, (uint32_t)type, m, &at);
    if (status != ANYMAX_OK) return status;
    result = am_vk_strikes(dev, AM_FAULT_OOM);
    if (result == VK_SUCCESS)
        result = dev->vkBindBufferMemory(dev->device, m->buffer, m->block->memory, at);
    if (result != VK_SUCCESS) return am_vk_fail(dev, result, "vkBindBufferMemory");
    m->mapped = m->block->mapped ? m->block->mapped + at : NULL;
    if (use == AM_VK_DEVICE && dev->pretend.no_mapped) m->mapped = NULL;
    m->cached = type_flags(dev, (uint32_t)type) & VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    m->coherent = type_flags(dev, (uint32_t)type) & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    return ANYMAX_OK;
}

/* Where rows are loaded as texels, tensors have views; a stream has one in any case, for the
 * descriptors that a module has and no launch looks at. */
static bool has_quads(const am_backend_device *dev, am_vk_use use) {
    return use == AM_VK_UPLOAD ? dev->full : use == AM_VK_DEVICE && dev->quads;
}

/* Integers, so that no bit of a float is lost on the way. */
static VkResult view_quads(am_backend_device *dev, am_vk_use use, am_memory *m) {
    static const VkFormat formats[2] = {VK_FORMAT_R32G32B32A32_UINT, VK_FORMAT_R16G16B16A16_UINT};
    VkResult result = VK_SUCCESS;
    for (int i = 0; has_quads(dev, use) && i < 2 && result == VK_SUCCESS; i++) {
        const VkBufferViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
                                             .buffer = m->buffer,
                                             .format = formats[i],
                                             .range = use == AM_VK_UPLOAD ? 16 : m->size_bytes};
        if (info.range / (i ? 8 : 16) > dev->facts.properties.limits.maxTexelBufferElements)
            continue;
        result = am_vk_strikes(dev, AM_FAULT_OOM);
        if (result == VK_SUCCESS)
            result = dev->vkCreateBufferView(dev->device, &info, NULL, &m->quads[i]);
    }
    return result;
}

anymax_status am_vk_memory_create(am_backend_device *dev, am_vk_use use, size_t size_bytes,
                                  am_memory **out_memory) {
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                        VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                               .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
    am_memory *m;
    anymax_status status;
    VkResult result;
    /* What a stream needs for itself is small, and no matter of pretended limits. */
    if (use == AM_VK_DEVICE && (size_bytes > SIZE_MAX - 16 || size_bytes > dev->limits.alloc_bytes))
        return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY,
                       "vulkan: %zu bytes; one allocation takes at most %llu", size_bytes,
                       (unsigned long long)dev->limits.alloc_bytes);
    m = am_alloc_zero(1, sizeof *m);
    if (!m) return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "vulkan: out of host memory");
    /* Whole words, so that a range of odd bytes can be bound to its end. */
    m->size_bytes = (size_bytes + 15) / 16 * 16;
    info.size = m->size_bytes;
    info.usage |= VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    if (use == AM_VK_UPLOAD) info.usage |= VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT;
    if (has_quads(dev, use)) info.usage |= VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT;
    am_mutex_lock(&dev->memory_lock);
    status = use == AM_VK_DEVICE ? account(dev, m->size_bytes, &m->accounted) : ANYMAX_OK;
    if (status == ANYMAX_OK) {
        result = am_vk_strikes(dev, AM_FAULT_OOM);
        if (result == VK_SUCCESS)
            result = dev->vkCreateBuffer(dev->device, &info, NULL, &m->buffer);
        status =
            result == VK_SUCCESS ? bind(dev, use, m) : am_vk_fail(dev, result, "vkCreateBuffer");
    }
    am_mutex_unlock(&dev->memory_lock);
    if (status == ANYMAX_OK) {
        result = view_quads(dev, use, m);
        if (result != VK_SUCCESS) status = am_vk_fail(dev, result, "vkCreateBufferView");
    }
    if (status != ANYMAX_OK) {
        am_vk_memory_destroy(dev, m);
        return status;
    }
    *out_memory = m;
    return ANYMAX_OK;
}

anymax_status am_vk_memory_new(am_backend_device *dev, size_t size_bytes, am_memory **out_memory) {
    anymax_status status = am_vk_alive(dev);
    return status == ANYMAX_OK ? am_vk_memory_create(dev, AM_VK_DEVICE, size_bytes, out_memory)
                               : status;
}

static void release_range(am_backend_device *dev, am_memory *m) {
    am_vk_block *block = m->block;
    block_give(block, m->block_offset, m->block_size);
    if (block->used) return;
    /* One empty block of the common size is kept, against allocating at every turn of a loop;
     * but none that has lost a hole. */
    if (block->size == BLOCK_BYTES && block->holes && block->holes->size == block->size) {
        bool other = false;
        for (am_vk_block *b = dev->blocks; b; b = b->next)
            other |= b != block && b->type == block->type && b->used == 0 && b->size == BLOCK_BYTES;
        if (!other) return;
    }
    for (am_vk_block **link = &dev->blocks; *link; link = &(*link)->next)
        if (*link == block) {
            *link = block->next;
            break;
        }
    block_free(dev, block);
}

void am_vk_memory_destroy(am_backend_device *dev, am_memory *memory) {
    if (!memory) return;
    for (int i = 0; i < 2; i++)
        if (memory->quads[i]) dev->vkDestroyBufferView(dev->device, memory->quads[i], NULL);
    if (memory->buffer) dev->vkDestroyBuffer(dev->device, memory->buffer, NULL);
    am_mutex_lock(&dev->memory_lock);
    if (memory->block) release_range(dev, memory);
    dev->allocated_bytes -= memory->accounted;
    am_mutex_unlock(&dev->memory_lock);
    am_free(memory);
}

void am_vk_blocks_free(am_backend_device *dev) {
    while (dev->blocks) {
        am_vk_block *block = dev->blocks;
        dev->blocks = block->next;
        block_free(dev, block);
    }
}

VkMappedMemoryRange am_vk_whole_range(const am_memory *memory) {
    VkMappedMemoryRange range = {.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
                                 .memory = memory->block->memory,
                                 .size = VK_WHOLE_SIZE};
    return range;
}
