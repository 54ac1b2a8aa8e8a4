/* Host memory: every allocation of the library goes through here, so that tests can make the n-th
 * one fail. Memory of devices lives in the backends. */
#include "os.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Allocations left until one fails; 0 or less: none is to fail. */
static atomic_long countdown;

long am_alloc_fail_at(long n) {
    long left = atomic_exchange(&countdown, n);
    return left > 0 ? left : 0;
}

static bool refused(void) {
    if (atomic_load_explicit(&countdown, memory_order_relaxed) <= 0) return false;
    return atomic_fetch_sub(&countdown, 1) == 1;
}

void *am_alloc(size_t size_bytes) {
    if (refused()) return NULL;
    return malloc(size_bytes ? size_bytes : 1);
}

void *am_alloc_zero(size_t count, size_t size_bytes) {
    size_t bytes;
    if (!am_mul(count, size_bytes, &bytes) || refused()) return NULL;
    return calloc(1, bytes ? bytes : 1);
}

/* The block's own address is kept in front of it: neither aligned_alloc nor posix_memalign is
 * everywhere. `alignment` is a power of two. */
void *am_alloc_aligned(size_t alignment, size_t size_bytes) {
    size_t extra;
    char *block;
    uintptr_t at;
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    extra = alignment + sizeof(void *);
    if (size_bytes > SIZE_MAX - extra || refused()) return NULL;
    block = malloc(size_bytes + extra);
    if (!block) return NULL;
    at = ((uintptr_t)block + extra - 1) & ~(uintptr_t)(alignment - 1);
    ((void **)at)[-1] = block;
    return (void *)at;
}

void am_free(void *memory) {
    free(memory);
}

void am_free_aligned(void *memory) {
    if (memory) free(((void **)memory)[-1]);
}
