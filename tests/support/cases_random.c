/* Random cases: awkward shapes, any axis, layouts, types mixed, options. */
#include "cases.h"

#include <stdio.h>
#include <string.h>

#include "numbers.h"

static bool chance(rng *r, int one_in) {
    return rng_below(r, one_in) == 0;
}

static float pick(rng *r, const float *from, int count) {
    return from[rng_below(r, count)];
}

static void shape(op_case *c, rng *r, int64_t most) {
    static const int64_t lengths[] = {1,   2,   3,   4,   5,   7,   8,   9,    15,
                                      16,  17,  31,  32,  33,  63,  64,  65,   70,
                                      100, 127, 128, 129, 255, 256, 257, 1000, 1025};
    int64_t n = lengths[rng_below(r, COUNT(lengths))], left = most / n;
    c->rank = (uint32_t)(1 + rng_below(r, ANYMAX_MAX_RANK));
    c->axis_back = chance(r, 2) ? 0 : (int)rng_below(r, c->rank);
    for (uint32_t d = 0; d < c->rank; d++) {
        int64_t size = 1 + rng_below(r, left < 1 ? 1 : left > 9 ? 9 : left);
        if (d == c->rank - 1 - (uint32_t)c->axis_back)
            size = n;
        else
            left /= size;
        c->shape[d] = size;
    }
}

static void storage(op_case *c, rng *r) {
    /* Mixed types and accumulation are rare: each combination is a kernel of its own on some
     * devices. */
    static const anymax_dtype pairs[][2] = {{ANYMAX_F32, ANYMAX_F32},   {ANYMAX_F32, ANYMAX_F32},
                                            {ANYMAX_F32, ANYMAX_F32},   {ANYMAX_F16, ANYMAX_F16},
                                            {ANYMAX_BF16, ANYMAX_BF16}, {ANYMAX_BF16, ANYMAX_F16}};
    int64_t pair = rng_below(r, COUNT(pairs));
    c->in = pairs[pair][0];
    c->out = pairs[pair][1];
    c->layout_in = (layout)rng_below(r, LAYOUT_COUNT);
    c->layout_out = (layout)rng_below(r, LAYOUT_REPEAT);
    c->host = chance(r, 4);
    c->accumulate = chance(r, 4) && c->in == c->out;
    if (chance(r, 3) && !c->accumulate && c->layout_in != LAYOUT_REPEAT) {
        c->out = c->in; /* in place needs one type */
        c->layout_out = c->layout_in;
        c->in_place = "x";
    }
}

static void map_options(op_case *c, rng *r) {
    static const float scales[] = {0.3f, -1.5f, 0.0f, 8.0f}, alphas[] = {1.0f, 1.25f, 1.5f, 1.9f};
    bool scaled = strcmp(c->op, "softmax") == 0 || strncmp(c->op, "log", 3) == 0;
    bool own = strcmp(c->op, "gumbel_softmax") == 0 || strncmp(c->op, "logit_", 6) == 0;
    c->typed = chance(r, 2);
    if (scaled && chance(r, 2) && !own) c->scale = anymax_some(pick(r, scales, COUNT(scales)));
    if (strcmp(c->op, "gumbel_softmax") == 0 && chance(r, 2)) c->temperature = anymax_some(0.75f);
    if (strncmp(c->op, "logit_", 6) == 0 && chance(r, 2)) c->tau = anymax_some(0.5f);
    if (strcmp(c->op, "entmax") == 0) {
        c->row_alpha = chance(r, 2);
        if (!c->row_alpha && chance(r, 2)) c->alpha = anymax_some(pick(r, alphas, COUNT(alphas)));
    }
    c->give_saved = chance(r, 4) && c->out == ANYMAX_F32 && strncmp(c->op, "entmax", 6) == 0;
    if (!c->typed || own) return;
    if (c->layout_in != LAYOUT_REPEAT) c->row_scale = chance(r, 4) && !c->row_alpha;
    if (c->row_scale) c->scale.set = false;
    c->bias = chance(r, 2) ? SPREAD_NONE : (spread)rng_below(r, SPREAD_SHORT + 1);
    c->noise = chance(r, 3) ? SPREAD_FULL : SPREAD_NONE;
    if (c->bias == SPREAD_SHORT && c->axis_back != 0) c->bias = SPREAD_ROW;
}

static void cross_entropy_options(op_case *c, rng *r) {
    static const char *const reductions[] = {NULL, "none", "sum", "mean"};
    static const anymax_dtype types[] = {ANYMAX_I32, ANYMAX_I64, ANYMAX_U8};
    c->typed = chance(r, 2);
    if (c->rank == 1) c->rank = 2, c->shape[1] = c->shape[0], c->shape[0] = 2, c->axis_back = 0;
    if (chance(r, 3)) c->temperature = anymax_some(2.5f);
    if (chance(r, 2)) c->smoothing = 0.1;
    if (chance(r, 3)) c->z_loss = 0.01;
    if (chance(r, 3)) c->ignore_index = anymax_some_int(0);
    c->reduction = reductions[rng_below(r, COUNT(reductions))];
    /* one NaN makes the mean of all rows NaN: test_loss looks at what becomes of the others */
    if (c->reduction && c->fill == FILL_POISON) c->fill = FILL_NORMAL;
    c->weight = chance(r, 2);
    c->probabilities = chance(r, 3);
    c->index = types[rng_below(r, COUNT(types))];
    if (c->index == ANYMAX_U8 && c->shape[c->rank - 1 - (uint32_t)c->axis_back] > 255)
        c->index = ANYMAX_I64;
    c->no_up_lse = chance(r, 3);
    c->no_up_loss = !c->no_up_lse && chance(r, 4);
    c->no_lse = chance(r, 4);
    c->values = chance(r, 2);
}

static void infonce_options(op_case *c, rng *r) {
    static const char *const only[] = {NULL, NULL, "grad.query", "grad.key", "grad.negative"};
    c->typed = chance(r, 2);
    c->rank = 2;
    c->axis_back = 0;
    c->in_place = NULL;
    c->shape[0] = 1 + rng_below(r, 40);
    c->shape[1] = 1 + rng_below(r, 70);
    c->negatives = chance(r, 2) ? 0 : 1 + rng_below(r, 20);
    c->temperature = chance(r, 2) ? anymax_some(0.5f) : c->temperature;
    c->symmetric = chance(r, 2);
    c->plain_dot = chance(r, 3);
    if (c->plain_dot) c->temperature = anymax_some(4.0f);
    c->only = only[rng_below(r, c->negatives ? 5 : 4)];
    c->no_up_lse = chance(r, 3);
    c->no_lse = chance(r, 4);
    if (c->layout_in == LAYOUT_REPEAT) c->layout_in = LAYOUT_GAPS;
}

void op_case_random(op_case *c, const char *op, const char *name, uint64_t salt, int64_t most) {
    static const fill fills[] = {FILL_NORMAL, FILL_NORMAL, FILL_WIDE,  FILL_MASKED,
                                 FILL_POISON, FILL_TIES,   FILL_EQUAL, FILL_NEAR};
    rng r = rng_make(test_seed(), salt * 64 + strlen(op));
    memset(c, 0, sizeof *c);
    c->op = op;
    c->name = name;
    shape(c, &r, most);
    storage(c, &r);
    c->fill = fills[rng_below(&r, COUNT(fills))];
    if (reference_is_map(op))
        map_options(c, &r);
    else if (strcmp(op, "cross_entropy") == 0)
        cross_entropy_options(c, &r);
    else
        infonce_options(c, &r);
}
