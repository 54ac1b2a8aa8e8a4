/* The list of drivers that a backend puts together for the probe: files, folders, paths. */
#include "probe.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os.h"

#ifdef _WIN32
#define PATH_SEPARATOR ';'
#else
#define PATH_SEPARATOR ':'
#endif

static am_driver *next(am_driver_list *list, const char *file) {
    am_driver *driver = &list->item[list->count];
    if (list->count == AM_DRIVERS_MAX || strlen(file) >= sizeof driver->file) return NULL;
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->item[i].file, file) == 0) return NULL;
    list->count++;
    memset(driver, 0, sizeof *driver);
    snprintf(driver->file, sizeof driver->file, "%s", file);
    return driver;
}

void am_driver_add_library(am_driver_list *list, const char *library) {
    am_driver *driver = next(list, library);
    if (driver) snprintf(driver->library, sizeof driver->library, "%s", library);
}

/* The text of a small file, NUL-terminated. */
static void read_text(const char *path, char *out, size_t size) {
    bool odd;
    FILE *file = am_open_plain_file(path, &odd);
    size_t got = 0;
    if (file) {
        got = fread(out, 1, size - 1, file);
        fclose(file);
    }
    out[got] = '\0';
}

/* What stands between quotes after "mark": as far as a list of drivers needs JSON. */
static char *quoted_after(char *text, const char *mark) {
    char *at = strstr(text, mark), *end;
    if (at) at = strchr(at + strlen(mark), ':');
    if (at) at = strchr(at, '"');
    if (!at) return NULL;
    end = strchr(++at, '"');
    if (!end) return NULL;
    *end = '\0';
    return at;
}

void am_driver_add(am_driver_list *list, const char *file, const char *mark) {
    am_driver *driver = next(list, file);
    char text[4096];
    char *library = text;
    const char *slash = strrchr(file, '/');
    int folder = slash ? (int)(slash - file) + 1 : 0;
    if (!driver) return;
    read_text(file, text, sizeof text);
    if (mark)
        library = quoted_after(text, mark);
    else
        text[strcspn(text, "\r\n")] = '\0';
    if (!library || !*library) return;
    if (!mark || library[0] == '/' || !strchr(library, '/')) folder = 0;
    if ((size_t)folder + strlen(library) >= sizeof driver->library) return;
    memcpy(driver->library, file, (size_t)folder);
    memcpy(driver->library + folder, library, strlen(library) + 1);
}

typedef struct folder_walk {
    am_driver_list *list;
    const char *folder, *suffix, *mark;
    uint64_t watched;
} folder_walk;

static void add_entry(void *user, const char *name) {
    const folder_walk *walk = user;
    const size_t length = strlen(name), end = strlen(walk->suffix);
    char path[1024];
    if (length < end || strcmp(name + length - end, walk->suffix) != 0) return;
    snprintf(path, sizeof path, "%s/%s", walk->folder, name);
    am_driver_add(walk->list, path, walk->mark);
}

static int by_file(const void *a, const void *b) {
    return strcmp(((const am_driver *)a)->file, ((const am_driver *)b)->file);
}

bool am_driver_add_folder(am_driver_list *list, const char *folder, const char *suffix,
                          const char *mark) {
    folder_walk walk = {list, folder, suffix, mark, 0};
    const size_t before = list->count;
    if (!am_folder_visit(folder, add_entry, &walk)) return false;
    qsort(list->item + before, list->count - before, sizeof list->item[0], by_file);
    return true;
}

static void watch_entry(void *user, const char *name) {
    folder_walk *walk = user;
    char path[1024], text[8192];
    char *at = text;
    uint64_t stamp[2] = {0, 0}, hash;
    if (name[0] == '.') return;
    snprintf(path, sizeof path, "%s/%s", walk->folder, name);
    am_file_stamp(path, stamp);
    hash = am_hash(am_hash(0, path, strlen(path)), stamp, sizeof stamp);
    /* "enable_environment" and "disable_environment" of a layer name variables that switch it. */
    read_text(path, text, sizeof text);
    while ((at = quoted_after(at, "able_environment\"")) != NULL) {
        const char *value = getenv(at);
        hash = am_hash(hash, value ? value : "", value ? strlen(value) + 1 : 0);
        at += strlen(at) + 1;
    }
    /* A sum: the order of a folder's entries is nobody's. */
    walk->watched += hash;
}

void am_driver_watch(am_driver_list *list, const char *folder) {
    folder_walk walk = {list, folder, NULL, NULL, 0};
    am_folder_visit(folder, watch_entry, &walk);
    list->watched += walk.watched;
}

bool am_path_next(const char **at, char *out, size_t size) {
    while (*at && **at) {
        const char *end = strchr(*at, PATH_SEPARATOR);
        const size_t length = end ? (size_t)(end - *at) : strlen(*at);
        const char *part = *at;
        *at += length + (end ? 1 : 0);
        if (length == 0 || length >= size) continue;
        memcpy(out, part, length);
        out[length] = '\0';
        return true;
    }
    return false;
}

void am_driver_join(const am_driver_list *list, const bool *keep, const char *before, char *out,
                    size_t size) {
    size_t used = (size_t)snprintf(out, size, "%s", before);
    bool first = true;
    for (size_t i = 0; i < list->count; i++) {
        if (!keep[i] || used >= size) continue;
        if (!first) used += (size_t)snprintf(out + used, size - used, "%c", PATH_SEPARATOR);
        if (used < size)
            used += (size_t)snprintf(out + used, size - used, "%s", list->item[i].file);
        first = false;
    }
}
