/* Random numbers and storage types. */
#include "numbers.h"

#include <math.h>
#include <string.h>

rng rng_make(uint64_t seed, uint64_t salt) {
    rng r = {seed * 0x9e3779b97f4a7c15u + salt * 0xbf58476d1ce4e5b9u + 1};
    rng_next(&r);
    return r;
}

/* splitmix64 (Steele, Lea and Flood, 2014) */
uint64_t rng_next(rng *r) {
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double rng_uniform(rng *r, double low, double high) {
    return low + (high - low) * ldexp((double)(rng_next(r) >> 11), -53);
}

double rng_normal(rng *r) {
    double radius = sqrt(-2 * log(1 - rng_uniform(r, 0, 1)));
    return radius * cos(6.283185307179586 * rng_uniform(r, 0, 1));
}

int64_t rng_below(rng *r, int64_t count) {
    return (int64_t)(rng_next(r) % (uint64_t)count);
}

/* A float of `mantissa` stored bits whose smallest normal number is 2^low; `top` bits for infinity.
 */
static uint16_t narrow_bits(double v, int mantissa, int low, uint16_t top) {
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    double a = fabs(v), m;
    int e;
    if (isnan(v)) return (uint16_t)(sign | top | (1 << (mantissa - 1)));
    if (isinf(v)) return (uint16_t)(sign | top);
    if (a < ldexp(1, low)) return (uint16_t)(sign | (unsigned)nearbyint(ldexp(a, mantissa - low)));
    m = nearbyint(ldexp(frexp(a, &e), mantissa + 1));
    e -= low; /* 1 for the smallest normal numbers, as frexp is in [0.5, 1) */
    /* a mantissa that rounds up to the next power of two carries into the exponent */
    m += ldexp((double)(e - 1), mantissa);
    return (uint16_t)(sign | (m >= top ? top : (unsigned)m));
}

static double narrow_value(uint16_t bits, int mantissa, int low, uint16_t top) {
    unsigned magnitude = bits & 0x7fffu, field = magnitude >> mantissa;
    unsigned fraction = magnitude & ((1u << mantissa) - 1);
    double v;
    if (magnitude > top)
        v = (double)NAN;
    else if (magnitude == top)
        v = (double)INFINITY;
    else if (field == 0)
        v = ldexp(fraction, low - mantissa);
    else
        v = ldexp(fraction + (1u << mantissa), (int)field - 1 + low - mantissa);
    return bits & 0x8000 ? -v : v;
}

void number_store(anymax_dtype dtype, double v, void *element) {
    float f = (float)v;
    uint16_t h;
    int32_t i;
    int64_t l;
    uint8_t b;
    switch (dtype) {
    case ANYMAX_F32:
        memcpy(element, &f, sizeof f);
        return;
    case ANYMAX_F16:
        h = narrow_bits(v, 10, -14, 0x7c00);
        break;
    case ANYMAX_BF16:
        h = narrow_bits(v, 7, -126, 0x7f80);
        break;
    case ANYMAX_I32:
        i = (int32_t)v;
        memcpy(element, &i, sizeof i);
        return;
    case ANYMAX_I64:
        l = (int64_t)v;
        memcpy(element, &l, sizeof l);
        return;
    default:
        b = (uint8_t)v;
        memcpy(element, &b, sizeof b);
        return;
    }
    memcpy(element, &h, sizeof h);
}

double number_load(anymax_dtype dtype, const void *element) {
    float f;
    uint16_t h;
    int32_t i;
    int64_t l;
    switch (dtype) {
    case ANYMAX_F32:
        memcpy(&f, element, sizeof f);
        return f;
    case ANYMAX_F16:
        memcpy(&h, element, sizeof h);
        return narrow_value(h, 10, -14, 0x7c00);
    case ANYMAX_BF16:
        memcpy(&h, element, sizeof h);
        return narrow_value(h, 7, -126, 0x7f80);
    case ANYMAX_I32:
        memcpy(&i, element, sizeof i);
        return i;
    case ANYMAX_I64:
        memcpy(&l, element, sizeof l);
        return (double)l;
    default:
        return *(const uint8_t *)element;
    }
}

double number_round(anymax_dtype dtype, double v) {
    unsigned char element[8];
    number_store(dtype, v, element);
    return number_load(dtype, element);
}

const char *dtype_name(anymax_dtype dtype) {
    static const char *const names[] = {"f32", "f16", "bf16", "i32", "i64", "u8", "bool"};
    return (unsigned)dtype < 7 ? names[dtype] : "?";
}

bool dtype_is_float(anymax_dtype dtype) {
    return dtype == ANYMAX_F32 || dtype == ANYMAX_F16 || dtype == ANYMAX_BF16;
}
