/* Where the Vulkan loader finds drivers and layers, for the probe: folders of JSON files, as its
 * document LoaderDriverInterface.md tells. */
#include "vk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "\"library_path\""

static void add_files(am_driver_list *out, const char *files) {
    char path[512];
    while (am_path_next(&files, path, sizeof path))
        if (!am_driver_add_folder(out, path, ".json", MARK)) am_driver_add(out, path, MARK);
}

static void add_below(am_driver_list *out, const char *folder, bool drivers) {
    char path[600];
    snprintf(path, sizeof path, "%s/vulkan/icd.d", folder);
    if (drivers) am_driver_add_folder(out, path, ".json", MARK);
    snprintf(path, sizeof path, "%s/vulkan/implicit_layer.d", folder);
    am_driver_watch(out, path);
}

static void add_home(am_driver_list *out, const char *variable, const char *below, bool drivers) {
    const char *home = getenv(variable), *user = getenv("HOME");
    char path[512];
    if (home && *home)
        snprintf(path, sizeof path, "%s", home);
    else
        snprintf(path, sizeof path, "%s/%s", user ? user : "", below);
    add_below(out, path, drivers);
}

static void add_search(am_driver_list *out, const char *variable, const char *standard,
                       bool drivers) {
    const char *paths = getenv(variable);
    char path[512];
    if (!paths || !*paths) paths = standard;
    while (am_path_next(&paths, path, sizeof path)) add_below(out, path, drivers);
}

static const char *forced(void) {
    const char *files = getenv("VK_DRIVER_FILES");
    return files && *files ? files : getenv("VK_ICD_FILENAMES");
}

static void list(am_driver_list *out) {
    const char *files = forced();
    const bool search = !files || !*files;
    add_files(out, getenv("VK_ADD_DRIVER_FILES"));
    if (!search) add_files(out, files);
    add_home(out, "XDG_CONFIG_HOME", ".config", search);
    add_search(out, "XDG_CONFIG_DIRS", "/etc/xdg", search);
    add_below(out, "/usr/local/etc", search);
    add_below(out, "/etc", search);
    add_home(out, "XDG_DATA_HOME", ".local/share", search);
    add_search(out, "XDG_DATA_DIRS", "/usr/local/share:/usr/share", search);
}

/* Both names: VK_DRIVER_FILES came with loader 1.3.207, which prefers it. */
static bool only(const am_driver_list *drivers, const bool *keep, int number, char *out,
                 size_t size) {
    static const char *const names[] = {"VK_DRIVER_FILES=", "VK_ICD_FILENAMES="};
    if (number == 2) snprintf(out, size, "VK_ADD_DRIVER_FILES");
    if (number < 2) am_driver_join(drivers, keep, names[number], out, size);
    return number < 3;
}

static void advice(const am_driver_list *drivers, const bool *keep, char *out, size_t size) {
    const char *files = getenv("VK_DRIVER_FILES");
    am_driver_join(drivers, keep,
                   files && *files ? "set VK_DRIVER_FILES=" : "set VK_ICD_FILENAMES=", out, size);
}

const am_drivers am_vk_drivers = {
    .backend = "vulkan",
    .loaders = am_vk_loaders,
    .no_layers = "VK_LOADER_LAYERS_DISABLE=~implicit~", /* loaders from 1.3.234 on */
    .list = list,
    .only = only,
    .advice = advice};
