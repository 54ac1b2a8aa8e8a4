/* Kernel `row`: what all programs share. Compiled once a level.
 *
 * A unit of work is a block (block.h): it loads row scalars, passes over the tiles of its columns once
 * for each stage, folds, and finishes. Sums live in AM_W lanes and are folded in one fixed order; a
 * unit depends on no other, so the bits are the same whatever thread takes it. */
#include "block.h"

static const int32_t no_columns[AM_W];
/* 0 to AM_W - 1 */
#define EIGHT(n) n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7
static const int32_t lane_columns[AM_W] = {EIGHT(0),  EIGHT(8),  EIGHT(16), EIGHT(24),
                                           EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56)};

static float identity(const am_cpu_row *p, int reduction) {
    return p->reductions[reduction] == AM_REDUCTION_MAX ? -AM_INF : 0.0f;
}

static void combine(const am_cpu_row *p, int reduction, float *to, const float *from, int lanes) {
    if (p->reductions[reduction] == AM_REDUCTION_MAX)
        for (int l = 0; l < lanes; l++) to[l] = to[l] < from[l] ? from[l] : to[l];
    else
        for (int l = 0; l < lanes; l++) to[l] += from[l];
}

static void fill(float *to, float value) {
    for (int l = 0; l < AM_W; l++) to[l] = value;
}

/* Index of a stage's first reduction among all reductions, which are the first row scalars. */
static int first_of(const am_cpu_row *p, int stage) {
    return stage == 0 ? 0 : stage == 1 ? p->sums[0] : p->sums[0] + p->sums[1];
}

/* Along a row every lane holds a copy of the row's scalars. */
static void spread(am_block *b, int first, int count) {
    if (b->job->across) return;
    for (int i = first; i < first + count; i++)
        fill(b->scratch->scalars[i], b->scratch->scalars[i][0]);
}

static void scalars_at(am_block *b, int which) {
    b->program->scalars_at(which, b->scratch->scalars[0], b->scratch->indices[0], b->args, b->lanes);
    spread(b, 0, b->program->scalars);
}

/* Lanes that start a reduction. */
static void clear(am_block *b, int first, int count, float (*sums)[AM_W]) {
    for (int i = 0; i < count; i++) fill(sums[i], identity(b->program, first + i));
}

/* The tree that folds AM_W lanes, with trip counts that the compiler knows. */
#define FOLD_HALF(h, a, b, op) for (int l = 0; l < h; l++) { float a = v[l], b = v[l + h]; v[l] = op; }
#define FOLD_TREE(a, b, op) \
    FOLD_HALF(32, a, b, op) FOLD_HALF(16, a, b, op) FOLD_HALF(8, a, b, op) \
    FOLD_HALF(4, a, b, op) FOLD_HALF(2, a, b, op) FOLD_HALF(1, a, b, op)

/* Along a row, folds lanes: lane 0 and, through spread, all have the result. */
static void fold_lanes(am_block *b, int first, int count, float (*sums)[AM_W]) {
    if (b->job->across) return;
    for (int i = 0; i < count; i++) {
        float *v = sums[i];
        if (b->program->reductions[first + i] == AM_REDUCTION_MAX) {
            FOLD_TREE(low, high, low < high ? high : low)
        } else {
            FOLD_TREE(low, high, low + high)
        }
    }
}

/* Sums become row scalars. */
static void commit(am_block *b, int first, int count, float (*sums)[AM_W]) {
    fold_lanes(b, first, count, sums);
    memcpy(b->scratch->scalars[first], sums, (size_t)count * sizeof *sums);
    spread(b, first, count);
}

/* ------------------------------------------------------------- elements */

/* Puts `sums` into `older`, and begins anew. */
static void retire(am_block *b, int first, int count, float (*sums)[AM_W], float (*older)[AM_W]) {
    for (int i = 0; i < count; i++) combine(b->program, first + i, older[i], sums[i], AM_W);
    clear(b, first, count, sums);
}

static void reduce(am_block *b, int stage, float (*sums)[AM_W]) {
    int first = first_of(b->program, stage), count = b->program->sums[stage];
    bool is_long = b->steps > AM_SUM_STEPS;
    clear(b, first, count, sums);
    if (is_long) clear(b, first, count, b->scratch->older);
    for (int32_t step = 0; step < b->steps; step += b->tile.steps) {
        if (step % AM_SUM_STEPS == 0 && step > 0) retire(b, first, count, sums, b->scratch->older);
        am_tile_open(b, step);
        if (stage == 2 && b->program->keep != NULL && !b->kept) b->program->keep(&b->tile);
        b->program->stage[stage](&b->tile, sums[0]);
    }
    for (int i = 0; is_long && i < count; i++)
        combine(b->program, first + i, sums[i], b->scratch->older[i], AM_W);
    b->held = b->hold;
    if (stage == 1) b->kept = b->keep;
}

/* How far anchors fall below new ones. Equal anchors stay, both -inf among them; the clamp keeps 0
 * times the distance a number. */
static void distances(float *w, const float *anchor, const float *higher) {
    for (int l = 0; l < AM_W; l++) {
        float d = anchor[l] - higher[l];
        d = d > -3.0e38f ? d : -3.0e38f;
        w[l] = anchor[l] < higher[l] ? d : 0.0f;
    }
}

/* Stages 1 and 2 in one pass: each lane has an anchor of its own, that of the tiles so far. */
static void reduce_online(am_block *b, float (*sums)[AM_W]) {
    const am_cpu_row *p = b->program;
    int n1 = p->sums[0];
    int n2 = p->sums[1];
    bool is_long = b->steps > AM_SUM_STEPS;
    float(*tile_sums)[AM_W] = b->scratch->more, (*older)[AM_W] = b->scratch->older;
    float *anchor = b->scratch->scalars[0], w[AM_W];
    clear(b, 0, n1 + n2, sums);
    if (is_long) clear(b, n1, n2, older);
    for (int32_t step = 0; step < b->steps; step += b->tile.steps) {
        if (step % AM_SUM_STEPS == 0 && step > 0) retire(b, n1, n2, sums + n1, older);
        am_tile_open(b, step);
        clear(b, 0, n1, tile_sums);
        p->stage[0](&b->tile, tile_sums[0]);
        for (int i = 0; i < n1; i++) combine(p, i, tile_sums[i], sums[i], AM_W);
        distances(w, sums[0], tile_sums[0]);
        p->move(b->scratch->scalars[0], b->args, sums[n1], w);
        if (is_long) p->move(b->scratch->scalars[0], b->args, older[0], w);
        memcpy(sums, tile_sums, (size_t)n1 * sizeof *sums);
        memcpy(anchor, sums[0], sizeof *sums);
        p->stage[1](&b->tile, sums[n1]);
    }
    for (int i = 0; is_long && i < n2; i++) combine(p, n1 + i, sums[n1 + i], older[i], AM_W);
    b->held = b->hold;
}

/* Brings the anchors of all lanes to that of the row. */
static void fold_online(am_block *b, float (*sums)[AM_W]) {
    const am_cpu_row *p = b->program;
    int n1 = p->sums[0];
    float anchor[AM_W], w[AM_W];
    if (b->job->across) return;
    memcpy(anchor, sums[0], sizeof anchor);
    fold_lanes(b, 0, n1, sums);
    fill(b->scratch->more[0], sums[0][0]);
    distances(w, anchor, b->scratch->more[0]);
    p->move(b->scratch->scalars[0], b->args, sums[n1], w);
    fold_lanes(b, n1, p->sums[1], sums + n1);
}

/* ------------------------------------------------------------- partial states */

static float *workspace(const am_block *b, int32_t words) {
    return (float *)b->job->data[AM_SLOT_WORKSPACE] + words;
}

static int64_t partial_at(const am_block *b, int lane, int reductions, int j) {
    return ((int64_t)(b->row + lane) * reductions + j) * b->args->parts_total;
}

static void partials_write(am_block *b, int reductions, float (*sums)[AM_W]) {
    float *to = workspace(b, b->args->partial_out);
    for (int l = 0; l < (b->job->across ? b->live : 1); l++)
        for (int j = 0; j < reductions; j++)
            to[partial_at(b, l, reductions, j) + b->part] = sums[j][l];
}

/* Step t of the partial states of reduction j. Lanes are parts along a row, rows across. */
static void partials_read(const am_block *b, int t, int reductions, int j, float *to, float none) {
    const float *from = workspace(b, b->args->partial_in);
    for (int l = 0; l < AM_W; l++) {
        int part = b->job->across ? t : t * AM_W + l;
        int lane = b->job->across ? l : 0;
        bool there = part < b->args->parts_total && lane < b->live;
        to[l] = there ? from[partial_at(b, lane, reductions, j) + part] : none;
    }
}

static int partial_steps(const am_block *b) {
    int parts = b->args->parts_total;
    return b->job->across ? parts : (parts + AM_W - 1) / AM_W;
}

static void partials_fold(am_block *b, int first, int count, float (*sums)[AM_W]) {
    float lane[AM_W];
    clear(b, first, count, sums);
    for (int t = 0; t < partial_steps(b); t++)
        for (int j = 0; j < count; j++) {
            partials_read(b, t, count, j, lane, identity(b->program, first + j));
            combine(b->program, first + j, sums[j], lane, AM_W);
        }
}

/* Anchors first, then the sums moved to the highest of them. */
static void partials_fold_online(am_block *b, float (*sums)[AM_W]) {
    const am_cpu_row *p = b->program;
    int n1 = p->sums[0], n = n1 + p->sums[1];
    float(*part)[AM_W] = b->scratch->more;
    float anchor[AM_W], w[AM_W];
    clear(b, 0, n, sums);
    for (int t = 0; t < partial_steps(b); t++)
        for (int j = 0; j < n1; j++) {
            partials_read(b, t, n, j, part[j], -AM_INF);
            combine(p, j, sums[j], part[j], AM_W);
        }
    fold_lanes(b, 0, n1, sums);
    if (b->job->across) memcpy(anchor, sums[0], sizeof anchor);
    else fill(anchor, sums[0][0]);
    for (int t = 0; t < partial_steps(b); t++) {
        for (int j = 0; j < n; j++) partials_read(b, t, n, j, part[j], identity(p, j));
        distances(w, part[0], anchor);
        p->move(b->scratch->scalars[0], b->args, part[n1], w);
        for (int j = n1; j < n; j++) combine(p, j, sums[j], part[j], AM_W);
    }
    fold_lanes(b, n1, p->sums[1], sums + n1);
}

/* ------------------------------------------------------------- candidates */

/* False when they are too many, and the row is streamed instead. */
static bool list_make(am_block *b, am_list *list, int *steps) {
    memset(list->count, 0, sizeof list->count);
    list->z = b->scratch->list;
    for (int32_t step = 0; step < b->steps; step += b->tile.steps) {
        am_tile_open(b, step);
        if (!b->program->candidates(&b->tile, list)) return false;
    }
    b->held = b->hold;
    *steps = 0;
    for (int l = 0; l < AM_W; l++) *steps = list->count[l] > *steps ? list->count[l] : *steps;
    for (int l = 0; l < AM_W; l++)
        for (int i = list->count[l]; i < *steps; i++) list->z[i * AM_W + l] = -AM_INF;
    return true;
}

static void list_reduce(am_block *b, const am_list *list, int steps, int stage,
                        float (*sums)[AM_W]) {
    am_tile *t = &b->tile;
    clear(b, first_of(b->program, stage), b->program->sums[stage], sums);
    t->steps = steps;
    t->in[0] = list->z;
    for (int i = 0; i < b->program->in_count; i++) t->in_step[i] = 0;
    b->program->list_stage[stage](t, sums[0]);
}

/* ------------------------------------------------------------- the stages of a block */

static void stage_reduce(am_block *b, const am_list *list, int list_steps, int stage) {
    float(*sums)[AM_W] = b->scratch->sums;
    if (list != NULL) list_reduce(b, list, list_steps, stage, sums);
    else reduce(b, stage, sums);
}

static void stage_1(am_block *b) {
    int stages = b->args->stages;
    if (stages & AM_STAGE_FOLD_1) partials_fold(b, 0, b->program->sums[0], b->scratch->sums);
    else if (stages & AM_STAGE_ELEMENTS_1) reduce(b, 0, b->scratch->sums);
    else return;
    if (!(stages & AM_STAGE_FOLD_1) && stages & AM_STAGE_PARTIAL) {
        fold_lanes(b, 0, b->program->sums[0], b->scratch->sums);
        partials_write(b, b->program->sums[0], b->scratch->sums);
        return;
    }
    commit(b, 0, b->program->sums[0], b->scratch->sums);
    scalars_at(b, 1);
}

/* Stage 2 or 3, its fold first. */
static void stage_later(am_block *b, int stage, const am_list *list, int list_steps) {
    const am_cpu_row *p = b->program;
    int stages = b->args->stages, first = first_of(p, stage), count = p->sums[stage];
    int elements = stage == 1 ? AM_STAGE_ELEMENTS_2 : AM_STAGE_ELEMENTS_3;
    int fold = stage == 1 ? AM_STAGE_FOLD_2 : AM_STAGE_FOLD_3;
    int times = stage == 1 && !(stages & AM_STAGE_PARTIAL) ? b->args->iterations : 1;
    if (!p->has[stage]) return;
    if (stages & fold) {
        partials_fold(b, first, count, b->scratch->sums);
        commit(b, first, count, b->scratch->sums);
        scalars_at(b, stage + 1);
    }
    if (!(stages & elements)) return;
    for (int i = 0; i < times; i++) {
        stage_reduce(b, list, list_steps, stage);
        if (stages & AM_STAGE_PARTIAL) {
            fold_lanes(b, first, count, b->scratch->sums);
            partials_write(b, count, b->scratch->sums);
            return;
        }
        commit(b, first, count, b->scratch->sums);
        scalars_at(b, stage + 1);
    }
}

/* Stages 1 and 2 together. */
static void stages_online(am_block *b) {
    const am_cpu_row *p = b->program;
    int stages = b->args->stages, n1 = p->sums[0], n2 = p->sums[1];
    float(*sums)[AM_W] = b->scratch->sums;
    if (stages & AM_STAGE_FOLD_1) {
        partials_fold_online(b, sums);
    } else {
        reduce_online(b, sums);
        fold_online(b, sums);
        if (stages & AM_STAGE_PARTIAL) {
            partials_write(b, n1 + n2, sums);
            return;
        }
    }
    memcpy(b->scratch->scalars[0], sums, (size_t)n1 * sizeof *sums);
    spread(b, 0, n1);
    scalars_at(b, 1);
    memcpy(b->scratch->scalars[n1], sums + n1, (size_t)n2 * sizeof *sums);
    spread(b, n1, n2);
    scalars_at(b, 2);
}

/* ------------------------------------------------------------- begin and end of a block */

static void load_scalars(am_block *b) {
    const am_cpu_row *p = b->program;
    am_scratch *s = b->scratch;
    memset(s->scalars, 0, (size_t)p->scalars * sizeof *s->scalars);
    for (int i = 0; i < p->param_count; i++) {
        int slot = p->param[i].slot;
        float *to = s->scalars[p->scalars + i];
        if (b->job->data[slot] == NULL) {
            fill(to, b->args->param[p->param[i].param]);
            continue;
        }
        for (int l = 0; l < b->lanes; l++)
            to[l] = am_load_one(am_row_place(b, slot, l), am_block_type(b, slot));
        spread(b, p->scalars + i, 1);
    }
    for (int i = 0; i < p->index_count; i++) {
        int slot = p->index[i].slot;
        for (int l = 0; l < b->lanes; l++)
            s->indices[i][l] = b->job->data[slot] == NULL
                                   ? b->args->row_base + b->row + l
                                   : am_load_index(am_row_place(b, slot, l), am_block_type(b, slot));
        for (int l = b->lanes; l < AM_W; l++) s->indices[i][l] = s->indices[i][0];
    }
    scalars_at(b, 0);
    if (b->args->stages & AM_STAGE_LOAD) {
        const float *from = workspace(b, b->args->state_in);
        for (int l = 0; l < b->live; l++)
            for (int i = 0; i < p->scalars; i++)
                s->scalars[i][l] = from[(int64_t)(b->row + l) * p->scalars + i];
        spread(b, 0, p->scalars);
    }
}

static void save_scalars(am_block *b) {
    const am_cpu_row *p = b->program;
    float *to = workspace(b, b->args->state_out);
    for (int l = 0; l < b->live; l++)
        for (int i = 0; i < p->scalars; i++)
            to[(int64_t)(b->row + l) * p->scalars + i] = b->scratch->scalars[i][l];
}

static void finish_elements(am_block *b) {
    bool wanted = false;
    for (int i = 0; i < b->program->out_count; i++)
        wanted |= b->job->data[b->program->out[i].slot] != NULL;
    if (!wanted) return;
    for (int32_t step = 0; step < b->steps; step += b->tile.steps) {
        am_tile_open(b, step);
        if (b->program->keep != NULL && !b->kept) b->program->keep(&b->tile);
        am_outputs_open(b);
        b->program->finish(&b->tile);
        am_outputs_close(b);
    }
}

static void finish_row(am_block *b) {
    const am_cpu_row *p = b->program;
    am_scratch *s = b->scratch;
    int32_t flags[AM_W], raised = 0;
    p->finish_row(s->scalars[0], s->indices[0], b->args, b->lanes, s->values[0], flags);
    for (int l = 0; l < b->live; l++) {
        raised |= flags[l];
        for (int i = 0; i < p->row_out_count; i++) {
            int slot = p->row_out[i].slot;
            if (b->job->data[slot] == NULL) continue;
            char *to = am_row_place(b, slot, l);
            if (am_adds(b, slot))
                am_add_line(to, am_block_type(b, slot), 1, &s->values[i][l], 1, s->line);
            else am_store_line(to, am_block_type(b, slot), 1, &s->values[i][l], 1);
        }
    }
    if (raised != 0) am_cpu_raise(workspace(b, b->args->flags), (uint32_t)raised);
}

static void block_open(am_block *b, const am_row_job *job, int64_t unit, am_scratch *scratch) {
    const am_row_args *a = job->args;
    int64_t row = a->row0 + unit / a->parts * job->block_rows;
    int64_t left = a->rows - row;
    b->job = job;
    b->program = job->program;
    b->args = a;
    b->scratch = scratch;
    b->row = (int32_t)row;
    b->live = (int)(left < job->block_rows ? left : job->block_rows);
    b->lanes = job->across ? AM_W : 1;
    b->part = a->part0 + (int32_t)(unit % a->parts);
    int64_t column = (int64_t)b->part * a->part_len, rest = a->n - column;
    b->column = (int32_t)column;
    b->columns = (int32_t)(rest < a->part_len ? rest : a->part_len);
    b->steps = job->across ? b->columns : (int32_t)(((int64_t)b->columns + AM_W - 1) / AM_W);
    b->keep = job->keep && b->steps <= AM_KEEP_STEPS;
    b->hold = job->hold && b->steps <= AM_HOLD_STEPS;
    b->kept = b->held = false;
    b->tile.args = a;
    b->tile.scalars = scratch->scalars[0];
    b->tile.indices = scratch->indices[0];
    b->tile.column_step = job->across ? 1 : AM_W;
    b->tile.column_end = b->column + b->columns;
    b->tile.lane_column = job->across ? no_columns : lane_columns;
    for (int i = 0; i < b->program->in_count; i++)
        if (job->data[b->program->in[i].slot] == NULL)
            fill(scratch->constant[i], b->program->in[i].absent);
    am_locate(b);
}

void AM_CAT(am_cpu_row, AM_LEVEL)(const am_row_job *job, int64_t unit, am_scratch *scratch);
void AM_CAT(am_cpu_row, AM_LEVEL)(const am_row_job *job, int64_t unit, am_scratch *scratch) {
    am_block block, *b = &block;
    am_list list;
    int stages = job->args->stages, list_steps = 0;
    bool listed = false;
    block_open(b, job, unit, scratch);
    load_scalars(b);
    if (stages & AM_STAGE_ONLINE || (job->online && !b->keep)) {
        stages_online(b);
    } else {
        stage_1(b);
        if (job->list) listed = list_make(b, &list, &list_steps);
        stage_later(b, 1, listed ? &list : NULL, list_steps);
    }
    stage_later(b, 2, listed ? &list : NULL, list_steps);
    if (stages & AM_STAGE_SAVE && b->part == 0) save_scalars(b);
    if (!(stages & AM_STAGE_FINISH)) return;
    finish_elements(b);
    if (b->part == 0) finish_row(b);
}
