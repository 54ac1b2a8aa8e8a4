/* Devices, selectors, buffers, streams, errors, threads, the registry. What needs a process of its
 * own (exit with live objects, missing loaders, damaged caches) is in process.sh. */
#include "support/cases.h"
#include "support/numbers.h"

#include "os.h" /* threads, which C11 has only on some targets */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- devices */

typedef struct walk {
    int devices, reasons, stop_after;
    bool cpu_first, found;
} walk;

static bool visit(void *user, const anymax_device_info *info, const char *reason) {
    walk *w = user;
    if (info == NULL) {
        ck_assert_msg(reason != NULL && strlen(reason) > 5,
                      "a backend without devices gives a reason");
        w->reasons++;
    } else {
        ck_assert_ptr_null(reason);
        if (w->devices == 0) w->cpu_first = strcmp(info->selector, "cpu") == 0;
        if (strcmp(info->backend, test_selector()) == 0) w->found = true;
        ck_assert_msg(info->name[0] && info->driver[0] && info->backend[0], "%s", info->selector);
        w->devices++;
    }
    return w->stop_after == 0 || w->devices + w->reasons < w->stop_after;
}

START_TEST(visit_devices) {
    walk all = {0}, one = {.stop_after = 1};
    ck_assert_int_eq(anymax_devices_visit(visit, &all), ANYMAX_OK);
    ck_assert(all.cpu_first && all.devices >= 1 && all.devices + all.reasons >= 3);
    ck_assert_msg(all.found || strchr(test_selector(), ':'), "%s is not listed", test_selector());
    ck_assert_int_eq(anymax_devices_visit(visit, &one), ANYMAX_OK);
    ck_assert_int_eq(one.devices + one.reasons, 1);
    ck_assert_int_eq(anymax_devices_visit(NULL, NULL), ANYMAX_ERROR_INVALID);
}
END_TEST

static anymax_status open_as(const char *selector, char *opened, size_t size) {
    anymax_device_desc desc = {.selector = selector};
    anymax_device *device = NULL;
    anymax_status status = anymax_device_open(&desc, &device);
    if (status == ANYMAX_OK)
        snprintf(opened, size, "%s", anymax_device_get_info(device)->selector);
    else
        ck_assert_ptr_null(device);
    anymax_device_release(device);
    return status;
}

/* Every form of a selector that names this device finds it, or one of the same backend. */
START_TEST(selectors) {
    const anymax_device_info *info = anymax_device_get_info(test_main_device.device);
    char form[260], opened[64];
    size_t i;
    ck_assert_int_eq(open_as(info->selector, opened, sizeof opened), ANYMAX_OK);
    ck_assert_str_eq(opened, info->selector);
    ck_assert_int_eq(open_as(info->backend, opened, sizeof opened), ANYMAX_OK);
    for (i = 0; info->selector[i]; i++) form[i] = (char)toupper((unsigned char)info->selector[i]);
    form[i] = 0;
    ck_assert_int_eq(open_as(form, opened, sizeof opened), ANYMAX_OK);
    ck_assert_str_eq(opened, info->selector);
    if (info->uuid[0]) ck_assert_int_eq(open_as(info->uuid, opened, sizeof opened), ANYMAX_OK);
    for (i = 1; info->name[i]; i++) form[i - 1] = (char)toupper((unsigned char)info->name[i]);
    form[i - 1] = 0; /* the name without its first letter, in capitals */
    ck_assert_msg(open_as(form, opened, sizeof opened) == ANYMAX_OK, "'%s': %s", form,
                  anymax_error_message());
}
END_TEST

START_TEST(selectors_in_vain) {
    static const char *const none[] = {"no such device", "opencl:99",
                                       "vulkan:99",      "cpu:1",
                                       "opencl:",        "ffffffff-ffff-ffff-ffff-ffffffffffff"};
    anymax_device_desc desc = {0};
    char opened[64];
    for (int i = 0; i < COUNT(none); i++) {
        ck_assert_msg(open_as(none[i], opened, sizeof opened) == ANYMAX_ERROR_NOT_FOUND, "'%s'",
                      none[i]);
        ck_assert_msg(strstr(anymax_error_message(), none[i]) != NULL, "%s",
                      anymax_error_message());
    }
    ck_assert_int_eq(anymax_device_open(&desc, NULL), ANYMAX_ERROR_INVALID);
    /* "gpu" never takes a processor */
    desc.selector = "gpu";
    anymax_device *device = NULL;
    if (anymax_device_open(&desc, &device) == ANYMAX_OK)
        ck_assert(anymax_device_get_info(device)->type == ANYMAX_DEVICE_GPU ||
                  anymax_device_get_info(device)->type == ANYMAX_DEVICE_INTEGRATED);
    anymax_device_release(device);
}
END_TEST

START_TEST(pretended_grammar) {
    static const char *const wrong[] = {
        "skeleton=round", "groups",   "groups=-1",  "groups=x", "nonsense=1",
        "shared=16q",     "level=v9", "groups=1,,", "=1",       "range=99999999999999999999"};
    anymax_device_desc desc = {.selector = test_selector()};
    for (int i = 0; i < COUNT(wrong); i++) {
        anymax_device *device = NULL;
        desc.pretend = wrong[i];
        ck_assert_msg(anymax_device_open(&desc, &device) == ANYMAX_ERROR_INVALID, "'%s' was taken",
                      wrong[i]);
        ck_assert(strlen(anymax_error_message()) > 10);
        anymax_device_release(device);
    }
}
END_TEST

/* ---------------------------------------------------------------- lifetimes */

static anymax_tensor vector(anymax_buffer *buffer, int64_t n) {
    return anymax_buffer_tensor(buffer, 0, ANYMAX_F32, 1, &n);
}

/* Handles may be released in any order, and before their work has run. */
START_TEST(release_early) {
    enum { N = 1000 };
    static float x[N], y[N];
    test_device d;
    anymax_buffer *a, *b;
    anymax_map m = {ANYMAX_SOFTMAX};
    anymax_tensor ta, tb;
    double sum = 0;
    for (int i = 0; i < N; i++) x[i] = (float)i / N;
    test_device_open(&d, NULL, 0);
    anymax_device_retain(d.device);
    anymax_device_release(d.device);
    ck_assert_int_eq(anymax_buffer_create(d.device, sizeof x, &a), ANYMAX_OK);
    ck_assert_int_eq(anymax_buffer_create(d.device, sizeof y, &b), ANYMAX_OK);
    ck_assert_uint_eq(anymax_buffer_size(a), sizeof x);
    ta = vector(a, N);
    tb = vector(b, N);
    ck_assert_int_eq(anymax_buffer_write(d.stream, a, 0, x, sizeof x), ANYMAX_OK);
    ck_assert_int_eq(anymax_map_forward(d.stream, &m, &ta, &tb), ANYMAX_OK);
    ck_assert_int_eq(anymax_buffer_read(d.stream, b, 0, y, sizeof y), ANYMAX_OK);
    anymax_device_release(d.device); /* streams and buffers keep it */
    anymax_buffer_release(a);
    anymax_buffer_release(b);
    ck_assert_int_eq(anymax_stream_sync(d.stream), ANYMAX_OK);
    anymax_stream_release(d.stream);
    for (int i = 0; i < N; i++) sum += y[i];
    ck_assert(fabs(sum - 1) < 1e-5);
    anymax_device_release(NULL);
    anymax_buffer_release(NULL);
    anymax_stream_release(NULL);
}
END_TEST

/* Host tensors may change once the call is synced, and a stream with work left may be released. */
START_TEST(release_with_work) {
    enum { N = 5000 };
    static float x[N], y[N];
    int64_t n = N;
    anymax_tensor tx = anymax_host_tensor(x, ANYMAX_F32, 1, &n),
                  ty = anymax_host_tensor(y, ANYMAX_F32, 1, &n);
    anymax_map m = {ANYMAX_SOFTMAX};
    anymax_stream *stream;
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(anymax_stream_create(test_main_device.device, NULL, &stream), ANYMAX_OK);
        ck_assert_ptr_eq(anymax_stream_device(stream), test_main_device.device);
        for (int k = 0; k < 5; k++)
            ck_assert_int_eq(anymax_map_forward(stream, &m, &tx, &ty), ANYMAX_OK);
        anymax_stream_release(stream);
        ck_assert(fabs(y[N - 1] * N - 1) < 1e-5);
        y[N - 1] = 0;
    }
}
END_TEST

/* ---------------------------------------------------------------- buffers */

START_TEST(buffer_copies) {
    static const size_t places[][2] = {{0, 1},   {1, 1},  {3, 2},  {0, 1000},
                                       {1, 998}, {7, 13}, {997, 3}};
    unsigned char image[1000], other[1000], back[1000];
    anymax_stream *s = test_main_device.stream;
    anymax_buffer *b;
    ck_assert_int_eq(anymax_buffer_create(test_main_device.device, 0, &b), ANYMAX_ERROR_INVALID);
    ck_assert_int_eq(anymax_buffer_create(test_main_device.device, sizeof image, &b), ANYMAX_OK);
    for (size_t i = 0; i < sizeof image; i++)
        image[i] = (unsigned char)(i * 7), other[i] = (unsigned char)(i * 11 + 1);
    ck_assert_int_eq(anymax_buffer_write(s, b, 0, image, sizeof image), ANYMAX_OK);
    for (int i = 0; i < COUNT(places); i++) {
        size_t at = places[i][0], size = places[i][1];
        ck_assert_int_eq(anymax_buffer_write(s, b, at, other + at, size), ANYMAX_OK);
        memcpy(image + at, other + at, size);
        memset(back, 0, sizeof back);
        ck_assert_int_eq(anymax_buffer_read(s, b, 0, back, sizeof back), ANYMAX_OK);
        ck_assert_int_eq(anymax_stream_sync(s), ANYMAX_OK);
        ck_assert_msg(memcmp(image, back, sizeof back) == 0, "%zu bytes at %zu", size, at);
        ck_assert_int_eq(anymax_buffer_read(s, b, at, back, size), ANYMAX_OK);
        ck_assert_int_eq(anymax_stream_sync(s), ANYMAX_OK);
        ck_assert_msg(memcmp(image + at, back, size) == 0, "%zu bytes read at %zu", size, at);
    }
    ck_assert_int_eq(anymax_buffer_write(s, b, 1, image, sizeof image), ANYMAX_ERROR_INVALID);
    ck_assert_int_eq(anymax_buffer_read(s, b, SIZE_MAX, back, 2), ANYMAX_ERROR_INVALID);
    ck_assert_int_eq(anymax_buffer_read(s, b, 0, NULL, 2), ANYMAX_ERROR_INVALID);
    anymax_buffer_release(b);
}
END_TEST

/* Running out of memory is a status, after which the device works as before. */
START_TEST(out_of_memory) {
    op_case c = {
        .name = "after running out of memory", .op = "softmax", .rank = 2, .shape = {3, 70}};
    anymax_buffer *b = NULL;
    test_device d;
    ck_assert_int_eq(anymax_buffer_create(test_main_device.device, (size_t)1 << 46, &b),
                     ANYMAX_ERROR_OUT_OF_MEMORY);
    ck_assert_ptr_null(b);
    op_case_run(&test_main_device, &c, false);
    test_device_open(&d, "alloc=1m", 0);
    ck_assert_int_eq(anymax_buffer_create(d.device, 1 << 21, &b), ANYMAX_ERROR_OUT_OF_MEMORY);
    ck_assert_ptr_null(b);
    op_case_run(&d, &c, true);
    test_device_close(&d);
    test_device_open(&d, "memory=1m", 0);
    ck_assert_int_eq(anymax_buffer_create(d.device, 1 << 20, &b), ANYMAX_OK);
    anymax_buffer *second = NULL;
    ck_assert_int_eq(anymax_buffer_create(d.device, 1 << 19, &second), ANYMAX_ERROR_OUT_OF_MEMORY);
    anymax_buffer_release(b);
    op_case_run(&d, &c, true);
    test_device_close(&d);
}
END_TEST

/* ---------------------------------------------------------------- errors, version */

START_TEST(errors_and_version) {
    ck_assert_uint_eq(anymax_version(), ANYMAX_VERSION_MAJOR * 1000000 +
                                            ANYMAX_VERSION_MINOR * 1000 + ANYMAX_VERSION_PATCH);
    for (int s = 0; s <= 7; s++) {
        ck_assert(strlen(anymax_status_string((anymax_status)s)) > 1);
        for (int k = 0; k < s; k++)
            ck_assert_str_ne(anymax_status_string((anymax_status)s),
                             anymax_status_string((anymax_status)k));
    }
    ck_assert_ptr_nonnull(anymax_status_string((anymax_status)12345));
    ck_assert_uint_eq(anymax_dtype_size(ANYMAX_F32), 4);
    ck_assert_uint_eq(anymax_dtype_size(ANYMAX_BF16), 2);
    ck_assert_uint_eq(anymax_dtype_size(ANYMAX_I64), 8);
    ck_assert_uint_eq(anymax_dtype_size(ANYMAX_BOOL), 1);
    ck_assert_uint_eq(anymax_dtype_size((anymax_dtype)77), 0);
}
END_TEST

static void quiet_thread(void *user) {
    bool *quiet = user;
    *quiet = strlen(anymax_error_message()) == 0;
    anymax_call(NULL, "softmax", NULL, 0, NULL, 0);
}

/* The message of a failure belongs to the thread that failed. */
START_TEST(messages_by_thread) {
    bool quiet = false;
    am_thread thread;
    char before[256];
    ck_assert_int_eq(anymax_devices_visit(NULL, NULL), ANYMAX_ERROR_INVALID);
    snprintf(before, sizeof before, "%s", anymax_error_message());
    ck_assert(am_thread_start(&thread, quiet_thread, &quiet));
    am_thread_join(&thread);
    ck_assert(quiet);
    ck_assert_str_eq(anymax_error_message(), before);
}
END_TEST

/* ---------------------------------------------------------------- threads */

enum { WORKERS = 4, TURNS = 25, COLUMNS = 300 };

typedef struct worker {
    anymax_device *device;
    int number, failures;
    float sum;
} worker;

/* Mixed operations of several shapes on a stream of one's own; the numbers must be one's own too.
 */
static void work(void *user) {
    worker *w = user;
    float x[COLUMNS], y[COLUMNS];
    anymax_stream *stream;
    if (anymax_stream_create(w->device, NULL, &stream) != ANYMAX_OK) {
        w->failures++;
        return;
    }
    for (int turn = 0; turn < TURNS; turn++) {
        int64_t n = 1 + (turn * 37 + w->number * 11) % COLUMNS;
        anymax_map m = {.kind = turn % 2 ? ANYMAX_SOFTMAX : ANYMAX_ENTMAX15};
        anymax_tensor tx = anymax_host_tensor(x, ANYMAX_F32, 1, &n);
        anymax_tensor ty = anymax_host_tensor(y, ANYMAX_F32, 1, &n);
        double sum = 0;
        for (int64_t i = 0; i < n; i++) x[i] = (float)((i * (w->number + 3)) % 17) / 4;
        if (anymax_map_forward(stream, &m, &tx, &ty) != ANYMAX_OK) w->failures++;
        if (anymax_stream_sync(stream) != ANYMAX_OK) w->failures++;
        for (int64_t i = 0; i < n; i++) sum += y[i];
        if (fabs(sum - 1) > 1e-5) w->failures++;
        w->sum += y[n - 1];
    }
    anymax_stream_release(stream);
}

START_TEST(many_threads) {
    worker together[WORKERS], alone[WORKERS];
    am_thread threads[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        alone[i] = together[i] = (worker){test_main_device.device, i, 0, 0};
        work(&alone[i]);
    }
    for (int i = 0; i < WORKERS; i++) ck_assert(am_thread_start(&threads[i], work, &together[i]));
    for (int i = 0; i < WORKERS; i++) am_thread_join(&threads[i]);
    for (int i = 0; i < WORKERS; i++)
        ck_assert_msg(together[i].failures == 0 && together[i].sum == alone[i].sum,
                      "thread %d: %d failures, %.9g instead of %.9g", i, together[i].failures,
                      (double)together[i].sum, (double)alone[i].sum);
}
END_TEST

/* ---------------------------------------------------------------- the registry */

static void check_param(const anymax_op_info *op, const anymax_op_param *p) {
    bool also = p->also == NULL;
    ck_assert_msg(p->type > ANYMAX_VALUE_ABSENT && p->type <= ANYMAX_VALUE_LIST, "%s: %s", op->name,
                  p->name);
    ck_assert_msg(p->standard != NULL && p->range != NULL, "%s: %s lacks a default or a range",
                  op->name, p->name);
    for (int i = 0; i < ANYMAX_OP_MAX_TENSORS && op->inputs[i].name; i++)
        if (p->also && strcmp(p->also, op->inputs[i].name) == 0) also = true;
    ck_assert_msg(also, "%s: %s is given by an input '%s' that does not exist", op->name, p->name,
                  p->also);
}

START_TEST(registry) {
    size_t count = anymax_op_count();
    ck_assert_uint_ge(count, 9);
    ck_assert_ptr_null(anymax_op_at(count));
    ck_assert_ptr_null(anymax_op_find("softmin"));
    ck_assert_ptr_null(anymax_op_find(NULL));
    for (size_t i = 0; i < count; i++) {
        const anymax_op_info *op = anymax_op_at(i);
        ck_assert_ptr_eq(anymax_op_find(op->name), op);
        ck_assert_msg(op->group && op->summary && op->formula && op->source && op->group[0] &&
                          op->summary[0] && op->formula[0] && op->source[0],
                      "%s says too little of itself", op->name);
        ck_assert_msg(op->inputs[0].name && op->outputs[0].name && !op->outputs[0].optional, "%s",
                      op->name);
        for (size_t k = 0; k < i; k++) ck_assert_str_ne(op->name, anymax_op_at(k)->name);
        for (int k = 0; k < ANYMAX_OP_MAX_TENSORS && op->inputs[k].name; k++)
            ck_assert_msg(op->inputs[k].shape != NULL && (!op->inputs[k].differentiable ||
                                                          op->inputs[k].type == ANYMAX_CLASS_FLOAT),
                          "%s: %s", op->name, op->inputs[k].name);
        for (int k = 0; k < ANYMAX_OP_MAX_TENSORS && op->params[k].name; k++)
            check_param(op, &op->params[k]);
    }
}
END_TEST

static void add(Suite *suite) {
    TCase *devices = tcase_create("devices"), *rest = tcase_create("runtime");
    tcase_add_test(devices, visit_devices);
    tcase_add_test(devices, selectors);
    tcase_add_test(devices, selectors_in_vain);
    tcase_add_test(devices, pretended_grammar);
    suite_add_tcase(suite, devices);
    tcase_add_test(rest, release_early);
    tcase_add_test(rest, release_with_work);
    tcase_add_test(rest, buffer_copies);
    tcase_add_test(rest, out_of_memory);
    tcase_add_test(rest, errors_and_version);
    tcase_add_test(rest, messages_by_thread);
    tcase_add_test(rest, many_threads);
    tcase_add_test(rest, registry);
    suite_add_tcase(suite, rest);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "runtime", add);
}
