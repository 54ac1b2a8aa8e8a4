/* main.c: `anymax-peers`: the time of softmax here, in oneDNN and in XNNPACK, in turns in one
 * process on the same arrays, beside a copy of them. */
#include "anchor.h"
#include "bench.h"
#include "peers.h"

#include <stdlib.h>
#include <string.h>

#define CALLS 4 /* the copy, this library, two others */

static const peer peers[] = {
    {"anymax", peer_anymax},
#if defined(HAVE_ONEDNN)
    {"oneDNN", peer_onednn},
#endif
#if defined(HAVE_XNNPACK)
    {"XNNPACK", peer_xnnpack},
#endif
};
#define PEERS (sizeof peers / sizeof *peers)

/* 64x512 fits the second cache, the others no cache of a common processor. */
static const char *const standard[] = {"65536x64",  "16384x512", "4096x4096", "512x32768",
                                       "64x131072", "8x1048576", "64x512",    NULL};

typedef struct options {
    int threads, log_softmax;
    double seconds;
    char *json;
} options;

static void add_row(cmd_table *table, const contestant *all, size_t count, const peer_call *call,
                    const char *shape, double bytes) {
    char text[512];
    size_t i, at = 1;
    int length = snprintf(text, sizeof text, "%s\t%.1f\t%.1f\t%.2f\t%.1e", shape,
                          contest_gbps(&all[0], bytes), contest_gbps(&all[1], bytes), all[1].share,
                          call[0].error);
    for (i = 1; i < PEERS && length < (int)sizeof text; i++) {
        char *end = text + length;
        size_t room = sizeof text - (size_t)length;
        if (call[i].state && ++at < count)
            length += snprintf(end, room, "\t%.1f\t%.2f\t%.1e", contest_gbps(&all[at], bytes),
                               all[1].share / all[at].share, call[i].error);
        else
            length += snprintf(end, room, "\t-\t-\t-");
    }
    cmd_table_add(table, "%s", text);
}

static void add_heading(cmd_table *table) {
    char text[256];
    size_t i;
    int length = snprintf(text, sizeof text, "shape\tcopy\tanymax\tshare\terror");
    for (i = 1; i < PEERS; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, "\t%s\tanymax/\terror",
                           peers[i].name);
    cmd_table_add(table, "%s", text);
}

/* What bench_json.c takes: the library stands where a device would. */
static void add_result(bench_result *r, const contestant *c, const peer_job *job, const char *name,
                       const char *shape, double copy_gbps) {
    memset(r, 0, sizeof *r);
    snprintf(r->op, sizeof r->op, job->log_softmax ? "log_softmax" : "softmax");
    snprintf(r->device, sizeof r->device, "%s", name);
    snprintf(r->shape, sizeof r->shape, "%s", shape);
    r->dtype = "f32";
    r->direction = "forward";
    r->threads = job->threads;
    r->elements = (double)job->rows.rows * (double)job->rows.n;
    r->bytes = 8 * r->elements;
    r->time = c->time;
    r->anchor = "copy";
    r->anchor_gbps = copy_gbps;
    r->share = r->share_best = c->share;
}

/* The libraries that can do the job, tried once; false after a message. */
static bool make_calls(const peer_job *job, peer_call *call, contestant *all, size_t *count) {
    size_t i;
    for (i = 0; i < PEERS; i++) {
        if (!peers[i].make(job, &call[i])) return false;
        if (!call[i].state) continue;
        all[*count].name = peers[i].name;
        all[*count].run = call[i].run;
        all[*count].user = call[i].state;
        all[*count].threads = job->threads > 1;
        if (!call[i].run(call[i].state)) return false;
        call[i].error = contest_error(&job->rows, job->log_softmax);
        if (i == 0 && !(call[i].error < CONTEST_WRONG)) {
            cmd_error("anymax is wrong by %.1e", call[i].error);
            return false;
        }
        ++*count;
    }
    return true;
}

/* One shape; results and a row of the table. False after a message. */
static bool measure(peer_job *job, const char *shape, double seconds, anchor *copy,
                    cmd_table *table, bench_result *results, size_t *count) {
    peer_call call[PEERS];
    contestant all[CALLS];
    double bytes = 8 * (double)job->rows.rows * (double)job->rows.n;
    size_t there = 1, i;
    io_error error = {""};
    bool good;
    memset(call, 0, sizeof call);
    memset(all, 0, sizeof all);
    all[0].name = "copy";
    all[0].run = anchor_run;
    all[0].user = copy;
    all[0].threads = job->threads > 1;
    good = contest_rows_make(&job->rows) && anchor_prepare(copy, ANCHOR_COPY, bytes, &error) &&
           make_calls(job, call, all, &there) && contest_run(all, there, seconds);
    if (good) {
        add_row(table, all, there, call, shape, bytes);
        for (i = 1; i < there; i++)
            add_result(&results[(*count)++], &all[i], job, all[i].name, shape,
                       contest_gbps(&all[0], bytes));
    } else {
        cmd_error("%s could not be measured%s%s", shape, *error.text ? ": " : "", error.text);
    }
    for (i = 0; i < PEERS; i++)
        if (call[i].free) call[i].free(call[i].state);
    contest_rows_free(&job->rows);
    return good;
}

/* A copy by the processor, with as many threads. */
static anchor *make_copy(uint32_t threads) {
    static const anymax_device_info cpu = {.backend = "cpu"};
    io_error error;
    anchor *copy = anchor_create(&cpu, threads, &error);
    if (!copy) cmd_error("%s", error.text);
    return copy;
}

static int measure_all(const options *o, const char *const *shapes) {
    peer_job job = {.log_softmax = o->log_softmax != 0, .threads = (uint32_t)o->threads};
    static const char *const format[] = {"lrrrr", "lrrrrrrr", "lrrrrrrrrrr"};
    anchor *copy = make_copy(job.threads);
    bench_result *results;
    cmd_table table;
    size_t count = 0, shown = 0, i;
    bool good = copy != NULL;
    while (shapes[shown]) shown++;
    results = calloc(shown * PEERS + 1, sizeof *results);
    if (!results) good = false;
    cmd_table_start(&table, format[PEERS - 1]);
    add_heading(&table);
    for (i = 0; good && i < shown; i++) {
        good = contest_parse(shapes[i], &job.rows);
        if (!good) {
            cmd_usage(NULL, "%s is not a shape (ROWSxCOLUMNS)", shapes[i]);
            break;
        }
        good = measure(&job, shapes[i], o->seconds, copy, &table, results, &count);
    }
    printf("%s forward, f32, %d thread%s; GB/s of a read and a write; anymax/: how many times as "
           "fast\n",
           job.log_softmax ? "log_softmax" : "softmax", o->threads, o->threads > 1 ? "s" : "");
    cmd_table_print(&table);
    if (good && o->json) good = bench_write_json(o->json, results, count);
    free(results);
    anchor_free(copy);
    return good ? CMD_OK : CMD_FAILED;
}

int main(int argc, const char **argv) {
    options o = {.threads = 1, .seconds = 0.3};
    struct poptOption table[] = {
        {"threads", 't', POPT_ARG_INT, &o.threads, 0, "Threads of each library (default 1)", "N"},
        {"log", 'l', POPT_ARG_NONE, &o.log_softmax, 0, "log_softmax instead of softmax", NULL},
        {"seconds", 's', POPT_ARG_DOUBLE, &o.seconds, 0, "For each shape (default 0.3)", "S"},
        {"json", 'j', POPT_ARG_STRING, &o.json, 0, "Results for machines; - is stdout", "FILE"},
        POPT_AUTOHELP POPT_TABLEEND};
    poptContext context = poptGetContext("anymax-peers", argc, argv, table, 0);
    const char *const *shapes;
    int found, code;
    poptSetOtherOptionHelp(context, "[OPTION...] [ROWSxCOLUMNS...]");
    found = poptGetNextOpt(context);
    shapes = (const char *const *)poptGetArgs(context);
    if (found < -1)
        code = cmd_usage(NULL, "%s: %s", poptBadOption(context, 0), poptStrerror(found));
    else if (o.threads < 1 || o.threads > 1024)
        code = cmd_usage(NULL, "--threads is from 1 to 1024");
    else
        code = measure_all(&o, shapes ? shapes : standard);
    cmd_free_text(o.json);
    poptFreeContext(context);
    return code;
}
