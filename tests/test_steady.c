/* Calls that have been made before allocate nothing, whatever was called in between: all
 * operations, forward and backward, in several shapes, types and kinds of memory, one after the
 * other in rounds.
 *
 * Counted are the requests to am_alloc and, where the linker can put a function in front of another
 * (STEADY_WRAPS), all uses of malloc and its kin in the library's own object files. What drivers
 * allocate is theirs. */
#include "support/cases.h"

#include "os.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { WARM = 3, ROUNDS = 100, SHAPES = 2, MOST = 300 };

static struct {
    op_case item[MOST];
    bool backward[MOST];
    char name[MOST][64];
    trial *trial[MOST]; /* tensors in place, ready to be called */
    int count, ready;
} all;

/* ---------------------------------------------------------------- counting */

static atomic_long uses; /* of malloc and its kin */

#ifdef STEADY_WRAPS
/* The names that --wrap gives them. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_malloc(size_t size) {
    atomic_fetch_add(&uses, 1);
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    atomic_fetch_add(&uses, 1);
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    atomic_fetch_add(&uses, 1);
    return __real_realloc(memory, size);
}
#endif

static void count_from_here(void) {
    am_alloc_fail_at(LONG_MAX);
    atomic_store(&uses, 0);
}

/* Requests to am_alloc since then. */
static long requests(void) {
    return LONG_MAX - am_alloc_fail_at(LONG_MAX);
}

/* The counters count: an allocation is seen by both. */
START_TEST(counted) {
    void *memory[2];
    long asked, used;
    count_from_here();
    memory[0] = am_alloc(100);
    memory[1] = am_alloc_zero(3, 100);
    used = atomic_load(&uses); /* before Check allocates in its turn */
    asked = requests();
    am_alloc_fail_at(0);
    am_free(memory[0]);
    am_free(memory[1]);
    ck_assert_int_eq(asked, 2);
#ifdef STEADY_WRAPS
    ck_assert_int_eq(used, 2);
#else
    ck_assert_int_eq(used, 0);
#endif
}
END_TEST

/* ---------------------------------------------------------------- calls */

static anymax_status call(int i, anymax_stream *stream) {
    return all.item[i].typed ? op_case_typed(all.trial[i], stream)
                             : trial_by_name(all.trial[i], stream);
}

/* The first call that allocated; looked at later, as Check allocates too. */
static struct {
    bool found;
    int call;
    long asked, used;
} bad;

static anymax_status round_of_calls(anymax_stream *stream, bool wait) {
    for (int i = 0; i < all.count; i++) {
        anymax_status status = call(i, stream);
        long asked, used;
        if (status == ANYMAX_OK && wait) status = anymax_stream_sync(stream);
        if (status != ANYMAX_OK) return status;
        asked = requests();
        used = atomic_exchange(&uses, 0);
        if ((asked || used) && !bad.found) {
            bad.found = true;
            bad.call = i;
            bad.asked = asked;
            bad.used = used;
        }
    }
    return anymax_stream_sync(stream);
}

/* The first rounds make what is kept. New kernels are put on disk half a second later at the
 * latest, which allocates. One round waits after every call, the next one at its end. */
static anymax_status all_rounds(anymax_stream *stream) {
    double made = 0;
    anymax_status status = ANYMAX_OK;
    for (int r = 0; status == ANYMAX_OK && (r < WARM || test_now() - made < 0.6); r++) {
        status = round_of_calls(stream, r % 2 == 0);
        if (r < WARM) made = test_now();
    }
    count_from_here();
    bad.found = false;
    for (int r = 0; r < ROUNDS && status == ANYMAX_OK; r++)
        status = round_of_calls(stream, r % 2 == 0);
    am_alloc_fail_at(0);
    return status;
}

/* The call of one case: once its tensors are in place the next case's are made, and the last one
 * calls them all. Each then checks its own results. */
static anymax_status nested(trial *t, anymax_stream *stream) {
    const int next = all.ready + 1;
    all.trial[all.ready++] = t;
    if (next == all.count) return all_rounds(stream);
    op_case_run_with(t->device, &all.item[next], all.backward[next], nested);
    return ANYMAX_OK;
}

static void add_case(const op_case *c, const char *name) {
    for (int backward = 0; backward < 2; backward++) {
        const int i = all.count++;
        ck_assert_int_lt(i, MOST);
        all.item[i] = *c;
        snprintf(all.name[i], sizeof all.name[i], "%s", name);
        all.item[i].name = all.name[i];
        all.backward[i] = backward;
    }
}

START_TEST(steady) {
    /* Rows in parts, and host memory with gaps, which is spread after a sync. */
    static const op_case more[] = {
        {.name = "a row in parts", .op = "softmax", .rank = 2, .shape = {1, 300000}},
        {.name = "host gaps",
         .op = "softmax",
         .rank = 2,
         .shape = {5, 77},
         .host = true,
         .layout_out = LAYOUT_GAPS},
        {.name = "large host gaps",
         .op = "logsumexp",
         .rank = 2,
         .shape = {301, 5},
         .host = true,
         .layout_out = LAYOUT_GAPS},
        {.name = "host", .op = "cross_entropy", .rank = 2, .shape = {9, 70}, .host = true}};
    all.count = all.ready = 0;
    for (size_t op = 0; op < anymax_op_count(); op++)
        for (int shape = 0; shape < SHAPES; shape++) {
            char name[64];
            op_case c;
            snprintf(name, sizeof name, "random %d", shape);
            op_case_random(&c, anymax_op_at(op)->name, name, 1000 + op * SHAPES + (size_t)shape,
                           3000);
            /* Called again and again, they must give the same. */
            c.accumulate = false;
            c.in_place = NULL;
            add_case(&c, name);
        }
    for (int i = 0; i < COUNT(more); i++) add_case(&more[i], more[i].name);
    op_case_run_with(&test_main_device, &all.item[0], all.backward[0], nested);
    ck_assert_int_eq(all.ready, all.count);
    ck_assert_msg(!bad.found, "%s, %s, %s: %ld requests to am_alloc, %ld uses of malloc",
                  all.item[bad.call].op, all.name[bad.call],
                  all.backward[bad.call] ? "backward" : "forward", bad.asked, bad.used);
    printf("%d calls, %d times each: no allocation\n", all.count, ROUNDS);
}
END_TEST

static void add(Suite *suite) {
    TCase *cases = tcase_create("steady");
    tcase_add_test(cases, counted);
    tcase_add_test(cases, steady);
    suite_add_tcase(suite, cases);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "steady", add);
}
