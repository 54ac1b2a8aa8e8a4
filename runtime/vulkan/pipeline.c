/* Shader modules, pipelines and the pipeline cache on disk. */
#include "vk.h"

#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------- modules */

enum { /* of the SPIR-V specification */
       OP_EXTENSION = 10,
       OP_MEMORY_MODEL = 14,
       OP_ENTRY_POINT = 15,
       OP_EXECUTION_MODE = 16,
       OP_CAPABILITY = 17,
       MODE_KEEP_INFINITIES = 4461,      /* SignedZeroInfNanPreserve, both mode ... */
       CAPABILITY_KEEP_INFINITIES = 4466 /* ... and capability */
};

static const char float_controls[] = "SPV_KHR_float_controls";
#define EXTENSION_WORDS (1 + (sizeof float_controls + 3) / 4)

/* Copies a module, with infinities and NaN declared as wanted: a driver may otherwise assume that
 * there are none. Capabilities come first, then extensions, ..., entry points, execution modes.
 * Returns the number of words written; `out` has room for 5 + EXTENSION_WORDS + 4 more than there
 * are. */
static size_t declare_infinities(const uint32_t *in, size_t count, uint32_t *out) {
    size_t o = 5;
    uint32_t main_id = 0;
    bool capability_done = false, mode_done = false;
    memcpy(out, in, 5 * sizeof *in);
    for (size_t i = 5; i < count;) {
        uint32_t op = in[i] & 0xffff, words = in[i] >> 16;
        if (words == 0 || words > count - i) return 0;
        if (op != OP_CAPABILITY && !capability_done) {
            out[o++] = 2u << 16 | OP_CAPABILITY;
            out[o++] = CAPABILITY_KEEP_INFINITIES;
            out[o] = (uint32_t)EXTENSION_WORDS << 16 | OP_EXTENSION;
            memset(out + o + 1, 0, (EXTENSION_WORDS - 1) * sizeof *out);
            memcpy(out + o + 1, float_controls, sizeof float_controls);
            o += EXTENSION_WORDS;
            capability_done = true;
        }
        if (op == OP_ENTRY_POINT) main_id = in[i + 2];
        if (op == OP_EXECUTION_MODE && !mode_done) {
            out[o++] = 4u << 16 | OP_EXECUTION_MODE;
            out[o++] = main_id;
            out[o++] = MODE_KEEP_INFINITIES;
            out[o++] = 32;
            mode_done = true;
        }
        memcpy(out + o, in + i, words * sizeof *in);
        o += words;
        i += words;
    }
    return o;
}

static anymax_status module_create(am_backend_device *dev, uint32_t index, VkShaderModule *out) {
    const am_embedded *file = &am_spirv_modules[index];
    VkShaderModuleCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    uint32_t *patched = NULL;
    VkResult result;
    info.pCode = (const uint32_t *)(const void *)file->data;
    info.codeSize = file->size;
    if (dev->facts.keeps_infinities) {
        patched = am_alloc(file->size + (5 + EXTENSION_WORDS + 4) * 4);
        if (!patched) return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "vulkan: out of host memory");
        info.codeSize = declare_infinities(info.pCode, file->size / 4, patched) * 4;
        info.pCode = patched;
    }
    result = am_vk_strikes(dev, AM_FAULT_COMPILE);
    if (result == VK_SUCCESS) result = dev->vkCreateShaderModule(dev->device, &info, NULL, out);
    am_free(patched);
    return result == VK_SUCCESS ? ANYMAX_OK : am_vk_fail(dev, result, "vkCreateShaderModule");
}

static int find_module(const char *name, bool full) {
    char path[128];
    snprintf(path, sizeof path, "%s.%s", name, full ? "full" : "floor");
    for (size_t i = 0; i < am_spirv_modules_count; i++)
        if (strcmp(am_spirv_modules[i].path, path) == 0) return (int)i;
    return -1;
}

/* ---------------------------------------------------------------- cache on disk */

am_cache_key am_vk_cache_key(const am_vk_facts *facts) {
    const VkPhysicalDeviceProperties *p = &facts->properties;
    /* The driver knows shaders and their constants by contents; names and sizes tell one build from
     * another, so that the file does not grow for ever. */
    uint64_t shaders = 0;
    for (size_t i = 0; i < am_spirv_modules_count; i++) {
        const am_embedded *m = &am_spirv_modules[i];
        shaders = am_hash(am_hash(shaders, m->path, strlen(m->path)), &m->size, sizeof m->size);
    }
    const am_cache_part parts[] = {{p->deviceName, strlen(p->deviceName)},
                                   {&p->vendorID, sizeof p->vendorID},
                                   {&p->deviceID, sizeof p->deviceID},
                                   {&p->apiVersion, sizeof p->apiVersion},
                                   {&p->driverVersion, sizeof p->driverVersion},
                                   {p->pipelineCacheUUID, sizeof p->pipelineCacheUUID},
                                   {facts->uuid, sizeof facts->uuid},
                                   {facts->driver, strlen(facts->driver)},
                                   {&shaders, sizeof shaders}};
    return am_cache_key_make("vulkan", parts, sizeof parts / sizeof *parts);
}

static uint32_t little_endian(const unsigned char *b) {
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* What the specification has a driver write at the start of its data, and look at when it is given
 * some back; not all do (VkPipelineCacheHeaderVersionOne: size, version, vendor, device, UUID). */
bool am_vk_cache_fits(const VkPhysicalDeviceProperties *p, const void *data, size_t size) {
    enum { HEADER_BYTES = 16 + VK_UUID_SIZE };
    const unsigned char *b = data;
    return size >= HEADER_BYTES && little_endian(b) >= HEADER_BYTES && little_endian(b) <= size &&
           little_endian(b + 4) == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
           little_endian(b + 8) == p->vendorID && little_endian(b + 12) == p->deviceID &&
           memcmp(b + 16, p->pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

void am_vk_cache_save(am_backend_device *dev, bool soon) {
    uint64_t now = am_time_ns();
    size_t size = 0;
    void *data = NULL;
    uint32_t count;
    bool wanted;
    if (dev->cache_off || !dev->cache || atomic_load(&dev->lost)) return;
    am_mutex_lock(&dev->pipeline_lock);
    count = dev->pipeline_count;
    wanted = count != dev->cache_saved_count &&
             !(soon && dev->cache_saved_once && now - dev->cache_saved_ns < 500000000u);
    if (wanted) {
        dev->cache_saved_count = count;
        dev->cache_saved_once = true;
        dev->cache_saved_ns = now;
    }
    am_mutex_unlock(&dev->pipeline_lock);
    if (!wanted) return;
    if (dev->vkGetPipelineCacheData(dev->device, dev->cache, &size, NULL) == VK_SUCCESS && size)
        data = am_alloc(size);
    /* What would be rejected later is not written. */
    if (data && dev->vkGetPipelineCacheData(dev->device, dev->cache, &size, data) == VK_SUCCESS &&
        am_vk_cache_fits(&dev->facts.properties, data, size))
        am_cache_write(dev->cache_key.name, data, size);
    am_free(data);
}

static anymax_status cache_open(am_backend_device *dev) {
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    const char *key = dev->cache_key.name;
    void *data = NULL;
    size_t size = 0;
    const VkResult struck = am_vk_strikes(dev, AM_FAULT_OOM);
    VkResult result = VK_ERROR_UNKNOWN;
    dev->cache_key = am_vk_cache_key(&dev->facts);
    if (!dev->cache_off && struck == VK_SUCCESS) data = am_cache_read(key, &size);
    if (data && am_vk_cache_fits(&dev->facts.properties, data, size)) {
        info.initialDataSize = size;
        info.pInitialData = data;
        result = dev->vkCreatePipelineCache(dev->device, &info, NULL, &dev->cache);
    }
    if (data && result != VK_SUCCESS) am_cache_reject(key, "is not what the driver takes");
    am_free(data);
    if (result != VK_SUCCESS) {
        info.initialDataSize = 0;
        info.pInitialData = NULL;
        result = struck;
        if (result == VK_SUCCESS)
            result = dev->vkCreatePipelineCache(dev->device, &info, NULL, &dev->cache);
    }
    return result == VK_SUCCESS ? ANYMAX_OK : am_vk_fail(dev, result, "vkCreatePipelineCache");
}

/* ---------------------------------------------------------------- pipelines */

static anymax_status layouts_open(am_backend_device *dev) {
    VkDescriptorSetLayoutBinding bindings[2 + AM_VK_QUADS] = {
        {.binding = 0,
         .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
         .descriptorCount = 1,
         .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT},
        {.binding = 1,
         .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
         .descriptorCount = dev->full ? 8 : 4,
         .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT}};
    VkDescriptorSetLayoutCreateInfo set = {.sType =
                                               VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                           .bindingCount = dev->full ? 2 + AM_VK_QUADS : 2,
                                           .pBindings = bindings};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &dev->set_layout};
    VkResult result = am_vk_strikes(dev, AM_FAULT_OOM);
    for (uint32_t i = 0; i < AM_VK_QUADS; i++) /* only modules of the full flavour have them */
        bindings[2 + i] = (VkDescriptorSetLayoutBinding){
            .binding = 2 + i,
            .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    if (result == VK_SUCCESS)
        result = dev->vkCreateDescriptorSetLayout(dev->device, &set, NULL, &dev->set_layout);
    if (result != VK_SUCCESS) return am_vk_fail(dev, result, "vkCreateDescriptorSetLayout");
    result = am_vk_strikes(dev, AM_FAULT_OOM);
    if (result == VK_SUCCESS)
        result = dev->vkCreatePipelineLayout(dev->device, &layout, NULL, &dev->layout);
    return result == VK_SUCCESS ? ANYMAX_OK : am_vk_fail(dev, result, "vkCreatePipelineLayout");
}

#define FIRST_SLOTS 256

anymax_status am_vk_pipelines_open(am_backend_device *dev) {
    anymax_status status = layouts_open(dev);
    if (status != ANYMAX_OK) return status;
    dev->pipeline_slots = FIRST_SLOTS;
    dev->pipelines = am_alloc_zero(FIRST_SLOTS, sizeof *dev->pipelines);
    dev->modules = am_alloc_zero(am_spirv_modules_count, sizeof *dev->modules);
    dev->row_modules = am_alloc_zero(AM_PROGRAM_COUNT, sizeof *dev->row_modules);
    if (!dev->pipelines || !dev->modules || !dev->row_modules)
        return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "vulkan: out of host memory");
    for (int i = 0; i < AM_PROGRAM_COUNT; i++)
        dev->row_modules[i] = find_module(am_program_table[i].name, dev->full);
    dev->product_module = find_module("product", dev->full);
    return cache_open(dev);
}

void am_vk_pipelines_close(am_backend_device *dev) {
    am_vk_cache_save(dev, false);
    for (uint32_t i = 0; dev->pipelines && i < dev->pipeline_slots; i++)
        if (dev->pipelines[i].pipeline)
            dev->vkDestroyPipeline(dev->device, dev->pipelines[i].pipeline, NULL);
    for (size_t i = 0; dev->modules && i < am_spirv_modules_count; i++)
        if (dev->modules[i]) dev->vkDestroyShaderModule(dev->device, dev->modules[i], NULL);
    if (dev->cache) dev->vkDestroyPipelineCache(dev->device, dev->cache, NULL);
    if (dev->layout) dev->vkDestroyPipelineLayout(dev->device, dev->layout, NULL);
    if (dev->set_layout) dev->vkDestroyDescriptorSetLayout(dev->device, dev->set_layout, NULL);
    am_free(dev->pipelines);
    am_free(dev->modules);
    am_free(dev->row_modules);
}

/* The slot of a key, or the free one where it belongs. */
static am_vk_pipeline *find_slot(am_vk_pipeline *table, uint32_t slots, const am_vk_key *key) {
    uint32_t at = (uint32_t)am_hash(0, key, sizeof *key) & (slots - 1);
    while (table[at].pipeline && memcmp(&table[at].key, key, sizeof *key) != 0)
        at = (at + 1) & (slots - 1);
    return &table[at];
}

static bool grow(am_backend_device *dev) {
    uint32_t slots = dev->pipeline_slots * 2;
    am_vk_pipeline *table = am_alloc_zero(slots, sizeof *table);
    if (!table) return false;
    for (uint32_t i = 0; i < dev->pipeline_slots; i++)
        if (dev->pipelines[i].pipeline)
            *find_slot(table, slots, &dev->pipelines[i].key) = dev->pipelines[i];
    am_free(dev->pipelines);
    dev->pipelines = table;
    dev->pipeline_slots = slots;
    return true;
}

static anymax_status pipeline_create(am_backend_device *dev, const am_vk_key *key,
                                     VkShaderModule module, VkPipeline *out) {
    VkSpecializationMapEntry entries[AM_VK_SPECS];
    VkSpecializationInfo special = {.mapEntryCount = AM_VK_SPECS,
                                    .pMapEntries = entries,
                                    .dataSize = sizeof key->spec,
                                    .pData = key->spec};
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main",
                  .pSpecializationInfo = &special},
        .layout = dev->layout};
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
        .requiredSubgroupSize = dev->facts.subgroup};
    VkResult result;
    if (key->spec[AM_VK_SPEC_REDUCE] == AM_VK_ONE_SUBGROUP) {
        info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
        info.stage.pNext = &size;
    }
    for (uint32_t i = 0; i < AM_VK_SPECS; i++)
        entries[i] = (VkSpecializationMapEntry){.constantID = i, .offset = 4 * i, .size = 4};
    result = am_vk_strikes(dev, AM_FAULT_COMPILE);
    if (result == VK_SUCCESS)
        result = dev->vkCreateComputePipelines(dev->device, dev->cache, 1, &info, NULL, out);
    return result == VK_SUCCESS ? ANYMAX_OK : am_vk_fail(dev, result, "vkCreateComputePipelines");
}

/* The module of a key, made on first use. */
static anymax_status module_get(am_backend_device *dev, uint32_t index, VkShaderModule *out) {
    VkShaderModule made = VK_NULL_HANDLE;
    anymax_status status;
    am_mutex_lock(&dev->pipeline_lock);
    *out = dev->modules[index];
    am_mutex_unlock(&dev->pipeline_lock);
    if (*out) return ANYMAX_OK;
    status = module_create(dev, index, &made);
    if (status != ANYMAX_OK) return status;
    am_mutex_lock(&dev->pipeline_lock);
    if (!dev->modules[index]) {
        dev->modules[index] = made;
        made = VK_NULL_HANDLE;
    }
    *out = dev->modules[index];
    am_mutex_unlock(&dev->pipeline_lock);
    if (made) dev->vkDestroyShaderModule(dev->device, made, NULL);
    return ANYMAX_OK;
}

anymax_status am_vk_pipeline_get(am_backend_device *dev, const am_vk_key *key, VkPipeline *out) {
    VkShaderModule module;
    VkPipeline made = VK_NULL_HANDLE;
    am_vk_pipeline *slot;
    anymax_status status;
    bool fits;
    am_mutex_lock(&dev->pipeline_lock);
    *out = find_slot(dev->pipelines, dev->pipeline_slots, key)->pipeline;
    am_mutex_unlock(&dev->pipeline_lock);
    if (*out) return ANYMAX_OK;
    /* The lock is not held while the driver compiles: another thread may make the same one. */
    status = module_get(dev, key->module, &module);
    if (status == ANYMAX_OK) status = pipeline_create(dev, key, module, &made);
    if (status != ANYMAX_OK) return status;
    am_mutex_lock(&dev->pipeline_lock);
    fits = dev->pipeline_count < dev->pipeline_slots / 4 * 3 || grow(dev);
    if (fits) {
        slot = find_slot(dev->pipelines, dev->pipeline_slots, key);
        if (!slot->pipeline) {
            *slot = (am_vk_pipeline){*key, made};
            dev->pipeline_count++;
            made = VK_NULL_HANDLE;
        }
        *out = slot->pipeline;
    }
    am_mutex_unlock(&dev->pipeline_lock);
    if (made) dev->vkDestroyPipeline(dev->device, made, NULL);
    return fits ? ANYMAX_OK : am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "vulkan: out of host memory");
}
