/* Makes the pipelines of the Vulkan backend on a device that need not be there, and prints what the
 * driver's compiler says of each: absent_vulkan TARGET [PROGRAM...] (all row programs if none is
 * named).
 *
 * Meant for drivers that compile without their hardware (Mesa's RADV with RADV_FORCE_FAMILY): the
 * planner and the backend run as they always do, launch by launch, and what they hand to the driver
 * is measured. Nothing is executed there, so no result is looked at.
 *
 * One line a pipeline, words separated by tabs, as the heading of run.sh has them. */
#include "stream.h"

#include <stdio.h>
#include <string.h>

#include "plan_row.h"

/* ---- what the driver says */

static struct {
    PFN_vkCreateDevice create_device;
    PFN_vkGetDeviceProcAddr get;
    PFN_vkCreateComputePipelines create_pipelines;
    PFN_vkGetPipelineExecutablePropertiesKHR properties;
    PFN_vkGetPipelineExecutableStatisticsKHR statistics;
} driver;

static struct {
    const char *target, *kernel, *shape, *flavour;
    char **programs; /* that are wanted; ends with NULL */
    int made, failed;
} now;

#define MAX_STATISTICS 64

/* The statistic of that name; -1 if the driver has none. */
static double number(const VkPipelineExecutableStatisticKHR *list, uint32_t count,
                     const char *name) {
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(list[i].name, name) != 0) continue;
        switch (list[i].format) {
        case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
            return list[i].value.b32;
        case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
            return (double)list[i].value.i64;
        case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
            return (double)list[i].value.u64;
        default:
            return list[i].value.f64;
        }
    }
    return -1;
}

/* How a kernel was specialised, by the constants of shaders/row_args.glsl and product.comp. */
static void describe(const uint32_t *spec, char *out, size_t size) {
    static const char *const reduce[] = {"alone", "tree", "subgroups", "one-subgroup"};
    if (strcmp(now.kernel, "product") == 0) {
        snprintf(out, size, "%s,%s,T%u", now.shape, spec[5] ? "tiled" : "alone", spec[0]);
        return;
    }
    snprintf(out, size, "%s,%s%u,%s,T%u,stages%x", now.shape, spec[8] ? "chip" : "stream", spec[7],
             spec[9] < 4 ? reduce[spec[9]] : "?", spec[0], spec[5]);
}

static void report(VkDevice device, VkPipeline pipeline, const uint32_t *spec) {
    VkPipelineInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pipeline = pipeline};
    VkPipelineExecutableInfoKHR which = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
                                         .pipeline = pipeline};
    VkPipelineExecutablePropertiesKHR properties = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR};
    VkPipelineExecutableStatisticKHR list[MAX_STATISTICS];
    uint32_t one = 1, count = MAX_STATISTICS;
    char variant[128];
    memset(list, 0, sizeof list);
    for (int i = 0; i < MAX_STATISTICS; i++)
        list[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
    if (driver.properties(device, &info, &one, &properties) < 0 ||
        driver.statistics(device, &which, &count, list) < 0) {
        now.failed++;
        return;
    }
    describe(spec, variant, sizeof variant);
    now.made++;
#define N(name) number(list, count, name)
    printf("vulkan\t%s\t%s\t%s/%s\t%u\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\n",
           now.target, now.kernel, now.flavour, variant, properties.subgroupSize, N("VGPRs"),
           N("SGPRs"), N("Spilled VGPRs"), N("Spilled SGPRs"), N("Scratch size"), N("LDS size"),
           N("Subgroups per SIMD"), N("Instructions"), N("Code size"));
#undef N
}

/* ---- between the backend and the driver */

static VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice device, VkPipelineCache cache,
                                                       uint32_t count,
                                                       const VkComputePipelineCreateInfo *infos,
                                                       const VkAllocationCallbacks *allocator,
                                                       VkPipeline *out) {
    VkComputePipelineCreateInfo info = *infos;
    VkResult result;
    (void)cache; /* what is found in a cache is not measured */
    info.flags |= VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
    result = driver.create_pipelines(device, VK_NULL_HANDLE, count, &info, allocator, out);
    if (result == VK_SUCCESS) report(device, *out, infos->stage.pSpecializationInfo->pData);
    return result;
}

/* RADV without a device crashes in its own. */
static VKAPI_ATTR VkResult VKAPI_CALL wait_idle(VkDevice device) {
    (void)device;
    return VK_SUCCESS;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get(VkDevice device, const char *name) {
    if (strcmp(name, "vkCreateComputePipelines") == 0) return (PFN_vkVoidFunction)create_pipelines;
    if (strcmp(name, "vkDeviceWaitIdle") == 0) return (PFN_vkVoidFunction)wait_idle;
    return driver.get(device, name);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical,
                                                    const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator,
                                                    VkDevice *out) {
    const char *names[16];
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR feature = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
        .pNext = (void *)info->pNext,
        .pipelineExecutableInfo = VK_TRUE};
    VkDeviceCreateInfo more = *info;
    VkResult result;
    uint32_t n = 0;
    for (; n < info->enabledExtensionCount && n < 15; n++)
        names[n] = info->ppEnabledExtensionNames[n];
    names[n++] = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
    more.pNext = &feature;
    more.enabledExtensionCount = n;
    more.ppEnabledExtensionNames = names;
    result = driver.create_device(physical, &more, allocator, out);
    if (result != VK_SUCCESS) return result;
    driver.create_pipelines =
        (PFN_vkCreateComputePipelines)driver.get(*out, "vkCreateComputePipelines");
    driver.properties = (PFN_vkGetPipelineExecutablePropertiesKHR)driver.get(
        *out, "vkGetPipelineExecutablePropertiesKHR");
    driver.statistics = (PFN_vkGetPipelineExecutableStatisticsKHR)driver.get(
        *out, "vkGetPipelineExecutableStatisticsKHR");
    return driver.create_pipelines && driver.properties && driver.statistics
               ? VK_SUCCESS
               : VK_ERROR_EXTENSION_NOT_PRESENT;
}

/* The linker puts these in the place of the library's own (--wrap). */
anymax_status __real_am_vk_instance_open(am_vk_instance *vk);
anymax_status __wrap_am_vk_instance_open(am_vk_instance *vk);
anymax_status __wrap_am_vk_instance_open(am_vk_instance *vk) {
    anymax_status status = __real_am_vk_instance_open(vk);
    if (status != ANYMAX_OK) return status;
    driver.create_device = vk->vkCreateDevice;
    driver.get = vk->vkGetDeviceProcAddr;
    vk->vkCreateDevice = create_device;
    vk->vkGetDeviceProcAddr = get;
    return ANYMAX_OK;
}

/* A device that is not there has no memory to record commands in. */
anymax_status __wrap_am_vk_dispatch_record(am_backend_stream *stream,
                                           const am_vk_dispatch *dispatch);
anymax_status __wrap_am_vk_dispatch_record(am_backend_stream *stream,
                                           const am_vk_dispatch *dispatch) {
    (void)stream, (void)dispatch;
    return ANYMAX_OK;
}

/* ---- what is asked of the planner */

/* Each reaches a form of its own. */
static const struct shape {
    const char *name;
    int64_t n, rows;
    bool across; /* rows, not columns, are neighbours in memory */
    bool modifiers;
    uint32_t type;
} shapes[] = {
    {.name = "n8", .n = 8, .rows = 4096, .type = AM_F32},
    {.name = "n100", .n = 100, .rows = 4096, .type = AM_F32},
    {.name = "n256", .n = 256, .rows = 1024, .type = AM_F32},
    {.name = "n384", .n = 384, .rows = 1024, .type = AM_F32},
    {.name = "n512", .n = 512, .rows = 1024, .type = AM_F32},
    {.name = "n768", .n = 768, .rows = 1024, .type = AM_F32},
    {.name = "n1000", .n = 1000, .rows = 1024, .type = AM_F32},
    {.name = "n4096", .n = 4096, .rows = 256, .type = AM_F32},
    {.name = "n20000", .n = 20000, .rows = 64, .type = AM_F32},
    {.name = "n200000", .n = 200000, .rows = 2, .type = AM_F32},
    {.name = "n12-across", .n = 12, .rows = 4096, .across = true, .type = AM_F32},
    {.name = "n1000-across", .n = 1000, .rows = 1024, .across = true, .type = AM_F32},
    {.name = "n1000-f16", .n = 1000, .rows = 1024, .type = AM_F16},
    {.name = "n1000-bf16", .n = 1000, .rows = 1024, .type = AM_BF16},
    {.name = "n20000-f16", .n = 20000, .rows = 64, .type = AM_F16},
    {.name = "n1000-modifiers", .n = 1000, .rows = 1024, .modifiers = true, .type = AM_F32},
};

typedef struct session {
    am_backend_device *dev;
    am_backend_stream stream;
    am_limits limits;
    am_memory memory[AM_SLOTS]; /* told apart by their addresses alone */
} session;

static anymax_status send_row(void *user, const am_row_launch *launch) {
    return am_vk_row(&((session *)user)->stream, launch);
}

static anymax_status send_product(void *user, const am_product_launch *launch) {
    return am_vk_product(&((session *)user)->stream, launch);
}

/* Tensors that share a binding are packed by copies, which have no pipeline. */
static anymax_status send_copy(void *user, am_memory *to, size_t to_offset, am_memory *from,
                               size_t from_offset, size_t size_bytes) {
    (void)user, (void)to, (void)to_offset, (void)from, (void)from_offset, (void)size_bytes;
    return ANYMAX_OK;
}

static am_sink sink_of(session *s) {
    am_sink sink = {.limits = &s->limits,
                    .pretend = &s->dev->pretend,
                    .workspace = &s->memory[AM_SLOT_WORKSPACE],
                    .pack_offset = (size_t)1 << 20,
                    .user = s,
                    .row = send_row,
                    .product = send_product,
                    .copy = send_copy};
    return sink;
}

static anymax_status plan_row(session *s, int program, const struct shape *shape) {
    const am_program *p = &am_program_table[program];
    am_row_request request = {
        .program = program, .outer_rank = 1, .outer = {shape->rows}, .n = shape->n};
    am_sink sink = sink_of(s);
    for (int slot = 0; slot < AM_SLOT_WORKSPACE; slot++) {
        const am_slot_role role = p->slot[slot].role;
        const bool rows = role == AM_ROLE_IN || role == AM_ROLE_OUT;
        if (role == AM_ROLE_NONE || role == AM_ROLE_WORKSPACE) continue;
        if (!shape->modifiers && (role == AM_ROLE_PARAM || slot >= AM_SLOT_BIAS)) continue;
        request.slot[slot] = (am_row_slot){.memory = &s->memory[slot],
                                           .type = role == AM_ROLE_INDEX ? AM_I32
                                                   : rows                ? shape->type
                                                                         : AM_F32,
                                           .element_bytes = rows && shape->type != AM_F32 ? 2 : 4,
                                           .stride = {!rows || shape->across ? 1 : shape->n},
                                           .step = !rows           ? 0
                                                   : shape->across ? shape->rows
                                                                   : 1};
    }
    return am_plan_row(&sink, &request);
}

static anymax_status plan_product(session *s, uint32_t type, uint32_t bytes) {
    am_product_request request = {.m = 128, .n = 256, .k = 64, .batch = 1, .alpha = 1.0f};
    am_sink sink = sink_of(s);
    const int64_t width[3] = {request.k, request.n, request.n};
    for (int slot = 0; slot < 3; slot++) {
        request.slot[slot].memory = &s->memory[slot];
        request.slot[slot].type = slot < 2 ? type : AM_F32;
        request.slot[slot].element_bytes = slot < 2 ? bytes : 4;
        request.slot[slot].row = width[slot];
        request.slot[slot].column = 1;
    }
    return am_plan_product(&sink, &request);
}

static bool check(anymax_status status) {
    if (status == ANYMAX_OK) return true;
    now.failed++;
    fprintf(stderr, "absent_vulkan: %s: %s %s: %s\n", now.target, now.kernel, now.shape,
            anymax_error_message());
    return false;
}

/* Is "softmax_forward" wanted? So if there is no list, and if "softmax" is in it. */
static bool is_wanted(const char *name) {
    for (char **p = now.programs; *p; p++)
        if (strncmp(name, *p, strlen(*p)) == 0 && name + strlen(*p) == strrchr(name, '_'))
            return true;
    return *now.programs == NULL;
}

static void list_all(session *s) {
    now.kernel = "product";
    now.shape = "f32";
    check(plan_product(s, AM_F32, 4));
    now.shape = "f16";
    check(plan_product(s, AM_F16, 2));
    for (int program = 0; program < AM_PROGRAM_COUNT; program++) {
        now.kernel = am_program_table[program].name;
        if (!is_wanted(now.kernel)) continue;
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            now.shape = shapes[i].name;
            check(plan_row(s, program, &shapes[i]));
        }
    }
}

/* All with what the device has (`full`), or with what Vulkan 1.1 guarantees (`floor`). */
static void run(const char *flavour, const char *pretend) {
    static session s;
    am_device_options options = {.no_cache = true};
    now.flavour = flavour;
    now.kernel = "a device";
    now.shape = "that is not there";
    if (!check(am_pretend_parse(pretend, &options.pretend))) return;
    if (!check(am_vulkan_backend.open(0, &options, &s.dev, &s.limits))) return;
    s.stream.dev = s.dev;
    list_all(&s);
    am_vulkan_backend.close(s.dev);
}

int main(int count, char **words) {
    if (count < 2) return fprintf(stderr, "usage: absent_vulkan TARGET [PROGRAM...]\n"), 2;
    now.target = words[1];
    now.programs = words + 2;
    run("full", "");
    run("floor", "buffers=4,storage16=0,subgroup=none,shared=16k,invocations=128");
    if (!now.made) now.failed++;
    return now.failed != 0;
}
