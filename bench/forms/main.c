/* main.c: `anymax-forms`: the forms of softmax in turns on one thread, beside a copy and beside
 * what the library does. */
#include "anchor.h"
#include "command.h"
#include "forms.h"

#include <stdlib.h>
#include <string.h>

/* Elements of an array: half of the caches of one core, or more than those of most processors. */
#define CACHED_ELEMENTS ((int64_t)1 << 16)
#define OTHER_ELEMENTS ((int64_t)1 << 24)
#define AHEAD_COLUMNS 131072 /* of a row that the caches hold beside the one before */

static const char *const standard[] = {"512",    "2048",    "8192",    "32768", "131072",
                                       "524288", "1048576", "4194304", NULL};
static const char *const kinds[FORM_KINDS] = {"three kept",   "three again", "online kept",
                                              "online again", "pairs kept",  "pairs again"};
/* Turns: the copy, the library, each form with plain stores and with those past the caches. */
enum { COPY, LIBRARY, FORMS, TURNS = FORMS + 2 * FORM_KINDS };

typedef struct options {
    int cached;
    double seconds;
    char *level, *device;
} options;

typedef struct form_job {
    contest_rows rows;
    form_function form;
    form_kind kind;
    float *keep, *more;
    anymax_stream *stream; /* the library's turn */
} form_job;

static bool run_form(void *user) {
    const form_job *j = user;
    int64_t n = j->rows.n;
    form_rows r = {j->rows.x, j->rows.y, j->rows.rows, n, j->keep, j->more, 0, 0};
    /* Of three passes the first does nothing but read, so the row should be there. The other forms
     * compute where they read. Short rows are asked for so early that memory has the time. */
    int64_t whole = j->kind < FORM_ONLINE_KEPT ? AHEAD_COLUMNS : 1024;
    if (n > whole)
        r.columns_ahead = 2048;
    else if (j->rows.rows * n > CACHED_ELEMENTS)
        r.rows_ahead = n < 4096 ? 4096 / n : 1;
    j->form(&r);
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

static void add_heading(cmd_table *table) {
    char text[256];
    int kind, length = snprintf(text, sizeof text, "shape\tcopy\tanymax");
    for (kind = 0; kind < FORM_KINDS; kind++)
        length += snprintf(text + length, sizeof text - (size_t)length, "\t%s", kinds[kind]);
    cmd_table_add(table, "%s\terror", text);
}

static void add_row(cmd_table *table, const contestant *all, double worst,
                    const contest_rows *rows) {
    char text[512];
    int kind, length;
    length = snprintf(
        text, sizeof text, "%lldx%lld\t%.1f\t%.2f", (long long)rows->rows, (long long)rows->n,
        8 * (double)(rows->rows * rows->n) / all[COPY].time.median_ns, all[LIBRARY].share);
    for (kind = 0; kind < FORM_KINDS; kind++)
        length += snprintf(text + length, sizeof text - (size_t)length, "\t%.2f %.2f",
                           all[FORMS + 2 * kind].share, all[FORMS + 2 * kind + 1].share);
    cmd_table_add(table, "%s\t%.1e", text, worst);
}

/* Every turn's result must be right before any is timed. */
static bool make_turns(const form_level *level, const contest_rows *rows, anymax_stream *stream,
                       float *scratch, form_job *job, contestant *all, double *worst) {
    int i;
    for (i = LIBRARY; i < TURNS; i++) {
        form_job j = {.rows = *rows, .keep = scratch, .more = scratch + rows->n, .stream = stream};
        double error;
        if (i >= FORMS) {
            j.kind = (form_kind)((i - FORMS) / 2);
            j.form = level->run[j.kind][i % 2];
        }
        job[i] = j;
        all[i].run = i == LIBRARY ? run_library : run_form;
        all[i].user = &job[i];
        memset(rows->y, 0, (size_t)(rows->rows * rows->n) * sizeof *rows->y);
        if (!all[i].run(&job[i])) return false;
        error = contest_error(rows, false);
        if (error > *worst) *worst = error;
        if (!(error < CONTEST_WRONG)) {
            cmd_error("%s is wrong by %.1e", i == LIBRARY ? "anymax" : kinds[j.kind], error);
            return false;
        }
    }
    return true;
}

static bool measure(const form_level *level, const char *shape, const options *o, anchor *copy,
                    anymax_stream *stream, cmd_table *table) {
    contest_rows rows;
    form_job job[TURNS];
    contestant all[TURNS];
    double worst = 0;
    float *scratch;
    io_error error = {""};
    bool good = contest_parse(shape, &rows) && rows.n % FORM_STEP == 0;
    if (!good) {
        cmd_usage(NULL, "%s is not a shape of rows of a multiple of %d", shape, FORM_STEP);
        return false;
    }
    if (!strchr(shape, 'x')) rows.rows = (o->cached ? CACHED_ELEMENTS : OTHER_ELEMENTS) / rows.n;
    if (rows.rows < 1) return true; /* no such row is in the caches */
    memset(all, 0, sizeof all);
    all[COPY].run = anchor_run;
    all[COPY].user = copy;
    scratch = calloc((size_t)rows.n, 2 * sizeof *scratch);
    good = scratch && contest_rows_make(&rows) &&
           anchor_prepare(copy, ANCHOR_COPY, 8 * (double)(rows.rows * rows.n), &error) &&
           make_turns(level, &rows, stream, scratch, job, all, &worst) &&
           contest_run(all, TURNS, o->seconds);
    if (good)
        add_row(table, all, worst, &rows);
    else
        cmd_error("%s could not be measured: %s%s", shape, error.text, anymax_error_message());
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
    anchor *copy = NULL;
    io_error error = {""};
    cmd_table table;
    bool good;
    if (o->level) snprintf(pretend, sizeof pretend, "level=%s", o->level);
    good = anymax_device_open(&desc, &device) == ANYMAX_OK &&
           anymax_stream_create(device, NULL, &stream) == ANYMAX_OK;
    if (good) level = find_level(o->level, device);
    if (level) copy = anchor_create(anymax_device_get_info(device), 1, &error);
    if (!copy) {
        cmd_error("%s", !good    ? anymax_error_message()
                        : !level ? "there is no such level here"
                                 : error.text);
        good = false;
    } else {
        cmd_table_start(&table, "lrrrrrrrrr");
        add_heading(&table);
        for (; good && *shapes; shapes++) good = measure(level, *shapes, o, copy, stream, &table);
        printf(
            "softmax forward, f32, 1 thread, level %s. copy: GB/s of a read and a write. Others: "
            "share of its speed;\nof forms with plain stores, then with those past the "
            "caches. error: the largest of all\n",
            level->name);
        cmd_table_print(&table);
    }
    anchor_free(copy);
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
