/* Kernel `row`: what all programs share. Compiled once a level.
 *
 * A unit of work is a block (block.h): it loads row scalars, passes over the tiles of its columns
 * once for each stage or once for the first two, folds, and finishes. Sums live in AM_W lanes and
 * are folded in one fixed order; a unit depends on no other, so the bits are the same whatever
 * thread takes it. */
#include "reduce.h"

static const int32_t no_columns[AM_W];
/* 0 to AM_W - 1 */
#define EIGHT(n) n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7
static const int32_t lane_columns[AM_W] = {EIGHT(0),  EIGHT(8),  EIGHT(16), EIGHT(24),
                                           EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56)};

/* ------------------------------------------------------------- candidates */

/* False when they are too many, and the row is streamed instead. */
static bool list_make(am_block *b, am_list *list, int *steps) {
    memset(list->count, 0, sizeof list->count);
    list->z = b->scratch->list;
    for (int32_t step = 0; step < b->steps; step += b->tile.steps) {
        am_tile_open(b, step);
        if (!b->form->candidates(&b->tile, list)) return false;
    }
    b->held = b->hold;
    *steps = 0;
    if (!b->job->across) {
        *steps = (list->count[0] + AM_W - 1) / AM_W;
        for (int i = list->count[0]; i < *steps * AM_W; i++) list->z[i] = -AM_INF;
        return true;
    }
    for (int l = 0; l < AM_W; l++) *steps = list->count[l] > *steps ? list->count[l] : *steps;
    for (int l = 0; l < AM_W; l++)
        for (int i = list->count[l]; i < *steps; i++) list->z[i * AM_W + l] = -AM_INF;
    return true;
}

static void list_reduce(am_block *b, const am_list *list, int steps, int stage,
                        float (*sums)[AM_W]) {
    am_tile *t = &b->tile;
    int first = first_of(b->program, stage), count = b->program->sums[stage];
    cascade c = cascade_begin(b, first, count, steps);
    b->open = -1;
    clear(b, first, count, sums);
    for (int i = 0; i < b->program->in_count; i++) t->in_step[i] = 0;
    for (int step = 0; step < steps; step += AM_RUN) {
        t->steps = steps - step < AM_RUN ? steps - step : AM_RUN;
        t->in[0] = list->z + step * AM_W;
        if (step > 0) clear(b, first, count, sums);
        b->form->list_stage[stage](t, sums[0]);
        cascade_add(&c, sums);
    }
    cascade_end(&c, sums);
}

/* ------------------------------------------------------------- the stages of a block */

static void stage_reduce(am_block *b, const am_list *list, int list_steps, int stage) {
    float(*sums)[AM_W] = sums_of(b, stage);
    if (list != NULL)
        list_reduce(b, list, list_steps, stage, sums);
    else
        reduce(b, stage, sums);
}

static void stage_1(am_block *b) {
    int stages = b->args->stages;
    float(*sums)[AM_W] = sums_of(b, 0);
    if (stages & AM_STAGE_FOLD_1)
        partials_fold(b, 0, b->program->sums[0], sums);
    else if (stages & AM_STAGE_ELEMENTS_1)
        reduce(b, 0, sums);
    else
        return;
    if (!(stages & AM_STAGE_FOLD_1) && stages & AM_STAGE_PARTIAL) {
        partials_write(b, b->program->sums[0], sums);
        return;
    }
    commit(b, 0, b->program->sums[0], sums);
    scalars_at(b, 1);
}

/* Along: whether the row scalars are what they were, bit by bit, so that a further turn of stage 2
 * changes nothing. Keeps them in `before`. */
static bool stands_still(const am_block *b, float *before) {
    bool same = !b->job->across;
    for (int i = 0; i < b->program->scalars && !b->job->across; i++) {
        same = same && memcmp(&before[i], b->scratch->scalars[i], sizeof *before) == 0;
        before[i] = b->scratch->scalars[i][0];
    }
    return same;
}

/* Stage 2 or 3, its fold first. */
static void stage_later(am_block *b, int stage, const am_list *list, int list_steps) {
    const am_cpu_row *p = b->program;
    int stages = b->args->stages, first = first_of(p, stage), count = p->sums[stage];
    int elements = stage == 1 ? AM_STAGE_ELEMENTS_2 : AM_STAGE_ELEMENTS_3;
    int fold = stage == 1 ? AM_STAGE_FOLD_2 : AM_STAGE_FOLD_3;
    float(*sums)[AM_W] = sums_of(b, stage);
    int times = stage == 1 && !(stages & AM_STAGE_PARTIAL) ? b->args->iterations : 1;
    float before[AM_MAX_SCALARS] = {0.0f};
    if (!p->has[stage]) return;
    if (stages & fold) {
        partials_fold(b, first, count, sums);
        commit(b, first, count, sums);
        scalars_at(b, stage + 1);
    }
    if (!(stages & elements)) return;
    if (!b->fixed && !(stages & AM_STAGE_PARTIAL) && !needs(b, stage, 0)) {
        clear(b, first, count, sums);
        commit(b, first, count, sums);
        scalars_at(b, 3);
        return;
    }
    for (int i = 0; i < times; i++) {
        stage_reduce(b, list, list_steps, stage);
        if (stages & AM_STAGE_PARTIAL) {
            partials_write(b, count, sums);
            return;
        }
        commit(b, first, count, sums);
        scalars_at(b, stage + 1);
        if (times > 1 && stands_still(b, before) && i > 0) return;
    }
}

/* Whether stages 1 and 2 run together: in a launch that says so, and for whole rows of more than a
 * tile, as long as what is kept of them can be moved to the last anchor. */
static bool runs_online(const am_block *b) {
    if (b->args->stages & AM_STAGE_ONLINE) return true;
    if (!b->job->online) return false;
    if (b->job->across || (b->form->keep != NULL && b->form->finish[2] == NULL)) return !b->keep;
    return b->steps > AM_RUN && (b->form->keep == NULL || !b->keep || b->args->n > AM_NEAR_COLUMNS);
}

static void stages_online(am_block *b) {
    const am_cpu_row *p = b->program;
    int stages = b->args->stages, n1 = p->sums[0], n2 = p->sums[1];
    float(*sums)[AM_W] = b->scratch->sums;
    if (stages & AM_STAGE_FOLD_1) {
        partials_fold_online(b, sums);
    } else {
        reduce_online(b, sums);
        if (stages & AM_STAGE_PARTIAL) {
            partials_write(b, n1 + n2, sums);
            return;
        }
    }
    commit(b, 0, n1, sums);
    scalars_at(b, 1);
    commit(b, n1, n2, sums + n1);
    scalars_at(b, 2);
}

/* ------------------------------------------------------------- begin and end of a block */

static void load_scalars(am_block *b) {
    const am_cpu_row *p = b->program;
    am_scratch *s = b->scratch;
    for (int i = 0; i < p->scalars; i++)
        for (int l = 0; l < b->lanes; l++) s->scalars[i][l] = 0.0f;
    for (int i = 0; i < p->param_count; i++) {
        int slot = p->param[i].slot;
        float *to = s->scalars[p->scalars + i];
        if (b->job->data[slot] == NULL) {
            for (int l = 0; l < b->lanes; l++) to[l] = b->args->param[p->param[i].param];
            continue;
        }
        for (int l = 0; l < b->lanes; l++)
            to[l] = am_load_one(am_row_place(b, slot, l), am_block_type(b, slot));
    }
    for (int i = 0; i < p->index_count; i++) {
        int slot = p->index[i].slot;
        for (int l = 0; l < b->lanes; l++)
            s->indices[i][l] = b->job->data[slot] == NULL ? b->args->row_base + b->row + l
                                                          : am_load_index(am_row_place(b, slot, l),
                                                                          am_block_type(b, slot));
    }
    scalars_at(b, 0);
    b->mix = p->mixed && (b->job->data[AM_SLOT_BIAS] || b->job->data[AM_SLOT_NOISE]);
    for (int l = 0; l < b->lanes && p->mixed; l++) b->mix |= s->scalars[p->scalars][l] < 0.0f;
    if (b->args->stages & AM_STAGE_LOAD) {
        const float *from = workspace(b, b->args->state_in);
        for (int l = 0; l < b->live; l++)
            for (int i = 0; i < p->scalars; i++)
                s->scalars[i][l] = from[(int64_t)(b->row + l) * p->scalars + i];
    }
}

static void save_scalars(am_block *b) {
    const am_cpu_row *p = b->program;
    float *to = workspace(b, b->args->state_out);
    for (int l = 0; l < b->live; l++)
        for (int i = 0; i < p->scalars; i++)
            to[(int64_t)(b->row + l) * p->scalars + i] = b->scratch->scalars[i][l];
}

/* How far the anchor that a tile's kept values belong to lies below the row's. */
static float fall_of(const am_block *b, int tile) {
    float w;
    distances(&w, &b->scratch->anchor[tile], b->scratch->scalars[0], 1);
    return w;
}

static void finish_elements(am_block *b) {
    int tile = 0;
    for (int32_t step = 0; step < b->steps; step += b->tile.steps) {
        am_tile_open(b, step);
        if (b->form->keep != NULL && !b->kept) b->form->keep(&b->tile);
        int form = am_outputs_open(b) ? 1 : 0;
        b->tile.fall = b->moved ? fall_of(b, tile++) : 0.0f;
        if (b->tile.fall < 0.0f && b->form->finish[2] != NULL) form += 2;
        b->form->finish[form](&b->tile);
        am_outputs_close(b);
    }
}

static void finish_rows(am_block *b) {
    if (!b->wanted) return;
    if (!b->fixed) {
        finish_elements(b);
        return;
    }
    am_tile_open(b, 0);
    for (int lane = 0; lane < b->lanes; lane++) {
        am_turn_to(b, lane);
        finish_elements(b);
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
            else
                am_store_line(to, am_block_type(b, slot), 1, &s->values[i][l], 1);
        }
    }
    if (raised != 0) am_cpu_raise(workspace(b, b->args->flags), (uint32_t)raised);
}

/* Whether am_turn_to can take the tile from row to row (am_block.fixed). */
static bool is_fixed(const am_row_job *job, int tile_steps) {
    const am_cpu_row *p = job->program;
    const am_row_args *a = job->args;
    if (job->across || a->parts != 1 || a->n > tile_steps * AM_W || a->n % AM_W != 0) return false;
    if (job->list || a->stages & (AM_STAGE_PARTIAL | AM_STAGE_ONLINE)) return false;
    for (int i = 0; i < p->in_count; i++) {
        int slot = p->in[i].slot;
        if (job->data[slot] == NULL) continue;
        if (am_nibble(a->types, slot) != AM_F32 || a->tensor[slot].step != 1) return false;
    }
    if (!p->mixed) return true;
    return job->data[AM_SLOT_BIAS] == NULL && job->data[AM_SLOT_NOISE] == NULL &&
           job->data[AM_SLOT_SCALE] == NULL && !(a->param[p->param[0].param] < 0.0f);
}

/* Units of a job that one block takes: whole rows of which each stage is a single call. */
static int rows_at_once(const am_block *b) {
    const am_row_args *a = b->args;
    int folds = AM_STAGE_FOLD_1 | AM_STAGE_FOLD_2 | AM_STAGE_FOLD_3;
    int kept = b->program->keep_count;
    int rows = AM_ROWS_VALUES / a->n / (b->program->in_count + kept);
    if (a->n > (kept ? AM_ROWS_KEPT : AM_ROWS_READ)) return 1;
    if (!b->fixed || !b->job->keep || a->stages & folds || a->iterations > 1 || rows < 2) return 1;
    return rows < AM_ROWS ? rows : AM_ROWS;
}

/* What all blocks of a job have in common. */
static void block_begin(am_block *b, const am_row_job *job, am_scratch *scratch) {
    b->job = job;
    b->program = job->program;
    b->form = job->program->form[job->across ? 0 : 1];
    b->args = job->args;
    b->scratch = scratch;
    b->lane = 0;
    b->tile_steps =
        !job->across && (b->form->apart && job->args->n <= AM_RUN * AM_W) ? AM_TILE : AM_RUN;
    b->tile.args = job->args;
    b->tile.column_step = job->across ? 1 : AM_W;
    b->tile.lane_column = job->across ? no_columns : lane_columns;
    for (int i = 0; i < b->program->in_count; i++)
        if (job->data[b->program->in[i].slot] == NULL)
            fill(scratch->constant[i], b->program->in[i].absent);
    b->wanted = false;
    for (int i = 0; i < b->program->out_count; i++)
        b->wanted |= job->data[b->program->out[i].slot] != NULL;
    b->fixed = is_fixed(job, b->tile_steps);
    b->out_open = false;
    b->stage = 0;
    b->open = -1;
    b->row = -2;
    b->live = 0;
}

/* Along, `units` are rows, more than one where rows_at_once says so. */
static void block_open(am_block *b, int64_t unit, int units) {
    const am_row_job *job = b->job;
    const am_row_args *a = job->args;
    int64_t block = a->parts == 1 ? unit : unit / a->parts;
    int64_t row = a->row0 + block * job->block_rows;
    int64_t left = a->rows - row;
    bool next = b->fixed && units == b->live && row == b->row + units &&
                b->scratch->at[0][0] + 2 * units <= a->d0;
    b->row = (int32_t)row;
    if (next) {
        b->kept = false;
        am_next_rows(b);
        return;
    }
    b->live = !job->across ? units : left < AM_W ? (int)left : AM_W;
    b->lanes = job->across ? AM_W : units;
    b->part = a->part0 + (int32_t)(unit - block * a->parts);
    int64_t column = (int64_t)b->part * a->part_len, rest = a->n - column;
    b->column = (int32_t)column;
    b->columns = (int32_t)(rest < a->part_len ? rest : a->part_len);
    b->steps = job->across ? b->columns : (int32_t)(((int64_t)b->columns + AM_W - 1) / AM_W);
    b->keep = job->keep && b->steps <= (job->across ? AM_KEEP_ACROSS : AM_KEEP_STEPS);
    b->hold = job->hold && b->steps <= AM_HOLD_STEPS;
    b->kept = b->held = b->moved = b->out_open = false;
    b->open = -1;
    b->lane = 0;
    b->tile.scalars = b->scratch->scalars[0];
    b->tile.indices = b->scratch->indices[0];
    b->tile.column_end = b->column + b->columns;
    am_locate(b);
}

static void block_run(am_block *b) {
    am_list list;
    int stages = b->args->stages, list_steps = 0;
    bool listed = false;
    load_scalars(b);
    if (runs_online(b)) {
        stages_online(b);
    } else {
        stage_1(b);
        if (b->job->list) listed = list_make(b, &list, &list_steps);
        stage_later(b, 1, listed ? &list : NULL, list_steps);
    }
    stage_later(b, 2, listed ? &list : NULL, list_steps);
    if (stages & AM_STAGE_SAVE && b->part == 0) save_scalars(b);
    if (!(stages & AM_STAGE_FINISH)) return;
    finish_rows(b);
    if (b->part == 0 && b->program->row_work) finish_row(b);
}

/* Units `first` to end - 1. */
void AM_CAT(am_cpu_row, AM_LEVEL)(const am_row_job *job, int64_t first, int64_t end,
                                  am_scratch *scratch);
void AM_CAT(am_cpu_row, AM_LEVEL)(const am_row_job *job, int64_t first, int64_t end,
                                  am_scratch *scratch) {
    am_block block;
    block_begin(&block, job, scratch);
    int most = rows_at_once(&block);
    for (int64_t unit = first; unit < end; unit += most) {
        block_open(&block, unit, (int)(end - unit < most ? end - unit : most));
        block_run(&block);
    }
}
