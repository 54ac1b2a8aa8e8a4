/* safetensors.c: reading .safetensors: the header is parsed and checked whole, tensors are read
 * when asked for. Writing is in safetensors_put.c. */
#include "safetensors.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADER ((uint64_t)1 << 24) /* 100,000 tensors; parsing takes ten times its memory */

static const struct {
    const char *name;
    io_dtype dtype;
} types[] = {{"F64", IO_F64}, {"F32", IO_F32}, {"F16", IO_F16},  {"BF16", IO_BF16}, {"I64", IO_I64},
             {"I32", IO_I32}, {"I16", IO_I16}, {"I8", IO_I8},    {"U64", IO_U64},   {"U32", IO_U32},
             {"U16", IO_U16}, {"U8", IO_U8},   {"BOOL", IO_BOOL}};

/* A whole number that a double holds exactly. */
static bool whole_number(const cJSON *item, uint64_t *value) {
    double v;
    if (!cJSON_IsNumber(item)) return false;
    v = cJSON_GetNumberValue(item);
    if (!(v >= 0 && v <= 9007199254740992.0) || v != floor(v)) return false;
    *value = (uint64_t)v;
    return true;
}

static bool parse_shape(io_entry *entry, const cJSON *shape, io_error *error) {
    const cJSON *item;
    uint64_t v;
    size_t count;
    if (!cJSON_IsArray(shape))
        return io_fail(error, "lists tensor '%.99s' without a shape", entry->name);
    cJSON_ArrayForEach(item, shape) {
        if (!whole_number(item, &v))
            return io_fail(error, "lists tensor '%.99s' with a shape that is not a list of sizes",
                           entry->name);
        if (entry->rank < IO_MAX_RANK) entry->shape[entry->rank] = (int64_t)v;
        entry->rank++;
    }
    if (entry->dtype == IO_DTYPES || entry->rank > IO_MAX_RANK) return true;
    if (!io_shape_count(entry->shape, entry->rank, io_dtype_size(entry->dtype), &count, error))
        return io_fail(error, "lists tensor '%.99s' with a shape too large to exist", entry->name);
    if (count * io_dtype_size(entry->dtype) != entry->end - entry->begin)
        return io_fail(error, "gives tensor '%.99s' %" PRIu64 " bytes; its shape asks for %zu",
                       entry->name, entry->end - entry->begin, count * io_dtype_size(entry->dtype));
    return true;
}

static bool parse_entry(io_entry *entry, const cJSON *item, uint64_t data_size, io_error *error) {
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(item, "dtype");
    const cJSON *range = cJSON_GetObjectItemCaseSensitive(item, "data_offsets");
    size_t i;
    memset(entry, 0, sizeof *entry);
    entry->name = item->string;
    entry->dtype = IO_DTYPES;
    if (!cJSON_IsObject(item) || !cJSON_IsString(type))
        return io_fail(error, "lists tensor '%.99s' without a dtype", entry->name);
    entry->type_name = type->valuestring;
    for (i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, entry->type_name) == 0) entry->dtype = types[i].dtype;
    if (!cJSON_IsArray(range) || cJSON_GetArraySize(range) != 2 ||
        !whole_number(cJSON_GetArrayItem(range, 0), &entry->begin) ||
        !whole_number(cJSON_GetArrayItem(range, 1), &entry->end))
        return io_fail(error, "lists tensor '%.99s' without data_offsets", entry->name);
    if (entry->begin > entry->end || entry->end > data_size)
        return io_fail(error,
                       "places tensor '%.99s' at bytes %" PRIu64 " to %" PRIu64 " of %" PRIu64,
                       entry->name, entry->begin, entry->end, data_size);
    return parse_shape(entry, cJSON_GetObjectItemCaseSensitive(item, "shape"), error);
}

static int by_place(const void *a, const void *b) {
    const io_entry *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(const io_entry *const *)a)->name, (*(const io_entry *const *)b)->name);
}

static bool parse_metadata(const cJSON *metadata, io_error *error) {
    const cJSON *item;
    if (!cJSON_IsObject(metadata)) return io_fail(error, "has metadata that is not an object");
    cJSON_ArrayForEach(item, metadata) {
        if (!cJSON_IsString(item))
            return io_fail(error, "has metadata '%.99s' that is not a string", item->string);
    }
    return true;
}

/* The entries, sorted by place and by name; names must differ, places must fill the file. */
static bool index_entries(io_safetensors *file, io_error *error) {
    uint64_t data_size = file->source.size - file->data_at, at = 0;
    size_t most = (size_t)cJSON_GetArraySize(file->header), i;
    const cJSON *item;
    file->entry = calloc(most + 1, sizeof *file->entry);
    file->by_name = calloc(most + 1, sizeof *file->by_name);
    if (!file->entry || !file->by_name) return io_fail(error, "cannot be read: no memory");
    cJSON_ArrayForEach(item, file->header) {
        if (strcmp(item->string, "__metadata__") == 0) {
            if (!parse_metadata(item, error)) return false;
            continue;
        }
        if (!parse_entry(&file->entry[file->count], item, data_size, error)) return false;
        file->count++;
    }
    qsort(file->entry, file->count, sizeof *file->entry, by_place);
    for (i = 0; i < file->count; i++) {
        if (file->entry[i].begin != at)
            return io_fail(error, "has a gap or an overlap before tensor '%.99s'",
                           file->entry[i].name);
        at = file->entry[i].end;
        file->by_name[i] = &file->entry[i];
    }
    if (at != data_size)
        return io_fail(error, "has %" PRIu64 " bytes that belong to no tensor", data_size - at);
    qsort(file->by_name, file->count, sizeof *file->by_name, by_name);
    for (i = 1; i < file->count; i++)
        if (by_name(&file->by_name[i - 1], &file->by_name[i]) == 0)
            return io_fail(error, "lists tensor '%.99s' twice", file->by_name[i]->name);
    return true;
}

static bool read_header(io_safetensors *file, io_error *error) {
    unsigned char start[8];
    uint64_t size = 0;
    char *text;
    int i;
    if (file->source.size < 8) return io_fail(error, "is too short for a .safetensors file");
    if (!io_source_read(&file->source, 0, start, 8, error)) return false;
    for (i = 7; i >= 0; i--) size = size << 8 | start[i];
    if (size > file->source.size - 8)
        return io_fail(error, "is not a .safetensors file, or ends inside its header");
    if (size > MAX_HEADER)
        return io_fail(error, "has a header of %" PRIu64 " bytes; at most %" PRIu64 " are read",
                       size, MAX_HEADER);
    text = malloc((size_t)size + 1);
    if (!text) return io_fail(error, "cannot be read: no memory");
    if (!io_source_read(&file->source, 8, text, (size_t)size, error)) {
        free(text);
        return false;
    }
    text[size] = 0;
    if (!memchr(text, 0, (size_t)size)) file->header = cJSON_ParseWithOpts(text, NULL, true);
    free(text);
    file->data_at = 8 + size;
    if (!cJSON_IsObject(file->header))
        return io_fail(error, "has a header that is not a JSON object");
    return index_entries(file, error);
}

bool io_safetensors_open(io_safetensors *file, io_source source, io_error *error) {
    memset(file, 0, sizeof *file);
    file->source = source;
    if (read_header(file, error)) return true;
    io_safetensors_close(file);
    return false;
}

bool io_safetensors_open_path(io_safetensors *file, const char *path, io_error *error) {
    io_source source;
    memset(file, 0, sizeof *file);
    return io_source_open(&source, path, error) && io_safetensors_open(file, source, error);
}

void io_safetensors_close(io_safetensors *file) {
    free(file->entry);
    free(file->by_name);
    cJSON_Delete(file->header);
    io_source_close(&file->source);
    memset(file, 0, sizeof *file);
}

const io_entry *io_safetensors_find(const io_safetensors *file, const char *name) {
    size_t low = 0, high = file->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, file->by_name[middle]->name);
        if (order == 0) return file->by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

bool io_safetensors_read(io_safetensors *file, const io_entry *entry, io_array *array,
                         io_error *error) {
    io_array made;
    size_t size = (size_t)(entry->end - entry->begin);
    if (entry->dtype == IO_DTYPES)
        return io_fail(error, "holds tensor '%.99s' of type %.31s, which cannot be used",
                       entry->name, entry->type_name);
    if (entry->rank > IO_MAX_RANK)
        return io_fail(error, "holds tensor '%.99s' of %" PRIu32 " axes; at most %d can be used",
                       entry->name, entry->rank, IO_MAX_RANK);
    if (!io_array_create(&made, entry->dtype, entry->rank, entry->shape, error)) return false;
    if (!io_source_read(&file->source, file->data_at + entry->begin, made.data, size, error)) {
        io_array_free(&made);
        return false;
    }
    io_swap_bytes(made.data, made.count, io_dtype_size(made.dtype), false);
    *array = made;
    return true;
}

bool io_safetensors_load(io_safetensors *file, const char *name, io_array *array, io_error *error) {
    const io_entry *entry = io_safetensors_find(file, name);
    if (!entry)
        return io_fail(error, "holds no tensor '%.99s'%s%.99s%s", name,
                       file->count ? " (the first of those it has is '" : "",
                       file->count ? file->by_name[0]->name : "", file->count ? "')" : "");
    return io_safetensors_read(file, entry, array, error);
}

bool io_safetensors_metadata(const io_safetensors *file, size_t index, const char **key,
                             const char **value) {
    const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(file->header, "__metadata__");
    const cJSON *item = metadata ? metadata->child : NULL;
    while (item && index--) item = item->next;
    if (!item) return false;
    *key = item->string;
    *value = item->valuestring;
    return true;
}
