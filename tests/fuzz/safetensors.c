/* safetensors.c: bytes as a .safetensors file: all its tensors and its metadata are read. */
#include "safetensors.h"

#include "fuzz.h"

static void use_file(io_safetensors *file, size_t size) {
    const char *key, *value;
    io_error error = {{0}};
    uint64_t at = 0;
    size_t i;
    for (i = 0; i < file->count; i++) {
        const io_entry *entry = &file->entry[i];
        io_array array = {0};
        fuzz_check(entry->begin == at && entry->end >= at && entry->end <= size,
                   "tensors fill the file without gaps", entry->name);
        at = entry->end;
        fuzz_check(io_safetensors_find(file, entry->name) == entry, "a name finds its tensor",
                   entry->name);
        if (io_safetensors_load(file, entry->name, &array, &error))
            fuzz_use_array(&array);
        else
            fuzz_sentence(error.text);
        io_array_free(&array);
    }
    for (i = 0; io_safetensors_metadata(file, i, &key, &value); i++)
        fuzz_check(key != NULL && value != NULL, "metadata are strings", "NULL");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    io_safetensors file;
    io_source source;
    io_error error = {{0}};
    io_source_memory(&source, data, size);
    if (io_safetensors_open(&file, source, &error))
        use_file(&file, size);
    else
        fuzz_sentence(error.text);
    io_safetensors_close(&file);
    return 0;
}
