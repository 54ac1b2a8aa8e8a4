#define _XOPEN_SOURCE 700
#include "files.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

listing list_files(const char *home) {
    listing l = {.count = 0};
    char folder[800];
    struct dirent *entry;
    DIR *d;
    snprintf(folder, sizeof folder, "%s/anymax", home);
    d = opendir(folder);
    while (d && (entry = readdir(d)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        ck_assert_int_lt(l.count, FILES_MOST);
        snprintf(l.name[l.count], sizeof l.name[0], "%.79s", entry->d_name);
        snprintf(l.path[l.count], sizeof l.path[0], "%s/%.79s", folder, entry->d_name);
        l.count++;
    }
    if (d) closedir(d);
    return l;
}

unsigned char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    unsigned char *data;
    ck_assert_msg(file != NULL, "%s", path);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    data = malloc(*size + 1);
    ck_assert(data != NULL && fread(data, 1, *size, file) == *size);
    fclose(file);
    return data;
}

void write_file(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    ck_assert(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}
