/* npy.c: bytes as a .npy file. */
#include "array.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    io_source source;
    io_array array = {0};
    io_error error = {{0}};
    io_source_memory(&source, data, size);
    if (io_npy_read(&source, &array, &error)) {
        fuzz_check(array.count * io_dtype_size(array.dtype) < size, "elements come from the file",
                   io_dtype_name(array.dtype));
        fuzz_use_array(&array);
    } else {
        fuzz_sentence(error.text);
        fuzz_check(array.data == NULL, "a refused file makes no array", error.text);
    }
    io_array_free(&array);
    io_source_close(&source);
    return 0;
}
