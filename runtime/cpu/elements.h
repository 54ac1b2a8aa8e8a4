/* Elements of a tensor in memory, of any type and stride, to and from f32. Included by the files
 * that are compiled once a level, so that the loops are vectorised for that level. */
#ifndef AM_CPU_ELEMENTS_H
#define AM_CPU_ELEMENTS_H

#include "../launch.h"
#include "lines.h"
#include "lanes.h"
#include "past.h"

static inline size_t am_type_size(uint32_t type) {
    return type == AM_F32 || type == AM_I32 ? 4 : type == AM_I64 ? 8 : type == AM_U8 ? 1 : 2;
}

/* `count` elements from `data`, `step` elements apart. */
static inline void am_load_line(float *to, const char *data, uint32_t type, ptrdiff_t step,
                                int count) {
    if (type == AM_F32) {
        const float *from = (const float *)data;
        if (step == 1)
            am_line_copy(to, from, count);
        else
            for (int i = 0; i < count; i++) to[i] = from[i * step];
    } else if (type == AM_F16) {
        const uint16_t *from = (const uint16_t *)data;
        if (step == 1)
            am_line_from_f16(to, from, count);
        else
            for (int i = 0; i < count; i++) to[i] = am_from_f16(from[i * step]);
    } else {
        const uint16_t *from = (const uint16_t *)data;
        if (step == 1)
            am_line_from_bf16(to, from, count);
        else
            for (int i = 0; i < count; i++) to[i] = am_from_bf16(from[i * step]);
    }
}

static inline void am_store_line(char *data, uint32_t type, ptrdiff_t step, const float *from,
                                 int count) {
    if (type == AM_F32) {
        float *to = (float *)data;
        if (step == 1)
            am_line_copy(to, from, count);
        else
            for (int i = 0; i < count; i++) to[i * step] = from[i];
    } else if (type == AM_F16) {
        uint16_t *to = (uint16_t *)data;
        if (step == 1)
            am_line_to_f16(to, from, count);
        else
            for (int i = 0; i < count; i++) to[i * step] = am_to_f16(from[i]);
    } else {
        uint16_t *to = (uint16_t *)data;
        if (step == 1)
            am_line_to_bf16(to, from, count);
        else
            for (int i = 0; i < count; i++) to[i * step] = am_to_bf16(from[i]);
    }
}

/* The same, added to what is there; `line` is scratch of `count` numbers. */
static inline void am_add_line(char *data, uint32_t type, ptrdiff_t step, const float *from,
                               int count, float *line) {
    am_load_line(line, data, type, step, count);
    for (int i = 0; i < count; i++) line[i] += from[i];
    am_store_line(data, type, step, line, count);
}

static inline void am_stream_bytes(char *to, const char *from, size_t count) {
    size_t head = -(uintptr_t)to % AM_LINE_BYTES, i = head < count ? head : count;
    memcpy(to, from, i);
    for (; i + AM_LINE_BYTES <= count; i += AM_LINE_BYTES) am_stream_cache_line(to + i, from + i);
    memcpy(to + i, from + i, count - i);
}

/* am_store_line for neighbours in memory, past the caches. */
static inline void am_stream_line(char *to, uint32_t type, const float *from, int count) {
    uint16_t piece[512];
    if (type == AM_F32) {
        am_stream_bytes(to, (const char *)from, (size_t)count * 4);
        return;
    }
#if defined(AM_STREAM_16)
    if ((uintptr_t)to % AM_LINE_BYTES == 0) {
        int whole = count / 32 * 32;
        uint16_t *line = (uint16_t *)to;
        if (type == AM_F16)
            am_stream_f16(line, from, whole);
        else
            am_stream_bf16(line, from, whole);
        to += (size_t)whole * 2;
        from += whole;
        count -= whole;
    }
#endif
    for (int i = 0; i < count; i += 512) {
        int size = count - i < 512 ? count - i : 512;
        am_store_line((char *)piece, type, 1, from + i, size);
        am_stream_bytes(to + (size_t)i * 2, (const char *)piece, (size_t)size * 2);
    }
}

static inline float am_load_one(const char *data, uint32_t type) {
    float value;
    am_load_line(&value, data, type, 1, 1);
    return value;
}

/* An index; one that int32_t cannot hold matches no column. */
static inline int32_t am_load_index(const char *data, uint32_t type) {
    if (type == AM_U8) return *(const uint8_t *)data;
    if (type == AM_I32) return *(const int32_t *)data;
    int64_t value = *(const int64_t *)data;
    return value < INT32_MIN || value > INT32_MAX ? -INT32_MAX : (int32_t)value;
}

#endif
