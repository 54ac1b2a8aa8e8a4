/* The planner of row programs.
 *
 * Rows are numbered by up to three dimensions (more are looped over here), and cut into boxes whose
 * tensors fit the ranges that kernels can bind. A row that is too long for one launch, or that
 * alone cannot fill the device, is split into parts: a launch for each stage, each folding the
 * partial states of the one before. Every decision follows from shapes and limits alone, so that
 * the same call gives the same bits whatever the number of threads.
 *
 * Last of all, launches are cut to what one dispatch may ask of the device: first by rows, then by
 * parts. Nothing before depends on that, so it changes no bits. */
#include <string.h>

#include "error.h"
#include "plan_row.h"
#include "work.h"

#define COLUMNS 3        /* index of the columns among a box's dimensions */
#define ROWS_A_GROUP 128 /* that the largest group of a kernel takes */

/* A request with its outer dimensions merged, or one box of it. */
typedef struct box {
    int64_t size[4]; /* of three outer dimensions, the first one fastest, and of the row */
    int64_t base[AM_SLOTS];
    int64_t row_base;
} box;

typedef struct job {
    am_sink *sink;
    const am_row_request *request;
    const am_program *program;
    /* Of the slots that are there, `slots` of them; what belongs to the others is not filled in. */
    int slot[AM_SLOTS], slots;
    int64_t stride[AM_SLOTS][4];
    bool along[AM_SLOTS]; /* has the row's dimension */
    uint32_t types[2];
    int32_t iterations;
} job;

/* ---------------------------------------------------------------- geometry */

static size_t alignment(const am_sink *sink) {
    return sink->limits->offset_align < 8 ? 8 : sink->limits->offset_align;
}

/* Bytes that a box of `columns` columns touches in a slot, from its first element. */
static uint64_t span_of(const job *j, const box *b, int slot, int64_t columns) {
    int64_t last = 0;
    for (int d = 0; d < 3; d++) last += (b->size[d] - 1) * j->stride[slot][d];
    if (j->along[slot]) last += (columns - 1) * j->stride[slot][COLUMNS];
    return (uint64_t)(last + 1) * j->request->slot[slot].element_bytes;
}

/* The slot whose range is exceeded, or -1. Alignment takes a part of the range. */
static int exceeded(const job *j, const box *b, int64_t columns) {
    uint64_t limit = j->sink->limits->range_bytes - alignment(j->sink);
    for (int i = 0; i < j->slots; i++)
        if (span_of(j, b, j->slot[i], columns) > limit) return j->slot[i];
    return -1;
}

/* The dimension that contributes most to a slot's span; COLUMNS for the row itself. */
static int longest(const job *j, const box *b, int slot, int64_t columns) {
    int best = -1;
    int64_t most = -1;
    for (int d = 2; d >= 0; d--) {
        int64_t reach = (b->size[d] - 1) * j->stride[slot][d];
        if (b->size[d] > 1 && reach > most) {
            most = reach;
            best = d;
        }
    }
    if (j->along[slot] && columns > 1 && (columns - 1) * j->stride[slot][COLUMNS] > most)
        return COLUMNS;
    return best;
}

static box half(const job *j, const box *b, int dim, bool second) {
    box h = *b;
    int64_t first = b->size[dim] / 2, rows = first;
    h.size[dim] = second ? b->size[dim] - first : first;
    if (!second) return h;
    for (int i = 0; i < j->slots; i++) h.base[j->slot[i]] += first * j->stride[j->slot[i]][dim];
    for (int d = 0; d < dim; d++) rows *= b->size[d];
    h.row_base += rows;
    return h;
}

/* ---------------------------------------------------------------- launches */

/* What of a row a launch covers, and the workspace of its states. */
typedef struct portion {
    int64_t part_len, part0, parts, parts_total;
    int32_t stages, iterations;
    size_t partial_in, partial_out, state_in, state_out; /* words */
} portion;

/* All but the tensors, which stay zero. */
static void set_args(const job *j, const box *b, const portion *p, am_row_args *out) {
    memset(out, 0, sizeof *out);
    out->n = (int32_t)b->size[COLUMNS];
    out->rows = (int32_t)(b->size[0] * b->size[1] * b->size[2]);
    out->row_base = (int32_t)b->row_base;
    out->d0 = (int32_t)b->size[0];
    out->d1 = (int32_t)b->size[1];
    out->part_len = (int32_t)p->part_len;
    out->part0 = (int32_t)p->part0;
    out->parts = (int32_t)p->parts;
    out->parts_total = (int32_t)p->parts_total;
    out->stages = p->stages;
    out->iterations = p->iterations;
    out->accumulate = (int32_t)j->request->accumulate;
    out->partial_in = (int32_t)p->partial_in;
    out->partial_out = (int32_t)p->partial_out;
    out->state_in = (int32_t)p->state_in;
    out->state_out = (int32_t)p->state_out;
    memcpy(out->types, j->types, sizeof out->types);
    memcpy(out->param, j->request->param, sizeof out->param);
    memcpy(out->iparam, j->request->iparam, sizeof out->iparam);
}

/* How many of something that asks for `work` a launch may take; at least one. */
static int64_t fitting(const job *j, uint64_t work) {
    uint64_t count = j->sink->limits->launch_work / work;
    return count < 1 ? 1 : count < INT32_MAX ? (int64_t)count : INT32_MAX;
}

/* The launch, cut by rows: by a power of two of them, or by many, so that groups are full. */
static anymax_status send_rows(const job *j, am_row_launch *launch) {
    int64_t row = 0, step, even = ROWS_A_GROUP;
    anymax_status status = ANYMAX_OK;
    if (j->sink->limits->launch_work == UINT64_MAX) {
        launch->args.rows = launch->rows;
        status = am_sink_count(j->sink);
        return status == ANYMAX_OK ? j->sink->row(j->sink->user, launch) : status;
    }
    launch->args.rows = 1;
    step = fitting(j, am_row_work(j->program, &launch->args));
    while (even > step) even /= 2;
    step -= step % even;
    if (step < j->sink->limits->row_block) step = j->sink->limits->row_block;
    for (; row < launch->rows && status == ANYMAX_OK; row += step) {
        launch->args.row0 = (int32_t)row;
        launch->args.rows = (int32_t)(launch->rows - row > step ? row + step : launch->rows);
        status = am_sink_count(j->sink);
        if (status == ANYMAX_OK) status = j->sink->row(j->sink->user, launch);
    }
    return status;
}

static anymax_status send(const job *j, const box *b, const portion *p, size_t workspace_bytes) {
    const am_row_request *r = j->request;
    am_row_launch launch;
    am_fit fit;
    anymax_status status;
    size_t align = alignment(j->sink);
    int64_t columns = p->parts * p->part_len, first = p->part0 * p->part_len;
    if (columns > b->size[COLUMNS] - first) columns = b->size[COLUMNS] - first;
    memset(launch.binding, 0, sizeof launch.binding);
    set_args(j, b, p, &launch.args);
    launch.program = r->program;
    launch.rows = launch.args.rows;
    fit.binding = launch.binding;
    fit.binds = launch.args.binds;
    fit.slots = AM_SLOTS;
    fit.share = AM_SLOT_WORKSPACE;
    launch.binding[AM_SLOT_WORKSPACE] = (am_binding){j->sink->workspace, 0, workspace_bytes, true};
    fit.offset[AM_SLOT_WORKSPACE] = &launch.args.tensor[AM_SLOT_WORKSPACE].offset;
    fit.element_bytes[AM_SLOT_WORKSPACE] = 4;
    for (int i = 0; i < j->slots; i++) {
        const int s = j->slot[i];
        const am_row_slot *slot = &r->slot[s];
        const am_slot_role role = j->program->slot[s].role;
        int64_t element = b->base[s] + (j->along[s] ? first * j->stride[s][COLUMNS] : 0);
        size_t at = slot->offset_bytes + (size_t)element * slot->element_bytes;
        size_t low = at / align * align;
        launch.binding[s] =
            (am_binding){slot->memory, low, at - low + (size_t)span_of(j, b, s, columns),
                         role == AM_ROLE_OUT || role == AM_ROLE_ROW_OUT};
        fit.offset[s] = &launch.args.tensor[s].offset;
        fit.element_bytes[s] = slot->element_bytes;
        launch.args.tensor[s].offset = (int32_t)((at - low) / slot->element_bytes);
        launch.args.tensor[s].step = (int32_t)j->stride[s][COLUMNS];
        launch.args.tensor[s].s0 = (int32_t)j->stride[s][0];
        launch.args.tensor[s].s1 = (int32_t)j->stride[s][1];
        launch.args.s2[s] = (int32_t)j->stride[s][2];
    }
    if (workspace_bytes > j->sink->partial_bytes) j->sink->partial_bytes = workspace_bytes;
    /* All words of the workspace count from its binding's start, which is the workspace's. */
    status = am_fit_bindings(j->sink, &fit);
    if (status == ANYMAX_OK) status = send_rows(j, &launch);
    return status == ANYMAX_OK ? am_fit_copy_back(j->sink, &fit) : status;
}

static anymax_status send_whole(const job *j, const box *b) {
    const am_program *p = j->program;
    portion whole = {.part_len = b->size[COLUMNS], .parts = 1, .parts_total = 1};
    whole.iterations = j->iterations;
    whole.stages = AM_STAGE_FINISH;
    if (p->reductions[0] > 1) whole.stages |= AM_STAGE_ELEMENTS_1;
    if (p->reductions[1]) whole.stages |= AM_STAGE_ELEMENTS_2;
    if (p->reductions[2]) whole.stages |= AM_STAGE_ELEMENTS_3;
    return send(j, b, &whole, AM_STATUS_BYTES);
}

/* ---------------------------------------------------------------- split rows */

typedef struct split {
    const job *j;
    const box *b;
    int64_t part_len, parts, window; /* window: parts that one launch may cover */
    size_t partial[2], state[2];     /* words, used in turn */
    size_t bytes;                    /* of the workspace, status word included */
    int turn;
} split;

/* One stage over all windows of the row. */
static anymax_status stage(split *s, int32_t stages) {
    portion p = {
        .part_len = s->part_len, .parts_total = s->parts, .stages = stages, .iterations = 1};
    const int32_t block = (int32_t)s->j->sink->limits->row_block;
    am_row_args one;
    int64_t window;
    set_args(s->j, s->b, &p, &one);
    one.parts = 1;
    if (one.rows > block) one.rows = block;
    window = fitting(s->j, am_row_work(s->j->program, &one));
    if (window > s->window) window = s->window;
    p.partial_in = s->partial[s->turn];
    p.state_in = s->state[s->turn];
    s->turn ^= 1;
    p.partial_out = s->partial[s->turn];
    p.state_out = s->state[s->turn];
    for (p.part0 = 0; p.part0 < s->parts; p.part0 += window) {
        anymax_status status;
        p.parts = s->parts - p.part0 < window ? s->parts - p.part0 : window;
        /* A finish without elements writes row scalars only: part 0 does that alone. */
        if ((stages & AM_STAGE_FINISH) && !s->j->program->elements) p.parts = 1;
        status = send(s->j, s->b, &p, s->bytes);
        if (status != ANYMAX_OK) return status;
        if ((stages & AM_STAGE_FINISH) && !s->j->program->elements) break;
    }
    return ANYMAX_OK;
}

static anymax_status run_stages(split *s) {
    const am_program *p = s->j->program;
    const int32_t hold = AM_STAGE_PARTIAL | AM_STAGE_SAVE;
    int32_t fold = AM_STAGE_FOLD_1;
    anymax_status status;
    if (p->reductions[0] <= 1) return stage(s, AM_STAGE_FINISH);
    if (p->online) {
        const int32_t first = AM_STAGE_ELEMENTS_1 | AM_STAGE_ELEMENTS_2 | AM_STAGE_ONLINE;
        status = stage(s, first | AM_STAGE_PARTIAL);
        fold = AM_STAGE_FOLD_1 | AM_STAGE_FOLD_2 | AM_STAGE_ONLINE;
    } else {
        status = stage(s, AM_STAGE_ELEMENTS_1 | AM_STAGE_PARTIAL);
        for (int32_t i = 0; p->reductions[1] && i < s->j->iterations && status == ANYMAX_OK; i++) {
            status = stage(s, fold | AM_STAGE_ELEMENTS_2 | hold);
            fold = AM_STAGE_LOAD | AM_STAGE_FOLD_2;
        }
    }
    if (p->reductions[2] && status == ANYMAX_OK) {
        status = stage(s, fold | AM_STAGE_ELEMENTS_3 | hold);
        fold = AM_STAGE_LOAD | AM_STAGE_FOLD_3;
    }
    return status == ANYMAX_OK ? stage(s, fold | AM_STAGE_FINISH) : status;
}

static anymax_status plan_box(const job *j, const box *b);

static anymax_status halves(const job *j, const box *b, int dim) {
    box first = half(j, b, dim, false), second = half(j, b, dim, true);
    anymax_status status = plan_box(j, &first);
    return status == ANYMAX_OK ? plan_box(j, &second) : status;
}

static int64_t round_up(int64_t value, int64_t to) {
    return (value + to - 1) / to * to;
}

static int64_t part_length(const job *j, int64_t n, int64_t columns) {
    const am_limits *l = j->sink->limits;
    int64_t length = l->part_length, most = l->longest_row / 2;
    if (j->sink->pretend->part)
        length = j->sink->pretend->part;
    else if (j->sink->pretend->skeleton == AM_SKELETON_SPLIT && n < 3 * length)
        length = round_up((n + 2) / 3, 64); /* forced: some three parts whatever the length */
    if (length < (n + l->max_parts - 1) / l->max_parts)
        length = round_up((n + l->max_parts - 1) / l->max_parts, 64);
    if (length > most) length = most >= 64 ? most / 64 * 64 : 64;
    if (length > columns) length = columns >= 64 ? columns / 64 * 64 : columns;
    return length;
}

static anymax_status send_split(const job *j, const box *b, int64_t columns) {
    const am_program *p = j->program;
    split s = {.j = j, .b = b};
    int64_t rows = b->size[0] * b->size[1] * b->size[2];
    int most = p->online ? p->reductions[0] + p->reductions[1] : p->reductions[0];
    size_t partial, state, words = AM_STATUS_BYTES / 4;
    for (int i = 1; i < 3; i++)
        if (p->reductions[i] > most) most = p->reductions[i];
    s.part_len = part_length(j, b->size[COLUMNS], columns);
    s.parts = (b->size[COLUMNS] + s.part_len - 1) / s.part_len;
    s.window = columns >= b->size[COLUMNS] ? s.parts : columns / s.part_len;
    partial = (size_t)rows * (size_t)most * (size_t)s.parts;
    state = (size_t)rows * (size_t)p->scalars;
    if ((words + 2 * (partial + state)) * 4 > j->sink->limits->range_bytes) {
        for (int d = 2; d >= 0; d--)
            if (b->size[d] > 1) return halves(j, b, d);
        return am_fail(ANYMAX_ERROR_UNSUPPORTED,
                       "%s: a row of %lld columns has too many parts for this device", p->name,
                       (long long)b->size[COLUMNS]);
    }
    for (int i = 0; i < 2; i++) {
        s.partial[i] = words;
        words += partial;
        s.state[i] = words;
        words += state;
    }
    s.bytes = words * 4;
    return run_stages(&s);
}

/* ---------------------------------------------------------------- decisions */

static bool wants_split(const job *j, const box *b, int64_t rows) {
    const am_limits *l = j->sink->limits;
    const am_program *p = j->program;
    int64_t n = b->size[COLUMNS], passes = 1;
    if (p->reductions[0] > 1) passes++;
    if (p->reductions[1]) passes += j->iterations;
    if (p->reductions[2]) passes++;
    if (n > 1 && j->sink->pretend->skeleton == AM_SKELETON_SPLIT) return true;
    if (n > l->longest_row / passes) return true;
    return n > l->split_length && rows < l->split_rows;
}

static anymax_status plan_box(const job *j, const box *b) {
    int64_t columns = b->size[COLUMNS], rows;
    int slot;
    while ((slot = exceeded(j, b, columns)) >= 0) {
        int dim = longest(j, b, slot, columns);
        if (dim < 0)
            return am_fail(ANYMAX_ERROR_UNSUPPORTED, "%s: one element exceeds the device's range",
                           j->program->name);
        if (dim != COLUMNS) return halves(j, b, dim);
        columns = (columns + 1) / 2;
    }
    /* Row numbers and the sums of size * stride above are 32-bit in a kernel. */
    for (int d = 2; d >= 0; d--)
        if (b->size[d] > 1 && b->size[0] * b->size[1] * b->size[2] > INT32_MAX / 4)
            return halves(j, b, d);
    rows = b->size[0] * b->size[1] * b->size[2];
    if (columns < b->size[COLUMNS] || wants_split(j, b, rows)) return send_split(j, b, columns);
    return send_whole(j, b);
}

/* Sizes above 1 are merged with their neighbour where every slot steps evenly over both. */
static uint32_t merge_outer(const job *j, int64_t *size, int64_t (*stride)[5]) {
    const am_row_request *r = j->request;
    uint32_t rank = 0;
    for (int i = 0; i < j->slots; i++) memset(stride[j->slot[i]], 0, sizeof *stride);
    for (uint32_t d = r->outer_rank; d-- > 0;) { /* from the fastest dimension outwards */
        bool even = rank > 0;
        if (r->outer[d] == 1) continue;
        for (int i = 0; i < j->slots && even; i++) {
            const int s = j->slot[i];
            even = r->slot[s].stride[d] == stride[s][rank - 1] * size[rank - 1];
        }
        if (even) {
            size[rank - 1] *= r->outer[d];
            continue;
        }
        size[rank] = r->outer[d];
        for (int i = 0; i < j->slots; i++) stride[j->slot[i]][rank] = r->slot[j->slot[i]].stride[d];
        rank++;
    }
    return rank;
}

/* Which slots are there, and of which types. */
static void find_slots(job *j) {
    j->types[0] = j->types[1] = 0;
    j->slots = 0;
    am_set_nibble(j->types, AM_SLOT_WORKSPACE, AM_F32);
    for (int s = 0; s < AM_SLOT_WORKSPACE; s++) {
        const am_slot_role role = j->program->slot[s].role;
        if (!j->request->slot[s].memory) continue;
        j->slot[j->slots++] = s;
        j->along[s] = role == AM_ROLE_IN || role == AM_ROLE_OUT;
        am_set_nibble(j->types, s, j->request->slot[s].type);
    }
}

anymax_status am_plan_row(am_sink *sink, const am_row_request *request) {
    int64_t size[5] = {1, 1, 1, 1, 1}, stride[AM_SLOTS][5], outer;
    uint32_t rank;
    job j;
    j.sink = sink;
    j.request = request;
    j.program = &am_program_table[request->program];
    find_slots(&j);
    rank = merge_outer(&j, size, stride);
    if (request->n <= 0) return ANYMAX_OK;
    if (request->n > INT32_MAX - 64)
        return am_fail(ANYMAX_ERROR_UNSUPPORTED,
                       "%s: rows of %lld columns; at most %d are supported", j.program->name,
                       (long long)request->n, INT32_MAX - 64);
    for (uint32_t d = 0; d < rank; d++)
        if (size[d] <= 0) return ANYMAX_OK;
    j.iterations = request->iterations ? request->iterations : j.program->iterations;
    for (int i = 0; i < j.slots; i++) {
        const int s = j.slot[i];
        for (int d = 0; d < 3; d++) j.stride[s][d] = stride[s][d];
        j.stride[s][COLUMNS] = request->slot[s].step;
    }
    /* Dimensions beyond the third are looped over. */
    outer = size[3] * size[4];
    for (int64_t o = 0; o < outer; o++) {
        anymax_status status;
        box b;
        for (int d = 0; d < 3; d++) b.size[d] = size[d];
        b.size[COLUMNS] = request->n;
        b.row_base = o * size[0] * size[1] * size[2];
        for (int i = 0; i < j.slots; i++) {
            const int64_t *step = stride[j.slot[i]];
            b.base[j.slot[i]] = o % size[3] * step[3] + o / size[3] * step[4];
        }
        status = plan_box(&j, &b);
        if (status != ANYMAX_OK) return status;
    }
    return ANYMAX_OK;
}
