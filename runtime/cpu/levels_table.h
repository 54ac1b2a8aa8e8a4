/* The kernels of one level, AM_LEVEL, by program. Included by levels.c, once a level. */
#define ROW_FUNCTION AM_CAT(am_cpu_row, AM_LEVEL)
#define PRODUCT_FUNCTION AM_CAT(am_cpu_product, AM_LEVEL)
#define ROW_OF(name, half) AM_CAT(AM_CAT(AM_CAT(am_cpu_row, name), half), AM_LEVEL)

void ROW_FUNCTION(const am_row_job *job, int64_t first, int64_t end, am_scratch *scratch);
void PRODUCT_FUNCTION(const am_product_job *job, int64_t unit, am_product_scratch *scratch);

#define AM_PROGRAM(name) extern const am_cpu_row ROW_OF(name, forward), ROW_OF(name, backward);
#include "am_programs.inc"
#undef AM_PROGRAM

/* In the order of the enum in program.h. */
static const am_cpu_row *const AM_CAT(rows, AM_LEVEL)[] = {
#define AM_PROGRAM(name) &ROW_OF(name, forward), &ROW_OF(name, backward),
#include "am_programs.inc"
#undef AM_PROGRAM
};

#undef ROW_FUNCTION
#undef PRODUCT_FUNCTION
#undef ROW_OF
