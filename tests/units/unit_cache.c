/* Cache files: what was written comes back, whatever is damaged counts as absent and is named once,
 * and a place that cannot be used is no error. */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L
#endif
#include "os.h"

#include <anymax/core.h>

#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char folder[256];
static char log_text[1024];
static int log_lines;

static void note(void *user, const char *message) {
    (void)user;
    snprintf(log_text, sizeof log_text, "%s", message);
    log_lines++;
}

static const char *path_of(const char *key) {
    static char path[600];
    snprintf(path, sizeof path, "%s/anymax/%s", folder, key);
    return path;
}

static void put_file(const char *key, const void *data, size_t size) {
    FILE *file = fopen(path_of(key), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(data, 1, size, file), size);
    fclose(file);
}

static size_t get_file(const char *key, unsigned char *data, size_t size) {
    FILE *file = fopen(path_of(key), "rb");
    size_t got;
    if (!file) return 0;
    got = fread(data, 1, size, file);
    fclose(file);
    return got;
}

static void expect(const char *key, const char *want) {
    size_t size = 99;
    char *got = am_cache_read(key, &size);
    if (want) {
        ck_assert_ptr_nonnull(got);
        ck_assert_uint_eq(size, strlen(want));
        ck_assert_mem_eq(got, want, size);
    } else {
        ck_assert_ptr_null(got);
        ck_assert_uint_eq(size, 0);
    }
    am_free(got);
}

START_TEST(comes_back) {
    expect("a1", NULL);
    am_cache_write("a1", "kernel", 6);
    expect("a1", "kernel");
    am_cache_write("a1", "another, longer kernel", 22);
    expect("a1", "another, longer kernel");
    am_cache_write("a2", "", 0);
    expect("a2", "");
    ck_assert_int_eq(log_lines, 0);
}
END_TEST

/* Each byte of the file in turn is changed; then the file is cut at each length. */
START_TEST(damage_is_absent) {
    unsigned char whole[64], bad[64];
    size_t size, i;
    am_cache_write("b1", "kernel", 6);
    size = get_file("b1", whole, sizeof whole);
    ck_assert_uint_eq(size, 24 + 6);
    for (i = 0; i < 2 * size; i++) {
        size_t length = i < size ? size : i - size;
        memcpy(bad, whole, size);
        if (i < size) bad[i] ^= 0x40;
        put_file("b1", bad, length);
        log_lines = 0;
        expect("b1", NULL);
        ck_assert_int_eq(log_lines, 1);
        ck_assert_ptr_nonnull(strstr(log_text, "b1 is damaged"));
        expect("b1", NULL); /* it is gone, and not named again */
        ck_assert_int_eq(log_lines, 1);
    }
    memcpy(bad, whole, size);
    bad[size] = 0;
    put_file("b1", bad, size + 1);
    expect("b1", NULL);
    am_cache_write("b1", "kernel", 6);
    expect("b1", "kernel");
    log_lines = 0;
}
END_TEST

START_TEST(no_place_is_no_error) {
    static const char *const homes[] = {"/proc/nowhere", "relative/path", "/dev/null"};
    size_t i;
    unsetenv("HOME");
    for (i = 0; i < sizeof homes / sizeof homes[0]; i++) {
        setenv("XDG_CACHE_HOME", homes[i], 1);
        am_cache_write("c1", "kernel", 6);
        expect("c1", NULL);
    }
    unsetenv("XDG_CACHE_HOME");
    am_cache_write("c1", "kernel", 6);
    expect("c1", NULL);
    setenv("XDG_CACHE_HOME", folder, 1);
    ck_assert_int_eq(log_lines, 0);
}
END_TEST

START_TEST(home_is_the_second_choice) {
    char place[400];
    setenv("HOME", folder, 1);
    setenv("XDG_CACHE_HOME", "relative/path", 1);
    am_cache_write("d1", "kernel", 6);
    expect("d1", "kernel");
    snprintf(place, sizeof place, "%s/.cache/anymax/d1", folder);
    ck_assert_int_eq(remove(place), 0);
    setenv("XDG_CACHE_HOME", folder, 1);
}
END_TEST

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

START_TEST(hash_tells_apart) {
    static const char zeros[16];
    uint64_t seen[40];
    int count = 0;
    for (size_t n = 0; n <= 16; n++) seen[count++] = am_hash(1, zeros, n);
    seen[count++] = am_hash(2, zeros, 16);
    seen[count++] = am_hash(1, "abc", 3);
    seen[count++] = am_hash(1, "acb", 3);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++) ck_assert_uint_ne(seen[i], seen[j]);
    ck_assert_uint_eq(am_hash(1, "abc", 3), am_hash(1, "abc", 3));
}
END_TEST

static void add(TCase *all) {
    tcase_add_test(all, comes_back);
    tcase_add_test(all, damage_is_absent);
    tcase_add_test(all, no_place_is_no_error);
    tcase_add_test(all, home_is_the_second_choice);
    tcase_add_test(all, writers_do_not_mix);
    tcase_add_test(all, hash_tells_apart);
}

int main(void) {
    const char *base = getenv("TMPDIR");
    char command[400];
    int status;
    snprintf(folder, sizeof folder, "%s/anymax-unit-%lu", base && *base ? base : "/tmp",
             (unsigned long)getpid());
    setenv("XDG_CACHE_HOME", folder, 1);
    anymax_set_log(note, NULL);
    status = unit_main("cache", add);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) status = EXIT_FAILURE;
    return status;
}
