/* The text of a program, put together from the embedded files.
 *
 * #include lines are resolved here, as drivers disagree on include paths. CPU-type devices get the
 * programs of one file, both directions in both forms, in one text; others one program. */
#include "opencl.h"
#include "../embedded.h"

#include <stdio.h>
#include <string.h>

typedef struct text {
    char *data;
    size_t size, capacity;
    bool failed; /* out of memory, or a file that is not there */
} text;

static void put_bytes(text *t, const void *bytes, size_t size) {
    if (t->failed) return;
    if (size >= t->capacity - t->size) {
        size_t capacity = (t->capacity + size) * 2;
        char *data = am_alloc(capacity);
        if (!data) {
            t->failed = true;
            return;
        }
        if (t->size) memcpy(data, t->data, t->size);
        am_free(t->data);
        t->data = data;
        t->capacity = capacity;
    }
    memcpy(t->data + t->size, bytes, size);
    t->size += size;
    t->data[t->size] = 0;
}

static void put(text *t, const char *string) {
    put_bytes(t, string, strlen(string));
}

static const am_embedded *find(const char *path) {
    size_t i;
    for (i = 0; i < am_cl_sources_count; i++)
        if (strcmp(am_cl_sources[i].path, path) == 0) return &am_cl_sources[i];
    return NULL;
}

/* `name` as seen from the file `from`: "../map.h" in "math/rows/unit.h" is "math/map.h". */
static void resolve(const char *from, const char *name, size_t length, char *out, size_t size) {
    const char *slash = strrchr(from, '/');
    size_t folder = slash ? (size_t)(slash - from) : 0;
    while (length > 3 && memcmp(name, "../", 3) == 0) {
        name += 3;
        length -= 3;
        while (folder > 0 && from[--folder] != '/') continue;
    }
    snprintf(out, size, "%.*s%s%.*s", (int)folder, from, folder ? "/" : "", (int)length, name);
}

static void put_file(text *t, const char *path) {
    static const char directive[] = "#include \"";
    const am_embedded *file = find(path);
    const char *at, *end;
    if (!file) {
        t->failed = true;
        return;
    }
    at = (const char *)file->data;
    end = at + file->size;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((line_end ? line_end + 1 : end) - at);
        const char *name = at + sizeof directive - 1;
        if (length > sizeof directive && memcmp(at, directive, sizeof directive - 1) == 0) {
            const char *close = memchr(name, '"', (size_t)(at + length - name));
            char inner[128];
            resolve(path, name, close ? (size_t)(close - name) : 0, inner, sizeof inner);
            put_file(t, inner);
        } else {
            put_bytes(t, at, length);
        }
        at += length;
    }
    put(t, "\n");
}

/* One program in the form that was chosen last. */
static void put_program(text *t, int program, const char *suffix) {
    const char *name = am_program_table[program].name;
    const char *way = strrchr(name, '_');
    char path[128], line[160];
    snprintf(path, sizeof path, "math/rows/%.*s.h", (int)(way - name), name);
    put(t, strcmp(way, "_forward") == 0 ? "#define ROW_FORWARD\n" : "#define ROW_BACKWARD\n");
    put_file(t, path);
    put_file(t, "math/row.h");
    snprintf(line, sizeof line, "#undef AM_KERNEL\n#define AM_KERNEL am_%s%s\n", name, suffix);
    put(t, line);
    put_file(t, "cl/row.cl");
    put_file(t, "math/row_undef.h");
}

static void put_form(text *t, const char *form) {
    put(t, "#undef AM_FORM\n#define AM_FORM ");
    put(t, form);
    put(t, "\n");
    put_file(t, "cl/row_form.cl");
}

char *am_cl_source(int program, bool cpu_shape) {
    text t = {0};
    const int pair = program & ~1;
    put(&t, cpu_shape ? "#define AM_LANES 16\n" : "#define AM_LANES 1\n");
    put_file(&t, "cl/common.cl");
    if (program == AM_CL_PRODUCT) {
        put_file(&t, "cl/product.cl");
    } else if (cpu_shape) {
        put_file(&t, "math/am.h");
        put_file(&t, "cl/row_macros.cl");
        put_form(&t, "1");
        put_program(&t, pair, "_along");
        put_program(&t, pair + 1, "_along");
        put_form(&t, "2");
        put_program(&t, pair, "_across");
        put_program(&t, pair + 1, "_across");
    } else {
        put_file(&t, "math/am.h");
        put_file(&t, "cl/row_macros.cl");
        put_form(&t, "3");
        put_program(&t, program, "_group");
    }
    if (t.failed) {
        am_free(t.data);
        return NULL;
    }
    return t.data;
}
