/* cache.c: bytes as a file of the cache: as they are, or as changes of a file that was right.
 * Whatever differs from what was written counts as absent. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#include "os.h"

#include "fuzz.h"

#include <anymax/core.h>

#define KEY "fuzz"

static char path[400];
static int warnings;

static void note(void *user, const char *message) {
    (void)user;
    (void)message;
    warnings++;
}

static void remove_folders(void) {
    char *slash;
    remove(path);
    for (slash = strrchr(path, '/'); slash && strstr(path, "/anymax-fuzz-");
         slash = strrchr(path, '/')) {
        *slash = 0;
        remove(path);
    }
}

/* A folder of this process alone. */
static void prepare(void) {
    const char *base = getenv("TMPDIR");
    char folder[300];
    if (*path) return;
    snprintf(folder, sizeof folder, "%s/anymax-fuzz-%lu", base && *base ? base : "/tmp",
             am_process_id());
    snprintf(path, sizeof path, "%s/anymax/" KEY, folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    unsetenv("ANYMAX_CACHE");
    anymax_set_log(note, NULL);
    atexit(remove_folders);
    am_cache_write(KEY, "", 0); /* makes the folder */
}

static void put_file(const uint8_t *data, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file || (size && fwrite(data, 1, size, file) != size) || fclose(file) != 0) {
        perror(path);
        abort();
    }
}

static uint8_t *get_file(size_t *size) {
    FILE *file = fopen(path, "rb");
    uint8_t *data;
    fuzz_check(file != NULL, "a written file is there", path);
    if (fseek(file, 0, SEEK_END) != 0) abort();
    *size = (size_t)ftell(file);
    rewind(file);
    data = malloc(*size + 1);
    if (!data || fread(data, 1, *size, file) != *size) abort();
    fclose(file);
    return data;
}

/* A file as it came: if it is taken, then only since it is what the cache would have written. */
static void as_it_is(const uint8_t *data, size_t size) {
    size_t got_size, written_size;
    uint8_t *got, *written;
    put_file(data, size);
    warnings = 0;
    got = am_cache_read(KEY, &got_size);
    if (!got) {
        fuzz_check(warnings == 1 && got_size == 0, "a damaged file is named once", path);
        return;
    }
    am_cache_write(KEY, got, got_size);
    written = get_file(&written_size);
    fuzz_check(written_size == size && memcmp(written, data, size) == 0,
               "only what the cache has written is taken", path);
    free(written);
    am_free(got);
}

/* Cuts, lengthens or changes bytes of a file that was right; returns whether it still is. */
static bool damage(uint8_t **file, size_t *size, fuzz_bytes *changes) {
    size_t whole = *size, i;
    uint8_t *right = malloc(whole + 1);
    bool same;
    if (!right) abort();
    memcpy(right, *file, whole);
    if (fuzz_byte(changes) & 1) {
        size_t length = (size_t)fuzz_number(changes, 2) % (whole + 8);
        *file = realloc(*file, length + 1);
        if (!*file) abort();
        for (i = whole; i < length; i++) (*file)[i] = 0;
        *size = length;
    }
    while (changes->at < changes->end && *size) {
        i = (size_t)fuzz_number(changes, 2) % *size;
        (*file)[i] ^= (uint8_t)fuzz_byte(changes);
    }
    same = *size == whole && memcmp(*file, right, whole) == 0;
    free(right);
    return same;
}

static void changed(fuzz_bytes *bytes) {
    size_t size = (size_t)fuzz_number(bytes, 2), left = (size_t)(bytes->end - bytes->at), got_size;
    const uint8_t *payload = bytes->at;
    uint8_t *file, *got;
    bool same;
    if (size > left) size = left;
    am_cache_write(KEY, payload, size);
    bytes->at += size;
    file = get_file(&left);
    same = damage(&file, &left, bytes);
    put_file(file, left);
    free(file);
    got = am_cache_read(KEY, &got_size);
    fuzz_check((got != NULL) == same, "a changed file counts as absent, one that is not is read",
               path);
    fuzz_check(!got || (got_size == size && memcmp(got, payload, size) == 0),
               "what was written comes back", path);
    am_free(got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_bytes bytes = {data, data + size};
    prepare();
    if (fuzz_byte(&bytes) & 1)
        changed(&bytes);
    else
        as_it_is(bytes.at, (size_t)(bytes.end - bytes.at));
    return 0;
}
