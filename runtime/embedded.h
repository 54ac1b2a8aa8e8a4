/* Files that the build embeds in the library: kernel sources and compiled shaders. */
#ifndef AM_EMBEDDED_H
#define AM_EMBEDDED_H

#include <stddef.h>

typedef struct am_embedded {
    const char *path; /* as in the source tree, from the folder that holds it: "math/rows/unit.h" */
    const unsigned char *data;
    size_t size;
} am_embedded;

/* OpenCL C: "cl/NAME.cl", and what these include, "math/..." */
extern const am_embedded am_cl_sources[];
extern const size_t am_cl_sources_count;
/* SPIR-V: one module for each shader and variant */
extern const am_embedded am_spirv_modules[];
extern const size_t am_spirv_modules_count;

#endif
