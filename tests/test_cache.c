/* The cache of compiled kernels, seen through a device: whatever is done to its files and folders,
 * results have the same bits, a damaged file costs one line in the log, and is sound again
 * afterwards. The driver of a device may have a cache of its own, which is not the subject here. */
#define _XOPEN_SOURCE 700
#include "support/device.h"
#include "support/files.h"
#include "support/mix.h"

#include "os.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { HEADER = 32 }; /* of a file */

static char base[200], home[700];
static char log_text[1024];
static int log_lines;
static uint64_t right; /* bits of the results, made without a cache */

static void note(void *user, const char *message) {
    (void)user;
    snprintf(log_text, sizeof log_text, "%s", message);
    log_lines++;
}

/* ---------------------------------------------------------------- work */

/* Two programs on a device of its own; a hash of all results, 0 after a failure. */
static uint64_t work(bool no_cache) {
    anymax_device_desc desc = {.selector = test_selector(), .no_cache = no_cache};
    uint64_t bits[2] = {0};
    anymax_device *device;
    anymax_stream *stream = NULL;
    if (anymax_device_open(&desc, &device) == ANYMAX_OK &&
        anymax_stream_create(device, NULL, &stream) == ANYMAX_OK) {
        bits[0] = mix_turn(stream, 0); /* softmax */
        bits[1] = mix_turn(stream, 4); /* log_softmax */
    }
    if (bits[0] == 0 || bits[1] == 0) fprintf(stderr, "%s\n", anymax_error_message());
    anymax_stream_release(stream);
    anymax_device_release(device);
    return bits[0] && bits[1] ? am_hash(0, bits, sizeof bits) : 0;
}

#define check_work(lines, ...)                                                                 \
    do {                                                                                       \
        char what_[256];                                                                       \
        uint64_t got_;                                                                         \
        snprintf(what_, sizeof what_, __VA_ARGS__);                                            \
        log_lines = 0;                                                                         \
        got_ = work(false);                                                                    \
        ck_assert_msg(got_ == right, "%s: other bits than without a cache", what_);            \
        ck_assert_msg(log_lines == (lines), "%s: %d lines instead of %d, the last: %s", what_, \
                      log_lines, (int)(lines), log_text);                                      \
    } while (0)

/* ---------------------------------------------------------------- files */

/* A cache folder that is not there yet. */
static void fresh_home(void) {
    static int count;
    snprintf(home, sizeof home, "%s/%d", base, count++);
    setenv("XDG_CACHE_HOME", home, 1);
}

/* Fills a fresh cache; the CPU device has none, so its list is empty. */
static listing fill(void) {
    listing l;
    fresh_home();
    check_work(0, "an empty cache");
    l = list_files(home);
    ck_assert_msg((l.count > 0) == !test_is_backend("cpu"), "%d files", l.count);
    return l;
}

/* ---------------------------------------------------------------- tests */

START_TEST(found_again) {
    listing l = fill(), again;
    unsigned char *before[FILES_MOST], *after;
    size_t size[FILES_MOST], now;
    for (int i = 0; i < l.count; i++) before[i] = read_file(l.path[i], &size[i]);
    check_work(0, "a full cache");
    again = list_files(home);
    ck_assert_int_eq(again.count, l.count);
    for (int i = 0; i < l.count; i++) {
        after = read_file(l.path[i], &now);
        ck_assert(now == size[i] && memcmp(before[i], after, now) == 0);
        free(before[i]);
        free(after);
    }
}
END_TEST

/* Off: nothing is read, so damage is not seen; nothing is written, not even a folder. */
START_TEST(switched_off) {
    static const char *const words[] = {"0", "off", "OFF", "no"};
    const listing l = fill();
    char filled[sizeof home];
    strcpy(filled, home);
    for (int k = 0; k < l.count; k++) write_file(l.path[k], "damaged", 7);
    for (int i = -1; i < COUNT(words); i++) {
        if (i >= 0) setenv("ANYMAX_CACHE", words[i], 1);
        setenv("XDG_CACHE_HOME", filled, 1);
        log_lines = 0;
        ck_assert_uint_eq(work(i < 0), right);
        for (int k = 0; k < l.count; k++) {
            size_t size;
            unsigned char *data = read_file(l.path[k], &size);
            ck_assert(size == 7 && memcmp(data, "damaged", 7) == 0);
            free(data);
        }
        fresh_home();
        ck_assert_uint_eq(work(i < 0), right);
        ck_assert_msg(access(home, F_OK) != 0, "%s was made", home);
        ck_assert_int_eq(log_lines, 0);
        setenv("ANYMAX_CACHE", "always", 1);
    }
}
END_TEST

/* PoCL keeps compiled kernels itself: they are left to it, unless its own cache is off. */
START_TEST(left_to_the_driver) {
    const char *driver = anymax_device_get_info(test_main_device.device)->driver;
    const bool pocl = strstr(driver, "Portable Computing Language") != NULL;
    const bool none = test_is_backend("cpu");
    unsetenv("ANYMAX_CACHE");
    for (int own = 1; own >= 0; own--) {
        fresh_home();
        if (!own) setenv("POCL_KERNEL_CACHE", "0", 1);
        check_work(0, "the driver's own cache %s", own ? "on" : "off");
        ck_assert_int_eq(list_files(home).count == 0, none || (pocl && own));
    }
    unsetenv("POCL_KERNEL_CACHE");
    setenv("ANYMAX_CACHE", "always", 1);
}
END_TEST

typedef struct damage {
    const char *name;
    enum { CUT, CUT_BACK, FLIP, FLIP_BACK, FILL, GROW, FOLDER, PIPE, DANGLING, GONE } kind;
    size_t at; /* from the front or the back; FILL: the byte */
} damage;

static const damage damages[] = {
    {"empty", CUT, 0},
    {"1 byte", CUT, 1},
    {"7 bytes", CUT, 7},
    {"the magic alone", CUT, 8},
    {"header without its last byte", CUT, HEADER - 1},
    {"header alone", CUT, HEADER},
    {"1 byte of contents", CUT, HEADER + 1},
    {"half a page", CUT, HEADER + 20},
    {"last byte missing", CUT_BACK, 1},
    {"last 16 bytes missing", CUT_BACK, 16},
    {"a bit of the magic", FLIP, 3},
    {"a bit of the version", FLIP, 6},
    {"a bit of the key", FLIP, 12},
    {"lowest bit of the size", FLIP, 16},
    {"highest byte of the size", FLIP, 23},
    {"a bit of the checksum", FLIP, 28},
    {"first byte of the contents", FLIP, HEADER},
    {"the contents' own header", FLIP, HEADER + 17},
    {"last byte of the contents", FLIP_BACK, 1},
    {"near the end", FLIP_BACK, 9},
    {"zeros", FILL, 0},
    {"ones", FILL, 0xff},
    {"a byte more", GROW, 1},
    {"a page more", GROW, 4096},
    {"a folder", FOLDER, 0},
    {"a pipe", PIPE, 0},
    {"a dangling link", DANGLING, 0},
    {"gone", GONE, 0},
};

static void do_damage(const damage *d, const char *path) {
    size_t size;
    unsigned char *data = read_file(path, &size);
    data = realloc(data, size + 4096);
    ck_assert_ptr_nonnull(data);
    memset(data + size, 0, 4096);
    if (d->kind == FLIP) data[d->at] ^= 0x10;
    if (d->kind == FLIP_BACK) data[size - d->at] ^= 0x10;
    if (d->kind == FILL) memset(data, (int)d->at, size);
    if (d->kind == CUT) size = d->at;
    if (d->kind == CUT_BACK) size -= d->at;
    if (d->kind == GROW) size += d->at;
    ck_assert_int_eq(remove(path), 0);
    if (d->kind == FOLDER) ck_assert_int_eq(mkdir(path, 0700), 0);
    if (d->kind == PIPE) ck_assert_int_eq(mkfifo(path, 0600), 0);
    if (d->kind == DANGLING) ck_assert_int_eq(symlink("nowhere", path), 0);
    if (d->kind < FOLDER) write_file(path, data, size);
    free(data);
}

/* One file, then all at once: a line for each. */
START_TEST(damaged) {
    static listing l;
    const damage *d = &damages[_i];
    int one;
    if (_i == 0) l = fill();
    if (l.count == 0) return;
    one = _i % l.count;
    alarm(60); /* a wait at a pipe would end the program */
    do_damage(d, l.path[one]);
    check_work(d->kind < DANGLING, "%s: %s", l.name[one], d->name);
    for (int i = 0; i < l.count; i++) do_damage(d, l.path[i]);
    check_work(d->kind < DANGLING ? l.count : 0, "all: %s", d->name);
    alarm(0);
    check_work(0, "all: %s, repaired", d->name);
    ck_assert_int_eq(list_files(home).count, l.count);
}
END_TEST

START_TEST(changed_places) {
    listing l = fill();
    char aside[1000];
    if (l.count == 0) return;
    /* The contents under another key: whole, but not this kernel's. */
    for (int i = 0; i < l.count; i++) {
        size_t size;
        unsigned char *data = read_file(l.path[i], &size);
        am_cache_write("other", data + HEADER, size - HEADER);
        snprintf(aside, sizeof aside, "%s/anymax/other", home);
        ck_assert_int_eq(rename(aside, l.path[i]), 0);
        free(data);
        check_work(1, "%s from another key", l.name[i]);
        ck_assert_ptr_nonnull(strstr(log_text, "is another kernel's"));
    }
    if (l.count == 1) return;
    ck_assert(rename(l.path[0], aside) == 0 && rename(l.path[1], l.path[0]) == 0 &&
              rename(aside, l.path[1]) == 0);
    check_work(2, "two files in each other's place");
    check_work(0, "two files in each other's place, repaired");
}
END_TEST

/* Contents that only the driver, or a look at what it wrote itself, can reject: the header is
 * right, as if another version of the driver had written under the same name. */
START_TEST(not_the_drivers) {
    static const struct {
        const char *name;
        int at, value; /* of a byte that is changed in contents whose length stays */
        size_t size;   /* or new contents of that many bytes */
    } forgeries[] = {
        {"nothing", -1, 0, 0},        {"a byte", -1, 0, 1},         {"zeros", -1, 0, 32},
        {"more zeros", -1, 0, 70000}, {"text", -1, 'x', 5000},      {"its own size 0", 0, 0, 0},
        {"its version", 4, 9, 0},     {"another vendor", 8, 99, 0}, {"another device", 12, 99, 0},
        {"another UUID", 31, 99, 0},
    };
    static unsigned char made[70000];
    listing l = fill();
    for (int i = 0; i < l.count; i++)
        for (int f = 0; f < COUNT(forgeries); f++) {
            size_t size;
            unsigned char *data;
            /* The named fields are those of Vulkan's data. */
            if (forgeries[f].at >= 0 && !test_is_backend("vulkan")) continue;
            data = read_file(l.path[i], &size);
            memset(made, forgeries[f].value, sizeof made);
            if (forgeries[f].at >= 0)
                data[HEADER + forgeries[f].at] = (unsigned char)forgeries[f].value;
            if (forgeries[f].at >= 0)
                am_cache_write(l.name[i], data + HEADER, size - HEADER);
            else
                am_cache_write(l.name[i], made, forgeries[f].size);
            free(data);
            check_work(1, "%s: %s", l.name[i], forgeries[f].name);
            ck_assert_ptr_nonnull(strstr(log_text, "is not what the driver takes"));
        }
    if (!test_is_backend("opencl")) return;
    /* Another kernel's binary, which the driver takes: it lacks the kernel. */
    for (int i = 0; i < l.count; i++) {
        size_t size;
        unsigned char *data = read_file(l.path[(i + 1) % l.count], &size);
        am_cache_write(l.name[i], data + HEADER, size - HEADER);
        free(data);
        check_work(1, "%s: another kernel's binary", l.name[i]);
    }
    check_work(0, "repaired");
}
END_TEST

/* What a process that died while writing leaves is taken for a writer at first, for a leftover
 * after a minute; it never grows into more than one. */
START_TEST(unfinished) {
    listing l = fill();
    for (int i = 0; i < l.count; i++) {
        char unfinished[1000];
        struct timespec times[2] = {{0}};
        snprintf(unfinished, sizeof unfinished, "%s.tmp", l.path[i]);
        write_file(unfinished, "half a fi", 9);
        ck_assert_int_eq(remove(l.path[i]), 0);
        check_work(0, "%s: another process writes", l.name[i]);
        ck_assert_int_ne(access(l.path[i], F_OK), 0);
        times[0].tv_sec = times[1].tv_sec = time(NULL) - 100;
        ck_assert_int_eq(utimensat(AT_FDCWD, unfinished, times, 0), 0);
        check_work(0, "%s: another process has died", l.name[i]);
        ck_assert_int_eq(access(l.path[i], F_OK), 0);
        ck_assert_int_ne(access(unfinished, F_OK), 0);
    }
    check_work(0, "after all leftovers");
}
END_TEST

START_TEST(places) {
    static const char *const unusable[] = {"/proc/nowhere", "relative/path", "", "/dev/null/below"};
    static const char *const odd[] = {"with space", "\xc3\xb6\xc3\xa4 \xe6\x96\x87",
                                      "two\nlines", "%s%n",
                                      "quote'\"",   "\xff\xfe"};
    char *user_home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    unsetenv("HOME");
    for (int i = 0; i < COUNT(unusable); i++) {
        setenv("XDG_CACHE_HOME", unusable[i], 1);
        check_work(0, "XDG_CACHE_HOME '%s'", unusable[i]);
        unsetenv("XDG_CACHE_HOME");
        setenv("HOME", unusable[i], 1);
        check_work(0, "HOME '%s'", unusable[i]);
        unsetenv("HOME");
    }
    check_work(0, "neither XDG_CACHE_HOME nor HOME");
    ck_assert_int_ne(access("relative", F_OK), 0);
    for (int i = 0; i < COUNT(odd); i++) {
        snprintf(home, sizeof home, "%s/%s", base, odd[i]);
        setenv("XDG_CACHE_HOME", home, 1);
        check_work(0, "'%s'", odd[i]);
        ck_assert_int_eq(list_files(home).count > 0, !test_is_backend("cpu"));
        check_work(0, "'%s', again", odd[i]);
    }
    /* A file where the folder should be. */
    fresh_home();
    write_file(home, "a file", 6);
    check_work(0, "a file in the place of XDG_CACHE_HOME");
    fresh_home();
    ck_assert_int_eq(mkdir(home, 0700), 0);
    strcat(home, "/anymax");
    write_file(home, "a file", 6);
    check_work(0, "a file in the place of the cache");
    if (user_home) setenv("HOME", user_home, 1);
    free(user_home);
}
END_TEST

/* Processes that start with an empty cache, or a damaged one, at the same time. */
START_TEST(processes) {
    enum { PROCESSES = 4, ROUNDS = 3 };
    char bits[32], *arguments[] = {(char *)(uintptr_t)test_program(), (char *)"child", bits, NULL};
    snprintf(bits, sizeof bits, "%llu", (unsigned long long)right);
    fresh_home();
    for (int round = 0; round < ROUNDS; round++) {
        pid_t child[PROCESSES];
        listing l = list_files(home);
        for (int i = 0; i < l.count && round == 2; i++) write_file(l.path[i], "damaged", 7);
        for (int i = 0; i < PROCESSES; i++)
            ck_assert_int_eq(posix_spawn(&child[i], test_program(), NULL, NULL, arguments, environ),
                             0);
        for (int i = 0; i < PROCESSES; i++) {
            int status = -1;
            ck_assert_int_eq(waitpid(child[i], &status, 0), child[i]);
            ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                          "round %d: process %d ended with %d", round, i, status);
        }
        check_work(0, "after round %d", round);
    }
}
END_TEST

static void set_up(void) {
    anymax_set_log(note, NULL);
    right = work(true);
    ck_assert_uint_ne(right, 0);
}

static void add(Suite *suite) {
    TCase *all = tcase_create("cache");
    tcase_add_test(all, found_again);
    tcase_add_test(all, switched_off);
    tcase_add_test(all, left_to_the_driver);
    tcase_add_loop_test(all, damaged, 0, COUNT(damages));
    tcase_add_test(all, changed_places);
    tcase_add_test(all, not_the_drivers);
    tcase_add_test(all, unfinished);
    tcase_add_test(all, places);
    tcase_add_test(all, processes);
    tcase_add_unchecked_fixture(all, set_up, NULL);
    suite_add_tcase(suite, all);
}

/* child BITS: one of several processes. A file that another one writes may be absent, whole, or, in
 * the last round, damaged: lines are not counted. */
static int child(const char *bits) {
    return work(false) == strtoull(bits, NULL, 10) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
    const char *tmp = getenv("TMPDIR");
    char command[300];
    int status;
    if (argc == 3 && strcmp(argv[1], "child") == 0) return child(argv[2]);
    snprintf(base, sizeof base, "%.100s/anymax-cache-%lu", tmp && *tmp ? tmp : "/tmp",
             (unsigned long)getpid());
    if (mkdir(base, 0700) != 0) return EXIT_FAILURE;
    /* The drivers' own caches: neither in the folders that are looked at, nor in odd places. */
    snprintf(command, sizeof command, "%s/pocl", base);
    setenv("POCL_CACHE_DIR", command, 0);
    snprintf(command, sizeof command, "%s/mesa", base);
    setenv("MESA_SHADER_CACHE_DIR", command, 1);
    setenv("ANYMAX_CACHE", "always", 1);
    status = test_main(argc, argv, "cache", add);
    snprintf(command, sizeof command, "rm -rf '%s'", base);
    return system(command) == 0 ? status : EXIT_FAILURE;
}
