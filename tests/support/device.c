/* Opening the device under test; main() of every test program; timings. */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

test_device test_main_device;

static const char *program = "";

const char *test_program(void) {
    return program;
}

const char *test_selector(void) {
    const char *selector = getenv("ANYMAX_TEST_DEVICE");
    return selector && *selector ? selector : "cpu";
}

uint64_t test_seed(void) {
    const char *seed = getenv("ANYMAX_TEST_SEED");
    return seed && *seed ? strtoull(seed, NULL, 10) : 1;
}

bool test_is_backend(const char *backend) {
    return strcmp(anymax_device_get_info(test_main_device.device)->backend, backend) == 0;
}

static anymax_status open_device(test_device *d, const char *pretend, uint32_t threads) {
    anymax_device_desc desc = {0};
    anymax_status status;
    memset(d, 0, sizeof *d);
    desc.selector = test_selector();
    desc.pretend = pretend;
    desc.threads = threads;
    if (pretend) snprintf(d->pretend, sizeof d->pretend, "%s", pretend);
    d->threads = threads;
    status = anymax_device_open(&desc, &d->device);
    if (status == ANYMAX_OK) status = anymax_stream_create(d->device, NULL, &d->stream);
    return status;
}

void test_device_open(test_device *d, const char *pretend, uint32_t threads) {
    anymax_status status = open_device(d, pretend, threads);
    ck_assert_msg(status == ANYMAX_OK, "%s with '%s': %s", test_selector(), pretend ? pretend : "",
                  anymax_error_message());
}

void test_device_close(test_device *d) {
    anymax_stream_release(d->stream);
    anymax_device_release(d->device);
    memset(d, 0, sizeof *d);
}

/* ---------------------------------------------------------------- timings and worst errors */

#define MAX_ROWS 256

static struct {
    char name[64];
    double seconds;
} timings[MAX_ROWS];

static struct {
    char name[96];
    double units;
} worst[MAX_ROWS];

double test_now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void test_timing_add(const char *op, double seconds) {
    for (int i = 0; i < MAX_ROWS; i++) {
        if (timings[i].name[0] != 0 && strcmp(timings[i].name, op) != 0) continue;
        snprintf(timings[i].name, sizeof timings[i].name, "%s", op);
        timings[i].seconds += seconds;
        return;
    }
}

void test_worst_add(const char *op, const char *tensor, double units) {
    char name[96];
    snprintf(name, sizeof name, "%s/%s", op, tensor);
    for (int i = 0; i < MAX_ROWS; i++) {
        if (worst[i].name[0] != 0 && strcmp(worst[i].name, name) != 0) continue;
        snprintf(worst[i].name, sizeof worst[i].name, "%s", name);
        if (units > worst[i].units) worst[i].units = units;
        return;
    }
}

/* Only what every further operation would add counts as its time: the suites that go through all
 * operations. The others stay as they are. */
static void report(const char *suite, const char *backend) {
    bool grows = strcmp(suite, "golden") == 0 || strcmp(suite, "random") == 0;
    const char *path = grows ? getenv("ANYMAX_TEST_TIMINGS") : NULL;
    FILE *file = path && *path ? fopen(path, "a") : NULL;
    for (int i = 0; i < MAX_ROWS && timings[i].name[0] != 0 && file != NULL; i++)
        fprintf(file, "timing %s %s %.4f\n", timings[i].name, backend, timings[i].seconds);
    if (file != NULL) fclose(file);
    for (int i = 0; i < MAX_ROWS && worst[i].name[0] != 0; i++)
        printf("worst error of %s on %s: %.3g of its tolerance\n", worst[i].name, backend,
               worst[i].units);
}

/* ---------------------------------------------------------------- main */

static int absent(void) {
    bool required = getenv("ANYMAX_TEST_REQUIRE") != NULL;
    fprintf(stderr, "%s: no device '%s': %s\n", program, test_selector(), anymax_error_message());
    return required ? EXIT_FAILURE : 77;
}

static void log_line(void *user, const char *message) {
    (void)user;
    printf("log: %s\n", message);
}

int test_main(int argc, char **argv, const char *suite, void (*add)(Suite *suite)) {
    const anymax_device_info *info;
    Suite *cases;
    char backend[16];
    int status;
    program = argc > 0 ? argv[0] : suite;
    anymax_set_log(log_line, NULL);
    if (open_device(&test_main_device, NULL, 0) != ANYMAX_OK) return absent();
    info = anymax_device_get_info(test_main_device.device);
    printf("%s on %s (%s, %s), seed %llu\n", suite, info->selector, info->name, info->driver,
           (unsigned long long)test_seed());
    fflush(stdout);
    snprintf(backend, sizeof backend, "%s", info->backend);
    cases = suite_create(suite);
    add(cases);
    status = suite_run(cases);
    test_device_close(&test_main_device);
    report(suite, backend);
    return status;
}
