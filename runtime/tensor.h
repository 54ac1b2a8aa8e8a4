/* Checks of a caller's tensors, and what follows from their shape and strides. */
#ifndef AM_TENSOR_H
#define AM_TENSOR_H

#include "device.h"

/* A checked tensor: strides filled in, the range of memory that it may touch known. */
typedef struct am_checked {
    anymax_tensor tensor; /* strided; of host memory, `data` is the first element */
    size_t count;         /* elements */
    size_t span_bytes; /* from the first element's first byte to the last one's end; 0 if empty */
    bool packed;       /* no gaps and no repeats */
} am_checked;

/* Checks rank and shape alone. */
anymax_status am_tensor_check_shape(const char *op, const char *name, const anymax_tensor *tensor);
/* Checks rank, shape, strides, type, alignment and that the memory holds it all. `classes` is a set
 * of bits 1 << anymax_tensor_class. `op` and `name` go into the message. */
anymax_status am_tensor_check(const anymax_device *device, const char *op, const char *name,
                              const anymax_tensor *tensor, unsigned classes, bool output,
                              am_checked *out);
/* The same memory, offset, type, shape and strides. */
bool am_tensor_same(const am_checked *a, const am_checked *b);
/* Whether an element of one may lie in the bytes of an element of the other. */
bool am_tensor_overlap(const am_checked *a, const am_checked *b);
/* "(2, 3, 33)" */
const char *am_shape_text(uint32_t rank, const int64_t *shape, char *out, size_t size);
bool am_shape_equal(uint32_t rank_a, const int64_t *a, uint32_t rank_b, const int64_t *b);
/* Reads the elements of host tensor `to` from device memory; what lies between them stays as it is.
 */
anymax_status am_stream_read_tensor(anymax_stream *stream, am_memory *from, size_t from_offset,
                                    const am_checked *to);
/* The kernel's name of a type. */
uint32_t am_kernel_type(anymax_dtype dtype);

#endif
