/* Conversion of 16-bit floats in plain integer arithmetic, which vectorises at every level.
 *
 * To the nearest, ties to even; overflow to infinity; a NaN stays one (made quiet); denormals are
 * right, as long as the processor does not flush them. */
#ifndef AM_CPU_HALF_H
#define AM_CPU_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t am_float_word(float x) {
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}

static inline float am_word_float(uint32_t u) {
    float x;
    memcpy(&x, &u, 4);
    return x;
}

static inline float am_from_f16(uint16_t h) {
    uint32_t w = h;
    uint32_t sign = (w & 0x8000u) << 16;
    uint32_t u = (w & 0x7fffu) << 13;
    /* The exponent moves from bias 15 to bias 127, and from 31 to 255. A denormal is 2^-14 (1 + f)
     * less 2^-14, which is exact. */
    uint32_t normal = u + 0x38000000u + (u >= 0x0f800000u ? 0x38000000u : 0u);
    uint32_t tiny = am_float_word(am_word_float(u + 0x38800000u) - 6.103515625e-05f);
    return am_word_float((u < 0x00800000u ? tiny : normal) | sign);
}

static inline uint16_t am_to_f16(float x) {
    uint32_t w = am_float_word(x);
    uint32_t sign = w >> 16 & 0x8000u;
    uint32_t u = w & 0x7fffffffu;
    uint32_t normal = (u - 0x38000000u + 0xfffu + (u >> 13 & 1u)) >> 13;
    /* Added to 0.5, whose last digit is 2^-24, the processor rounds as the denormals of f16 do. */
    uint32_t tiny = am_float_word(am_word_float(u < 0x38800000u ? u : 0u) + 0.5f) - 0x3f000000u;
    uint32_t finite = u < 0x38800000u ? tiny : normal;
    uint32_t limit = u > 0x7f800000u ? 0x7e00u | (u >> 13 & 0x3ffu) : 0x7c00u;
    return (uint16_t)((u >= 0x477ff000u ? limit : finite) | sign);
}

static inline float am_from_bf16(uint16_t h) {
    return am_word_float((uint32_t)h << 16);
}

static inline uint16_t am_to_bf16(float x) {
    uint32_t u = am_float_word(x);
    uint32_t finite = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
    uint32_t quiet = u >> 16 | 0x40u;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? quiet : finite);
}

#endif
