/* Child processes, and what is made of their verdicts: the parts of the probe that no driver shows.
 */
#define _XOPEN_SOURCE 700
#include "probe.h"

#include "../support/suite.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[256], helper[300];

static am_child run_shell(const char *script, const char *const *changes, uint32_t seconds) {
    static const char *const none[] = {NULL};
    const char *const arguments[] = {"/bin/sh", "-c", script, NULL};
    am_child child;
    am_child_run(arguments, changes ? changes : none, seconds, &child);
    return child;
}

static double seconds_since(uint64_t start) {
    return (double)(am_time_ns() - start) / 1e9;
}

START_TEST(ends) {
    am_child child = run_shell("echo out; echo err >&2; exit 3", NULL, 20);
    ck_assert_int_eq(child.end, AM_CHILD_EXITED);
    ck_assert_int_eq(child.code, 3);
    ck_assert_str_eq(child.head, "out\nerr\n");
    ck_assert_str_eq(child.tail, "out\nerr\n");
    child = run_shell("kill -SEGV $$", NULL, 20);
    ck_assert_int_eq(child.end, AM_CHILD_CRASHED);
    ck_assert_int_eq(child.code, SIGSEGV);
}
END_TEST

START_TEST(limit) {
    const uint64_t start = am_time_ns();
    const am_child child = run_shell("echo begun; trap '' TERM INT; sleep 60 & wait", NULL, 1);
    ck_assert_int_eq(child.end, AM_CHILD_LATE);
    ck_assert_str_eq(child.head, "begun\n");
    ck_assert_double_lt(seconds_since(start), 10);
}
END_TEST

/* What a driver leaves running keeps the output open: nobody waits for it. */
START_TEST(grandchild) {
    const uint64_t start = am_time_ns();
    const am_child child = run_shell("sleep 8 & echo done", NULL, 20);
    ck_assert_int_eq(child.end, AM_CHILD_EXITED);
    ck_assert_str_eq(child.tail, "done\n");
    ck_assert_double_lt(seconds_since(start), 6);
}
END_TEST

START_TEST(much_output) {
    am_child child = run_shell("echo first; i=0; while [ $i -lt 9000 ]; do echo noise $i; "
                               "i=$((i + 1)); done; printf 'a\\0b'; echo; echo last",
                               NULL, 60);
    ck_assert_int_eq(child.end, AM_CHILD_EXITED);
    ck_assert_ptr_nonnull(strstr(child.head, "first\nnoise 0\n"));
    ck_assert_uint_eq(strlen(child.head), sizeof child.head - 1);
    ck_assert_uint_eq(strlen(child.tail), sizeof child.tail - 1);
    ck_assert_ptr_nonnull(strstr(child.tail, "noise 8999\na b\nlast\n"));
}
END_TEST

START_TEST(environment) {
    const char *const changes[] = {"AM_NEW=one two", "AM_OLD", "AM_OTHER=", NULL};
    am_child child;
    setenv("AM_OLD", "old", 1);
    setenv("AM_OTHER", "other", 1);
    setenv("AM_OLDER", "kept", 1);
    child = run_shell("echo \"$AM_NEW,${AM_OLD-unset},${AM_OTHER-unset},$AM_OLDER\"", changes, 20);
    ck_assert_str_eq(child.tail, "one two,unset,,kept\n");
    ck_assert_str_eq(getenv("AM_OLD"), "old");
}
END_TEST

START_TEST(no_program) {
    const char *const none[] = {NULL};
    const char *const arguments[] = {"/nonexistent/program", NULL};
    am_child child;
    am_child_run(arguments, none, 20, &child);
    ck_assert_int_eq(child.end, AM_CHILD_NONE);
}
END_TEST

/* A host that wants to hear nothing of its children. */
START_TEST(host_ignores_children) {
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    am_child child;
    sigaction(SIGCHLD, &ignore, &before);
    child = run_shell("echo here; exit 3", NULL, 20);
    sigaction(SIGCHLD, &before, NULL);
    ck_assert_int_eq(child.end, AM_CHILD_EXITED);
    ck_assert_str_eq(child.tail, "here\n");
}
END_TEST

/* A daemon that has closed its standard descriptors: the pipe must not land there. */
START_TEST(host_without_descriptors) {
    int kept[3];
    am_child child;
    fflush(stdout);
    for (int i = 0; i < 3; i++) kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
    for (int i = 0; i < 3; i++) close(i);
    child = run_shell("read x || echo end of input; echo err >&2", NULL, 20);
    for (int i = 0; i < 3; i++) {
        dup2(kept[i], i);
        close(kept[i]);
    }
    ck_assert_int_eq(child.end, AM_CHILD_EXITED);
    ck_assert_str_eq(child.tail, "end of input\nerr\n");
}
END_TEST

START_TEST(nothing_inherited) {
    char script[200];
    am_child child;
    const int leak = fcntl(0, F_DUPFD, 50); /* not close-on-exec: a host's socket, say */
    ck_assert_int_ge(leak, 50);
    snprintf(script, sizeof script, "[ -e /proc/self/fd/%d ] && echo open; echo looked", leak);
    child = run_shell(script, NULL, 20);
    close(leak);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
    ck_assert_str_eq(child.tail, "looked\n");
#else
    ck_assert_ptr_nonnull(strstr(child.tail, "looked\n"));
#endif
}
END_TEST

/* ---------------------------------------------------------------- verdicts */

static void write_helper(const char *script) {
    FILE *file = fopen(helper, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "#!/bin/sh\n%s\n", script);
    fclose(file);
    ck_assert_int_eq(chmod(helper, 0755), 0);
}

static void no_drivers(am_driver_list *out) {
    (void)out;
}

static const char *const no_loaders[] = {NULL};

static void remember(const am_drivers *drivers, const char *format, long long then) {
    am_driver_list list = {0};
    char text[200];
    snprintf(text, sizeof text, format, then);
    am_cache_write(am_probe_key(&list, drivers, helper, "").name, text, strlen(text));
}

/* A bad verdict holds for a day, a good one until something changes. */
START_TEST(age) {
    static const struct {
        const char *format;
        long long age;
        bool taken;
        anymax_status status;
    } cases[] = {{"bad %lld\nold message", 3600, true, ANYMAX_ERROR_DEVICE},
                 {"bad %lld\nold message", 86400 * 2, false, ANYMAX_ERROR_DEVICE},
                 {"bad %lld\nold message", -86400 * 2, false, ANYMAX_ERROR_DEVICE},
                 {"bad %lld", 0, false, ANYMAX_ERROR_DEVICE},
                 {"nonsense %lld\n", 0, false, ANYMAX_ERROR_DEVICE},
                 {"sound", 0, true, ANYMAX_OK}};
    static char names[COUNT(cases)][16]; /* they are kept */
    char how[64];
    for (int i = 0; i < COUNT(cases); i++) {
        char *const name = names[i]; /* one that this process has not met */
        const am_drivers drivers = {.backend = name, .loaders = no_loaders, .list = no_drivers};
        snprintf(name, sizeof names[i], "case%d", i);
        write_helper("echo anymax-probe: begin; echo new message; exit 9");
        remember(&drivers, cases[i].format, (long long)time(NULL) - cases[i].age);
        ck_assert_int_eq(am_probe(&drivers, how, sizeof how), cases[i].status);
        ck_assert_int_eq(strncmp(how, "remembered", 10) == 0, cases[i].taken);
        if (cases[i].status == ANYMAX_OK) continue;
        ck_assert_msg(
            strstr(anymax_error_message(), cases[i].taken ? "old message" : "new message"),
            "case %d: %s", i, anymax_error_message());
    }
}
END_TEST

START_TEST(verdicts) {
    static const struct {
        const char *script, *message; /* NULL: sound */
        const char *how;
    } cases[] = {{"echo anymax-probe: begin; echo anymax-probe: end", NULL, "in a child process"},
                 {"echo anymax-probe: begin; echo anymax-probe: end; exit 1",
                  "ends the process (status 1", NULL},
                 {"echo anymax-probe: begin; exit 0", "ends the process (status 0)", NULL},
                 {"echo anymax-probe: begin; kill -ABRT $$", "crashes (SIGABRT", NULL},
                 {"echo anymax-probe: begin; printf 'a\\033[1mb\\n\\n'; exit 5",
                  "last words: a [1mb)", NULL},
                 {"echo anymax-probe: begin; sleep 60", "does not answer within 1 s", NULL},
                 {"echo something else", NULL, "does not run"},
                 {"exit 127", NULL, "does not run"},
                 {"kill -SEGV $$", NULL, "does not run"}};
    static char names[COUNT(cases)][16];
    char how[64];
    setenv("ANYMAX_CACHE", "off", 1);
    setenv("ANYMAX_PROBE_SECONDS", "1", 1);
    for (int i = 0; i < COUNT(cases); i++) {
        char *const name = names[i];
        const am_drivers drivers = {.backend = name, .loaders = no_loaders, .list = no_drivers};
        anymax_status status;
        snprintf(name, sizeof names[i], "verdict%d", i);
        write_helper(cases[i].script);
        if (strstr(cases[i].script, "sleep") == NULL) setenv("ANYMAX_PROBE_SECONDS", "20", 1);
        status = am_probe(&drivers, how, sizeof how);
        setenv("ANYMAX_PROBE_SECONDS", "1", 1);
        ck_assert_msg((status == ANYMAX_OK) == (cases[i].message == NULL), "case %d: %d", i,
                      status);
        if (cases[i].message)
            ck_assert_msg(strstr(anymax_error_message(), cases[i].message), "case %d: %s", i,
                          anymax_error_message());
        else
            ck_assert_msg(strstr(how, cases[i].how), "case %d: %s", i, how);
    }
    unsetenv("ANYMAX_CACHE");
    unsetenv("ANYMAX_PROBE_SECONDS");
}
END_TEST

static void add(TCase *all) {
    tcase_add_test(all, ends);
    tcase_add_test(all, limit);
    tcase_add_test(all, grandchild);
    tcase_add_test(all, much_output);
    tcase_add_test(all, environment);
    tcase_add_test(all, no_program);
    tcase_add_test(all, host_ignores_children);
    tcase_add_test(all, host_without_descriptors);
    tcase_add_test(all, nothing_inherited);
    tcase_add_test(all, age);
    tcase_add_test(all, verdicts);
}

int main(void) {
    const char *base = getenv("TMPDIR");
    char command[300];
    int status;
    snprintf(folder, sizeof folder, "%.200s/anymax-child-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder)) return EXIT_FAILURE;
    snprintf(helper, sizeof helper, "%s/helper", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("ANYMAX_PROBE", helper, 1);
    unsetenv("ANYMAX_CACHE");
    status = suite_main("child", add);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 ? status : EXIT_FAILURE;
}
