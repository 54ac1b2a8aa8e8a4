/* level.c: the forms, compiled once for each instruction-set level (AM_LEVEL), with the lanes and
 * the exp of the library.
 *
 * Each is the bare loop: no masks, no scale, whole steps of columns. What the library adds costs
 * all forms alike. */
#include "forms.h"

#include "cpu/kernel.h"
#include "cpu/lanes.h"

#define LANES AM_CHUNK
_Static_assert(FORM_STEP % LANES == 0, "rows are whole steps of one element a lane");

/* Stores past the caches, of as many floats as a vector has. */
#if defined(__AVX512F__)
#include <immintrin.h>
#define STREAM 16
#define stream_store(to, from) _mm512_stream_ps(to, _mm512_loadu_ps(from))
#elif defined(__AVX__)
#include <immintrin.h>
#define STREAM 8
#define stream_store(to, from) _mm256_stream_ps(to, _mm256_loadu_ps(from))
#elif defined(__SSE2__)
#include <immintrin.h>
#define STREAM 4
#define stream_store(to, from) _mm_stream_ps(to, _mm_loadu_ps(from))
#endif

#if defined(__GNUC__)
#define prefetch(at) __builtin_prefetch(at, 0, 3)
#else
#define prefetch(at) ((void)(at))
#endif

#define TILE 1024 /* columns */
#define INLINE static inline AM_ALWAYS_INLINE

/* One row: x and y are its own. */
typedef form_rows row;

INLINE int64_t tile_end(const row *r, int64_t i) {
    return r->n - i < TILE ? r->n : i + TILE;
}

INLINE float larger(float a, float b) {
    return a < b ? b : a;
}

/* Half of the lanes onto the other, with trip counts that the compiler knows. */
#define FOLD(lanes, op) \
    for (int l = 0; lanes < LANES && l < lanes; l++) v[l] = op(v[l], v[l + lanes]);
#define FOLD_ALL(op) \
    FOLD(32, op) FOLD(16, op) FOLD(8, op) FOLD(4, op) FOLD(2, op) FOLD(1, op) return v[0];

INLINE float plus(float a, float b) {
    return a + b;
}

INLINE float fold_max(const float *lane) {
    float v[LANES];
    memcpy(v, lane, sizeof v);
    FOLD_ALL(larger)
}

INLINE float fold_sum(const float *lane) {
    float v[LANES];
    memcpy(v, lane, sizeof v);
    FOLD_ALL(plus)
}

/* One step of results. */
INLINE void put(float *y, const float *step, bool stream) {
#if defined(STREAM)
    if (stream) {
        for (int l = 0; l < LANES; l += STREAM) stream_store(y + l, step + l);
        return;
    }
#endif
    (void)stream;
    memcpy(y, step, LANES * sizeof *y);
}

INLINE void fetch(const float *from) {
    for (int l = 0; l < LANES; l += 16) prefetch(from + l);
}

/* For a loop that computes exp of column i on: memory has the time meanwhile. Beyond the end of x
 * too: to prefetch what is not there does nothing. */
INLINE void fetch_early(const row *r, int64_t i) {
    if (r->rows_ahead) fetch(r->x + r->rows_ahead * r->n + i);
    if (r->columns_ahead) fetch(r->x + r->columns_ahead + i);
}

/* For a loop that does little beside reading `from`. */
INLINE void fetch_columns(const row *r, const float *from, int64_t i) {
    if (r->columns_ahead) fetch(from + r->columns_ahead + i);
}

/* ------------------------------------------------------------- three passes */

INLINE float row_max(const row *r) {
    float top[LANES];
    memcpy(top, r->x, sizeof top);
    for (int64_t i = LANES; i < r->n; i += LANES) {
        const float *x = r->x + i;
        AM_LANES top[am_l] = larger(top[am_l], x[am_l]);
        fetch_columns(r, r->x, i);
    }
    return fold_max(top);
}

INLINE void three(const row *r, bool keep, bool stream) {
    float sum[LANES] = {0}, top = row_max(r), inverse;
    for (int64_t i = 0, end; i < r->n; i = end) {
        float part[LANES] = {0};
        end = tile_end(r, i);
        for (int64_t j = i; j < end; j += LANES) {
            const float *x = r->x + j;
            float *kept = r->keep + j;
            AM_LANES {
                float e = am_exp_negative(x[am_l] - top);
                if (keep) kept[am_l] = e;
                part[am_l] += e;
            }
            fetch_early(r, j);
        }
        AM_LANES sum[am_l] += part[am_l];
    }
    inverse = 1.0f / fold_sum(sum);
    for (int64_t i = 0; i < r->n; i += LANES) {
        const float *x = r->x + i, *kept = r->keep + i;
        float y[LANES];
        AM_LANES {
            float e = keep ? kept[am_l] : am_exp_negative(x[am_l] - top);
            y[am_l] = e * inverse;
        }
        put(r->y + i, y, stream);
        fetch_columns(r, keep ? r->keep : r->x, i);
    }
}

/* ------------------------------------------------------------- online */

/* A tile: its part of the sum at the maxima so far, which it raises. */
INLINE void online_tile(const row *r, int64_t i, int64_t end, float *top, float *sum, bool keep) {
    float higher[LANES], part[LANES] = {0};
    memcpy(higher, top, sizeof higher);
    for (int64_t j = i; j < end; j += LANES) {
        const float *x = r->x + j;
        AM_LANES higher[am_l] = larger(higher[am_l], x[am_l]);
    }
    for (int64_t j = i; j < end; j += LANES) {
        const float *x = r->x + j;
        float *kept = r->keep + j;
        AM_LANES {
            float e = am_exp_negative(x[am_l] - higher[am_l]);
            if (keep) kept[am_l] = e;
            part[am_l] += e;
        }
        fetch_early(r, j);
    }
    AM_LANES {
        sum[am_l] = sum[am_l] * am_exp_negative(top[am_l] - higher[am_l]) + part[am_l];
        top[am_l] = higher[am_l];
    }
    if (keep) memcpy(r->more + i / TILE * LANES, higher, sizeof higher);
}

INLINE void online(const row *r, bool keep, bool stream) {
    float top[LANES], sum[LANES] = {0}, all, inverse;
    memcpy(top, r->x, sizeof top);
    for (int64_t i = 0; i < r->n; i = tile_end(r, i))
        online_tile(r, i, tile_end(r, i), top, sum, keep);
    all = fold_max(top);
    AM_LANES sum[am_l] *= am_exp_negative(top[am_l] - all);
    inverse = 1.0f / fold_sum(sum);
    for (int64_t i = 0, end; i < r->n; i = end) {
        float factor[LANES];
        const float *then = r->more + i / TILE * LANES;
        end = tile_end(r, i);
        if (keep) AM_LANES factor[am_l] = am_exp_negative(then[am_l] - all) * inverse;
        for (int64_t j = i; j < end; j += LANES) {
            const float *x = r->x + j, *kept = r->keep + j;
            float y[LANES];
            if (keep)
                AM_LANES y[am_l] = kept[am_l] * factor[am_l];
            else
                AM_LANES y[am_l] = am_exp_negative(x[am_l] - all) * inverse;
            put(r->y + j, y, stream);
            fetch_columns(r, keep ? r->keep : r->x, j);
        }
    }
}

/* ------------------------------------------------------------- mantissa and exponent */

/* The two halves of am_exp_negative (math/am.h), for x of either sign: exp(x) = fraction 2^power.
 */
INLINE float exp_power(float x) {
    return am_round(x * 1.44269504f);
}

INLINE float exp_fraction(float x, float n) {
    float r = am_fma(n, 2.12194440e-4f, am_fma(n, -0.693359375f, x));
    float p = 1.38145123e-3f;
    p = am_fma(p, r, 8.36875290e-3f);
    p = am_fma(p, r, 4.16683890e-2f);
    p = am_fma(p, r, 1.66665196e-1f);
    p = am_fma(p, r, 4.99999940e-1f);
    p = am_fma(p, r, 1.0f);
    return am_fma(p, r, 1.0f);
}

/* 2^d for d <= 0, a whole number; 0 from -127 on, by the bits of am_pow2. */
INLINE float fall(float d) {
    float low = am_sel(d < -127.0f, -127.0f, d);
    return am_pow2(low);
}

INLINE void pairs(const row *r, bool keep, bool stream) {
    float sum[LANES] = {0}, power[LANES], top, all, inverse;
    AM_LANES power[am_l] = exp_power(r->x[am_l]);
    for (int64_t i = 0, end; i < r->n; i = end) {
        float part[LANES] = {0}, base[LANES];
        memcpy(base, power, sizeof base);
        end = tile_end(r, i);
        for (int64_t j = i; j < end; j += LANES) {
            const float *x = r->x + j;
            float *kept = r->keep + j, *more = r->more + j;
            AM_LANES {
                float n = exp_power(x[am_l]), p = exp_fraction(x[am_l], n);
                float higher = larger(power[am_l], n);
                part[am_l] = am_fma(part[am_l], fall(power[am_l] - higher), p * fall(n - higher));
                power[am_l] = higher;
                if (keep) {
                    kept[am_l] = p;
                    more[am_l] = n;
                }
            }
            fetch_early(r, j);
        }
        AM_LANES sum[am_l] = sum[am_l] * fall(base[am_l] - power[am_l]) + part[am_l];
    }
    top = fold_max(power);
    AM_LANES sum[am_l] *= fall(power[am_l] - top);
    all = fold_sum(sum);
    inverse = 1.0f / all;
    for (int64_t i = 0; i < r->n; i += LANES) {
        const float *x = r->x + i, *kept = r->keep + i, *more = r->more + i;
        float y[LANES], n[LANES];
        if (keep) {
            AM_LANES y[am_l] = kept[am_l] * inverse * fall(more[am_l] - top);
        } else { /* in steps: GCC does not vectorise them at once for AVX2 */
            AM_LANES n[am_l] = exp_power(x[am_l]);
            AM_LANES y[am_l] = exp_fraction(x[am_l], n[am_l]);
            AM_LANES y[am_l] = y[am_l] * inverse * fall(n[am_l] - top);
        }
        put(r->y + i, y, stream);
        fetch_columns(r, keep ? r->keep : r->x, i);
    }
}

/* ------------------------------------------------------------- the table */

/* One fence for all rows: what went past the caches is seen by whoever comes after. */
#if defined(STREAM)
#define FENCE _mm_sfence();
#else
#define FENCE
#endif
#define FORM_ROWS(name, form, keep, stream)                                \
    static void name(const form_rows *rows) {                              \
        row r = *rows;                                                     \
        for (int64_t i = 0; i < rows->rows; i++, r.x += r.n, r.y += r.n) { \
            if (i + rows->rows_ahead >= rows->rows) r.rows_ahead = 0;      \
            form(&r, keep, stream);                                        \
        }                                                                  \
        if (stream) {                                                      \
            FENCE                                                          \
        }                                                                  \
    }
#define FORM(name, form, keep) \
    FORM_ROWS(name, form, keep, false) FORM_ROWS(name##_stream, form, keep, true)
FORM(three_kept, three, true)
FORM(three_again, three, false)
FORM(online_kept, online, true)
FORM(online_again, online, false)
FORM(pairs_kept, pairs, true)
FORM(pairs_again, pairs, false)

#define TEXT2(level) #level
#define TEXT(level) TEXT2(level)
#define LEVEL AM_CAT(form_level, AM_LEVEL)
extern const form_level LEVEL;
const form_level LEVEL = {
    .name = TEXT(AM_LEVEL),
    .run = {[FORM_THREE_KEPT] = {three_kept, three_kept_stream},
            [FORM_THREE_AGAIN] = {three_again, three_again_stream},
            [FORM_ONLINE_KEPT] = {online_kept, online_kept_stream},
            [FORM_ONLINE_AGAIN] = {online_again, online_again_stream},
            [FORM_PAIRS_KEPT] = {pairs_kept, pairs_kept_stream},
            [FORM_PAIRS_AGAIN] = {pairs_again, pairs_again_stream}},
};
