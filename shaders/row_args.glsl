/* am_row_args of runtime/launch.h, and the tunables of the row kernel. */
layout(std140, set = 0, binding = 0) uniform am_row_args {
    int n, rows, row0, row_base;
    int d0, d1, part_len, part0;
    int parts, parts_total, stages, iterations;
    int accumulate, lanes, across, flags;
    int partial_in, partial_out, state_in, state_out;
    vec4 param[2];
    ivec4 iparam;
    uvec4 types_binds;
    ivec4 tensor[16]; /* offset, step, s0, s1 */
    ivec4 s2[4];
    ivec4 quads; /* by binding: element of am_quads_n that the binding begins at */
} args;

layout(constant_id = 5) const int STAGES = 0x407;  /* args.stages */
layout(constant_id = 6) const int ACCUMULATE = 0;  /* args.accumulate */
layout(constant_id = 7) const int UNROLL = 4;      /* elements of a lane in one turn of a loop */
layout(constant_id = 8) const bool CHIP = false;   /* UNROLL covers the row: inputs are read once */
layout(constant_id = 9) const int REDUCE = 1; /* 0: a lane a row, 1: tree, 2: sub-groups, 3: one */
layout(constant_id = 10) const int DIMS = 3;       /* 1: row r is at r * s0, 3: in 3 dimensions */
layout(constant_id = 11) const int LIST = 0;       /* candidates that a lane can hold; 0: no list */
layout(constant_id = 12) const int EACH = 1;       /* neighbouring columns of a lane: 1 or 4 */
layout(constant_id = 13) const int QUADS = 0;      /* bit s: slot s is loaded by fours */
layout(constant_id = 14) const bool EVEN = false;  /* no turn has lanes without columns */

#define ELEMENTS_1 ((STAGES & 1) != 0)
#define ELEMENTS_2 ((STAGES & 2) != 0)
#define ELEMENTS_3 ((STAGES & 4) != 0)
#define FOLD_1 ((STAGES & 8) != 0)
#define FOLD_2 ((STAGES & 16) != 0)
#define FOLD_3 ((STAGES & 32) != 0)
#define ONLINE ((STAGES & 64) != 0)
#define LOAD ((STAGES & 128) != 0)
#define SAVE ((STAGES & 256) != 0)
#define PARTIAL ((STAGES & 512) != 0)
#define FINISH ((STAGES & 1024) != 0)
