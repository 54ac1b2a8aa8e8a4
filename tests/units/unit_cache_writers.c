/* Several writers of a cache file, in threads and in processes, some of which are killed; what they
 * leave behind; and no room for a file. */
#define _XOPEN_SOURCE 700
#include "unit_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static void write_often(void *text) {
    for (int i = 0; i < 200; i++) am_cache_write("e1", text, strlen(text));
}

/* Readers see one whole file or another, never a mixture. */
START_TEST(writers_do_not_mix) {
    static char one[5000], two[3000];
    am_thread threads[2];
    memset(one, '1', sizeof one - 1);
    memset(two, '2', sizeof two - 1);
    am_cache_write("e1", one, sizeof one - 1);
    ck_assert(am_thread_start(&threads[0], write_often, one));
    ck_assert(am_thread_start(&threads[1], write_often, two));
    for (int i = 0; i < 200; i++) {
        size_t size;
        char *got = am_cache_read("e1", &size);
        ck_assert_ptr_nonnull(got);
        ck_assert_uint_eq(size, got[0] == '1' ? sizeof one - 1 : sizeof two - 1);
        ck_assert_int_eq(got[size - 1], got[0]);
        am_free(got);
    }
    am_thread_join(&threads[0]);
    am_thread_join(&threads[1]);
    ck_assert_int_eq(log_lines, 0);
}
END_TEST

/* Files whose names begin with `key`. */
static int count_files(const char *key) {
    struct dirent *entry;
    int count = 0;
    DIR *d = opendir(path_of(""));
    ck_assert_ptr_nonnull(d);
    while ((entry = readdir(d)) != NULL) count += strncmp(entry->d_name, key, strlen(key)) == 0;
    closedir(d);
    return count;
}

/* A block that is all one letter, or a failure. */
static void check_whole(const char *key, bool may_be_absent) {
    size_t size;
    char *got = am_cache_read(key, &size);
    ck_assert(got != NULL || may_be_absent);
    while (size > 1 && got[size - 1] == got[0]) size--;
    ck_assert_uint_le(size, 1);
    am_free(got);
    ck_assert_int_eq(log_lines, 0);
}

/* In a process of its own, which may be killed: the same file again and again. */
static pid_t start_writer(const char *key, char letter, int times) {
    static char block[300000];
    pid_t writer = fork();
    ck_assert_int_ge(writer, 0);
    if (writer != 0) return writer;
    memset(block, letter, sizeof block);
    while (times-- > 0) {
        size_t size;
        char *got;
        am_cache_write(key, block, sizeof block - (size_t)letter);
        got = am_cache_read(key, &size);
        if (got != NULL && got[0] != got[size - 1]) _exit(1);
        am_free(got);
    }
    _exit(log_lines == 0 ? 0 : 1);
}

START_TEST(processes_do_not_mix) {
    pid_t writers[4];
    int status;
    for (int i = 0; i < COUNT(writers); i++) writers[i] = start_writer("i1", (char)('a' + i), 200);
    for (int i = 0; i < 200; i++) check_whole("i1", i == 0 || access(path_of("i1"), F_OK) != 0);
    for (int i = 0; i < COUNT(writers); i++) {
        ck_assert_int_eq(waitpid(writers[i], &status, 0), writers[i]);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "process %d: %d", i, status);
    }
    check_whole("i1", false);
    ck_assert_int_eq(count_files("i1"), 1);
}
END_TEST

static void make_older(const char *key, int seconds) {
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    ck_assert_int_eq(utimensat(AT_FDCWD, path_of(key), times, AT_SYMLINK_NOFOLLOW), 0);
}

/* Whenever a writer dies, the file is whole or absent, and at most one unfinished one lies beside
 * it, which is out of the way after a minute. */
START_TEST(killed_while_writing) {
    int unfinished = 0;
    for (int i = 0; i < 60; i++) {
        struct timespec wait = {.tv_nsec = 300000 + 70000 * i};
        pid_t writer = start_writer("j1", (char)('a' + i % 20), 1000000);
        nanosleep(&wait, NULL);
        ck_assert_int_eq(kill(writer, SIGKILL), 0);
        ck_assert_int_eq(waitpid(writer, NULL, 0), writer);
        check_whole("j1", true);
        ck_assert_int_le(count_files("j1"), 2);
        if (access(path_of("j1.tmp"), F_OK) != 0) continue;
        unfinished++;
        make_older("j1.tmp", 3600);
    }
    ck_assert_msg(unfinished > 0, "no process was killed while it wrote");
    am_cache_write("j1", "kernel", 6);
    expect("j1", "kernel");
    ck_assert_int_eq(count_files("j1"), 1);
}
END_TEST

START_TEST(unfinished_files) {
    static const int ages[] = {0, 30, -30, 100, -100, 1000000};
    for (int i = 0; i < COUNT(ages); i++) {
        bool in_use = abs(ages[i]) < 60;
        am_cache_write("k1", "before", 6);
        put_file("k1.tmp", "half a fi", 9);
        make_older("k1.tmp", ages[i]);
        am_cache_write("k1", "kernel", 6);
        expect("k1", in_use ? "before" : "kernel");
        ck_assert_int_eq(count_files("k1"), in_use ? 2 : 1);
        remove(path_of("k1.tmp"));
    }
    /* A link is not written through, be it old or not. */
    ck_assert_int_eq(symlink("k2", path_of("k1.tmp")), 0);
    am_cache_write("k1", "second", 6);
    make_older("k1.tmp", 100);
    am_cache_write("k1", "third", 5);
    expect("k1", "third");
    expect("k2", NULL);
    ck_assert_int_eq(log_lines, 0);
}
END_TEST

/* A full disk, as the limit of a file's size imitates it: what was there stays, nothing is left. */
START_TEST(no_room) {
    static const rlim_t rooms[] = {0, 10, HEADER, HEADER + 5, 4096};
    static char block[100000];
    struct rlimit limit, low;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    am_cache_write("l1", "kernel", 6);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int i = 0; i < COUNT(rooms); i++) {
        low = limit;
        low.rlim_cur = rooms[i];
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &low), 0);
        am_cache_write("l1", block, sizeof block);
        am_cache_write("l2", block, sizeof block);
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
        expect("l1", "kernel");
        expect("l2", NULL);
        ck_assert_int_eq(count_files("l"), 1);
    }
    signal(SIGXFSZ, handler);
    ck_assert_int_eq(log_lines, 0);
}
END_TEST

static void add(TCase *all) {
    tcase_add_test(all, writers_do_not_mix);
    tcase_add_test(all, processes_do_not_mix);
    tcase_add_test(all, killed_while_writing);
    tcase_add_test(all, unfinished_files);
    tcase_add_test(all, no_room);
}

int main(void) {
    return folder_main("cache_writers", add);
}
