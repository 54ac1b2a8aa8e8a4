/* softmax, log_softmax, logsumexp, entmax15, entmax and their compositions, row by row. */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    size_t n;
    double scale, alpha, top; /* top: largest z */
    double *z;                /* -inf where masked */
    bool poisoned, empty;
} row;

static double *allocate(size_t count) {
    double *memory = malloc((count ? count : 1) * sizeof *memory);
    if (memory == NULL) abort();
    return memory;
}

static row row_make(const reference *r, size_t i, double *z) {
    row w = {r->n, 1, 0, 0, z, false, true};
    w.scale = r->row_scale ? r->row_scale[i] : r->scale;
    if (strcmp(r->op, "gumbel_softmax") == 0) w.scale /= r->temperature;
    w.alpha = r->alpha ? r->alpha[i] : r->alpha_all;
    w.top = -(double)INFINITY;
    for (size_t j = 0; j < r->n; j++) {
        double t = r->x[i * r->n + j];
        if (r->bias) t += r->bias[i * r->n + j];
        if (r->noise) t += r->noise[i * r->n + j];
        if (r->prior) t -= r->tau * log(r->prior[j]);
        if (isnan(t) || t == (double)INFINITY) w.poisoned = true;
        z[j] = t == -(double)INFINITY ? t : t * w.scale;
        if (z[j] > -(double)INFINITY) w.empty = false;
        w.top = fmax(w.top, z[j]);
    }
    return w;
}

static bool visible(double z) {
    return z > -(double)INFINITY;
}

/* log sum exp(z - top), exact for a small rest beside one large entry */
static double log_rest(const row *w) {
    double rest = 0;
    bool first = true;
    for (size_t j = 0; j < w->n; j++) {
        if (!visible(w->z[j])) continue;
        if (w->z[j] == w->top && first)
            first = false;
        else
            rest += exp(w->z[j] - w->top);
    }
    return log1p(rest);
}

static int descending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* By sorting, as the paper has it. */
static void entmax15_solve(const row *w, double *y) {
    double *s = allocate(w->n), mean = 0, square = 0, tau = 0, total = 0;
    size_t count = 0;
    for (size_t j = 0; j < w->n; j++)
        if (visible(w->z[j]) && w->z[j] - w->top > -2.1) s[count++] = (w->z[j] - w->top) / 2;
    qsort(s, count, sizeof *s, descending);
    for (size_t k = 1; k <= count; k++) {
        double before = mean, at;
        mean += (s[k - 1] - mean) / (double)k;
        square +=
            (s[k - 1] - before) * (s[k - 1] - mean); /* Welford's sum of squares about the mean */
        at = mean - sqrt(fmax(1 - square, 0) / (double)k);
        if (at > s[k - 1]) break;
        tau = at;
    }
    for (size_t j = 0; j < w->n; j++) {
        double u = visible(w->z[j]) ? (w->z[j] - w->top) / 2 - tau : 0;
        y[j] = u > 0 ? u * u : 0;
        total += y[j];
    }
    for (size_t j = 0; j < w->n; j++) y[j] /= total;
    free(s);
}

/* (1 + a v)^(1/a), exp(v) at a = 0 */
static double power(double v, double a) {
    if (a == 0) return exp(v);
    if (1 + a * v <= 0) return 0;
    return exp(log1p(a * v) / a);
}

/* Bisection on the threshold, relative to the largest entry: sum power(z - top - tau) = 1. */
static void entmax_solve(const row *w, double *y) {
    double a = w->alpha - 1, low = 0, high = 0, total = 0, *d = allocate(w->n);
    size_t count = 0;
    for (size_t j = 0; j < w->n; j++)
        if (visible(w->z[j]) && (a == 0 || a * (w->z[j] - w->top) > -1))
            d[count++] = w->z[j] - w->top;
    high = a == 0 ? log((double)count) : -expm1(-a * log((double)count)) / a;
    for (int step = 0; step < 80; step++) {
        double middle = 0.5 * (low + high), sum = 0;
        if (middle <= low || middle >= high) break;
        for (size_t j = 0; j < count; j++) sum += power(d[j] - middle, a);
        if (sum >= 1)
            low = middle;
        else
            high = middle;
    }
    for (size_t j = 0; j < w->n; j++) {
        y[j] = visible(w->z[j]) ? power(w->z[j] - w->top - low, a) : 0;
        total += y[j];
    }
    for (size_t j = 0; j < w->n; j++) y[j] /= total;
    free(d);
}

/* The weights that belong to the row: of log_softmax and logsumexp those of softmax. */
static void weights(const reference *r, const row *w, double *y) {
    memset(y, 0, w->n * sizeof *y);
    if (w->empty) return;
    if (strcmp(r->op, "entmax15") == 0) {
        entmax15_solve(w, y);
    } else if (strcmp(r->op, "entmax") == 0) {
        entmax_solve(w, y);
    } else {
        double rest = log_rest(w);
        for (size_t j = 0; j < w->n; j++)
            y[j] = visible(w->z[j]) ? exp(w->z[j] - w->top - rest) : 0;
    }
}

static bool is(const reference *r, const char *op) {
    return strcmp(r->op, op) == 0;
}

bool reference_is_map(const char *op) {
    static const char *const names[] = {
        "softmax",        "log_softmax",           "logsumexp", "entmax15", "entmax",
        "gumbel_softmax", "logit_adjusted_softmax"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], op) == 0) return true;
    return false;
}

void reference_map_forward(const reference *r) {
    double *z = allocate(r->n);
    for (size_t i = 0; i < r->rows; i++) {
        row w = row_make(r, i, z);
        double *y = r->y + i * (is(r, "logsumexp") ? 1 : r->n);
        if (is(r, "logsumexp")) {
            y[0] = w.poisoned ? (double)NAN : w.empty ? -(double)INFINITY : w.top + log_rest(&w);
        } else if (w.poisoned) {
            for (size_t j = 0; j < r->n; j++) y[j] = (double)NAN;
        } else if (is(r, "log_softmax")) {
            double rest = w.empty ? 0 : log_rest(&w);
            for (size_t j = 0; j < r->n; j++)
                y[j] = visible(z[j]) ? z[j] - w.top - rest : -(double)INFINITY;
        } else {
            weights(r, &w, y);
        }
    }
    free(z);
}

/* Jacobian of softmax at y, times g; written so that the row sums to zero. */
static void softmax_gradient(size_t n, const double *y, const double *g, double *out) {
    double d = 0, base = 0, most = -1;
    for (size_t j = 0; j < n; j++)
        if (y[j] > most) most = y[j], base = g[j];
    for (size_t j = 0; j < n; j++)
        if (y[j] > 0) d += y[j] * (g[j] - base);
    for (size_t j = 0; j < n; j++) out[j] = y[j] > 0 ? y[j] * ((g[j] - base) - d) : 0;
}

/* With s = y^(2 - alpha) and D_i = dy_i/dalpha at a fixed threshold, from y = (1 + a v)^(1/a):
 *     grad_x = s (g - sum s g / sum s),  grad_alpha = sum g D - (sum s g / sum s) sum D,
 *     D = y (1 + a l - e^(a l)) / a^2,  l = -log y  (at a = 0: -y l^2 / 2). */
static double entmax_gradient(size_t n, double alpha, const double *y, const double *g,
                              double *out) {
    double a = alpha - 1, ss = 0, sg = 0, slopes = 0, slope_g = 0, q;
    for (size_t j = 0; j < n; j++) {
        double l, v, s, d;
        if (y[j] <= 0) continue;
        l = -log(y[j]);
        v = a * l;
        s = y[j] * exp(v);
        if (fabs(v) > 0.01)
            d = y[j] * (v - expm1(v)) / (a * a);
        else
            d = -y[j] * l * l * (0.5 + v / 6 + v * v / 24 + v * v * v / 120);
        ss += s;
        sg += s * g[j];
        slopes += d;
        slope_g += d * g[j];
    }
    q = ss > 0 ? sg / ss : 0;
    for (size_t j = 0; j < n && out != NULL; j++)
        out[j] = y[j] > 0 ? pow(y[j], 1 - a) * (g[j] - q) : 0;
    return slope_g - q * slopes;
}

static void map_row_backward(const reference *r, const row *w, const double *up, double *grad,
                             double *grad_alpha) {
    double *y = allocate(w->n);
    weights(r, w, y);
    if (is(r, "logsumexp")) {
        for (size_t j = 0; j < w->n; j++) grad[j] = y[j] > 0 ? w->scale * y[j] * up[0] : 0;
    } else if (is(r, "log_softmax")) {
        double all = 0;
        for (size_t j = 0; j < w->n; j++)
            if (visible(w->z[j])) all += up[j];
        for (size_t j = 0; j < w->n; j++)
            grad[j] = visible(w->z[j]) ? w->scale * (up[j] - y[j] * all) : 0;
    } else if (is(r, "entmax15") || is(r, "entmax")) {
        double slope = entmax_gradient(w->n, is(r, "entmax15") ? 1.5 : w->alpha, y, up, grad);
        for (size_t j = 0; j < w->n; j++) grad[j] *= w->scale;
        if (grad_alpha) *grad_alpha = slope;
    } else {
        softmax_gradient(w->n, y, up, grad);
        for (size_t j = 0; j < w->n; j++) grad[j] *= w->scale;
    }
    free(y);
}

void reference_map_backward(const reference *r) {
    double *z = allocate(r->n), *grad = allocate(r->n), slope;
    for (size_t i = 0; i < r->rows; i++) {
        row w = row_make(r, i, z);
        slope = 0;
        if (w.poisoned) {
            slope = (double)NAN;
            for (size_t j = 0; j < r->n; j++) grad[j] = (double)NAN;
        } else {
            map_row_backward(r, &w, r->up_y + i * (is(r, "logsumexp") ? 1 : r->n), grad, &slope);
        }
        if (r->grad_x) memcpy(r->grad_x + i * r->n, grad, r->n * sizeof *grad);
        if (r->grad_alpha) r->grad_alpha[i] = slope;
    }
    free(grad);
    free(z);
}
