/* array.h: arrays in host memory and the two file formats of the command, .npy and .safetensors.
 *
 * Files come from anywhere, so no size in them is believed before it has been held against the
 * length of the file. Needs neither the library nor a device: tests and fuzzers link this alone. */
#ifndef ANYMAX_BENCH_ARRAY_H
#define ANYMAX_BENCH_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One sentence that says what was wrong, without the file's name and without a full stop. */
typedef struct io_error {
    char text[480];
} io_error;

/* Writes the sentence and returns false, so that a check is one line. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
bool io_fail(io_error *error, const char *format, ...);

/* ---------------------------------------------------------------- arrays */

typedef enum io_dtype {
    IO_F64,
    IO_F32,
    IO_F16,
    IO_BF16,
    IO_I64,
    IO_I32,
    IO_I16,
    IO_I8,
    IO_U64,
    IO_U32,
    IO_U16,
    IO_U8,
    IO_BOOL,
    IO_DTYPES /* number of types; as a value: one that cannot be read */
} io_dtype;

#define IO_MAX_RANK 6

/* Packed, last axis fastest, in the byte order of this machine. All zero is "no array". */
typedef struct io_array {
    io_dtype dtype;
    uint32_t rank;
    int64_t shape[IO_MAX_RANK];
    size_t count; /* elements */
    void *data;   /* owned; never NULL in a made array, even without elements */
} io_array;

size_t io_dtype_size(io_dtype dtype);
const char *io_dtype_name(io_dtype dtype); /* "f32" */
bool io_dtype_is_float(io_dtype dtype);
/* The type of that name; IO_DTYPES if there is none. */
io_dtype io_dtype_find(const char *name);

/* Elements of a shape; fails if the bytes do not fit size_t, a zero among the sizes or not. */
bool io_shape_count(const int64_t *shape, uint32_t rank, size_t element_bytes, size_t *count,
                    io_error *error);

/* Memory for an array, zeroed. */
bool io_array_create(io_array *array, io_dtype dtype, uint32_t rank, const int64_t *shape,
                     io_error *error);
void io_array_free(io_array *array); /* accepts "no array" */

/* One element as a double; i64 and u64 are exact to 2^53. */
double io_array_get(const io_array *array, size_t index);
/* Rounds to nearest even; for integer types the value must fit. */
void io_array_set(io_array *array, size_t index, double value);

/* Changes the type, keeping values. Floats round to nearest even and overflow to infinity;
 * *overflowed (may be NULL) counts those. A number that an integer type cannot hold is refused. */
bool io_array_convert(io_array *array, io_dtype to, size_t *overflowed, io_error *error);

float io_f16_to_f32(uint16_t bits);
uint16_t io_f32_to_f16(float value);
float io_bf16_to_f32(uint16_t bits);
uint16_t io_f32_to_bf16(float value);

/* "(2, 3)" */
void io_shape_text(char *text, size_t size, uint32_t rank, const int64_t *shape);

/* ---------------------------------------------------------------- bytes */

/* A file, or memory that stands for one. */
typedef struct io_source {
    FILE *file;
    const unsigned char *memory;
    uint64_t size;
} io_source;

bool io_source_open(io_source *source, const char *path, io_error *error);
void io_source_memory(io_source *source, const void *bytes, size_t size);
void io_source_close(io_source *source);
/* Fails if the range is not wholly inside the file. */
bool io_source_read(io_source *source, uint64_t offset, void *to, size_t size, io_error *error);

/* Swaps the bytes of elements where file and machine differ in byte order. */
void io_swap_bytes(void *data, size_t count, size_t element_bytes, bool file_is_big);

/* ---------------------------------------------------------------- .npy */

/* Versions 1, 2 and 3, either byte order; Fortran order is transposed to C order. */
bool io_npy_read(io_source *source, io_array *array, io_error *error);
/* Version 1. NumPy has no bf16: such an array is written as f32. */
bool io_npy_write(const char *path, const io_array *array, io_error *error);

#endif
