/* Building a case: inputs, truth, tensors. Arrays have the rows one after the other until they are
 * handed over; `present` moves the row axis to its place. */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"

#define MAX_ARRAYS 40

typedef struct work {
    const op_case *c;
    bool backward;
    rng random;
    size_t rows, n, inner; /* inner: elements behind the row axis */
    int axis;
    int64_t row_shape[ANYMAX_MAX_RANK]; /* the shape without the row axis */
    uint32_t row_rank;
    reference r;
    trial t;
    char tolerance[32];
    void *arrays[MAX_ARRAYS];
    int count;
} work;

static double *array(work *w, size_t count) {
    double *memory = calloc(count ? count : 1, sizeof *memory);
    if (memory == NULL || w->count == MAX_ARRAYS) abort();
    return w->arrays[w->count++] = memory;
}

static bool is(const work *w, const char *op) {
    return strcmp(w->c->op, op) == 0;
}

/* Moves the row axis from the end to its place, or back. */
static double *move(work *w, const double *from, bool to_place) {
    double *to = array(w, w->rows * w->n);
    for (size_t r = 0; r < w->rows; r++) {
        size_t base = r / w->inner * w->n * w->inner + r % w->inner;
        for (size_t k = 0; k < w->n; k++) {
            size_t placed = base + k * w->inner, plain = r * w->n + k;
            to[to_place ? placed : plain] = from[to_place ? plain : placed];
        }
    }
    return to;
}

/* With stride 0 along the first axis, that axis repeats its first slab. */
static double *repeat(work *w, double *values) {
    size_t slab;
    double *placed;
    if (w->c->layout_in != LAYOUT_REPEAT || w->rows * w->n == 0) return values;
    placed = move(w, values, true);
    slab = w->rows * w->n / (size_t)w->c->shape[0];
    for (size_t i = slab; i < w->rows * w->n; i++) placed[i] = placed[i % slab];
    return move(w, placed, false);
}

static double *random_array(work *w, size_t count, double size, anymax_dtype dtype) {
    double *v = array(w, count);
    for (size_t i = 0; i < count; i++) v[i] = number_round(dtype, size * rng_normal(&w->random));
    return v;
}

static double draw(work *w, size_t row, size_t k, size_t peak) {
    switch (w->c->fill) {
    case FILL_WIDE:
        return rng_uniform(&w->random, -300, 300);
    case FILL_OFFSET:
        return 1e4 + 3 * rng_normal(&w->random);
    case FILL_TIES:
        return (double)rng_below(&w->random, 3);
    case FILL_EQUAL:
        return 0.75 * (double)(row % 5);
    case FILL_PEAK:
        return k == peak ? 20 : 0.25 * rng_normal(&w->random);
    case FILL_NEAR:
        return 0.5 * rng_normal(&w->random);
    default:
        return 3 * rng_normal(&w->random);
    }
}

/* Numbers that the case brings along. */
static double *given(work *w, const double *values, size_t count) {
    double *copy = array(w, count);
    for (size_t i = 0; i < count; i++) copy[i] = number_round(w->c->in, values[i]);
    return copy;
}

static double *scores(work *w) {
    double *x, infinite = (double)INFINITY;
    if (w->c->given_x) return given(w, w->c->given_x, w->rows * w->n);
    x = array(w, w->rows * w->n);
    for (size_t r = 0; r < w->rows; r++) {
        size_t peak = (size_t)rng_below(&w->random, (int64_t)(w->n ? w->n : 1));
        for (size_t k = 0; k < w->n; k++) {
            double *v = &x[r * w->n + k];
            *v = number_round(w->c->in, draw(w, r, k, peak));
            if (w->c->fill == FILL_MASKED && (r % 4 == 3 || rng_below(&w->random, 4) == 0))
                *v = -infinite;
        }
        if (w->c->fill == FILL_POISON && w->n > 0 && r % 3 == 1)
            x[r * w->n + peak] = r % 2 ? (double)NAN : infinite;
        if (w->c->fill == FILL_POISON && w->n > 1 && r % 5 == 1)
            x[r * w->n + (peak + 1) % w->n] = -infinite;
    }
    return repeat(w, x);
}

/* ---------------------------------------------------------------- handing over */

static void give(work *w, const char *name, const double *values, anymax_dtype dtype) {
    const op_case *c = w->c;
    trial_input(&w->t, name, dtype, c->rank, c->shape, c->layout_in, move(w, values, true));
}

static void give_rows(work *w, const char *name, const double *values, anymax_dtype dtype) {
    /* not repeated: these have values of their own */
    layout layout = w->c->layout_in == LAYOUT_REPEAT ? LAYOUT_GAPS : w->c->layout_in;
    trial_input(&w->t, name, dtype, w->row_rank, w->row_shape, layout, values);
}

static void give_column(work *w, const char *name, const double *values, anymax_dtype dtype) {
    int64_t n = (int64_t)w->n;
    layout layout = w->c->layout_in == LAYOUT_GAPS ? LAYOUT_GAPS : LAYOUT_ODD;
    trial_input(&w->t, name, dtype, 1, &n, layout, values);
}

static void take(work *w, const char *name, uint32_t rank, const int64_t *shape,
                 const double *want) {
    const op_case *c = w->c;
    size_t count = shape_count(rank, shape);
    const double *first = NULL;
    bool gradient = strncmp(name, "grad.", 5) == 0;
    if (c->only && gradient && strcmp(c->only, name) != 0) return;
    if (c->accumulate && gradient) first = random_array(w, count, 1, c->out);
    trial_accumulated(&w->t, name, c->out, rank, shape, c->layout_out, first, want);
}

/* A bias or noise: its own shape for the library, spread over all rows for the reference. */
static const double *give_spread(work *w, const char *name, spread kind) {
    const op_case *c = w->c;
    size_t total = w->rows * w->n;
    int64_t shape[ANYMAX_MAX_RANK], n = (int64_t)w->n;
    double *full, *base;
    if (kind == SPREAD_NONE) return NULL;
    base = kind == SPREAD_FULL && c->given_bias ? given(w, c->given_bias, total)
                                                : random_array(w, total, 2, c->in);
    for (size_t i = 0; i < total && c->fill == FILL_MASKED; i += 7) base[i] = -(double)INFINITY;
    if (kind == SPREAD_FULL) {
        base = repeat(w, base);
        give(w, name, base, c->in);
        return base;
    }
    full = array(w, total);
    for (size_t i = 0; i < total; i++) full[i] = base[kind == SPREAD_COLUMN ? i / w->n : i % w->n];
    for (uint32_t d = 0; d < c->rank; d++)
        shape[d] = ((int)d == w->axis) == (kind == SPREAD_ROW) ? c->shape[d] : 1;
    if (kind == SPREAD_SHORT)
        trial_input(&w->t, name, c->in, 1, &n, LAYOUT_ODD, base);
    else
        trial_input(&w->t, name, c->in, c->rank, shape, LAYOUT_GAPS, base);
    return full;
}

/* ---------------------------------------------------------------- maps */

static void map_inputs(work *w) {
    const op_case *c = w->c;
    reference *r = &w->r;
    double *x = scores(w);
    r->x = x;
    give(w, "x", x, c->in);
    r->bias = give_spread(w, "bias", c->bias);
    r->noise =
        give_spread(w, "noise", is(w, "gumbel_softmax") && !c->noise ? SPREAD_FULL : c->noise);
    if (c->scale.set) r->scale = c->scale.value;
    if (c->temperature.set) r->temperature = c->temperature.value;
    if (c->tau.set) r->tau = c->tau.value;
    if (c->alpha.set) r->alpha_all = c->alpha.value;
    if (c->row_scale) {
        r->row_scale = random_array(w, w->rows, 1, c->in);
        give_rows(w, "scale", r->row_scale, c->in);
    }
    if (c->row_alpha) {
        double *alpha = array(w, w->rows);
        for (size_t i = 0; i < w->rows; i++)
            alpha[i] = number_round(ANYMAX_F32, rng_uniform(&w->random, 1.05, 2.5));
        r->alpha = alpha;
        give_rows(w, "alpha", alpha, ANYMAX_F32);
    }
    if (is(w, "logit_adjusted_softmax")) {
        double *prior = array(w, w->n);
        for (size_t i = 0; i < w->n; i++)
            prior[i] = number_round(c->in, exp(2 * rng_normal(&w->random)));
        r->prior = prior;
        give_column(w, "prior", prior, c->in);
    }
}

static void map_case(work *w) {
    const op_case *c = w->c;
    reference *r = &w->r;
    bool single = is(w, "logsumexp");
    uint32_t rank = single ? w->row_rank : c->rank;
    const int64_t *shape = single ? w->row_shape : c->shape;
    map_inputs(w);
    r->y = array(w, w->rows * w->n + w->rows);
    reference_forward(r);
    if (strncmp(c->op, "entmax", 6) == 0 && w->backward) w->t.weights = r->y;
    w->t.row_alpha = r->alpha;
    w->t.alpha = is(w, "entmax") ? r->alpha_all : is(w, "entmax15") ? 1.5 : 0;
    w->t.factor = r->scale / (is(w, "gumbel_softmax") ? r->temperature : 1);
    if (c->row_scale) w->t.factor = fmax(1, tol_largest(r->row_scale, w->rows));
    if (r->bias || (r->noise && !is(w, "gumbel_softmax"))) {
        snprintf(w->tolerance, sizeof w->tolerance, "%s+", c->op);
        w->t.tolerance = w->tolerance;
        w->t.factor *= 3; /* x, bias and noise together */
    }
    if (r->prior)
        w->t.factor = 2 + r->tau; /* logarithms of the prior are larger than x or the prior */
    if (!w->backward) {
        take(w, "y", rank, shape, single ? r->y : move(w, r->y, true));
        return;
    }
    r->up_y = random_array(w, single ? w->rows : w->rows * w->n, 1, c->in);
    if (!single) r->up_y = repeat(w, (double *)r->up_y);
    if (single)
        give_rows(w, "up.y", r->up_y, c->in);
    else
        give(w, "up.y", r->up_y, c->in);
    if (c->give_saved) {
        trial_input(&w->t, "y", c->out, rank, shape, c->layout_out,
                    single ? r->y : move(w, r->y, true));
        w->t.saved = c->out;
    }
    r->grad_x = array(w, w->rows * w->n);
    r->grad_alpha = array(w, w->rows);
    reference_backward(r);
    if (c->row_alpha) take(w, "grad.alpha", w->row_rank, w->row_shape, r->grad_alpha);
    take(w, "grad.x", c->rank, c->shape, move(w, r->grad_x, true));
}

/* ---------------------------------------------------------------- losses */

static double *targets(work *w) {
    double *t = array(w, w->rows);
    const op_case *c = w->c;
    if (c->given_target) {
        memcpy(t, c->given_target, w->rows * sizeof *t);
        return t;
    }
    size_t classes = w->n == 0 ? 1 : c->index == ANYMAX_U8 && w->n > 256 ? 256 : w->n;
    int64_t ignored = c->ignore_index.set ? c->ignore_index.value : -100;
    for (size_t i = 0; i < w->rows; i++) {
        t[i] = (double)rng_below(&w->random, (int64_t)classes);
        /* one infinite loss would hide the other rows of a sum */
        for (size_t k = 0; k < classes && w->n > 0 && c->reduction; k++)
            if (!isfinite(w->r.x[i * w->n + (size_t)t[i]])) t[i] = (double)k;
        if (i % 6 == 5 && (c->index != ANYMAX_U8 || (ignored >= 0 && ignored < 256)))
            t[i] = (double)ignored;
    }
    return t;
}

static void cross_entropy_inputs(work *w) {
    const op_case *c = w->c;
    reference *r = &w->r;
    r->x = scores(w);
    give(w, "x", r->x, c->in);
    r->temperature = c->temperature.set ? c->temperature.value : 1;
    r->smoothing = (float)c->smoothing;
    r->z_loss = (float)c->z_loss;
    if (c->ignore_index.set) r->ignore_index = (double)c->ignore_index.value;
    if (c->reduction) r->reduction = c->reduction;
    if (c->probabilities) {
        double *q = random_array(w, w->rows * w->n, 1, c->in);
        for (size_t i = 0; i < w->rows * w->n; i++)
            q[i] = isfinite(r->x[i]) ? number_round(c->in, fabs(q[i]) / (double)w->n) : 0;
        if (c->given_prob) q = given(w, c->given_prob, w->rows * w->n);
        r->target_prob = repeat(w, q);
        give(w, "target_prob", r->target_prob, c->in);
    } else {
        r->target = targets(w);
        give_rows(w, "target", r->target, c->index == ANYMAX_F32 ? ANYMAX_I32 : c->index);
    }
    if (c->weight) {
        double *weight = random_array(w, w->n, 1, c->in);
        for (size_t i = 0; i < w->n; i++) weight[i] = fabs(weight[i]);
        if (c->given_weight) weight = given(w, c->given_weight, w->n);
        r->weight = weight;
        give_column(w, "weight", weight, c->in);
    }
}

static void cross_entropy_case(work *w) {
    const op_case *c = w->c;
    reference *r = &w->r;
    bool reduced = c->reduction && strcmp(c->reduction, "none") != 0;
    int64_t one = 1;
    uint32_t rank = reduced ? (c->typed ? 0 : 1) : w->row_rank;
    const int64_t *shape = reduced ? &one : w->row_shape;
    cross_entropy_inputs(w);
    w->t.factor = 1 / r->temperature;
    r->loss = array(w, w->rows + 1);
    r->lse = array(w, w->rows + 1);
    reference_forward(r);
    if (!w->backward || c->values) {
        take(w, "loss", rank, shape, r->loss);
        if (!c->no_lse) take(w, "lse", w->row_rank, w->row_shape, r->lse);
    }
    if (!w->backward) return;
    if (!c->no_up_loss) {
        r->up_loss = random_array(w, reduced ? 1 : w->rows, 1, c->in);
        trial_input(&w->t, "up.loss", c->in, rank, shape, LAYOUT_PACKED, r->up_loss);
    }
    if (!c->no_up_lse) {
        r->up_lse = random_array(w, w->rows, 1, c->in);
        give_rows(w, "up.lse", r->up_lse, c->in);
    }
    r->grad_x = array(w, w->rows * w->n);
    reference_backward(r);
    take(w, "grad.x", c->rank, c->shape, move(w, r->grad_x, true));
}

static void infonce_case(work *w) {
    const op_case *c = w->c;
    reference *r = &w->r;
    int64_t other[2] = {c->negatives, c->shape[1]};
    size_t count = w->rows * w->n;
    r->temperature = c->temperature.set ? c->temperature.value : (double)0.1f;
    r->plain_dot = c->plain_dot;
    r->symmetric = c->symmetric;
    r->negatives = (size_t)c->negatives;
    r->query = random_array(w, count, 1, c->in);
    r->key = random_array(w, count, 1, c->in);
    r->negative = random_array(w, r->negatives * w->n, 1, c->in);
    trial_input(&w->t, "query", c->in, 2, c->shape, c->layout_in, r->query);
    trial_input(&w->t, "key", c->in, 2, c->shape, c->layout_in, r->key);
    if (c->negatives > 0)
        trial_input(&w->t, "negative", c->in, 2, other, c->layout_in, r->negative);
    w->t.factor = 1 / r->temperature;
    w->t.n = (int64_t)(w->n > w->rows + r->negatives ? w->n : w->rows + r->negatives);
    w->t.row_len = 0;
    r->loss = array(w, w->rows);
    r->lse = array(w, w->rows);
    reference_forward(r);
    if (!w->backward) {
        take(w, "loss", 1, c->shape, r->loss);
        if (!c->no_lse) take(w, "lse", 1, c->shape, r->lse);
        return;
    }
    if (!c->no_up_loss) r->up_loss = random_array(w, w->rows, 1, c->in);
    if (!c->no_up_lse) r->up_lse = random_array(w, w->rows, 1, c->in);
    if (r->up_loss) trial_input(&w->t, "up.loss", c->in, 1, c->shape, LAYOUT_ODD, r->up_loss);
    if (r->up_lse) trial_input(&w->t, "up.lse", c->in, 1, c->shape, LAYOUT_ODD, r->up_lse);
    r->grad_query = array(w, count);
    r->grad_key = array(w, count);
    r->grad_negative = array(w, r->negatives * w->n);
    reference_backward(r);
    take(w, "grad.query", 2, c->shape, r->grad_query);
    take(w, "grad.key", 2, c->shape, r->grad_key);
    if (c->negatives > 0) take(w, "grad.negative", 2, other, r->grad_negative);
}

/* ---------------------------------------------------------------- running */

static uint64_t salt_of(const op_case *c, bool backward) {
    uint64_t h = backward ? 7 : 5;
    for (const char *s = c->op; *s; s++) h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    for (const char *s = c->name; *s; s++) h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return h;
}

static void shapes(work *w) {
    const op_case *c = w->c;
    w->axis = (int)c->rank - 1 - c->axis_back;
    w->n = (size_t)c->shape[w->axis];
    w->rows = w->inner = 1;
    for (int d = 0; d < (int)c->rank; d++) {
        if (d == w->axis) continue;
        w->rows *= (size_t)c->shape[d];
        if (d > w->axis) w->inner *= (size_t)c->shape[d];
        w->row_shape[w->row_rank++] = c->shape[d];
    }
}

uint64_t op_case_run(const test_device *device, const op_case *c, bool backward) {
    return op_case_run_with(device, c, backward, c->typed ? op_case_typed : NULL);
}

uint64_t op_case_run_with(const test_device *device, const op_case *c, bool backward,
                          anymax_status (*call)(trial *t, anymax_stream *stream)) {
    work *w = calloc(1, sizeof *w);
    uint64_t bits;
    char text[1600];
    bool passed;
    if (w == NULL) abort();
    w->c = c;
    w->backward = backward;
    w->random = rng_make(test_seed(), salt_of(c, backward));
    shapes(w);
    w->r = reference_make(c->op, w->rows, w->n);
    w->t = trial_make(device, c->op, "%s, %s", c->name, backward ? "backward" : "forward");
    w->t.n = w->t.row_len = (int64_t)w->n;
    w->t.axis = w->axis;
    w->t.rank = c->rank;
    w->t.host = c->host;
    w->t.user = c;
    w->t.untouched = w->n == 0;
    w->t.call = call;
    /* forward passes that give other shapes than x's have nothing to overwrite */
    if (backward || (reference_is_map(c->op) && !is(w, "logsumexp"))) w->t.in_place = c->in_place;
    if (reference_is_map(c->op))
        map_case(w);
    else if (is(w, "cross_entropy"))
        cross_entropy_case(w);
    else
        infonce_case(w);
    op_case_options(&w->t, c, backward);
    passed = trial_try(&w->t, text, sizeof text);
    bits = w->t.bits;
    trial_end(&w->t);
    for (int i = 0; i < w->count; i++) free(w->arrays[i]);
    free(w);
    if (!passed) ck_abort_msg("%s", text);
    return bits;
}
