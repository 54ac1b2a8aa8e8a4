/* selector.c: bytes as device selectors: against made-up devices, against the devices that are here
 * (the CPU alone), and as the list in ANYMAX_SKIP. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#include "selector.h"

#include "fuzz.h"

#include <ctype.h>

static void copy_text(char *to, size_t size, char *from) {
    snprintf(to, size, "%s", from);
    free(from);
}

static char *other_case(const char *text) {
    size_t length = strlen(text), i;
    char *made = malloc(length + 1);
    if (!made) abort();
    for (i = 0; i <= length; i++)
        made[i] = (char)(islower((unsigned char)text[i]) ? toupper((unsigned char)text[i])
                                                         : tolower((unsigned char)text[i]));
    return made;
}

static void against_made_up(const char *selector, fuzz_bytes *bytes) {
    static const uint32_t vendors[] = {0, 0x1002, 0x8086, 0x10de, 0x5143, 0x13b5, 0x106b, 0x10005};
    anymax_device_info info = {.vendor = 0};
    char *flipped = other_case(selector);
    int fit;
    info.type = (anymax_device_type)(fuzz_byte(bytes) % 4);
    info.vendor = vendors[fuzz_byte(bytes) % 8];
    copy_text(info.selector, sizeof info.selector, fuzz_text(bytes));
    copy_text(info.backend, sizeof info.backend, fuzz_text(bytes));
    copy_text(info.uuid, sizeof info.uuid, fuzz_text(bytes));
    copy_text(info.name, sizeof info.name, fuzz_text(bytes));
    fit = am_selector_fit(selector, &info);
    fuzz_check(fit >= 0 && fit <= AM_FIT_EXACT, "a fit has a range", selector);
    fuzz_check(fit == am_selector_fit(flipped, &info), "upper and lower case are alike", selector);
    fuzz_check((fit == AM_FIT_EXACT) == am_same_text(selector, info.selector),
               "only the very selector fits exactly", selector);
    free(flipped);
}

static void against_cpu(const char *selector) {
    anymax_device_desc desc = {.selector = selector, .threads = 1};
    anymax_device *device = NULL;
    anymax_status status;
    setenv("ANYMAX_SKIP", "opencl,vulkan", 1);
    status = anymax_device_open(&desc, &device);
    if (status == ANYMAX_OK) {
        fuzz_check(*selector == 0 || am_selector_fit(selector, anymax_device_get_info(device)) > 0,
                   "a device that was opened fits", selector);
    } else {
        fuzz_check(status == ANYMAX_ERROR_NOT_FOUND && device == NULL,
                   "what does not fit is not found", selector);
        fuzz_sentence(anymax_error_message());
    }
    anymax_device_release(device);
}

/* The list's items one by one. */
static void as_list(const char *list, const char *name) {
    const char *at = list;
    bool found = false;
    while (*at) {
        const char *end = at + strcspn(at, ","), *from = at, *to = end;
        char item[64];
        while (from < to && (*from == ' ' || *from == '\t')) from++;
        while (from < to && (to[-1] == ' ' || to[-1] == '\t')) to--;
        if ((size_t)(to - from) < sizeof item) {
            memcpy(item, from, (size_t)(to - from));
            item[to - from] = 0;
            found = found || (*item && am_same_text(item, name));
        }
        at = *end ? end + 1 : end;
    }
    fuzz_check(found == am_list_has(list, name), "a list has its items and no others", list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_bytes bytes = {data, data + size};
    unsigned what = fuzz_byte(&bytes);
    char *text = fuzz_text(&bytes);
    if (what % 3 == 0) against_made_up(text, &bytes);
    if (what % 3 == 1) against_cpu(text);
    if (what % 3 == 2) {
        as_list(text, "opencl");
        as_list(text, "vulkan");
    }
    free(text);
    return 0;
}
