/* Where OpenCL loaders find drivers, for the probe: the Khronos loader and ocl-icd read a folder of
 * .icd files, each with the name of a library in its first line. */
#include "opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VENDORS "/etc/OpenCL/vendors"

static bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static void list(am_driver_list *out) {
    const char *vendors = getenv("OCL_ICD_VENDORS"), *files = getenv("OCL_ICD_FILENAMES");
    const char *layers = getenv("OPENCL_LAYERS");
    char path[512];
    if (!vendors || !*vendors) vendors = getenv("OPENCL_VENDOR_PATH"); /* ocl-icd alone */
    while (am_path_next(&files, path, sizeof path)) am_driver_add_library(out, path);
    while (am_path_next(&layers, path, sizeof path)) am_driver_watch(out, path);
    am_driver_watch(out, "/etc/OpenCL/layers");
#ifdef _WIN32
    (void)vendors; /* they are in the registry, which says nothing of what is in the files */
#else
    if (!vendors || !*vendors) {
        am_driver_add_folder(out, VENDORS, ".icd", NULL);
        return;
    }
    if (am_driver_add_folder(out, vendors, ".icd", NULL)) return;
    /* ocl-icd takes one file too, or one library. */
    if (!ends_with(vendors, ".icd")) {
        am_driver_add_library(out, vendors);
    } else {
        snprintf(path, sizeof path, "%s%s", strchr(vendors, '/') ? "" : VENDORS "/", vendors);
        am_driver_add(out, path, NULL);
    }
#endif
}

/* Of one driver, since no value of OCL_ICD_VENDORS names two of a folder: ocl-icd takes its file,
 * and the Khronos loader, to which that is no folder, its library. */
static bool only(const am_driver_list *drivers, const bool *keep, int number, char *out,
                 size_t size) {
    size_t i = 0;
    while (i < drivers->count && !keep[i]) i++;
    if (i == drivers->count) return false;
    if (number == 0)
        snprintf(out, size, "OCL_ICD_VENDORS=%s", drivers->item[i].file);
    else if (number == 1)
        snprintf(out, size, "OCL_ICD_FILENAMES=%s", drivers->item[i].library);
    return number < 2;
}

static void advice(const am_driver_list *drivers, const bool *keep, char *out, size_t size) {
    size_t count = 0, i, used;
    for (i = 0; i < drivers->count; i++) count += keep[i];
    if (count == 1) {
        char variable[2][600];
        only(drivers, keep, 0, variable[0], sizeof variable[0]);
        only(drivers, keep, 1, variable[1], sizeof variable[1]);
        snprintf(out, size, "set %s %s", variable[0], variable[1]);
        return;
    }
    used = (size_t)snprintf(out, size, "set OCL_ICD_VENDORS to a folder with copies of");
    for (i = 0; i < drivers->count; i++)
        if (keep[i] && used < size)
            used += (size_t)snprintf(out + used, size - used, " %s", drivers->item[i].file);
}

const am_drivers am_cl_drivers = {
    .backend = "opencl", .loaders = am_cl_loaders, .list = list, .only = only, .advice = advice};
