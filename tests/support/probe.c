/* Guarded tensors. */
#include "probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"

#define GUARD 64

size_t shape_count(uint32_t rank, const int64_t *shape) {
    size_t count = 1;
    for (uint32_t d = 0; d < rank; d++) count *= (size_t)shape[d];
    return count;
}

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (memory == NULL) abort();
    return memory;
}

/* Strides of the layout; returns the elements from the first to the last, both included. */
static size_t lay_out(anymax_tensor *t, layout layout) {
    int64_t step = layout == LAYOUT_GAPS ? 2 : 1, span = 1;
    bool first_fastest = layout == LAYOUT_PERMUTED;
    for (uint32_t i = 0; i < t->rank; i++) {
        uint32_t d = first_fastest ? i : t->rank - 1 - i;
        t->stride[d] = step;
        if (layout == LAYOUT_REPEAT && d == 0)
            t->stride[d] = 0;
        else
            step *= t->shape[d] > 0 ? t->shape[d] : 1;
        if (layout == LAYOUT_GAPS) step += 3;
        if (layout == LAYOUT_ROWGAP && d == t->rank - 1) step += 5;
    }
    t->strided = layout != LAYOUT_PACKED && layout != LAYOUT_ODD;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->shape[d] == 0) return 0;
        span += (t->shape[d] - 1) * t->stride[d];
    }
    return (size_t)span;
}

/* Byte of element `i`, counted in the order of the shape. */
static size_t place_of(const anymax_tensor *t, size_t i) {
    size_t at = 0;
    for (uint32_t k = t->rank; k-- > 0;) {
        at += i % (size_t)t->shape[k] * (size_t)t->stride[k];
        i /= (size_t)t->shape[k];
    }
    return t->offset_bytes + at * anymax_dtype_size(t->dtype);
}

static void make(probe *p, const char *name, anymax_dtype dtype, uint32_t rank,
                 const int64_t *shape, layout layout) {
    size_t element = anymax_dtype_size(dtype), span;
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", name);
    p->tensor = anymax_host_tensor(NULL, dtype, rank, shape);
    p->count = shape_count(rank, shape);
    span = lay_out(&p->tensor, layout);
    p->tensor.offset_bytes = GUARD + (layout == LAYOUT_ODD    ? 3
                                      : layout == LAYOUT_GAPS ? 1
                                                              : 0) *
                                         element;
    /* the size is a whole number of words: buffers may end anywhere, but all drivers like that */
    p->image_bytes = (p->tensor.offset_bytes + span * element + GUARD + 3) & ~(size_t)3;
    p->image = allocate(p->image_bytes);
    p->after = allocate(p->image_bytes);
    p->value = allocate(p->count * sizeof *p->value);
    for (size_t i = 0; i < p->image_bytes; i++) p->image[i] = (unsigned char)(0xc3 + 7 * i);
}

void probe_input(probe *p, const char *name, anymax_dtype dtype, uint32_t rank,
                 const int64_t *shape, layout layout, const double *values) {
    make(p, name, dtype, rank, shape, layout);
    for (size_t i = 0; i < p->count; i++) {
        unsigned char *at = p->image + place_of(&p->tensor, i);
        number_store(dtype, values[i], at);
        p->value[i] = number_load(dtype, at);
    }
}

void probe_output(probe *p, const char *name, anymax_dtype dtype, uint32_t rank,
                  const int64_t *shape, layout layout, const double *first) {
    make(p, name, dtype, rank, shape, layout);
    p->output = true;
    if (first != NULL) p->first = allocate(p->count * sizeof *p->first);
    for (size_t i = 0; i < p->count; i++) {
        unsigned char *at = p->image + place_of(&p->tensor, i);
        number_store(dtype, first ? first[i] : (double)NAN, at);
        if (first != NULL) p->first[i] = number_load(dtype, at);
    }
}

anymax_status probe_place(probe *p, anymax_stream *stream, bool host) {
    anymax_status status;
    if (host) {
        memcpy(p->after, p->image, p->image_bytes);
        p->tensor.data = p->after;
        return ANYMAX_OK;
    }
    status = anymax_buffer_create(anymax_stream_device(stream), p->image_bytes, &p->buffer);
    p->tensor.buffer = p->buffer;
    if (status != ANYMAX_OK) return status;
    return anymax_buffer_write(stream, p->buffer, 0, p->image, p->image_bytes);
}

void probe_share(probe *p, probe *other) {
    p->tensor = other->tensor;
    p->shared = other;
    other->output = true;
    memcpy(p->image, other->image, p->image_bytes);
}

anymax_status probe_fetch(probe *p, anymax_stream *stream) {
    if (p->buffer == NULL) return ANYMAX_OK;
    return anymax_buffer_read(stream, p->buffer, 0, p->after, p->image_bytes);
}

bool probe_intact(probe *p, bool touched, char *text, size_t size) {
    size_t element = anymax_dtype_size(p->tensor.dtype);
    if (p->shared != NULL) memcpy(p->after, p->shared->after, p->image_bytes);
    for (size_t i = 0; i < p->count && p->output; i++) {
        size_t at = place_of(&p->tensor, i);
        p->value[i] = number_load(p->tensor.dtype, p->after + at);
        if (touched) memcpy(p->image + at, p->after + at, element);
    }
    if (memcmp(p->image, p->after, p->image_bytes) == 0) return true;
    for (size_t i = 0; i < p->image_bytes; i++) {
        if (p->image[i] == p->after[i]) continue;
        snprintf(text, size, "%s: byte %lld from its first element was 0x%02x, is 0x%02x%s",
                 p->name, (long long)i - (long long)p->tensor.offset_bytes, p->image[i],
                 p->after[i],
                 p->output ? " (not one of its elements, or the call was refused)" : " (an input)");
        break;
    }
    return false;
}

void probe_free(probe *p) {
    anymax_buffer_release(p->buffer);
    free(p->image);
    free(p->after);
    free(p->value);
    free(p->first);
    memset(p, 0, sizeof *p);
}
