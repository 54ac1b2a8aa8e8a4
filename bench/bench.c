/* bench.c: `anymax bench`: speed of operations against the copy bandwidth of their device. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

typedef struct bench_options {
    char **device, **shape, **dtype;
    char *direction, *json, *seconds_text;
    char *threads_text;
    uint32_t threads;
    double seconds; /* for each measurement */
} bench_options;

typedef struct bencher {
    const bench_options *options;
    cmd_devices_open devices;
    bench_result *result;
    size_t results, failed;
    /* the copy of one size on one device is measured once */
    const anymax_device *copy_device;
    double copy_bytes, copy_gbps;
} bencher;

static uint32_t thread_count(const bench_options *options, const anymax_device_info *info) {
    const char *fixed = getenv("ANYMAX_THREADS");
    long long n;
    if (strcmp(info->backend, "cpu") != 0) return 0;
    if (options->threads) return options->threads;
    if (fixed && cmd_parse_int(fixed, 1, 4096, &n)) return (uint32_t)n;
    return info->compute_units;
}

static double copy_of(bencher *b, const bench_case *c) {
    if (b->copy_device != c->device || b->copy_bytes != c->bytes) {
        b->copy_device = c->device;
        b->copy_bytes = c->bytes;
        b->copy_gbps = bench_copy_gbps(c->device, c->stream, c->bytes, b->options->seconds);
    }
    return b->copy_gbps;
}

/* Room for one more, zeroed; NULL without memory. */
static bench_result *new_result(bencher *b) {
    bench_result *room = realloc(b->result, (b->results + 1) * sizeof *room);
    if (!room) return NULL;
    b->result = room;
    memset(&room[b->results], 0, sizeof *room);
    return &room[b->results];
}

/* The first call is timed apart, before the check; the check's call and two more warm up. */
static bool measure(bencher *b, bench_case *c, bench_result *r, io_error *error) {
    const anymax_device_info *info = anymax_device_get_info(c->device);
    double start = timing_now(), first;
    if (!bench_case_run(c)) return io_fail(error, "fails: %s", anymax_error_message());
    first = timing_now() - start;
    if (!bench_case_check(c, error)) return false;
    if (!timing_measure(bench_case_run, c, b->options->seconds, &r->time))
        return io_fail(error, "fails: %s", anymax_error_message());
    r->time.first_ns = first * 1e9;
    r->copy_gbps = copy_of(b, c);
    snprintf(r->op, sizeof r->op, "%s", c->op->name);
    snprintf(r->device, sizeof r->device, "%s", info->selector);
    snprintf(r->name, sizeof r->name, "%s", info->name);
    bench_shape_text(r->shape, sizeof r->shape, c->rank, c->shape);
    r->dtype = io_dtype_name(c->storage);
    r->direction = c->backward ? "backward" : "forward";
    r->threads = thread_count(b->options, info);
    r->bytes = c->bytes;
    return true;
}

static void run_case(bencher *b, const anymax_op_info *op, anymax_device *device, const char *shape,
                     io_dtype storage, bool backward) {
    bench_case *c = calloc(1, sizeof *c);
    bench_result *r = new_result(b);
    io_error error = {"no memory"};
    bool good = false;
    if (c && r) {
        c->op = op;
        c->device = device;
        c->storage = storage;
        c->backward = backward;
        cmd_progress("%s %s %s %s on %s", op->name, backward ? "backward" : "forward", shape,
                     io_dtype_name(storage), cmd_selector(device));
        good = bench_parse_shape(shape, &c->rank, c->shape) && bench_case_make(c, &error) &&
               measure(b, c, r, &error);
        bench_case_free(c);
    }
    if (good) {
        b->results++;
    } else {
        cmd_error("%s %s %s %s on %s %s", op->name, backward ? "backward" : "forward", shape,
                  io_dtype_name(storage), cmd_selector(device), error.text);
        b->failed++;
    }
    free(c);
}

static bool has_gradient(const anymax_op_info *op) {
    size_t i;
    for (i = 0; i < ANYMAX_OP_MAX_TENSORS && op->inputs[i].name; i++)
        if (op->inputs[i].differentiable && !op->inputs[i].optional) return true;
    return false;
}

/* Shape first, then direction: neighbours in the table share their copy. */
static void run_op(bencher *b, const anymax_op_info *op, anymax_device *device) {
    static const char *const plain[] = {"f32", NULL};
    const bench_options *o = b->options;
    const char *const *dtype;
    size_t i;
    int backward;
    for (i = 0;; i++) {
        const char *shape = o->shape ? o->shape[i] : bench_standard_shape(op, i);
        if (!shape) return;
        for (dtype = o->dtype ? (const char *const *)o->dtype : plain; *dtype; dtype++) {
            for (backward = 0; backward < 2; backward++) {
                if (o->direction && (strcmp(o->direction, "backward") == 0) != backward) continue;
                if (backward && !has_gradient(op)) continue;
                run_case(b, op, device, shape, io_dtype_find(*dtype), backward != 0);
            }
        }
    }
}

static void time_text(char *text, size_t size, double ns) {
    if (ns < 1e3)
        snprintf(text, size, "%.0f ns", ns);
    else if (ns < 1e6)
        snprintf(text, size, "%.1f us", ns / 1e3);
    else
        snprintf(text, size, "%.2f ms", ns / 1e6);
}

static void print_table(const bencher *b) {
    cmd_table table;
    size_t i;
    cmd_table_start(&table, "lllllrrrrrr");
    cmd_table_add(&table, "operation\tdirection\tshape\ttype\tdevice\tfirst\tmedian\tspread\tGB/s\t"
                          "copy\tshare");
    for (i = 0; i < b->results; i++) {
        const bench_result *r = &b->result[i];
        char first[32], median[32], share[32] = "-";
        time_text(first, sizeof first, r->time.first_ns);
        time_text(median, sizeof median, r->time.median_ns);
        if (r->copy_gbps > 0)
            snprintf(share, sizeof share, "%.0f %%", 100 * bench_gbps(r) / r->copy_gbps);
        cmd_table_add(&table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.0f %%\t%.2f\t%.1f\t%s", r->op,
                      r->direction, r->shape, r->dtype, r->device, first, median,
                      100 * r->time.spread, bench_gbps(r), r->copy_gbps, share);
    }
    cmd_table_print(&table);
    printf("\nGB/s: bytes that the definition reads and writes, over the median time; share: of a "
           "copy "
           "of\nas many bytes by the same device; spread: between the quartiles, of the median.\n");
}

static int run(const bench_options *options, const anymax_op_info *op) {
    bencher b = {0};
    size_t d, i;
    int code;
    b.options = options;
    if (!cmd_open_devices(options->device, false, options->threads, &b.devices)) return CMD_FAILED;
    for (d = 0; d < b.devices.count; d++)
        for (i = 0; i < anymax_op_count(); i++)
            if (!op || op == anymax_op_at(i)) run_op(&b, anymax_op_at(i), b.devices.device[d]);
    cmd_progress_end();
    code = b.failed || b.devices.failed || !b.results ? CMD_FAILED : CMD_OK;
    if (b.results && !(options->json && strcmp(options->json, "-") == 0)) print_table(&b);
    if (options->json && !bench_write_json(options->json, b.result, b.results)) code = CMD_FAILED;
    if (b.failed) cmd_error("%zu cases could not be measured", b.failed);
    cmd_close_devices(&b.devices);
    free(b.result);
    return code;
}

/* 0, or the exit code after a message. */
static int check_options(bench_options *o) {
    char **at;
    uint32_t rank;
    int64_t shape[ANYMAX_MAX_RANK];
    long long threads = 0;
    char *end = "";
    for (at = o->shape; at && *at; at++)
        if (!bench_parse_shape(*at, &rank, shape))
            return cmd_usage(
                "bench", "--shape is sizes with an x between them, as 4096x4096, not '%s'", *at);
    for (at = o->dtype; at && *at; at++)
        if (strcmp(*at, "f32") != 0 && strcmp(*at, "f16") != 0 && strcmp(*at, "bf16") != 0)
            return cmd_usage("bench", "--dtype is f32, f16 or bf16, not '%s'", *at);
    if (o->direction && strcmp(o->direction, "forward") != 0 &&
        strcmp(o->direction, "backward") != 0)
        return cmd_usage("bench", "--direction is forward or backward, not '%s'", o->direction);
    if (o->threads_text && !cmd_parse_int(o->threads_text, 1, 4096, &threads))
        return cmd_usage("bench", "--threads is a number from 1 to 4096, not '%s'",
                         o->threads_text);
    o->threads = (uint32_t)threads;
    o->seconds = o->seconds_text ? strtod(o->seconds_text, &end) : 0.3;
    if (*end || end == o->seconds_text || !(o->seconds > 0 && o->seconds <= 3600))
        return cmd_usage("bench", "--seconds is a number above 0, not '%s'", o->seconds_text);
    return CMD_OK;
}

int cmd_bench(int argc, const char **argv) {
    static const cmd_help help = {
        "bench", "[OPTION...] [OP]",
        "Measures one operation or all: time, GB/s and the share of the copy bandwidth that the\n"
        "same device reaches in the same process. Every case is checked against double precision\n"
        "before it is timed. Without --device: ANYMAX_DEVICE, else the CPU.\n",
        "  anymax bench softmax\n"
        "  anymax bench softmax --device cpu --device vulkan:0 --shape 4096x4096 --shape "
        "8x1048576\n"
        "  anymax bench --threads 1 --dtype f16 --direction backward --json results.json\n"};
    bench_options o = {0};
    const anymax_op_info *op = NULL;
    const char *name;
    int code;
    struct poptOption options[] = {
        {"device", 'd', POPT_ARG_ARGV, &o.device, 0, "A device, or all; may be given many times",
         "DEVICE"},
        {"shape", 's', POPT_ARG_ARGV, &o.shape, 0,
         "Shape of the first input, the row last; may be given many times", "ROWSxN"},
        {"dtype", 't', POPT_ARG_ARGV, &o.dtype, 0, "f32 (default), f16 or bf16; likewise", "TYPE"},
        {"direction", 0, POPT_ARG_STRING, &o.direction, 0, "forward or backward; default both",
         "WAY"},
        {"threads", 'n', POPT_ARG_STRING, &o.threads_text, 0, "Threads of the CPU device", "N"},
        {"seconds", 0, POPT_ARG_STRING, &o.seconds_text, 0,
         "Time for each measurement, default 0.3", "S"},
        {"json", 'j', POPT_ARG_STRING, &o.json, 0, "Write JSON too; - is stdout, without the table",
         "FILE"},
        POPT_TABLEEND};
    poptContext context;
    if (!cmd_parse(&help, argc, argv, options, &context, &code)) goto done;
    code = check_options(&o);
    if (code != CMD_OK) goto done;
    name = poptGetArg(context);
    code = CMD_FAILED;
    if (name && poptPeekArg(context))
        code = cmd_usage("bench", "one operation at most, not also '%s'", poptPeekArg(context));
    else if (!name || (op = call_find_op(name)) != NULL)
        code = run(&o, op);
done:
    cmd_free_args(o.device);
    cmd_free_args(o.shape);
    cmd_free_args(o.dtype);
    cmd_free_text(o.direction);
    cmd_free_text(o.json);
    cmd_free_text(o.threads_text);
    cmd_free_text(o.seconds_text);
    poptFreeContext(context);
    return code;
}
