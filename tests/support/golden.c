/* Reading golden files. */
#include "golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *directory(void) {
    const char *given = getenv("ANYMAX_TEST_GOLDEN");
    return given && *given ? given : ANYMAX_GOLDEN_DIR;
}

bool golden_open(io_safetensors *file, const char *op, char *text, size_t size) {
    char path[1024];
    io_error error = {{0}};
    snprintf(path, sizeof path, "%s/%s.safetensors", directory(), op);
    memset(file, 0, sizeof *file);
    if (io_safetensors_open_path(file, path, &error)) return true;
    snprintf(text, size, "%s: %s", path, error.text);
    return false;
}

static void add(io_safetensors *file, golden_case *c, const io_entry *entry, const char *name) {
    golden_tensor *t = &c->tensors[c->count];
    io_array array = {0};
    io_error error = {{0}};
    if (c->count == GOLDEN_TENSORS || !io_safetensors_read(file, entry, &array, &error)) {
        fprintf(stderr, "%s: %s\n", entry->name, error.text);
        abort();
    }
    t->name = name;
    t->entry = entry;
    t->count = array.count;
    t->value = malloc((array.count ? array.count : 1) * sizeof *t->value);
    if (t->value == NULL) abort();
    for (size_t i = 0; i < array.count; i++) t->value[i] = io_array_get(&array, i);
    io_array_free(&array);
    c->count++;
}

bool golden_load(io_safetensors *file, size_t index, golden_case *c) {
    size_t length;
    memset(c, 0, sizeof *c);
    if (!io_safetensors_metadata(file, index, &c->name, &c->params)) return false;
    length = strlen(c->name);
    for (size_t i = 0; i < file->count; i++) {
        const char *name = file->entry[i].name;
        if (strncmp(name, c->name, length) == 0 && name[length] == '/')
            add(file, c, &file->entry[i], name + length + 1);
    }
    return true;
}

void golden_free(golden_case *c) {
    for (int i = 0; i < c->count; i++) free(c->tensors[i].value);
    c->count = 0;
}

const golden_tensor *golden_find(const golden_case *c, const char *name) {
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->tensors[i].name, name) == 0) return &c->tensors[i];
    return NULL;
}

bool golden_is_narrow(const golden_case *c) {
    size_t length = strlen(c->name);
    return length > 7 && strcmp(c->name + length - 7, ".narrow") == 0;
}
