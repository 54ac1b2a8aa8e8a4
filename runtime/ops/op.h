/* The registry from inside: what each operation's file gives, and how it reads a call's arguments.
 */
#ifndef AM_OP_H
#define AM_OP_H

#include <anymax/call.h>

#include "../plan.h"

typedef struct am_call {
    const char *op;
    anymax_stream *stream;
    const anymax_named_tensor *tensors;
    size_t tensor_count;
    const anymax_named_value *params;
    size_t param_count;
    bool backward;
} am_call;

typedef struct am_op {
    anymax_op_info info;
    int detail;       /* for the operation's own file */
    const void *data; /* likewise */
    anymax_status (*run)(const struct am_op *op, const am_call *call);
    /* Shape of an output for these inputs. */
    anymax_status (*shape)(const struct am_op *op, const am_call *call, const char *output,
                           uint32_t *rank, int64_t *shape);
} am_op;

/* Each family's operations, in the order in which they are listed. */
typedef struct am_op_list {
    const am_op *ops;
    size_t count;
} am_op_list;

extern const am_op_list am_map_ops, am_cross_entropy_ops, am_contrastive_ops;

/* Arguments of a call by name; absent ones give NULL or the default. Types have been checked. */
const anymax_tensor *am_call_tensor(const am_call *call, const char *name);
anymax_opt am_call_float(const am_call *call, const char *name);
anymax_opt_int am_call_int(const am_call *call, const char *name);
bool am_call_bool(const am_call *call, const char *name);
bool am_call_bool_or(const am_call *call, const char *name, bool standard);
const char *am_call_string(const am_call *call, const char *name);

/* value if set and finite in [low, high]; fails the plan otherwise. */
float am_opt_in(am_plan *plan, const char *name, anymax_opt opt, float standard, float low,
                float high);
/* Axis counted from the front; fails the plan if x has no such axis. */
uint32_t am_axis_of(am_plan *plan, anymax_opt_int axis, am_value x);
/* Shape of x without the axis, as a row result has it. */
uint32_t am_shape_without(uint32_t rank, const int64_t *shape, uint32_t axis, int64_t *out);

#endif
