/* Files that can be made again (compiled kernels), one for a key. A file carries its key, its
 * length and a checksum, is put in place by one rename, and is never trusted: what does not fit
 * counts as absent. */
#include "os.h"

#include "error.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 4096
#define MAGIC "ANYMAX2\n"
#define HASH_SEED 0x616e796d61786361u
/* Far beyond what a driver makes of our kernels: a file that claims more is none of ours. */
#define MOST_BYTES ((uint64_t)256 << 20)
/* A file takes milliseconds to write; one that is unfinished after this was left by a process that
 * died. */
#define STALE_SECONDS 60

typedef struct header {
    char magic[8];
    uint64_t key; /* hash of it: files that changed places are found out */
    uint64_t size;
    uint64_t hash; /* of what follows */
} header;

static_assert(sizeof(header) == 32, "no padding");

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

am_cache_key am_cache_key_make(const char *prefix, const am_cache_part *parts, size_t count) {
    const uint32_t always[2] = {anymax_version(), (uint32_t)sizeof(void *)};
    uint64_t one = am_hash(1, always, sizeof always), two = am_hash(2, always, sizeof always);
    am_cache_key key;
    for (size_t i = 0; i < count; i++) {
        one = am_hash(one, parts[i].data, parts[i].size);
        two = am_hash(two, parts[i].data, parts[i].size);
    }
    snprintf(key.name, sizeof key.name, "%s%016llx%016llx", prefix, (unsigned long long)one,
             (unsigned long long)two);
    return key;
}

static header header_of(const char *key, const void *data, size_t size) {
    header h = {.key = am_hash(HASH_SEED, key, strlen(key)), .size = size};
    memcpy(h.magic, MAGIC, sizeof h.magic);
    h.hash = am_hash(HASH_SEED, data, size);
    return h;
}

static bool folder_path(char *out, size_t size) {
    char home[PATH_BYTES];
    int length;
    if (!am_cache_home(home, sizeof home)) return false;
    length = snprintf(out, size, "%s/anymax", home);
    return length > 0 && (size_t)length < size;
}

static bool file_path(const char *key, const char *suffix, char *out, size_t size) {
    char folder[PATH_BYTES];
    int length;
    if (!folder_path(folder, sizeof folder)) return false;
    length = snprintf(out, size, "%s/%s%s", folder, key, suffix);
    return length > 0 && (size_t)length < size;
}

/* The contents of an open file. NULL: *wrong says why, or is NULL where memory ran out. */
static void *read_checked(FILE *file, const char *key, size_t *out_size, const char **wrong) {
    header h, want;
    void *data;
    long end;
    *wrong = "is damaged";
    if (fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) < (long)sizeof h) return NULL;
    if (fseek(file, 0, SEEK_SET) != 0 || fread(&h, sizeof h, 1, file) != 1) return NULL;
    if (memcmp(h.magic, MAGIC, sizeof h.magic) != 0) return NULL;
    if (h.size != (uint64_t)end - sizeof h || h.size > MOST_BYTES) return NULL;
    data = am_alloc((size_t)h.size);
    if (!data) {
        *wrong = NULL;
        return NULL;
    }
    if (fread(data, 1, (size_t)h.size, file) == (size_t)h.size) {
        want = header_of(key, data, (size_t)h.size);
        if (h.hash == want.hash) *wrong = h.key == want.key ? NULL : "is another kernel's";
    }
    if (*wrong) {
        am_free(data);
        return NULL;
    }
    *out_size = (size_t)h.size;
    return data;
}

void *am_cache_read(const char *key, size_t *out_size) {
    char path[PATH_BYTES];
    const char *wrong = NULL;
    void *data = NULL;
    bool odd = false;
    FILE *file;
    *out_size = 0;
    if (!file_path(key, "", path, sizeof path)) return NULL;
    file = am_open_plain_file(path, &odd);
    if (file) {
        data = read_checked(file, key, out_size, &wrong);
        fclose(file);
    } else if (odd) {
        wrong = "is no plain file";
    }
    if (wrong) am_cache_reject(key, wrong);
    return data;
}

void am_cache_reject(const char *key, const char *wrong) {
    char path[PATH_BYTES];
    if (!file_path(key, "", path, sizeof path)) return;
    am_log("cache: %s %s and will be made again", path, wrong);
    /* Gone, so that the next process neither reads nor reports it again. */
    remove(path);
}

/* The unfinished file of a key. Its name is always the same, so that processes that die do not
 * leave more than one each time; whoever finds it in use leaves the writing to the other. */
static FILE *open_unfinished(const char *path) {
    /* x: never through a file or a link that is there already. */
    FILE *file = fopen(path, "wbx");
    int64_t age;
    if (file) return file;
    age = am_file_age(path);
    /* From the future: the clock was put back. */
    if (age < STALE_SECONDS && age > -STALE_SECONDS) return NULL;
    remove(path);
    return fopen(path, "wbx");
}

void am_cache_write(const char *key, const void *data, size_t size) {
    char folder[PATH_BYTES], path[PATH_BYTES], unfinished[PATH_BYTES];
    header h;
    FILE *file;
    bool written;
    if (size > MOST_BYTES || !folder_path(folder, sizeof folder) ||
        !file_path(key, "", path, sizeof path) ||
        !file_path(key, ".tmp", unfinished, sizeof unfinished) || !am_make_folders(folder))
        return;
    file = open_unfinished(unfinished);
    if (!file) return;
    h = header_of(key, data, size);
    written = fwrite(&h, sizeof h, 1, file) == 1 && fwrite(data, 1, size, file) == size;
    if (fclose(file) != 0) written = false;
    if (!written || !am_replace_file(unfinished, path)) remove(unfinished);
}
