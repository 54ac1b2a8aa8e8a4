/* What the name of a pipeline cache's file is made of, and which data are handed to a driver. */
#include "unit_keys.h"

#include "vulkan/vk.h"

START_TEST(vulkan_keys) {
    static const am_vk_facts plain = {.properties = {.deviceName = "a device",
                                                     .vendorID = 0x1002,
                                                     .deviceID = 7,
                                                     .apiVersion = 1,
                                                     .driverVersion = 2},
                                      .driver = "a driver 22.3"};
    am_vk_facts facts = plain;
    keys all = {.count = 0};
    VkPhysicalDeviceProperties *p = &facts.properties;
    check_new(&all, am_vk_cache_key(&facts), "nothing");
    ck_assert_str_eq(all.seen[0], am_vk_cache_key(&plain).name);
#define CHANGE(field, what) \
    facts = plain;          \
    (field)++;              \
    check_new(&all, am_vk_cache_key(&facts), what)
    CHANGE(p->deviceName[3], "the device's name");
    CHANGE(p->vendorID, "the vendor");
    CHANGE(p->deviceID, "the device's number");
    CHANGE(p->apiVersion, "the version of the interface");
    CHANGE(p->driverVersion, "the driver's version");
    CHANGE(p->pipelineCacheUUID[15], "the UUID of the cache");
    CHANGE(facts.uuid[0], "the UUID of the device");
    CHANGE(facts.driver[9], "the driver's name");
}
END_TEST

static void put(unsigned char *at, uint32_t value) {
    for (int i = 0; i < 4; i++) at[i] = (unsigned char)(value >> 8 * i);
}

/* Data for the driver: only under the header that it writes itself. */
START_TEST(vulkan_data) {
    VkPhysicalDeviceProperties p = {.vendorID = 0x12345678, .deviceID = 0x9abcdef0};
    unsigned char data[64] = {0};
    for (int i = 0; i < (int)VK_UUID_SIZE; i++)
        p.pipelineCacheUUID[i] = data[16 + i] = (uint8_t)(i * 9);
    put(data, 32);
    put(data + 4, VK_PIPELINE_CACHE_HEADER_VERSION_ONE);
    put(data + 8, p.vendorID);
    put(data + 12, p.deviceID);
    for (int size = 0; size <= COUNT(data); size++)
        ck_assert_int_eq(am_vk_cache_fits(&p, data, (size_t)size), size >= 32);
    for (int bit = 0; bit < 8 * COUNT(data); bit++) {
        /* A header of 33 to 48 bytes may be, as these are there; its contents are the driver's. */
        bool may = bit < 5 || bit >= 8 * 32;
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        ck_assert_msg(am_vk_cache_fits(&p, data, sizeof data) == may, "bit %d", bit);
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}
END_TEST

static void add(TCase *all) {
    tcase_add_test(all, vulkan_keys);
    tcase_add_test(all, vulkan_data);
}

int main(void) {
    return suite_main("keys_vulkan", add);
}
