/* What the planner and the backends know of a row program: read off its file in runtime/math/rows/.
 *
 * Every file there is one pair of programs, NAME_forward and NAME_backward. The build lists the
 * files (am_programs.inc), so a new file needs no line elsewhere. */
#ifndef AM_PROGRAM_H
#define AM_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "launch.h"

typedef enum am_slot_role {
    AM_ROLE_NONE = 0,
    AM_ROLE_IN,      /* a tensor of rows */
    AM_ROLE_PARAM,   /* one number a row, or the call's own (args.param) when absent */
    AM_ROLE_INDEX,   /* one index a row */
    AM_ROLE_OUT,     /* rows */
    AM_ROLE_ROW_OUT, /* one number a row */
    AM_ROLE_WORKSPACE
} am_slot_role;

typedef struct am_program {
    const char *name; /* "softmax_forward" */
    struct {
        const char *name;
        am_slot_role role;
    } slot[AM_SLOTS];
    const char *param[AM_MAX_PARAMS]; /* names of args.param, NULL where unused */
    const char *iparam[AM_MAX_INTS];
    int reductions[3]; /* named reductions of each stage; stage 1 counts the poison flag */
    int scalars;       /* row scalars that travel between the launches of a split row */
    int iterations;    /* of stage 2: the default, 1 where it is not iterated */
    bool online;       /* has ROW_MOVE */
    bool candidate;    /* has ROW_CANDIDATE */
    bool elements;     /* has ROW_OUT: the finish reads and writes elements */
    bool flags;        /* has ROW_FLAG: may raise bits of the status word */
} am_program;

enum {
#define AM_PROGRAM(name) AM_PROGRAM_##name##_forward, AM_PROGRAM_##name##_backward,
#include "am_programs.inc"
#undef AM_PROGRAM
    AM_PROGRAM_COUNT
};

extern const am_program am_program_table[AM_PROGRAM_COUNT];

/* Does a launch with these types give one of the inputs that are mostly left out? */
static inline bool am_has_extras(const am_program *program, const uint32_t *types) {
    for (int s = AM_SLOT_EXTRAS; s < AM_SLOTS; s++)
        if (program->slot[s].role == AM_ROLE_IN && am_nibble(types, s) != AM_ABSENT) return true;
    return false;
}

/* Columns of a row that a lane of a GPU keeps in registers, at most: with more of them compilers
 * spill, or leave no room for a second wave (docs/gpu-compile.md). */
static inline uint32_t am_chip_columns(const am_program *program, const uint32_t *types) {
    const int *reductions = program->reductions;
    const bool heavy = reductions[0] + reductions[1] + reductions[2] > 5;
    return heavy || am_has_extras(program, types) ? 8 : 16;
}

#endif
