/* array_use.c: what the command does with an array from a file. */
#include "array.h"
#include "fuzz.h"

#include <math.h>

/* Copies of small arrays are made in every type: an integer that fits is kept as it is. */
static void convert(const io_array *array, io_dtype to) {
    io_array copy;
    io_error error = {{0}};
    size_t i, overflowed, bytes = array->count * io_dtype_size(array->dtype);
    if (!io_array_create(&copy, array->dtype, array->rank, array->shape, &error)) abort();
    memcpy(copy.data, array->data, bytes);
    if (io_array_convert(&copy, to, &overflowed, &error)) {
        fuzz_check(copy.count == array->count && copy.dtype == to,
                   "a conversion keeps the elements", io_dtype_name(to));
        for (i = 0; i < copy.count && !io_dtype_is_float(to); i++)
            fuzz_check(io_array_get(&copy, i) == io_array_get(array, i),
                       "a conversion keeps whole numbers", io_dtype_name(to));
    } else {
        fuzz_sentence(error.text);
    }
    io_array_free(&copy);
}

void fuzz_use_array(io_array *array) {
    char text[160];
    size_t i, count = 1;
    double size = 0;
    int to;
    fuzz_check(array->rank <= IO_MAX_RANK && array->dtype < IO_DTYPES && array->data != NULL,
               "a made array can be used", io_dtype_name(array->dtype));
    for (i = 0; i < array->rank; i++) count *= (size_t)array->shape[i];
    fuzz_check(count == array->count, "the elements are those of the shape", "count");
    io_shape_text(text, sizeof text, array->rank, array->shape);
    fuzz_sentence(text);
    for (i = 0; i < array->count; i++) size += fabs(io_array_get(array, i));
    fuzz_check(!(size < 0), "elements can be read", text);
    for (to = 0; to < IO_DTYPES && array->count <= 256; to++) convert(array, (io_dtype)to);
}
