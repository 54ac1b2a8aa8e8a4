/* Read by program.c after each program: its line of the table. */
#include "math/row.h"
[AM_CAT(AM_PROGRAM_, AM_PROGRAM_NAME, AM_PROGRAM_WAY)] = {
    .name = AM_STRING(AM_PROGRAM_NAME) AM_STRING(AM_PROGRAM_WAY),
    ROW_IN(SLOT_IN) ROW_PARAM(SLOT_PARAM) ROW_INDEX(SLOT_INDEX) ROW_OUT(SLOT_OUT)
        ROW_ROW(SLOT_ROW_OUT)
    .slot[AM_SLOT_WORKSPACE] = {"workspace", AM_ROLE_WORKSPACE},
    ROW_PARAM(NAME_PARAM) ROW_CONST(NAME_CONST) ROW_INT(NAME_INT)
    /* A program without a stage 1 reduces nothing, not even the poison flag. */
    .reductions = {ROW_HAS_1 * (0 ROW_S1_GUARDED(COUNT_3)), 0 ROW_S2(COUNT_3), 0 ROW_S3(COUNT_3)},
    .scalars = 0 ROW_S1_GUARDED(COUNT_3) ROW_S2(COUNT_3) ROW_S3(COUNT_3) ROW_VARS(COUNT_1),
    .iterations = ROW_N2,
    .online = ROW_HAS_MOVE,
    .candidate = ROW_HAS_CANDIDATE,
    .elements = ROW_HAS_OUT,
    .flags = (0 ROW_FLAG(COUNT_2)) != 0,
},
#include "math/row_undef.h"
