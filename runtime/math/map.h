/* What the programs of maps share: z = (x + bias + noise) * scale, with the sign of the scale
 * folded into z and its size k left to the program, which evaluates k (z - m): k z rounded first
 * would lose |k z| 2^-24. No guard: this file is included by each program after the last one was
 * cleared. */
#define MAP_PARAM(P) P(14, 0, scale)
#define MAP_VARS(V) V(sign) V(k)
#define MAP_T0                                          \
    sign = scale < 0.0f ? ROWLIT(-1.0f) : ROWLIT(1.0f); \
    k = sign * scale;
/* Nothing to multiply by, nothing to clamp. */
#define MAP_UNIT (k == 1.0f && m > -AM_INF)
#if defined(AM_MIXED)
/* The skeleton makes z, and only where bias, noise or a negative scale are given: else z is x. What
 * poisons its row has become NaN, if the sign has changed. */
#define ROW_MIXED 1
#define MAP_IN(I) I(0, z, -AM_INF)
#define MAP_LET
#define MAP_POISON z
#else
#define MAP_IN(I) I(0, x, -AM_INF) I(12, bias, 0.0f) I(13, noise, 0.0f)
/* t keeps -inf (masked) whatever the scale; NaN and +inf are found in it. */
#define MAP_LET                        \
    const real t = (x + bias) + noise; \
    const real z = am_sel(am_visible(t), t * sign, LIT(-AM_INF));
#define MAP_POISON t
#endif
