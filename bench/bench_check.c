/* bench_check.c: a case is right before it is timed. */
#include "bench.h"
#include "compare.h"
#include "golden.h"

#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ELEMENTS ((size_t)1 << 20) /* of x that are held against double precision */

/* Rows of the case that are checked; their numbers, first and last among them. */
typedef struct sample {
    size_t rows, all; /* checked, and there are */
    size_t n;
    size_t *row;
} sample;

static bool sample_make(sample *s, const bench_case *c) {
    uint32_t i;
    size_t most;
    memset(s, 0, sizeof *s);
    s->n = (size_t)c->shape[c->rank - 1];
    s->all = 1;
    for (i = 0; i + 1 < c->rank; i++) s->all *= (size_t)c->shape[i];
    most = MAX_ELEMENTS / s->n > 2 ? MAX_ELEMENTS / s->n : 2;
    s->rows = s->all < most ? s->all : most;
    s->row = malloc((s->rows + 1) * sizeof *s->row);
    for (most = 0; most < s->rows && s->row; most++)
        s->row[most] =
            s->rows > 1 ? (size_t)((double)most * (double)(s->all - 1) / (double)(s->rows - 1)) : 0;
    return s->row != NULL;
}

/* Inputs such as a prior are shared by all rows: the registry gives them no "..." where x has it.
 */
static bool is_shared(const anymax_op_info *op, const char *name) {
    const anymax_op_tensor *entry = op_input(op, name);
    return entry && strstr(op->inputs[0].shape, "...") && !strstr(entry->shape, "...");
}

/* The checked rows of a tensor, in the tensor's own type. */
static bool take_rows(const sample *s, const anymax_op_info *op, const call_tensor *from,
                      call_tensor *to, io_error *error) {
    bool shared = is_shared(op, from->name);
    size_t length = shared ? from->array.count : from->array.count / s->all;
    size_t rows = shared ? 1 : s->rows, i;
    size_t bytes = length * io_dtype_size(from->array.dtype);
    bool flat = shared || (length == 1 && from->tensor.rank == 1);
    int64_t shape[2];
    shape[0] = (int64_t)(shared ? length : rows);
    shape[1] = (int64_t)length;
    if (!io_array_create(&to->array, from->array.dtype, flat ? 1 : 2, shape, error)) return false;
    memcpy(to->name, from->name, sizeof to->name);
    for (i = 0; i < rows; i++)
        memcpy((char *)to->array.data + i * bytes,
               (const char *)from->array.data + (shared ? 0 : s->row[i]) * bytes, bytes);
    to->tensor =
        anymax_host_tensor(to->array.data, from->tensor.dtype, to->array.rank, to->array.shape);
    return true;
}

static double *as_doubles(const call_tensor *t) {
    double *v = t ? malloc((t->array.count + 1) * sizeof *v) : NULL;
    size_t i;
    for (i = 0; v && i < t->array.count; i++) v[i] = io_array_get(&t->array, i);
    return v;
}

/* Names of the reference's members, so that one loop fills them all. */
typedef struct member {
    const char *name;
    size_t offset;
    bool result;
} member;

#define MEMBER(name, field, result) \
    { name, offsetof(reference, field), result }
static const member members[] = {MEMBER("x", x, false),
                                 MEMBER("bias", bias, false),
                                 MEMBER("noise", noise, false),
                                 MEMBER("prior", prior, false),
                                 MEMBER("target", target, false),
                                 MEMBER("query", query, false),
                                 MEMBER("key", key, false),
                                 MEMBER("up.y", up_y, false),
                                 MEMBER("up.loss", up_loss, false),
                                 MEMBER("y", y, true),
                                 MEMBER("loss", loss, true),
                                 MEMBER("grad.x", grad_x, true),
                                 MEMBER("grad.query", grad_query, true),
                                 MEMBER("grad.key", grad_key, true)};
#define MEMBERS (sizeof members / sizeof *members)

/* Double-precision results of the rows in `part`; memory of the members is the caller's to free. */
static bool compute(op_call *part, const bench_case *c, const sample *s, double *memory[MEMBERS]) {
    reference r = reference_make(c->op->name, s->rows, s->n);
    size_t i;
    for (i = 0; i < MEMBERS; i++) {
        const call_tensor *t = call_find(part, members[i].name);
        memory[i] = as_doubles(t);
        if (t && !memory[i]) return false;
        /* entmax: the tolerance of the gradient wants the weights too */
        if (!t && (c->way & BENCH_BACKWARD) && strcmp(members[i].name, "y") == 0)
            memory[i] = malloc((s->rows * s->n + 1) * sizeof(double));
        memcpy((char *)&r + members[i].offset, &memory[i], sizeof memory[i]);
    }
    if (reference_is_map(c->op->name) || (c->way & BENCH_FORWARD)) reference_forward(&r);
    if (c->way & BENCH_BACKWARD) reference_backward(&r);
    return true;
}

static bool hold_against(op_call *part, const bench_case *c, double *const memory[MEMBERS],
                         io_error *error) {
    truth t = truth_of_call(part);
    size_t i;
    for (i = 0; i < MEMBERS; i++) {
        const call_tensor *result = members[i].result ? call_find(part, members[i].name) : NULL;
        verdict v;
        if (strcmp(members[i].name, "y") == 0 && (c->way & BENCH_BACKWARD) && t.alpha > 0) {
            t.weights = memory[i];
            t.weight_count = memory[i] && t.row ? call_count(call_find(part, "x")) : 0;
        }
        if (!result) continue;
        t.tensor = result->name;
        v = compare_result(&t, result, memory[i]);
        if (v.units > 1)
            return io_fail(error,
                           "is wrong: %s at element %zu of the checked rows is %.9g, should "
                           "be %.9g (%.3g times the tolerance)",
                           result->name, v.index, v.got, v.want, v.units);
    }
    return true;
}

static bool check_rows(const bench_case *c, const sample *s, io_error *error) {
    op_call *part = calloc(1, sizeof *part);
    double *memory[MEMBERS] = {NULL};
    bool good = part != NULL;
    size_t i;
    if (!good) return io_fail(error, "cannot be checked: no memory");
    part->op = c->op;
    for (i = 0; i < c->call.tensors && good; i++) {
        good = take_rows(s, c->op, &c->call.tensor[i], &part->tensor[i], error);
        part->tensors += good;
    }
    if (good && !compute(part, c, s, memory)) good = io_fail(error, "cannot be checked: no memory");
    good = good && hold_against(part, c, memory, error);
    for (i = 0; i < MEMBERS; i++) free(memory[i]);
    call_free(part);
    free(part);
    return good;
}

/* For operations without a loop of their own: their golden cases, on this device. */
static bool check_golden(const bench_case *c, io_error *error) {
    char name[128], path[1400];
    golden_result *result = malloc(sizeof *result);
    io_safetensors file = {0};
    bool good;
    snprintf(name, sizeof name, "%s.safetensors", c->op->name);
    good = result != NULL && cmd_data_path("golden", name, path, sizeof path);
    if (!good) io_fail(error, "has neither a double-precision loop nor golden cases");
    good = good && io_safetensors_open_path(&file, path, error) &&
           golden_run(&file, c->op, c->stream, c->storage, result, error);
    if (good && result->failed > 0) good = io_fail(error, "is wrong: %s", result->failures[0].text);
    io_safetensors_close(&file);
    free(result);
    return good;
}

static bool read_results(bench_case *c, io_error *error) {
    size_t i;
    for (i = 0; i < c->call.tensors; i++) {
        call_tensor *t = &c->call.tensor[i];
        size_t bytes = t->array.count * io_dtype_size(t->array.dtype);
        if (bench_is_result(c, t->name) &&
            anymax_buffer_read(c->stream, c->buffer[i], 0, t->array.data, bytes) != ANYMAX_OK)
            return io_fail(error, "cannot be read: %s", anymax_error_message());
    }
    if (anymax_stream_sync(c->stream) != ANYMAX_OK)
        return io_fail(error, "cannot be read: %s", anymax_error_message());
    return true;
}

bool bench_case_check(bench_case *c, io_error *error) {
    bool known = reference_is_map(c->op->name) || strcmp(c->op->name, "cross_entropy") == 0 ||
                 strcmp(c->op->name, "infonce_loss") == 0;
    sample s = {0};
    bool good;
    if (!bench_case_run(c)) return io_fail(error, "fails: %s", anymax_error_message());
    if (!known) return check_golden(c, error);
    if (!read_results(c, error)) return false;
    good = sample_make(&s, c);
    if (!good) io_fail(error, "cannot be checked: no memory");
    /* Each pair needs all others. */
    if (good && strcmp(c->op->name, "infonce_loss") == 0) {
        free(s.row);
        s.row = malloc(s.all * sizeof *s.row);
        for (s.rows = 0; s.rows < s.all && s.row; s.rows++) s.row[s.rows] = s.rows;
    }
    good = good && s.row && check_rows(c, &s, error);
    free(s.row);
    return good;
}
