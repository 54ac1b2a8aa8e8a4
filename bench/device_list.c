/* device_list.c: opening the devices that the options name. */
#include "command.h"

#include <stdlib.h>
#include <string.h>

static char *copy_text(const char *text) {
    size_t n = strlen(text) + 1;
    char *copy = malloc(n);
    if (copy) memcpy(copy, text, n);
    return copy;
}

typedef struct listing {
    char **name;
    size_t count;
    bool tell;
} listing;

static bool list_one(void *user, const anymax_device_info *info, const char *reason) {
    listing *list = user;
    char **name;
    if (!info) {
        if (list->tell) cmd_error("left out: %s", reason);
        return true;
    }
    name = realloc(list->name, (list->count + 2) * sizeof *name);
    if (!name) return false;
    list->name = name;
    list->name[list->count] = copy_text(info->selector);
    if (list->name[list->count]) list->name[++list->count] = NULL;
    return true;
}

char **cmd_list_devices(bool tell) {
    listing list = {.tell = tell};
    if (anymax_devices_visit(list_one, &list) != ANYMAX_OK) cmd_error("%s", anymax_error_message());
    return list.name;
}

void cmd_free_list(char **list) {
    char **at;
    for (at = list; at && *at; at++) free(*at);
    free(list);
}

static bool is_open(const cmd_devices_open *devices, const char *selector) {
    size_t i;
    for (i = 0; i < devices->count; i++)
        if (strcmp(cmd_selector(devices->device[i]), selector) == 0) return true;
    return false;
}

static bool open_one(const char *selector, uint32_t threads, cmd_devices_open *out) {
    anymax_device_desc desc = {0};
    anymax_device *device = NULL, **room;
    desc.selector = selector;
    desc.threads = threads;
    if (anymax_device_open(&desc, &device) != ANYMAX_OK) {
        cmd_error("device %s cannot be opened: %s", selector ? selector : "(default)",
                  anymax_error_message());
        out->failed++;
        return false;
    }
    room = realloc(out->device, (out->count + 1) * sizeof *room);
    if (room) out->device = room;
    if (!room || is_open(out, cmd_selector(device))) {
        anymax_device_release(device);
        return room != NULL;
    }
    out->device[out->count++] = device;
    return true;
}

static void open_all(uint32_t threads, cmd_devices_open *out) {
    char **list = cmd_list_devices(true);
    size_t i;
    for (i = 0; list && list[i]; i++)
        if (!is_open(out, list[i])) open_one(list[i], threads, out);
    cmd_free_list(list);
}

bool cmd_open_devices(char *const *selectors, bool all, uint32_t threads, cmd_devices_open *out) {
    const char *fixed = getenv("ANYMAX_DEVICE");
    bool good = true;
    memset(out, 0, sizeof *out);
    if (selectors && *selectors) {
        for (; *selectors && good; selectors++) {
            if (strcmp(*selectors, "all") == 0)
                open_all(threads, out);
            else
                good = open_one(*selectors, threads, out);
        }
    } else if (all && !(fixed && *fixed)) {
        open_all(threads, out);
    } else {
        good = open_one(NULL, threads, out);
    }
    if (good && out->count > 0) return true;
    cmd_close_devices(out);
    return false;
}

void cmd_close_devices(cmd_devices_open *devices) {
    size_t i;
    for (i = 0; i < devices->count; i++) anymax_device_release(devices->device[i]);
    free(devices->device);
    memset(devices, 0, sizeof *devices);
}
