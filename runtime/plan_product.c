/* The planner of products: cuts m, n, k or the batch until every operand fits a binding, then the
 * batch, m and n until a launch asks no more of the device than one dispatch may. Sums over k are
 * cut only at places that do not depend on that bound, so it changes no bits. */
#include <string.h>

#include "error.h"
#include "plan_row.h"
#include "work.h"

enum { M, N, K, BATCH };

/* Edge of the smallest piece of c: in less, no kernel would be done sooner. */
#define TILE 64
/* Terms of a sum that one launch may take: beyond, even a tile of c alone would take long. */
#define LONGEST_SUM (1 << 18)

/* Which dimensions run along an operand's rows, columns and batch. */
static const int dims_of[3][3] = {{M, K, BATCH}, {K, N, BATCH}, {M, N, BATCH}};

typedef struct block {
    int64_t size[4], base[3];
    bool accumulate;
} block;

static int64_t stride_of(const am_product_request *r, int slot, int dim) {
    for (int i = 0; i < 3; i++)
        if (dims_of[slot][i] == dim)
            return i == 0 ? r->slot[slot].row : i == 1 ? r->slot[slot].column : r->slot[slot].batch;
    return 0;
}

static uint64_t span_of(const am_product_request *r, const block *b, int slot) {
    int64_t last = 0;
    for (int d = 0; d < 4; d++) last += (b->size[d] - 1) * stride_of(r, slot, d);
    return (uint64_t)(last + 1) * r->slot[slot].element_bytes;
}

static anymax_status send(am_sink *sink, const am_product_request *r, const block *b) {
    am_product_launch launch;
    am_fit fit;
    size_t align = sink->limits->offset_align < 8 ? 8 : sink->limits->offset_align;
    anymax_status status;
    memset(&launch, 0, sizeof launch);
    launch.args.m = (int32_t)b->size[M];
    launch.args.n = (int32_t)b->size[N];
    launch.args.k = (int32_t)b->size[K];
    launch.args.batch = (int32_t)b->size[BATCH];
    launch.args.accumulate = b->accumulate;
    launch.args.alpha = r->alpha;
    fit.binding = launch.binding;
    fit.binds = launch.args.binds;
    fit.slots = 3;
    fit.share = -1;
    for (int s = 0; s < 3; s++) {
        size_t at = r->slot[s].offset_bytes + (size_t)b->base[s] * r->slot[s].element_bytes;
        size_t low = at / align * align;
        launch.binding[s] =
            (am_binding){r->slot[s].memory, low, at - low + (size_t)span_of(r, b, s), s == 2};
        launch.args.tensor[s].offset = (int32_t)((at - low) / r->slot[s].element_bytes);
        launch.args.tensor[s].row = (int32_t)r->slot[s].row;
        launch.args.tensor[s].column = (int32_t)r->slot[s].column;
        launch.args.tensor[s].batch = (int32_t)r->slot[s].batch;
        fit.offset[s] = &launch.args.tensor[s].offset;
        fit.element_bytes[s] = r->slot[s].element_bytes;
        am_set_nibble(launch.args.types, s, r->slot[s].type);
    }
    status = am_sink_count(sink);
    if (status == ANYMAX_OK) status = am_fit_bindings(sink, &fit);
    return status == ANYMAX_OK ? sink->product(sink->user, &launch) : status;
}

static anymax_status plan_block(am_sink *sink, const am_product_request *r, const block *b);

/* The first `size` of dimension `cut`, then the rest. */
static anymax_status plan_two(am_sink *sink, const am_product_request *r, const block *b, int cut,
                              int64_t size) {
    block first = *b, second = *b;
    anymax_status status;
    first.size[cut] = size;
    second.size[cut] = b->size[cut] - size;
    for (int s = 0; s < 3; s++) second.base[s] += size * stride_of(r, s, cut);
    if (cut == K) second.accumulate = true;
    status = plan_block(sink, r, &first);
    return status == ANYMAX_OK ? plan_block(sink, r, &second) : status;
}

static bool too_long(const am_sink *sink, const block *b) {
    am_product_args args = {.m = (int32_t)b->size[M],
                            .n = (int32_t)b->size[N],
                            .k = (int32_t)b->size[K],
                            .batch = (int32_t)b->size[BATCH]};
    return am_product_work(&args) > sink->limits->launch_work;
}

static anymax_status plan_block(am_sink *sink, const am_product_request *r, const block *b) {
    uint64_t limit = sink->limits->range_bytes -
                     (sink->limits->offset_align < 8 ? 8 : sink->limits->offset_align);
    int cut = -1;
    /* Pieces of a sum are added in f32 alone: 16 bits would be rounded each time. */
    if (b->size[K] > LONGEST_SUM && r->slot[2].type == AM_F32)
        return plan_two(sink, r, b, K, b->size[K] / 2);
    for (int s = 0; s < 3 && cut < 0; s++) {
        int64_t most = -1;
        if (span_of(r, b, s) <= limit) continue;
        for (int d = 0; d < 4; d++) {
            int64_t reach = (b->size[d] - 1) * stride_of(r, s, d);
            if (b->size[d] > 1 && reach > most) {
                most = reach;
                cut = d;
            }
        }
        if (cut < 0)
            return am_fail(ANYMAX_ERROR_UNSUPPORTED,
                           "product: one element exceeds the device's range");
    }
    for (int d = 0; d < 4 && cut < 0; d++)
        if (b->size[d] > INT32_MAX / 4) cut = d;
    if (cut >= 0) return plan_two(sink, r, b, cut, b->size[cut] / 2);
    if (!too_long(sink, b)) return send(sink, r, b);
    if (b->size[BATCH] > 1) return plan_two(sink, r, b, BATCH, b->size[BATCH] / 2);
    cut = b->size[M] >= b->size[N] ? M : N;
    if (b->size[cut] <= TILE) return send(sink, r, b);
    return plan_two(sink, r, b, cut, (b->size[cut] / 2 + TILE - 1) / TILE * TILE);
}

anymax_status am_plan_product(am_sink *sink, const am_product_request *request) {
    block whole = {.size = {request->m, request->n, request->k, request->batch},
                   .accumulate = request->accumulate};
    for (int d = 0; d < 4; d++)
        if (whole.size[d] <= 0) return ANYMAX_OK;
    return plan_block(sink, request, &whole);
}
