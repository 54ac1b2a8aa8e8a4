/* main.c: `anymax-forms`: the forms of softmax in turns on one thread, beside a copy and beside
 * what the library does. */
#include "command.h"
#include "forms.h"

#include <stdlib.h>
#include <string.h>

/* Elements of an array: half of the caches of one core, or more than those of most processors. */
#define CACHED_ELEMENTS ((int64_t)1 << 16)
#define OTHER_ELEMENTS ((int64_t)1 << 24)
#define AHEAD_COLUMNS 65536 /* a row that the caches hold beside the one before */

static const char *const standard[] = {"512",    "2048",    "8192",    "32768", "131072",
                                       "524288", "1048576", "4194304", NULL};
static const char *const kinds[FORM_KINDS] = {"three kept",   "three again", "online kept",
                                              "online again", "pairs kept",  "pairs again"};

typedef struct options {
    int cached;
    double seconds;
    char *level, *device;
} options;

typedef struct form_job {
    contest_rows rows;
    form_function form;
    float *keep, *more;
    anymax_stream *stream; /* the library's turn */
} form_job;

static bool run_form(void *user) {
    const form_job *j = user;
    int64_t n = j->rows.n;
    form_rows r = {j->rows.x, j->rows.y, j->rows.rows, n, j->keep, j->more, 0, 0};
    if (n > AHEAD_COLUMNS)
        r.columns_ahead = 2048;
    else if (j->rows.rows * n > CACHED_ELEMENTS) /* of short rows so early that memory has time */
        r.rows_ahead = n < 4096 ? 4096 / n : 1;
    j->form(&r);
    return true;
}

static bool run_copy(void *user) {
    const form_job *j = user;
    contest_copy(j->rows.y, j->rows.x, (size_t)(j->rows.rows * j->rows.n));
    return true;
}

static bool run_library(void *user) {
    const form_job *j = user;
    anymax_map softmax = {0};
    int64_t shape[2] = {j->rows.rows, j->rows.n};
    anymax_tensor x = anymax_host_tensor(j->rows.x, ANYMAX_F32, 2, shape);
    anymax_tensor y = anymax_host_tensor(j->rows.y, ANYMAX_F32, 2, shape);
    return anymax_map_forward(j->stream, &softmax, &x, &y) == ANYMAX_OK &&
           anymax_stream_sync(j->stream) == ANYMAX_OK;
}

/* GB/s, the share of the copy, and the error of each form in the better of its two stores. */
static void show(cmd_table *table, const contestant *all, const double *error, double bytes,
                 const contest_rows *rows) {
    int kind;
    cmd_table_add(table, "%lldx%lld\tcopy\t%.1f\t\t\t", (long long)rows->rows, (long long)rows->n,
                  bytes / all[0].time.median_ns);
    cmd_table_add(table, "\tanymax\t%.1f\t%.2f\t\t%.1e", bytes / all[1].time.median_ns,
                  all[1].share, error[1]);
    for (kind = 0; kind < FORM_KINDS; kind++) {
        const contestant *c = &all[2 + 2 * kind];
        cmd_table_add(table, "\t%s\t%.1f\t%.2f\t%.2f\t%.1e", kinds[kind],
                      bytes / c[0].time.median_ns, c[0].share, c[1].share, error[2 + 2 * kind]);
    }
}

static bool measure(const form_level *level, const char *shape, const options *o,
                    anymax_stream *stream, cmd_table *table) {
    contest_rows rows;
    form_job job[2 + 2 * FORM_KINDS];
    contestant all[2 + 2 * FORM_KINDS];
    double error[2 + 2 * FORM_KINDS];
    size_t count = sizeof all / sizeof *all, i;
    float *scratch;
    bool good = contest_parse(shape, &rows) && rows.n % FORM_STEP == 0;
    if (!good) {
        cmd_usage(NULL, "%s is not a shape of rows of a multiple of %d", shape, FORM_STEP);
        return false;
    }
    if (!strchr(shape, 'x')) rows.rows = (o->cached ? CACHED_ELEMENTS : OTHER_ELEMENTS) / rows.n;
    if (rows.rows < 1) return true; /* no such row is in the caches */
    scratch = calloc((size_t)rows.n, 2 * sizeof *scratch);
    good = scratch && contest_rows_make(&rows);
    memset(all, 0, sizeof all);
    for (i = 0; good && i < count; i++) {
        form_job j = {.rows = rows, .keep = scratch, .more = scratch + rows.n, .stream = stream};
        if (i > 1) j.form = level->run[(i - 2) / 2][i % 2];
        job[i] = j;
        all[i].run = i == 0 ? run_copy : i == 1 ? run_library : run_form;
        all[i].user = &job[i];
        good = all[i].run(all[i].user);
        error[i] = contest_error(&rows, false);
    }
    good = good && contest_run(all, count, o->seconds);
    if (good)
        show(table, all, error, 8 * (double)(rows.rows * rows.n), &rows);
    else
        cmd_error("%s could not be measured: %s", shape, anymax_error_message());
    contest_rows_free(&rows);
    free(scratch);
    return good;
}

/* The level that was asked for, if the processor has it, else its best one. */
static const form_level *find_level(const char *name, anymax_device *device) {
    const char *best = strstr(anymax_device_get_info(device)->driver, "level ");
    const form_level *const *level;
    if (!name) name = best ? best + strlen("level ") : "";
    for (level = form_levels; *level; level++)
        if (strcmp((*level)->name, name) == 0) return *level;
    return NULL;
}

static int compare(const options *o, const char *const *shapes) {
    char pretend[32] = "";
    anymax_device_desc desc = {.selector = "cpu", .threads = 1, .pretend = pretend};
    anymax_device *device = NULL;
    anymax_stream *stream = NULL;
    const form_level *level = NULL;
    cmd_table table;
    bool good;
    if (o->level) snprintf(pretend, sizeof pretend, "level=%s", o->level);
    good = anymax_device_open(&desc, &device) == ANYMAX_OK &&
           anymax_stream_create(device, NULL, &stream) == ANYMAX_OK;
    if (good) level = find_level(o->level, device);
    if (!level) {
        cmd_error("%s", good ? "there is no such level here" : anymax_error_message());
        anymax_device_release(device);
        return CMD_FAILED;
    }
    cmd_table_start(&table, "llrrrr");
    cmd_table_add(&table, "shape\tform\tGB/s\tshare\tstreamed\terror");
    for (; good && *shapes; shapes++) good = measure(level, *shapes, o, stream, &table);
    printf("softmax forward, f32, 1 thread, level %s; GB/s of a read and a write; share: of the "
           "copy's speed, with plain and with streaming stores\n",
           level->name);
    cmd_table_print(&table);
    anymax_stream_release(stream);
    anymax_device_release(device);
    return good ? CMD_OK : CMD_FAILED;
}

int main(int argc, const char **argv) {
    options o = {.seconds = 0.5};
    struct poptOption table[] = {
        {"cached", 'c', POPT_ARG_NONE, &o.cached, 0, "Arrays of 256 KiB instead of 64 MiB", NULL},
        {"seconds", 's', POPT_ARG_DOUBLE, &o.seconds, 0, "For each shape (default 0.5)", "S"},
        {"level", 'l', POPT_ARG_STRING, &o.level, 0, "Instruction-set level (v2, v3, v4, neon)",
         "LEVEL"},
        {"device", 'd', POPT_ARG_STRING, &o.device, 0,
         "The kernel shapes of the library on this device instead", "SELECTOR"},
        POPT_AUTOHELP POPT_TABLEEND};
    poptContext context = poptGetContext("anymax-forms", argc, argv, table, 0);
    const char *const *shapes;
    int found, code;
    poptSetOtherOptionHelp(context, "[OPTION...] [COLUMNS | ROWSxCOLUMNS]...");
    found = poptGetNextOpt(context);
    shapes = (const char *const *)poptGetArgs(context);
    if (found < -1)
        code = cmd_usage(NULL, "%s: %s", poptBadOption(context, 0), poptStrerror(found));
    else if (o.device)
        code =
            forms_of_library(o.device, shapes ? shapes : standard, o.seconds) ? CMD_OK : CMD_FAILED;
    else
        code = compare(&o, shapes ? shapes : standard);
    cmd_free_text(o.level);
    cmd_free_text(o.device);
    poptFreeContext(context);
    return code;
}
