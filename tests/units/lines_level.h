/* What unit_lines.c calls of one instruction-set level. */
#ifndef LINES_LEVEL_H
#define LINES_LEVEL_H

#include <stdint.h>

#include "cpu/levels.h"

typedef struct lines_level {
    const char *name;
    am_level level;
    void (*load)(float *to, const char *data, uint32_t type, ptrdiff_t step, int count);
    void (*store)(char *data, uint32_t type, ptrdiff_t step, const float *from, int count);
    void (*stream)(char *data, uint32_t type, const float *from, int count);
    void (*turn)(float *to, ptrdiff_t to_step, const float *from, ptrdiff_t from_step);
} lines_level;

#endif
