/* Launches of the kernels: which form, how many lanes a row, how many groups. */
#include "opencl.h"
#include "work.h"

/* The CPU shape, in lanes of a float16: the tiles of any program (cl/row.cl: 32 lanes for each
 * input and output), and all that an item may use: half a usual L2. */
#define LANE_BYTES 64u
#define TILE_LANES 512u
#define LEAST_LANES 64u /* one lane for each of ten inputs and outputs, and more */
#define AREA_LANES ((512u << 10) / LANE_BYTES)
#define ITEM_ELEMENTS 8192u /* that an item should have to do */
#define MOST_ITEMS 32768u   /* PoCL compiles a kernel once more for 65536 groups and beyond */
#define WHOLE_FOLDS                                                                        \
    (AM_STAGE_FOLD_1 | AM_STAGE_FOLD_2 | AM_STAGE_FOLD_3 | AM_STAGE_LOAD | AM_STAGE_SAVE | \
     AM_STAGE_PARTIAL | AM_STAGE_ONLINE)
/* Rows as short as this are taken 16 at a time by the CPU shape. */
#define SHORT_ROW 96

typedef struct plan {
    am_cl_variant variant;
    uint32_t rows_a_group;
    uint32_t items;
    cl_kernel kernel;
} plan;

static uint32_t power_of_two(uint64_t at_least) {
    uint32_t p = 1;
    while (p < at_least) p *= 2;
    return p;
}

static bool is_whole(const am_row_args *args) {
    return (args->stages & AM_STAGE_FINISH) && !(args->stages & WHOLE_FOLDS) &&
           args->part_len >= args->n;
}

static bool has_rows(const am_row_launch *launch, int slot) {
    const am_slot_role role = am_program_table[launch->program].slot[slot].role;
    return (role == AM_ROLE_IN || role == AM_ROLE_OUT) &&
           am_nibble(launch->args.types, slot) != AM_ABSENT;
}

/* Do neighbouring rows, rather than neighbouring columns, lie side by side? */
static bool runs_across(const am_row_launch *launch) {
    int columns = 0, rows = 0, s;
    for (s = 0; s < AM_SLOTS; s++) {
        if (!has_rows(launch, s)) continue;
        columns += launch->args.tensor[s].step == 1;
        rows += launch->args.tensor[s].s0 == 1 && launch->args.tensor[s].step != 1;
    }
    return rows > columns;
}

static bool choose_across(const am_backend_device *device, const am_row_launch *launch) {
    const am_row_args *args = &launch->args;
    switch (device->options.pretend.skeleton) {
    case AM_SKELETON_ACROSS:
        return true;
    case AM_SKELETON_SHORT:
        return device->cpu_shape;
    case AM_SKELETON_CHIP:
    case AM_SKELETON_STREAM:
        return false;
    default:
        break;
    }
    if (args->d0 >= 2 && runs_across(launch)) return true;
    return device->cpu_shape && args->n <= SHORT_ROW && launch->rows >= 64 * (int32_t)device->units;
}

/* Rows (or blocks of 16 rows) that an item takes in turn, so that its own set-up does not tell; but
 * enough items for all compute units. */
static uint32_t rows_in_turn(const am_backend_device *device, const am_row_args *args,
                             uint32_t rows_a_turn) {
    const uint64_t rows = (uint64_t)(args->rows - args->row0) * (uint64_t)args->parts / rows_a_turn;
    const uint64_t columns = (uint64_t)args->part_len * rows_a_turn;
    const uint64_t most = rows / (16 * (uint64_t)device->units);
    uint64_t turns = ITEM_ELEMENTS / columns;
    if (turns > most) turns = most;
    if (turns < rows / MOST_ITEMS) turns = rows / MOST_ITEMS;
    return turns > 1 ? (uint32_t)turns : 1;
}

/* Results of this size are not looked for in the caches afterwards; rows of smaller ones are still
 * there. */
#define PAST_BYTES ((int64_t)12 << 20)
#define CACHED_BYTES ((int64_t)1 << 20)
/* Columns of a row that fits the second cache beside the one before; how far ahead memory is asked
 * for, at least. */
#define AHEAD_MOST 65536
#define AHEAD_LEAST 4096

/* hints of cl/row.cl. */
static void cache_hints(const am_row_launch *launch, bool across, cl_int4 *hints) {
    const am_row_args *args = &launch->args;
    const int64_t bytes = (int64_t)launch->rows * args->n * 4;
    if (bytes >= CACHED_BYTES && args->n <= AHEAD_MOST && !across)
        hints->s[1] = args->n < AHEAD_LEAST ? AHEAD_LEAST / args->n : 1;
    hints->s[2] = bytes >= PAST_BYTES;
}

static anymax_status plan_cpu(am_backend_stream *stream, const am_row_launch *launch,
                              am_row_args *args, plan *out) {
    const am_backend_device *device = stream->device;
    const am_program *program = &am_program_table[launch->program];
    const bool across = choose_across(device, launch);
    const uint32_t rows_a_turn = across ? 16 : 1;
    const uint64_t turns = across ? (uint64_t)args->part_len : ((uint64_t)args->part_len + 15) / 16;
    uint64_t area = device->local_bytes / 8 * 7 / LANE_BYTES, inputs = 0;
    anymax_status status;
    cl_int4 hints = {{0}};
    cl_int code;
    int s;
    out->variant = across ? AM_CL_ACROSS : AM_CL_ALONG;
    status = am_cl_kernel(stream, launch->program, out->variant, &out->kernel, &out->items);
    if (status != ANYMAX_OK) return status;
    for (s = 0; s < AM_SLOTS; s++)
        inputs += program->slot[s].role == AM_ROLE_IN && am_nibble(args->types, s) != AM_ABSENT;
    /* Tiles, and the row itself with what is kept of it, if there is room. */
    if (area > AREA_LANES) area = AREA_LANES;
    if (area > TILE_LANES + (inputs + 2) * turns) area = TILE_LANES + (inputs + 2) * turns;
    if (area > TILE_LANES && device->options.pretend.skeleton == AM_SKELETON_STREAM)
        area = TILE_LANES;
    if (area < LEAST_LANES) area = LEAST_LANES;
    if (program->online && is_whole(args) && (inputs + 1) * turns + TILE_LANES / 4 > area)
        args->stages |= AM_STAGE_ONLINE;
    args->lanes = (int32_t)rows_in_turn(device, args, rows_a_turn);
    out->rows_a_group = rows_a_turn * (uint32_t)args->lanes;
    hints.s[0] = (cl_int)area;
    cache_hints(launch, across, &hints);
    code = device->api->clSetKernelArg(out->kernel, 2, (size_t)area * LANE_BYTES, NULL);
    if (code == CL_SUCCESS)
        code = device->api->clSetKernelArg(out->kernel, 3, sizeof hints, &hints);
    return am_cl_status(code, program->name);
}

/* Lanes a row and rows a group, once the group's size is known. */
static void share_group(const am_row_launch *launch, uint32_t items, uint32_t wanted, bool across,
                        am_row_args *out) {
    const uint32_t rows = power_of_two((uint64_t)launch->rows);
    uint32_t lanes = wanted < items ? wanted : items;
    if (across) {
        uint32_t side = items < 32 ? items : 32; /* rows that lie side by side */
        if (side > rows) side = rows;
        lanes = items / side;
    }
    out->lanes = (int32_t)lanes;
    out->across = across;
}

static anymax_status plan_gpu(am_backend_stream *stream, const am_row_launch *launch,
                              am_row_args *args, plan *out) {
    const am_skeleton skeleton = stream->device->options.pretend.skeleton;
    const am_program *program = &am_program_table[launch->program];
    const bool across = choose_across(stream->device, launch);
    const am_cl_variant extras = am_has_extras(program, args->types) ? AM_CL_EXTRAS : 0;
    const uint64_t n = (uint64_t)args->n;
    am_cl_variant v = is_whole(args) && skeleton != AM_SKELETON_STREAM
                          ? (skeleton == AM_SKELETON_CHIP ? AM_CL_CHIP : AM_CL_SHORT)
                          : AM_CL_STREAM;
    anymax_status status;
    for (;; v++) {
        const uint32_t chip = am_cl_chip(v);
        uint32_t wanted;
        /* Sizes that cannot fit even in a full group are passed over before they are compiled. */
        if (chip > am_chip_columns(program, args->types)) continue;
        if (chip && n > (uint64_t)chip * (v == AM_CL_SHORT ? 64 : 256)) continue;
        status = am_cl_kernel(stream, launch->program, v + extras, &out->kernel, &out->items);
        if (status != ANYMAX_OK) return status;
        wanted = power_of_two(chip ? (n + chip - 1) / chip : ((uint64_t)args->part_len + 7) / 8);
        if (skeleton == AM_SKELETON_SHORT && out->items > 1 && wanted > out->items / 2)
            wanted = out->items / 2;
        share_group(launch, out->items, wanted, across, args);
        if (!chip || n <= (uint64_t)chip * (uint64_t)args->lanes) break;
    }
    out->variant = v + extras;
    out->rows_a_group = out->items / (uint32_t)args->lanes;
    if (v == AM_CL_STREAM && program->online && is_whole(args)) args->stages |= AM_STAGE_ONLINE;
    return ANYMAX_OK;
}

static anymax_status set_memory(am_backend_stream *stream, cl_kernel kernel, cl_uint at,
                                const am_binding *binding) {
    const cl_mem *object = binding->memory ? &binding->memory->object : &stream->device->nothing;
    return am_cl_status(stream->device->api->clSetKernelArg(kernel, at, sizeof(cl_mem), object),
                        "binding a buffer");
}

static anymax_status set_value(am_backend_stream *stream, cl_kernel kernel, cl_uint at,
                               const void *value, size_t size) {
    return am_cl_status(stream->device->api->clSetKernelArg(kernel, at, size, value),
                        "setting an argument");
}

/* Parts [part0, part0 + parts) only: tensors are given at the first column of the first part. */
static void take_parts(const am_row_launch *launch, am_row_args *args, int32_t part0,
                       int32_t parts) {
    int s;
    for (s = 0; s < AM_SLOTS; s++)
        if (has_rows(launch, s))
            args->tensor[s].offset = launch->args.tensor[s].offset + (part0 - launch->args.part0) *
                                                                         args->part_len *
                                                                         args->tensor[s].step;
    args->part0 = part0;
    args->parts = parts;
}

/* The launch in pieces of at most `max_groups` groups. */
static anymax_status dispatch(am_backend_stream *stream, const am_row_launch *launch,
                              am_row_args *args, const plan *p) {
    const char *name = am_program_table[launch->program].name;
    const uint64_t end = (uint64_t)args->rows, max_groups = stream->device->max_groups;
    const int64_t last_part = (int64_t)launch->args.part0 + launch->args.parts;
    int64_t part = launch->args.part0;
    anymax_status status = ANYMAX_OK;
    while (part < last_part && status == ANYMAX_OK) {
        int64_t parts = last_part - part;
        uint64_t row = (uint64_t)launch->args.row0, row_step;
        if ((uint64_t)parts > max_groups) parts = (int64_t)max_groups;
        take_parts(launch, args, (int32_t)part, (int32_t)parts);
        row_step = max_groups / (uint64_t)parts * p->rows_a_group;
        for (; row < end && status == ANYMAX_OK; row += row_step) {
            const uint64_t next = end - row > row_step ? row + row_step : end;
            const uint64_t blocks = (next - row + p->rows_a_group - 1) / p->rows_a_group;
            args->row0 = (int32_t)row;
            args->rows = (int32_t)next;
            status = set_value(stream, p->kernel, 0, args, sizeof *args);
            if (status == ANYMAX_OK)
                status =
                    am_cl_enqueue(stream, p->kernel, (size_t)(blocks * (uint64_t)parts), p->items,
                                  am_row_work(&am_program_table[launch->program], args), name);
        }
        part += parts;
    }
    return status;
}

static anymax_status make_plan(am_backend_stream *stream, const am_row_launch *launch,
                               am_row_args *args, plan *out) {
    return stream->device->cpu_shape ? plan_cpu(stream, launch, args, out)
                                     : plan_gpu(stream, launch, args, out);
}

anymax_status am_cl_row_prepare(am_backend_stream *stream, const am_row_launch *launch) {
    am_row_args args = launch->args;
    plan p = {0};
    if (args.rows <= args.row0 || args.parts <= 0 || args.n <= 0) return ANYMAX_OK;
    return make_plan(stream, launch, &args, &p);
}

anymax_status am_cl_row(am_backend_stream *stream, const am_row_launch *launch) {
    const uint64_t before = stream->taken;
    am_row_args args = launch->args;
    plan p = {0};
    cl_ulong bases[AM_SLOTS];
    cl_uint first = stream->device->cpu_shape ? 4 : 2; /* of the buffers; slot 15 comes first */
    anymax_status status;
    int s;
    if (args.rows <= args.row0 || args.parts <= 0 || args.n <= 0) return ANYMAX_OK;
    if (!launch->binding[AM_SLOT_WORKSPACE].memory) args.flags = -1;
    status = make_plan(stream, launch, &args, &p);
    for (s = 0; s < AM_SLOTS; s++) bases[s] = launch->binding[s].offset_bytes;
    if (status == ANYMAX_OK) status = set_value(stream, p.kernel, 1, bases, sizeof bases);
    if (status == ANYMAX_OK)
        status = set_memory(stream, p.kernel, first, &launch->binding[AM_SLOT_WORKSPACE]);
    for (s = 0; s < AM_SLOT_WORKSPACE && status == ANYMAX_OK; s++)
        status = set_memory(stream, p.kernel, first + 1 + (cl_uint)s, &launch->binding[s]);
    if (status == ANYMAX_OK) status = dispatch(stream, launch, &args, &p);
    return am_cl_launched(stream, before, status, am_program_table[launch->program].name);
}
