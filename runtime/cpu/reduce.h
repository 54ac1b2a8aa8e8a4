/* How a block reduces: lanes, cascades of tiles, online passes, partial states. Included by
 * level_row.c. */
#ifndef AM_CPU_REDUCE_H
#define AM_CPU_REDUCE_H

#include "block.h"

static inline float identity(const am_cpu_row *p, int reduction) {
    return p->reductions[reduction] == AM_REDUCTION_MAX ? -AM_INF : 0.0f;
}

static inline void combine(const am_cpu_row *p, int reduction, float *to, const float *from,
                           int lanes) {
    if (p->reductions[reduction] == AM_REDUCTION_MAX)
        for (int l = 0; l < lanes; l++) to[l] = to[l] < from[l] ? from[l] : to[l];
    else
        for (int l = 0; l < lanes; l++) to[l] += from[l];
}

static inline void fill(float *to, float value) {
    for (int l = 0; l < AM_W; l++) to[l] = value;
}

/* Index of a stage's first reduction among all reductions, which are the first row scalars. */
static inline int first_of(const am_cpu_row *p, int stage) {
    return stage == 0 ? 0 : stage == 1 ? p->sums[0] : p->sums[0] + p->sums[1];
}

static inline void scalars_at(am_block *b, int which) {
    b->program->scalars_at(which, b->scratch->scalars[0], b->scratch->indices[0], b->args,
                           b->lanes);
}

/* Lanes that start a reduction. */
static inline void clear(am_block *b, int first, int count, float (*sums)[AM_W]) {
    for (int i = 0; i < count; i++) {
        float none = identity(b->program, first + i);
        if (b->job->across)
            fill(sums[i], none);
        else
            sums[i][0] = none;
    }
}

/* Sums that lie between others: AM_W lanes across, lane 0 along. */
static inline void copy_lanes(const am_block *b, int count, float (*to)[AM_W],
                              float (*from)[AM_W]) {
    if (b->job->across)
        memcpy(to, from, (size_t)count * sizeof *to);
    else
        for (int i = 0; i < count; i++) to[i][0] = from[i][0];
}

/* The tree that folds AM_W lanes, with trip counts that the compiler knows. */
#define FOLD_HALF(h, a, b, op)        \
    for (int l = 0; l < h; l++) {     \
        float a = v[l], b = v[l + h]; \
        v[l] = op;                    \
    }
#define FOLD_TREE(a, b, op) \
    FOLD_HALF(32, a, b, op) \
    FOLD_HALF(16, a, b, op) \
    FOLD_HALF(8, a, b, op) FOLD_HALF(4, a, b, op) FOLD_HALF(2, a, b, op) FOLD_HALF(1, a, b, op)

static inline float fold_max(const float *lanes) {
    float v[AM_W];
    memcpy(v, lanes, sizeof v);
    FOLD_TREE(low, high, low < high ? high : low)
    return v[0];
}

static inline float fold_sum(const float *lanes) {
    float v[AM_W];
    memcpy(v, lanes, sizeof v);
    FOLD_TREE(low, high, low + high)
    return v[0];
}

/* Along a row, where lanes are parts: folds them into lane 0. */
static inline void fold_lanes(am_block *b, int first, int count, float (*sums)[AM_W]) {
    if (b->job->across) return;
    for (int i = 0; i < count; i++) {
        bool max = b->program->reductions[first + i] == AM_REDUCTION_MAX;
        sums[i][0] = max ? fold_max(sums[i]) : fold_sum(sums[i]);
    }
}

/* Sums become row scalars. */
static inline void commit(am_block *b, int first, int count, float (*sums)[AM_W]) {
    copy_lanes(b, count, b->scratch->scalars + first, sums);
}

/* Where the sums of a stage come to be: of fixed rows, right where commit would take them. */
static inline float (*sums_of(const am_block *b, int stage))[AM_W] {
    return b->fixed ? b->scratch->scalars + first_of(b->program, stage) : b->scratch->sums;
}

/* ------------------------------------------------------------- elements */

/* Sums over many steps. One running sum would lose what is small beside it (a row's probabilities
 * beside its peak): the sums of AM_CASCADE runs of AM_RUN steps are added up apart, then as many of
 * those. */
typedef struct cascade {
    am_block *b;
    int first, count; /* which reductions */
    int levels;       /* 0: one run, whose sums are the result */
    int32_t runs;     /* so far */
} cascade;

static inline cascade cascade_begin(am_block *b, int first, int count, int32_t steps) {
    cascade c = {.b = b, .first = first, .count = count};
    for (int32_t left = (steps + AM_RUN - 1) / AM_RUN; c.levels < AM_CASCADES && left > 1;
         left = (left - 1) / AM_CASCADE + 1) {
        clear(b, first, count, b->scratch->older[c.levels]);
        c.levels++;
    }
    return c;
}

static inline void add_sums(const cascade *c, float (*to)[AM_W], float (*from)[AM_W]) {
    for (int i = 0; i < c->count; i++)
        combine(c->b->program, c->first + i, to[i], from[i], c->b->lanes);
}

/* Takes the sums of a run. */
static inline void cascade_add(cascade *c, float (*sums)[AM_W]) {
    float(*older)[AM_MAX_SUMS][AM_W] = c->b->scratch->older;
    if (c->levels == 0) return;
    add_sums(c, older[0], sums);
    c->runs++;
    int32_t turns = c->runs;
    for (int i = 0; i + 1 < c->levels && turns % AM_CASCADE == 0; i++, turns /= AM_CASCADE) {
        add_sums(c, older[i + 1], older[i]);
        clear(c->b, c->first, c->count, older[i]);
    }
}

static inline void cascade_end(const cascade *c, float (*sums)[AM_W]) {
    float(*older)[AM_MAX_SUMS][AM_W] = c->b->scratch->older;
    if (c->levels == 0) return;
    copy_lanes(c->b, c->count, sums, older[0]);
    for (int i = 1; i < c->levels; i++) add_sums(c, sums, older[i]);
}

/* Whether the open tile begins or ends a run. */
static inline bool run_begins(const am_block *b) {
    return b->open % AM_RUN == 0;
}

static inline bool run_ends(const am_block *b) {
    int32_t end = b->open + b->tile.steps;
    return end % AM_RUN == 0 || end == b->steps;
}

/* Along: whether the row of lane `lane` needs the stage. */
static inline bool needs(const am_block *b, int stage, int lane) {
    const am_scratch *s = b->scratch;
    return stage != 2 || b->form->need_3 == NULL ||
           b->form->need_3(s->scalars[0] + lane, s->indices[0] + lane, b->args);
}

/* Fixed rows, one after the other: while one's lanes are folded, the next one is begun. */
static inline void reduce_rows(am_block *b, int stage, float (*sums)[AM_W]) {
    int first = first_of(b->program, stage);
    for (int i = 0; i < b->program->sums[stage]; i++) {
        float none = identity(b->program, first + i);
        for (int lane = 0; lane < AM_ROWS; lane++) sums[i][lane] = none;
    }
    am_tile_open(b, 0);
    for (int lane = 0; lane < b->lanes; lane++) {
        if (!needs(b, stage, lane)) continue;
        am_turn_to(b, lane);
        if (stage == 2 && b->form->keep != NULL && !b->kept) b->form->keep(&b->tile);
        b->form->stage[stage](&b->tile, sums[0] + lane);
    }
    if (stage == 1) b->kept = b->keep;
}

/* `sums` are those of sums_of. */
static inline void reduce(am_block *b, int stage, float (*sums)[AM_W]) {
    int first = first_of(b->program, stage), count = b->program->sums[stage];
    if (b->fixed) {
        reduce_rows(b, stage, sums);
        return;
    }
    cascade c = cascade_begin(b, first, count, b->steps);
    b->stage = stage;
    for (int32_t step = 0; step < b->steps; step += b->tile.steps) {
        am_tile_open(b, step);
        if (run_begins(b)) clear(b, first, count, sums);
        if (stage == 2 && b->form->keep != NULL && !b->kept) b->form->keep(&b->tile);
        b->form->stage[stage](&b->tile, sums[0]);
        if (run_ends(b)) cascade_add(&c, sums);
    }
    cascade_end(&c, sums);
    b->held = b->hold;
    if (stage == 1) b->kept = b->keep;
}

/* How far anchors fall below new ones. Equal anchors stay, both -inf among them; the clamp keeps 0
 * times the distance a number. */
static inline void distances(float *w, const float *anchor, const float *higher, int lanes) {
    for (int l = 0; l < lanes; l++) {
        float d = anchor[l] - higher[l];
        d = d > -3.0e38f ? d : -3.0e38f;
        w[l] = anchor[l] < higher[l] ? d : 0.0f;
    }
}

/* The highest anchor so far rises to that of the open tile: what was summed up moves. */
static inline void rise(am_block *b, const cascade *c, float (*sums)[AM_W],
                        float (*tile_sums)[AM_W]) {
    const am_cpu_row *p = b->program;
    float *scalars = b->scratch->scalars[0], w[AM_W];
    int n1 = p->sums[0];
    for (int i = 0; i < n1; i++) combine(p, i, tile_sums[i], sums[i], b->lanes);
    distances(w, sums[0], tile_sums[0], b->lanes);
    if (!b->job->across) fill(w, w[0]);
    if (b->job->across || w[0] < 0.0f) {
        for (int i = 0; i < c->levels; i++)
            b->form->move(scalars, b->args, b->scratch->older[i][0], w);
        b->form->move(scalars, b->args, sums[n1], w);
    }
    copy_lanes(b, n1, sums, tile_sums);
    commit(b, 0, 1, sums); /* the anchor is the first of the row scalars */
}

/* Stages 1 and 2 in one pass over tiles, which are in the nearest cache for the second of them. The
 * anchor is that of the tiles so far. */
static inline void reduce_online(am_block *b, float (*sums)[AM_W]) {
    const am_cpu_row *p = b->program;
    int n1 = p->sums[0], n2 = p->sums[1], tile = 0;
    float(*tile_sums)[AM_W] = b->scratch->more;
    cascade c = cascade_begin(b, n1, n2, b->steps);
    clear(b, 0, n1 + n2, sums);
    for (int32_t step = 0; step < b->steps; step += b->tile.steps) {
        am_tile_open(b, step);
        clear(b, 0, n1, tile_sums);
        b->form->stage[0](&b->tile, tile_sums[0]);
        rise(b, &c, sums, tile_sums);
        if (run_begins(b)) clear(b, n1, n2, sums + n1);
        b->form->stage[1](&b->tile, sums[n1]);
        if (run_ends(b)) cascade_add(&c, sums + n1);
        if (b->keep) b->scratch->anchor[tile++] = sums[0][0];
    }
    cascade_end(&c, sums + n1);
    b->held = b->hold;
    b->kept = b->moved = b->keep;
}

/* ------------------------------------------------------------- partial states */

static inline float *workspace(const am_block *b, int32_t words) {
    return (float *)b->job->data[AM_SLOT_WORKSPACE] + words;
}

static inline int64_t partial_at(const am_block *b, int lane, int reductions, int j) {
    return ((int64_t)(b->row + lane) * reductions + j) * b->args->parts_total;
}

static inline void partials_write(am_block *b, int reductions, float (*sums)[AM_W]) {
    float *to = workspace(b, b->args->partial_out);
    for (int l = 0; l < (b->job->across ? b->live : 1); l++)
        for (int j = 0; j < reductions; j++)
            to[partial_at(b, l, reductions, j) + b->part] = sums[j][l];
}

/* Step t of the partial states of reduction j. Lanes are parts along a row, rows across. */
static inline void partials_read(const am_block *b, int t, int reductions, int j, float *to,
                                 float none) {
    const float *from = workspace(b, b->args->partial_in);
    for (int l = 0; l < AM_W; l++) {
        int part = b->job->across ? t : t * AM_W + l;
        int lane = b->job->across ? l : 0;
        bool there = part < b->args->parts_total && lane < b->live;
        to[l] = there ? from[partial_at(b, lane, reductions, j) + part] : none;
    }
}

static inline int partial_steps(const am_block *b) {
    int parts = b->args->parts_total;
    return b->job->across ? parts : (parts + AM_W - 1) / AM_W;
}

static inline void partials_fold(am_block *b, int first, int count, float (*sums)[AM_W]) {
    float lane[AM_W];
    for (int j = 0; j < count; j++) fill(sums[j], identity(b->program, first + j));
    for (int t = 0; t < partial_steps(b); t++)
        for (int j = 0; j < count; j++) {
            partials_read(b, t, count, j, lane, identity(b->program, first + j));
            combine(b->program, first + j, sums[j], lane, AM_W);
        }
    fold_lanes(b, first, count, sums);
}

/* Anchors first, then the sums moved to the highest of them. */
static inline void partials_fold_online(am_block *b, float (*sums)[AM_W]) {
    const am_cpu_row *p = b->program;
    int n1 = p->sums[0], n = n1 + p->sums[1];
    float(*part)[AM_W] = b->scratch->more;
    float anchor[AM_W], w[AM_W];
    for (int j = 0; j < n; j++) fill(sums[j], identity(p, j));
    for (int t = 0; t < partial_steps(b); t++)
        for (int j = 0; j < n1; j++) {
            partials_read(b, t, n, j, part[j], -AM_INF);
            combine(p, j, sums[j], part[j], AM_W);
        }
    fold_lanes(b, 0, n1, sums);
    if (b->job->across)
        memcpy(anchor, sums[0], sizeof anchor);
    else
        fill(anchor, sums[0][0]);
    for (int t = 0; t < partial_steps(b); t++) {
        for (int j = 0; j < n; j++) partials_read(b, t, n, j, part[j], identity(p, j));
        distances(w, part[0], anchor, AM_W);
        b->form->move(b->scratch->scalars[0], b->args, part[n1], w);
        for (int j = n1; j < n; j++) combine(p, j, sums[j], part[j], AM_W);
    }
    fold_lanes(b, n1, p->sums[1], sums + n1);
}

#endif
