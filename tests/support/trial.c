/* Running one call and holding it against its truth. */
#include "trial.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"

trial trial_make(const test_device *device, const char *op, const char *format, ...) {
    trial t;
    va_list list;
    memset(&t, 0, sizeof t);
    t.device = device;
    t.op = op;
    t.factor = 1;
    t.tolerance = op;
    va_start(list, format);
    vsnprintf(t.label, sizeof t.label, format, list);
    va_end(list);
    return t;
}

static probe *next(trial *t) {
    ck_assert_msg(t->count < TRIAL_TENSORS, "%s: too many tensors", t->label);
    return &t->probes[t->count++];
}

probe *trial_input(trial *t, const char *name, anymax_dtype dtype, uint32_t rank,
                   const int64_t *shape, layout layout, const double *values) {
    probe *p = next(t);
    probe_input(p, name, dtype, rank, shape, layout, values);
    return p;
}

probe *trial_accumulated(trial *t, const char *name, anymax_dtype dtype, uint32_t rank,
                         const int64_t *shape, layout layout, const double *first,
                         const double *want) {
    probe *p = next(t);
    double *copy = NULL;
    probe_output(p, name, dtype, rank, shape, layout, first);
    if (want != NULL) {
        copy = malloc((p->count ? p->count : 1) * sizeof *copy);
        if (copy == NULL) abort();
        for (size_t i = 0; i < p->count; i++) copy[i] = want[i] + (first ? p->first[i] : 0);
    }
    t->want[t->count - 1] = copy;
    return p;
}

probe *trial_output(trial *t, const char *name, anymax_dtype dtype, uint32_t rank,
                    const int64_t *shape, layout layout, const double *want) {
    return trial_accumulated(t, name, dtype, rank, shape, layout, NULL, want);
}

probe *trial_find(trial *t, const char *name) {
    for (int i = 0; i < t->count; i++)
        if (strcmp(t->probes[i].name, name) == 0) return &t->probes[i];
    return NULL;
}

const anymax_tensor *trial_tensor(trial *t, const char *name) {
    probe *p = trial_find(t, name);
    return p ? &p->tensor : NULL;
}

static anymax_value *param(trial *t, const char *name, anymax_value_type type) {
    anymax_named_value *p = &t->params[t->param_count++];
    ck_assert_msg(t->param_count <= TRIAL_PARAMS, "%s: too many parameters", t->label);
    p->name = name;
    p->value.type = type;
    return &p->value;
}

void trial_float(trial *t, const char *name, double value) {
    param(t, name, ANYMAX_VALUE_FLOAT)->f = value;
}

void trial_int(trial *t, const char *name, int64_t value) {
    param(t, name, ANYMAX_VALUE_INT)->i = value;
}

void trial_bool(trial *t, const char *name, bool value) {
    param(t, name, ANYMAX_VALUE_BOOL)->b = value;
}

void trial_string(trial *t, const char *name, const char *value) {
    param(t, name, ANYMAX_VALUE_STRING)->s = value;
}

/* ---------------------------------------------------------------- the report */

static void describe(const trial *t, char *text, size_t size) {
    const anymax_device_info *info = anymax_device_get_info(t->device->device);
    const char *place = getenv("CK_RUN_CASE");
    snprintf(text, size,
             "\n  %s: %s\n  device %s (%s)%s%s%s%s\n  again: ANYMAX_TEST_DEVICE=%s "
             "ANYMAX_TEST_SEED=%llu%s%s %s\n",
             t->op, t->label, info->selector, info->name, t->device->pretend[0] ? ", pretend " : "",
             t->device->pretend, t->host ? ", host memory" : "", t->in_place ? ", in place" : "",
             info->selector, (unsigned long long)test_seed(), place ? " CK_RUN_CASE=" : "",
             place ? place : "", test_program());
}

static bool complain(const trial *t, char *text, size_t size, const char *format, ...) {
    va_list list;
    size_t used;
    va_start(list, format);
    vsnprintf(text, size, format, list);
    va_end(list);
    used = strlen(text);
    describe(t, text + used, size - used);
    return false;
}

/* ---------------------------------------------------------------- comparing */

/* The row that element `i` of `p` belongs to. */
static size_t row_of(const trial *t, const probe *p, size_t i) {
    size_t inner = 1, n = (size_t)t->row_len;
    if (n == 0) return 0;
    if (p->tensor.rank != t->rank) return i;
    for (uint32_t d = (uint32_t)t->axis + 1; d < t->rank; d++) inner *= (size_t)p->tensor.shape[d];
    if (p->tensor.shape[t->axis] != t->row_len) return i;
    return i / (inner * n) * inner + i % inner;
}

static double largest_of(trial *t, bool upstream) {
    double most = 0;
    for (int i = 0; i < t->count; i++) {
        const probe *p = &t->probes[i];
        bool up = strncmp(p->name, "up.", 3) == 0;
        if (t->want[i] != NULL || p->output || up != upstream || !dtype_is_float(p->tensor.dtype))
            continue;
        most = fmax(most, tol_largest(p->value, p->count));
    }
    return most * fabs(t->factor);
}

static void fill_row(const trial *t, tol_case *c, size_t row) {
    c->alpha = t->row_alpha ? t->row_alpha[row] : t->alpha;
    c->least = 0;
    if (t->weights == NULL) return;
    for (size_t j = 0; j < (size_t)t->row_len; j++) {
        double w = t->weights[row * (size_t)t->row_len + j];
        if (w > 0 && (c->least == 0 || w < c->least)) c->least = w;
    }
}

/* Largest finite |want| of each row, `rows` numbers. */
static double *tops_of(const trial *t, const probe *p, const double *want, size_t *rows) {
    double *top;
    *rows = 1;
    for (size_t i = 0; i < p->count; i++)
        if (row_of(t, p, i) >= *rows) *rows = row_of(t, p, i) + 1;
    top = calloc(*rows, sizeof *top);
    if (top == NULL) abort();
    for (size_t i = 0; i < p->count; i++) {
        double v = fabs(want[i] - (p->first ? p->first[i] : 0)), *at = &top[row_of(t, p, i)];
        if (isfinite(v) && v > *at) *at = v;
    }
    return top;
}

static bool compare(trial *t, int index, double input, double up, char *text, size_t size) {
    const probe *p = &t->probes[index];
    const double *want = t->want[index];
    tol_case c = {t->tolerance, p->name, p->tensor.dtype, t->n, input, 0, up, 0, 0, 0, 0};
    size_t rows, worst = 0, last_row = (size_t)-1;
    double *top = tops_of(t, p, want, &rows), units, most = 0;
    if (t->saved != ANYMAX_F32) c.saved = tol_half_ulp(t->saved, 1);
    for (size_t i = 0; i < p->count; i++) {
        size_t row = row_of(t, p, i);
        if (row != last_row && t->row_len > 0) fill_row(t, &c, row);
        last_row = row;
        c.top = top[row];
        c.added = p->first ? fabs(p->first[i]) : 0;
        units = tol_units(&c, p->value[i], want[i]);
        if (units > most) most = units, worst = i;
    }
    if (p->tensor.dtype == ANYMAX_F32) test_worst_add(t->op, p->name, most);
    t->worst = fmax(t->worst, most);
    free(top);
    if (most <= 1) return true;
    return complain(
        t, text, size,
        "%s[%zu] (row %zu of %zu, %s): got %.9g, want %.9g; %.3g of the tolerance %s/%s", p->name,
        worst, row_of(t, p, worst), rows, dtype_name(p->tensor.dtype), p->value[worst], want[worst],
        most, t->tolerance, p->name);
}

/* ---------------------------------------------------------------- running */

anymax_status trial_by_name(trial *t, anymax_stream *stream) {
    anymax_named_tensor tensors[TRIAL_TENSORS];
    for (int i = 0; i < t->count; i++) {
        tensors[i].name = t->probes[i].name;
        tensors[i].tensor = &t->probes[i].tensor;
    }
    return anymax_call(stream, t->op, tensors, (size_t)t->count, t->params, (size_t)t->param_count);
}

static void hash(trial *t, const probe *p) {
    for (size_t i = 0; i < p->image_bytes; i++) t->bits = (t->bits ^ p->after[i]) * 0x100000001b3u;
}

static anymax_status place(trial *t, anymax_stream *stream) {
    anymax_status status = ANYMAX_OK;
    for (int i = 0; i < t->count && status == ANYMAX_OK; i++)
        if (!t->in_place || i != t->count - 1) status = probe_place(&t->probes[i], stream, t->host);
    if (status == ANYMAX_OK && t->in_place)
        probe_share(&t->probes[t->count - 1], trial_find(t, t->in_place));
    return status;
}

static bool examine(trial *t, char *text, size_t size) {
    bool touched = t->expect == ANYMAX_OK && !t->untouched;
    char what[256];
    double input = largest_of(t, false), up = largest_of(t, true);
    t->bits = 0xcbf29ce484222325u;
    for (int i = 0; i < t->count; i++) {
        if (!probe_intact(&t->probes[i], touched, what, sizeof what))
            return complain(t, text, size, "%s", what);
        if (t->probes[i].output) hash(t, &t->probes[i]);
    }
    for (int i = 0; i < t->count && touched; i++)
        if (t->want[i] != NULL && !compare(t, i, input, up, text, size)) return false;
    return true;
}

bool trial_try(trial *t, char *text, size_t size) {
    anymax_stream *stream = t->device->stream;
    anymax_status status = place(t, stream), synced;
    double start;
    if (status == ANYMAX_OK) status = anymax_stream_sync(stream);
    if (status != ANYMAX_OK)
        return complain(t, text, size, "no memory: %s", anymax_error_message());
    start = test_now();
    status = t->call ? t->call(t, stream) : trial_by_name(t, stream);
    if (status != t->expect)
        return complain(t, text, size, "status '%s', want '%s': %s", anymax_status_string(status),
                        anymax_status_string(t->expect), anymax_error_message());
    if (status != ANYMAX_OK && t->expect_text &&
        strstr(anymax_error_message(), t->expect_text) == NULL)
        return complain(t, text, size, "the message \"%s\" does not say \"%s\"",
                        anymax_error_message(), t->expect_text);
    synced = anymax_stream_sync(stream);
    test_timing_add(t->op, test_now() - start);
    if (synced != t->expect_sync)
        return complain(t, text, size, "sync gave '%s', want '%s': %s",
                        anymax_status_string(synced), anymax_status_string(t->expect_sync),
                        anymax_error_message());
    for (int i = 0; i < t->count && status == t->expect; i++)
        if (probe_fetch(&t->probes[i], stream) != ANYMAX_OK)
            return complain(t, text, size, "reading back: %s", anymax_error_message());
    if (anymax_stream_sync(stream) != ANYMAX_OK)
        return complain(t, text, size, "reading back: %s", anymax_error_message());
    return examine(t, text, size);
}

void trial_run(trial *t) {
    char text[1600];
    bool passed = trial_try(t, text, sizeof text);
    if (passed) return;
    trial_end(t);
    ck_abort_msg("%s", text);
}

void trial_end(trial *t) {
    for (int i = 0; i < t->count; i++) {
        probe_free(&t->probes[i]);
        free(t->want[i]);
    }
    t->count = 0;
}
