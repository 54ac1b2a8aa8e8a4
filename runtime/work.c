/* What launches ask of a device. */
#include "work.h"

/* Edge of the tile of c that a product's kernel takes whole, edges of the matrix or not. */
#define TILE 32u
/* Elements that a row costs before its first one: scalars, an index, results. */
#define ROW_TOUCHES 8u
#define COPY_LEAST ((size_t)64 << 10)

/* Products stay at UINT64_MAX, which is more than any bound. */
static uint64_t times(uint64_t a, uint64_t b) {
    return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

uint64_t am_work_of_cores(uint32_t cores) {
    uint64_t work = AM_WORK_CORE * cores;
    return work < AM_WORK_MOST ? work : AM_WORK_MOST;
}

/* Elements that a launch touches for one column. */
static uint64_t touches(const am_program *program, const am_row_args *args) {
    uint64_t inputs = 0, outputs = 0, passes = 0;
    for (int s = 0; s < AM_SLOTS; s++) {
        if (am_nibble(args->types, s) == AM_ABSENT) continue;
        if (program->slot[s].role == AM_ROLE_IN) inputs++;
        if (program->slot[s].role == AM_ROLE_OUT) outputs += (args->accumulate >> s & 1) ? 2 : 1;
    }
    if (args->stages & AM_STAGE_ELEMENTS_1) passes++;
    if (args->stages & AM_STAGE_ELEMENTS_3) passes++;
    if (args->stages & AM_STAGE_ELEMENTS_2)
        passes += (args->stages & AM_STAGE_FOLD_2) ? 1 : (uint64_t)args->iterations;
    if ((args->stages & AM_STAGE_FINISH) && program->elements)
        passes++;
    else
        outputs = 0;
    return inputs * passes + outputs;
}

uint64_t am_row_work(const am_program *program, const am_row_args *args) {
    static const int32_t folds[3] = {AM_STAGE_FOLD_1, AM_STAGE_FOLD_2, AM_STAGE_FOLD_3};
    uint64_t columns = (uint64_t)args->parts * (uint64_t)args->part_len, each = ROW_TOUCHES;
    const uint64_t left = (uint64_t)args->n - (uint64_t)args->part0 * (uint64_t)args->part_len;
    if (columns > left) columns = left;
    /* Every part folds what all parts have left. */
    for (int i = 0; i < 3; i++)
        if (args->stages & folds[i])
            each += (uint64_t)args->parts_total * (uint64_t)program->reductions[i];
    return times((uint64_t)(args->rows - args->row0) * AM_WORK_TOUCH,
                 times(columns, touches(program, args)) + times((uint64_t)args->parts, each));
}

static uint64_t in_tiles(uint64_t size) {
    return (size + TILE - 1) / TILE * TILE;
}

uint64_t am_product_work(const am_product_args *args) {
    const uint64_t plane = in_tiles((uint64_t)(args->m - args->row0)) * in_tiles((uint64_t)args->n);
    return times(times(plane, (uint64_t)args->batch), 2 * (uint64_t)args->k);
}

uint64_t am_copy_work(size_t size_bytes) {
    return times(2 * AM_WORK_TOUCH, (uint64_t)size_bytes / 4);
}

size_t am_copy_most(uint64_t launch_work) {
    const uint64_t bytes = launch_work / (2 * AM_WORK_TOUCH) * 4;
    if (bytes >= SIZE_MAX) return SIZE_MAX / COPY_LEAST * COPY_LEAST;
    return bytes < COPY_LEAST ? COPY_LEAST : (size_t)bytes / COPY_LEAST * COPY_LEAST;
}
