/* The table of row programs, read off their files: names and counts only, no expression is
 * evaluated.
 *
 * am_program_files.inc (made by the build) includes each file of math/rows/ in both directions,
 * each followed by the file named in AM_PROGRAM_USE, and leaves the program's name in
 * AM_PROGRAM_NAME. */
#include "program.h"

#include <string.h>

/* The functions in those files must compile, so the lanes here are plain floats. */
#define real float
#define ints int32_t
#define rowf float
#define rowi int32_t
#define AM_FN static inline
#define AM_INF 3.4e38f
#define LIT(c) (c)
#define ILIT(c) (c)
#define ROWLIT(c) (c)
#define am_sel(c, a, b) ((c) ? (a) : (b))
#define am_and(a, b) ((a) && (b))
#define am_or(a, b) ((a) || (b))
#define am_float(i) ((float)(i))
#define am_int(x) ((int32_t)(x))
#define am_round(x) (x)
#define am_sqrt(x) (x)
#define am_fabs(x) ((x) < 0.0f ? -(x) : (x))
#define am_row(v) (v)

static inline int32_t am_bits(float x) {
    int32_t i;
    memcpy(&i, &x, sizeof i);
    return i;
}

static inline float am_from_bits(int32_t i) {
    float x;
    memcpy(&x, &i, sizeof x);
    return x;
}

#include "math/am.h"

#define COUNT_1(a) +1
#define COUNT_2(a, b) +1
#define COUNT_3(a, b, c) +1
#define SLOT_BIT_2(slot, b) SLOT_JOIN(1ll << (slot))
#define SLOT_BIT_3(slot, b, c) SLOT_JOIN(1ll << (slot))
#define PARAM_BIT_2(i, b) SLOT_JOIN(1ll << (i))
#define PARAM_BIT_3(slot, i, c) SLOT_JOIN(1ll << (i))
#define AM_CAT3(a, b, c) a##b##c
#define AM_CAT(a, b, c) AM_CAT3(a, b, c)
#define AM_STRING1(a) #a
#define AM_STRING(a) AM_STRING1(a)

/* First the functions, and what every program must keep to; then the table, where only macros of
 * the files are left. */
#define AM_PROGRAM_USE "program_check.h"
#include "am_program_files.inc"
#undef AM_PROGRAM_USE

#define SLOT_IN(s, n, absent) .slot[s] = {#n, AM_ROLE_IN},
#define SLOT_PARAM(s, i, n) .slot[s] = {#n, AM_ROLE_PARAM},
#define SLOT_INDEX(s, n) .slot[s] = {#n, AM_ROLE_INDEX},
#define SLOT_OUT(s, n, e) .slot[s] = {#n, AM_ROLE_OUT},
#define SLOT_ROW_OUT(s, n, e) .slot[s] = {#n, AM_ROLE_ROW_OUT},
#define NAME_PARAM(s, i, n) .param[i] = #n,
#define NAME_CONST(i, n) .param[i] = #n,
#define NAME_INT(i, n) .iparam[i] = #n,

const am_program am_program_table[AM_PROGRAM_COUNT] = {
#define AM_PROGRAM_USE "program_entry.h"
#include "am_program_files.inc"
};
