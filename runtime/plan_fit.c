/* Bindings of one launch: binding numbers, and fewer of them where a device has few.
 *
 * Ranges of one memory object that lie close together share a binding. Where that is not enough the
 * smallest tensors are copied next to the partial states in the workspace, whose binding they then
 * share, and outputs among them are copied back. So every program runs with four storage buffers.
 */
#include "error.h"
#include "plan_row.h"

typedef struct range {
    am_memory *memory;
    size_t low, high;
    bool written, shared; /* shared: the workspace's own, which packed tensors join */
} range;

typedef struct ranges {
    range item[AM_SLOTS];
    int of[AM_SLOTS]; /* slot -> item, -1 absent */
    int count;
} ranges;

static void each_alone(const am_fit *fit, ranges *r) {
    r->count = 0;
    for (int s = 0; s < fit->slots; s++) {
        const am_binding *b = &fit->binding[s];
        r->of[s] = -1;
        if (!b->memory) continue;
        r->of[s] = r->count;
        r->item[r->count++] = (range){b->memory, b->offset_bytes, b->offset_bytes + b->span_bytes,
                                      b->written, s == fit->share};
    }
}

/* Range `gone` becomes a part of range `into`; later ones move up. */
static void drop(ranges *r, int gone, int into) {
    for (int s = 0; s < AM_SLOTS; s++) {
        if (r->of[s] == gone) r->of[s] = into;
        if (r->of[s] > gone) r->of[s]--;
    }
    for (int i = gone; i + 1 < r->count; i++) r->item[i] = r->item[i + 1];
    r->count--;
}

static void merge(const am_limits *limits, ranges *r, int wanted) {
    for (int i = 0; i < r->count && r->count > wanted; i++) {
        for (int j = r->count - 1; j > i && r->count > wanted; j--) {
            range *a = &r->item[i], *b = &r->item[j];
            size_t low = a->low < b->low ? a->low : b->low;
            size_t high = a->high > b->high ? a->high : b->high;
            if (a->memory != b->memory || high - low > limits->range_bytes) continue;
            a->low = low;
            a->high = high;
            a->written |= b->written;
            a->shared |= b->shared;
            drop(r, j, i);
        }
    }
}

/* Copies the smallest range into the workspace's own. */
static anymax_status pack_one(am_sink *sink, am_fit *fit, ranges *r, size_t *cursor, size_t align) {
    int small = -1, own = -1;
    size_t size, at;
    anymax_status status;
    for (int i = 0; i < r->count; i++) {
        if (r->item[i].shared) {
            own = i;
            continue;
        }
        if (small < 0 ||
            r->item[i].high - r->item[i].low < r->item[small].high - r->item[small].low)
            small = i;
    }
    if (small < 0 || own < 0)
        return am_fail(ANYMAX_ERROR_UNSUPPORTED, "the device binds %u storage buffers, too few",
                       sink->limits->bindings);
    for (int i = 0; i < r->count; i++)
        if (i != small && r->item[i].memory == r->item[small].memory && r->item[i].written &&
            r->item[small].written && r->item[i].low < r->item[small].high &&
            r->item[small].low < r->item[i].high)
            return am_fail(ANYMAX_ERROR_UNSUPPORTED,
                           "the device binds %u storage buffers, too few for interleaved outputs",
                           sink->limits->bindings);
    size = r->item[small].high - r->item[small].low;
    at = *cursor;
    *cursor = (at + size + align - 1) / align * align;
    if ((*cursor > r->item[own].high ? *cursor : r->item[own].high) - r->item[own].low >
        sink->limits->range_bytes)
        return am_fail(
            ANYMAX_ERROR_UNSUPPORTED,
            "the device binds %u storage buffers of %llu bytes, too few for these tensors",
            sink->limits->bindings, (unsigned long long)sink->limits->range_bytes);
    status = sink->copy(sink->user, sink->workspace, at, r->item[small].memory, r->item[small].low,
                        size);
    if (status != ANYMAX_OK) return status;
    if (r->item[small].written) {
        fit->back[fit->back_count].memory = r->item[small].memory;
        fit->back[fit->back_count].offset_bytes = r->item[small].low;
        fit->back[fit->back_count].size_bytes = size;
        fit->back[fit->back_count++].packed_offset = at;
    }
    for (int s = 0; s < fit->slots; s++) {
        if (r->of[s] != small) continue;
        /* Where the slot's binding was within the range, it is now from `at`. */
        fit->binding[s].offset_bytes = at + (fit->binding[s].offset_bytes - r->item[small].low);
        fit->binding[s].memory = sink->workspace;
    }
    if (r->item[own].high < at + size) r->item[own].high = at + size;
    drop(r, small, own);
    return ANYMAX_OK;
}

anymax_status am_sink_count(am_sink *sink) {
    if (sink->launches++ < AM_MAX_LAUNCHES) return ANYMAX_OK;
    return am_fail(ANYMAX_ERROR_UNSUPPORTED,
                   "the tensors are too large for this device: more than %u launches",
                   AM_MAX_LAUNCHES);
}

anymax_status am_fit_bindings(am_sink *sink, am_fit *fit) {
    ranges r;
    size_t align = sink->limits->offset_align < 8 ? 8 : sink->limits->offset_align;
    int wanted = (int)sink->limits->bindings;
    fit->back_count = 0;
    each_alone(fit, &r);
    if (r.count > wanted) {
        size_t start = (sink->pack_offset + align - 1) / align * align, cursor = start;
        merge(sink->limits, &r, wanted);
        while (r.count > wanted) {
            anymax_status status = pack_one(sink, fit, &r, &cursor, align);
            if (status != ANYMAX_OK) return status;
        }
        if (cursor - start > sink->pack_bytes) sink->pack_bytes = cursor - start;
    }
    for (int s = 0; s < fit->slots; s++) {
        const range *item;
        if (r.of[s] < 0) continue;
        item = &r.item[r.of[s]];
        *fit->offset[s] +=
            (int32_t)((fit->binding[s].offset_bytes - item->low) / fit->element_bytes[s]);
        fit->binding[s].offset_bytes = item->low;
        fit->binding[s].span_bytes = item->high - item->low;
        fit->binding[s].written = item->written;
        am_set_nibble(fit->binds, s, (uint32_t)r.of[s]);
    }
    return ANYMAX_OK;
}

anymax_status am_fit_copy_back(am_sink *sink, const am_fit *fit) {
    for (int i = 0; i < fit->back_count; i++) {
        anymax_status status =
            sink->copy(sink->user, fit->back[i].memory, fit->back[i].offset_bytes, sink->workspace,
                       fit->back[i].packed_offset, fit->back[i].size_bytes);
        if (status != ANYMAX_OK) return status;
    }
    return ANYMAX_OK;
}
