/* Memory around the caches: what is asked for early, what is written past them. */
#ifndef AM_CPU_PAST_H
#define AM_CPU_PAST_H

#include "lanes.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__GNUC__)
#define am_prefetch(at) __builtin_prefetch(at, 0, 3)
#else
#define am_prefetch(at) ((void)(at))
#endif

/* Stores that leave the caches alone, for results larger than they are: memory is not read before
 * it is written. Other threads may see them late: backend.c has the fence. */
#if defined(__AVX512F__)
#define AM_STREAM_BYTES 64
#define am_stream_store(to, from) \
    _mm512_stream_ps((float *)(to), _mm512_loadu_ps((const float *)(from)))
#elif defined(__AVX__)
#define AM_STREAM_BYTES 32
#define am_stream_store(to, from) \
    _mm256_stream_ps((float *)(to), _mm256_loadu_ps((const float *)(from)))
#elif defined(__SSE2__)
#define AM_STREAM_BYTES 16
#define am_stream_store(to, from) _mm_stream_ps((float *)(to), _mm_loadu_ps((const float *)(from)))
#endif

/* A line of the cache, to a place that is aligned to it. */
#define AM_LINE_BYTES 64

static inline AM_ALWAYS_INLINE void am_stream_cache_line(char *to, const char *from) {
#if defined(AM_STREAM_BYTES)
    for (int i = 0; i < AM_LINE_BYTES; i += AM_STREAM_BYTES) am_stream_store(to + i, from + i);
#else
    memcpy(to, from, AM_LINE_BYTES);
#endif
}

/* A step of a tile to memory that is so aligned. */
static inline AM_ALWAYS_INLINE void am_stream_lanes(float *to, const float *from) {
    for (int i = 0; i < AM_CHUNK; i += AM_LINE_BYTES / 4)
        am_stream_cache_line((char *)(to + i), (const char *)(from + i));
}

#endif
