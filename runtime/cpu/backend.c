/* The CPU backend: devices, memory, streams. Work is done in the call that asks for it. */
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "../backend.h"
#include "../error.h"
#include "../fault.h"
#include "../os.h"
#include "levels.h"
#include "pool.h"

/* Element numbers of a launch stay below 2^31, whatever the type. */
#define RANGE_BYTES (((uint64_t)1 << 31) - 4096)
#define MAX_THREADS 256
/* Elements, once a pass: below these another thread is not worth waking; not worth having though it
 * is awake; and as many as a thread takes at a time. */
#define SMALL_WORK 262144
#define TINY_WORK 32768
#define GRAIN_WORK 8192
#define GRAINS 8 /* of a thread, at least, where there is work enough */
/* In front of the memory that a caller sees, which stays aligned to it. */
#define MEMORY_HEADER 64

struct am_backend_device {
    const am_cpu_level *level;
    am_pool *pool;
    am_pretend pretend;
    am_faults *faults;
    uint32_t threads;
    _Atomic uint64_t used_bytes;
};

struct am_backend_stream {
    am_backend_device *device;
    am_thread_scratch *scratch;
};

/* There is no driver that could fail: only faults on purpose do. */
static anymax_status strike(am_backend_device *device, am_fault kind) {
    switch (am_fault_strikes(device->faults, kind)) {
    case AM_FAULT_NONE:
        return ANYMAX_OK;
    case AM_FAULT_LOST:
        return am_fail(ANYMAX_ERROR_DEVICE_LOST, "cpu: the device is pretended to be lost");
    case AM_FAULT_OOM:
        return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "cpu: memory is pretended to have run out");
    default:
        return am_fail(ANYMAX_ERROR_DEVICE, "cpu: work is pretended to be refused");
    }
}

static anymax_status strike_twice(am_backend_stream *stream, am_fault kind) {
    anymax_status status = strike(stream->device, kind);
    return status == ANYMAX_ERROR_DEVICE ? strike(stream->device, kind) : status;
}

/* Every piece of work passes here, and like a driver's is offered twice. */
static anymax_status admit(am_backend_stream *stream) {
    return strike_twice(stream, AM_FAULT_SUBMIT);
}

static void describe(anymax_device_info *info, const am_cpu_level *level) {
    char name[64];
    memset(info, 0, sizeof *info);
    am_cpu_describe(name, &info->vendor);
    snprintf(info->selector, sizeof info->selector, "cpu");
    snprintf(info->backend, sizeof info->backend, "cpu");
    snprintf(info->name, sizeof info->name, "%s", name);
    snprintf(info->driver, sizeof info->driver, "anymax, level %s", level->name);
    info->type = ANYMAX_DEVICE_CPU;
    info->compute_units = am_cpu_count();
    info->memory_bytes = am_memory_bytes();
    info->max_alloc_bytes = PTRDIFF_MAX;
    info->max_binding_bytes = RANGE_BYTES;
    info->storage16 = true;
}

static anymax_status cpu_enumerate(void (*found)(void *user, uint32_t index,
                                                 const anymax_device_info *info),
                                   void *user) {
    const am_cpu_level *level = am_cpu_level_choose(AM_LEVEL_AUTO);
    anymax_device_info info;
    if (level == NULL) return ANYMAX_ERROR_UNSUPPORTED;
    describe(&info, level);
    found(user, 0, &info);
    return ANYMAX_OK;
}

static uint32_t count_threads(const am_device_options *options) {
    uint32_t threads = options->threads;
    const char *text = getenv("ANYMAX_THREADS");
    if (threads == 0 && text != NULL && atoi(text) > 0) threads = (uint32_t)atoi(text);
    if (threads == 0) threads = am_cpu_count();
    return threads < MAX_THREADS ? threads : MAX_THREADS;
}

static uint64_t lowered(uint64_t value, uint64_t pretended) {
    return pretended != 0 && pretended < value ? pretended : value;
}

static void set_limits(am_limits *limits, const am_pretend *pretend) {
    memset(limits, 0, sizeof *limits);
    limits->range_bytes = lowered(RANGE_BYTES, pretend->range_bytes);
    limits->alloc_bytes = lowered(PTRDIFF_MAX - MEMORY_HEADER, pretend->alloc_bytes);
    /* Any address will do; a larger pretended one only moves offsets into the arguments. */
    limits->offset_align = pretend->align > 4 ? pretend->align : 4;
    limits->bindings = (uint32_t)lowered(AM_SLOTS, pretend->buffers);
    limits->split_length = 262144;
    limits->split_rows = 8;
    limits->longest_row = (uint32_t)lowered(INT32_MAX / 2, (uint64_t)pretend->trips * AM_W);
    limits->part_length = 65536;
    limits->max_parts = 256;
    limits->launch_work = lowered(UINT64_MAX, pretend->work);
    limits->row_block = AM_W;
    limits->host_memory = true;
}

static void cpu_close(am_backend_device *device) {
    if (device == NULL) return;
    am_pool_destroy(device->pool);
    am_free(device);
}

static anymax_status cpu_open(uint32_t index, const am_device_options *options,
                              am_backend_device **out_device, am_limits *out_limits) {
    const am_cpu_level *level = am_cpu_level_choose(options->pretend.level);
    anymax_status status;
    if (index != 0)
        return am_fail(ANYMAX_ERROR_NOT_FOUND, "cpu: there is no device %u, only 0", index);
    if (level == NULL) return ANYMAX_ERROR_UNSUPPORTED;
    am_backend_device *device = am_alloc_zero(1, sizeof *device);
    if (device == NULL) return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "cpu: no memory for a device");
    device->level = level;
    device->pretend = options->pretend;
    device->faults = options->faults;
    device->threads = count_threads(options);
    status = strike(device, AM_FAULT_OOM);
    if (status == ANYMAX_OK) {
        device->pool = am_pool_create(device->threads, sizeof(am_thread_scratch));
        if (device->pool == NULL)
            status = am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "cpu: no memory for %u threads",
                             device->threads);
    }
    if (status != ANYMAX_OK) {
        cpu_close(device);
        return status;
    }
    set_limits(out_limits, &options->pretend);
    *out_device = device;
    return ANYMAX_OK;
}

/* ------------------------------------------------------------- memory */

/* An am_memory is the address of its first byte. */
static char *bytes_of(am_memory *memory) {
    return (char *)memory;
}

static anymax_status cpu_memory_create(am_backend_device *device, size_t size_bytes,
                                       am_memory **out_memory) {
    uint64_t limit = device->pretend.memory_bytes;
    uint64_t used = atomic_fetch_add(&device->used_bytes, size_bytes) + size_bytes;
    char *block = NULL;
    anymax_status status = strike(device, AM_FAULT_OOM);
    if (status == ANYMAX_OK && (limit == 0 || used <= limit) &&
        size_bytes <= PTRDIFF_MAX - MEMORY_HEADER)
        block = am_alloc_aligned(MEMORY_HEADER, size_bytes + MEMORY_HEADER);
    if (block == NULL) {
        atomic_fetch_sub(&device->used_bytes, size_bytes);
        if (status != ANYMAX_OK) return status;
        return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "cpu: no memory for %zu bytes", size_bytes);
    }
    memcpy(block, &size_bytes, sizeof size_bytes);
    *out_memory = (am_memory *)(block + MEMORY_HEADER);
    return ANYMAX_OK;
}

static anymax_status cpu_memory_wrap(am_backend_device *device, void *data,
                                     am_memory **out_memory) {
    (void)device;
    *out_memory = data;
    return ANYMAX_OK;
}

static void cpu_memory_destroy(am_backend_device *device, am_memory *memory) {
    size_t size_bytes;
    if (memory == NULL) return;
    char *block = bytes_of(memory) - MEMORY_HEADER;
    memcpy(&size_bytes, block, sizeof size_bytes);
    atomic_fetch_sub(&device->used_bytes, size_bytes);
    am_free_aligned(block);
}

/* ------------------------------------------------------------- streams */

static anymax_status cpu_stream_create(am_backend_device *device, am_backend_stream **out_stream) {
    am_backend_stream *stream;
    anymax_status status = strike(device, AM_FAULT_OOM);
    if (status != ANYMAX_OK) return status;
    stream = am_alloc_zero(1, sizeof *stream);
    if (stream != NULL) stream->scratch = am_alloc_aligned(64, sizeof *stream->scratch);
    if (stream == NULL || stream->scratch == NULL) {
        am_free(stream);
        return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "cpu: no memory for a stream's scratch");
    }
    stream->device = device;
    *out_stream = stream;
    return ANYMAX_OK;
}

static void cpu_stream_destroy(am_backend_stream *stream) {
    if (stream == NULL) return;
    am_free_aligned(stream->scratch);
    am_free(stream);
}

/* A copy in one slice a thread: large slices let the C library use stores that bypass the cache. */
#define COPY_WORTH_THREADS ((size_t)1 << 20)

typedef struct copy_slices {
    char *to;
    const char *from;
    size_t size_bytes, slice_bytes;
} copy_slices;

static void copy_slice(const void *user, int64_t unit, int64_t end, void *scratch) {
    const copy_slices *c = user;
    size_t first = (size_t)unit * c->slice_bytes, last = (size_t)end * c->slice_bytes;
    (void)scratch;
    last = last < c->size_bytes ? last : c->size_bytes;
    if (first < last) memcpy(c->to + first, c->from + first, last - first);
}

/* The ranges do not overlap: stream.c refuses that. */
static anymax_status cpu_copy(am_backend_stream *stream, am_memory *to, size_t to_offset,
                              am_memory *from, size_t from_offset, size_t size_bytes) {
    copy_slices c = {bytes_of(to) + to_offset, bytes_of(from) + from_offset, size_bytes,
                     size_bytes};
    uint32_t threads = stream->device->threads;
    anymax_status status = admit(stream);
    if (status != ANYMAX_OK) return status;
    if (size_bytes >= COPY_WORTH_THREADS)
        c.slice_bytes = (size_bytes / threads + 4096) / 4096 * 4096;
    if (c.slice_bytes < size_bytes)
        am_pool_run(stream->device->pool, threads, 1, copy_slice, &c, stream->scratch);
    else
        copy_slice(&c, 0, 1, NULL);
    return ANYMAX_OK;
}

static anymax_status cpu_write(am_backend_stream *stream, am_memory *to, size_t to_offset,
                               const void *data, size_t size_bytes) {
    anymax_status status = admit(stream);
    if (status == ANYMAX_OK) memcpy(bytes_of(to) + to_offset, data, size_bytes);
    return status;
}

static anymax_status cpu_read(am_backend_stream *stream, am_memory *from, size_t from_offset,
                              void *data, size_t size_bytes) {
    anymax_status status = admit(stream);
    if (status == ANYMAX_OK) memcpy(data, bytes_of(from) + from_offset, size_bytes);
    return status;
}

static anymax_status cpu_zero(am_backend_stream *stream, am_memory *to, size_t to_offset,
                              size_t size_bytes) {
    anymax_status status = admit(stream);
    if (status == ANYMAX_OK) memset(bytes_of(to) + to_offset, 0, size_bytes);
    return status;
}

static anymax_status cpu_sync(am_backend_stream *stream) {
    return strike_twice(stream, AM_FAULT_WAIT);
}

/* ------------------------------------------------------------- launches */

/* Shares out units that hold `work` elements each. */
static void run_units(am_backend_stream *stream, int64_t units, int64_t work,
                      void (*run)(const void *user, int64_t first, int64_t end, void *scratch),
                      const void *user) {
    int64_t grain = 1 + GRAIN_WORK / (work + 1);
    /* Neighbours stay together, as far as the last thread need not be waited for too long: rows
     * that one asks for ahead of time are then mostly its own. */
    int64_t share = units / ((int64_t)stream->device->threads * GRAINS);
    if (share > grain) grain = share;
    if (units < TINY_WORK / (work + 1) + 1 ||
        (units < SMALL_WORK / (work + 1) + 1 && !am_pool_lively(stream->device->pool)))
        grain = units;
    am_pool_run(stream->device->pool, units, grain, run, user, stream->scratch);
}

typedef struct row_call {
    const am_cpu_level *level;
    am_row_job job;
} row_call;

static void run_row(const void *user, int64_t first, int64_t end, void *scratch) {
    const row_call *call = user;
    call->level->row(&call->job, first, end, &((am_thread_scratch *)scratch)->row);
}

/* Rows so short that AM_W of them side by side, turned over on the way, beat one after the other.
 */
#define SHORT_ROW 255

/* Whether lanes run across rows: where rows, not columns, are neighbours in memory, and where rows
 * are short. Follows from the shape alone. */
static bool runs_across(const am_cpu_row *program, const am_row_args *args, int32_t rows,
                        am_skeleton skeleton) {
    if (skeleton == AM_SKELETON_ACROSS || skeleton == AM_SKELETON_SHORT) return true;
    if (skeleton != AM_SKELETON_AUTO || rows < 8) return false;
    if (args->n <= (rows < AM_W / 2 ? AM_W / 2 : SHORT_ROW)) return true;
    for (int i = 0; i < program->in_count; i++) {
        int slot = program->in[i].slot;
        if (am_nibble(args->types, slot) == AM_ABSENT) continue;
        if (args->tensor[slot].step == 0) continue; /* the same for all columns: says nothing */
        return args->tensor[slot].step != 1 && args->tensor[slot].s0 == 1 && args->d0 >= 8;
    }
    return false;
}

/* Results of this size are not looked for in the caches afterwards; rows of smaller ones are still
 * there. */
#define STREAM_BYTES ((int64_t)12 << 20)
#define CACHE_BYTES ((int64_t)1 << 20)
/* Columns of a row that fits the second cache beside the one before; how far ahead memory is asked
 * for, at least. */
#define PREFETCH_COLUMNS 65536
#define SECOND_STEPS 3584 /* what the second cache holds of rows, 896 KiB */
#define PREFETCH_AHEAD (AM_RUN * AM_W)

/* Steps of the next row that the second cache has room for, while stage 2 is busy with this one.
 * What is kept of a row does not count: it may as well lie in the third. */
static int32_t asked_for(const am_row_job *job) {
    const am_cpu_row *p = job->program;
    int32_t inputs = 0;
    if (job->across || job->args->parts > 1 || job->args->iterations > 1) return 0;
    for (int i = 0; i < p->in_count; i++) inputs += job->data[p->in[i].slot] != NULL;
    if (inputs == 0) return 0;
    int32_t room = SECOND_STEPS / inputs - job->args->n / AM_W;
    return room > 0 ? room : 0;
}

static void choose_form(am_row_job *job, int32_t rows, am_skeleton skeleton) {
    const am_row_args *args = job->args;
    const am_cpu_row *p = job->program;
    int32_t both = AM_STAGE_ELEMENTS_1 | AM_STAGE_ELEMENTS_2;
    bool whole =
        !(args->stages & (AM_STAGE_PARTIAL | AM_STAGE_ONLINE)) && (args->stages & both) == both;
    bool stream = skeleton == AM_SKELETON_STREAM;
    job->across = runs_across(p, args, rows, skeleton);
    job->block_rows = job->across ? AM_W : 1;
    job->keep = !stream;
    job->hold = !stream;
    job->online =
        whole && p->form[1]->move != NULL && args->iterations == 1 && skeleton != AM_SKELETON_CHIP;
    job->list = whole && p->form[1]->candidates != NULL && !stream;
    job->stream = (int64_t)rows * args->n * 4 >= STREAM_BYTES;
    /* Where stages 1 and 2 run together, columns are used up tile by tile. */
    job->early = !job->online && args->n > PREFETCH_COLUMNS;
    int32_t online_from = p->form[1]->keep != NULL && job->keep ? AM_NEAR_COLUMNS : PREFETCH_AHEAD;
    job->tiles_ahead = job->early || (job->online && args->n > online_from);
    if ((int64_t)rows * args->n * 4 < CACHE_BYTES) return;
    if (args->n < PREFETCH_AHEAD)
        job->ahead = PREFETCH_AHEAD / args->n;
    else if (job->tiles_ahead || args->n <= PREFETCH_COLUMNS)
        job->ahead = 1;
    if (job->early) job->asked = asked_for(job);
}

static anymax_status cpu_row(am_backend_stream *stream, const am_row_launch *launch) {
    const am_cpu_level *level = stream->device->level;
    const am_row_args *args = &launch->args;
    row_call call = {.level = level};
    am_row_job *job = &call.job;
    anymax_status status;
    job->program = level->rows[launch->program];
    job->args = args;
    for (int slot = 0; slot < AM_SLOTS; slot++) {
        const am_binding *binding = &launch->binding[slot];
        bool there = binding->memory != NULL && am_nibble(args->types, slot) != AM_ABSENT;
        if (there) job->data[slot] = bytes_of(binding->memory) + binding->offset_bytes;
    }
    if (args->rows <= args->row0 || args->n <= 0) return ANYMAX_OK;
    status = admit(stream);
    if (status != ANYMAX_OK) return status;
    choose_form(job, launch->rows, stream->device->pretend.skeleton);
    int64_t rows = (int64_t)args->rows - args->row0;
    int64_t units = (rows + job->block_rows - 1) / job->block_rows * args->parts;
    int64_t work = (int64_t)args->part_len * job->block_rows * (1 + args->iterations);
    run_units(stream, units, work, run_row, &call);
#if defined(__SSE2__)
    /* Other threads of the pool have done so with the locked instruction that gave them no more. */
    if (job->stream) _mm_sfence();
#endif
    return ANYMAX_OK;
}

typedef struct product_call {
    const am_cpu_level *level;
    am_product_job job;
} product_call;

static void run_product(const void *user, int64_t first, int64_t end, void *scratch) {
    const product_call *call = user;
    for (int64_t unit = first; unit < end; unit++)
        call->level->product(&call->job, unit, &((am_thread_scratch *)scratch)->product);
}

static anymax_status cpu_product(am_backend_stream *stream, const am_product_launch *launch) {
    const am_product_args *args = &launch->args;
    product_call call = {.level = stream->device->level, .job = {.args = args}};
    for (int slot = 0; slot < 3; slot++)
        call.job.data[slot] =
            bytes_of(launch->binding[slot].memory) + launch->binding[slot].offset_bytes;
    if (args->m <= args->row0 || args->n <= 0 || args->batch <= 0) return ANYMAX_OK;
    anymax_status status = admit(stream);
    if (status != ANYMAX_OK) return status;
    int64_t down = ((int64_t)args->m - args->row0 + AM_BLOCK_M - 1) / AM_BLOCK_M;
    int64_t across = ((int64_t)args->n + AM_BLOCK_N - 1) / AM_BLOCK_N;
    int64_t side_m = args->m < AM_BLOCK_M ? args->m : AM_BLOCK_M;
    int64_t side_n = args->n < AM_BLOCK_N ? args->n : AM_BLOCK_N;
    run_units(stream, down * across * args->batch, side_m * side_n * args->k / 16, run_product,
              &call);
    return ANYMAX_OK;
}

const am_backend am_cpu_backend = {
    .name = "cpu",
    .enumerate = cpu_enumerate,
    .open = cpu_open,
    .close = cpu_close,
    .memory_create = cpu_memory_create,
    .memory_wrap = cpu_memory_wrap,
    .memory_destroy = cpu_memory_destroy,
    .stream_create = cpu_stream_create,
    .stream_destroy = cpu_stream_destroy,
    .row = cpu_row,
    .product = cpu_product,
    .copy = cpu_copy,
    .write = cpu_write,
    .read = cpu_read,
    .zero = cpu_zero,
    .sync = cpu_sync,
};
