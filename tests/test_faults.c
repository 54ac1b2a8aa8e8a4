/* Every call of the library to a driver, and every allocation of host memory, is made to fail in
 * turn, in programs that go through all forms of launches and copies. Each time: a status with its
 * message, outputs whole or as they were, and the next operation right; after a lost device, the
 * same loss from every call, and a device that can be opened again. */
#include "support/device.h"
#include "support/session.h"

#include "device.h" /* of the runtime: its faults */
#include "os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLOAT(n, v)                            \
    {                                          \
        n, {                                   \
            .type = ANYMAX_VALUE_FLOAT, .f = v \
        }                                      \
    }
#define STRING(n, v)                            \
    {                                           \
        n, {                                    \
            .type = ANYMAX_VALUE_STRING, .s = v \
        }                                       \
    }
#define BOOL(n, v)                            \
    {                                         \
        n, {                                  \
            .type = ANYMAX_VALUE_BOOL, .b = v \
        }                                     \
    }

static const session_program programs[] = {
    {.name = "short rows on the device",
     .op = "softmax",
     .tensor = {{"x", 2, {7, 33}}, {"y", 2, {7, 33}, .output = true}}},
    {.name = "split rows of the host",
     .op = "log_softmax",
     .pretend = "skeleton=split",
     .tensor = {{"x", 2, {2, 700}, .host = true},
                {"y", 2, {2, 700}, .output = true, .host = true}}},
    {.name = "online, into gaps, twice",
     .op = "softmax",
     .pretend = "skeleton=stream",
     .tensor = {{"x", 2, {3, 9000}, .gaps = true},
                {"y", 2, {3, 9000}, .output = true, .host = true, .gaps = true}},
     .twice = true},
    {.name = "entmax of the host",
     .op = "entmax",
     .tensor = {{"x", 2, {5, 40}, .host = true},
                {"y", 2, {5, 40}, .output = true, .host = true, .gaps = true}},
     .param = FLOAT("alpha", 1.75)},
    {.name = "mean loss",
     .op = "cross_entropy",
     .tensor = {{"x", 2, {6, 50}},
                {"target", 1, {6}, .host = true},
                {"loss", 1, {1}, .output = true, .host = true},
                {"lse", 1, {6}, .output = true}},
     .param = STRING("reduction", "mean")},
    {.name = "gradient of the loss",
     .op = "cross_entropy",
     .tensor = {{"x", 2, {6, 50}, .host = true},
                {"target", 1, {6}},
                {"up.loss", 1, {6}},
                {"grad.x", 2, {6, 50}, .output = true}}},
    {.name = "contrastive loss",
     .op = "infonce_loss",
     .tensor = {{"query", 2, {12, 8}},
                {"key", 2, {12, 8}, .host = true},
                {"loss", 1, {12}, .output = true},
                {"lse", 1, {12}, .output = true, .host = true}}},
    {.name = "gradients of the contrastive loss",
     .op = "infonce_loss",
     .tensor = {{"query", 2, {12, 8}},
                {"key", 2, {12, 8}, .host = true},
                {"up.loss", 1, {12}},
                {"grad.query", 2, {12, 8}, .output = true, .holds = true},
                {"grad.key", 2, {12, 8}, .output = true, .host = true, .holds = true}},
     .param = BOOL("accumulate", true)},
    {.name = "many pieces in place",
     .op = "softmax",
     .pretend = "groups=1,invocations=16,range=16k",
     .tensor = {{"x", 2, {1200, 20}}, {"y", 2, {1200, 20}, .output = true}},
     .in_place = true,
     .pieces = true},
    {.name = "few bindings",
     .op = "cross_entropy",
     .pretend = "buffers=4",
     .tensor = {{"x", 2, {6, 50}},
                {"target", 1, {6}},
                {"up.loss", 1, {6}},
                {"grad.x", 2, {6, 50}, .output = true}}},
    {.name = "beyond the rings of a stream",
     .op = "softmax",
     .pretend = "mapped=0",
     .tensor = {{"x", 2, {600, 500}, .host = true},
                {"y", 2, {600, 500}, .output = true, .host = true}},
     .pieces = true},
};

static const struct {
    am_fault kind;
    uint32_t times;
    const char *name;
} walks[] = {
    {AM_FAULT_OOM, 1, "out of memory"},
    {AM_FAULT_OOM, 1000, "no memory at all"},
    {AM_FAULT_COMPILE, 1, "failed to build"},
    {AM_FAULT_SUBMIT, 1, "refused once"},
    {AM_FAULT_SUBMIT, 2, "refused twice"},
    {AM_FAULT_WAIT, 1, "not waited for once"},
    {AM_FAULT_WAIT, 2, "not waited for twice"},
    {AM_FAULT_LOST, 1, "lost"}, /* the last: see losses */
};

/* ---------------------------------------------------------------- the contract */

static void must(anymax_status status, const char *what) {
    ck_assert_msg(status == ANYMAX_OK, "%s, %s: %s", test_selector(), what, anymax_error_message());
}

static const session_allowed whole = {true, false}, untouched = {false, true},
                             either = {true, true};

static void must_match(const session *s, const unsigned char *want, session_allowed allowed,
                       bool buffers, const char *what) {
    const char *wrong = session_differs(s, want, allowed, buffers);
    ck_assert_msg(!wrong, "%s, %s: %s is not%s%s%s", test_selector(), what, wrong,
                  allowed.whole ? " whole" : "", allowed.whole && allowed.untouched ? " or" : "",
                  allowed.untouched ? " untouched" : "");
}

static void must_say(anymax_status status, anymax_status want, const char *part, const char *what) {
    ck_assert_msg(status == want, "%s, %s: '%s' instead of '%s': %s", test_selector(), what,
                  anymax_status_string(status), anymax_status_string(want), anymax_error_message());
    ck_assert_msg(strstr(anymax_error_message(), part) && anymax_error_message()[0],
                  "%s, %s: \"%s\"", test_selector(), what, anymax_error_message());
}

/* Every call says the same, and all can be released. */
static void after_loss(session *s, const char *what) {
    const char *selector = s->device ? anymax_device_get_info(s->device)->selector : "";
    anymax_stream *stream;
    anymax_buffer *buffer;
    must_say(ANYMAX_ERROR_DEVICE_LOST, ANYMAX_ERROR_DEVICE_LOST, selector, what);
    if (s->device) {
        must_say(anymax_buffer_create(s->device, 4, &buffer), ANYMAX_ERROR_DEVICE_LOST, selector,
                 what);
        must_say(anymax_stream_create(s->device, NULL, &stream), ANYMAX_ERROR_DEVICE_LOST, selector,
                 what);
    }
    if (s->stream)
        must_say(anymax_stream_sync(s->stream), ANYMAX_ERROR_DEVICE_LOST, selector, what);
    if (s->step >= SESSION_CALL)
        must_say(session_call(s), ANYMAX_ERROR_DEVICE_LOST, selector, what);
    session_close(s);
    s->pretend = s->program->pretend;
}

/* What was queued before the failed call may have failed with it, which the next sync tells. */
static void after_failure(session *s, const unsigned char *want, session_allowed allowed,
                          const char *what) {
    if (s->step < SESSION_CALL) return;
    if (s->step != SESSION_SYNC && anymax_stream_sync(s->stream) != ANYMAX_OK)
        ck_assert_msg(anymax_error_message()[0], "%s, %s: no message", test_selector(), what);
    must_match(s, want, allowed, false, what);
    session_forget(s);
    must(session_look(s), what);
    must_match(s, want, allowed, true, what);
    session_forget(s);
}

static void after(session *s, anymax_status status, const unsigned char *want,
                  session_allowed allowed, const char *what) {
    if (status != ANYMAX_OK) {
        ck_assert_msg(anymax_error_message()[0], "%s, %s: no message", test_selector(), what);
        must_match(s, want, allowed, false, what);
        if (status == ANYMAX_ERROR_DEVICE_LOST)
            after_loss(s, what);
        else
            after_failure(s, want, allowed, what);
        s->step = SESSION_OPEN;
        must(session_run(s), what);
    }
    must_match(s, want, whole, true, what);
}

/* ---------------------------------------------------------------- walks */

static unsigned char *good_outputs(const session_program *program) {
    session s = {.program = program, .pretend = program->pretend};
    unsigned char *want;
    must(session_run(&s), program->name);
    want = session_outputs(&s);
    session_close(&s);
    return want;
}

/* One fault at the n-th call of a session; false if there is no such call. */
static bool strike(session *s, int w, uint32_t n, const unsigned char *want) {
    const am_fault kind = walks[w].kind;
    char what[128];
    anymax_status status;
    bool fired;
    snprintf(what, sizeof what, "%s: %s at call %u", s->program->name, walks[w].name, (unsigned)n);
    s->step = SESSION_OPEN;
    if (!s->device) {
        anymax_device_desc desc = {.selector = test_selector(), .pretend = s->pretend};
        must(anymax_device_open(&desc, &s->device), what);
    }
    am_fault_arm(&s->device->faults, kind, n, walks[w].times);
    status = session_run(s);
    fired = am_fault_fired(&s->device->faults) > 0;
    ck_assert_msg(fired || status == ANYMAX_OK, "%s, %s: %s", test_selector(), what,
                  anymax_error_message());
    /* Work is offered twice. Memory that runs out is never fatal, unless a command buffer cannot be
     * closed half way; and before all is built nothing runs. */
    if ((kind == AM_FAULT_SUBMIT || kind == AM_FAULT_WAIT) && walks[w].times == 1)
        must(status, what);
    if (kind == AM_FAULT_OOM && !s->program->pieces)
        ck_assert_msg(status != ANYMAX_ERROR_DEVICE_LOST, "%s, %s: %s", test_selector(), what,
                      anymax_error_message());
    if (kind != AM_FAULT_LOST) am_fault_arm(&s->device->faults, kind, 0, 1);
    after(s, status, want, kind == AM_FAULT_COMPILE ? untouched : either, what);
    /* Kernels are built once for a device. */
    if (kind == AM_FAULT_COMPILE || kind == AM_FAULT_LOST)
        session_close(s);
    else
        session_restart(s);
    return fired;
}

static void walk_through(const session_program *program, int w) {
    unsigned char *want = good_outputs(program);
    session s = {.program = program, .pretend = program->pretend};
    const double start = test_now();
    uint32_t n = 1;
    while (strike(&s, w, n, want)) n++;
    session_close(&s);
    free(want);
    printf("%s, %s: %u calls, %.2f s\n", program->name, walks[w].name, (unsigned)n - 1,
           test_now() - start);
    if (walks[w].kind == AM_FAULT_COMPILE && test_is_backend("cpu"))
        ck_assert_uint_eq(n, 1);
    else
        ck_assert_uint_gt(n, 1);
}

START_TEST(driver_calls) {
    walk_through(&programs[_i / (COUNT(walks) - 1)], _i % (COUNT(walks) - 1));
}
END_TEST

/* A device is opened twice for each call that loses it: programs with all kinds of calls. */
START_TEST(losses) {
    static const int which[] = {6, 10};
    walk_through(&programs[which[_i]], COUNT(walks) - 1);
}
END_TEST

/* The keys of ANYMAX_PRETEND count from the first call of opening. */
START_TEST(opening) {
    static const char *const keys[] = {"oom", "lost"};
    anymax_device *device = NULL;
    anymax_device_desc desc = {.selector = test_selector()};
    char pretend[32];
    uint32_t n = 1;
    for (;; n++) {
        anymax_status status;
        snprintf(pretend, sizeof pretend, "%s=%u", keys[_i], (unsigned)n);
        desc.pretend = pretend;
        status = anymax_device_open(&desc, &device);
        if (status == ANYMAX_OK) break;
        must_say(status, _i ? ANYMAX_ERROR_DEVICE_LOST : ANYMAX_ERROR_OUT_OF_MEMORY, "", pretend);
        ck_assert_ptr_null(device);
    }
    ck_assert_uint_eq(am_fault_fired(&device->faults), 0);
    ck_assert_uint_gt(n, 1);
    anymax_device_release(device);
}
END_TEST

START_TEST(host_memory) {
    static const int which[] = {2, 7}; /* gaps, products: everything that allocates */
    const session_program *program = &programs[which[_i]];
    unsigned char *want = good_outputs(program);
    session s = {.program = program, .pretend = program->pretend};
    bool failed = true;
    long n;
    for (n = 1; failed; n++) {
        char what[128];
        anymax_status status;
        snprintf(what, sizeof what, "%s: allocation %ld fails", program->name, n);
        am_alloc_fail_at(n);
        status = session_run(&s);
        failed = am_alloc_fail_at(0) == 0;
        ck_assert_msg(failed || status == ANYMAX_OK, "%s, %s: %s", test_selector(), what,
                      anymax_error_message());
        ck_assert_msg(status == ANYMAX_OK || status == ANYMAX_ERROR_OUT_OF_MEMORY ||
                          (s.step == SESSION_OPEN && status == ANYMAX_ERROR_NOT_FOUND),
                      "%s, %s: %s", test_selector(), what, anymax_error_message());
        after(&s, status, want, either, what);
        session_close(&s);
    }
    ck_assert_int_gt(n, 4);
    free(want);
    printf("%s: %ld allocations\n", program->name, n - 2);
}
END_TEST

/* ---------------------------------------------------------------- more than there is */

/* A workspace of a tebibyte, and a buffer: a status, after which small operations work. */
START_TEST(tebibyte) {
    const session_program *small = &programs[6];
    unsigned char *want = good_outputs(small);
    session s = {.program = small, .pretend = "memory=1g"};
    const int64_t rows = 1 << 19, shape[2] = {rows, 1};
    float *x = calloc((size_t)rows, sizeof *x), *y = calloc((size_t)rows, sizeof *y);
    anymax_tensor in = anymax_host_tensor(x, ANYMAX_F32, 2, shape);
    anymax_tensor out = anymax_host_tensor(y, ANYMAX_F32, 1, shape);
    anymax_named_tensor named[] = {{"query", &in}, {"key", &in}, {"loss", &out}};
    anymax_buffer *buffer;
    anymax_status status;
    ck_assert(x && y);
    must(session_run(&s), "before");
    status = anymax_buffer_create(s.device, (size_t)1 << 40, &buffer);
    must_say(status, ANYMAX_ERROR_OUT_OF_MEMORY, "1099511627776", "a buffer of a tebibyte");
    status = anymax_call(s.stream, "infonce_loss", named, 3, NULL, 0);
    ck_assert_msg(status == ANYMAX_ERROR_OUT_OF_MEMORY || status == ANYMAX_ERROR_UNSUPPORTED, "%s",
                  anymax_error_message());
    must(session_run(&s), "after");
    must_match(&s, want, whole, true, "after asking for a tebibyte");
    session_close(&s);
    free(want);
    free(x);
    free(y);
}
END_TEST

/* ---------------------------------------------------------------- order of reads */

/* A result for memory with gaps waits for the sync; what is read into the same memory later must
 * still come later. */
START_TEST(reads_in_order) {
    enum { N = 6 };
    const int64_t n = N;
    float x[N] = {0, 1, 2, 3, 4, 5}, y[2 * N], other[2 * N];
    anymax_map softmax = {.kind = ANYMAX_SOFTMAX};
    anymax_tensor in = anymax_host_tensor(x, ANYMAX_F32, 1, &n);
    anymax_tensor out = anymax_host_tensor(y, ANYMAX_F32, 1, &n);
    anymax_stream *stream = test_main_device.stream;
    anymax_buffer *buffer;
    out.strided = true;
    out.stride[0] = 2;
    for (int i = 0; i < 2 * N; i++) other[i] = (float)(100 + i);
    must(anymax_buffer_create(test_main_device.device, sizeof other, &buffer), "a buffer");
    must(anymax_buffer_write(stream, buffer, 0, other, sizeof other), "writing");
    must(anymax_map_forward(stream, &softmax, &in, &out), "softmax");
    must(anymax_buffer_read(stream, buffer, 0, y, sizeof y), "reading");
    must(anymax_stream_sync(stream), "sync");
    ck_assert_int_eq(memcmp(y, other, sizeof y), 0);
    anymax_buffer_release(buffer);
}
END_TEST

static void add(Suite *suite) {
    TCase *tc = tcase_create("faults");
    tcase_set_timeout(tc, 0);
    tcase_add_loop_test(tc, driver_calls, 0, COUNT(programs) * (COUNT(walks) - 1));
    tcase_add_loop_test(tc, losses, 0, 2);
    tcase_add_loop_test(tc, opening, 0, 2);
    tcase_add_loop_test(tc, host_memory, 0, 2);
    tcase_add_test(tc, tebibyte);
    tcase_add_test(tc, reads_in_order);
    suite_add_tcase(suite, tc);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "faults", add);
}
