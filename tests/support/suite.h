/* Running a suite of Check in this process, and main() of the tests that need no device. */
#ifndef SUPPORT_SUITE_H
#define SUPPORT_SUITE_H

#include <check.h>
#include <stdlib.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Runs the suite and frees it; the exit status of the program. Not forked: the handles of drivers
 * do not survive that. */
static inline int suite_run(Suite *suite) {
    SRunner *runner = srunner_create(suite);
    int failed;
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* main() of a suite with one case of the same name. */
static inline int suite_main(const char *name, void (*add)(TCase *)) {
    Suite *suite = suite_create(name);
    TCase *all = tcase_create(name);
    add(all);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}

#endif
