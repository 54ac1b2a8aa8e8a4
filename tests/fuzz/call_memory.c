/* call_memory.c: what a call's tensors reach, counted here independently of the library. */
#include "call.h"

#define MOST                                                                            \
    2048 /* elements that a call may name if it is to run; a product takes their square \
          */

static const size_t sizes[] = {4, 2, 2, 4, 8, 1, 1};

static bool knows(const anymax_tensor *t) {
    return t->rank <= ANYMAX_MAX_RANK && (unsigned)t->dtype < sizeof sizes / sizeof sizes[0];
}

/* a * b + c, or a number that no memory has. */
static uint64_t reach(uint64_t a, uint64_t b, uint64_t c) {
    const uint64_t most = UINT64_MAX / 4;
    if (a > most || b > most || c > most) return most;
    if (b && a > most / b) return most;
    return a * b > most - c ? most : a * b + c;
}

/* Bytes from the first element's start to the last one's end; *count is the number of elements. */
static uint64_t span(const anymax_tensor *t, uint64_t *count) {
    uint64_t last = 0, packed = 1;
    uint32_t i;
    *count = 1;
    for (i = t->rank; i-- > 0;) {
        uint64_t n = t->shape[i] > 0 ? (uint64_t)t->shape[i] : 0;
        uint64_t step = t->strided ? (uint64_t)(t->stride[i] > 0 ? t->stride[i] : 0) : packed;
        *count = reach(*count, n, 0);
        if (n) last = reach(n - 1, step, last);
        packed = reach(packed, n ? n : 1, 0);
    }
    return *count ? reach(last + 1, sizes[t->dtype], 0) : 0;
}

bool fuzz_call_runs(const fuzz_call *call, const fuzz_memory *memory) {
    size_t i;
    for (i = 0; i < call->tensor_count; i++) {
        const anymax_tensor *t = call->tensors[i].tensor;
        uint64_t count, bytes;
        size_t at;
        if (!t || !knows(t)) continue; /* to be refused */
        bytes = span(t, &count);
        if (count > MOST) return false;
        if (t->buffer || !t->data || !count) continue;
        at = (size_t)((uint8_t *)t->data - memory->host);
        if (t->offset_bytes > ARENA_BYTES - at || bytes > ARENA_BYTES - at - t->offset_bytes)
            return false;
    }
    return true;
}

static void mark(const anymax_tensor *t, uint8_t *first) {
    int64_t at[ANYMAX_MAX_RANK] = {0}, stride[ANYMAX_MAX_RANK], packed = 1, element = 0;
    uint32_t d;
    for (d = t->rank; d-- > 0;) {
        stride[d] = t->strided ? t->stride[d] : packed;
        packed *= t->shape[d];
    }
    for (;;) {
        memset(first + (size_t)element * sizes[t->dtype], 1, sizes[t->dtype]);
        for (d = t->rank; d-- > 0;) {
            element += stride[d];
            if (++at[d] < t->shape[d]) break;
            element -= stride[d] * t->shape[d];
            at[d] = 0;
        }
        if (d == UINT32_MAX) return;
    }
}

bool fuzz_call_writes(const fuzz_call *call, const char *name) {
    bool backward = false;
    size_t i;
    for (i = 0; i < call->tensor_count; i++)
        backward = backward ||
                   (call->tensors[i].tensor && strncmp(call->tensors[i].name, "grad.", 5) == 0);
    if (backward && strncmp(name, "grad.", 5) == 0) return true;
    if (backward && !call->info->value_and_grad) return false;
    for (i = 0; i < ANYMAX_OP_MAX_TENSORS && call->info->outputs[i].name; i++)
        if (strcmp(call->info->outputs[i].name, name) == 0) return true;
    return false;
}

void fuzz_call_mark(const fuzz_call *call, const fuzz_memory *memory, uint8_t *host,
                    uint8_t *buffer) {
    size_t i;
    for (i = 0; i < call->tensor_count; i++) {
        const anymax_tensor *t = call->tensors[i].tensor;
        uint64_t count;
        if (!t || !fuzz_call_writes(call, call->tensors[i].name)) continue;
        span(t, &count);
        if (!count) continue;
        if (t->buffer == memory->buffer)
            mark(t, buffer + t->offset_bytes);
        else
            mark(t, host + ((uint8_t *)t->data - memory->host) + t->offset_bytes);
    }
}
