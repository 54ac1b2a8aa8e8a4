/* Squares of AM_TURN x AM_TURN numbers turned over: how rows that are neighbours in memory come to
 * lie side by side in lanes, and back. Included by the files that are compiled once a level. */
#ifndef AM_CPU_TURN_H
#define AM_CPU_TURN_H

#include "lanes.h"

#define AM_TURN 16

/* am_turn_part: as am_turn below, AM_TURN_SIDE lines, as many as the registers of the level turn at
 * once. */
#if defined(__AVX512F__)
#include <immintrin.h>
#define AM_TURN_SIDE 16

static inline AM_ALWAYS_INLINE void am_turn_part(float *to, ptrdiff_t to_step, const float *from,
                                                 ptrdiff_t from_step) {
    __m512 v[16], t[16];
    for (int i = 0; i < 16; i++) v[i] = _mm512_loadu_ps(from + i * from_step);
    for (int i = 0; i < 16; i += 4) { /* quarter k of t[i + j]: number 4 k + j of four lines */
        __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(v[i], v[i + 1]));
        __m512d b = _mm512_castps_pd(_mm512_unpackhi_ps(v[i], v[i + 1]));
        __m512d d = _mm512_castps_pd(_mm512_unpacklo_ps(v[i + 2], v[i + 3]));
        __m512d e = _mm512_castps_pd(_mm512_unpackhi_ps(v[i + 2], v[i + 3]));
        t[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, d));
        t[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, d));
        t[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, e));
        t[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, e));
    }
    for (int j = 0; j < 4; j++) { /* the same with quarters */
        __m512 a = _mm512_shuffle_f32x4(t[j], t[j + 4], 0x88);
        __m512 b = _mm512_shuffle_f32x4(t[j], t[j + 4], 0xdd);
        __m512 d = _mm512_shuffle_f32x4(t[j + 8], t[j + 12], 0x88);
        __m512 e = _mm512_shuffle_f32x4(t[j + 8], t[j + 12], 0xdd);
        _mm512_storeu_ps(to + j * to_step, _mm512_shuffle_f32x4(a, d, 0x88));
        _mm512_storeu_ps(to + (j + 4) * to_step, _mm512_shuffle_f32x4(b, e, 0x88));
        _mm512_storeu_ps(to + (j + 8) * to_step, _mm512_shuffle_f32x4(a, d, 0xdd));
        _mm512_storeu_ps(to + (j + 12) * to_step, _mm512_shuffle_f32x4(b, e, 0xdd));
    }
}

#elif defined(__AVX__)
#include <immintrin.h>
#define AM_TURN_SIDE 8

static inline AM_ALWAYS_INLINE __m256 am_turn_pair(const float *low, const float *high) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
}

static inline AM_ALWAYS_INLINE void am_turn_part(float *to, ptrdiff_t to_step, const float *from,
                                                 ptrdiff_t from_step) {
    for (int h = 0; h < 8; h += 4) {
        __m256 v[4];
        for (int i = 0; i < 4; i++)
            v[i] = am_turn_pair(from + i * from_step + h, from + (i + 4) * from_step + h);
        __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(v[0], v[1]));
        __m256d b = _mm256_castps_pd(_mm256_unpackhi_ps(v[0], v[1]));
        __m256d d = _mm256_castps_pd(_mm256_unpacklo_ps(v[2], v[3]));
        __m256d e = _mm256_castps_pd(_mm256_unpackhi_ps(v[2], v[3]));
        _mm256_storeu_ps(to + h * to_step, _mm256_castpd_ps(_mm256_unpacklo_pd(a, d)));
        _mm256_storeu_ps(to + (h + 1) * to_step, _mm256_castpd_ps(_mm256_unpackhi_pd(a, d)));
        _mm256_storeu_ps(to + (h + 2) * to_step, _mm256_castpd_ps(_mm256_unpacklo_pd(b, e)));
        _mm256_storeu_ps(to + (h + 3) * to_step, _mm256_castpd_ps(_mm256_unpackhi_pd(b, e)));
    }
}

#elif defined(__SSE2__)
#include <immintrin.h>
#define AM_TURN_SIDE 4

static inline AM_ALWAYS_INLINE void am_turn_part(float *to, ptrdiff_t to_step, const float *from,
                                                 ptrdiff_t from_step) {
    __m128 v0 = _mm_loadu_ps(from), v1 = _mm_loadu_ps(from + from_step);
    __m128 v2 = _mm_loadu_ps(from + 2 * from_step), v3 = _mm_loadu_ps(from + 3 * from_step);
    _MM_TRANSPOSE4_PS(v0, v1, v2, v3);
    _mm_storeu_ps(to, v0);
    _mm_storeu_ps(to + to_step, v1);
    _mm_storeu_ps(to + 2 * to_step, v2);
    _mm_storeu_ps(to + 3 * to_step, v3);
}

#else
#define AM_TURN_SIDE 4

static inline AM_ALWAYS_INLINE void am_turn_part(float *to, ptrdiff_t to_step, const float *from,
                                                 ptrdiff_t from_step) {
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++) to[j * to_step + i] = from[i * from_step + j];
}

#endif

/* AM_TURN lines, `from_step` numbers apart, of AM_TURN numbers each: number j of line i becomes
 * number i of line j. */
static inline AM_ALWAYS_INLINE void am_turn(float *to, ptrdiff_t to_step, const float *from,
                                            ptrdiff_t from_step) {
    for (int r = 0; r < AM_TURN; r += AM_TURN_SIDE)
        for (int c = 0; c < AM_TURN; c += AM_TURN_SIDE)
            am_turn_part(to + c * to_step + r, to_step, from + r * from_step + c, from_step);
}

#endif
