/* array.c: arrays in host memory: sizes, element access, conversion. */
#include "array.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool io_fail(io_error *error, const char *format, ...) {
    va_list args;
    char *at;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    /* What a file holds must not reach a terminal as anything but text. */
    for (at = error->text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127) *at = '?';
    return false;
}

static const struct {
    const char *name;
    unsigned char size;
    bool is_float;
    double low, high; /* of integers; high is exclusive */
} types[IO_DTYPES] = {
    [IO_F64] = {"f64", 8, true, 0, 0},
    [IO_F32] = {"f32", 4, true, 0, 0},
    [IO_F16] = {"f16", 2, true, 0, 0},
    [IO_BF16] = {"bf16", 2, true, 0, 0},
    [IO_I64] = {"i64", 8, false, -9223372036854775808.0, 9223372036854775808.0},
    [IO_I32] = {"i32", 4, false, -2147483648.0, 2147483648.0},
    [IO_I16] = {"i16", 2, false, -32768.0, 32768.0},
    [IO_I8] = {"i8", 1, false, -128.0, 128.0},
    [IO_U64] = {"u64", 8, false, 0.0, 18446744073709551616.0},
    [IO_U32] = {"u32", 4, false, 0.0, 4294967296.0},
    [IO_U16] = {"u16", 2, false, 0.0, 65536.0},
    [IO_U8] = {"u8", 1, false, 0.0, 256.0},
    [IO_BOOL] = {"bool", 1, false, 0.0, 2.0},
};

size_t io_dtype_size(io_dtype dtype) {
    return dtype < IO_DTYPES ? types[dtype].size : 0;
}

const char *io_dtype_name(io_dtype dtype) {
    return dtype < IO_DTYPES ? types[dtype].name : "?";
}

bool io_dtype_is_float(io_dtype dtype) {
    return dtype < IO_DTYPES && types[dtype].is_float;
}

io_dtype io_dtype_find(const char *name) {
    int d;
    for (d = 0; d < IO_DTYPES; d++)
        if (strcmp(types[d].name, name) == 0) return (io_dtype)d;
    return IO_DTYPES;
}

bool io_shape_count(const int64_t *shape, uint32_t rank, size_t element_bytes, size_t *count,
                    io_error *error) {
    size_t all = 1;
    bool empty = false;
    uint32_t i;
    for (i = 0; i < rank; i++) {
        if (shape[i] < 0) return io_fail(error, "has an axis of length %" PRId64, shape[i]);
        if (shape[i] == 0) {
            empty = true;
            continue;
        }
        if ((uint64_t)shape[i] > SIZE_MAX / element_bytes / all)
            return io_fail(error, "has a shape whose size does not fit the address space");
        all *= (size_t)shape[i];
    }
    *count = empty ? 0 : all;
    return true;
}

bool io_array_create(io_array *array, io_dtype dtype, uint32_t rank, const int64_t *shape,
                     io_error *error) {
    io_array made = {0};
    if (rank > IO_MAX_RANK)
        return io_fail(error, "has %" PRIu32 " axes; at most %d can be used", rank, IO_MAX_RANK);
    if (!io_shape_count(shape, rank, io_dtype_size(dtype), &made.count, error)) return false;
    made.dtype = dtype;
    made.rank = rank;
    if (rank) memcpy(made.shape, shape, rank * sizeof *shape);
    made.data = calloc(made.count ? made.count : 1, io_dtype_size(dtype));
    if (!made.data)
        return io_fail(error, "needs %zu bytes of memory, which are not to be had",
                       made.count * io_dtype_size(dtype));
    *array = made;
    return true;
}

void io_array_free(io_array *array) {
    free(array->data);
    memset(array, 0, sizeof *array);
}

/* ---------------------------------------------------------------- 16-bit floats */

static float float_of_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t bits_of_float(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

float io_f16_to_f32(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t exponent = (bits >> 10) & 31u, mantissa = bits & 1023u;
    if (exponent == 31) return float_of_bits(sign | 0x7f800000u | mantissa << 13);
    if (exponent == 0) return (sign ? -1.0f : 1.0f) * (float)mantissa * 0x1p-24f;
    return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

/* Keeps the upper bits of `value`, rounding half to even. */
static uint32_t round_off(uint32_t value, unsigned dropped) {
    uint32_t half = 1u << (dropped - 1), rest = value & ((half << 1) - 1), kept = value >> dropped;
    return kept + (rest > half || (rest == half && (kept & 1)));
}

uint16_t io_f32_to_f16(float value) {
    uint32_t bits = bits_of_float(value), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
    if (size >= 0x47800000u) return (uint16_t)(sign | 0x7c00u); /* 65536 and above */
    if (size >= 0x38800000u) /* normal: 2^-14 and above; a carry reaches infinity by itself */
        return (uint16_t)(sign | round_off(size - 0x38000000u, 13));
    if (size < 0x33000000u) return (uint16_t)sign; /* below half of the smallest */
    return (uint16_t)(sign | round_off((size & 0x7fffffu) | 0x800000u, 126 - (size >> 23)));
}

float io_bf16_to_f32(uint16_t bits) {
    return float_of_bits((uint32_t)bits << 16);
}

uint16_t io_f32_to_bf16(float value) {
    uint32_t bits = bits_of_float(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)round_off(bits, 16);
}

/* ---------------------------------------------------------------- elements */

double io_array_get(const io_array *array, size_t index) {
    const void *at = array->data;
    switch (array->dtype) {
    case IO_F64:
        return ((const double *)at)[index];
    case IO_F32:
        return (double)((const float *)at)[index];
    case IO_F16:
        return (double)io_f16_to_f32(((const uint16_t *)at)[index]);
    case IO_BF16:
        return (double)io_bf16_to_f32(((const uint16_t *)at)[index]);
    case IO_I64:
        return (double)((const int64_t *)at)[index];
    case IO_I32:
        return ((const int32_t *)at)[index];
    case IO_I16:
        return ((const int16_t *)at)[index];
    case IO_I8:
        return ((const int8_t *)at)[index];
    case IO_U64:
        return (double)((const uint64_t *)at)[index];
    case IO_U32:
        return ((const uint32_t *)at)[index];
    case IO_U16:
        return ((const uint16_t *)at)[index];
    case IO_U8:
        return ((const uint8_t *)at)[index];
    case IO_BOOL:
        return ((const uint8_t *)at)[index] ? 1.0 : 0.0;
    default:
        return 0.0;
    }
}

void io_array_set(io_array *array, size_t index, double value) {
    void *at = array->data;
    switch (array->dtype) {
    case IO_F64:
        ((double *)at)[index] = value;
        break;
    case IO_F32:
        ((float *)at)[index] = (float)value;
        break;
    case IO_F16:
        ((uint16_t *)at)[index] = io_f32_to_f16((float)value);
        break;
    case IO_BF16:
        ((uint16_t *)at)[index] = io_f32_to_bf16((float)value);
        break;
    case IO_I64:
        ((int64_t *)at)[index] = (int64_t)value;
        break;
    case IO_I32:
        ((int32_t *)at)[index] = (int32_t)value;
        break;
    case IO_I16:
        ((int16_t *)at)[index] = (int16_t)value;
        break;
    case IO_I8:
        ((int8_t *)at)[index] = (int8_t)value;
        break;
    case IO_U64:
        ((uint64_t *)at)[index] = (uint64_t)value;
        break;
    case IO_U32:
        ((uint32_t *)at)[index] = (uint32_t)value;
        break;
    case IO_U16:
        ((uint16_t *)at)[index] = (uint16_t)value;
        break;
    case IO_U8:
        ((uint8_t *)at)[index] = (uint8_t)value;
        break;
    case IO_BOOL:
        ((uint8_t *)at)[index] = value != 0.0;
        break;
    default:
        break;
    }
}

/* Between the 64-bit integers a double would lose the low bits. */
static bool convert_wide(const io_array *from, io_array *to, io_error *error) {
    size_t i;
    for (i = 0; i < from->count; i++) {
        uint64_t bits = ((const uint64_t *)from->data)[i];
        if (bits > INT64_MAX)
            return io_fail(error, "holds a number that does not fit %s at element %zu",
                           io_dtype_name(to->dtype), i);
        ((uint64_t *)to->data)[i] = bits;
    }
    return true;
}

bool io_array_convert(io_array *array, io_dtype to, size_t *overflowed, io_error *error) {
    io_array made;
    size_t i, lost = 0;
    bool good = true;
    if (overflowed) *overflowed = 0;
    if (array->dtype == to) return true;
    if (!io_array_create(&made, to, array->rank, array->shape, error)) return false;
    if ((array->dtype == IO_U64 && to == IO_I64) || (array->dtype == IO_I64 && to == IO_U64)) {
        good = convert_wide(array, &made, error);
    } else {
        for (i = 0; i < array->count && good; i++) {
            double v = io_array_get(array, i);
            if (!types[to].is_float &&
                (!(v >= types[to].low && v < types[to].high) || v != floor(v)))
                good = io_fail(error, "holds %g at element %zu, which %s cannot hold", v, i,
                               io_dtype_name(to));
            else
                io_array_set(&made, i, v);
            if (good && types[to].is_float && isfinite(v) && isinf(io_array_get(&made, i))) lost++;
        }
    }
    if (!good) {
        io_array_free(&made);
        return false;
    }
    if (overflowed) *overflowed = lost;
    io_array_free(array);
    *array = made;
    return true;
}

void io_shape_text(char *text, size_t size, uint32_t rank, const int64_t *shape) {
    size_t at = 0;
    uint32_t i;
    snprintf(text, size, "(");
    for (i = 0; i < rank; i++) {
        at = strlen(text);
        snprintf(text + at, size - at, "%s%" PRId64, i ? ", " : "", shape[i]);
    }
    at = strlen(text);
    snprintf(text + at, size - at, rank == 1 ? ",)" : ")");
}
