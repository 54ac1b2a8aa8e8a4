/* The operations as plain double-precision loops over rows: the truth of random tests.
 *
 * Nothing here is fast or shared with the library. Rows are packed, one after the other. Absent
 * tensors are NULL; a number that is not set means its default. */
#ifndef SUPPORT_REFERENCE_H
#define SUPPORT_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct reference {
    const char *op; /* name in the registry */
    size_t rows, n; /* infonce_loss: batch and vector length */

    const double *x, *bias, *noise;       /* (rows, n) */
    const double *row_scale, *alpha;      /* (rows,) */
    const double *prior, *weight;         /* (n,) */
    const double *target;                 /* (rows,) whole numbers */
    const double *target_prob;            /* (rows, n) */
    const double *query, *key, *negative; /* (rows, n) twice, (negatives, n) */
    size_t negatives;

    double scale, alpha_all, tau; /* set by reference_make */
    double temperature, smoothing, z_loss;
    double ignore_index;
    const char *reduction; /* "none", "sum", "mean" */
    bool plain_dot, symmetric;

    const double *up_y, *up_loss, *up_lse;

    double *y;          /* (rows, n), logsumexp: (rows,) */
    double *loss, *lse; /* (rows,) or (1,) */
    double *grad_x, *grad_alpha;
    double *grad_query, *grad_key, *grad_negative;
} reference;

/* All defaults of `op`. */
reference reference_make(const char *op, size_t rows, size_t n);
/* Fill the outputs, and the gradients, that are not NULL. */
void reference_forward(const reference *r);
void reference_backward(const reference *r);

/* Parts of the above, by family. */
bool reference_is_map(const char *op);
void reference_map_forward(const reference *r);
void reference_map_backward(const reference *r);
void reference_cross_entropy_forward(const reference *r);
void reference_cross_entropy_backward(const reference *r);
void reference_infonce_forward(const reference *r);
void reference_infonce_backward(const reference *r);

#endif
