/* anymax/loss.h: losses over rows of logits and over pairs of embeddings.
 *
 * Every function here queues work on a stream: one thread at a time for each stream. Inputs and
 * outputs are f32, f16 or bf16 in any strides; arithmetic is f32. A dimension of 0 is a success
 * that does nothing. When arguments are refused (ANYMAX_ERROR_INVALID) no output is touched.
 * Gradients may be NULL: they are then not computed. */
#ifndef ANYMAX_LOSS_H
#define ANYMAX_LOSS_H

#include <anymax/core.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum anymax_reduction {
    ANYMAX_REDUCE_NONE = 0, /* a loss for each row */
    ANYMAX_REDUCE_SUM = 1,  /* one number */
    ANYMAX_REDUCE_MEAN =
        2 /* one number: sum / (weights of the rows that count); 0 if none counts */
} anymax_reduction;

/* Softmax cross-entropy with index or probability targets.
 *
 *     z = x / temperature,  lse = log sum_j exp(z_j),  -log p_j = lse - z_j
 *     index y:       loss = (1-e) w_y (-log p_y) + (e/n) sum_j w_j (-log p_j) + c lse^2
 *     probability q: loss = sum_j w_j q'_j (-log p_j) + c lse^2,  q' = (1-e) q + e/n
 *
 * e label smoothing, c z-loss weight, n the unmasked classes of the row. A wholly masked row has
 * loss, lse and gradient 0; a masked target has loss +inf and gradient 0. A target out of range
 * leaves its row out (loss and gradient 0) and makes the next sync report ANYMAX_ERROR_DATA.
 * Label smoothing: Szegedy et al., 2015; z-loss: Chowdhery et al., 2022. All zero is the default.
 */
typedef struct anymax_cross_entropy {
    anymax_opt_int axis;         /* of the classes; default the last */
    anymax_opt temperature;      /* > 0, default 1 */
    float label_smoothing;       /* [0, 1), default 0 */
    float z_loss;                /* >= 0, default 0 */
    anymax_opt_int ignore_index; /* default -100; rows with this target do not count */
    anymax_reduction reduction;
    const anymax_tensor *weight; /* (classes,), >= 0; default ones */
} anymax_cross_entropy;

/* x (..., classes); just one of target (...) i32/i64/u8 and target_prob (like x); loss: (...) with
 * no reduction, else one element; lse (...) may be NULL. */
ANYMAX_API anymax_status anymax_cross_entropy_forward(
    anymax_stream *stream, const anymax_cross_entropy *desc, const anymax_tensor *x,
    const anymax_tensor *target, const anymax_tensor *target_prob, const anymax_tensor *loss,
    const anymax_tensor *lse);
/* grad_x of sum(up_loss * loss) + sum(up_lse * lse); either up may be NULL; grad_x may be exactly
 * x. */
ANYMAX_API anymax_status anymax_cross_entropy_backward(
    anymax_stream *stream, const anymax_cross_entropy *desc, const anymax_tensor *x,
    const anymax_tensor *target, const anymax_tensor *target_prob, const anymax_tensor *up_loss,
    const anymax_tensor *up_lse, const anymax_tensor *grad_x, bool accumulate);

/* Both in one pass over x, for training: loss and lse (either may be NULL) as the forward call
 * gives them, and the gradient. With grad_x exactly x no other tensor of this size is needed. */
ANYMAX_API anymax_status anymax_cross_entropy_value_and_grad(
    anymax_stream *stream, const anymax_cross_entropy *desc, const anymax_tensor *x,
    const anymax_tensor *target, const anymax_tensor *target_prob, const anymax_tensor *up_loss,
    const anymax_tensor *up_lse, const anymax_tensor *loss, const anymax_tensor *lse,
    const anymax_tensor *grad_x, bool accumulate);

/* InfoNCE (van den Oord et al., 2018, arXiv 1807.03748): each query against its own key, the other
 * keys and extra negatives.
 *
 *     S = unit(query) unit(key)^T / T, then the columns unit(query) unit(negative)^T / T
 *     loss_i = log sum_j exp(S_ij) - S_ii;   lse_i = log sum_j exp(S_ij)
 *
 * All zero is the default. */
typedef struct anymax_infonce {
    anymax_opt temperature; /* > 0, default 0.1 */
    bool plain_dot;         /* do not scale the vectors to length 1 */
    bool symmetric; /* mean with the same loss over the columns (CLIP, Radford et al., 2021) */
} anymax_infonce;

/* query, key (batch, dim); negative (N, dim) or NULL; loss, lse (batch,), lse may be NULL. */
ANYMAX_API anymax_status anymax_infonce_forward(anymax_stream *stream, const anymax_infonce *desc,
                                                const anymax_tensor *query,
                                                const anymax_tensor *key,
                                                const anymax_tensor *negative,
                                                const anymax_tensor *loss,
                                                const anymax_tensor *lse);

typedef struct anymax_infonce_grads {
    const anymax_tensor *query, *key, *negative; /* NULL: not computed */
    bool accumulate;
} anymax_infonce_grads;

ANYMAX_API anymax_status anymax_infonce_backward(
    anymax_stream *stream, const anymax_infonce *desc, const anymax_tensor *query,
    const anymax_tensor *key, const anymax_tensor *negative, const anymax_tensor *up_loss,
    const anymax_tensor *up_lse, const anymax_infonce_grads *grads);

#ifdef __cplusplus
}
#endif
#endif
