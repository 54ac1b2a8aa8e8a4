/* A block: one part of one row (lanes run along it), a few whole rows one after the other, or one
 * part of AM_W rows (lanes run across them), and how its tiles come from memory and go back.
 * Included by level_row.c. */
#ifndef AM_CPU_BLOCK_H
#define AM_CPU_BLOCK_H

#include "square.h"

typedef struct am_block {
    const am_row_job *job;
    const am_cpu_row *program;
    const am_row_args *args;
    am_scratch *scratch;
    int32_t row;     /* first row */
    int live, lanes; /* rows of the block; lanes that row scalars need: as many, across AM_W */
    int lane;        /* along: of the row that the tile belongs to */
    int32_t part;    /* number of the part in its row */
    int32_t column;  /* its first column */
    int32_t columns;
    int32_t steps;
    bool keep, kept; /* ROW_KEEP values of all steps have a place; they are there */
    bool hold, held; /* so have converted inputs */
    bool mix;        /* the first input has to be made of others */
    bool moved;      /* kept values belong to the anchors of their tiles */
    bool wanted;     /* there are outputs of elements */
    /* The one tile of a row lies in memory as it is: it moves from row to row and stays open. */
    bool fixed;
    bool out_open, out_streams; /* so have outputs; they go past the caches */
    const am_cpu_form *form;
    int tile_steps;
    int stage;    /* that passes over the tiles, from 0 */
    int32_t open; /* first step of the tile that is open; below 0: none */
    am_tile tile;
} am_block;

static inline uint32_t am_block_type(const am_block *b, int slot) {
    return am_nibble(b->args->types, slot);
}

/* First byte of what slot `slot` holds for lane l; of column `c` of the whole row for tensors of
 * rows. */
static inline char *am_row_place(const am_block *b, int slot, int l) {
    return b->job->data[slot] +
           b->scratch->row_at[slot][l] * (int64_t)am_type_size(am_block_type(b, slot));
}

static inline char *am_place(const am_block *b, int slot, int l, int32_t c) {
    int64_t along = (int64_t)c - (int64_t)b->args->part0 * b->args->part_len;
    int64_t at = b->scratch->row_at[slot][l] + along * b->args->tensor[slot].step;
    return b->job->data[slot] + at * (int64_t)am_type_size(am_block_type(b, slot));
}

/* Length of the run of rows from lane l that are neighbours in memory. */
static inline int am_run(const am_block *b, int slot, int l) {
    const int64_t *at = b->scratch->row_at[slot];
    int end = l + 1;
    while (end < b->live && at[end] == at[l] + (end - l)) end++;
    return end - l;
}

/* Across: how the rows of a block lie to each other. */
static inline void am_locate_rows(am_block *b, int slot) {
    am_scratch *s = b->scratch;
    const int64_t *at = s->row_at[slot];
    int64_t down = at[1] - at[0], uneven = b->live < AM_W;
    int first = am_run(b, slot, 0);
    for (int l = 0; l < AM_W; l++) uneven |= at[l] - at[0] - l * down;
    s->down[slot] = uneven != 0 ? 0 : down;
    s->side_by_side[slot] = first == AM_W;
    s->runs[slot] = first >= 8 || (first < b->live && am_run(b, slot, first) >= 8);
    s->next[slot] = NULL;
    if (b->job->ahead == 0 || s->down[slot] <= 0) return;
    down *= (int64_t)am_type_size(am_block_type(b, slot));
    s->next[slot] = am_row_place(b, slot, AM_W - 1) + down;
    s->share[slot] = down * AM_TURN / b->columns / (b->program->out_count > 0 ? 2 : 1);
}

static inline void am_locate_slots(am_block *b, const am_cpu_slot *slots, int count) {
    const am_row_args *a = b->args;
    am_scratch *s = b->scratch;
    for (int i = 0; i < count; i++) {
        int slot = slots[i].slot;
        if (b->job->data[slot] == NULL) continue;
        int64_t s0 = a->tensor[slot].s0, s1 = a->tensor[slot].s1, s2 = a->s2[slot];
        for (int l = 0; l < b->lanes; l++)
            s->row_at[slot][l] =
                a->tensor[slot].offset + s->at[0][l] * s0 + s->at[1][l] * s1 + s->at[2][l] * s2;
        if (b->job->across) am_locate_rows(b, slot);
    }
}

/* What z is made of, where the program leaves that to the skeleton. */
static const am_cpu_slot am_modifiers[] = {{AM_SLOT_BIAS, 0, 0.0f}, {AM_SLOT_NOISE, 0, 0.0f}};

/* Surplus lanes repeat the last row: they are computed and never written. */
static inline void am_locate(am_block *b) {
    const am_row_args *a = b->args;
    am_scratch *s = b->scratch;
    int32_t over = b->row < a->d0 ? 0 : b->row / a->d0; /* mostly spares the divisions */
    int64_t i = b->row - over * a->d0, j = over == 0 ? 0 : over % a->d1;
    int64_t k = over == 0 ? 0 : over / a->d1;
    for (int l = 0; l < b->lanes; l++) {
        s->at[0][l] = i;
        s->at[1][l] = j;
        s->at[2][l] = k;
        if (l + 1 >= b->live || ++i < a->d0) continue;
        i = 0;
        if (++j < a->d1) continue;
        j = 0;
        k++;
    }
    am_locate_slots(b, b->program->in, b->program->in_count);
    if (b->program->mixed) am_locate_slots(b, am_modifiers, 2);
    am_locate_slots(b, b->program->param, b->program->param_count);
    am_locate_slots(b, b->program->index, b->program->index_count);
    am_locate_slots(b, b->program->out, b->program->out_count);
    am_locate_slots(b, b->program->row_out, b->program->row_out_count);
}

/* Fixed rows: the open tile becomes that of the row of lane `lane`. */
static inline void am_turn_to(am_block *b, int lane) {
    const am_cpu_row *p = b->program;
    am_scratch *s = b->scratch;
    int from = b->lane;
    if (from == lane) return;
    b->lane = lane;
    b->tile.scalars = s->scalars[0] + lane;
    b->tile.indices = s->indices[0] + lane;
    for (int i = 0; i < p->in_count; i++) {
        const int64_t *at = s->row_at[p->in[i].slot];
        if (b->job->data[p->in[i].slot] != NULL) b->tile.in[i] += at[lane] - at[from];
    }
    for (int i = 0; i < p->keep_count; i++)
        b->tile.keep[i] += (ptrdiff_t)(lane - from) * b->columns;
    for (int i = 0; i < p->out_count && b->out_open; i++) {
        const int64_t *at = s->row_at[p->out[i].slot];
        if (b->job->data[p->out[i].slot] != NULL) b->tile.out[i] += at[lane] - at[from];
    }
}

/* Fixed rows: as many further ones of the same dimension. */
static inline void am_next_rows(am_block *b) {
    am_scratch *s = b->scratch;
    am_turn_to(b, 0);
    for (int l = 0; l < b->lanes; l++) s->at[0][l] += b->lanes;
    for (int slot = 0; slot < AM_SLOT_WORKSPACE; slot++) {
        if (b->job->data[slot] == NULL) continue;
        for (int l = 0; l < b->lanes; l++)
            s->row_at[slot][l] += b->lanes * b->args->tensor[slot].s0;
    }
    if (b->open < 0) return;
    for (int i = 0; i < b->program->in_count; i++) {
        int slot = b->program->in[i].slot;
        if (b->job->data[slot] != NULL) b->tile.in[i] += b->lanes * b->args->tensor[slot].s0;
        if (b->row + b->lanes - 1 + b->job->ahead >= b->args->rows) b->tile.ahead[i] = 0;
    }
    for (int i = 0; i < b->program->out_count && b->out_open; i++) {
        int slot = b->program->out[i].slot;
        if (b->job->data[slot] != NULL) b->tile.out[i] += b->lanes * b->args->tensor[slot].s0;
    }
}

/* A tile that is in memory as the program wants it: f32, neighbouring lanes side by side, no
 * padding. */
static inline bool am_direct(const am_block *b, int slot) {
    const am_tile *t = &b->tile;
    if (am_block_type(b, slot) != AM_F32) return false;
    if (b->job->across) return b->scratch->side_by_side[slot];
    return b->args->tensor[slot].step == 1 && t->column + t->steps * AM_W <= t->column_end;
}

/* Where a later row is to come into the cache, it is asked for step by step, so that it comes while
 * the stages are busy with this one. Inlined whatever the compiler thinks: to GCC a function that
 * only prefetches does nothing, and its calls may go. */
static inline AM_ALWAYS_INLINE void am_load_ahead(const am_block *b, int slot, float *to,
                                                  const char *from, int count) {
    uint32_t type = am_block_type(b, slot);
    ptrdiff_t size = (ptrdiff_t)am_type_size(type);
    ptrdiff_t later = (ptrdiff_t)b->job->ahead * b->args->tensor[slot].s0 * size;
    for (int i = 0; i < count; i += AM_W) {
        am_load_line(to + i, from + i * size, type, 1, count - i < AM_W ? count - i : AM_W);
        for (int k = 0; k < AM_W * size; k += AM_LINE_BYTES)
            am_prefetch(from + i * size + later + k);
    }
}

static inline void am_gather_along(const am_block *b, int slot, float *to, float absent) {
    const am_tile *t = &b->tile;
    ptrdiff_t step = b->args->tensor[slot].step;
    int size = t->steps * AM_W, left = t->column_end - t->column;
    int count = left < size ? left : size;
    const char *from = am_place(b, slot, b->lane, t->column);
    if (step == 1 && b->job->ahead > 0 && b->row + b->job->ahead < b->args->rows)
        am_load_ahead(b, slot, to, from, count);
    else
        am_load_line(to, from, am_block_type(b, slot), step, count);
    for (int i = count; i < size; i++) to[i] = absent;
}

#include "across.h"

/* Along a row the last step, where it has padding, is a tile of its own, so that all before it can
 * be used where they are. */
static inline bool am_tail_apart(const am_block *b) {
    return !b->job->across && b->steps > 1 && b->columns % AM_W != 0;
}

/* Steps of the tile that begins at step `first`. */
static inline int am_tile_steps(const am_block *b, int32_t first) {
    int32_t left = b->steps - first;
    if (left > 1 && am_tail_apart(b)) left--;
    return left < b->tile_steps ? left : b->tile_steps;
}

static inline void am_gather(const am_block *b, int slot, float *to, float absent) {
    if (b->job->across)
        am_gather_across(b, slot, to, absent);
    else
        am_gather_along(b, slot, to, absent);
}

/* z = sign (x + bias + noise), -inf where that is masked; NaN where it poisons the row. */
static inline void am_mix(const am_block *b, float *z) {
    const float *scale = b->scratch->scalars[b->program->scalars];
    int apart = b->job->across ? 1 : 0;
    float *more = b->scratch->mix;
    int size = b->tile.steps * AM_W;
    am_gather(b, b->program->in[0].slot, z, -AM_INF);
    for (int i = 0; i < 2; i++) {
        if (b->job->data[am_modifiers[i].slot] == NULL) continue;
        am_gather(b, am_modifiers[i].slot, more, 0.0f);
        for (int e = 0; e < size; e++) z[e] += more[e];
    }
    for (int e = 0; e < size; e++) {
        float turned = am_sel(am_visible(z[e]), -z[e], z[e]);
        turned = am_sel(am_poison(z[e]) > 0.0f, NAN, turned);
        z[e] = am_sel(scale[e % AM_W * apart] < 0.0f, turned, z[e]);
    }
}

/* From the open tile to what will be read after it, in elements: the next tile of the row where
 * tiles are used up one by one, else the same tile of a later row. 0: nothing is asked for. Of the
 * next long row stage 2 asks for what the second cache holds beside this one, stage 1 for the rest.
 * (Not the right rows where they change over to another dimension: no harm.) */
static inline ptrdiff_t am_ahead(const am_block *b, int slot) {
    const am_row_args *a = b->args;
    const am_row_job *job = b->job;
    int32_t next = b->open + b->tile_steps;
    bool tiles = job->tiles_ahead, later = job->early && b->stage > 0;
    if (later && next > job->asked) return 0;
    if (tiles && !later && next + b->tile_steps <= b->steps)
        return next + b->tile_steps <= job->asked ? 0 : (ptrdiff_t)b->tile_steps * AM_W;
    if (job->ahead == 0 || b->row + b->live - 1 + job->ahead >= a->rows) return 0;
    ptrdiff_t rows = (ptrdiff_t)job->ahead * a->tensor[slot].s0;
    return tiles && !later ? rows - (ptrdiff_t)b->open * AM_W : rows;
}

/* Opens the tile at step `first`: inputs are there afterwards, ROW_KEEP values have a place. */
static inline void am_tile_open(am_block *b, int32_t first) {
    am_tile *t = &b->tile;
    am_scratch *s = b->scratch;
    if (b->open == first) return;
    b->open = first;
    t->early = b->job->early && b->stage == 0;
    t->steps = am_tile_steps(b, first);
    t->column = b->column + first * t->column_step;
    for (int i = 0; i < b->program->in_count; i++) {
        int slot = b->program->in[i].slot;
        float absent = b->program->in[i].absent;
        t->in_step[i] = AM_W;
        t->ahead[i] = 0;
        bool mix = b->mix && i == 0;
        if (b->job->data[slot] == NULL) {
            t->in[i] = s->constant[i];
            t->in_step[i] = 0;
        } else if (!mix && am_direct(b, slot)) {
            t->in[i] = (const float *)am_place(b, slot, b->lane, t->column);
            if (b->job->across)
                t->in_step[i] = b->args->tensor[slot].step;
            else
                t->ahead[i] = am_ahead(b, slot);
        } else {
            float *to = s->in[i] + (b->hold ? (ptrdiff_t)first * AM_W : 0);
            t->in[i] = to;
            if (b->held) continue;
            if (mix)
                am_mix(b, to);
            else
                am_gather(b, slot, to, absent);
        }
    }
    for (int i = 0; i < b->program->keep_count; i++)
        t->keep[i] = s->keep[i] + (b->keep ? (ptrdiff_t)first * AM_W : 0);
}

static inline bool am_adds(const am_block *b, int slot) {
    return b->args->accumulate >> slot & 1;
}

static inline bool am_streams(const am_block *b) {
    return b->job->stream && !b->job->across;
}

/* Results on their way to memory: in the place of a kept value that each is made from, as what fits
 * the nearest cache is short. */
static inline float *am_out_lanes(const am_block *b, int i) {
    return i < b->program->keep_count ? b->tile.keep[i] : b->scratch->out[i];
}

/* Where the finish writes: memory itself if it can, else scratch, which am_outputs_close takes
 * there. True when all that it writes may go past the caches. */
static inline bool am_outputs_open(am_block *b) {
    am_tile *t = &b->tile;
    bool streams = am_streams(b), direct = true;
    char *to[AM_MAX_OUT];
    if (b->out_open) return b->out_streams;
    for (int i = 0; i < b->program->out_count; i++) {
        int slot = b->program->out[i].slot;
        bool there = b->job->data[slot] != NULL;
        to[i] = NULL;
        if (there && !am_adds(b, slot) && am_direct(b, slot))
            to[i] = am_place(b, slot, b->lane, t->column);
        direct = direct && (to[i] != NULL || !there);
        streams = streams && to[i] != NULL && (uintptr_t)to[i] % AM_LINE_BYTES == 0 &&
                  b->args->tensor[slot].s0 % (AM_LINE_BYTES / 4) == 0;
    }
    if (am_streams(b) && !streams) direct = false;
    for (int i = 0; i < b->program->out_count; i++) {
        int slot = b->program->out[i].slot;
        bool use = to[i] != NULL && (streams || !am_streams(b));
        t->out[i] = use ? (float *)to[i] : am_out_lanes(b, i);
        t->out_step[i] = use && b->job->across ? b->args->tensor[slot].step : AM_W;
    }
    b->out_open = b->fixed && direct;
    b->out_streams = streams;
    return streams;
}

static inline void am_outputs_close(am_block *b) {
    am_tile *t = &b->tile;
    if (b->out_open) return;
    for (int i = 0; i < b->program->out_count; i++) {
        int slot = b->program->out[i].slot;
        if (t->out[i] != am_out_lanes(b, i) || b->job->data[slot] == NULL) continue;
        if (b->job->across) {
            am_scatter_across(b, slot, t->out[i], am_adds(b, slot));
            continue;
        }
        int size = t->steps * AM_W, left = t->column_end - t->column;
        int count = left < size ? left : size;
        char *to = am_place(b, slot, b->lane, t->column);
        ptrdiff_t step = b->args->tensor[slot].step;
        uint32_t type = am_block_type(b, slot);
        if (am_adds(b, slot))
            am_add_line(to, type, step, t->out[i], count, b->scratch->line);
        else if (am_streams(b) && step == 1)
            am_stream_line(to, type, t->out[i], count);
        else
            am_store_line(to, type, step, t->out[i], count);
    }
}

#endif
