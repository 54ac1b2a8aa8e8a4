/* What the programs of maps share: z = (x + bias + noise) * scale, with the sign of the scale
 * folded into z and its size k left to the program, which evaluates k (z - m): k z rounded first
 * would lose |k z| 2^-24. No guard: this file is included by each program after the last one was
 * cleared. */
#define MAP_IN(I) I(0, x, -AM_INF) I(12, bias, 0.0f) I(13, noise, 0.0f)
#define MAP_PARAM(P) P(14, 0, scale)
#define MAP_VARS(V) V(sign) V(k)
#define MAP_T0                                          \
    sign = scale < 0.0f ? ROWLIT(-1.0f) : ROWLIT(1.0f); \
    k = sign * scale;
/* t keeps -inf (masked) whatever the scale; NaN and +inf are found in it by MAP_GUARD. */
#define MAP_LET                        \
    const real t = (x + bias) + noise; \
    const real z = am_sel(am_visible(t), t * sign, LIT(-AM_INF));
#define MAP_GUARD am_poison(t)
