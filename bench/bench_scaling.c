/* bench_scaling.c: `anymax bench --scaling`: time against the number of elements, once with more
 * and more rows, once with longer and longer ones. */
#include "bench.h"
#include "plot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEWEST 1e3
#define COLUMNS 1000
/* Below, what a call costs at all still shows: no part of the slope. */
#define SLOPE_FROM 1e5
#define MAX_LINES 64

typedef enum line_kind { MORE_ROWS, LONGER_ROW, COPY, LINE_KINDS } line_kind;
static const char *const kind_names[LINE_KINDS] = {"more rows", "longer row", "copy"};

typedef struct scaling {
    const bench_options *options;
    const anymax_op_info *op;
    cmd_table table;
    plot_line line[MAX_LINES];
    size_t lines;
    bool failed;
} scaling;

/* Least squares through the logarithms; 1 is linear. 0 with fewer than two points. */
static double slope_of(const plot_line *line, double from) {
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    size_t k;
    for (k = 0; k < line->points; k++) {
        double x = log(line->x[k]), y = log(line->y[k]);
        if (line->x[k] < from * 0.99) continue;
        n++;
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    return n < 2 ? 0 : (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

/* Median time in seconds of a checked case; 0 after a message. */
static double time_case(scaling *s, anymax_device *device, int64_t rows, int64_t n) {
    bench_case *c = calloc(1, sizeof *c);
    timing_work work = {bench_case_run, c};
    io_error error = {"no memory"};
    timing t = {0};
    bool good = c != NULL;
    if (good) {
        c->op = s->op;
        c->device = device;
        c->storage = IO_F32;
        c->way = BENCH_FORWARD;
        c->rank = 2;
        c->shape[0] = rows;
        c->shape[1] = n;
        good = bench_case_make(c, &error) && bench_case_check(c, &error);
        if (good && !timing_measure(&work, s->options->seconds, &t))
            good = io_fail(&error, "fails: %s", anymax_error_message());
        bench_case_free(c);
    }
    free(c);
    if (good) return t.median_ns * 1e-9;
    s->failed = true;
    cmd_error("%s %lldx%lld on %s %s", s->op->name, (long long)rows, (long long)n,
              cmd_selector(device), error.text);
    return 0;
}

/* Likewise of a copy; 0 also where it is smaller than an anchor can be. */
static double time_copy(scaling *s, anchor *a, double elements) {
    timing_work work = {anchor_run, a};
    double bytes = 2 * sizeof(float) * elements;
    io_error error = {""};
    timing t;
    if (bytes < 2 * (double)ANCHOR_GRAIN) return 0;
    if (anchor_prepare(a, ANCHOR_COPY, bytes, &error) &&
        timing_measure(&work, s->options->seconds, &t))
        return t.median_ns * 1e-9 * bytes / anchor_bytes(a);
    s->failed = true;
    cmd_error("a copy fails: %s", error.text[0] ? error.text : a->error.text);
    return 0;
}

static void add_point(scaling *s, plot_line *line, int64_t rows, int64_t n, double seconds) {
    double elements = (double)rows * (double)n;
    char text[32];
    line->x[line->points] = elements;
    line->y[line->points++] = seconds;
    bench_time_text(text, sizeof text, seconds * 1e9);
    cmd_table_add(&s->table, "%s\t%lldx%lld\t%s\t%.3f", line->label, (long long)rows, (long long)n,
                  text, seconds * 1e9 / elements);
}

/* Two points in each factor of ten. `a` is NULL but for a copy. */
static void run_line(scaling *s, anymax_device *device, uint32_t threads, line_kind kind,
                     anchor *a) {
    plot_line *line = &s->line[s->lines];
    double step, seconds, slope;
    int k;
    if (s->lines == MAX_LINES) return;
    memset(line, 0, sizeof *line);
    if (threads)
        snprintf(line->label, sizeof line->label, "%s, %u thread%s, %s", cmd_selector(device),
                 (unsigned)threads, threads > 1 ? "s" : "", kind_names[kind]);
    else
        snprintf(line->label, sizeof line->label, "%s, %s", cmd_selector(device), kind_names[kind]);
    for (k = 0; (step = FEWEST * pow(10, k / 2) * (k % 2 ? 3 : 1)) <= s->options->most * 1.001;
         k++) {
        int64_t rows = kind == MORE_ROWS ? (int64_t)(step / COLUMNS + 0.5) : 1;
        int64_t n = kind == MORE_ROWS ? COLUMNS : (int64_t)(step + 0.5);
        cmd_progress("%s, %lldx%lld", line->label, (long long)rows, (long long)n);
        seconds = a ? time_copy(s, a, step) : time_case(s, device, rows, n);
        if (seconds > 0) add_point(s, line, rows, n, seconds);
    }
    slope = slope_of(line, SLOPE_FROM);
    if (slope != 0) cmd_table_add(&s->table, "%s\tslope\t%.3f\t", line->label, slope);
    if (line->points) s->lines++;
}

static void run_device(scaling *s, anymax_device *device, uint32_t threads) {
    const anymax_device_info *info = anymax_device_get_info(device);
    io_error error;
    anchor *a = anchor_create(info, threads, &error);
    run_line(s, device, threads, MORE_ROWS, NULL);
    run_line(s, device, threads, LONGER_ROW, NULL);
    if (a)
        run_line(s, device, threads, COPY, a);
    else
        cmd_error("%s has nothing to be held against: %s", info->selector, error.text);
    anchor_free(a);
}

/* The CPU with one thread and with two, unless the number was given. */
static void run_devices(scaling *s, uint32_t threads) {
    cmd_devices_open devices;
    size_t d;
    if (!cmd_open_devices(s->options->device, false, threads, &devices)) {
        s->failed = true;
        return;
    }
    s->failed |= devices.failed != 0;
    for (d = 0; d < devices.count; d++) {
        anymax_device *device = devices.device[d];
        bool cpu = strcmp(anymax_device_get_info(device)->backend, "cpu") == 0;
        if (!cpu && threads > 1 && !s->options->threads) continue;
        run_device(s, device, cpu ? threads : 0);
    }
    cmd_close_devices(&devices);
}

/* Told now rather than after minutes of measuring. */
static bool can_write(const char *path) {
    FILE *file = fopen(path, "wb");
    if (!file) cmd_error("%s cannot be written: %s", path, strerror(errno));
    return file && fclose(file) == 0;
}

int bench_scaling(const bench_options *options, const anymax_op_info *op) {
    scaling *s;
    char title[128];
    int code;
    if (options->svg && !can_write(options->svg)) return CMD_FAILED;
    s = calloc(1, sizeof *s);
    if (!s) return cmd_error("no memory");
    s->options = options;
    s->op = op ? op : anymax_op_find("softmax");
    cmd_table_start(&s->table, "llrr");
    cmd_table_add(&s->table, "line\tshape\tmedian\tns an element");
    run_devices(s, options->threads ? options->threads : 1);
    if (!options->threads) run_devices(s, 2);
    cmd_progress_end();
    code = s->failed || !s->lines ? CMD_FAILED : CMD_OK;
    cmd_table_print(&s->table);
    printf("\nslope: of the logarithms of time over those of elements, from %.0e elements on; 1 is "
           "linear.\n",
           SLOPE_FROM);
    snprintf(title, sizeof title, "%s forward, f32: time of a call", s->op->name);
    if (options->svg && s->lines) {
        plot p = {title, "elements", "seconds", s->line, s->lines};
        if (!plot_write_svg(&p, options->svg)) code = CMD_FAILED;
    }
    free(s);
    return code;
}
