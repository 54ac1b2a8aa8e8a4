/* call_make.c: a call by name from bytes. Names, shapes and types are most often those that fit, so
 * that what is wrong is one thing among right ones. */
#include "call.h"

#include <math.h>

static char *own(fuzz_call *call, char *text) {
    call->owned[call->owned_count++] = text;
    return text;
}

/* A size, stride or offset: small, or one that hurts. */
static int64_t hostile(fuzz_bytes *bytes) {
    static const int64_t values[] = {
        INT64_MAX, INT64_MIN,        -1,   INT64_MAX / 2,    INT64_MAX / 4 + 1, (int64_t)1 << 62,
        65536,     (int64_t)1 << 31, 4096, (int64_t)1 << 32, INT32_MAX,         (int64_t)1 << 40};
    unsigned code = fuzz_byte(bytes);
    if (code < 64) return code % 9;
    if (code < 192) return code - 63;
    if (code < 240) return values[code % 12];
    return (int64_t)fuzz_number(bytes, 8);
}

/* ---------------------------------------------------------------- names */

/* Name `number` of all that the operation's tensors may have; NULL behind the last. */
static char *tensor_name(const anymax_op_info *info, unsigned number) {
    static const char *const prefixes[] = {"", "", "up.", "grad."};
    unsigned list, i;
    char *name = malloc(80);
    if (!name) abort();
    for (list = 0; list < 4; list++) {
        const anymax_op_tensor *tensors = list == 1 || list == 2 ? info->outputs : info->inputs;
        for (i = 0; i < ANYMAX_OP_MAX_TENSORS && tensors[i].name; i++)
            if (number-- == 0) {
                snprintf(name, 80, "%s%s", prefixes[list], tensors[i].name);
                return name;
            }
    }
    free(name);
    return NULL;
}

static const char *name_from(fuzz_call *call, fuzz_bytes *bytes) {
    unsigned code = fuzz_byte(bytes);
    char *name;
    if (code == 255) return NULL;
    name = call->info && code < 250 ? tensor_name(call->info, code % 16) : NULL;
    return own(call, name ? name : fuzz_text(bytes));
}

/* The registry's entry behind a name. */
static const anymax_op_tensor *entry_of(const anymax_op_info *info, const char *name) {
    int i;
    if (!info || !name) return NULL;
    if (strncmp(name, "up.", 3) == 0) name += 3;
    if (strncmp(name, "grad.", 5) == 0) name += 5;
    for (i = 0; i < ANYMAX_OP_MAX_TENSORS && info->inputs[i].name; i++)
        if (strcmp(info->inputs[i].name, name) == 0) return &info->inputs[i];
    for (i = 0; i < ANYMAX_OP_MAX_TENSORS && info->outputs[i].name; i++)
        if (strcmp(info->outputs[i].name, name) == 0) return &info->outputs[i];
    return NULL;
}

/* ---------------------------------------------------------------- tensors */

typedef struct form {
    uint32_t rank;
    int64_t shape[ANYMAX_MAX_RANK];
    unsigned axis; /* that is left out of a row's shape */
} form;

/* The shape as the registry describes it in words, for the call's common form. */
static void natural_shape(anymax_tensor *t, const form *f, const char *words) {
    uint32_t i;
    t->rank = 0;
    if (strcmp(words, "(n,)") == 0) {
        t->rank = 1;
        t->shape[0] = f->rank ? f->shape[f->axis] : 1;
    } else if (strstr(words, "(batch,)")) {
        t->rank = 1;
        t->shape[0] = f->shape[0];
    } else {
        for (i = 0; i < f->rank; i++)
            if (i != f->axis || strstr(words, "n)") || strstr(words, "dim)"))
                t->shape[t->rank++] = f->shape[i];
    }
}

static void shape_from(anymax_tensor *t, fuzz_bytes *bytes, const form *f,
                       const anymax_op_tensor *entry) {
    unsigned code = fuzz_byte(bytes);
    uint32_t i;
    if (entry && code < 160) {
        natural_shape(t, f, entry->shape);
        if (code >= 128 && t->rank) t->shape[code % t->rank] = hostile(bytes);
    } else {
        t->rank = code == 255 ? (uint32_t)fuzz_number(bytes, 4) : code % 8;
        for (i = 0; i < t->rank && i < ANYMAX_MAX_RANK; i++) t->shape[i] = hostile(bytes);
    }
    t->strided = fuzz_byte(bytes) % 4 == 3;
    for (i = 0; t->strided && i < t->rank && i < ANYMAX_MAX_RANK; i++)
        t->stride[i] = hostile(bytes);
}

static void type_from(anymax_tensor *t, fuzz_bytes *bytes, const anymax_op_tensor *entry) {
    static const anymax_dtype floats[] = {ANYMAX_F32, ANYMAX_F32, ANYMAX_F16, ANYMAX_BF16};
    static const anymax_dtype indices[] = {ANYMAX_I32, ANYMAX_I64, ANYMAX_U8, ANYMAX_I32};
    unsigned code = fuzz_byte(bytes);
    if (code < 128 && entry)
        t->dtype = entry->type == ANYMAX_CLASS_FLOAT ? floats[code % 4] : indices[code % 4];
    else
        t->dtype = (anymax_dtype)(code % 12);
}

static void place_from(anymax_tensor *t, fuzz_bytes *bytes, const fuzz_memory *memory,
                       const anymax_op_tensor *entry, size_t number) {
    unsigned code = fuzz_byte(bytes), offset = fuzz_byte(bytes);
    size_t slot = code < 128 ? number % SLOT_INDICES : code % SLOTS;
    if (entry && entry->type == ANYMAX_CLASS_INDEX && code < 128)
        slot = SLOT_INDICES + number % (SLOTS - SLOT_INDICES);
    if (code >= 252) return; /* no memory at all */
    t->offset_bytes = offset < 128 ? 0 : offset < 240 ? offset - 127 : (size_t)hostile(bytes);
    if (code & 1) {
        t->buffer = code >= 248 ? memory->foreign : memory->buffer;
        t->offset_bytes += slot * SLOT_BYTES;
    } else {
        t->data = memory->host + slot * SLOT_BYTES;
    }
}

/* ---------------------------------------------------------------- parameters */

static double number_from(fuzz_bytes *bytes) {
    static const double values[] = {
        0,     1,      -1,    0.5,  1.5,  2,   (double)NAN, (double)INFINITY,
        1e300, 1e-300, -1e38, 1e38, 0.99, 0.1, 10,          1e-45};
    unsigned code = fuzz_byte(bytes);
    uint64_t bits;
    double value;
    if (code < 240) return values[code % 16];
    bits = fuzz_number(bytes, 8);
    memcpy(&value, &bits, sizeof value);
    return value;
}

static const char *word_from(fuzz_call *call, fuzz_bytes *bytes) {
    static const char *const words[] = {"none", "sum", "mean", "Mean", ""};
    unsigned code = fuzz_byte(bytes);
    if (code == 255) return NULL;
    return code < 200 ? words[code % 5] : own(call, fuzz_text(bytes));
}

static const anymax_op_param *param_named(const anymax_op_info *info, unsigned number) {
    unsigned i;
    for (i = 0; info && i < ANYMAX_OP_MAX_TENSORS && info->params[i].name; i++)
        if (i == number) return &info->params[i];
    return NULL;
}

static void param_from(fuzz_call *call, fuzz_bytes *bytes, anymax_named_value *param) {
    static const double list[3] = {1, 2, 3};
    unsigned code = fuzz_byte(bytes), type = fuzz_byte(bytes);
    const anymax_op_param *entry = code < 240 ? param_named(call->info, code % 8) : NULL;
    anymax_value *v = &param->value;
    param->name = entry ? entry->name : code % 8 == 7 ? "accumulate" : NULL;
    if (!entry && code >= 240 && code < 255) param->name = own(call, fuzz_text(bytes));
    v->type = type < 128 && entry ? entry->type : (anymax_value_type)(type % 8);
    v->b = fuzz_byte(bytes) & 1;
    v->i = v->type == ANYMAX_VALUE_INT ? hostile(bytes) : 0;
    if (v->type == ANYMAX_VALUE_INT && (type & 1)) v->i = v->i == INT64_MIN ? v->i : -v->i;
    v->f = v->type == ANYMAX_VALUE_FLOAT ? number_from(bytes) : 0;
    v->s = v->type == ANYMAX_VALUE_STRING ? word_from(call, bytes) : NULL;
    if (v->type == ANYMAX_VALUE_LIST) v->list = type & 1 ? list : NULL, v->count = 3;
}

/* ---------------------------------------------------------------- all of it */

void fuzz_call_make(fuzz_call *call, fuzz_bytes *bytes, const fuzz_memory *memory) {
    form f = {0};
    unsigned op = fuzz_byte(bytes);
    uint32_t d;
    size_t i;
    memset(call, 0, sizeof *call);
    call->info = op < 250 ? anymax_op_at(op % anymax_op_count()) : NULL;
    call->op = call->info ? call->info->name : op == 255 ? NULL : own(call, fuzz_text(bytes));
    f.rank = fuzz_byte(bytes) % 8;
    if (f.rank > ANYMAX_MAX_RANK) f.rank = 2;
    for (d = 0; d < f.rank; d++) f.shape[d] = hostile(bytes);
    f.axis = f.rank ? fuzz_byte(bytes) % f.rank : 0;
    call->tensor_count = fuzz_byte(bytes) % (CALL_TENSORS + 1);
    call->param_count = fuzz_byte(bytes) % (CALL_PARAMS + 1);
    for (i = 0; i < call->tensor_count; i++) {
        anymax_tensor *t = &call->tensor[i];
        const char *name = name_from(call, bytes);
        const anymax_op_tensor *entry = entry_of(call->info, name);
        type_from(t, bytes, entry);
        shape_from(t, bytes, &f, entry);
        place_from(t, bytes, memory, entry, i);
        call->tensors[i].name = name;
        call->tensors[i].tensor = fuzz_byte(bytes) == 255 ? NULL : t;
    }
    for (i = 0; i < call->param_count; i++) param_from(call, bytes, &call->params[i]);
}

void fuzz_call_free(fuzz_call *call) {
    while (call->owned_count) free(call->owned[--call->owned_count]);
}
