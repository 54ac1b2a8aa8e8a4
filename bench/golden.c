/* golden.c: the cases of a golden file, run on a device. */
#include "golden.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct golden_case {
    io_safetensors *file;
    const char *name;
    size_t first, count; /* its tensors, in file->by_name */
    size_t skip;         /* length of "CASE/" */
    const anymax_op_info *op;
    anymax_stream *stream;
    io_dtype storage;
    cJSON *params;
    golden_result *result;
} golden_case;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static bool
fail(golden_case *c, const char *format, ...) {
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (c->result->failed < sizeof c->result->failures / sizeof *c->result->failures)
        snprintf(c->result->failures[c->result->failed].text, sizeof c->result->failures[0].text,
                 "%s/%.80s on %s, %s: %s", c->op->name, c->name,
                 cmd_selector(anymax_stream_device(c->stream)), io_dtype_name(c->storage), text);
    return false;
}

static bool has_prefix(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_narrow(const char *name) {
    size_t n = strlen(name);
    return n > 7 && strcmp(name + n - 7, ".narrow") == 0;
}

/* The name of tensor i of the case, behind "CASE/". */
static const char *part(const golden_case *c, size_t i) {
    return c->file->by_name[c->first + i]->name + c->skip;
}

static bool read_doubles(golden_case *c, size_t i, io_array *array, io_error *error) {
    return io_safetensors_read(c->file, c->file->by_name[c->first + i], array, error) &&
           io_array_convert(array, IO_F64, NULL, error);
}

/* Adds in.NAME as NAME, and up.NAME where gradients are asked for. */
static bool add_inputs(golden_case *c, op_call *call, bool gradients) {
    io_error error = {""};
    size_t i, overflowed;
    for (i = 0; i < c->count; i++) {
        const char *name = part(c, i);
        bool in = has_prefix(name, "in.");
        const anymax_op_tensor *entry;
        io_array array;
        if (!in && !(gradients && has_prefix(name, "up."))) continue;
        entry = in ? op_input(c->op, name + 3) : op_output(c->op, name);
        if (!entry) return fail(c, "the operation has no tensor for %s", name);
        if (!io_safetensors_read(c->file, c->file->by_name[c->first + i], &array, &error))
            return fail(c, "the file %s", error.text);
        if (!call_fit(&array, entry->type, c->storage, false, &overflowed, &error)) {
            io_array_free(&array);
            return fail(c, "%s %s", name, error.text);
        }
        if (!call_add(call, in ? name + 3 : name, &array, &error))
            return fail(c, "%s %s", name, error.text);
    }
    return true;
}

static bool add_params(golden_case *c, op_call *call) {
    const cJSON *item;
    io_error error;
    cJSON_ArrayForEach(item, c->params) {
        if (!call_set_json(call, item->string, item, &error))
            return fail(c, "%s %s", item->string, error.text);
    }
    return true;
}

static bool same_shape(const io_entry *entry, uint32_t rank, const int64_t *shape) {
    return entry->rank == rank && memcmp(entry->shape, shape, rank * sizeof *shape) == 0;
}

/* Adds what is to be computed: out.NAME as NAME, or grad.NAME. */
static bool add_results(golden_case *c, op_call *call, bool gradients, size_t *added) {
    const char *kind = gradients ? "grad." : "out.";
    io_error error;
    size_t i;
    *added = 0;
    for (i = 0; i < c->count; i++) {
        const io_entry *entry = c->file->by_name[c->first + i];
        const char *name = part(c, i);
        const anymax_op_tensor *known;
        uint32_t rank;
        int64_t shape[ANYMAX_MAX_RANK];
        io_dtype dtype = c->storage;
        if (!has_prefix(name, kind)) continue;
        if (!gradients) name += 4;
        known = gradients ? op_input(c->op, name) : op_output(c->op, name);
        if (!known) return fail(c, "the operation has no tensor for %s", name);
        if (known->type == ANYMAX_CLASS_INDEX) dtype = IO_I64;
        if (known->type == ANYMAX_CLASS_MASK) dtype = IO_BOOL;
        if (!gradients && call_shape(call, name, &rank, shape) != ANYMAX_OK)
            return fail(c, "%s", anymax_error_message());
        if (!gradients && !same_shape(entry, rank, shape))
            return fail(c, "the library gives %s another shape than the file", name);
        if (entry->rank > IO_MAX_RANK ||
            !call_add_result(call, name, dtype, entry->rank, entry->shape, true, &error))
            return fail(c, "%s cannot be allocated", name);
        ++*added;
    }
    return true;
}

static void note_worst(golden_case *c, bool gradients, const char *name, double units) {
    golden_result *r = c->result;
    double *worst = gradients ? &r->backward : &r->forward;
    if (units > fmax(r->forward, r->backward) || !*r->where)
        snprintf(r->where, sizeof r->where, "%.60s %.60s", c->name, name);
    if (units > *worst) *worst = units;
}

/* Holds one result against tensor i of the case. */
static bool check_result(golden_case *c, truth *t, size_t i, const call_tensor *result,
                         bool gradients) {
    io_array want = {0};
    io_error error;
    verdict v;
    if (!read_doubles(c, i, &want, &error)) return fail(c, "the file %s", error.text);
    t->tensor = result->name;
    v = compare_result(t, result, want.data);
    io_array_free(&want);
    note_worst(c, gradients, result->name, v.units);
    if (!call_guard_intact(result)) return fail(c, "bytes beside %s were written", result->name);
    if (v.units <= 1) return true;
    return fail(c, "%s at element %zu is %.9g, should be %.9g (%.3g times the tolerance)",
                result->name, v.index, v.got, v.want, v.units);
}

/* The tensor of the case with this name as doubles; "no array" if there is none. */
static io_array load_part(golden_case *c, const char *name) {
    io_array array = {0};
    io_error error;
    size_t i;
    for (i = 0; i < c->count; i++)
        if (strcmp(part(c, i), name) == 0 && !read_doubles(c, i, &array, &error))
            io_array_free(&array);
    return array;
}

static bool check_results(golden_case *c, op_call *call, bool gradients) {
    truth t = truth_of_call(call);
    io_array alpha = load_part(c, "in.alpha"), weights = load_part(c, "out.y");
    bool good = true;
    size_t i;
    if (t.alpha > 0) {
        t.row_alpha = alpha.data;
        if (gradients) t.weights = weights.data;
        t.weight_count = weights.count;
    }
    for (i = 0; i < c->count; i++) {
        const char *name = part(c, i);
        if (!has_prefix(name, gradients ? "grad." : "out.")) continue;
        good =
            check_result(c, &t, i, call_find(call, gradients ? name : name + 4), gradients) && good;
    }
    io_array_free(&alpha);
    io_array_free(&weights);
    return good;
}

static bool run_direction(golden_case *c, bool gradients) {
    op_call *call = calloc(1, sizeof *call);
    size_t added = 0;
    bool good;
    if (!call) return fail(c, "no memory");
    call->op = c->op;
    good = add_params(c, call) && add_inputs(c, call, gradients) &&
           add_results(c, call, gradients, &added);
    if (good && added > 0) {
        good = call_run(call, c->stream) == ANYMAX_OK ? check_results(c, call, gradients)
                                                      : fail(c, "%s", anymax_error_message());
    }
    call_free(call);
    free(call);
    return good;
}

/* Finds the tensors whose names begin with "CASE/"; they lie side by side in the sorted list. */
static void find_parts(golden_case *c) {
    size_t i;
    c->skip = strlen(c->name) + 1;
    c->first = c->count = 0;
    for (i = 0; i < c->file->count; i++) {
        const char *name = c->file->by_name[i]->name;
        if (strncmp(name, c->name, c->skip - 1) != 0 || name[c->skip - 1] != '/') continue;
        if (c->count++ == 0) c->first = i;
    }
}

static void run_case(golden_case *c) {
    bool forward = run_direction(c, false);
    bool backward = run_direction(c, true);
    c->result->cases++;
    if (!forward || !backward) c->result->failed++;
}

bool golden_run(io_safetensors *file, const anymax_op_info *op, anymax_stream *stream,
                io_dtype storage, golden_result *result, io_error *error) {
    golden_case c = {0};
    const char *params;
    size_t i, tensors = 0;
    memset(result, 0, sizeof *result);
    c.file = file;
    c.op = op;
    c.stream = stream;
    c.storage = storage;
    c.result = result;
    for (i = 0; io_safetensors_metadata(file, i, &c.name, &params); i++) {
        find_parts(&c);
        tensors += c.count;
        if (c.count == 0) return io_fail(error, "has no tensors of its case '%.99s'", c.name);
        c.params = cJSON_Parse(params);
        if (!cJSON_IsObject(c.params)) {
            cJSON_Delete(c.params);
            return io_fail(error, "gives case '%.99s' no JSON object of parameters", c.name);
        }
        if (storage == IO_F32 || is_narrow(c.name)) run_case(&c);
        cJSON_Delete(c.params);
    }
    if (i == 0) return io_fail(error, "is no golden file: it lists no cases");
    if (tensors != file->count) return io_fail(error, "has tensors that belong to no case");
    return true;
}
