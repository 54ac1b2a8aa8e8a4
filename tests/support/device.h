/* The device that a test program runs on, and its main().
 *
 * The device comes from outside: ANYMAX_TEST_DEVICE is a selector ("cpu", "opencl", "vulkan:1"),
 * "cpu" by default. Where the device is absent the program exits with 77 before any test has run,
 * unless ANYMAX_TEST_REQUIRE is set: then that is a failure. */
#ifndef SUPPORT_DEVICE_H
#define SUPPORT_DEVICE_H

#include <anymax/anymax.h>

#include "suite.h"

typedef struct test_device {
    anymax_device *device;
    anymax_stream *stream;
    char pretend[128]; /* "" for none; printed with failures */
    uint32_t threads;
} test_device;

/* The program's device, opened by test_main without lowered limits. */
extern test_device test_main_device;

/* Selector, seed, and the way to repeat a test of this program. */
const char *test_selector(void);
uint64_t test_seed(void);
bool test_is_backend(const char *backend); /* "cpu", "opencl", "vulkan" */

/* Opens another device of the same selector, under lowered limits; fails the test if it cannot. */
void test_device_open(test_device *d, const char *pretend, uint32_t threads);
void test_device_close(test_device *d);

/* Adds to the time that an operation took; test_main writes "timing OP BACKEND SECONDS" lines to
 * the file that ANYMAX_TEST_TIMINGS names. */
double test_now(void); /* seconds */
void test_timing_add(const char *op, double seconds);
/* Notes an error in units of its tolerance; the worst of each f32 tensor is printed at the end. */
void test_worst_add(const char *op, const char *tensor, double units);

/* Runs the suite: `named` holds the cases. Returns the exit status. */
int test_main(int argc, char **argv, const char *suite, void (*add)(Suite *suite));

/* The first argument of the program, for the failure report. */
const char *test_program(void);

#endif
