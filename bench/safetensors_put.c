/* safetensors_put.c: adding a tensor to a .safetensors file. */
#include "safetensors.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *type_name(io_dtype dtype) {
    static const char *const names[IO_DTYPES] = {
        [IO_F64] = "F64", [IO_F32] = "F32", [IO_F16] = "F16",  [IO_BF16] = "BF16", [IO_I64] = "I64",
        [IO_I32] = "I32", [IO_I16] = "I16", [IO_I8] = "I8",    [IO_U64] = "U64",   [IO_U32] = "U32",
        [IO_U16] = "U16", [IO_U8] = "U8",   [IO_BOOL] = "BOOL"};
    return names[dtype];
}

static bool add_offsets(cJSON *item, uint64_t begin, uint64_t end) {
    cJSON *range = cJSON_CreateArray();
    cJSON_DeleteItemFromObjectCaseSensitive(item, "data_offsets");
    return cJSON_AddItemToArray(range, cJSON_CreateNumber((double)begin)) &&
           cJSON_AddItemToArray(range, cJSON_CreateNumber((double)end)) &&
           cJSON_AddItemToObject(item, "data_offsets", range);
}

static cJSON *describe(const io_array *array, uint64_t begin) {
    cJSON *item = cJSON_CreateObject(), *shape = cJSON_CreateArray();
    uint32_t i;
    bool good = cJSON_AddStringToObject(item, "dtype", type_name(array->dtype)) &&
                cJSON_AddItemToObject(item, "shape", shape);
    for (i = 0; i < array->rank && good; i++)
        good = cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)array->shape[i]));
    good = good && add_offsets(item, begin, begin + array->count * io_dtype_size(array->dtype));
    if (good) return item;
    cJSON_Delete(item);
    return NULL;
}

/* The new header as text; the new tensor comes last. */
static char *new_header(const io_safetensors *old, const char *name, const io_array *array) {
    cJSON *header = old->header ? cJSON_Duplicate(old->header, true) : cJSON_CreateObject();
    uint64_t at = 0;
    size_t i;
    bool good = header != NULL;
    cJSON *item;
    char *text;
    cJSON_DeleteItemFromObjectCaseSensitive(header, name);
    for (i = 0; i < old->count && good; i++) {
        const io_entry *entry = &old->entry[i];
        if (strcmp(entry->name, name) == 0) continue;
        item = cJSON_GetObjectItemCaseSensitive(header, entry->name);
        good = item && add_offsets(item, at, at + (entry->end - entry->begin));
        at += entry->end - entry->begin;
    }
    item = good ? describe(array, at) : NULL;
    good = item && cJSON_AddItemToObject(header, name, item);
    text = good ? cJSON_PrintUnformatted(header) : NULL;
    cJSON_Delete(header);
    return text;
}

static bool write_header(FILE *out, const char *text) {
    size_t length = strlen(text), padded = (length + 7) / 8 * 8, i;
    for (i = 0; i < 8; i++)
        if (fputc((int)((uint64_t)padded >> (8 * i) & 255), out) == EOF) return false;
    return fprintf(out, "%-*s", (int)padded, text) == (int)padded;
}

static bool copy_range(io_source *from, uint64_t offset, uint64_t size, FILE *out,
                       io_error *error) {
    unsigned char piece[16384];
    while (size > 0) {
        size_t n = size < sizeof piece ? (size_t)size : sizeof piece;
        if (!io_source_read(from, offset, piece, n, error)) return false;
        if (fwrite(piece, 1, n, out) != n)
            return io_fail(error, "cannot be written whole: %s", strerror(errno));
        offset += n;
        size -= n;
    }
    return true;
}

static bool write_array(const io_array *array, FILE *out, io_error *error) {
    unsigned char piece[4096];
    size_t size = io_dtype_size(array->dtype), most = sizeof piece / size, i, n;
    for (i = 0; i < array->count; i += n) {
        n = array->count - i < most ? array->count - i : most;
        memcpy(piece, (const char *)array->data + i * size, n * size);
        io_swap_bytes(piece, n, size, false);
        if (fwrite(piece, size, n, out) != n)
            return io_fail(error, "cannot be written whole: %s", strerror(errno));
    }
    return true;
}

static bool write_file(io_safetensors *old, const char *path, const char *name,
                       const io_array *array, io_error *error) {
    char *text = new_header(old, name, array);
    FILE *out = text ? fopen(path, "wb") : NULL;
    bool good = true;
    size_t i;
    if (!text) return io_fail(error, "cannot be written: no memory");
    if (!out)
        good = io_fail(error, "cannot be written: %s", strerror(errno));
    else if (!write_header(out, text))
        good = io_fail(error, "cannot be written whole: %s", strerror(errno));
    for (i = 0; i < old->count && good; i++) {
        const io_entry *entry = &old->entry[i];
        if (strcmp(entry->name, name) == 0) continue;
        good = copy_range(&old->source, old->data_at + entry->begin, entry->end - entry->begin, out,
                          error);
    }
    good = good && write_array(array, out, error);
    if (out && fclose(out) != 0 && good)
        good = io_fail(error, "cannot be written whole: %s", strerror(errno));
    free(text);
    return good;
}

bool io_safetensors_put(const char *path, const char *name, const io_array *array,
                        io_error *error) {
    io_safetensors old = {0};
    size_t length = strlen(path) + 8;
    char *fresh;
    FILE *probe;
    bool good = false;
    if (!*name || strcmp(name, "__metadata__") == 0)
        return io_fail(error, "cannot take a tensor named '%s'", name);
    errno = 0;
    probe = fopen(path, "rb");
    if (probe) fclose(probe);
    if (probe ? !io_safetensors_open_path(&old, path, error) : errno != ENOENT)
        return probe ? false : io_fail(error, "cannot be opened: %s", strerror(errno));
    fresh = malloc(length);
    if (!fresh) {
        io_fail(error, "cannot be written: no memory");
    } else {
        snprintf(fresh, length, "%s.new", path);
        good = write_file(&old, fresh, name, array, error);
        if (good && rename(fresh, path) != 0)
            good = io_fail(error, "cannot be replaced: %s", strerror(errno));
        if (!good) remove(fresh);
    }
    free(fresh);
    io_safetensors_close(&old);
    return good;
}
