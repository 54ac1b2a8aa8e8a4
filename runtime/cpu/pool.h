/* Threads of a CPU device. */
#ifndef AM_CPU_POOL_H
#define AM_CPU_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct am_pool am_pool;

/* `threads` counts the calling thread; the others start with the first work that is worth it.
 * NULL when memory runs out. */
am_pool *am_pool_create(uint32_t threads, size_t scratch_bytes);
void am_pool_destroy(am_pool *pool);

/* Runs `run` for units 0 to units - 1, up to `grain` of them at a time, on the pool and on the
 * calling thread, whose scratch is given; returns when all are done. May be called from several
 * threads. */
void am_pool_run(am_pool *pool, int64_t units, int64_t grain,
                 void (*run)(const void *user, int64_t first, int64_t end, void *scratch),
                 const void *user, void *scratch);

/* To be asked before work that is worth a helper only if that need not be woken first: whether one
 * is awake, or such works follow one another so closely that it would be for the next ones. */
bool am_pool_lively(am_pool *pool);

#endif
