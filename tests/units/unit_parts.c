/* Small parts: allocation and its hook, checked multiplication, messages, the table of row
 * programs. */
#include "error.h"
#include "fault.h"
#include "os.h"
#include "program.h"

#include "../support/suite.h"

#include <string.h>

START_TEST(multiplication_is_checked) {
    size_t out = 7;
    ck_assert(am_mul(0, SIZE_MAX, &out));
    ck_assert_uint_eq(out, 0);
    ck_assert(am_mul(SIZE_MAX / 2, 2, &out));
    ck_assert_uint_eq(out, SIZE_MAX - 1);
    ck_assert(!am_mul(SIZE_MAX / 2 + 1, 2, &out));
    ck_assert_ptr_null(am_alloc_zero(SIZE_MAX / 2, 3));
    ck_assert_ptr_null(am_alloc_aligned(64, SIZE_MAX - 8));
}
END_TEST

START_TEST(aligned_is_aligned) {
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        char *memory = am_alloc_aligned(alignment, 100);
        ck_assert_ptr_nonnull(memory);
        ck_assert_uint_eq((uintptr_t)memory % alignment, 0);
        memset(memory, 1, 100);
        am_free_aligned(memory);
    }
    am_free(NULL);
    am_free_aligned(NULL);
}
END_TEST

START_TEST(nth_allocation_fails) {
    void *memory[5];
    am_alloc_fail_at(3);
    for (int i = 0; i < 5; i++) {
        memory[i] = i % 2 ? am_alloc(8) : am_alloc_zero(1, 8);
        ck_assert_int_eq(memory[i] == NULL, i == 2);
    }
    for (int i = 0; i < 5; i++) am_free(memory[i]);
    am_alloc_fail_at(1);
    am_alloc_fail_at(0);
    memory[0] = am_alloc_aligned(64, 8);
    ck_assert_ptr_nonnull(memory[0]);
    am_free_aligned(memory[0]);
}
END_TEST

START_TEST(nth_call_fails) {
    static const am_pretend pretend = {.oom = 3, .times = 2, .lost = 9};
    am_faults faults = {0};
    ck_assert_int_eq(am_fault_strikes(NULL, AM_FAULT_OOM), AM_FAULT_NONE);
    ck_assert_int_eq(am_fault_strikes(&faults, AM_FAULT_OOM), AM_FAULT_NONE);
    am_fault_arm_all(&faults, &pretend);
    for (int i = 1; i <= 6; i++)
        ck_assert_int_eq(am_fault_strikes(&faults, AM_FAULT_OOM),
                         i == 3 || i == 4 ? AM_FAULT_OOM : AM_FAULT_NONE);
    ck_assert_uint_eq(am_fault_fired(&faults), 2);
    /* Any kind counts for a loss, which lasts. */
    ck_assert_int_eq(am_fault_strikes(&faults, AM_FAULT_SUBMIT), AM_FAULT_NONE);
    ck_assert_int_eq(am_fault_strikes(&faults, AM_FAULT_COMPILE), AM_FAULT_NONE);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(am_fault_strikes(&faults, AM_FAULT_WAIT), AM_FAULT_LOST);
    ck_assert_uint_eq(am_fault_fired(&faults), 5);
    am_fault_arm(&faults, AM_FAULT_LOST, 0, 1);
    ck_assert_int_eq(am_fault_strikes(&faults, AM_FAULT_WAIT), AM_FAULT_NONE);
}
END_TEST

static void fail_elsewhere(void *out) {
    am_fail(ANYMAX_ERROR_DATA, "other");
    *(bool *)out = strcmp(anymax_error_message(), "other") == 0;
}

START_TEST(messages_belong_to_threads) {
    am_thread thread;
    bool other = false;
    char longest[3000];
    ck_assert_int_eq(am_fail(ANYMAX_ERROR_INVALID, "x has rank %d", 7), ANYMAX_ERROR_INVALID);
    ck_assert(am_thread_start(&thread, fail_elsewhere, &other));
    am_thread_join(&thread);
    ck_assert(other);
    ck_assert_str_eq(anymax_error_message(), "x has rank 7");
    /* A message may quote the one before it. */
    am_fail(ANYMAX_ERROR_INVALID, "again: %s", anymax_error_message());
    ck_assert_str_eq(anymax_error_message(), "again: x has rank 7");
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    am_fail(ANYMAX_ERROR_INVALID, "%s", longest);
    ck_assert_uint_lt(strlen(anymax_error_message()), sizeof longest - 1);
}
END_TEST

START_TEST(status_has_a_name) {
    for (int i = ANYMAX_OK; i <= ANYMAX_ERROR_DATA; i++)
        ck_assert_str_ne(anymax_status_string((anymax_status)i), "unknown status");
    ck_assert_str_eq(anymax_status_string((anymax_status)99), "unknown status");
    ck_assert_uint_eq(anymax_version(), ANYMAX_VERSION_MAJOR * 1000000 +
                                            ANYMAX_VERSION_MINOR * 1000 + ANYMAX_VERSION_PATCH);
}
END_TEST

static int line_count;

static void count_line(void *user, const char *message) {
    (void)message;
    *(int *)user += 1;
    anymax_set_log(NULL, NULL); /* a callback may call back: no lock is held */
}

START_TEST(log_goes_to_the_callback) {
    line_count = 0;
    am_log("dropped");
    anymax_set_log(count_line, &line_count);
    am_log("counted %d", 1);
    am_log("dropped again");
    ck_assert_int_eq(line_count, 1);
}
END_TEST

START_TEST(programs_are_read_off_their_files) {
    const am_program *softmax = &am_program_table[AM_PROGRAM_softmax_forward];
    const am_program *entmax = &am_program_table[AM_PROGRAM_entmax_forward];
    const am_program *loss = &am_program_table[AM_PROGRAM_cross_entropy_forward];
    ck_assert_str_eq(softmax->name, "softmax_forward");
    ck_assert_str_eq(softmax->slot[0].name, "x");
    ck_assert_int_eq(softmax->slot[0].role, AM_ROLE_IN);
    ck_assert_int_eq(softmax->slot[1].role, AM_ROLE_OUT);
    ck_assert_str_eq(softmax->slot[AM_SLOT_BIAS].name, "bias");
    ck_assert_int_eq(softmax->slot[AM_SLOT_SCALE].role, AM_ROLE_PARAM);
    ck_assert_str_eq(softmax->param[0], "scale");
    ck_assert_int_eq(softmax->reductions[0], 2); /* m, bad */
    ck_assert_int_eq(softmax->reductions[1], 1);
    ck_assert_int_eq(softmax->reductions[2], 0);
    ck_assert_int_eq(softmax->scalars, 6); /* those three, sign, k, inv */
    ck_assert_int_eq(softmax->iterations, 1);
    ck_assert(softmax->online && !softmax->candidate && softmax->elements);
    ck_assert(entmax->candidate && !entmax->online);
    ck_assert_int_gt(entmax->iterations, 1);
    ck_assert_int_eq(loss->slot[3].role, AM_ROLE_INDEX);
    ck_assert_int_eq(loss->slot[4].role, AM_ROLE_ROW_OUT);
    ck_assert_str_eq(loss->iparam[0], "ignore_index");
    ck_assert(!loss->elements);
    for (int i = 0; i < AM_PROGRAM_COUNT; i++) {
        ck_assert_ptr_nonnull(am_program_table[i].name);
        ck_assert_int_eq(am_program_table[i].slot[AM_SLOT_WORKSPACE].role, AM_ROLE_WORKSPACE);
        ck_assert_int_ge(am_program_table[i].iterations, 1);
    }
}
END_TEST

static void add(TCase *all) {
    tcase_add_test(all, multiplication_is_checked);
    tcase_add_test(all, aligned_is_aligned);
    tcase_add_test(all, nth_allocation_fails);
    tcase_add_test(all, nth_call_fails);
    tcase_add_test(all, messages_belong_to_threads);
    tcase_add_test(all, status_has_a_name);
    tcase_add_test(all, log_goes_to_the_callback);
    tcase_add_test(all, programs_are_read_off_their_files);
}

int main(void) {
    return suite_main("parts", add);
}
