/* file_arg.c: arrays as arguments of the command line. */
#include "file_arg.h"
#include "safetensors.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXTENSION ".safetensors"

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Divides FILE.safetensors:TENSOR; the copy of FILE is to be freed. NULL: it is not of that form.
 */
static char *split(const char *text, const char **tensor) {
    const char *mark = strstr(text, EXTENSION ":");
    size_t n;
    char *path;
    if (!mark) return NULL;
    n = (size_t)(mark - text) + strlen(EXTENSION);
    path = malloc(n + 1);
    if (!path) return NULL;
    memcpy(path, text, n);
    path[n] = 0;
    *tensor = text + n + 1;
    return path;
}

/* ---------------------------------------------------------------- literals */

static bool literal_number(const cJSON *item, double *value) {
    const char *text = cJSON_GetStringValue(item);
    if (cJSON_IsNumber(item) || cJSON_IsBool(item)) {
        *value = cJSON_IsNumber(item) ? item->valuedouble : (double)cJSON_IsTrue(item);
        return true;
    }
    /* JSON has no other way to write these. */
    if (!text) return false;
    if (strcmp(text, "nan") == 0)
        *value = (double)NAN;
    else if (strcmp(text, "inf") == 0)
        *value = (double)INFINITY;
    else if (strcmp(text, "-inf") == 0)
        *value = -(double)INFINITY;
    else
        return false;
    return true;
}

static bool literal_fill(const cJSON *item, uint32_t axis, io_array *array, size_t *at,
                         bool *whole) {
    const cJSON *child;
    double v;
    if (axis == array->rank) {
        if (!literal_number(item, &v)) return false;
        *whole = *whole && cJSON_IsNumber(item) && v == floor(v) && fabs(v) < 9007199254740992.0 &&
                 !signbit(v);
        ((double *)array->data)[(*at)++] = v;
        return true;
    }
    if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != array->shape[axis]) return false;
    cJSON_ArrayForEach(child, item) {
        if (!literal_fill(child, axis + 1, array, at, whole)) return false;
    }
    return true;
}

/* f64, or i64 where every number is whole and none negative: such a list may be indices. */
static bool literal_load(const char *text, io_array *array, io_error *error) {
    cJSON *json = cJSON_ParseWithOpts(text, NULL, true);
    const cJSON *item;
    int64_t shape[IO_MAX_RANK];
    uint32_t rank = 0;
    size_t at = 0;
    bool good = json != NULL, whole = true;
    for (item = json; cJSON_IsArray(item) && rank < IO_MAX_RANK; item = item->child)
        shape[rank++] = cJSON_GetArraySize(item);
    good = good && !cJSON_IsArray(item) && io_array_create(array, IO_F64, rank, shape, error);
    if (good && !literal_fill(json, 0, array, &at, &whole)) {
        io_array_free(array);
        good = false;
    }
    cJSON_Delete(json);
    if (!good) return io_fail(error, "is not a list of numbers, or its rows differ in length");
    return !whole || io_array_convert(array, IO_I64, NULL, error);
}

/* ---------------------------------------------------------------- files */

bool file_arg_load(const char *text, io_array *array, io_error *error) {
    const char *tensor = NULL;
    io_safetensors file = {0};
    io_source source;
    char *path;
    bool good;
    memset(array, 0, sizeof *array);
    if (*text == '[') return literal_load(text, array, error);
    path = split(text, &tensor);
    if (path) {
        good = io_safetensors_open_path(&file, path, error) &&
               io_safetensors_load(&file, tensor, array, error);
        io_safetensors_close(&file);
        free(path);
        return good;
    }
    if (ends_with(text, EXTENSION))
        return io_fail(error, "needs the name of a tensor behind it: FILE" EXTENSION ":TENSOR");
    if (!io_source_open(&source, text, error)) return false;
    good = io_npy_read(&source, array, error);
    io_source_close(&source);
    return good;
}

bool file_arg_can_save(const char *text, io_error *error) {
    const char *mark = strstr(text, EXTENSION ":");
    if (mark && mark[strlen(EXTENSION) + 1]) return true;
    if (!mark && ends_with(text, ".npy")) return true;
    return io_fail(error, "is neither FILE.npy nor FILE" EXTENSION ":TENSOR");
}

bool file_arg_save(const char *text, const io_array *array, io_error *error) {
    const char *tensor = NULL;
    char *path;
    bool good;
    if (!file_arg_can_save(text, error)) return false;
    path = split(text, &tensor);
    good = path ? io_safetensors_put(path, tensor, array, error) : io_npy_write(text, array, error);
    free(path);
    return good;
}
