/* compare.c: results against truth, by the table that the tests use. */
#include "compare.h"

#include "tolerance.h"

#include <math.h>
#include <string.h>

static double largest_of(const call_tensor *tensor) {
    size_t count = call_count(tensor), i;
    double most = 0;
    for (i = 0; i < count; i++) {
        double v = fabs(call_get(tensor, i));
        if (isfinite(v) && v > most) most = v;
    }
    return most;
}

static void take_input(truth *t, const call_tensor *tensor, double factor) {
    bool up = strncmp(tensor->name, "up.", 3) == 0;
    double *most = up ? &t->up : &t->input;
    uint32_t axis;
    if (io_dtype_is_float(tensor->array.dtype)) *most = fmax(*most, largest_of(tensor) * factor);
    for (axis = 0; axis < tensor->tensor.rank && !up; axis++)
        if (tensor->tensor.shape[axis] > t->n) t->n = tensor->tensor.shape[axis];
}

truth truth_of_call(op_call *call) {
    truth t = {0};
    const call_tensor *x = call_find(call, "x");
    double factor = fabs(call_param(call, "scale", 1));
    double temperature = call_param(call, "temperature", 1);
    size_t i;
    if (temperature > 0) factor /= temperature;
    if (call_find(call, "prior")) factor *= 4; /* its logarithms are larger than it is */
    t.op = call->op->name;
    for (i = 0; i < call->tensors; i++) {
        const call_tensor *tensor = &call->tensor[i];
        bool input = strncmp(tensor->name, "up.", 3) == 0 ||
                     (strncmp(tensor->name, "grad.", 5) != 0 && op_input(call->op, tensor->name));
        if (input) take_input(&t, tensor, factor);
    }
    if (x && x->tensor.rank > 0) {
        t.rank = x->tensor.rank;
        t.row = (size_t)x->tensor.shape[t.rank - 1];
    }
    if (op_param(call->op, "alpha")) t.alpha = call_param(call, "alpha", 0);
    if (strcmp(t.op, "entmax15") == 0) t.alpha = 1.5;
    return t;
}

/* Elements i .. i + length - 1 form a row; results without the row's axis have rows of one, and
 * where no input has rows the whole tensor counts as one. */
static size_t row_length(const truth *t, const call_tensor *result) {
    const anymax_tensor *tensor = &result->tensor;
    size_t count = call_count(result);
    if (t->row == 0) return count ? count : 1;
    if (tensor->rank != t->rank || (size_t)tensor->shape[t->rank - 1] != t->row) return 1;
    return t->row;
}

static double least_weight(const truth *t, size_t row) {
    size_t n = t->row, j;
    double least = 0;
    if (!t->weights || (row + 1) * n > t->weight_count) return 0;
    for (j = 0; j < n; j++) {
        double w = t->weights[row * n + j];
        if (w > 0 && (least == 0 || w < least)) least = w;
    }
    return least;
}

verdict compare_result(const truth *t, const call_tensor *result, const double *want) {
    tol_case c = {0};
    verdict v = {0};
    size_t count = call_count(result), length = row_length(t, result), i;
    c.op = t->op;
    c.tensor = t->tensor;
    c.dtype = result->tensor.dtype;
    c.n = t->n;
    c.input = t->input;
    c.up = t->up;
    for (i = 0; i < count; i++) {
        double got = call_get(result, i), units;
        if (i % length == 0) {
            size_t left = count - i < length ? count - i : length;
            c.top = tol_largest(want + i, left);
            c.alpha = t->row_alpha ? t->row_alpha[i / length] : t->alpha;
            c.least = least_weight(t, i / length);
        }
        units = tol_units(&c, got, want[i]);
        if (isfinite(got) && isfinite(want[i])) v.error = fmax(v.error, fabs(got - want[i]));
        if (i > 0 && !(units > v.units)) continue;
        v.units = units;
        v.index = i;
        v.got = got;
        v.want = want[i];
    }
    return v;
}
