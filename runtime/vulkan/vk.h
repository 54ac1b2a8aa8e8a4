/* What the files of the Vulkan backend share: the function table, the device, its memory. */
#ifndef AM_VK_H
#define AM_VK_H

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <stdatomic.h>
#include <vulkan/vulkan.h>

#include "backend.h"
#include "embedded.h"
#include "error.h"
#include "fault.h"
#include "os.h"
#include "probe.h"

/* Functions are fetched from the loader, the instance or the device; the library links to none. */
/* clang-format off */
#define AM_VK_LOADER_FUNCTIONS(F) F(vkEnumerateInstanceExtensionProperties) F(vkCreateInstance)
#define AM_VK_INSTANCE_FUNCTIONS(F)                                               \
    F(vkDestroyInstance) F(vkEnumeratePhysicalDevices) F(vkGetPhysicalDeviceProperties) \
    F(vkGetPhysicalDeviceProperties2) F(vkGetPhysicalDeviceFeatures2)             \
    F(vkGetPhysicalDeviceMemoryProperties) F(vkGetPhysicalDeviceQueueFamilyProperties) \
    F(vkEnumerateDeviceExtensionProperties) F(vkCreateDevice) F(vkGetDeviceProcAddr)
#define AM_VK_DEVICE_FUNCTIONS(F)                                                 \
    F(vkDestroyDevice) F(vkGetDeviceQueue) F(vkDeviceWaitIdle)                    \
    F(vkCreateBuffer) F(vkDestroyBuffer) F(vkGetBufferMemoryRequirements)         \
    F(vkCreateBufferView) F(vkDestroyBufferView)                                  \
    F(vkAllocateMemory) F(vkFreeMemory) F(vkBindBufferMemory) F(vkMapMemory)      \
    F(vkInvalidateMappedMemoryRanges)                                             \
    F(vkCreateDescriptorSetLayout) F(vkDestroyDescriptorSetLayout)                \
    F(vkCreatePipelineLayout) F(vkDestroyPipelineLayout)                          \
    F(vkCreateShaderModule) F(vkDestroyShaderModule)                              \
    F(vkCreatePipelineCache) F(vkDestroyPipelineCache) F(vkGetPipelineCacheData)  \
    F(vkCreateComputePipelines) F(vkDestroyPipeline)                              \
    F(vkCreateDescriptorPool) F(vkDestroyDescriptorPool) F(vkAllocateDescriptorSets) \
    F(vkUpdateDescriptorSets)                                                     \
    F(vkCreateCommandPool) F(vkDestroyCommandPool) F(vkAllocateCommandBuffers)    \
    F(vkBeginCommandBuffer) F(vkEndCommandBuffer) F(vkResetCommandBuffer)         \
    F(vkCmdBindPipeline) F(vkCmdBindDescriptorSets) F(vkCmdDispatch)              \
    F(vkCmdPipelineBarrier) F(vkCmdCopyBuffer) F(vkCmdFillBuffer)                 \
    F(vkCreateFence) F(vkDestroyFence) F(vkWaitForFences) F(vkResetFences) F(vkQueueSubmit)
/* clang-format on */

typedef struct am_vk_instance {
    PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr;
#define AM_VK_MEMBER(name) PFN_##name name;
    AM_VK_LOADER_FUNCTIONS(AM_VK_MEMBER)
    AM_VK_INSTANCE_FUNCTIONS(AM_VK_MEMBER)
    VkInstance handle;
    char loader[256]; /* where the loader was found */
    uint32_t count;
    VkPhysicalDevice *devices;
} am_vk_instance;

/* Opens the loader and an instance, and lists its devices. */
anymax_status am_vk_instance_open(am_vk_instance *vk);
/* Names of the loader's library, best first, then NULL. */
extern const char *const am_vk_loaders[];
extern const am_drivers am_vk_drivers;
void am_vk_instance_close(am_vk_instance *vk);
bool am_vk_has_extension(const am_vk_instance *vk, VkPhysicalDevice device, const char *name);

/* What is asked of a physical device. */
typedef struct am_vk_facts {
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory;
    uint64_t max_alloc_bytes, memory_bytes;
    uint32_t family; /* queue family with compute */
    uint32_t subgroup;
    uint32_t cores;
    bool usable; /* Vulkan 1.1 and a queue family with compute */
    bool subgroup_reduce, storage16, keeps_infinities, float_controls_extension, portability_subset;
    bool full_subgroups; /* a group can be required to be whole sub-groups of `subgroup` items */
    bool size_control_extension;
    bool loops_end_early; /* lavapipe: see am_vk_trips */
    uint8_t uuid[VK_UUID_SIZE];
    char driver[256];
} am_vk_facts;

void am_vk_get_facts(const am_vk_instance *vk, VkPhysicalDevice device, am_vk_facts *out);
void am_vk_fill_info(const am_vk_instance *vk, uint32_t index, const am_vk_facts *facts,
                     anymax_device_info *out);

/* A range of a block of device memory, with a buffer of its own. */
typedef struct am_vk_block am_vk_block;

struct am_memory {
    VkBuffer buffer;
    /* All of it as texels of four elements of 4 and of 2 bytes; VK_NULL_HANDLE where there are more
     * than a device takes, or none are wanted. */
    VkBufferView quads[2];
    am_vk_block *block;
    VkDeviceSize block_offset, block_size; /* the range taken of the block */
    size_t size_bytes;                     /* of the buffer, a multiple of 16 */
    size_t accounted;                      /* what of it counts as the caller's */
    uint8_t *mapped;                       /* NULL where the host cannot see it */
    bool cached;                           /* the host reads it fast */
    bool coherent;
};

typedef enum am_vk_use { AM_VK_DEVICE, AM_VK_UPLOAD, AM_VK_DOWNLOAD } am_vk_use;

#define AM_VK_SPECS 15 /* specialisation constants; see shaders/row_args.glsl and product.comp */

typedef struct am_vk_key {
    uint32_t module; /* index in am_spirv_modules */
    uint32_t spec[AM_VK_SPECS];
} am_vk_key;

typedef struct am_vk_pipeline {
    am_vk_key key;
    VkPipeline pipeline;
} am_vk_pipeline;

struct am_backend_device {
    am_vk_instance vk;
#define AM_VK_MEMBER_DEVICE(name) PFN_##name name;
    AM_VK_DEVICE_FUNCTIONS(AM_VK_MEMBER_DEVICE)
    am_vk_facts facts;
    am_pretend pretend;
    am_faults *faults;
    am_limits limits;
    VkDevice device;
    VkQueue queue;
    am_mutex queue_lock, memory_lock, pipeline_lock;
    atomic_bool lost;

    /* What kernels may use, lowered by pretend. */
    bool size_control; /* facts.full_subgroups, unless pretended away */
    bool full;         /* modules with 8 bindings, 16-bit storage and sub-groups */
    bool cpu_shape;
    bool quads; /* rows are loaded as texels of four elements where they lie so: drivers for
                   processors load each lane of a storage buffer in a loop of its own */
    uint32_t bindings, max_groups, max_items, shared_bytes, subgroup, trips, cores;
    VkDeviceSize range_bytes;

    am_vk_block *blocks;
    uint64_t allocated_bytes;

    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipelineCache cache;
    am_vk_pipeline *pipelines; /* open addressing, `pipeline_slots` a power of two */
    uint32_t pipeline_slots, pipeline_count;
    VkShaderModule *modules; /* by index in am_spirv_modules, made on first use */
    int *row_modules;        /* by program: index of its module, -1 when missing */
    int product_module;
    bool cache_off, cache_saved_once;
    uint32_t cache_saved_count;
    uint64_t cache_saved_ns;
    am_cache_key cache_key;
};

/* Translates a driver's code; its name stays in the message. Device loss sticks to the device. */
anymax_status am_vk_fail(am_backend_device *dev, VkResult result, const char *what);
anymax_status am_vk_alive(am_backend_device *dev);
/* The last failure came after a part of `what` had run: the device counts as lost. */
anymax_status am_vk_torn(am_backend_device *dev, const char *what);
/* What a fault on purpose makes of a call: what the driver is to have answered. */
VkResult am_vk_strikes(am_backend_device *dev, am_fault kind);

anymax_status am_vk_memory_create(am_backend_device *dev, am_vk_use use, size_t size_bytes,
                                  am_memory **out_memory);
anymax_status am_vk_memory_new(am_backend_device *dev, size_t size_bytes, am_memory **out_memory);
void am_vk_memory_destroy(am_backend_device *dev, am_memory *memory);
void am_vk_blocks_free(am_backend_device *dev);

anymax_status am_vk_pipelines_open(am_backend_device *dev);
void am_vk_pipelines_close(am_backend_device *dev);
anymax_status am_vk_pipeline_get(am_backend_device *dev, const am_vk_key *key, VkPipeline *out);
/* Writes the pipeline cache if there are new pipelines; `soon`: not more often than twice a second.
 */
void am_vk_cache_save(am_backend_device *dev, bool soon);
/* Name of the cache file of a device; whether data is what its driver wrote. */
am_cache_key am_vk_cache_key(const am_vk_facts *facts);
bool am_vk_cache_fits(const VkPhysicalDeviceProperties *properties, const void *data, size_t size);

/* Streams: stream.c records and submits; transfer.c and row.c, product.c use it. */
#define AM_VK_MAX_BINDINGS 8
#define AM_VK_QUADS 4

typedef struct am_vk_dispatch {
    VkPipeline pipeline;
    const void *args; /* copied */
    size_t args_size;
    uint64_t work; /* that it asks for */
    uint32_t groups[3];
    /* Ranges of the binding numbers; memory NULL: unused. */
    am_binding binding[AM_VK_MAX_BINDINGS];
    /* What is read as texels, by number; memory NULL: nothing. */
    struct {
        const am_memory *memory;
        VkBufferView view;
    } quads[AM_VK_QUADS];
    bool follows; /* continues the dispatch before, with the same bindings */
} am_vk_dispatch;

anymax_status am_vk_dispatch_record(am_backend_stream *stream, const am_vk_dispatch *dispatch);
am_backend_device *am_vk_stream_device(am_backend_stream *stream);
anymax_status am_vk_stream_create(am_backend_device *dev, am_backend_stream **out_stream);
void am_vk_stream_destroy(am_backend_stream *stream);
anymax_status am_vk_copy(am_backend_stream *stream, am_memory *to, size_t to_offset,
                         am_memory *from, size_t from_offset, size_t size_bytes);
anymax_status am_vk_write(am_backend_stream *stream, am_memory *to, size_t to_offset,
                          const void *data, size_t size_bytes);
anymax_status am_vk_read(am_backend_stream *stream, am_memory *from, size_t from_offset, void *data,
                         size_t size_bytes);
anymax_status am_vk_zero(am_backend_stream *stream, am_memory *to, size_t to_offset,
                         size_t size_bytes);
anymax_status am_vk_sync(am_backend_stream *stream);
void am_vk_together(am_backend_stream *stream, bool on);

anymax_status am_vk_row_prepare(am_backend_stream *stream, const am_row_launch *launch);
anymax_status am_vk_product_prepare(am_backend_stream *stream, const am_product_launch *launch);
anymax_status am_vk_row(am_backend_stream *stream, const am_row_launch *launch);
anymax_status am_vk_product(am_backend_stream *stream, const am_product_launch *launch);

/* Body of a reduction, as shaders/row_args.glsl numbers them. */
enum {
    AM_VK_ALONE = 0,       /* a lane a row */
    AM_VK_TREE = 1,        /* in shared memory */
    AM_VK_SUBGROUPS = 2,   /* sub-groups, then their results in order */
    AM_VK_ONE_SUBGROUP = 3 /* the group is one full sub-group: the pipeline requires it */
};
#define AM_VK_SPEC_REDUCE 9 /* its specialisation constant */

/* Shape of a row launch on this device (shape.c). */
typedef struct am_vk_shape {
    uint32_t items;  /* of a group */
    uint32_t lanes;  /* of a row */
    uint32_t unroll; /* columns of a lane in one turn of a loop */
    uint32_t each;   /* of which so many are neighbours: 1 or 4 */
    bool across, chip;
    bool even;       /* every lane has all of its columns in every turn */
    bool plain;      /* float types are read from the arguments: one pipeline for all of them */
    uint32_t reduce; /* AM_VK_ALONE ... */
    uint32_t dims;
    uint32_t list;  /* candidates that a lane can hold; 0: none */
    int32_t stages; /* may gain AM_STAGE_ONLINE */
} am_vk_shape;

#define AM_VK_STREAM_UNROLL 8
void am_vk_choose_shape(const am_backend_device *dev, const am_program *program,
                        const am_row_args *args, uint32_t rows, am_vk_shape *out);
/* Columns times passes that one launch may take. */
uint32_t am_vk_longest_row(const am_backend_device *dev);

#endif
