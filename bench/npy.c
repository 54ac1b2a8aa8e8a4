/* npy.c: NumPy's .npy format (numpy.lib.format), versions 1 to 3.
 *
 * Magic, two bytes of version, the header's length, and a Python dictionary with the keys descr,
 * fortran_order and shape; then the elements. */
#include "array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADER ((size_t)1 << 16) /* NumPy itself distrusts headers above 10,000 characters */

typedef struct header {
    io_dtype dtype;
    bool big, fortran;
    uint32_t rank;
    int64_t shape[IO_MAX_RANK];
} header;

/* What is left of the header's text. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_space(cursor *c) {
    while (c->at < c->end && strchr(" \t\r\n", *c->at) && *c->at) c->at++;
}

static bool take(cursor *c, const char *word) {
    size_t n = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0) return false;
    c->at += n;
    return true;
}

/* A quoted string without escapes, copied to `text`. */
static bool take_string(cursor *c, char *text, size_t size) {
    const char *close;
    size_t n;
    skip_space(c);
    if (c->at >= c->end || (*c->at != '\'' && *c->at != '"')) return false;
    close = memchr(c->at + 1, *c->at, (size_t)(c->end - c->at - 1));
    if (!close) return false;
    n = (size_t)(close - c->at - 1);
    if (n >= size || memchr(c->at, '\\', n)) return false;
    memcpy(text, c->at + 1, n);
    text[n] = 0;
    c->at = close + 1;
    return true;
}

static bool take_size(cursor *c, int64_t *value, io_error *error) {
    const char *start;
    int64_t v = 0;
    skip_space(c);
    for (start = c->at; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (v > (INT64_MAX - 9) / 10) return io_fail(error, "has an axis that is too long");
        v = v * 10 + (*c->at - '0');
    }
    if (c->at == start) return io_fail(error, "has a header whose shape is not a tuple of sizes");
    if (c->at < c->end && *c->at == 'L') c->at++; /* Python 2 wrote (3L, 4L) */
    *value = v;
    return true;
}

static bool take_shape(cursor *c, header *h, io_error *error) {
    if (!take(c, "(")) return io_fail(error, "has a header whose shape is not a tuple of sizes");
    h->rank = 0;
    while (!take(c, ")")) {
        if (h->rank == IO_MAX_RANK)
            return io_fail(error, "has more than %d axes, which cannot be used", IO_MAX_RANK);
        if (!take_size(c, &h->shape[h->rank], error)) return false;
        h->rank++;
        if (take(c, ",")) continue;
        if (take(c, ")")) break;
        return io_fail(error, "has a header whose shape is not a tuple of sizes");
    }
    return true;
}

static bool take_type(cursor *c, header *h, io_error *error) {
    static const struct {
        const char *name;
        io_dtype dtype;
    } known[] = {{"f8", IO_F64}, {"f4", IO_F32}, {"f2", IO_F16}, {"i8", IO_I64},
                 {"i4", IO_I32}, {"i2", IO_I16}, {"i1", IO_I8},  {"u8", IO_U64},
                 {"u4", IO_U32}, {"u2", IO_U16}, {"u1", IO_U8},  {"b1", IO_BOOL}};
    const uint16_t probe = 1;
    bool machine_is_big = *(const unsigned char *)&probe == 0;
    char text[64];
    const char *type = text;
    size_t i;
    skip_space(c);
    if (c->at < c->end && *c->at == '[')
        return io_fail(error, "holds records; only plain numbers can be used");
    if (!take_string(c, text, sizeof text))
        return io_fail(error, "has a header whose descr is not a type");
    h->big = *type == '>' || (*type != '<' && machine_is_big);
    if (*type && strchr("<>=|", *type)) type++;
    for (i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(type, known[i].name) != 0) continue;
        h->dtype = known[i].dtype;
        return true;
    }
    return io_fail(error,
                   "holds elements of type '%s'; f2 f4 f8, i1 to i8, u1 to u8 and b1 can be used",
                   text);
}

static bool take_order(cursor *c, header *h, io_error *error) {
    h->fortran = take(c, "True");
    if (h->fortran || take(c, "False")) return true;
    return io_fail(error, "has a header whose fortran_order is neither True nor False");
}

/* One entry of the dictionary; `seen` has a bit for each key. */
static bool take_entry(cursor *c, header *h, unsigned *seen, io_error *error) {
    char key[32];
    unsigned bit;
    if (!take_string(c, key, sizeof key) || !take(c, ":"))
        return io_fail(error, "has a header that is not a dictionary");
    bit = strcmp(key, "descr") == 0           ? 1
          : strcmp(key, "fortran_order") == 0 ? 2
          : strcmp(key, "shape") == 0         ? 4
                                              : 0;
    if (!bit || (*seen & bit))
        return io_fail(error, "has a header with an unknown or repeated key '%s'", key);
    *seen |= bit;
    return bit == 1   ? take_type(c, h, error)
           : bit == 2 ? take_order(c, h, error)
                      : take_shape(c, h, error);
}

static bool parse_header(const char *text, size_t size, header *h, io_error *error) {
    cursor c = {text, text + size};
    unsigned seen = 0;
    if (!take(&c, "{")) return io_fail(error, "has a header that is not a dictionary");
    while (!take(&c, "}")) {
        if (!take_entry(&c, h, &seen, error)) return false;
        if (take(&c, ",")) continue;
        if (take(&c, "}")) break;
        return io_fail(error, "has a header that is not a dictionary");
    }
    skip_space(&c);
    if (c.at != c.end) return io_fail(error, "has a header with text behind its dictionary");
    if (seen != 7) return io_fail(error, "has a header that lacks descr, fortran_order or shape");
    return true;
}

/* Reads the elements' position, type and shape. */
static bool read_header(io_source *source, header *h, uint64_t *data_at, io_error *error) {
    unsigned char start[12];
    size_t fixed, size;
    char *text;
    bool good;
    if (source->size < 10) return io_fail(error, "is too short for a .npy file");
    if (!io_source_read(source, 0, start, 10, error)) return false;
    if (memcmp(start, "\x93NUMPY", 6) != 0) return io_fail(error, "is not a .npy file");
    if (start[6] < 1 || start[6] > 3)
        return io_fail(error, "has .npy version %d; 1 to 3 can be read", start[6]);
    fixed = start[6] == 1 ? 10 : 12;
    if (!io_source_read(source, 0, start, fixed, error)) return false;
    size = start[8] | (size_t)start[9] << 8;
    if (fixed == 12) size |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    if (size > MAX_HEADER) return io_fail(error, "has a header of %zu bytes, too long", size);
    if (size > source->size - fixed)
        return io_fail(error, "ends inside its header of %zu bytes", size);
    text = malloc(size + 1);
    if (!text) return io_fail(error, "cannot be read: no memory");
    good = io_source_read(source, fixed, text, size, error) && parse_header(text, size, h, error);
    free(text);
    *data_at = fixed + size;
    return good;
}

/* From first axis fastest to last axis fastest. */
static bool transpose(io_array *array, io_error *error) {
    io_array made;
    size_t size = io_dtype_size(array->dtype), step[IO_MAX_RANK], at = 0, i;
    int64_t index[IO_MAX_RANK] = {0};
    uint32_t axis;
    if (array->rank < 2 || array->count == 0) return true;
    if (!io_array_create(&made, array->dtype, array->rank, array->shape, error)) return false;
    step[0] = 1;
    for (axis = 1; axis < array->rank; axis++)
        step[axis] = step[axis - 1] * (size_t)array->shape[axis - 1];
    for (i = 0; i < array->count; i++) {
        memcpy((char *)made.data + i * size, (const char *)array->data + at * size, size);
        for (axis = array->rank; axis-- > 0;) {
            at += step[axis];
            if (++index[axis] < array->shape[axis]) break;
            at -= step[axis] * (size_t)array->shape[axis];
            index[axis] = 0;
        }
    }
    io_array_free(array);
    *array = made;
    return true;
}

bool io_npy_read(io_source *source, io_array *array, io_error *error) {
    header h = {0};
    io_array made;
    uint64_t data_at = 0;
    size_t count, size;
    if (!read_header(source, &h, &data_at, error)) return false;
    size = io_dtype_size(h.dtype);
    if (!io_shape_count(h.shape, h.rank, size, &count, error)) return false;
    if (count * size != source->size - data_at)
        return io_fail(error, "has %" PRIu64 " bytes of elements where its shape asks for %zu",
                       source->size - data_at, count * size);
    if (!io_array_create(&made, h.dtype, h.rank, h.shape, error)) return false;
    if (!io_source_read(source, data_at, made.data, count * size, error)) {
        io_array_free(&made);
        return false;
    }
    io_swap_bytes(made.data, count, size, h.big);
    if (h.fortran && !transpose(&made, error)) {
        io_array_free(&made);
        return false;
    }
    *array = made;
    return true;
}

static const char *npy_type(io_dtype dtype) {
    static const char *const names[IO_DTYPES] = {
        [IO_F64] = "<f8", [IO_F32] = "<f4", [IO_F16] = "<f2", [IO_BF16] = "<f4", [IO_I64] = "<i8",
        [IO_I32] = "<i4", [IO_I16] = "<i2", [IO_I8] = "|i1",  [IO_U64] = "<u8",  [IO_U32] = "<u4",
        [IO_U16] = "<u2", [IO_U8] = "|u1",  [IO_BOOL] = "|b1"};
    return names[dtype];
}

/* The elements, little-endian; in pieces, so that no second array is needed. */
static bool write_elements(FILE *file, const io_array *array) {
    unsigned char piece[4096];
    bool widen = array->dtype == IO_BF16;
    size_t size = widen ? 4 : io_dtype_size(array->dtype), most = sizeof piece / size, i, n;
    for (i = 0; i < array->count; i += n) {
        n = array->count - i < most ? array->count - i : most;
        if (widen) {
            size_t j;
            for (j = 0; j < n; j++) {
                float v = io_bf16_to_f32(((const uint16_t *)array->data)[i + j]);
                memcpy(piece + j * 4, &v, 4);
            }
        } else {
            memcpy(piece, (const char *)array->data + i * size, n * size);
        }
        io_swap_bytes(piece, n, size, false);
        if (fwrite(piece, size, n, file) != n) return false;
    }
    return true;
}

bool io_npy_write(const char *path, const io_array *array, io_error *error) {
    char shape[160], text[320];
    size_t size;
    bool good;
    FILE *file = fopen(path, "wb");
    if (!file) return io_fail(error, "cannot be written: %s", strerror(errno));
    io_shape_text(shape, sizeof shape, array->rank, array->shape);
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
             npy_type(array->dtype), shape);
    size = (10 + strlen(text) + 1 + 63) / 64 * 64 - 10; /* data start at a multiple of 64 */
    good = fwrite("\x93NUMPY\x01", 1, 8, file) == 8 && fputc((int)(size & 255), file) != EOF &&
           fputc((int)(size >> 8), file) != EOF &&
           fprintf(file, "%-*s\n", (int)size - 1, text) == (int)size && write_elements(file, array);
    if (fclose(file) != 0) good = false;
    if (!good) return io_fail(error, "cannot be written whole: %s", strerror(errno));
    return true;
}
