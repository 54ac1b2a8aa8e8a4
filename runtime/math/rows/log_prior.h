/* log_prior: bias = -tau log(prior), element by element; the prior is no smaller than 2^-126. */
#define ROW_CONST(C) C(0, tau)
#define ROW_PRIOR am_sel(prior > 1.1754944e-38f, prior, LIT(1.1754944e-38f))
#if defined(ROW_FORWARD)
#define ROW_IN(I) I(0, prior, 1.0f)
#define ROW_OUT(O) O(1, bias, am_sel(am_poison(prior) > 0.0f, prior, am_log(ROW_PRIOR) * -tau))
#else
#define ROW_IN(I) I(0, prior, 1.0f) I(1, up_bias, 0.0f)
#define ROW_OUT(O) O(2, grad_prior, up_bias * -tau / ROW_PRIOR)
#endif
