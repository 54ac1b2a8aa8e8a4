/* Files that can be made again (compiled kernels), one for a key. A file carries its length and a
 * checksum, is put in place by one rename, and is never trusted: what does not fit counts as
 * absent. */
#include "os.h"

#include "error.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 4096
#define MAGIC "ANYMAX1\n"
#define HASH_SEED 0x616e796d61786361u

typedef struct header {
    char magic[8];
    uint64_t size;
    uint64_t hash;
} header;

static_assert(sizeof(header) == 24, "no padding");

/* FNV-1a, then the finisher of MurmurHash3, since FNV alone leaves its upper bits weak on short
 * data. */
uint64_t am_hash(uint64_t seed, const void *data, size_t size) {
    const unsigned char *at = data;
    uint64_t h = 0xcbf29ce484222325u ^ seed;
    size_t i;
    for (i = 0; i < size; i++) h = (h ^ at[i]) * 0x100000001b3u;
    h ^= (uint64_t)size;
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

static bool folder_path(char *out, size_t size) {
    char home[PATH_BYTES];
    int length;
    if (!am_cache_home(home, sizeof home)) return false;
    length = snprintf(out, size, "%s/anymax", home);
    return length > 0 && (size_t)length < size;
}

static bool file_path(const char *key, char *out, size_t size) {
    char folder[PATH_BYTES];
    int length;
    if (!folder_path(folder, sizeof folder)) return false;
    length = snprintf(out, size, "%s/%s", folder, key);
    return length > 0 && (size_t)length < size;
}

/* The contents of an open file; NULL with *damaged false where memory ran out. */
static void *read_checked(FILE *file, size_t *out_size, bool *damaged) {
    header h;
    void *data;
    long end;
    *damaged = true;
    if (fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) < (long)sizeof h) return NULL;
    if (fseek(file, 0, SEEK_SET) != 0 || fread(&h, sizeof h, 1, file) != 1) return NULL;
    if (memcmp(h.magic, MAGIC, sizeof h.magic) != 0) return NULL;
    if (h.size != (uint64_t)end - sizeof h) return NULL;
    data = am_alloc((size_t)h.size);
    if (!data) {
        *damaged = false;
        return NULL;
    }
    if (fread(data, 1, (size_t)h.size, file) != (size_t)h.size ||
        am_hash(HASH_SEED, data, (size_t)h.size) != h.hash) {
        am_free(data);
        return NULL;
    }
    *damaged = false;
    *out_size = (size_t)h.size;
    return data;
}

void *am_cache_read(const char *key, size_t *out_size) {
    char path[PATH_BYTES];
    FILE *file;
    void *data;
    bool damaged;
    *out_size = 0;
    if (!file_path(key, path, sizeof path)) return NULL;
    file = fopen(path, "rb");
    if (!file) return NULL;
    data = read_checked(file, out_size, &damaged);
    fclose(file);
    if (damaged) {
        /* Removed, so that the next process neither reads nor reports it again. */
        am_log("cache: %s is damaged and will be made again", path);
        remove(path);
    }
    return data;
}

void am_cache_write(const char *key, const void *data, size_t size) {
    static atomic_uint count;
    char folder[PATH_BYTES], path[PATH_BYTES], temporary[PATH_BYTES];
    header h;
    FILE *file;
    bool written;
    int length;
    if (!folder_path(folder, sizeof folder) || !file_path(key, path, sizeof path)) return;
    length = snprintf(temporary, sizeof temporary, "%s.%lu.%u.tmp", path, am_process_id(),
                      atomic_fetch_add(&count, 1));
    if (length < 0 || (size_t)length >= sizeof temporary || !am_make_folders(folder)) return;
    memcpy(h.magic, MAGIC, sizeof h.magic);
    h.size = size;
    h.hash = am_hash(HASH_SEED, data, size);
    /* x: never through a file or a link that is there already. */
    file = fopen(temporary, "wbx");
    if (!file) return;
    written = fwrite(&h, sizeof h, 1, file) == 1 && fwrite(data, 1, size, file) == size;
    if (fclose(file) != 0) written = false;
    if (!written || !am_replace_file(temporary, path)) remove(temporary);
}
