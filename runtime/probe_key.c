/* What a verdict on drivers depends on: the files of the drivers and of the loader, the environment
 * that steers them, the library. */
#include "probe.h"

#include <stdlib.h>
#include <string.h>

#include "os.h"

/* Folders and lists that change whenever a package installs a library or a driver. */
static const char *const registries[] = {"/etc/ld.so.cache",
                                         "C:\\Windows\\System32\\DriverStore\\FileRepository"};
static const char *const folders[] = {"/usr/local/lib", "/usr/lib", "/lib", "/usr/lib64"};
/* Beginnings of names: dynamic linker, loaders, drivers. Others are left out, since nearly every
 * shell has a different environment. */
static const char *const variables[] = {
    "LD_",      "DYLD_", "OCL_", "OPENCL_", "CL_",  "POCL_", "VK_",      "MESA_",    "LIBGL_",
    "GALLIUM_", "RADV_", "ANV_", "LP_",     "ZE_",  "DRI_",  "RUSTICL_", "INTEL_",   "CUDA_",
    "NVIDIA_",  "HIP_",  "HSA_", "ROCR_",   "GPU_", "AMD_",  "MVK_",     "XDG_DATA", "XDG_CONFIG"};
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static uint64_t add_text(uint64_t hash, const char *text) {
    return am_hash(hash, text, strlen(text) + 1);
}

static uint64_t add_file(uint64_t hash, const char *path) {
    uint64_t stamp[2] = {0, 0};
    am_file_stamp(path, stamp);
    return am_hash(add_text(hash, path), stamp, sizeof stamp);
}

static uint64_t add_below(uint64_t hash, const char *folder, const char *name) {
    char path[1024];
    const size_t length = strlen(folder);
    if (length + strlen(name) + 2 > sizeof path) return hash;
    memcpy(path, folder, length);
    path[length] = '/';
    memcpy(path + length + 1, name, strlen(name) + 1);
    return add_file(hash, path);
}

/* A path, or a plain name that the dynamic linker looks for. */
static uint64_t add_library(uint64_t hash, const char *name) {
    static const char *const searched[] = {"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"};
    char folder[512];
    if (strchr(name, '/')) return add_file(hash, name);
    for (size_t i = 0; i < COUNT(searched); i++) {
        const char *at = getenv(searched[i]);
        while (am_path_next(&at, folder, sizeof folder)) hash = add_below(hash, folder, name);
    }
    for (size_t i = 0; i < COUNT(folders); i++) hash = add_below(hash, folders[i], name);
    return add_text(hash, name);
}

static uint64_t environment_hash(void) {
    char *const *at = am_environment();
    uint64_t sum = 0;
    for (; at && *at; at++)
        for (size_t i = 0; i < COUNT(variables); i++)
            if (strncmp(*at, variables[i], strlen(variables[i])) == 0)
                sum += add_text(0, *at); /* a sum, as their order means nothing */
    return sum;
}

am_cache_key am_probe_key(const am_driver_list *list, const am_drivers *drivers, const char *helper,
                          const char *before) {
    uint64_t hash = add_file(add_text(add_text(0, drivers->backend), before), helper);
    const uint64_t sums[2] = {environment_hash(), list->watched};
    am_cache_part part;
    for (size_t i = 0; i < COUNT(registries); i++) hash = add_file(hash, registries[i]);
    for (size_t i = 0; drivers->loaders[i]; i++) hash = add_library(hash, drivers->loaders[i]);
    for (size_t i = 0; i < list->count; i++)
        hash = add_library(add_file(hash, list->item[i].file), list->item[i].library);
    hash = am_hash(hash, sums, sizeof sums);
    part.data = &hash;
    part.size = sizeof hash;
    return am_cache_key_make("probe", &part, 1);
}
