/* What the name of a cached binary is made of: a change of any of it gives another name, so that
 * nothing made for another device, driver or source is ever read. */
#include "unit_keys.h"

#include "opencl/opencl.h"

#define DEVICE_UUID 0x106A /* cl_khr_device_uuid */

/* A driver that answers with these, one of which is changed. */
static const struct {
    cl_uint what;
    const char *answer, *name;
} answers[] = {
    {CL_DEVICE_NAME, "a device", "the device's name"},
    {CL_DEVICE_VERSION, "OpenCL 1.2", "the device's version"},
    {CL_DRIVER_VERSION, "3.1", "the driver's version"},
    {DEVICE_UUID, "0123456789abcdef", "the UUID"},
    {CL_DEVICE_VENDOR_ID, "1002", "the vendor"},
    {CL_PLATFORM_NAME, "a platform", "the platform's name"},
    {CL_PLATFORM_VERSION, "OpenCL 1.2 a platform", "the platform's version"},
};
static int changed_answer;

static cl_int answer(cl_uint what, size_t size, void *value, size_t *out_size) {
    for (int i = 0; i < COUNT(answers); i++) {
        size_t length = strlen(answers[i].answer);
        if (answers[i].what != what) continue;
        if (what != DEVICE_UUID && what != CL_DEVICE_VENDOR_ID) length++;
        if (length > size) return CL_INVALID_VALUE;
        memcpy(value, answers[i].answer, length);
        if (i == changed_answer) ((char *)value)[2] ^= 1;
        if (out_size) *out_size = length;
        return CL_SUCCESS;
    }
    return CL_INVALID_VALUE;
}

static cl_int CL_API_CALL of_device(cl_device_id id, cl_device_info what, size_t size, void *value,
                                    size_t *out_size) {
    (void)id;
    return answer(what, size, value, out_size);
}

static cl_int CL_API_CALL of_platform(cl_platform_id id, cl_platform_info what, size_t size,
                                      void *value, size_t *out_size) {
    (void)id;
    return answer(what, size, value, out_size);
}

static am_cache_key key_of(int changed, const char *source, const char *options) {
    const am_cl_api api = {.clGetDeviceInfo = of_device, .clGetPlatformInfo = of_platform};
    char identity[1024];
    changed_answer = changed;
    am_cl_identity(&api, NULL, NULL, identity, sizeof identity);
    return am_cl_key(identity, source, options);
}

START_TEST(opencl_keys) {
    const char *source = "kernel void f() {}", *options = "-cl-std=CL1.2 -DAM_ITEMS=64";
    keys all = {.count = 0};
    check_new(&all, key_of(-1, source, options), "nothing");
    ck_assert_str_eq(all.seen[0], key_of(-1, source, options).name);
    for (int i = 0; i < COUNT(answers); i++)
        check_new(&all, key_of(i, source, options), answers[i].name);
    check_new(&all, key_of(-1, "kernel void g() {}", options), "the source");
    check_new(&all, key_of(-1, source, "-cl-std=CL1.2 -DAM_ITEMS=32"), "an option");
    check_new(&all, key_of(-1, source, ""), "the want of options");
}
END_TEST

static void add(TCase *all) {
    tcase_add_test(all, opencl_keys);
}

int main(void) {
    return suite_main("keys_opencl", add);
}
