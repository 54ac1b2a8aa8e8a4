/* bench_latency.c: `anymax bench --latency`: what a call costs where there is next to nothing to
 * compute: the first one of the process, and one of many, beside a launch of an empty kernel. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#define TINY "1x64"

static bool open_case(bench_case *c, anymax_device *device, io_error *error) {
    memset(c, 0, sizeof *c);
    c->op = anymax_op_find("softmax");
    c->device = device;
    c->storage = IO_F32;
    c->way = BENCH_FORWARD;
    if (!bench_parse_shape(TINY, &c->rank, c->shape) || !bench_case_make(c, error)) return false;
    return bench_case_run(c) ? true : io_fail(error, "fails: %s", anymax_error_message());
}

/* Calls and empty launches in turn; devices without launches have calls alone. */
static bool time_calls(bench_case *c, double seconds, bench_latency_result *r, io_error *error) {
    timing_work work = {bench_case_run, c}, nothing = {anchor_empty, NULL};
    anchor *a = anchor_create(anymax_device_get_info(c->device), 1, error);
    timing_pair pair;
    bool good = a != NULL;
    if (good && !a->backend->empty) {
        good = timing_measure(&work, seconds, &r->call);
    } else if (good) {
        nothing.user = a;
        good = anchor_prepare(a, ANCHOR_COPY, 0, error) &&
               timing_paired(&work, &nothing, seconds, &pair);
        r->call = pair.work;
        r->empty_ns = pair.anchor.median_ns;
        r->ratio = 1 / pair.ratio;
    }
    if (a && !good && !error->text[0]) io_fail(error, "fails: %s", anymax_error_message());
    anchor_free(a);
    return good;
}

/* From before the device is opened. The results are checked like those of any case. */
static bool run_device(char *selector, const bench_options *options, bench_latency_result *r) {
    char *list[2] = {selector, NULL};
    cmd_devices_open devices;
    bench_case *c = calloc(1, sizeof *c);
    io_error error = {""};
    double start = timing_now();
    bool good;
    if (!c || !cmd_open_devices(selector ? list : NULL, false, options->threads, &devices)) {
        free(c);
        return false;
    }
    good = open_case(c, devices.device[0], &error);
    r->first_ns = (timing_now() - start) * 1e9;
    good = good && bench_case_check(c, &error) && time_calls(c, options->seconds, r, &error);
    snprintf(r->device, sizeof r->device, "%s", cmd_selector(devices.device[0]));
    if (!good) cmd_error("softmax " TINY " on %s %s", r->device, error.text);
    bench_case_free(c);
    free(c);
    cmd_close_devices(&devices);
    return good;
}

static void print(const bench_latency_result *results, size_t count) {
    cmd_table table;
    size_t i;
    cmd_table_start(&table, "lrrrrr");
    cmd_table_add(&table, "device\tfirst result\tcall\tquarter\tempty launch\tcall/empty");
    for (i = 0; i < count; i++) {
        const bench_latency_result *r = &results[i];
        char first[32], call[32], quarter[32], empty[32] = "-", ratio[32] = "-";
        bench_time_text(first, sizeof first, r->first_ns);
        bench_time_text(call, sizeof call, r->call.median_ns);
        bench_time_text(quarter, sizeof quarter, r->call.quartile_ns);
        if (r->empty_ns > 0) {
            bench_time_text(empty, sizeof empty, r->empty_ns);
            snprintf(ratio, sizeof ratio, "%.2f", r->ratio);
        }
        cmd_table_add(&table, "%s\t%s\t%s\t%s\t%s\t%s", r->device, first, call, quarter, empty,
                      ratio);
    }
    cmd_table_print(&table);
    printf("\nfirst result: from opening the device to the result of softmax of " TINY
           " in f32; call: the\nsame again, with the wait for it, the median of many; quarter: of "
           "the rounds were as fast;\nempty launch: of a kernel that does nothing, with the wait, "
           "in turn with the calls.\n");
}

int bench_latency(const bench_options *options) {
    static char *standard[] = {NULL};
    char **listed = NULL, **at = options->device;
    bench_latency_result *results = NULL, *room;
    size_t count = 0;
    int code = CMD_OK;
    if (at && at[0] && !at[1] && strcmp(at[0], "all") == 0) at = listed = cmd_list_devices(true);
    if (!at) at = standard;
    do {
        room = realloc(results, (count + 1) * sizeof *results);
        if (!room) break;
        results = room;
        memset(&results[count], 0, sizeof *results);
        if (run_device(*at, options, &results[count]))
            count++;
        else
            code = CMD_FAILED;
    } while (*at && *++at);
    if (count && !(options->json && strcmp(options->json, "-") == 0)) print(results, count);
    if (options->json && !bench_write_latency(options->json, results, count)) code = CMD_FAILED;
    cmd_free_list(listed);
    free(results);
    return code;
}
