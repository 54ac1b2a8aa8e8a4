/* Squares of AM_TURN rows and columns between memory, where rows lie one after the other, and
 * lanes, where they lie side by side. Included by block.h. */
#ifndef AM_CPU_SQUARE_H
#define AM_CPU_SQUARE_H

#include "elements.h"
#include "kernel.h"
#include "turn.h"

typedef struct am_square {
    char *first;       /* what the elements of `at` count from */
    const int64_t *at; /* first element of AM_TURN rows: surplus ones repeat the last */
    ptrdiff_t along;   /* elements from one column to the next */
    uint32_t type;
    int rows, columns; /* that are there, at most AM_TURN */
} am_square;

static inline char *am_square_row(const am_square *s, int i) {
    return s->first + s->at[i] * (int64_t)am_type_size(s->type);
}

/* Into lanes; columns that are not there get anything. */
static inline void am_square_load(const am_square *s, float *to) {
    float lines[AM_TURN][AM_TURN];
    for (int i = 0; i < AM_TURN; i++)
        am_load_line(lines[i], am_square_row(s, i), s->type, s->along, s->columns);
    am_turn(to, AM_W, lines[0], AM_TURN);
}

/* Out of lanes: over what is there, or added to it. */
static inline void am_square_store(const am_square *s, const float *from, bool add) {
    float lines[AM_TURN][AM_TURN], scratch[AM_TURN];
    am_turn(lines[0], AM_TURN, from, AM_W);
    for (int i = 0; i < s->rows; i++)
        if (add)
            am_add_line(am_square_row(s, i), s->type, s->along, lines[i], s->columns, scratch);
        else
            am_store_line(am_square_row(s, i), s->type, s->along, lines[i], s->columns);
}

/* Whole squares of neighbouring columns whose rows are `down` elements apart: nearly all there are,
 * with counts that the compiler knows. */
static inline void am_whole_load(float *to, const char *from, int64_t down, uint32_t type) {
    float lines[AM_TURN][AM_TURN];
    if (type == AM_F32) {
        am_turn(to, AM_W, (const float *)from, down);
        return;
    }
    for (int i = 0; i < AM_TURN; i++) am_load_line(lines[i], from + i * down * 2, type, 1, AM_TURN);
    am_turn(to, AM_W, lines[0], AM_TURN);
}

static inline void am_whole_store(char *to, int64_t down, uint32_t type, const float *from,
                                  bool stream) {
    float lines[AM_TURN][AM_TURN];
    if (type == AM_F32 && !stream) {
        am_turn((float *)to, down, from, AM_W);
        return;
    }
    am_turn(lines[0], AM_TURN, from, AM_W);
    if (type != AM_F32)
        for (int i = 0; i < AM_TURN; i++)
            am_store_line(to + i * down * 2, type, 1, lines[i], AM_TURN);
    else if ((uintptr_t)to % AM_LINE_BYTES == 0 && down % AM_TURN == 0)
        for (int i = 0; i < AM_TURN; i++)
            am_stream_cache_line(to + i * down * 4, (const char *)lines[i]);
    else
        for (int i = 0; i < AM_TURN; i++)
            am_store_line(to + i * down * 4, AM_F32, 1, lines[i], AM_TURN);
}

#endif
