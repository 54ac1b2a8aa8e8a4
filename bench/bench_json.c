/* bench_json.c: results of `anymax bench` for machines. */
#include "bench.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>

static cJSON *json_case(const bench_result *r) {
    cJSON *c = cJSON_CreateObject();
    cJSON_AddStringToObject(c, "op", r->op);
    cJSON_AddStringToObject(c, "device", r->device);
    cJSON_AddStringToObject(c, "device_name", r->name);
    cJSON_AddStringToObject(c, "shape", r->shape);
    cJSON_AddStringToObject(c, "dtype", r->dtype);
    cJSON_AddStringToObject(c, "direction", r->direction);
    cJSON_AddNumberToObject(c, "threads", r->threads);
    cJSON_AddNumberToObject(c, "bytes", r->bytes);
    cJSON_AddNumberToObject(c, "median_ns", r->time.median_ns);
    cJSON_AddNumberToObject(c, "quartile_ns", r->time.quartile_ns);
    cJSON_AddNumberToObject(c, "min_ns", r->time.min_ns);
    cJSON_AddNumberToObject(c, "spread", r->time.spread);
    cJSON_AddNumberToObject(c, "first_ns", r->time.first_ns);
    cJSON_AddNumberToObject(c, "rounds", (double)r->time.rounds);
    cJSON_AddNumberToObject(c, "gbps", bench_gbps(r));
    cJSON_AddNumberToObject(c, "elements_per_second", r->elements * 1e9 / r->time.median_ns);
    if (r->anchor) {
        cJSON_AddStringToObject(c, "anchor", r->anchor);
        cJSON_AddNumberToObject(c, "anchor_gbps", r->anchor_gbps);
        cJSON_AddNumberToObject(c, "share", r->share);
        cJSON_AddNumberToObject(c, "share_best", r->share_best);
    } else {
        cJSON_AddNullToObject(c, "share");
    }
    return c;
}

static bool write_cases(const char *path, cJSON *cases) {
    cJSON *all = cJSON_CreateObject();
    unsigned v = (unsigned)anymax_version();
    char version[32], *text;
    bool to_stdout = strcmp(path, "-") == 0, good;
    FILE *file;
    snprintf(version, sizeof version, "%u.%u.%u", v / 1000000, v / 1000 % 1000, v % 1000);
    cJSON_AddStringToObject(all, "version", version);
    cJSON_AddItemToObject(all, "cases", cases);
    text = cJSON_Print(all);
    cJSON_Delete(all);
    file = !text ? NULL : to_stdout ? stdout : fopen(path, "wb");
    good = file && fprintf(file, "%s\n", text) > 0;
    if (file && !to_stdout && fclose(file) != 0) good = false;
    if (!good) cmd_error("%s cannot be written: %s", path, text ? strerror(errno) : "no memory");
    cJSON_free(text);
    return good;
}

bool bench_write_json(const char *path, const bench_result *results, size_t count) {
    cJSON *cases = cJSON_CreateArray();
    size_t i;
    for (i = 0; i < count; i++) cJSON_AddItemToArray(cases, json_case(&results[i]));
    return write_cases(path, cases);
}

bool bench_write_latency(const char *path, const bench_latency_result *results, size_t count) {
    cJSON *cases = cJSON_CreateArray();
    size_t i;
    for (i = 0; i < count; i++) {
        const bench_latency_result *r = &results[i];
        cJSON *c = cJSON_CreateObject();
        cJSON_AddStringToObject(c, "device", r->device);
        cJSON_AddNumberToObject(c, "first_ns", r->first_ns);
        cJSON_AddNumberToObject(c, "call_ns", r->call.median_ns);
        cJSON_AddNumberToObject(c, "call_quartile_ns", r->call.quartile_ns);
        if (r->empty_ns > 0) {
            cJSON_AddNumberToObject(c, "empty_ns", r->empty_ns);
            cJSON_AddNumberToObject(c, "ratio", r->ratio);
        }
        cJSON_AddItemToArray(cases, c);
    }
    return write_cases(path, cases);
}
