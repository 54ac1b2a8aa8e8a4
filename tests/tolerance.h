/* How far a result may lie from its double-precision truth: one table for all backends.
 *
 * The bounds follow from the arithmetic, not from what some device happens to give. With
 * eps = 2^-24 (half an ulp of f32), L(v) = -ln v where v < 1, and the columns of the table:
 *
 *     c     = fixed + logs L + grow sqrt(n) + input * |input|
 *     allow = eps c (|want| + top * TOP + up * UP + one) + eps add * INPUT
 *
 * A weight exp(k (z - m)) / s carries its argument's rounding, which is proportional to the
 * argument and so to the logarithm of the weight (logs); sums of n terms in a fixed tree of lanes
 * add about sqrt(n) / 8 (grow); where something was added to x first, the argument inherits eps
 * times the size of what was added (input). For 16-bit storage the rounding of the output type
 * comes on top. NaN matches only NaN, and an infinity only itself. */
#ifndef TOLERANCE_H
#define TOLERANCE_H

#include <anymax/core.h>

#include <float.h>
#include <math.h>
#include <string.h>

/* What is known of the tensor that is checked; zero where it is not known. */
typedef struct tol_case {
    const char *op;     /* "softmax" */
    const char *tensor; /* "y", "grad.x" */
    anymax_dtype dtype; /* of the tensor */
    int64_t n;          /* length of the longest sum: the row; for products also the inner size */
    double input;       /* largest finite |float input| * |scale| (or / temperature) */
    double top;         /* largest finite |want| of the row, or of the tensor */
    double up;          /* largest finite |upstream gradient| * |scale| (or / temperature) */
    double alpha;       /* entmax: of this row */
    double least;       /* entmax gradients: smallest positive weight of the row */
    double added;       /* |what was there| where a gradient is added to something */
    double saved;       /* half an ulp of the type in which y was saved for backward, else 0 */
} tol_case;

typedef struct tol_row {
    const char *op, *tensor; /* NULL: any */
    double fixed, logs, grow, input;
    double top, up, one, add;
} tol_row;

/* The first row that fits counts. Reasons beside the numbers. */
static const tol_row tol_table[] = {
    /* exp: 2 ulp; two products; the argument is rounded twice */
    {"softmax", "y", 6, 3, 0.125, 0, 0, 0, 0, 0},
    {"gumbel_softmax", "y", 6, 3, 0.125, 4, 0, 0, 0, 0},
    {"logit_adjusted_softmax", "y", 6, 3, 0.125, 6, 0, 0, 0, 0},
    /* d and log s have the same sign, so the result is relative even where it is tiny */
    {"log_softmax", "y", 6, 3, 0.125, 0, 0, 0, 0, 0},
    /* k m and log s may cancel: absolute, by log n (handled in tol_bound) */
    {"logsumexp", "y", 4, 0, 0.125, 0, 0, 0, 1, 0},
    /* y (g - d): d is a sum that may cancel, its terms are no larger than the row's largest */
    {"softmax", "grad.x", 12, 3, 0.5, 0, 1, 0, 0, 0},
    {"gumbel_softmax", "grad.x", 12, 3, 0.5, 4, 1, 0, 0, 0},
    {"logit_adjusted_softmax", "grad.x", 12, 3, 0.5, 6, 1, 0, 0, 0},
    {"log_softmax", "grad.x", 8, 3, 0.5, 0, 1, 1, 0, 0},
    {"logsumexp", "grad.x", 8, 3, 0.125, 0, 0, 0, 0, 0},
    /* sums of terms of one sign */
    {"cross_entropy", "loss", 10, 3, 0.25, 0, 0, 0, 0, 0},
    {"cross_entropy", "lse", 4, 0, 0.125, 0, 0, 0, 1, 0},
    {"cross_entropy", "grad.x", 8, 3, 0.5, 0, 1, 2, 0, 0},
    /* the threshold has an absolute error; see tol_entmax */
    {"entmax15", "y", 4, 3, 0.125, 0, 0, 0, 0, 0},
    {"entmax", "y", 4, 3, 0.125, 0, 0, 0, 0, 0},
    {"entmax15", "grad.x", 8, 0, 0.25, 0, 1, 1, 0, 0},
    {"entmax", "grad.x", 8, 0, 0.25, 0, 1, 1, 0, 0},
    /* sums of y l^2, l = -log y up to log n or so: times (1 + log n)^2 in tol_bound */
    {"entmax", "grad.alpha", 32, 0, 1, 0, 1, 1, 0, 0},
    /* something was added to x: the argument inherits the rounding of the sum */
    {"softmax+", "y", 6, 3, 0.125, 4, 0, 0, 0, 0},
    {"softmax+", "grad.x", 12, 3, 0.5, 4, 1, 0, 0, 0},
    {"log_softmax+", "y", 6, 3, 0.125, 0, 0, 0, 0, 4},
    {"log_softmax+", "grad.x", 8, 3, 0.5, 4, 1, 1, 0, 0},
    {"logsumexp+", "y", 4, 0, 0.125, 0, 0, 0, 1, 4},
    {"logsumexp+", "grad.x", 8, 3, 0.125, 4, 0, 0, 0, 0},
    {"entmax15+", "y", 4, 3, 0.125, 0, 0, 0, 0, 4},
    {"entmax15+", "grad.x", 16, 0, 0.5, 4, 1, 1, 0, 0},
    {"entmax+", "y", 4, 3, 0.125, 0, 0, 0, 0, 4},
    {"entmax+", "grad.x", 16, 0, 0.5, 4, 1, 1, 0, 0},
    {"entmax+", "grad.alpha", 32, 0, 1, 4, 1, 1, 0, 0},
    /* the scores are products of unit vectors over the temperature: absolute by that size */
    {"infonce_loss", "loss", 10, 0, 0.25, 0, 0, 0, 1, 6},
    {"infonce_loss", "lse", 10, 0, 0.25, 0, 0, 0, 1, 6},
    {"infonce_loss", NULL, 16, 0, 1, 2, 1, 1, 0, 0},
    {NULL, NULL, 16, 2, 0.5, 2, 1, 1, 0, 0},
};

static inline const tol_row *tol_find(const char *op, const char *tensor) {
    const tol_row *row = tol_table;
    while (row->op != NULL &&
           (strcmp(row->op, op) != 0 || (row->tensor != NULL && strcmp(row->tensor, tensor) != 0)))
        row++;
    return row;
}

/* -ln v where v < 1, else 0; bounded by the range of f32. */
static inline double tol_log(double v) {
    if (!(v < 1)) return 0;
    return v > 1.0e-45 ? -log(v) : 104;
}

/* y = (1 + a v)^(1/a): the rounding of v and of the threshold, carried through the power, and that
 * of alpha, which is a float: dy/dalpha = y (1 + a l - e^(a l)) / a^2, l = -log y. Where the weight
 * is 0 and a > 1 the slope is infinite, and only an element just at the threshold may move: inputs
 * of tests stay away from it. */
static inline double tol_entmax(double y, double alpha, double n) {
    const double eps = ldexp(1, -24);
    double a = alpha - 1;
    double tau = a > 0 ? fmin(log(n), 1 / a) : log(n);
    double v = y > 0 ? (a > 1e-6 ? (1 - pow(y, a)) / a : tol_log(y)) : (a > 1e-6 ? 1 / a : 104);
    double l = a * tol_log(y), bend = y * eps * alpha;
    double dv = eps * (4 + 2 * v + tau + 0.25 * sqrt(n));
    if (y <= 0 && a > 1) return eps;
    bend *= l > 1e-3 ? (expm1(l) - l) / (a * a) : tol_log(y) * tol_log(y) / 2;
    if (a <= 1e-6) return y * dv + bend;
    return pow(pow(y > 0 ? y : 0, a) + a * dv, 1 / a) - y + bend;
}

/* The part of the bound that comes from f32 arithmetic. */
static inline double tol_bound(const tol_case *c, double want) {
    const double eps = ldexp(1, -24);
    const tol_row *row = tol_find(c->op, c->tensor);
    double n = c->n > 1 ? (double)c->n : 1;
    bool gradient = strncmp(c->tensor, "grad.", 5) == 0;
    double whole = gradient && c->up > 1 ? c->up : 1;
    double fixed = row->fixed + row->grow * sqrt(n) + row->input * c->input;
    double size = fabs(want) + c->added, extra, logs;
    if (row->one > 0) size += row->one * (1 + log(n));
    extra = row->top * c->top + row->up * c->up;
    if (strcmp(c->tensor, "grad.alpha") == 0) extra *= pow(1 + log(n), 2);
    logs = row->logs * (size * tol_log(size / whole) + extra * tol_log(c->top / whole));
    if (gradient && c->alpha > 0 && c->least > 0) {
        /* s = y^(1 - a) has the error |1 - a| y^(1 - 2a) dv, unbounded for a > 1/2; the largest s
         * is about 1 for a <= 1, else that of the least weight */
        double a = c->alpha - 1;
        if (a > 0.5)
            fixed *=
                1 +
                fmin(fabs(1 - a) * pow(c->least, 1 - 2 * a) / fmax(1, pow(c->least, 1 - a)), 1e6);
    }
    if (!gradient && strncmp(c->op, "entmax", 6) == 0)
        extra += tol_entmax(size, c->alpha > 0 ? c->alpha : 1.5, n) / (eps * fixed);
    /* the truth is a double, and may have cancelled too: 2^-50 */
    return eps * (fixed * (size + extra) + logs + row->add * c->input) + 2 * eps * c->added +
           ldexp(size + c->top + c->up, -50) + c->saved * 4 * (c->top + c->up) +
           1.2e-38 * (1 + c->up);
}

/* Half a unit in the last place of a storage type at `size`. */
static inline double tol_half_ulp(anymax_dtype dtype, double size) {
    int bits = dtype == ANYMAX_F16 ? 10 : dtype == ANYMAX_BF16 ? 7 : 23;
    int low = dtype == ANYMAX_F16 ? -14 : -126, e;
    frexp(size, &e); /* size in [2^(e-1), 2^e) */
    if (!(size > 0) || e - 1 < low) e = low + 1;
    return ldexp(1, e - 2 - bits);
}

/* The largest finite number of a storage type. */
static inline double tol_limit(anymax_dtype dtype) {
    if (dtype == ANYMAX_F16) return 65504;
    return dtype == ANYMAX_BF16 ? ldexp(255, 120) : (double)FLT_MAX;
}

static inline double tol_allow(const tol_case *c, double want) {
    double bound = tol_bound(c, want);
    if (c->dtype == ANYMAX_F32) return bound;
    return bound + tol_half_ulp(c->dtype, fabs(want) + bound);
}

/* Error in units of what is allowed: at most 1 passes, infinite where one is NaN or infinite and
 * the other is not. */
static inline double tol_units(const tol_case *c, double got, double want) {
    double limit = tol_limit(c->dtype);
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : (double)INFINITY;
    if (isinf(want)) return got == want ? 0 : (double)INFINITY;
    if (isinf(got)) {
        /* right where the truth rounds to infinity in the type of the output */
        double edge = limit + tol_half_ulp(c->dtype, limit);
        bool over = (got > 0) == (want > 0) && fabs(want) + tol_bound(c, want) >= edge;
        return over ? 0 : (double)INFINITY;
    }
    if (fabs(want) > limit) want = want > 0 ? limit : -limit;
    if (got == want) return 0;
    return fabs(got - want) / tol_allow(c, want);
}

/* Largest finite magnitude of `count` numbers: for input, top and up. */
static inline double tol_largest(const double *v, size_t count) {
    double most = 0;
    size_t i;
    for (i = 0; i < count; i++)
        if (isfinite(v[i]) && fabs(v[i]) > most) most = fabs(v[i]);
    return most;
}

#endif
