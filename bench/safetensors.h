/* safetensors.h: .safetensors files, read and written.
 *
 * Eight bytes of header length, the header in JSON, then the tensors' bytes, little-endian and
 * without gaps. The header's "__metadata__" maps strings to strings. */
#ifndef ANYMAX_BENCH_SAFETENSORS_H
#define ANYMAX_BENCH_SAFETENSORS_H

#include "array.h"

struct cJSON;

typedef struct io_entry {
    const char *name;
    io_dtype dtype;        /* IO_DTYPES: listed, but of a type that cannot be read here */
    const char *type_name; /* as in the file */
    uint32_t rank;         /* above IO_MAX_RANK: listed, but cannot be read here */
    int64_t shape[IO_MAX_RANK];
    uint64_t begin, end; /* bytes, from the start of the data */
} io_entry;

typedef struct io_safetensors {
    io_source source;
    struct cJSON *header; /* owns the names */
    io_entry *entry;      /* by position in the file */
    const io_entry **by_name;
    size_t count;
    uint64_t data_at;
} io_safetensors;

/* Takes the source over: closing (also after a failure) closes it. The header is checked whole. */
bool io_safetensors_open(io_safetensors *file, io_source source, io_error *error);
bool io_safetensors_open_path(io_safetensors *file, const char *path, io_error *error);
void io_safetensors_close(io_safetensors *file); /* accepts all zero */

const io_entry *io_safetensors_find(const io_safetensors *file, const char *name);
bool io_safetensors_read(io_safetensors *file, const io_entry *entry, io_array *array,
                         io_error *error);
/* find and read */
bool io_safetensors_load(io_safetensors *file, const char *name, io_array *array, io_error *error);

/* Entry `index` of the metadata; false past the last. */
bool io_safetensors_metadata(const io_safetensors *file, size_t index, const char **key,
                             const char **value);

/* Adds the array to the file, or makes the file; a tensor of that name is replaced, everything
 * else is kept. The new file takes the old one's place only when it is complete. */
bool io_safetensors_put(const char *path, const char *name, const io_array *array, io_error *error);

#endif
