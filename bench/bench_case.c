/* bench_case.c: makes a case from the registry: shapes from the words in which it describes them,
 * values from a fixed seed. */
#include "bench.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 8

/* Axis names of the registry ("n", "batch") and "..." with what they stand for. */
typedef struct binding {
    char name[MAX_NAMES][16];
    int64_t length[MAX_NAMES];
    size_t names;
    uint32_t lead; /* axes of "..." */
    int64_t lead_length[ANYMAX_MAX_RANK];
} binding;

bool bench_parse_shape(const char *text, uint32_t *rank, int64_t *shape) {
    char *end;
    *rank = 0;
    for (;;) {
        long long v = strtoll(text, &end, 10);
        if (end == text || v < 1 || v > INT64_C(1) << 40 || *rank == ANYMAX_MAX_RANK) return false;
        shape[(*rank)++] = v;
        if (!*end) return true;
        if (*end != 'x') return false;
        text = end + 1;
    }
}

void bench_shape_text(char *text, size_t size, uint32_t rank, const int64_t *shape) {
    size_t used = 0;
    uint32_t i;
    text[0] = 0;
    for (i = 0; i < rank; i++) {
        snprintf(text + used, size - used, "%s%" PRId64, i ? "x" : "", shape[i]);
        used = strlen(text);
    }
}

/* 64x512 fits the second cache, the others no cache of a common processor. Losses have the sizes of
 * vocabularies too. */
const char *bench_standard_shape(const anymax_op_info *op, size_t index, bool full) {
    static const char *const rows[] = {"65536x64", "4096x4096", "8x1000000", NULL};
    static const char *const all_rows[] = {"65536x64",   "16384x512",  "4096x4096",  "512x32768",
                                           "128x131072", "16x1048576", "4096x32000", "512x128256",
                                           "64x512",     NULL};
    static const char *const pairs[] = {"1024x128", NULL};
    bool any_rank = op->inputs[0].shape && strstr(op->inputs[0].shape, "...");
    return !any_rank ? pairs[index] : full ? all_rows[index] : rows[index];
}

bool bench_has_gradient(const anymax_op_info *op) {
    size_t i;
    for (i = 0; i < ANYMAX_OP_MAX_TENSORS && op->inputs[i].name; i++)
        if (op->inputs[i].differentiable && !op->inputs[i].optional) return true;
    return false;
}

/* The next axis of "(..., n)"; an empty word at the end. */
static const char *next_axis(const char *at, char *word, size_t size) {
    size_t n;
    at += strspn(at, "(, ");
    n = strcspn(at, ",) ");
    if (*at == ')') n = 0;
    snprintf(word, size, "%.*s", (int)n, at);
    return at + n;
}

static size_t count_axes(const char *words) {
    char word[16];
    size_t n = 0;
    for (words = next_axis(words, word, sizeof word); *word;
         words = next_axis(words, word, sizeof word))
        n++;
    return n;
}

/* The first input has the shape that was asked for: its names are bound to it. */
static bool bind(binding *b, const char *words, uint32_t rank, const int64_t *shape) {
    size_t named = count_axes(words);
    bool any = strstr(words, "...") != NULL;
    char word[16];
    uint32_t at = 0;
    memset(b, 0, sizeof *b);
    if (any) named--;
    if (rank < named || (!any && rank != named) || named > MAX_NAMES) return false;
    for (words = next_axis(words, word, sizeof word); *word;
         words = next_axis(words, word, sizeof word)) {
        if (strcmp(word, "...") == 0) {
            for (b->lead = 0; b->lead < rank - named; b->lead++)
                b->lead_length[b->lead] = shape[at++];
        } else {
            snprintf(b->name[b->names], sizeof *b->name, "%s", word);
            b->length[b->names++] = shape[at++];
        }
    }
    return true;
}

/* False if a word is not bound. */
static bool shape_of(const binding *b, const char *words, uint32_t *rank, int64_t *shape) {
    char word[16];
    uint32_t i;
    size_t j;
    *rank = 0;
    for (words = next_axis(words, word, sizeof word); *word;
         words = next_axis(words, word, sizeof word)) {
        if (strcmp(word, "...") == 0) {
            for (i = 0; i < b->lead; i++) shape[(*rank)++] = b->lead_length[i];
            continue;
        }
        for (j = 0; j < b->names && strcmp(b->name[j], word) != 0; j++) {
        }
        if (j == b->names || *rank == ANYMAX_MAX_RANK) return false;
        shape[(*rank)++] = b->length[j];
    }
    return true;
}

/* ---------------------------------------------------------------- values */

static uint64_t next_random(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Nearly normal with deviation 1, between -3.5 and 3.5: a sum of four uniform numbers. */
static double next_normal(uint64_t *state) {
    uint64_t r = next_random(state);
    double sum = (double)(r & 0xffff) + (double)(r >> 16 & 0xffff) + (double)(r >> 32 & 0xffff) +
                 (double)(r >> 48);
    return (sum / 65536 - 2) * 1.7320508;
}

static void fill(io_array *array, const char *name, anymax_tensor_class type, int64_t classes) {
    /* These must be positive by their meaning. */
    bool positive = strcmp(name, "prior") == 0 || strcmp(name, "weight") == 0;
    double size = strncmp(name, "up.", 3) == 0 ? 1 : 2; /* scores have deviation 2 */
    uint64_t state = 1;
    size_t i;
    for (i = 0; name[i]; i++) state = state * 31 + (unsigned char)name[i];
    for (i = 0; i < array->count; i++) {
        double v = size * next_normal(&state);
        if (type == ANYMAX_CLASS_INDEX) v = (double)(next_random(&state) % (uint64_t)classes);
        if (type == ANYMAX_CLASS_MASK) v = v < 0;
        if (type == ANYMAX_CLASS_FLOAT && positive) v = exp(v / 2) / (double)array->count;
        io_array_set(array, i, v);
    }
}

static bool add_filled(bench_case *c, const char *name, const anymax_op_tensor *entry,
                       uint32_t rank, const int64_t *shape, io_error *error) {
    io_array array;
    io_dtype dtype = entry->type == ANYMAX_CLASS_INDEX  ? IO_I32
                     : entry->type == ANYMAX_CLASS_MASK ? IO_BOOL
                                                        : c->storage;
    if (!io_array_create(&array, dtype, rank, shape, error)) return false;
    fill(&array, name, entry->type, c->shape[c->rank - 1]);
    return call_add(&c->call, name, &array, error);
}

/* Inputs that the operation insists on, and indices: a loss that may have index targets has them.
 */
static bool add_inputs(bench_case *c, io_error *error) {
    const anymax_op_tensor *list = c->op->inputs;
    binding b;
    uint32_t rank;
    int64_t shape[ANYMAX_MAX_RANK];
    size_t i;
    if (!bind(&b, list[0].shape, c->rank, c->shape))
        return io_fail(error, "takes %s of shape %s, which that is not", list[0].name,
                       list[0].shape);
    for (i = 0; i < ANYMAX_OP_MAX_TENSORS && list[i].name; i++) {
        if (list[i].optional && list[i].type != ANYMAX_CLASS_INDEX) continue;
        if (!shape_of(&b, list[i].shape, &rank, shape))
            return io_fail(error, "has an input %s of shape %s, for which bench knows no length",
                           list[i].name, list[i].shape);
        if (!add_filled(c, list[i].name, &list[i], rank, shape, error)) return false;
    }
    return true;
}

/* Outputs, upstream gradients of them, and all gradients, as the direction has them. */
static bool add_results(bench_case *c, io_error *error) {
    const anymax_op_tensor *list = c->op->outputs;
    uint32_t rank;
    int64_t shape[ANYMAX_MAX_RANK];
    char name[64];
    size_t i, inputs = c->call.tensors;
    for (i = 0; i < ANYMAX_OP_MAX_TENSORS && list[i].name; i++) {
        if (list[i].optional) continue;
        if (call_shape(&c->call, list[i].name, &rank, shape) != ANYMAX_OK)
            return io_fail(error, "cannot be shaped: %s", anymax_error_message());
        if ((c->way & BENCH_FORWARD) &&
            !call_add_result(&c->call, list[i].name, c->storage, rank, shape, false, error))
            return false;
        snprintf(name, sizeof name, "up.%s", list[i].name);
        if ((c->way & BENCH_BACKWARD) && !add_filled(c, name, &list[i], rank, shape, error))
            return false;
    }
    for (i = 0; i < inputs && (c->way & BENCH_BACKWARD); i++) {
        const call_tensor *input = &c->call.tensor[i];
        if (!op_input(c->op, input->name)->differentiable) continue;
        snprintf(name, sizeof name, "grad.%.50s", input->name);
        if (!call_add_result(&c->call, name, c->storage, input->tensor.rank, input->tensor.shape,
                             false, error))
            return false;
    }
    return true;
}

bool bench_is_result(const bench_case *c, const char *name) {
    if (strncmp(name, "up.", 3) == 0) return false;
    return strncmp(name, "grad.", 5) == 0 || op_output(c->op, name) != NULL;
}

/* From host memory to buffers; results are written too, so that every page has been touched. */
static bool upload(bench_case *c, io_error *error) {
    size_t i;
    for (i = 0; i < c->call.tensors; i++) {
        call_tensor *t = &c->call.tensor[i];
        size_t bytes = t->array.count * io_dtype_size(t->array.dtype);
        c->bytes += (double)bytes;
        if (bench_is_result(c, t->name)) c->written += (double)bytes;
        if (bytes == 0) return io_fail(error, "has an empty tensor");
        if (anymax_buffer_create(c->device, bytes, &c->buffer[i]) != ANYMAX_OK ||
            anymax_buffer_write(c->stream, c->buffer[i], 0, t->array.data, bytes) != ANYMAX_OK)
            return io_fail(error, "does not fit: %s", anymax_error_message());
        t->tensor =
            anymax_buffer_tensor(c->buffer[i], 0, t->tensor.dtype, t->tensor.rank, t->tensor.shape);
    }
    if (anymax_stream_sync(c->stream) != ANYMAX_OK)
        return io_fail(error, "does not fit: %s", anymax_error_message());
    return true;
}

bool bench_case_make(bench_case *c, io_error *error) {
    c->call.op = c->op;
    if (anymax_stream_create(c->device, NULL, &c->stream) != ANYMAX_OK)
        return io_fail(error, "has no stream: %s", anymax_error_message());
    if (!add_inputs(c, error)) return false;
    c->elements = (double)c->call.tensor[0].array.count;
    return add_results(c, error) && upload(c, error);
}

void bench_case_free(bench_case *c) {
    size_t i;
    anymax_stream_release(c->stream);
    for (i = 0; i < CALL_MAX; i++) anymax_buffer_release(c->buffer[i]);
    call_free(&c->call);
    memset(c, 0, sizeof *c);
}

/* Queues one direction: of the tensors, those that it takes; outputs with a backward pass only if
 * it writes them too. */
static anymax_status queue_way(bench_case *c, bool backward, bool outputs) {
    anymax_named_tensor named[CALL_MAX];
    size_t count = 0, i;
    for (i = 0; i < c->call.tensors; i++) {
        const call_tensor *t = &c->call.tensor[i];
        bool of_backward = strncmp(t->name, "up.", 3) == 0 || strncmp(t->name, "grad.", 5) == 0;
        bool input = !of_backward && op_input(c->op, t->name) != NULL;
        if (!input && (of_backward ? !backward : !outputs)) continue;
        named[count].name = t->name;
        named[count++].tensor = &t->tensor;
    }
    return anymax_call(c->stream, c->op->name, named, count, c->call.param, c->call.params);
}

bool bench_case_run(void *bench_case_pointer) {
    bench_case *c = bench_case_pointer;
    bool at_once = c->way == BENCH_BOTH && c->op->value_and_grad;
    if ((c->way & BENCH_FORWARD) && !at_once && queue_way(c, false, true) != ANYMAX_OK)
        return false;
    if ((c->way & BENCH_BACKWARD) && queue_way(c, true, at_once) != ANYMAX_OK) return false;
    return anymax_stream_sync(c->stream) == ANYMAX_OK;
}
