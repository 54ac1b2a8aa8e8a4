/* call.c: tensors and the run of a call. */
#include "call.h"

#include <stdlib.h>
#include <string.h>

const anymax_op_info *call_find_op(const char *name) {
    const anymax_op_info *op = anymax_op_find(name);
    char like[300] = "";
    size_t i, used = 0;
    if (op) return op;
    for (i = 0; i < anymax_op_count() && *name; i++) {
        const char *other = anymax_op_at(i)->name;
        if (!strstr(other, name) && !strstr(name, other) && strncmp(other, name, 4) != 0) continue;
        if (used + strlen(other) + 4 > sizeof like) break;
        used += (size_t)snprintf(like + used, sizeof like - used, "%s%s", used ? ", " : "", other);
    }
    cmd_error("there is no operation '%s'%s%s (anymax ops lists them)", name,
              used ? "; perhaps " : "", like);
    return NULL;
}

void call_free(op_call *call) {
    size_t i;
    for (i = 0; i < call->tensors; i++) io_array_free(&call->tensor[i].array);
    for (i = 0; i < call->params; i++) {
        free(call->text[i]);
        free(call->list[i]);
    }
    memset(call, 0, sizeof *call);
}

static bool library_type(io_dtype dtype, anymax_dtype *out) {
    switch (dtype) {
    case IO_F32:
        *out = ANYMAX_F32;
        return true;
    case IO_F16:
        *out = ANYMAX_F16;
        return true;
    case IO_BF16:
        *out = ANYMAX_BF16;
        return true;
    case IO_I32:
        *out = ANYMAX_I32;
        return true;
    case IO_I64:
        *out = ANYMAX_I64;
        return true;
    case IO_U8:
        *out = ANYMAX_U8;
        return true;
    case IO_BOOL:
        *out = ANYMAX_BOOL;
        return true;
    default:
        return false;
    }
}

static call_tensor *new_tensor(op_call *call, const char *name, io_error *error) {
    call_tensor *made;
    if (call->tensors == CALL_MAX || strlen(name) >= sizeof made->name) {
        io_fail(error, "is one tensor too many, or its name is too long");
        return NULL;
    }
    made = &call->tensor[call->tensors++];
    memset(made, 0, sizeof *made);
    snprintf(made->name, sizeof made->name, "%s", name);
    return made;
}

bool call_add(op_call *call, const char *name, io_array *array, io_error *error) {
    call_tensor *made = new_tensor(call, name, error);
    anymax_dtype dtype;
    if (!made || !library_type(array->dtype, &dtype)) {
        if (made) {
            io_fail(error, "has type %s, which the library has not", io_dtype_name(array->dtype));
            call->tensors--;
        }
        io_array_free(array);
        return false;
    }
    made->array = *array;
    memset(array, 0, sizeof *array);
    made->tensor = anymax_host_tensor(made->array.data, dtype, made->array.rank, made->array.shape);
    return true;
}

bool call_add_result(op_call *call, const char *name, io_dtype dtype, uint32_t rank,
                     const int64_t *shape, bool guard, io_error *error) {
    size_t size = io_dtype_size(dtype), pad = guard ? CALL_GUARD_BYTES / size : 0, count, bytes;
    int64_t padded;
    io_array array;
    anymax_tensor *tensor;
    if (!guard)
        return io_array_create(&array, dtype, rank, shape, error) &&
               call_add(call, name, &array, error);
    if (!io_shape_count(shape, rank, size, &count, error)) return false;
    padded = (int64_t)(count + 2 * pad);
    if (!io_array_create(&array, dtype, 1, &padded, error)) return false;
    bytes = (size_t)padded * size;
    memset(array.data, 0xa5, bytes); /* the result too: what is not written shows */
    if (!call_add(call, name, &array, error)) return false;
    tensor = &call->tensor[call->tensors - 1].tensor;
    tensor->offset_bytes = CALL_GUARD_BYTES;
    tensor->rank = rank;
    memcpy(tensor->shape, shape, rank * sizeof *shape);
    return true;
}

size_t call_count(const call_tensor *tensor) {
    size_t guard = 2 * tensor->tensor.offset_bytes;
    return tensor->array.count - guard / io_dtype_size(tensor->array.dtype);
}

double call_get(const call_tensor *tensor, size_t index) {
    size_t before = tensor->tensor.offset_bytes / io_dtype_size(tensor->array.dtype);
    return io_array_get(&tensor->array, before + index);
}

bool call_guard_intact(const call_tensor *result) {
    const unsigned char *bytes = result->array.data;
    size_t all = result->array.count * io_dtype_size(result->array.dtype), i;
    size_t guard = result->tensor.offset_bytes;
    for (i = 0; i < guard; i++)
        if (bytes[i] != 0xa5 || bytes[all - 1 - i] != 0xa5) return false;
    return true;
}

call_tensor *call_find(op_call *call, const char *name) {
    size_t i;
    for (i = 0; i < call->tensors; i++)
        if (strcmp(call->tensor[i].name, name) == 0) return &call->tensor[i];
    return NULL;
}

static size_t name_tensors(op_call *call, anymax_named_tensor *named) {
    size_t i;
    for (i = 0; i < call->tensors; i++) {
        named[i].name = call->tensor[i].name;
        named[i].tensor = &call->tensor[i].tensor;
    }
    return call->tensors;
}

anymax_status call_run(op_call *call, anymax_stream *stream) {
    anymax_named_tensor named[CALL_MAX];
    size_t count = name_tensors(call, named);
    anymax_status status =
        anymax_call(stream, call->op->name, named, count, call->param, call->params);
    return status == ANYMAX_OK ? anymax_stream_sync(stream) : status;
}

anymax_status call_shape(op_call *call, const char *output, uint32_t *rank, int64_t *shape) {
    anymax_named_tensor named[CALL_MAX];
    size_t count = name_tensors(call, named);
    return anymax_call_shape(call->op->name, named, count, call->param, call->params, output, rank,
                             shape);
}

static const anymax_op_tensor *find_tensor(const anymax_op_tensor *list, const char *name) {
    size_t i;
    for (i = 0; i < ANYMAX_OP_MAX_TENSORS && list[i].name; i++)
        if (strcmp(list[i].name, name) == 0) return &list[i];
    return NULL;
}

const anymax_op_tensor *op_input(const anymax_op_info *op, const char *name) {
    return find_tensor(op->inputs, strncmp(name, "grad.", 5) == 0 ? name + 5 : name);
}

const anymax_op_tensor *op_output(const anymax_op_info *op, const char *name) {
    return find_tensor(op->outputs, strncmp(name, "up.", 3) == 0 ? name + 3 : name);
}

const anymax_op_param *op_param(const anymax_op_info *op, const char *name) {
    size_t i;
    for (i = 0; i < ANYMAX_OP_MAX_TENSORS && op->params[i].name; i++)
        if (strcmp(op->params[i].name, name) == 0) return &op->params[i];
    return NULL;
}

/* NumPy's bool and 0/1 in any type are a mask. */
static bool fit_mask(io_array *array, io_error *error) {
    size_t i;
    for (i = 0; i < array->count; i++) {
        double v = io_array_get(array, i);
        if (v != 0.0 && v != 1.0)
            return io_fail(error, "holds %g at element %zu; a mask has 0 and 1 alone", v, i);
    }
    return io_array_convert(array, IO_BOOL, NULL, error);
}

bool call_fit(io_array *array, anymax_tensor_class type, io_dtype storage, bool keep16,
              size_t *overflowed, io_error *error) {
    *overflowed = 0;
    if (type == ANYMAX_CLASS_MASK) return fit_mask(array, error);
    if (type == ANYMAX_CLASS_INDEX) {
        if (io_dtype_is_float(array->dtype))
            return io_fail(error, "holds %s numbers where indices are needed",
                           io_dtype_name(array->dtype));
        if (array->dtype == IO_I32 || array->dtype == IO_U8) return true;
        return io_array_convert(array, IO_I64, NULL, error);
    }
    if (keep16 && (array->dtype == IO_F16 || array->dtype == IO_BF16)) return true;
    return io_array_convert(array, storage, overflowed, error);
}

const char *op_class_name(anymax_tensor_class type) {
    static const char *const names[] = {"float", "index", "mask"};
    return (unsigned)type < 3 ? names[type] : "?";
}

const char *op_value_name(anymax_value_type type) {
    static const char *const names[] = {"absent", "bool", "int", "float", "string", "list"};
    return (unsigned)type < 6 ? names[type] : "?";
}
