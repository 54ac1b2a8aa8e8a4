/* The named set: the programs that between them reach every part of every skeleton, under each form
 * of the kernels that can be forced and on pretended devices with lowered limits. Sanitizers,
 * validation layers and oclgrind run this suite, so tensors are small. */
#include "support/cases.h"

#include <stdio.h>
#include <string.h>

/* Few programs, chosen for what they need of a skeleton: stages (one to three), iterations,
 * candidates, online merging, gathers, row results, row parameters with gradients, products. */
static const op_case named[] = {
    {.name = "short rows", .op = "softmax", .rank = 2, .shape = {67, 9}},
    {.name = "rows on chip",
     .op = "softmax",
     .rank = 2,
     .shape = {3, 700},
     .scale = {true, 0.3f},
     .layout_in = LAYOUT_ODD,
     .layout_out = LAYOUT_ODD},
    {.name = "16 bit, masked, poisoned",
     .op = "softmax",
     .rank = 2,
     .shape = {7, 130},
     .in = ANYMAX_F16,
     .out = ANYMAX_BF16,
     .fill = FILL_POISON,
     .accumulate = true},
    {.name = "strided axis",
     .op = "log_softmax",
     .rank = 3,
     .shape = {3, 19, 37},
     .axis_back = 1,
     .fill = FILL_MASKED,
     .out = ANYMAX_F16},
    {.name = "rows", .op = "log_softmax", .rank = 2, .shape = {3, 333}},
    {.name = "row results", .op = "logsumexp", .rank = 2, .shape = {5, 259}, .fill = FILL_MASKED},
    {.name = "gather",
     .op = "cross_entropy",
     .rank = 2,
     .shape = {11, 150},
     .weight = true,
     .smoothing = 0.1,
     .z_loss = 0.01,
     .reduction = "mean",
     .index = ANYMAX_I64},
    {.name = "gather, strided axis",
     .op = "cross_entropy",
     .rank = 3,
     .shape = {3, 13, 21},
     .axis_back = 1,
     .in = ANYMAX_BF16,
     .out = ANYMAX_BF16,
     .index = ANYMAX_U8},
    {.name = "iterations, candidates", .op = "entmax15", .rank = 2, .shape = {5, 300}},
    {.name = "candidates overflow",
     .op = "entmax15",
     .rank = 2,
     .shape = {2, 900},
     .fill = FILL_NEAR},
    {.name = "row parameter", .op = "entmax", .rank = 2, .shape = {5, 200}, .row_alpha = true},
    {.name = "row parameter, strided axis",
     .op = "entmax",
     .rank = 3,
     .shape = {2, 11, 30},
     .axis_back = 1,
     .row_alpha = true,
     .fill = FILL_MASKED},
    {.name = "products",
     .op = "infonce_loss",
     .rank = 2,
     .shape = {13, 21},
     .negatives = 7,
     .symmetric = true},
    {.name = "modifiers",
     .op = "softmax",
     .rank = 3,
     .shape = {3, 4, 65},
     .typed = true,
     .row_scale = true,
     .bias = SPREAD_SHORT,
     .noise = SPREAD_FULL},
    {.name = "more rows than groups", .op = "softmax", .rank = 2, .shape = {2500, 3}},
};

/* PoCL takes up to ten seconds to compile one streamed kernel in the form for GPUs, as it has
 * barriers in loops. There a part of the set runs: several reductions, a gather, iterations,
 * candidates. All of the set runs in that form on Vulkan, and on OpenCL under oclgrind, which is a
 * GPU to the library. */
static bool costly(const test_device *device, const char *pretence) {
    return test_is_backend("opencl") && strstr(pretence, "shape=gpu") != NULL &&
           anymax_device_get_info(device->device)->type == ANYMAX_DEVICE_CPU;
}

static bool in_small_set(const op_case *c) {
    return strcmp(c->name, "rows on chip") == 0 || strcmp(c->name, "gather") == 0 ||
           strcmp(c->name, "iterations, candidates") == 0;
}

static void run_named(const test_device *device, const char *pretence) {
    bool small = costly(device, pretence);
    for (int i = 0; i < COUNT(named); i++) {
        if (small && !in_small_set(&named[i])) continue;
        op_case_run(device, &named[i], false);
        op_case_run(device, &named[i], true);
    }
}

START_TEST(plain) {
    op_case_run(&test_main_device, &named[_i], false);
    op_case_run(&test_main_device, &named[_i], true);
}
END_TEST

/* ---------------------------------------------------------------- forced and pretended */

#define CPU 1
#define GPU 2    /* OpenCL and Vulkan */
#define VULKAN 4 /* alone, where OpenCL would compile for minutes and see nothing new */

typedef struct pretence {
    int on; /* backends that know it */
    const char *text;
} pretence;

static const pretence skeletons[] = {
    {CPU | GPU, "skeleton=short"},
    {CPU | GPU, "skeleton=chip"},
    {CPU | GPU, "skeleton=stream"},
    {CPU | GPU, "skeleton=split,part=64"},
    {CPU | GPU, "skeleton=across"},
    {GPU, "shape=gpu,skeleton=short"},
    {GPU, "shape=gpu,skeleton=chip"},
    {GPU, "shape=gpu,skeleton=stream"},
    {GPU, "shape=gpu,skeleton=split,part=64"},
    {GPU, "shape=gpu,skeleton=across"},
    {GPU, "shape=cpu"},
    {GPU, "shape=gpu"},
    {VULKAN, "shape=gpu,reduce=tree"},
    {VULKAN, "shape=gpu,reduce=subgroup"},
    {CPU, "level=v2"},
    {CPU, "level=v3"},
    {CPU, "level=v4"},
    {CPU, "level=generic"},
    {CPU, "level=neon"},
};

/* A phone, one limit at a time, and all together. */
static const pretence limits[] = {
    {CPU | GPU, "shared=16k,invocations=128,buffers=4,range=1m,align=256"},
    {CPU | GPU, "shape=gpu,shared=16k,invocations=128,buffers=4,range=1m,align=256"},
    {CPU | GPU, "range=4k,align=256"}, /* windows within these small tensors */
    {CPU | GPU, "buffers=4"},
    {CPU | GPU, "storage16=0"},
    {GPU, "shape=gpu,storage16=0"},
    {CPU | GPU, "subgroup=none"},
    {GPU, "shape=gpu,subgroup=none"},
    {CPU | GPU, "groups=1000"},
    {CPU | GPU, "groups=3"},
    {GPU, "shape=gpu,groups=3"},
    {CPU | GPU, "trips=100"},
    {VULKAN, "shape=gpu,trips=100"},
    {CPU | VULKAN,
     "invocations=64,shared=2k"}, /* products on OpenCL need 13 KiB of the 32 it has */
};

static void run_pretence(const pretence *p) {
    test_device d = {0};
    anymax_device_desc desc = {0};
    anymax_device *probe = NULL;
    double start = test_now();
    int here = test_is_backend("cpu") ? CPU : test_is_backend("vulkan") ? GPU | VULKAN : GPU;
    if (!(p->on & here)) return;
    desc.selector = test_selector();
    desc.pretend = p->text;
    /* An instruction set or a sub-group operation that this machine lacks is refused as
     * unsupported. */
    if (anymax_device_open(&desc, &probe) == ANYMAX_ERROR_UNSUPPORTED) {
        printf("not on this machine: %s: %s\n", p->text, anymax_error_message());
        return;
    }
    anymax_device_release(probe);
    test_device_open(&d, p->text, 0);
    run_named(&d, p->text);
    test_device_close(&d);
    printf("%6.1f s  %s\n", test_now() - start, p->text);
    fflush(stdout);
}

START_TEST(skeleton) {
    run_pretence(&skeletons[_i]);
}
END_TEST

START_TEST(limit) {
    run_pretence(&limits[_i]);
}
END_TEST

static void add(Suite *suite) {
    TCase *base = tcase_create("plain"), *forced = tcase_create("skeletons");
    TCase *lowered = tcase_create("limits");
    tcase_add_loop_test(base, plain, 0, COUNT(named));
    tcase_add_loop_test(forced, skeleton, 0, COUNT(skeletons));
    tcase_add_loop_test(lowered, limit, 0, COUNT(limits));
    suite_add_tcase(suite, base);
    suite_add_tcase(suite, forced);
    suite_add_tcase(suite, lowered);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "skeleton", add);
}
