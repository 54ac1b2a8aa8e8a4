/* Plans: an operation as a list of differentiable steps over row programs and products.
 *
 * An operation's file opens a plan, names the caller's tensors, adds steps, and runs it forward or
 * backward. The backward plan is derived: the steps in reverse, each with its program's other half,
 * whose slots are matched by name ("up_y" is the gradient that reached the forward's y, "grad_x"
 * the one that leaves towards its x, any other name the forward's own tensor). Forward steps whose
 * results a backward half reads run first. The first error sticks; nothing runs before all has been
 * checked.
 *
 * A plan lives in its stream and is used again by the next operation: it allocates nothing. */
#ifndef AM_PLAN_H
#define AM_PLAN_H

#include "plan_row.h"
#include "tensor.h"

typedef struct am_plan am_plan;
typedef int am_value; /* a view of a tensor of the plan; negative: absent */

#define AM_NO_VALUE (-1)

am_plan *am_plan_create(void);
void am_plan_destroy(am_plan *plan);

/* Starts a plan on the stream. `op` goes into messages. */
am_plan *am_plan_begin(anymax_stream *stream, const char *op);
/* Fails the plan; keeps the first failure. */
void am_plan_fail(am_plan *plan, anymax_status status);
bool am_plan_ok(const am_plan *plan);
const char *am_plan_op(const am_plan *plan);

/* The caller's tensors. NULL gives AM_NO_VALUE. An output that may overlap an input exactly does so
 * only if `in_place` is set for the plan (see below) or the plan stages it. */
am_value am_plan_input(am_plan *plan, const char *name, const anymax_tensor *tensor,
                       unsigned classes);
am_value am_plan_output(am_plan *plan, const char *name, const anymax_tensor *tensor);
/* An output that the caller did not give, of this shape: its gradient may still be given. */
am_value am_plan_virtual(am_plan *plan, const char *name, uint32_t rank, const int64_t *shape);
/* f32 scratch, packed. */
am_value am_plan_scratch(am_plan *plan, uint32_t rank, const int64_t *shape);

uint32_t am_plan_rank(const am_plan *plan, am_value value);
const int64_t *am_plan_shape(const am_plan *plan, am_value value);
/* Views: dimensions in another order; a part of one dimension; packed scratch as one dimension. */
am_value am_plan_transpose(am_plan *plan, am_value value, uint32_t a, uint32_t b);
am_value am_plan_slice(am_plan *plan, am_value value, uint32_t dim, int64_t start, int64_t count);
am_value am_plan_flat(am_plan *plan, am_value value);
/* A vector as a tensor of the rank of `like` that runs along `axis`, 1 long in all others. */
am_value am_plan_spread(am_plan *plan, am_value vector, am_value like, uint32_t axis);

/* One row program over the rows of `like` along `axis`. Set values, params and ints by the names of
 * the forward half, then close the step with am_plan_end, which checks shapes: tensors of rows
 * broadcast against `like`, values one a row against its shape without the axis. */
typedef struct am_row_step {
    int family; /* forward program number / 2 */
    am_value like;
    uint32_t axis;
    am_value value[AM_SLOTS];
    float param[AM_MAX_PARAMS];
    int32_t iparam[AM_MAX_INTS];
    uint32_t accumulate; /* forward: slots that are added to */
    int32_t iterations;  /* forward: of stage 2; 0: the program's own number */
} am_row_step;

/* AM_FAMILY(softmax) */
#define AM_FAMILY(name) (AM_PROGRAM_##name##_forward / 2)

am_row_step am_plan_row_step(int family, am_value like, uint32_t axis);
void am_plan_row_add(am_plan *plan, const am_row_step *step);
/* c = alpha a b for matrices (m, k), (k, n), (m, n). */
void am_plan_product_add(am_plan *plan, am_value a, am_value b, am_value c, float alpha);

/* Gradients: where the one of an output comes from, where the one of an input goes to. */
void am_plan_upstream(am_plan *plan, am_value output, const char *name,
                      const anymax_tensor *tensor);
void am_plan_gradient(am_plan *plan, am_value input, const char *name, const anymax_tensor *tensor,
                      bool accumulate);
/* The last step that writes a caller's tensor reads no other element of it: outputs may then be
 * exactly inputs without a copy. */
void am_plan_in_place(am_plan *plan);
/* Without elements in `value` the operation does nothing, once its arguments have been checked. */
void am_plan_rows_of(am_plan *plan, am_value value);
/* Says that `output` holds the forward's result already (given by the caller to save work). */
void am_plan_have(am_plan *plan, am_value output);

anymax_status am_plan_forward(am_plan *plan);
anymax_status am_plan_backward(am_plan *plan);

#endif
