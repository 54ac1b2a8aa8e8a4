/* Cache files: what was written comes back, whatever is damaged counts as absent and is named once,
 * and a place that cannot be used is no error. */
#define _XOPEN_SOURCE 700
#include "unit_folder.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { KEY_AT = 8, SIZE_AT = 16 }; /* in the header */

/* As expect(NULL); and one line in the log names the file, now and never again. */
static void expect_rejected(const char *key, const char *why) {
    char text[200];
    log_lines = 0;
    expect(key, NULL);
    ck_assert_int_eq(log_lines, 1);
    snprintf(text, sizeof text, "%s %s", key, why);
    ck_assert_msg(strstr(log_text, text) != NULL, "%s: %s", text, log_text);
    expect(key, NULL);
    ck_assert_int_eq(log_lines, 1);
    log_lines = 0;
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

/* Each bit of the file in turn is changed; then the file is cut at each length. */
START_TEST(damage_is_absent) {
    unsigned char whole[64], bad[64];
    size_t size, i;
    am_cache_write("b1", "kernel", 6);
    size = get_file("b1", whole, sizeof whole);
    ck_assert_uint_eq(size, HEADER + 6);
    for (i = 0; i < 8 * size; i++) {
        bool is_key = i / 8 >= KEY_AT && i / 8 < SIZE_AT;
        memcpy(bad, whole, size);
        bad[i / 8] ^= (unsigned char)(1u << i % 8);
        put_file("b1", bad, size);
        expect_rejected("b1", is_key ? "is another kernel's" : "is damaged");
    }
    for (i = 0; i < size; i++) {
        put_file("b1", whole, i);
        expect_rejected("b1", "is damaged");
    }
    memcpy(bad, whole, size);
    bad[size] = 0;
    put_file("b1", bad, size + 1);
    expect_rejected("b1", "is damaged");
    am_cache_write("b1", "kernel", 6);
    expect("b1", "kernel");
}
END_TEST

START_TEST(files_that_changed_places) {
    unsigned char one[64], two[64];
    size_t size;
    am_cache_write("f1", "kernel", 6);
    am_cache_write("f2", "lentil", 6);
    size = get_file("f1", one, sizeof one);
    ck_assert_uint_eq(get_file("f2", two, sizeof two), size);
    put_file("f1", two, size);
    put_file("f2", one, size);
    expect_rejected("f1", "is another kernel's");
    expect_rejected("f2", "is another kernel's");
}
END_TEST

/* Nothing is allocated for a length that cannot be: the failure that waits for the next allocation
 * is still waiting afterwards. */
static void expect_no_allocation(const char *key) {
    void *block;
    am_alloc_fail_at(1);
    expect_rejected(key, "is damaged");
    block = am_alloc(1);
    am_alloc_fail_at(0);
    ck_assert_ptr_null(block);
}

START_TEST(lengths_are_not_believed) {
    static const uint64_t claims[] = {
        0, 5, 7, 1u << 20, 1ull << 32, 1ull << 40, 1ull << 63, UINT64_MAX, UINT64_MAX - HEADER + 1};
    const uint64_t large = (uint64_t)300 << 20;
    unsigned char whole[64];
    am_cache_write("g1", "kernel", 6);
    ck_assert_uint_eq(get_file("g1", whole, sizeof whole), HEADER + 6);
    for (int i = 0; i < COUNT(claims); i++) {
        memcpy(whole + SIZE_AT, &claims[i], sizeof claims[i]);
        put_file("g1", whole, HEADER + 6);
        expect_no_allocation("g1");
    }
    /* A file as long as it says, most of it a hole: more than any driver makes. */
    memcpy(whole + SIZE_AT, &large, sizeof large);
    put_file("g1", whole, HEADER);
    ck_assert_int_eq(truncate(path_of("g1"), (off_t)(HEADER + large)), 0);
    expect_no_allocation("g1");
    /* And one that may be, when memory has run out: absent, but not rejected. */
    am_cache_write("g1", "kernel", 6);
    am_alloc_fail_at(1);
    expect("g1", NULL);
    am_alloc_fail_at(0);
    expect("g1", "kernel");
    ck_assert_int_eq(log_lines, 0);
}
END_TEST

/* ---------------------------------------------------------------- what is no file */

static void bind_socket(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_uint_lt(strlen(path), sizeof address.sun_path);
    strcpy(address.sun_path, path);
    ck_assert_int_eq(bind(s, (struct sockaddr *)&address, sizeof address), 0);
    close(s);
}

static void full_folder(const char *path) {
    char inner[700];
    snprintf(inner, sizeof inner, "%s/inner", path);
    ck_assert(mkdir(path, 0700) == 0 && mkdir(inner, 0700) == 0);
}

/* Whatever is where the file should be: no wait, one line or none, and, if it can be removed, a
 * file there afterwards. */
START_TEST(not_a_file) {
    enum { FOLDER, FULL, PIPE, SOCKET, DEVICE, DANGLING, LOOP, KINDS };
    am_cache_write("h", "", 0); /* makes the folder */
    alarm(20);                  /* a wait would end the program */
    for (int kind = 0; kind < KINDS; kind++) {
        const char *path = path_of("h1");
        remove(path);
        if (kind == FOLDER) ck_assert_int_eq(mkdir(path, 0700), 0);
        if (kind == FULL) full_folder(path);
        if (kind == PIPE) ck_assert_int_eq(mkfifo(path, 0600), 0);
        if (kind == SOCKET) bind_socket(path);
        if (kind == DEVICE) ck_assert_int_eq(symlink("/dev/zero", path), 0);
        if (kind == DANGLING) ck_assert_int_eq(symlink("nowhere", path), 0);
        if (kind == LOOP) ck_assert_int_eq(symlink("h1", path), 0);
        log_lines = 0;
        expect("h1", NULL);
        ck_assert_msg(log_lines == (kind < DANGLING), "kind %d: %d lines", kind, log_lines);
        if (log_lines) ck_assert_ptr_nonnull(strstr(log_text, "h1 is no plain file"));
        am_cache_write("h1", "kernel", 6);
        log_lines = 0;
        expect("h1", kind == FULL ? NULL : "kernel");
        ck_assert_int_eq(log_lines, kind == FULL);
        if (kind == FULL) {
            char inner[700];
            snprintf(inner, sizeof inner, "%s/inner", path);
            ck_assert_int_eq(rmdir(inner), 0);
        }
    }
    alarm(0);
    log_lines = 0;
}
END_TEST

/* ---------------------------------------------------------------- places */

START_TEST(no_place_is_no_error) {
    static char long_path[5000], long_name[400];
    const char *const homes[] = {
        "/proc/nowhere", "relative/path", "/dev/null", "/dev/null/below", "",
        long_path,       long_name,       "\n"};
    memset(long_path, '/', sizeof long_path - 1);
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[0] = '/';
    unsetenv("HOME");
    for (int i = 0; i < COUNT(homes); i++) {
        setenv("XDG_CACHE_HOME", homes[i], 1);
        am_cache_write("c1", "kernel", 6);
        expect("c1", NULL);
    }
    unsetenv("XDG_CACHE_HOME");
    for (int i = 0; i < COUNT(homes); i++) {
        setenv("HOME", homes[i], 1);
        am_cache_write("c1", "kernel", 6);
        expect("c1", NULL);
    }
    unsetenv("HOME");
    am_cache_write("c1", "kernel", 6);
    expect("c1", NULL);
    setenv("XDG_CACHE_HOME", folder, 1);
    ck_assert_int_eq(log_lines, 0);
    ck_assert_int_ne(access("relative", F_OK), 0);
}
END_TEST

START_TEST(odd_names) {
    static const char *const names[] = {"with space", "\xc3\xb6\xc3\xa4\xc3\xbc \xe6\x96\x87",
                                        "two\nlines", "%s%n%99d",
                                        "quote'\"`",  "\xff\xfe\x80",
                                        "tail///",    "a/../b",
                                        "$HOME;*?",   "-rf"};
    char home[600], long_name[256];
    memset(long_name, 'n', 250);
    long_name[250] = 0;
    for (int i = 0; i <= COUNT(names); i++) {
        snprintf(home, sizeof home, "%s/%s", folder, i < COUNT(names) ? names[i] : long_name);
        setenv("XDG_CACHE_HOME", home, 1);
        am_cache_write("d2", "kernel", 6);
        expect("d2", "kernel");
        ck_assert_int_eq(log_lines, 0);
        am_cache_reject("d2", "is damaged");
        ck_assert_int_eq(log_lines, 1);
        ck_assert_ptr_nonnull(strstr(log_text, "d2 is damaged"));
        ck_assert_msg(strpbrk(log_text, "\n\r") == NULL, "a line: %s", log_text);
        expect("d2", NULL);
        log_lines = 0;
    }
    setenv("XDG_CACHE_HOME", folder, 1);
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

/* ---------------------------------------------------------------- keys */

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

/* A key of two strings; NULL ends earlier. */
static am_cache_key key_of(const char *prefix, const char *a, const char *b) {
    const am_cache_part parts[2] = {{a, a ? strlen(a) : 0}, {b, b ? strlen(b) : 0}};
    return am_cache_key_make(prefix, parts, a ? b ? 2 : 1 : 0);
}

START_TEST(keys_tell_apart) {
    static const char *const rows[][3] = {{"cl", NULL, NULL}, {"cl", "", NULL}, {"cl", "", ""},
                                          {"cl", "ab", NULL}, {"cl", "a", "b"}, {"cl", "b", "a"},
                                          {"cl", "", "ab"},   {"cl", "ab", ""}, {"cl", "ab", "b"},
                                          {"vk", "a", "b"}};
    const uint32_t always[2] = {anymax_version(), (uint32_t)sizeof(void *)};
    char want[48];
    am_cache_key key;
    for (int i = 0; i < COUNT(rows); i++)
        for (int j = 0; j < COUNT(rows); j++) {
            key = key_of(rows[i][0], rows[i][1], rows[i][2]);
            ck_assert_int_eq(strcmp(key.name, key_of(rows[j][0], rows[j][1], rows[j][2]).name) == 0,
                             i == j);
            ck_assert_uint_eq(strspn(key.name, "0123456789abcdefghijklmnopqrstuvwxyz"), 2 + 32);
        }
    /* Without any part: what is always in it, the library's version first. */
    key = key_of("cl", NULL, NULL);
    snprintf(want, sizeof want, "cl%016llx%016llx",
             (unsigned long long)am_hash(1, always, sizeof always),
             (unsigned long long)am_hash(2, always, sizeof always));
    ck_assert_str_eq(key.name, want);
}
END_TEST

static void add(TCase *all) {
    tcase_add_test(all, comes_back);
    tcase_add_test(all, damage_is_absent);
    tcase_add_test(all, files_that_changed_places);
    tcase_add_test(all, lengths_are_not_believed);
    tcase_add_test(all, not_a_file);
    tcase_add_test(all, no_place_is_no_error);
    tcase_add_test(all, odd_names);
    tcase_add_test(all, home_is_the_second_choice);
    tcase_add_test(all, hash_tells_apart);
    tcase_add_test(all, keys_tell_apart);
}

int main(void) {
    return folder_main("cache", add);
}
