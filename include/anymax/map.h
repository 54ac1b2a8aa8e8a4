/* anymax/map.h: maps from a row of scores to a row of weights (softmax and its kin).
 *
 *     z_i = (x_i + bias_i + noise_i) * scale      modifiers, each optional
 *     y   = kind(z)                               along one axis
 *
 * Policy of every map: -inf masks an element (weight and gradient exactly 0); a row that is wholly
 * masked gives zeros (log_softmax and logsumexp: -inf) and gradient 0; NaN or +inf makes its own
 * row NaN and no other. Arithmetic is f32 whatever the storage type.
 *
 * Every function here queues work on a stream: one thread at a time for each stream. A dimension of
 * 0 is a success that does nothing. When arguments are refused no output is touched.
 */
#ifndef ANYMAX_MAP_H
#define ANYMAX_MAP_H

#include <anymax/core.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum anymax_map_kind {
    /* y_i = exp(z_i) / sum_j exp(z_j) */
    ANYMAX_SOFTMAX = 0,
    /* y_i = z_i - log sum_j exp(z_j) */
    ANYMAX_LOG_SOFTMAX = 1,
    /* y = log sum_j exp(z_j), one number a row: y has x's shape without the axis */
    ANYMAX_LOGSUMEXP = 2,
    /* y_i = max(z_i/2 - tau, 0)^2 with sum y = 1 (Peters et al., 2019, arXiv 1905.05702) */
    ANYMAX_ENTMAX15 = 3,
    /* y_i = max((alpha-1) z_i - tau, 0)^(1/(alpha-1)) with sum y = 1; alpha = 1 is softmax, 2 is
     * sparsemax (same paper; gradient in alpha: Correia et al., 2019, arXiv 1909.00015) */
    ANYMAX_ENTMAX = 4
} anymax_map_kind;

/* All zero is softmax along the last axis. Tensors broadcast against x: their shape is x's, or has
 * 1 where they repeat, or has fewer leading axes. */
typedef struct anymax_map {
    anymax_map_kind kind;
    anymax_opt_int axis;            /* default the last; negative counts from the end */
    anymax_opt scale;               /* inverse temperature, any finite number; default 1 */
    const anymax_tensor *row_scale; /* one scale for each row instead (x's shape, axis dropped) */
    const anymax_tensor *bias;      /* added to x before the scale; -inf masks */
    const anymax_tensor *noise;     /* likewise; kept apart so that a sample can change alone */
    anymax_opt alpha;               /* entmax: 1 to 10, default 1.5 */
    const anymax_tensor *row_alpha; /* entmax: one alpha for each row instead */
    const anymax_tensor *prior;     /* positive class frequencies (n,): adds -tau * log(prior) */
    anymax_opt tau;                 /* weight of the prior, >= 0; default 1 */
} anymax_map;

/* Gradients to compute; a NULL one is not. They may be added to what is there. */
typedef struct anymax_map_grads {
    const anymax_tensor *x;     /* shape of x; may be exactly up_y or x */
    const anymax_tensor *alpha; /* entmax with row_alpha: one number a row */
    bool accumulate;            /* add to the tensors instead of overwriting them */
} anymax_map_grads;

/* y = map(x). x, y: f32, f16 or bf16, any strides, lengths from 0; y may be exactly x, any other
 * overlap is refused. Status: invalid for a wrong argument (y is then untouched). */
ANYMAX_API anymax_status anymax_map_forward(anymax_stream *stream, const anymax_map *map,
                                            const anymax_tensor *x, const anymax_tensor *y);
/* Gradients of sum(up_y * y). y is the forward's result, or NULL: it only saves work (entmax), and
 * the gradient inherits the rounding of its storage type. */
ANYMAX_API anymax_status anymax_map_backward(anymax_stream *stream, const anymax_map *map,
                                             const anymax_tensor *x, const anymax_tensor *y,
                                             const anymax_tensor *up_y,
                                             const anymax_map_grads *grads);

/* Gumbel-softmax sample: softmax((x + noise) / temperature), noise standard Gumbel (Jang et al.,
 * 2017, arXiv 1611.01144). */
static inline anymax_map anymax_gumbel_softmax(const anymax_tensor *noise, float temperature) {
    anymax_map m = ANYMAX_ZERO;
    m.noise = noise;
    m.scale = anymax_some(1.0f / temperature);
    return m;
}

/* Post-hoc logit adjustment: softmax(x - tau * log(prior)) (Menon et al., 2021, arXiv 2007.07314).
 */
static inline anymax_map anymax_logit_adjusted_softmax(const anymax_tensor *prior, float tau) {
    anymax_map m = ANYMAX_ZERO;
    m.prior = prior;
    m.tau = anymax_some(tau);
    return m;
}

#ifdef __cplusplus
}
#endif
#endif
