/* Lines of neighbouring 16-bit floats to and from f32: by the instructions of the level where it
 * has some, else, and for what is left of a line, by half.h. The bits are the same, except that
 * half.h may leave a signalling NaN as it is. Included by the files that are compiled once a level.
 */
#ifndef AM_CPU_LINES_H
#define AM_CPU_LINES_H

#include "half.h"

/* AM_STEP elements at a time: am_wide_... and am_narrow_... convert a step of them in registers. */
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>
#define AM_STEP 16

static inline __m512 am_wide_f16(__m256i h) {
    return _mm512_cvtph_ps(h);
}

static inline __m256i am_narrow_f16(__m512 x) {
    return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);
}

static inline __m512 am_wide_bf16(__m256i h) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}

/* By integers: the processor's own conversion to bf16 flushes denormals. In the upper halves. */
static inline __m512i am_round_bf16(__m512 x) {
    __m512i u = _mm512_castps_si512(x);
    __mmask16 odd = _mm512_test_epi32_mask(u, _mm512_set1_epi32(0x10000));
    __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    __m512i r = _mm512_add_epi32(u, _mm512_set1_epi32(0x7fff));
    r = _mm512_mask_add_epi32(r, odd, r, _mm512_set1_epi32(1));
    return _mm512_mask_or_epi32(r, nan, u, _mm512_set1_epi32(0x400000));
}

static inline __m256i am_narrow_bf16(__m512 x) {
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(am_round_bf16(x), 16));
}

/* Two steps at once: one exchange takes the upper halves of both. */
static inline __m512i am_narrow_bf16_two(__m512 low, __m512 high) {
    const __m512i first =
        _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i upper = _mm512_add_epi32(_mm512_mullo_epi32(first, _mm512_set1_epi32(0x20002)),
                                           _mm512_set1_epi32(0x30001));
    return _mm512_permutex2var_epi16(am_round_bf16(low), upper, am_round_bf16(high));
}

/* Whole lines of the cache, past the caches. */
#define AM_STREAM_16
static inline void am_stream_f16(uint16_t *to, const float *from, int count) {
    for (int i = 0; i < count; i += 32) {
        __m256i low = am_narrow_f16(_mm512_loadu_ps(from + i));
        __m256i high = am_narrow_f16(_mm512_loadu_ps(from + i + 16));
        _mm512_stream_si512((void *)(to + i),
                            _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
    }
}

static inline void am_stream_bf16(uint16_t *to, const float *from, int count) {
    for (int i = 0; i < count; i += 32)
        _mm512_stream_si512((void *)(to + i), am_narrow_bf16_two(_mm512_loadu_ps(from + i),
                                                                 _mm512_loadu_ps(from + i + 16)));
}

#define AM_STEP_IN(wide) \
    _mm512_storeu_ps(to + i, wide(_mm256_loadu_si256((const __m256i *)(from + i))))
#define AM_STEP_OUT(narrow) \
    _mm256_storeu_si256((__m256i *)(to + i), narrow(_mm512_loadu_ps(from + i)))
#define AM_STEP_COPY _mm512_storeu_ps(to + i, _mm512_loadu_ps(from + i))
/* The last elements under a mask: many lines are shorter than a step. */
#define AM_REST (__mmask16)((1u << (count - i)) - 1)
#define AM_REST_COPY \
    _mm512_mask_storeu_ps(to + i, AM_REST, _mm512_maskz_loadu_ps(AM_REST, from + i))
#define AM_REST_IN(one, wide) \
    _mm512_mask_storeu_ps(to + i, AM_REST, wide(_mm256_maskz_loadu_epi16(AM_REST, from + i)))
#define AM_REST_OUT(one, narrow) \
    _mm256_mask_storeu_epi16(to + i, AM_REST, narrow(_mm512_maskz_loadu_ps(AM_REST, from + i)))

#elif defined(__AVX2__) && (defined(__F16C__) || defined(_MSC_VER))
#include <immintrin.h>
#define AM_STEP 8

static inline __m256 am_wide_f16(__m128i h) {
    return _mm256_cvtph_ps(h);
}

static inline __m128i am_narrow_f16(__m256 x) {
    return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);
}

static inline __m256 am_wide_bf16(__m128i h) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}

static inline __m128i am_narrow_bf16(__m256 x) {
    __m256i u = _mm256_castps_si256(x);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
    __m256i r = _mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    __m256i quiet = _mm256_or_si256(u, _mm256_set1_epi32(0x400000));
    __m256 sel = _mm256_blendv_ps(_mm256_castsi256_ps(r), _mm256_castsi256_ps(quiet),
                                  _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    r = _mm256_srli_epi32(_mm256_castps_si256(sel), 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(r), _mm256_extracti128_si256(r, 1));
}

#define AM_STEP_IN(wide) \
    _mm256_storeu_ps(to + i, wide(_mm_loadu_si128((const __m128i *)(from + i))))
#define AM_STEP_OUT(narrow) _mm_storeu_si128((__m128i *)(to + i), narrow(_mm256_loadu_ps(from + i)))
#define AM_STEP_COPY _mm256_storeu_ps(to + i, _mm256_loadu_ps(from + i))

#elif (defined(__aarch64__) || defined(_M_ARM64)) && defined(__GNUC__)
#include <arm_neon.h>
#define AM_STEP 4
#define am_wide_f16(h) vcvt_f32_f16(vreinterpret_f16_u16(h))
#define am_narrow_f16(x) vreinterpret_u16_f16(vcvt_f16_f32(x))
#define am_wide_bf16(h) vreinterpretq_f32_u32(vshll_n_u16(h, 16))

static inline uint16x4_t am_narrow_bf16(float32x4_t x) {
    uint32x4_t u = vreinterpretq_u32_f32(x);
    uint32x4_t odd = vandq_u32(vshrq_n_u32(u, 16), vdupq_n_u32(1));
    uint32x4_t r = vaddq_u32(u, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
    r = vbslq_u32(vceqq_f32(x, x), r, vorrq_u32(u, vdupq_n_u32(0x400000)));
    return vshrn_n_u32(r, 16);
}

#define AM_STEP_IN(wide) vst1q_f32(to + i, wide(vld1_u16(from + i)))
#define AM_STEP_OUT(narrow) vst1_u16(to + i, narrow(vld1q_f32(from + i)))
#define AM_STEP_COPY vst1q_f32(to + i, vld1q_f32(from + i))

#endif

#ifdef AM_STEP
#define AM_STEPS(step) \
    for (; i + AM_STEP <= count; i += AM_STEP) step
#else /* the compiler makes vectors of what half.h has */
#define AM_STEPS(step) (void)0
#endif
#ifndef AM_REST_IN
#define AM_REST_IN(one, wide) \
    for (; i < count; i++) to[i] = one(from[i])
#define AM_REST_OUT(one, narrow) AM_REST_IN(one, narrow)
#define AM_REST_COPY \
    for (; i < count; i++) to[i] = from[i]
#endif

/* Of memcpy's speed, without its call, which short lines would feel. */
static inline void am_line_copy(float *to, const float *from, int count) {
    int i = 0;
    AM_STEPS(AM_STEP_COPY);
    AM_REST_COPY;
}

static inline void am_line_from_f16(float *to, const uint16_t *from, int count) {
    int i = 0;
    AM_STEPS(AM_STEP_IN(am_wide_f16));
    AM_REST_IN(am_from_f16, am_wide_f16);
}

static inline void am_line_from_bf16(float *to, const uint16_t *from, int count) {
    int i = 0;
    AM_STEPS(AM_STEP_IN(am_wide_bf16));
    AM_REST_IN(am_from_bf16, am_wide_bf16);
}

static inline void am_line_to_f16(uint16_t *to, const float *from, int count) {
    int i = 0;
    AM_STEPS(AM_STEP_OUT(am_narrow_f16));
    AM_REST_OUT(am_to_f16, am_narrow_f16);
}

static inline void am_line_to_bf16(uint16_t *to, const float *from, int count) {
    int i = 0;
    AM_STEPS(AM_STEP_OUT(am_narrow_bf16));
    AM_REST_OUT(am_to_bf16, am_narrow_bf16);
}

#endif
