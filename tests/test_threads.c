/* Threads: one device shared by eight, a device for each, two devices on the same hardware, the
 * first use of a kernel by all at once. Results have the bits of a run that one thread made before.
 * And the same work again and again has the same bits each time. */
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

/* ---------------------------------------------------------------- again and again */

enum { ROWS = 40, N = 777, LONG = 300000, REPLAYS = 200 };

typedef struct replay {
    anymax_buffer *x, *y, *grad, *loss, *target, *row;
    anymax_tensor tx, ty, tgrad, tloss, ttarget, trow;
} replay;

static anymax_tensor make(anymax_buffer **buffer, anymax_dtype dtype, uint32_t rank, int64_t rows,
                          int64_t n) {
    const int64_t shape[2] = {rows, n};
    const size_t size = (size_t)(rows * (rank == 2 ? n : 1)) * 4;
    ck_assert_int_eq(anymax_buffer_create(test_main_device.device, size, buffer), ANYMAX_OK);
    return anymax_buffer_tensor(*buffer, 0, dtype, rank, shape);
}

/* Softmax, its gradient, cross entropy and its gradient, InfoNCE's, and a row that is split:
 * everything in one recording, or with a wait after each call. */
static void play(const replay *r, bool wait) {
    anymax_stream *s = test_main_device.stream;
    anymax_map soft = {.kind = ANYMAX_SOFTMAX}, sparse = {.kind = ANYMAX_ENTMAX15};
    anymax_cross_entropy ce = {.label_smoothing = 0.1f};
    anymax_infonce nce = {.symmetric = true};
    anymax_map_grads grads = {.x = &r->tgrad};
    anymax_infonce_grads more = {.query = &r->tgrad, .accumulate = true};
    anymax_status status[7];
#define STEP(i, call)   \
    status[i] = (call); \
    if (wait && status[i] == ANYMAX_OK) status[i] = anymax_stream_sync(s)
    STEP(0, anymax_map_forward(s, &sparse, &r->tx, &r->ty));
    STEP(1, anymax_map_backward(s, &soft, &r->tx, NULL, &r->ty, &grads));
    STEP(2, anymax_cross_entropy_forward(s, &ce, &r->ty, &r->ttarget, NULL, &r->tloss, NULL));
    STEP(3, anymax_cross_entropy_backward(s, &ce, &r->ty, &r->ttarget, NULL, &r->tloss, NULL,
                                          &r->tgrad, true));
    STEP(4, anymax_infonce_backward(s, &nce, &r->tx, &r->ty, NULL, &r->tloss, NULL, &more));
    STEP(5, anymax_map_forward(s, &soft, &r->tgrad, &r->ty));
    STEP(6, anymax_map_forward(s, &soft, &r->trow, &r->trow));
    for (int i = 0; i < COUNT(status); i++)
        ck_assert_msg(status[i] == ANYMAX_OK, "step %d: %s", i, anymax_error_message());
}

START_TEST(replays) {
    anymax_stream *s = test_main_device.stream;
    static float x[ROWS * N], row[LONG], got[2][2 * ROWS * N + ROWS + LONG];
    static int32_t target[ROWS];
    replay r;
    r.tx = make(&r.x, ANYMAX_F32, 2, ROWS, N);
    r.ty = make(&r.y, ANYMAX_F32, 2, ROWS, N);
    r.tgrad = make(&r.grad, ANYMAX_F32, 2, ROWS, N);
    r.tloss = make(&r.loss, ANYMAX_F32, 1, ROWS, 0);
    r.ttarget = make(&r.target, ANYMAX_I32, 1, ROWS, 0);
    r.trow = make(&r.row, ANYMAX_F32, 2, 1, LONG);
    for (int i = 0; i < ROWS * N; i++) x[i] = (float)(i * 7919 % 1009) / 256;
    for (int i = 0; i < LONG; i++) row[i] = (float)(i * 7919ll % 100003) / 8192;
    for (int i = 0; i < ROWS; i++) target[i] = i * 13 % N;
    ck_assert_int_eq(anymax_buffer_write(s, r.x, 0, x, sizeof x), ANYMAX_OK);
    ck_assert_int_eq(anymax_buffer_write(s, r.target, 0, target, sizeof target), ANYMAX_OK);
    for (int i = 0; i < REPLAYS; i++) {
        float *to = got[i > 0];
        memset(to, 0xff, sizeof got[0]);
        ck_assert_int_eq(anymax_buffer_write(s, r.row, 0, row, sizeof row), ANYMAX_OK);
        play(&r, i % 10 == 9);
        ck_assert_int_eq(anymax_buffer_read(s, r.y, 0, to, sizeof x), ANYMAX_OK);
        ck_assert_int_eq(anymax_buffer_read(s, r.grad, 0, to + ROWS * N, sizeof x), ANYMAX_OK);
        ck_assert_int_eq(anymax_buffer_read(s, r.loss, 0, to + 2 * ROWS * N, ROWS * 4), ANYMAX_OK);
        ck_assert_int_eq(anymax_buffer_read(s, r.row, 0, to + 2 * ROWS * N + ROWS, sizeof row),
                         ANYMAX_OK);
        ck_assert_int_eq(anymax_stream_sync(s), ANYMAX_OK);
        ck_assert_msg(memcmp(got[0], to, sizeof got[0]) == 0, "replay %d of %d has other bits", i,
                      REPLAYS);
    }
    ck_assert(got[0][0] > 0 && got[0][0] < 1);
    anymax_buffer_release(r.x);
    anymax_buffer_release(r.y);
    anymax_buffer_release(r.grad);
    anymax_buffer_release(r.loss);
    anymax_buffer_release(r.target);
    anymax_buffer_release(r.row);
}
END_TEST

static void add(Suite *suite) {
    TCase *all = tcase_create("threads"), *again = tcase_create("replays");
    tcase_add_unchecked_fixture(all, set_up, NULL);
    tcase_add_test(all, one_device);
    tcase_add_test(all, a_device_each);
    tcase_add_test(all, two_devices);
    tcase_add_test(all, by_turns);
    tcase_add_test(all, devices_come_and_go);
    tcase_add_test(all, first_use);
    tcase_add_test(all, references);
    tcase_add_test(all, messages);
    tcase_add_test(all, log_lines);
    suite_add_tcase(suite, all);
    tcase_add_test(again, replays);
    suite_add_tcase(suite, again);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "threads", add);
}
