/* A cache folder of the test's own, what is logged, and main(). POSIX only. */
#ifndef UNIT_FOLDER_H
#define UNIT_FOLDER_H

#include "os.h"

#include <anymax/core.h>

#include "../support/suite.h"

#include <string.h>
#include <unistd.h>

enum { HEADER = 32 }; /* of a file */

static char folder[256];
static char log_text[1024];
static int log_lines;

static inline void note(void *user, const char *message) {
    (void)user;
    snprintf(log_text, sizeof log_text, "%s", message);
    log_lines++;
}

static inline const char *path_of(const char *key) {
    static char path[600];
    snprintf(path, sizeof path, "%s/anymax/%s", folder, key);
    return path;
}

static inline void put_file(const char *key, const void *data, size_t size) {
    FILE *file = fopen(path_of(key), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(data, 1, size, file), size);
    fclose(file);
}

static inline size_t get_file(const char *key, unsigned char *data, size_t size) {
    FILE *file = fopen(path_of(key), "rb");
    size_t got;
    if (!file) return 0;
    got = fread(data, 1, size, file);
    fclose(file);
    return got;
}

static inline void expect(const char *key, const char *want) {
    size_t size = 99;
    char *got = am_cache_read(key, &size);
    if (want) {
        ck_assert_msg(got != NULL, "%s is absent", key);
        ck_assert_uint_eq(size, strlen(want));
        ck_assert_mem_eq(got, want, size);
    } else {
        ck_assert_ptr_null(got);
        ck_assert_uint_eq(size, 0);
    }
    am_free(got);
}

static inline int folder_main(const char *name, void (*add)(TCase *)) {
    const char *base = getenv("TMPDIR");
    char command[400];
    int status;
    snprintf(folder, sizeof folder, "%s/anymax-unit-%lu", base && *base ? base : "/tmp",
             (unsigned long)getpid());
    setenv("XDG_CACHE_HOME", folder, 1);
    anymax_set_log(note, NULL);
    status = suite_main(name, add);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) status = EXIT_FAILURE;
    return status;
}

#endif
