/* Checks of a caller's tensors. All of them run before the first launch, on every backend alike, so
 * that outputs stay untouched when something is refused. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "anymax/call.h"
#include "error.h"
#include "os.h"
#include "tensor.h"

size_t anymax_dtype_size(anymax_dtype dtype) {
    static const size_t sizes[] = {4, 2, 2, 4, 8, 1, 1};
    return (unsigned)dtype < sizeof sizes / sizeof sizes[0] ? sizes[dtype] : 0;
}

uint32_t am_kernel_type(anymax_dtype dtype) {
    static const uint32_t types[] = {AM_F32, AM_F16, AM_BF16, AM_I32, AM_I64, AM_U8, AM_U8};
    return types[dtype];
}

static unsigned class_of(anymax_dtype dtype) {
    switch (dtype) {
    case ANYMAX_F32:
    case ANYMAX_F16:
    case ANYMAX_BF16:
        return 1u << ANYMAX_CLASS_FLOAT;
    case ANYMAX_I32:
    case ANYMAX_I64:
        return 1u << ANYMAX_CLASS_INDEX;
    case ANYMAX_U8:
        return 1u << ANYMAX_CLASS_INDEX | 1u << ANYMAX_CLASS_MASK;
    case ANYMAX_BOOL:
        return 1u << ANYMAX_CLASS_MASK;
    }
    return 0;
}

const char *am_shape_text(uint32_t rank, const int64_t *shape, char *out, size_t size) {
    size_t used = 0;
    used += (size_t)snprintf(out, size, "(");
    for (uint32_t i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%" PRId64, i ? ", " : "", shape[i]);
    if (used < size) snprintf(out + used, size - used, rank == 1 ? ",)" : ")");
    return out;
}

bool am_shape_equal(uint32_t rank_a, const int64_t *a, uint32_t rank_b, const int64_t *b) {
    if (rank_a != rank_b) return false;
    for (uint32_t i = 0; i < rank_a; i++)
        if (a[i] != b[i]) return false;
    return true;
}

bool am_tensor_same(const am_checked *a, const am_checked *b) {
    const anymax_tensor *p = &a->tensor, *q = &b->tensor;
    if (p->buffer != q->buffer || p->data != q->data || p->offset_bytes != q->offset_bytes ||
        p->dtype != q->dtype || !am_shape_equal(p->rank, p->shape, q->rank, q->shape))
        return false;
    for (uint32_t i = 0; i < p->rank; i++)
        if (p->shape[i] > 1 && p->stride[i] != q->stride[i]) return false;
    return true;
}

static uint64_t gcd(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static uintptr_t start_of(const am_checked *a) {
    return (a->tensor.buffer ? 0 : (uintptr_t)a->tensor.data) + a->tensor.offset_bytes;
}

/* Bytes that a tensor reaches from an element through the dimensions that do not step by whole
 * periods. */
static uint64_t within(const am_checked *a, uint64_t period) {
    uint64_t size = anymax_dtype_size(a->tensor.dtype), reach = size;
    for (uint32_t i = 0; i < a->tensor.rank; i++) {
        uint64_t step = (uint64_t)a->tensor.stride[i] * size;
        if (a->tensor.shape[i] > 1 && step % period)
            reach += (uint64_t)(a->tensor.shape[i] - 1) * step;
    }
    return reach;
}

/* Whether elements lie in windows that repeat with the period and have no byte in common. */
static bool apart(const am_checked *a, const am_checked *b, uint64_t period) {
    uintptr_t p = start_of(a), q = start_of(b);
    uint64_t from_a = q >= p ? (q - p) % period : (period - (p - q) % period) % period;
    return from_a >= within(a, period) && period - from_a >= within(b, period);
}

bool am_tensor_overlap(const am_checked *a, const am_checked *b) {
    uintptr_t p = start_of(a), q = start_of(b);
    const am_checked *both[2] = {a, b};
    uint64_t common = 0;
    if (a->tensor.buffer != b->tensor.buffer || !a->span_bytes || !b->span_bytes) return false;
    if (p + a->span_bytes <= q || q + b->span_bytes <= p) return false;
    /* Interleaved views are disjoint: columns beside one another (a row's stride is the period), or
     * every other element (what all strides have in common is). */
    for (int t = 0; t < 2; t++)
        for (uint32_t i = 0; i < both[t]->tensor.rank; i++) {
            uint64_t step =
                (uint64_t)both[t]->tensor.stride[i] * anymax_dtype_size(both[t]->tensor.dtype);
            if (both[t]->tensor.shape[i] < 2 || step == 0) continue;
            if (apart(a, b, step)) return false;
            common = gcd(common, step);
        }
    return common == 0 || !apart(a, b, common);
}

/* Whether two index tuples could name one element of a tensor that has some, and whose reach has
 * been found to fit: dimensions sorted by stride must each step over all that the smaller ones
 * reach. */
static bool repeats(const anymax_tensor *t) {
    bool done[ANYMAX_MAX_RANK] = {false};
    int64_t reach = 0;
    for (uint32_t round = 0; round < t->rank; round++) {
        uint32_t best = ANYMAX_MAX_RANK;
        for (uint32_t i = 0; i < t->rank; i++)
            if (!done[i] && t->shape[i] > 1 &&
                (best == ANYMAX_MAX_RANK || t->stride[i] < t->stride[best]))
                best = i;
        if (best == ANYMAX_MAX_RANK) break;
        done[best] = true;
        if (t->stride[best] <= reach) return true;
        reach += (t->shape[best] - 1) * t->stride[best];
    }
    return false;
}

anymax_status am_tensor_check_shape(const char *op, const char *name, const anymax_tensor *t) {
    char text[160];
    if (t->rank > ANYMAX_MAX_RANK)
        return am_fail(ANYMAX_ERROR_INVALID, "%s: %s has rank %u; at most %d is allowed", op, name,
                       t->rank, ANYMAX_MAX_RANK);
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->shape[i] < 0)
            return am_fail(ANYMAX_ERROR_INVALID, "%s: %s has a negative dimension: %s", op, name,
                           am_shape_text(t->rank, t->shape, text, sizeof text));
    return ANYMAX_OK;
}

/* Where size_t is narrower than the numbers of a shape, some do not fit. */
static bool is_size(int64_t number) {
    return (int64_t)(size_t)number == number;
}

static anymax_status check_extent(const char *op, const char *name, anymax_tensor *t, bool output,
                                  am_checked *out) {
    size_t last = 0, count = 1, packed = 1;
    char text[160];
    for (uint32_t i = t->rank; i-- > 0;) {
        if (!t->strided) t->stride[i] = (int64_t)packed;
        if (t->stride[i] < 0)
            return am_fail(ANYMAX_ERROR_INVALID,
                           "%s: %s has stride %" PRId64
                           " in dimension %u; negative strides are not allowed",
                           op, name, t->stride[i], i);
        if (t->shape[i] > 1 && t->stride[i] == 0 && output)
            return am_fail(ANYMAX_ERROR_INVALID,
                           "%s: output %s has stride 0 in dimension %u of length %" PRId64
                           "; only inputs may repeat elements",
                           op, name, i, t->shape[i]);
        if (!is_size(t->shape[i]) || !am_mul(count, (size_t)t->shape[i], &count) ||
            !am_mul(packed, (size_t)(t->shape[i] ? t->shape[i] : 1), &packed) || packed > INT64_MAX)
            return am_fail(ANYMAX_ERROR_INVALID, "%s: %s is too large: %s", op, name,
                           am_shape_text(t->rank, t->shape, text, sizeof text));
    }
    for (uint32_t i = 0; i < t->rank && count; i++) {
        size_t reach;
        if (t->shape[i] < 2) continue;
        if (!is_size(t->stride[i]) ||
            !am_mul((size_t)(t->shape[i] - 1), (size_t)t->stride[i], &reach) ||
            reach > SIZE_MAX / 16 - last)
            return am_fail(ANYMAX_ERROR_INVALID, "%s: the strides of %s are too large", op, name);
        last += reach;
    }
    t->strided = true;
    if (output && count && repeats(t))
        return am_fail(ANYMAX_ERROR_INVALID, "%s: elements of output %s overlap one another", op,
                       name);
    out->count = count;
    out->span_bytes = count ? (last + 1) * anymax_dtype_size(t->dtype) : 0;
    out->packed = last + 1 == count || count == 0;
    return ANYMAX_OK;
}

anymax_status am_tensor_check(const anymax_device *device, const char *op, const char *name,
                              const anymax_tensor *tensor, unsigned classes, bool output,
                              am_checked *out) {
    anymax_tensor *t = &out->tensor;
    size_t size;
    anymax_status status;
    if (!tensor) return am_fail(ANYMAX_ERROR_INVALID, "%s: %s is missing", op, name);
    *t = *tensor;
    if (!t->buffer && t->data) {
        /* One way to say where host memory begins: only the sum of both need be aligned. */
        if (t->offset_bytes > UINTPTR_MAX - (uintptr_t)t->data)
            return am_fail(ANYMAX_ERROR_INVALID, "%s: %s begins beyond the last address", op, name);
        t->data = (void *)((uintptr_t)t->data + t->offset_bytes);
        t->offset_bytes = 0;
    }
    size = anymax_dtype_size(t->dtype);
    if (!size || !(class_of(t->dtype) & classes))
        return am_fail(ANYMAX_ERROR_INVALID, "%s: %s has type %d; %s is needed", op, name,
                       (int)t->dtype,
                       classes & 1u << ANYMAX_CLASS_FLOAT ? "f32, f16 or bf16" : "i32, i64 or u8");
    status = am_tensor_check_shape(op, name, t);
    if (status == ANYMAX_OK) status = check_extent(op, name, t, output, out);
    if (status != ANYMAX_OK) return status;
    if (t->buffer) {
        t->data = NULL;
        if (t->buffer->device != device)
            return am_fail(ANYMAX_ERROR_INVALID, "%s: %s lies in a buffer of another device (%s)",
                           op, name, t->buffer->device->info.selector);
        if (t->offset_bytes > t->buffer->size_bytes ||
            out->span_bytes > t->buffer->size_bytes - t->offset_bytes)
            return am_fail(ANYMAX_ERROR_INVALID, "%s: %s reaches byte %zu of a buffer of %zu bytes",
                           op, name, t->offset_bytes + out->span_bytes, t->buffer->size_bytes);
    } else if (!t->data && out->count) {
        return am_fail(ANYMAX_ERROR_INVALID, "%s: %s has neither a buffer nor data", op, name);
    } else if (out->span_bytes > UINTPTR_MAX - (uintptr_t)t->data) {
        return am_fail(ANYMAX_ERROR_INVALID, "%s: %s ends beyond the last address", op, name);
    }
    if ((t->offset_bytes + (uintptr_t)t->data) % size) /* no data with a buffer */
        return am_fail(ANYMAX_ERROR_INVALID,
                       "%s: %s starts at %s %zu, which is not a multiple of its element size %zu",
                       op, name, t->buffer ? "byte" : "address",
                       t->offset_bytes + (uintptr_t)t->data, size);
    return ANYMAX_OK;
}
