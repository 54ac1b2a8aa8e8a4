/* How tiles of AM_W rows side by side come from memory and go back, and what comes next into the
 * cache meanwhile. A part of block.h, which includes it. */
#ifndef AM_CPU_ACROSS_H
#define AM_CPU_ACROSS_H

/* The square of lanes from `lane` and steps from `step` of the tile. */
static inline am_square am_square_of(const am_block *b, int slot, int lane, int step) {
    int rows = b->live - lane, columns = b->tile.steps - step;
    uint32_t type = am_block_type(b, slot);
    ptrdiff_t along = b->args->tensor[slot].step;
    int64_t column = b->tile.column + step - (int64_t)b->args->part0 * b->args->part_len;
    char *first = b->job->data[slot] + column * along * (int64_t)am_type_size(type);
    return (am_square){
        first, b->scratch->row_at[slot] + lane, along,
        type,  rows < AM_TURN ? rows : AM_TURN, columns < AM_TURN ? columns : AM_TURN};
}

/* Of the rows that the next block takes, the share of some columns of AM_TURN lanes. */
static inline AM_ALWAYS_INLINE void am_prefetch_share(const am_block *b, int slot, int lane,
                                                      int step, int columns) {
    const char *next = b->scratch->next[slot];
    int64_t share = b->scratch->share[slot];
    int64_t done = (int64_t)lane / AM_TURN * b->columns + b->tile.column - b->column + step;
    if (next == NULL) return;
    for (int64_t at = done * share / 64 * 64; at < (done + columns) * share; at += 64)
        am_prefetch(next + at);
}

static inline bool am_whole(const am_block *b, int slot) {
    return b->scratch->down[slot] != 0 && b->args->tensor[slot].step == 1;
}

/* Rows that are neighbours in memory go step by step, others square by square. */
static inline void am_gather_across(const am_block *b, int slot, float *to, float absent) {
    const am_tile *t = &b->tile;
    const am_scratch *s = b->scratch;
    uint32_t type = am_block_type(b, slot);
    int size = (int)am_type_size(type);
    int whole = am_whole(b, slot) ? t->steps / AM_TURN * AM_TURN : 0;
    for (int l = 0, run; l < b->live && s->runs[slot]; l += run) {
        run = am_run(b, slot, l);
        for (int j = 0; j < t->steps; j++)
            am_load_line(to + j * AM_W + l, am_place(b, slot, l, t->column + j), type, 1, run);
    }
    for (int l = 0; l < b->live && !s->runs[slot]; l += AM_TURN) {
        const char *at = am_place(b, slot, l, t->column);
        for (int j = 0; j < whole; j += AM_TURN) {
            am_whole_load(to + j * AM_W + l, at + j * size, s->down[slot], type);
            am_prefetch_share(b, slot, l, j, AM_TURN);
        }
        for (int j = whole; j < t->steps; j += AM_TURN) {
            am_square square = am_square_of(b, slot, l, j);
            am_square_load(&square, to + j * AM_W + l);
            am_prefetch_share(b, slot, l, j, square.columns);
        }
    }
    for (int j = 0; j < t->steps; j++)
        for (int l = b->live; l < AM_W; l++) to[j * AM_W + l] = absent;
}

/* As many more lanes follow those that are loaded: the second half of what comes next. */
static inline AM_ALWAYS_INLINE void am_prefetch_rest(const am_block *b, int lane, int step,
                                                     int columns) {
    for (int i = 0; i < b->program->in_count; i++) {
        int slot = b->program->in[i].slot;
        if (b->job->data[slot] != NULL) am_prefetch_share(b, slot, AM_W + lane, step, columns);
    }
}

static inline void am_scatter_across(const am_block *b, int slot, const float *from, bool add) {
    const am_tile *t = &b->tile;
    const am_scratch *s = b->scratch;
    uint32_t type = am_block_type(b, slot);
    int size = (int)am_type_size(type);
    int whole = am_whole(b, slot) && !add ? t->steps / AM_TURN * AM_TURN : 0;
    for (int l = 0, run; l < b->live && s->runs[slot]; l += run) {
        run = am_run(b, slot, l);
        for (int j = 0; j < t->steps; j++) {
            char *to = am_place(b, slot, l, t->column + j);
            const float *at = from + j * AM_W + l;
            if (add)
                am_add_line(to, type, 1, at, run, b->scratch->line);
            else
                am_store_line(to, type, 1, at, run);
        }
    }
    for (int l = 0; l < b->live && !s->runs[slot]; l += AM_TURN) {
        char *at = am_place(b, slot, l, t->column);
        for (int j = 0; j < whole; j += AM_TURN) {
            am_whole_store(at + j * size, s->down[slot], type, from + j * AM_W + l, b->job->stream);
            am_prefetch_rest(b, l, j, AM_TURN);
        }
        for (int j = whole; j < t->steps; j += AM_TURN) {
            am_square square = am_square_of(b, slot, l, j);
            am_square_store(&square, from + j * AM_W + l, add);
            am_prefetch_rest(b, l, j, square.columns);
        }
    }
}

#endif
