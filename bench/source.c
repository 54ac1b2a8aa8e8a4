/* source.c: bounded reading from a file or from memory, and byte order. */
#include "array.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

bool io_source_open(io_source *source, const char *path, io_error *error) {
    long size;
    memset(source, 0, sizeof *source);
    source->file = fopen(path, "rb");
    if (!source->file) return io_fail(error, "cannot be opened: %s", strerror(errno));
    if (fseek(source->file, 0, SEEK_END) != 0 || (size = ftell(source->file)) < 0 ||
        size == LONG_MAX) { /* what Linux says of a folder */
        io_source_close(source);
        return io_fail(error, "is not an ordinary file");
    }
    source->size = (uint64_t)size;
    return true;
}

void io_source_memory(io_source *source, const void *bytes, size_t size) {
    memset(source, 0, sizeof *source);
    source->memory = (const unsigned char *)bytes;
    source->size = size;
}

void io_source_close(io_source *source) {
    if (source->file) fclose(source->file);
    memset(source, 0, sizeof *source);
}

bool io_source_read(io_source *source, uint64_t offset, void *to, size_t size, io_error *error) {
    if (offset > source->size || size > source->size - offset)
        return io_fail(error, "ends after %" PRIu64 " bytes, where %zu more are needed at %" PRIu64,
                       source->size, size, offset);
    if (size == 0) return true;
    if (source->memory) {
        memcpy(to, source->memory + offset, size);
        return true;
    }
    if (offset > LONG_MAX || fseek(source->file, (long)offset, SEEK_SET) != 0 ||
        fread(to, 1, size, source->file) != size)
        return io_fail(error, "cannot be read: %s", errno ? strerror(errno) : "it grew shorter");
    return true;
}

void io_swap_bytes(void *data, size_t count, size_t element_bytes, bool file_is_big) {
    const uint16_t probe = 1;
    bool machine_is_big = *(const unsigned char *)&probe == 0;
    unsigned char *at = data;
    size_t i, j;
    if (machine_is_big == file_is_big) return;
    for (i = 0; i < count; i++, at += element_bytes) {
        for (j = 0; j < element_bytes / 2; j++) {
            unsigned char b = at[j];
            at[j] = at[element_bytes - 1 - j];
            at[element_bytes - 1 - j] = b;
        }
    }
}
