/* bench_measure.c: the cases of `anymax bench`, each in turn with the anchor of its device. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

typedef struct bencher {
    const bench_options *options;
    cmd_devices_open devices;
    anchor *anchor; /* of the device in turn; NULL: it has none */
    bench_result *result;
    size_t results, failed;
} bencher;

uint32_t bench_threads(uint32_t wanted, const anymax_device_info *info) {
    const char *fixed = getenv("ANYMAX_THREADS");
    long long n;
    if (strcmp(info->backend, "cpu") != 0) return 0;
    if (wanted) return wanted;
    if (fixed && cmd_parse_int(fixed, 1, 4096, &n)) return (uint32_t)n;
    return info->compute_units;
}

/* Room for one more, zeroed; NULL without memory. */
static bench_result *new_result(bencher *b) {
    bench_result *room = realloc(b->result, (b->results + 1) * sizeof *room);
    if (!room) return NULL;
    b->result = room;
    memset(&room[b->results], 0, sizeof *room);
    return &room[b->results];
}

static void describe(const bencher *b, const bench_case *c, bench_result *r) {
    const anymax_device_info *info = anymax_device_get_info(c->device);
    snprintf(r->op, sizeof r->op, "%s", c->op->name);
    snprintf(r->device, sizeof r->device, "%s", info->selector);
    snprintf(r->name, sizeof r->name, "%s", info->name);
    bench_shape_text(r->shape, sizeof r->shape, c->rank, c->shape);
    r->dtype = io_dtype_name(c->storage);
    r->direction = bench_way_name(c->way);
    r->threads = bench_threads(b->options->threads, info);
    r->bytes = c->bytes;
    r->elements = c->elements;
}

/* What writes next to nothing is held against a read, all else against a copy. */
static bool measure_paired(bencher *b, bench_case *c, bench_result *r, io_error *error) {
    anchor_kind kind = 8 * c->written < c->bytes ? ANCHOR_READ : ANCHOR_COPY;
    timing_work work = {bench_case_run, c}, yardstick = {anchor_run, b->anchor};
    timing_pair pair;
    double same_bytes;
    if (!anchor_prepare(b->anchor, kind, c->bytes, error)) return false;
    if (!timing_paired(&work, &yardstick, b->options->seconds, &pair))
        return io_fail(error, "fails: %s",
                       b->anchor->error.text[0] ? b->anchor->error.text : anymax_error_message());
    same_bytes = c->bytes / anchor_bytes(b->anchor);
    r->time = pair.work;
    r->anchor = anchor_kind_name(kind);
    r->anchor_gbps = anchor_bytes(b->anchor) / pair.anchor.median_ns;
    r->share = pair.ratio * same_bytes;
    r->share_best = pair.ratio_best * same_bytes;
    return true;
}

/* The first call is timed apart, before the check; the check's call and two more warm up. */
static bool measure(bencher *b, bench_case *c, bench_result *r, io_error *error) {
    timing_work work = {bench_case_run, c};
    double start = timing_now(), first;
    if (!bench_case_run(c)) return io_fail(error, "fails: %s", anymax_error_message());
    first = timing_now() - start;
    if (!bench_case_check(c, error)) return false;
    if (b->anchor) {
        if (!measure_paired(b, c, r, error)) return false;
    } else if (!timing_measure(&work, b->options->seconds, &r->time)) {
        return io_fail(error, "fails: %s", anymax_error_message());
    }
    r->time.first_ns = first * 1e9;
    describe(b, c, r);
    return true;
}

static void run_case(bencher *b, const anymax_op_info *op, anymax_device *device, const char *shape,
                     io_dtype storage, bench_way way) {
    bench_case *c = calloc(1, sizeof *c);
    bench_result *r = new_result(b);
    io_error error = {"no memory"};
    bool good = false;
    if (c && r) {
        c->op = op;
        c->device = device;
        c->storage = storage;
        c->way = way;
        cmd_progress("%s %s %s %s on %s", op->name, bench_way_name(way), shape,
                     io_dtype_name(storage), cmd_selector(device));
        good = bench_parse_shape(shape, &c->rank, c->shape) && bench_case_make(c, &error) &&
               measure(b, c, r, &error);
        bench_case_free(c);
    }
    if (good) {
        b->results++;
    } else {
        cmd_error("%s %s %s %s on %s %s", op->name, bench_way_name(way), shape,
                  io_dtype_name(storage), cmd_selector(device), error.text);
        b->failed++;
    }
    free(c);
}

static bool wanted(const bench_options *o, const anymax_op_info *op, bench_way way) {
    if (way != BENCH_FORWARD && !bench_has_gradient(op)) return false;
    if (o->direction) return strcmp(o->direction, bench_way_name(way)) == 0;
    /* Losses are seldom wanted without their gradient. */
    return way != BENCH_BOTH || (o->full && strcmp(op->group, "loss") == 0);
}

/* Shape first, then direction: neighbours in the table share their anchor's buffers. */
static void run_op(bencher *b, const anymax_op_info *op, anymax_device *device) {
    static const char *const plain[] = {"f32", NULL}, *const all[] = {"f32", "f16", "bf16", NULL};
    const bench_options *o = b->options;
    const char *const *dtypes = o->dtype ? (const char *const *)o->dtype : o->full ? all : plain;
    const char *const *dtype;
    size_t i;
    int way;
    for (i = 0;; i++) {
        const char *shape = o->shape ? o->shape[i] : bench_standard_shape(op, i, o->full);
        if (!shape) return;
        for (dtype = dtypes; *dtype; dtype++)
            for (way = BENCH_FORWARD; way <= BENCH_BOTH; way++)
                if (wanted(o, op, (bench_way)way))
                    run_case(b, op, device, shape, io_dtype_find(*dtype), (bench_way)way);
    }
}

static void run_device(bencher *b, const anymax_op_info *op, anymax_device *device) {
    const anymax_device_info *info = anymax_device_get_info(device);
    io_error error;
    size_t i;
    b->anchor = anchor_create(info, bench_threads(b->options->threads, info), &error);
    if (!b->anchor) cmd_error("%s has nothing to be held against: %s", info->selector, error.text);
    for (i = 0; i < anymax_op_count(); i++)
        if (!op || op == anymax_op_at(i)) run_op(b, anymax_op_at(i), device);
    anchor_free(b->anchor);
}

int bench_measure(const bench_options *options, const anymax_op_info *op) {
    bencher b = {0};
    size_t d;
    int code;
    b.options = options;
    if (!cmd_open_devices(options->device, false, options->threads, &b.devices)) return CMD_FAILED;
    for (d = 0; d < b.devices.count; d++) run_device(&b, op, b.devices.device[d]);
    cmd_progress_end();
    code = b.failed || b.devices.failed || !b.results ? CMD_FAILED : CMD_OK;
    if (b.results && !(options->json && strcmp(options->json, "-") == 0))
        bench_print_table(b.result, b.results);
    if (options->json && !bench_write_json(options->json, b.result, b.results)) code = CMD_FAILED;
    if (b.failed) cmd_error("%zu cases could not be measured", b.failed);
    cmd_close_devices(&b.devices);
    free(b.result);
    return code;
}
