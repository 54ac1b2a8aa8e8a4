/* call.h: one call of an operation by name: its tensors over arrays, its parameters. */
#ifndef ANYMAX_BENCH_CALL_H
#define ANYMAX_BENCH_CALL_H

#include "command.h"

struct cJSON;

#define CALL_MAX \
    40 /* tensors: inputs, outputs, upstream gradients, gradients; parameters likewise */
#define CALL_GUARD_BYTES 64

typedef struct call_tensor {
    char name[64];
    io_array array;       /* host memory of the tensor */
    anymax_tensor tensor; /* over `array`, or over a buffer */
} call_tensor;

typedef struct op_call {
    const anymax_op_info *op;
    call_tensor tensor[CALL_MAX];
    size_t tensors;
    anymax_named_value param[CALL_MAX];
    char *text[CALL_MAX]; /* owns names, strings and lists of the parameters */
    double *list[CALL_MAX];
    size_t params;
} op_call;

/* The operation of that name, or NULL after a message that names those like it. */
const anymax_op_info *call_find_op(const char *name);

void call_free(op_call *call);

/* Takes the array over, also when it fails (too many, or an array type the library has not). */
bool call_add(op_call *call, const char *name, io_array *array, io_error *error);
/* An array of zeros for a result. With `guard`, bytes of a pattern stand before and behind it. */
bool call_add_result(op_call *call, const char *name, io_dtype dtype, uint32_t rank,
                     const int64_t *shape, bool guard, io_error *error);
/* Whether the guard bytes of a result are as they were; the array is then what lies between. */
bool call_guard_intact(const call_tensor *result);
/* Element of a tensor that may be guarded. */
double call_get(const call_tensor *tensor, size_t index);
size_t call_count(const call_tensor *tensor);

call_tensor *call_find(op_call *call, const char *name);

/* A parameter from the command line or from JSON; its type is the registry's. */
bool call_set_text(op_call *call, const char *name, const char *text, io_error *error);
bool call_set_json(op_call *call, const char *name, const struct cJSON *value, io_error *error);
/* A float parameter's value: what was set, else the registry's default, else `otherwise`. */
double call_param(const op_call *call, const char *name, double otherwise);

/* Runs and waits; the message of a failure is the library's. */
anymax_status call_run(op_call *call, anymax_stream *stream);
/* Shape of an output for what has been added so far. */
anymax_status call_shape(op_call *call, const char *output, uint32_t *rank, int64_t *shape);

/* Entry of the registry for an input or an output, also behind "up." and "grad."; NULL if none. */
const anymax_op_tensor *op_input(const anymax_op_info *op, const char *name);
const anymax_op_tensor *op_output(const anymax_op_info *op, const char *name);
const anymax_op_param *op_param(const anymax_op_info *op, const char *name);

/* Converts to a type that the library takes for this class of tensor: floats to `storage`, or,
 * where `keep16`, left if they are 16-bit already; indices to i64 unless i32 or u8; masks to bool.
 */
bool call_fit(io_array *array, anymax_tensor_class type, io_dtype storage, bool keep16,
              size_t *overflowed, io_error *error);
const char *op_class_name(anymax_tensor_class type);
const char *op_value_name(anymax_value_type type);

#endif
