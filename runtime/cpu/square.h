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
    int64_t down;      /* elements from one row to the next, */
    bool even;         /* if that is the same for all, and columns are neighbours */
} am_square;

static inline am_square am_square_at(char *first, const int64_t *at, ptrdiff_t along, uint32_t type,
                                     int rows, int columns) {
    am_square s = {.first = first, .at = at, .along = along, .type = type};
    int uneven = 0;
    s.rows = rows < AM_TURN ? rows : AM_TURN;
    s.columns = columns < AM_TURN ? columns : AM_TURN;
    s.down = at[1] - at[0];
    for (int i = 0; i < AM_TURN; i++) uneven |= at[i] != at[0] + i * s.down;
    s.even = !uneven && along == 1;
    return s;
}

static inline char *am_square_row(const am_square *s, int i) {
    return s->first + s->at[i] * (int64_t)am_type_size(s->type);
}

/* Into lanes; columns that are not there get anything. */
static inline void am_square_load(const am_square *s, float *to) {
    float lines[AM_TURN][AM_TURN];
    bool full = s->even && s->columns == AM_TURN;
    char *row = am_square_row(s, 0);
    if (full && s->type == AM_F32) {
        am_turn(to, AM_W, (const float *)row, s->down);
        return;
    }
    for (int i = 0; i < AM_TURN; i++)
        if (full) /* a count that the compiler knows */
            am_load_line(lines[i], row + i * s->down * 2, s->type, 1, AM_TURN);
        else
            am_load_line(lines[i], am_square_row(s, i), s->type, s->along, s->columns);
    am_turn(to, AM_W, lines[0], AM_TURN);
}

/* Out of lanes: over what is there, or added to it. */
static inline void am_square_store(const am_square *s, const float *from, bool stream, bool add) {
    float lines[AM_TURN][AM_TURN], scratch[AM_TURN];
    bool full = s->even && s->columns == AM_TURN && s->rows == AM_TURN && !add;
    char *row = am_square_row(s, 0);
    if (full && s->type == AM_F32 && !stream) {
        am_turn((float *)row, s->down, from, AM_W);
        return;
    }
    am_turn(lines[0], AM_TURN, from, AM_W);
    for (int i = 0; i < s->rows; i++)
        if (full && s->type == AM_F32)
            am_stream_line(row + i * s->down * 4, AM_F32, lines[i], AM_TURN);
        else if (full)
            am_store_line(row + i * s->down * 2, s->type, 1, lines[i], AM_TURN);
        else if (add)
            am_add_line(am_square_row(s, i), s->type, s->along, lines[i], s->columns, scratch);
        else
            am_store_line(am_square_row(s, i), s->type, s->along, lines[i], s->columns);
}

#endif
