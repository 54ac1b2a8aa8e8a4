/* Which instruction-set levels the library has and the processor can run. */
#ifndef AM_CPU_LEVELS_H
#define AM_CPU_LEVELS_H

#include "kernel.h"

/* The best level for `wanted` AM_LEVEL_AUTO, else the one asked for; NULL when there is none, with
 * the message set. */
const am_cpu_level *am_cpu_level_choose(am_level wanted);

/* Facts of the processor. `name` has room for 64 bytes. `vendor` is its PCI vendor id, or 0. */
void am_cpu_describe(char *name, uint32_t *vendor);
/* Whether the processor and the operating system can run a level. */
bool am_cpu_can_run(am_level level);

#endif
