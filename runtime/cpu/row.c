/* Kernel `row`, one program at one level: both halves of the file that the build names.
 *
 * Compiled with AM_ROW_FILE (the file), AM_ROW_NAME (its stem) and AM_LEVEL; defines
 * am_cpu_row_NAME_forward_LEVEL and am_cpu_row_NAME_backward_LEVEL. */
#include "kernel.h"
#include "lanes.h"
#include "past.h"

#define AM_MIXED

#if defined(__GNUC__)
/* Not every stage uses all that ROW_LET derives. */
#pragma GCC diagnostic ignored "-Wunused-variable"
#endif

#define AM_HALF forward
#define ROW_FORWARD
#include AM_ROW_FILE
#include "row_program.h"
#undef AM_HALF

#define AM_HALF backward
#define ROW_BACKWARD
#include AM_ROW_FILE
#include "row_program.h"
#undef AM_HALF
