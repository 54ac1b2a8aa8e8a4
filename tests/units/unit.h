/* main() of the unit tests: one suite of one case, in this process. */
#ifndef UNIT_H
#define UNIT_H

#include <check.h>
#include <stdlib.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static inline int unit_main(const char *name, void (*add)(TCase *)) {
    Suite *suite = suite_create(name);
    TCase *all = tcase_create(name);
    SRunner *runner;
    int failed;
    add(all);
    suite_add_tcase(suite, all);
    runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
