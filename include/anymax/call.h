/* anymax/call.h: every operation by its name, and what there is to know about it.
 *
 * Tensors are passed by name as in the registry: inputs "x", "target", ...; outputs "y", "loss",
 * ...; for gradients "up.y" (upstream, in) and "grad.x" (out). */
#ifndef ANYMAX_CALL_H
#define ANYMAX_CALL_H

#include <anymax/core.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum anymax_value_type {
    ANYMAX_VALUE_ABSENT = 0, /* as if the parameter had not been given */
    ANYMAX_VALUE_BOOL = 1,
    ANYMAX_VALUE_INT = 2,
    ANYMAX_VALUE_FLOAT = 3,
    ANYMAX_VALUE_STRING = 4,
    ANYMAX_VALUE_LIST = 5 /* of floats */
} anymax_value_type;

typedef struct anymax_value {
    anymax_value_type type;
    bool b;
    int64_t i;
    double f;
    const char *s;
    const double *list;
    size_t count; /* of list */
} anymax_value;

typedef struct anymax_named_value {
    const char *name;
    anymax_value value;
} anymax_named_value;

typedef struct anymax_named_tensor {
    const char *name;
    const anymax_tensor *tensor;
} anymax_named_tensor;

typedef enum anymax_tensor_class {
    ANYMAX_CLASS_FLOAT = 0, /* f32, f16 or bf16 */
    ANYMAX_CLASS_INDEX = 1, /* i32, i64 or u8 */
    ANYMAX_CLASS_MASK = 2   /* bool or u8 */
} anymax_tensor_class;

typedef struct anymax_op_tensor {
    const char *name;
    const char *shape; /* in words of the registry, e.g. "(..., n)" */
    anymax_tensor_class type;
    bool optional;
    bool differentiable; /* inputs: grad.NAME can be asked for */
} anymax_op_tensor;

typedef struct anymax_op_param {
    const char *name;
    anymax_value_type type;
    const char *standard; /* default, as written in JSON; "" for absent */
    const char *range;    /* in words, e.g. "> 0" */
    const char *also;     /* name of the input that gives it per row, or NULL */
} anymax_op_param;

#define ANYMAX_OP_MAX_TENSORS 8

typedef struct anymax_op_info {
    const char *name;    /* "softmax" */
    const char *group;   /* "map", "loss", ... */
    const char *summary; /* one line */
    const char *formula;
    const char *source; /* paper */
    anymax_op_tensor inputs[ANYMAX_OP_MAX_TENSORS];
    anymax_op_tensor outputs[ANYMAX_OP_MAX_TENSORS];
    anymax_op_param params[ANYMAX_OP_MAX_TENSORS]; /* each list ends at the first NULL name */
    bool value_and_grad; /* the backward pass writes outputs that it is given */
} anymax_op_info;

/* Number of operations, and the entry of one, by number or by name (NULL if there is none). The
 * entries live as long as the library. Thread-safe. */
ANYMAX_API size_t anymax_op_count(void);
ANYMAX_API const anymax_op_info *anymax_op_at(size_t index);
ANYMAX_API const anymax_op_info *anymax_op_find(const char *name);

/* Runs an operation by name. Without any tensor "grad.NAME" this is the forward pass: inputs and
 * outputs are given. With one or more it is the backward pass: inputs, upstream gradients (one
 * that is missing counts as zero) and gradients are given, and outputs too: as a forward pass left
 * them, to save work; or to be written in the same pass, where the entry says value_and_grad. The
 * parameter "accumulate" (bool) adds to the gradients; "axis" (int) moves the row axis where the
 * operation has one. An unknown name, a value out of range or an upstream gradient without a
 * gradient is refused. One thread at a time for each stream. */
ANYMAX_API anymax_status anymax_call(anymax_stream *stream, const char *name,
                                     const anymax_named_tensor *tensors, size_t tensor_count,
                                     const anymax_named_value *params, size_t param_count);

/* Shape of output `output` for these inputs and parameters, so that a caller can allocate it.
 * *rank and shape[6] are written. Nothing runs. Thread-safe. */
ANYMAX_API anymax_status anymax_call_shape(const char *name, const anymax_named_tensor *tensors,
                                           size_t tensor_count, const anymax_named_value *params,
                                           size_t param_count, const char *output, uint32_t *rank,
                                           int64_t *shape);

#ifdef __cplusplus
}
#endif
#endif
