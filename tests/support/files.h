/* The files of a cache folder. POSIX only. */
#ifndef SUPPORT_FILES_H
#define SUPPORT_FILES_H

#include <stddef.h>

#define FILES_MOST 8

typedef struct listing {
    char name[FILES_MOST][80], path[FILES_MOST][900];
    int count;
} listing;

/* What is in HOME/anymax; nothing if there is no such folder. */
listing list_files(const char *home);
/* The whole file, to be freed by the caller. A failure is the test's. */
unsigned char *read_file(const char *path, size_t *size);
void write_file(const char *path, const void *data, size_t size);

#endif
