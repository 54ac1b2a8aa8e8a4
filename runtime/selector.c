/* How a selector chooses among devices (see selector.h; the README has the grammar). */
#include "selector.h"

#include <ctype.h>
#include <string.h>

static bool same_letter(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

bool am_same_text(const char *a, const char *b) {
    for (; *a && *b; a++, b++)
        if (!same_letter(*a, *b)) return false;
    return *a == *b;
}

static bool has_text(const char *text, const char *part) {
    for (; *text; text++) {
        size_t i = 0;
        while (part[i] && same_letter(text[i], part[i])) i++;
        if (!part[i]) return true;
    }
    return false;
}

bool am_list_has(const char *list, const char *name) {
    size_t length = strlen(name);
    while (*list) {
        size_t item, i = 0;
        list += strspn(list, ", \t");
        item = strcspn(list, ",");
        while (i < length && i < item && same_letter(list[i], name[i])) i++;
        if (i == length && i + strspn(list + i, " \t") == item) return true;
        list += item;
    }
    return false;
}

bool am_selector_names(const char *selector, const char *backend) {
    for (; *backend; selector++, backend++)
        if (!same_letter(*selector, *backend)) return false;
    return !*selector || *selector == ':';
}

static uint32_t vendor_id(const char *name) {
    static const struct {
        const char *name;
        uint32_t id;
    } vendors[] = {{"amd", 0x1002}, {"intel", 0x8086}, {"nvidia", 0x10de}, {"qualcomm", 0x5143},
                   {"arm", 0x13b5}, {"apple", 0x106b}, {"mesa", 0x10005}};
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; i++)
        if (am_same_text(name, vendors[i].name)) return vendors[i].id;
    return 0;
}

/* A "gpu" that is discrete is better than one that is integrated, and an exact selector better than
 * a part of a name. */
int am_selector_fit(const char *selector, const anymax_device_info *info) {
    if (am_same_text(selector, info->selector)) return AM_FIT_EXACT;
    if (info->uuid[0] && am_same_text(selector, info->uuid)) return 90;
    if (am_same_text(selector, info->backend)) return 80;
    if (am_same_text(selector, "gpu")) {
        if (info->type == ANYMAX_DEVICE_GPU) return 71;
        return info->type == ANYMAX_DEVICE_INTEGRATED ? 70 : 0;
    }
    if (vendor_id(selector)) return info->vendor == vendor_id(selector) ? 60 : 0;
    return has_text(info->name, selector) ? 50 : 0;
}

bool am_is_off(const char *value) {
    return value &&
           (am_same_text(value, "off") || am_same_text(value, "0") || am_same_text(value, "no"));
}
