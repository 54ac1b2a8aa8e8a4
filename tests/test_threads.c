/* Threads: one device shared by eight, a device for each, two devices on the same hardware, the
 * first use of a kernel by all at once. Results have the bits of a run that one thread made before.
 */
#include "support/device.h"
#include "support/mix.h"

#include "os.h" /* threads, which C11 has only on some targets */

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, TURNS = 200 };

static uint64_t serial[THREADS + TURNS]; /* of each turn's number */

static void set_up(void) {
    for (uint32_t i = 0; i < THREADS + TURNS; i++) {
        serial[i] = mix_turn(test_main_device.stream, i);
        ck_assert_msg(serial[i] != 0, "turn %u: %s", i, anymax_error_message());
    }
}

static anymax_device *open_device(void) {
    anymax_device_desc desc = {.selector = test_selector(), .threads = 2};
    anymax_device *device = NULL;
    return anymax_device_open(&desc, &device) == ANYMAX_OK ? device : NULL;
}

/* ---------------------------------------------------------------- running in threads */

/* All threads wait here, and go at once. */
typedef struct gate {
    am_mutex mutex;
    am_condition moved;
    int waiting, wanted;
} gate;

static void pass(gate *g) {
    am_mutex_lock(&g->mutex);
    g->waiting++;
    am_condition_broadcast(&g->moved);
    while (g->waiting < g->wanted) am_condition_wait(&g->moved, &g->mutex);
    am_mutex_unlock(&g->mutex);
}

typedef struct worker {
    gate *gate;
    anymax_device *device; /* NULL: opens its own */
    uint32_t number, turns;
    bool crowd; /* all begin with the same turn */
    int done;
    char failure[400]; /* "" if all went well: only the main thread may fail the test */
} worker;

static void went_wrong(worker *w, const char *what, uint32_t turn) {
    if (w->failure[0]) return;
    snprintf(w->failure, sizeof w->failure, "thread %u, turn %u: %s: %.300s", w->number, turn, what,
             anymax_error_message());
}

/* Each thread begins with another turn, so that different kinds meet. */
static void work(void *user) {
    worker *w = user;
    anymax_device *device = w->device;
    anymax_stream *stream = NULL;
    pass(w->gate);
    if (device == NULL) device = open_device();
    if (device == NULL || anymax_stream_create(device, NULL, &stream) != ANYMAX_OK)
        went_wrong(w, "no stream", 0);
    for (uint32_t i = 0; i < w->turns && !w->failure[0]; i++) {
        uint32_t turn = w->crowd ? i : w->number + i;
        uint64_t got = mix_turn(stream, turn);
        if (got == 0) went_wrong(w, "failed", turn);
        if (got != serial[turn]) went_wrong(w, "other bits than in one thread", turn);
        w->done++;
    }
    anymax_stream_release(stream);
    if (w->device == NULL) anymax_device_release(device);
}

/* One call of `run` in each thread, on the devices given, or each on its own. */
static void run_threads(void (*run)(void *), anymax_device *const *devices, int device_count,
                        uint32_t turns, bool crowd) {
    worker workers[THREADS];
    am_thread threads[THREADS];
    gate g = {.wanted = THREADS};
    ck_assert(am_mutex_init(&g.mutex) && am_condition_init(&g.moved));
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.gate = &g, .number = (uint32_t)i, .turns = turns, .crowd = crowd};
        if (device_count > 0) workers[i].device = devices[i % device_count];
        ck_assert(am_thread_start(&threads[i], run, &workers[i]));
    }
    for (int i = 0; i < THREADS; i++) am_thread_join(&threads[i]);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_msg(workers[i].failure[0] == 0, "%s", workers[i].failure);
        ck_assert_uint_eq((uint32_t)workers[i].done, turns);
    }
    am_condition_destroy(&g.moved);
    am_mutex_destroy(&g.mutex);
}

/* ---------------------------------------------------------------- devices and threads */

START_TEST(one_device) {
    run_threads(work, &test_main_device.device, 1, TURNS, false);
}
END_TEST

START_TEST(a_device_each) {
    run_threads(work, NULL, 0, MIX_KINDS, false);
}
END_TEST

START_TEST(two_devices) {
    anymax_device *two[2] = {open_device(), open_device()};
    ck_assert(two[0] != NULL && two[1] != NULL);
    run_threads(work, two, 2, MIX_KINDS, false);
    anymax_device_release(two[0]);
    anymax_device_release(two[1]);
}
END_TEST

/* The same kernels on two devices by turns, each of which may be closed while the other goes on. */
START_TEST(by_turns) {
    anymax_stream *stream[2];
    anymax_device *device[2];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++) {
            device[i] = open_device();
            ck_assert(device[i] != NULL);
            ck_assert_int_eq(anymax_stream_create(device[i], NULL, &stream[i]), ANYMAX_OK);
        }
        for (uint32_t turn = 0; turn < 2 * MIX_KINDS; turn++)
            ck_assert_msg(mix_turn(stream[turn % 2], turn / 2) == serial[turn / 2], "turn %u",
                          turn);
        anymax_stream_release(stream[round]);
        anymax_device_release(device[round]);
        for (uint32_t turn = 0; turn < MIX_KINDS; turn++)
            ck_assert_msg(mix_turn(stream[1 - round], turn) == serial[turn],
                          "turn %u after the other device was closed", turn);
        anymax_stream_release(stream[1 - round]);
        anymax_device_release(device[1 - round]);
    }
}
END_TEST

/* Devices come and go in some threads while others work. */
static void come_and_go(void *user) {
    worker *w = user;
    if (w->number % 4 != 3) {
        work(w);
        return;
    }
    pass(w->gate);
    for (uint32_t i = 0; i < w->turns; i++) {
        anymax_device *device = open_device();
        anymax_stream *stream = NULL;
        if (device == NULL || anymax_stream_create(device, NULL, &stream) != ANYMAX_OK)
            went_wrong(w, "no stream", i);
        else if (mix_turn(stream, 0) != serial[0])
            went_wrong(w, "other bits than in one thread", 0);
        anymax_device_release(device); /* the stream keeps it */
        anymax_stream_release(stream);
        w->done++;
    }
}

START_TEST(devices_come_and_go) {
    run_threads(come_and_go, &test_main_device.device, 1, MIX_KINDS, false);
}
END_TEST

/* All threads want the same kernel first, of a device that has compiled nothing. */
START_TEST(first_use) {
    anymax_device_desc desc = {.selector = test_selector(), .no_cache = true};
    anymax_device *device;
    ck_assert_int_eq(anymax_device_open(&desc, &device), ANYMAX_OK);
    run_threads(work, &device, 1, 2, true);
    anymax_device_release(device);
}
END_TEST

/* Handles are retained and released by many threads; the last one frees. */
static void retain_and_release(void *user) {
    worker *w = user;
    pass(w->gate);
    for (uint32_t i = 0; i < w->turns; i++) {
        anymax_buffer *buffer = NULL;
        anymax_device_retain(w->device);
        if (anymax_buffer_create(w->device, 1000 + i, &buffer) != ANYMAX_OK)
            went_wrong(w, "buffer", i);
        anymax_buffer_retain(buffer);
        if (anymax_buffer_size(buffer) != 1000 + i ||
            anymax_device_get_info(w->device)->name[0] == 0)
            went_wrong(w, "size or name", i);
        anymax_buffer_release(buffer);
        anymax_buffer_release(buffer);
        anymax_device_release(w->device);
        w->done++;
    }
}

START_TEST(references) {
    anymax_device *device = open_device();
    ck_assert(device != NULL);
    run_threads(retain_and_release, &device, 1, 200, false);
    anymax_device_release(device);
}
END_TEST

/* A sum and a stream that go from thread to thread, while all read another buffer: a turn that does
 * not see the one before it leaves that out of the sum. */
static struct {
    am_mutex mutex;
    anymax_stream *stream;
    anymax_buffer *shared, *common;
} relay;

enum { BATON = 500 };

static anymax_status add_to_sum(anymax_stream *stream, anymax_device *device) {
    const int64_t n = BATON;
    anymax_tensor x = anymax_buffer_tensor(relay.common, 0, ANYMAX_F32, 1, &n);
    anymax_tensor sum = anymax_buffer_tensor(relay.shared, 0, ANYMAX_F32, 1, &n);
    anymax_map map = {.kind = ANYMAX_SOFTMAX};
    anymax_map_grads grads = {.x = &sum, .accumulate = true};
    anymax_stream *own = NULL;
    anymax_status status = ANYMAX_OK;
    if (stream == NULL) status = anymax_stream_create(device, NULL, &own);
    if (stream == NULL) stream = own;
    if (status == ANYMAX_OK) status = anymax_map_backward(stream, &map, &x, NULL, &x, &grads);
    if (status == ANYMAX_OK) status = anymax_stream_sync(stream);
    anymax_stream_release(own);
    return status;
}

static void pass_on(void *user) {
    worker *w = user;
    float copy[BATON];
    anymax_stream *own = NULL;
    pass(w->gate);
    if (anymax_stream_create(w->device, NULL, &own) != ANYMAX_OK) went_wrong(w, "stream", 0);
    for (uint32_t i = 0; i < w->turns && !w->failure[0]; i++) {
        if (anymax_buffer_read(own, relay.common, 0, copy, sizeof copy) != ANYMAX_OK ||
            anymax_stream_sync(own) != ANYMAX_OK || copy[BATON - 1] != (BATON - 1) / 64.0f)
            went_wrong(w, "what all read", i);
        am_mutex_lock(&relay.mutex);
        if (add_to_sum(w->number % 2 ? relay.stream : NULL, w->device) != ANYMAX_OK)
            went_wrong(w, "what is passed on", i);
        am_mutex_unlock(&relay.mutex);
        w->done++;
    }
    anymax_stream_release(own);
}

START_TEST(handed_over) {
    enum { TIMES = 5 };
    float start[BATON], got[2][BATON];
    relay.stream = test_main_device.stream;
    ck_assert(am_mutex_init(&relay.mutex));
    for (int i = 0; i < BATON; i++) start[i] = (float)i / 64;
    for (int k = 0; k < 2; k++) {
        anymax_device *device = test_main_device.device;
        ck_assert_int_eq(anymax_buffer_create(device, sizeof start, &relay.shared), ANYMAX_OK);
        ck_assert_int_eq(anymax_buffer_create(device, sizeof start, &relay.common), ANYMAX_OK);
        anymax_buffer_write(relay.stream, relay.shared, 0, start, sizeof start);
        anymax_buffer_write(relay.stream, relay.common, 0, start, sizeof start);
        ck_assert_int_eq(anymax_stream_sync(relay.stream), ANYMAX_OK);
        for (int i = 0; k == 0 && i < THREADS * TIMES; i++)
            ck_assert_int_eq(add_to_sum(relay.stream, device), ANYMAX_OK);
        if (k == 1) run_threads(pass_on, &device, 1, TIMES, false);
        anymax_buffer_read(relay.stream, relay.shared, 0, got[k], sizeof start);
        ck_assert_int_eq(anymax_stream_sync(relay.stream), ANYMAX_OK);
        anymax_buffer_release(relay.shared);
        anymax_buffer_release(relay.common);
    }
    am_mutex_destroy(&relay.mutex);
    ck_assert_mem_eq(got[0], got[1], sizeof start);
}
END_TEST

/* Works in close succession, just large enough to be shared with a helper that is awake, and now
 * and then one that is large enough to wake one. */
enum { FEW_ROWS = 64, MANY_ROWS = 600, COLUMNS = 512, CLOSE = 32 };

static float succession_input[MANY_ROWS * COLUMNS];
static float succession_wanted[2][MANY_ROWS * COLUMNS]; /* of few rows, of many */

static anymax_status soften(anymax_stream *stream, int64_t rows, float *out) {
    const int64_t sizes[2] = {rows, COLUMNS};
    anymax_tensor x = anymax_host_tensor(succession_input, ANYMAX_F32, 2, sizes);
    anymax_tensor y = anymax_host_tensor(out, ANYMAX_F32, 2, sizes);
    anymax_map map = {.kind = ANYMAX_SOFTMAX};
    anymax_status status = anymax_map_forward(stream, &map, &x, &y);
    return status == ANYMAX_OK ? anymax_stream_sync(stream) : status;
}

static void soften_often(void *user) {
    worker *w = user;
    anymax_stream *stream = NULL;
    float *out = malloc(sizeof succession_input);
    pass(w->gate);
    if (out == NULL || anymax_stream_create(w->device, NULL, &stream) != ANYMAX_OK)
        went_wrong(w, "no stream", 0);
    for (uint32_t i = 0; i < w->turns && !w->failure[0]; i++) {
        const int many = i % 16 == 15;
        const int64_t rows = many ? MANY_ROWS : FEW_ROWS;
        memset(out, 0, sizeof succession_input);
        if (soften(stream, rows, out) != ANYMAX_OK) went_wrong(w, "failed", i);
        if (memcmp(out, succession_wanted[many], (size_t)rows * COLUMNS * sizeof *out) != 0)
            went_wrong(w, "other bits than in one thread", i);
        w->done++;
    }
    free(out);
    anymax_stream_release(stream);
}

START_TEST(in_succession) {
    anymax_device_desc desc = {.selector = test_selector(), .threads = 1};
    anymax_device *one = NULL, *two = open_device();
    anymax_stream *stream;
    for (int i = 0; i < MANY_ROWS * COLUMNS; i++) succession_input[i] = (float)(i % 1009) / 64;
    ck_assert(two != NULL);
    ck_assert_int_eq(anymax_device_open(&desc, &one), ANYMAX_OK);
    ck_assert_int_eq(anymax_stream_create(one, NULL, &stream), ANYMAX_OK);
    ck_assert_int_eq(soften(stream, FEW_ROWS, succession_wanted[0]), ANYMAX_OK);
    ck_assert_int_eq(soften(stream, MANY_ROWS, succession_wanted[1]), ANYMAX_OK);
    run_threads(soften_often, &two, 1, CLOSE, false);
    /* And alone, where nobody but the helper takes part. */
    worker alone = {.gate = &(gate){.wanted = 1}, .device = two, .turns = CLOSE};
    ck_assert(am_mutex_init(&alone.gate->mutex) && am_condition_init(&alone.gate->moved));
    soften_often(&alone);
    ck_assert_msg(alone.failure[0] == 0, "%s", alone.failure);
    am_condition_destroy(&alone.gate->moved);
    am_mutex_destroy(&alone.gate->mutex);
    anymax_stream_release(stream);
    anymax_device_release(one);
    anymax_device_release(two);
}
END_TEST

/* ---------------------------------------------------------------- messages and the log */

/* The message of a thread stays as it is, whatever fails in others. */
static void fail_often(void *user) {
    worker *w = user;
    char name[40], message[1024];
    snprintf(name, sizeof name, "no operation %u", w->number);
    pass(w->gate);
    if (anymax_error_message()[0] != 0) went_wrong(w, "a message before any failure", 0);
    for (uint32_t i = 0; i < w->turns; i++) {
        anymax_status status = anymax_call_shape(name, NULL, 0, NULL, 0, "y", NULL, NULL);
        snprintf(message, sizeof message, "%s", anymax_error_message());
        if (status == ANYMAX_OK || strstr(message, name) == NULL)
            went_wrong(w, "another's message", i);
        if (strcmp(message, anymax_error_message()) != 0)
            went_wrong(w, "a message that changed", i);
        w->done++;
    }
}

START_TEST(messages) {
    run_threads(fail_often, &test_main_device.device, 1, 500, false);
}
END_TEST

static atomic_int lines, odd_lines;

static void count_line(void *user, const char *message) {
    const char *end = " and will be made again";
    const size_t length = strlen(message), tail = strlen(end);
    (void)user;
    atomic_fetch_add(&lines, 1);
    if (strncmp(message, "cache: ", 7) != 0 || length < tail ||
        strcmp(message + length - tail, end) != 0)
        atomic_fetch_add(&odd_lines, 1);
}

static void log_often(void *user) {
    worker *w = user;
    char key[16];
    snprintf(key, sizeof key, "t%u", w->number);
    pass(w->gate);
    for (uint32_t i = 0; i < w->turns; i++) {
        anymax_set_log(count_line, NULL);
        am_cache_reject(key, "is damaged");
        w->done++;
    }
}

/* Lines come from any thread, several at a time, each whole; the callback may be set meanwhile. */
START_TEST(log_lines) {
    atomic_store(&lines, 0);
    atomic_store(&odd_lines, 0);
    anymax_set_log(count_line, NULL);
    run_threads(log_often, &test_main_device.device, 1, 200, false);
    ck_assert_int_eq(atomic_load(&odd_lines), 0);
    ck_assert_int_eq(atomic_load(&lines), THREADS * 200);
    anymax_set_log(NULL, NULL);
}
END_TEST

static void add(Suite *suite) {
    TCase *all = tcase_create("threads");
    tcase_add_unchecked_fixture(all, set_up, NULL);
    tcase_add_test(all, one_device);
    tcase_add_test(all, a_device_each);
    tcase_add_test(all, two_devices);
    tcase_add_test(all, by_turns);
    tcase_add_test(all, devices_come_and_go);
    tcase_add_test(all, first_use);
    tcase_add_test(all, references);
    tcase_add_test(all, handed_over);
    tcase_add_test(all, in_succession);
    tcase_add_test(all, messages);
    tcase_add_test(all, log_lines);
    suite_add_tcase(suite, all);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "threads", add);
}
