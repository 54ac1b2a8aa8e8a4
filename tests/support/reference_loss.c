/* cross_entropy and infonce_loss as plain loops, and the choice by name. */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *allocate(size_t count) {
    double *memory = calloc(count ? count : 1, sizeof *memory);
    if (memory == NULL) abort();
    return memory;
}

reference reference_make(const char *op, size_t rows, size_t n) {
    reference r = {0};
    r.op = op;
    r.rows = rows;
    r.n = n;
    r.scale = 1;
    r.alpha_all = 1.5;
    r.tau = 1;
    r.temperature = strcmp(op, "infonce_loss") == 0 ? 0.1 : 1;
    r.ignore_index = -100;
    r.reduction = "none";
    return r;
}

void reference_forward(const reference *r) {
    if (reference_is_map(r->op))
        reference_map_forward(r);
    else if (strcmp(r->op, "cross_entropy") == 0)
        reference_cross_entropy_forward(r);
    else
        reference_infonce_forward(r);
}

void reference_backward(const reference *r) {
    if (reference_is_map(r->op))
        reference_map_backward(r);
    else if (strcmp(r->op, "cross_entropy") == 0)
        reference_cross_entropy_backward(r);
    else
        reference_infonce_backward(r);
}

/* ---------------------------------------------------------------- cross-entropy */

/* One row: minus log probabilities (of visible classes) and what its loss wants of each class. */
typedef struct ce_row {
    double lse;
    size_t seen;
    bool poisoned, left_out, lost; /* lost: a masked class is wanted */
    double counted;                /* its part of the mean's divisor */
    double *cost, *want;           /* -log p_j and a_j */
} ce_row;

static bool ce_left_out(const reference *r, size_t i) {
    double t;
    if (r->target_prob) return false;
    t = r->target[i];
    return t == r->ignore_index || t < 0 || t >= (double)r->n;
}

static void ce_make(const reference *r, size_t i, ce_row *w) {
    double top = -(double)INFINITY, rest = 0;
    const double *x = r->x + i * r->n;
    size_t at = 0;
    w->seen = 0;
    w->poisoned = w->lost = false;
    w->left_out = ce_left_out(r, i);
    w->counted = w->left_out      ? 0
                 : r->target_prob ? 1
                 : r->weight      ? r->weight[(size_t)r->target[i]]
                                  : 1;
    for (size_t j = 0; j < r->n; j++) {
        double z = x[j] / r->temperature;
        if (isnan(z) || z == (double)INFINITY) w->poisoned = true;
        if (z > -(double)INFINITY) w->seen++;
        if (z > top) top = z, at = j;
    }
    for (size_t j = 0; j < r->n; j++)
        if (j != at && x[j] > -(double)INFINITY) rest += exp((x[j] - x[at]) / r->temperature);
    w->lse = w->seen ? top + log1p(rest) : 0;
    for (size_t j = 0; j < r->n; j++) {
        double q = r->target_prob                              ? r->target_prob[i * r->n + j]
                   : !w->left_out && r->target[i] == (double)j ? 1
                                                               : 0;
        bool masked = x[j] == -(double)INFINITY;
        double share = masked || w->seen == 0 ? 0 : r->smoothing / (double)w->seen;
        if (masked && q > 0) w->lost = true;
        w->cost[j] = masked ? 0 : log1p(rest) - (x[j] - x[at]) / r->temperature;
        w->want[j] = masked ? 0 : (r->weight ? r->weight[j] : 1) * ((1 - r->smoothing) * q + share);
    }
}

static double ce_divisor(const reference *r, ce_row *w) {
    double sum = 0;
    if (strcmp(r->reduction, "mean") != 0) return 1;
    for (size_t i = 0; i < r->rows; i++) {
        ce_make(r, i, w);
        sum += w->counted;
    }
    return sum;
}

void reference_cross_entropy_forward(const reference *r) {
    ce_row w = {0};
    bool reduced = strcmp(r->reduction, "none") != 0;
    double total = 0, divisor;
    w.cost = allocate(r->n);
    w.want = allocate(r->n);
    divisor = ce_divisor(r, &w);
    for (size_t i = 0; i < r->rows; i++) {
        double loss = 0;
        ce_make(r, i, &w);
        for (size_t j = 0; j < r->n; j++) loss += w.want[j] * w.cost[j];
        loss += r->z_loss * w.lse * w.lse;
        if (w.lost) loss = (double)INFINITY;
        if (w.left_out || w.seen == 0) loss = 0;
        if (w.poisoned) loss = (double)NAN;
        if (r->loss && !reduced) r->loss[i] = loss;
        if (r->lse) r->lse[i] = w.poisoned ? (double)NAN : w.lse;
        total += loss;
    }
    if (r->loss && reduced) r->loss[0] = divisor == 0 ? 0 : total / divisor;
    free(w.cost);
    free(w.want);
}

void reference_cross_entropy_backward(const reference *r) {
    ce_row w = {0};
    bool reduced = strcmp(r->reduction, "none") != 0;
    double divisor;
    w.cost = allocate(r->n);
    w.want = allocate(r->n);
    divisor = ce_divisor(r, &w);
    for (size_t i = 0; i < r->rows; i++) {
        double up = r->up_loss ? r->up_loss[reduced ? 0 : i] : 0, all = 0, pull;
        ce_make(r, i, &w);
        if (reduced) up = divisor == 0 ? 0 : up / divisor;
        if (w.left_out || w.lost) up = 0;
        for (size_t j = 0; j < r->n; j++) all += w.want[j];
        pull = 2 * r->z_loss * w.lse * up + (r->up_lse ? r->up_lse[i] : 0);
        for (size_t j = 0; j < r->n; j++) {
            double p = exp(-w.cost[j]);
            double g = ((p * all - w.want[j]) * up + pull * p) / r->temperature;
            if (r->x[i * r->n + j] == -(double)INFINITY) g = 0;
            r->grad_x[i * r->n + j] = w.poisoned ? (double)NAN : g;
        }
    }
    free(w.cost);
    free(w.want);
}

/* ---------------------------------------------------------------- InfoNCE */

static double length_of(const double *v, size_t n, bool plain) {
    double sum = 0;
    if (plain) return 1;
    for (size_t j = 0; j < n; j++) sum += v[j] * v[j];
    return fmax(sqrt(sum), 1e-12);
}

/* scores (rows, rows + negatives) */
static double *scores_of(const reference *r) {
    size_t columns = r->rows + r->negatives;
    double *s = allocate(r->rows * columns);
    for (size_t i = 0; i < r->rows; i++) {
        const double *q = r->query + i * r->n;
        for (size_t c = 0; c < columns; c++) {
            const double *k = c < r->rows ? r->key + c * r->n : r->negative + (c - r->rows) * r->n;
            double dot = 0;
            for (size_t j = 0; j < r->n; j++) dot += q[j] * k[j];
            dot /= length_of(q, r->n, r->plain_dot) * length_of(k, r->n, r->plain_dot);
            s[i * columns + c] = dot / r->temperature;
        }
    }
    return s;
}

/* log sum exp of `count` numbers `step` apart */
static double lse_of(const double *s, size_t count, size_t step) {
    double top = -(double)INFINITY, sum = 0;
    for (size_t c = 0; c < count; c++) top = fmax(top, s[c * step]);
    for (size_t c = 0; c < count; c++) sum += exp(s[c * step] - top);
    return top + log(sum);
}

void reference_infonce_forward(const reference *r) {
    size_t columns = r->rows + r->negatives;
    double *s = scores_of(r);
    for (size_t i = 0; i < r->rows; i++) {
        double lse = lse_of(s + i * columns, columns, 1), own = s[i * columns + i];
        double loss = lse - own;
        if (r->symmetric) loss = 0.5 * (loss + lse_of(s + i, r->rows, columns) - own);
        if (r->loss) r->loss[i] = loss;
        if (r->lse) r->lse[i] = lse;
    }
    free(s);
}

/* Adds the gradient through v / |v| (or through v itself). */
static void pull_back(const double *v, const double *g, size_t n, bool plain, double *out) {
    double length = length_of(v, n, plain), dot = 0;
    for (size_t j = 0; j < n; j++) dot += v[j] * g[j];
    for (size_t j = 0; j < n; j++)
        out[j] = plain ? g[j] : (g[j] - v[j] * dot / (length * length)) / length;
}

static void pull_back_all(const double *v, const double *g, size_t rows, size_t n, bool plain,
                          double *out) {
    for (size_t i = 0; i < rows && out != NULL; i++)
        pull_back(v + i * n, g + i * n, n, plain, out + i * n);
}

void reference_infonce_backward(const reference *r) {
    size_t columns = r->rows + r->negatives, n = r->n;
    double *s = scores_of(r), *gq = allocate(r->rows * n), *gk = allocate(columns * n);
    for (size_t i = 0; i < r->rows; i++) {
        double half = r->symmetric ? 0.5 : 1;
        double lse = lse_of(s + i * columns, columns, 1);
        const double *q = r->query + i * n;
        double q_length = length_of(q, n, r->plain_dot);
        for (size_t c = 0; c < columns; c++) {
            const double *k = c < r->rows ? r->key + c * n : r->negative + (c - r->rows) * n;
            double k_length = length_of(k, n, r->plain_dot), p = exp(s[i * columns + c] - lse), d;
            d = r->up_loss ? half * r->up_loss[i] * (p - (c == i)) : 0;
            if (r->up_lse) d += r->up_lse[i] * p;
            if (r->symmetric && c < r->rows && r->up_loss) {
                double down = lse_of(s + c, r->rows, columns);
                d += 0.5 * r->up_loss[c] * (exp(s[i * columns + c] - down) - (c == i));
            }
            d /= r->temperature;
            for (size_t j = 0; j < n; j++) {
                gq[i * n + j] += d * k[j] / k_length;
                gk[c * n + j] += d * q[j] / q_length;
            }
        }
    }
    pull_back_all(r->query, gq, r->rows, n, r->plain_dot, r->grad_query);
    pull_back_all(r->key, gk, r->rows, n, r->plain_dot, r->grad_key);
    pull_back_all(r->negative, gk + r->rows * n, r->negatives, n, r->plain_dot, r->grad_negative);
    free(s);
    free(gq);
    free(gk);
}
