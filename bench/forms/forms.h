/* forms.h: softmax of rows in several forms, which do the same in another order. */
#ifndef ANYMAX_BENCH_FORMS_H
#define ANYMAX_BENCH_FORMS_H

#include "contest.h"

/* Columns that a row is a multiple of. */
#define FORM_STEP 64

typedef struct form_rows {
    const float *x;
    float *y;
    int64_t rows, n;
    /* Scratch: what is kept of each column; what is kept of each tile of columns, or a second
     * number of each column. */
    float *keep, *more;
    /* What is asked of memory early, so that it comes while exp is computed: the row so many rows
     * later, or, where a row fills the caches, what is so many columns later. Either, or 0. */
    int64_t rows_ahead, columns_ahead;
} form_rows;

typedef enum form_kind {
    /* The maximum; exp and its sum; y. exp is kept, or computed twice. */
    FORM_THREE_KEPT,
    FORM_THREE_AGAIN,
    /* The maximum and the sum in one pass, the sum moved to the maximum so far (Milakov and
     * Gimelshein, 2018, arXiv 1805.02867), here once a tile for each lane; y. Kept with the maximum
     * so far beside it, exp is moved as well. */
    FORM_ONLINE_KEPT,
    FORM_ONLINE_AGAIN,
    /* No maximum: exp as a mantissa and an exponent that cannot overflow, and their sum likewise;
     * y (Dukhan and Ablavatski, 2020, arXiv 2001.04438). */
    FORM_PAIRS_KEPT,
    FORM_PAIRS_AGAIN,
    FORM_KINDS
} form_kind;

typedef void (*form_function)(const form_rows *rows);

/* Of one instruction-set level: by kind, then plain stores or those past the caches. */
typedef struct form_level {
    const char *name;
    form_function run[FORM_KINDS][2];
} form_level;

/* The levels of this build, the lowest first; NULL at the end. */
extern const form_level *const form_levels[];

/* The library's own kernel shapes, forced in turn, on one device. False after a message. */
bool forms_of_library(const char *selector, const char *const *shapes, double seconds);

#endif
