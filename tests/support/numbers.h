/* Numbers of tests: seeded random values, and storage types converted to and from double. */
#ifndef SUPPORT_NUMBERS_H
#define SUPPORT_NUMBERS_H

#include <anymax/core.h>

typedef struct rng {
    uint64_t state;
} rng;

/* Streams of different salts are unrelated; the seed is the program's (ANYMAX_TEST_SEED or 1). */
rng rng_make(uint64_t seed, uint64_t salt);
uint64_t rng_next(rng *r);
double rng_uniform(rng *r, double low, double high);
double rng_normal(rng *r);
/* 0 .. count-1 */
int64_t rng_below(rng *r, int64_t count);

/* Writes `v` as one element, rounded to nearest even, and reads it back exactly. */
void number_store(anymax_dtype dtype, double v, void *element);
double number_load(anymax_dtype dtype, const void *element);
/* The nearest value of the type. */
double number_round(anymax_dtype dtype, double v);

const char *dtype_name(anymax_dtype dtype);
bool dtype_is_float(anymax_dtype dtype);

#endif
