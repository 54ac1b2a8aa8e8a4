/* Selectors against made-up devices, and the list in ANYMAX_SKIP. */
#include "selector.h"

#include "../support/suite.h"

static const anymax_device_info devices[] = {
    {.selector = "cpu", .backend = "cpu", .name = "AMD EPYC", .vendor = 0x1002},
    {.selector = "opencl:1",
     .backend = "opencl",
     .name = "Intel(R) Arc",
     .vendor = 0x8086,
     .type = ANYMAX_DEVICE_INTEGRATED},
    {.selector = "vulkan:0",
     .backend = "vulkan",
     .name = "Radeon",
     .uuid = "00112233-4455-6677-8899-aabbccddeeff",
     .vendor = 0x1002,
     .type = ANYMAX_DEVICE_GPU},
};

static const struct {
    const char *selector;
    int fit[COUNT(devices)];
} fits[] = {
    {"cpu", {AM_FIT_EXACT, 0, 0}},
    {"CPU", {AM_FIT_EXACT, 0, 0}},
    {"opencl", {0, 80, 0}},
    {"opencl:1", {0, AM_FIT_EXACT, 0}},
    {"opencl:10", {0, 0, 0}},
    {"opencl:", {0, 0, 0}},
    {"OpenCL:1", {0, AM_FIT_EXACT, 0}},
    {"vulkan", {0, 0, 80}},
    {"00112233-4455-6677-8899-AABBCCDDEEFF", {0, 0, 90}},
    {"gpu", {0, 70, 71}}, /* discrete before integrated, no processor */
    {"amd", {60, 0, 60}}, /* a vendor's, whatever the names are */
    {"intel", {0, 60, 0}},
    {"nvidia", {0, 0, 0}},
    {"epyc", {50, 0, 0}},
    {"r", {0, 50, 50}},
    {"Radeon RX", {0, 0, 0}},
    {"", {50, 50, 50}}, /* never asked: an empty selector is the default device */
};

START_TEST(fits_as_it_should) {
    int i;
    for (i = 0; i < COUNT(devices); i++)
        ck_assert_msg(am_selector_fit(fits[_i].selector, &devices[i]) == fits[_i].fit[i],
                      "\"%s\" and %s: %d", fits[_i].selector, devices[i].selector,
                      am_selector_fit(fits[_i].selector, &devices[i]));
}
END_TEST

static const struct {
    const char *list;
    bool opencl, vulkan;
} lists[] = {
    {"", false, false},
    {"opencl", true, false},
    {"opencl,vulkan", true, true},
    {"vulkan,opencl", true, true},
    {" OpenCL , vulkan\t", true, true},
    {",,vulkan,", false, true},
    {"xopencl", false, false},
    {"openclx", false, false},
    {"xopencl,opencl", true, false}, /* not only where the name is found first */
    {"opencl vulkan", false, false},
    {"open,cl", false, false},
};

START_TEST(list_has_its_items) {
    ck_assert_msg(am_list_has(lists[_i].list, "opencl") == lists[_i].opencl, "\"%s\"",
                  lists[_i].list);
    ck_assert_msg(am_list_has(lists[_i].list, "vulkan") == lists[_i].vulkan, "\"%s\"",
                  lists[_i].list);
}
END_TEST

START_TEST(names_a_backend) {
    ck_assert(am_selector_names("vulkan", "vulkan") && am_selector_names("Vulkan:7", "vulkan"));
    ck_assert(!am_selector_names("vulkan2", "vulkan") && !am_selector_names("vulka", "vulkan"));
    ck_assert(!am_selector_names("", "vulkan"));
}
END_TEST

static void add(TCase *all) {
    tcase_add_loop_test(all, fits_as_it_should, 0, COUNT(fits));
    tcase_add_loop_test(all, list_has_its_items, 0, COUNT(lists));
    tcase_add_test(all, names_a_backend);
}

int main(void) {
    return suite_main("selector", add);
}
