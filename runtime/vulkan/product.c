/* Launches of the kernel `product`. */
#include "vk.h"
#include "work.h"

#include <string.h>

#define TILE 32
#define ITEMS 64
#define SHARED_BYTES (2 * 16 * 33 * 4)
#define SIDE 8  /* of a tile that one item owns */
#define DEPTH 4 /* steps of k in one turn of its loop */

/* A window of c: m x n of it, and the members of the batch. */
typedef struct window {
    int32_t row, rows, column, columns, first, count;
} window;

static am_product_args window_args(const am_product_args *a, const window *w) {
    am_product_args out = *a;
    out.row0 = 0;
    out.m = w->rows;
    out.n = w->columns;
    out.batch = w->count;
    out.tensor[0].offset += w->row * a->tensor[0].row + w->first * a->tensor[0].batch;
    out.tensor[1].offset += w->column * a->tensor[1].column + w->first * a->tensor[1].batch;
    out.tensor[2].offset +=
        w->row * a->tensor[2].row + w->column * a->tensor[2].column + w->first * a->tensor[2].batch;
    return out;
}

static int32_t least(int64_t a, int64_t b) {
    return (int32_t)(a < b ? a : b);
}

/* A window that one dispatch can take. */
static void largest_window(const am_backend_device *dev, const am_product_args *a, bool tiled,
                           int32_t items, window *w) {
    int64_t groups = dev->max_groups;
    w->count = least(a->batch, groups);
    if (tiled) {
        w->columns = least(a->n, groups * TILE);
        w->rows = least(a->m, groups * TILE);
    } else {
        int64_t tiles = groups * items, across;
        w->columns = least(a->n, tiles * SIDE);
        across = (w->columns + SIDE - 1) / SIDE;
        w->rows = least(a->m, tiles / across * SIDE);
    }
}

static anymax_status run_window(am_backend_stream *stream, am_vk_dispatch *d,
                                const am_product_args *a, const window *w, bool tiled,
                                int32_t items) {
    am_product_args args = window_args(a, w);
    d->args = &args;
    d->args_size = sizeof args;
    d->work = am_product_work(&args);
    d->groups[2] = (uint32_t)w->count;
    if (tiled) {
        d->groups[0] = (uint32_t)((w->columns + TILE - 1) / TILE);
        d->groups[1] = (uint32_t)((w->rows + TILE - 1) / TILE);
    } else {
        int64_t tiles = (int64_t)((w->columns + SIDE - 1) / SIDE) * ((w->rows + SIDE - 1) / SIDE);
        d->groups[0] = (uint32_t)((tiles + items - 1) / items);
        d->groups[1] = 1;
    }
    return am_vk_dispatch_record(stream, d);
}

static anymax_status run_all(am_backend_stream *stream, am_vk_dispatch *d, const am_product_args *a,
                             bool tiled, int32_t items) {
    window most = {0}, w;
    largest_window(am_vk_stream_device(stream), a, tiled, items, &most);
    for (w.first = 0; w.first < a->batch; w.first += most.count) {
        w.count = least(a->batch - w.first, most.count);
        for (w.row = a->row0; w.row < a->m; w.row += most.rows) {
            w.rows = least(a->m - w.row, most.rows);
            for (w.column = 0; w.column < a->n; w.column += most.columns) {
                anymax_status status;
                w.columns = least(a->n - w.column, most.columns);
                status = run_window(stream, d, a, &w, tiled, items);
                if (status != ANYMAX_OK) return status;
                d->follows = true;
            }
        }
    }
    return ANYMAX_OK;
}

/* Turns of a loop are limited on some devices: a long sum is then made in pieces, which add to c.
 * Terms of a piece. */
static int32_t terms(const am_backend_device *dev, const am_product_args *a, bool tiled) {
    int32_t most = a->k;
    if (dev->trips) most = least(a->k, (int64_t)dev->trips / 2 * (tiled ? 1 : DEPTH));
    return most < 1 ? 1 : most;
}

static anymax_status get_pipeline(am_backend_device *dev, am_vk_key *key, bool accumulate,
                                  VkPipeline *out) {
    key->spec[6] = accumulate;
    return am_vk_pipeline_get(dev, key, out);
}

static anymax_status run_pieces(am_backend_stream *stream, am_vk_dispatch *d, am_vk_key *key,
                                am_product_args a, bool tiled, int32_t items) {
    am_backend_device *dev = am_vk_stream_device(stream);
    int32_t left = a.k;
    const int32_t most = terms(dev, &a, tiled);
    do {
        anymax_status status = get_pipeline(dev, key, a.accumulate != 0, &d->pipeline);
        a.k = least(left, most);
        if (status == ANYMAX_OK) status = run_all(stream, d, &a, tiled, items);
        if (status != ANYMAX_OK) return status;
        left -= a.k;
        a.tensor[0].offset += a.k * a.tensor[0].column;
        a.tensor[1].offset += a.k * a.tensor[1].row;
        a.accumulate = 1;
    } while (left > 0);
    return ANYMAX_OK;
}

static bool is_tiled(const am_backend_device *dev) {
    return !dev->cpu_shape && dev->max_items >= ITEMS && dev->shared_bytes >= SHARED_BYTES;
}

static int32_t group_items(const am_backend_device *dev) {
    return is_tiled(dev) ? ITEMS : least(dev->max_items, 8);
}

/* Key and bindings of a launch, and all its pipelines. */
static anymax_status make_ready(am_backend_device *dev, const am_product_launch *launch,
                                am_vk_key *key, am_vk_dispatch *d) {
    const am_product_args *a = &launch->args;
    const bool pieces = terms(dev, a, is_tiled(dev)) < a->k;
    anymax_status status;
    if (dev->product_module < 0)
        return am_fail(ANYMAX_ERROR_UNSUPPORTED, "vulkan: there is no shader for product");
    if (pieces && am_nibble(a->types, 2) != AM_F32)
        return am_fail(ANYMAX_ERROR_UNSUPPORTED,
                       "vulkan: a sum over %d terms into 16-bit elements takes too many turns here",
                       a->k);
    memset(key, 0, sizeof *key);
    memset(d, 0, sizeof *d);
    key->module = (uint32_t)dev->product_module;
    key->spec[0] = (uint32_t)group_items(dev);
    key->spec[1] = a->types[0];
    key->spec[3] = a->binds[0];
    key->spec[5] = is_tiled(dev);
    key->spec[7] = DEPTH;
    for (int s = 0; s < 3; s++) {
        const am_binding *b = &launch->binding[s];
        uint32_t at = am_nibble(a->binds, s);
        if (at >= dev->bindings)
            return am_fail(ANYMAX_ERROR_UNSUPPORTED,
                           "vulkan: product needs more than %u storage buffers", dev->bindings);
        if (!d->binding[at].memory) {
            d->binding[at] = *b;
        } else {
            if (d->binding[at].span_bytes < b->span_bytes)
                d->binding[at].span_bytes = b->span_bytes;
            d->binding[at].written |= b->written;
        }
    }
    status = get_pipeline(dev, key, a->accumulate != 0, &d->pipeline);
    return status == ANYMAX_OK && pieces ? get_pipeline(dev, key, true, &d->pipeline) : status;
}

static bool nothing_to_do(const am_product_args *a) {
    return a->m <= a->row0 || a->n <= 0 || a->batch <= 0;
}

anymax_status am_vk_product_prepare(am_backend_stream *stream, const am_product_launch *launch) {
    am_vk_dispatch d;
    am_vk_key key;
    if (nothing_to_do(&launch->args)) return ANYMAX_OK;
    return make_ready(am_vk_stream_device(stream), launch, &key, &d);
}

anymax_status am_vk_product(am_backend_stream *stream, const am_product_launch *launch) {
    am_backend_device *dev = am_vk_stream_device(stream);
    am_vk_dispatch d;
    am_vk_key key;
    anymax_status status;
    if (nothing_to_do(&launch->args)) return ANYMAX_OK;
    status = make_ready(dev, launch, &key, &d);
    return status == ANYMAX_OK
               ? run_pieces(stream, &d, &key, launch->args, is_tiled(dev), group_items(dev))
               : status;
}
