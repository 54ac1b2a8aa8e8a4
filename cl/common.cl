/* What the kernels share: argument blocks, the lane, loads and stores of any float type.
 *
 * AM_LANES 16: a lane is a float16 (devices that are CPUs; one item a group, no barriers).
 * AM_LANES 1: a lane is a float of one item (GPUs).
 * Types are arguments, so a load branches on a value that is the same for the whole launch. Half is
 * read and written by vload_half and vstore_half_rte, which need no extension; a store touches the
 * two bytes of its element and no others. */
#pragma OPENCL FP_CONTRACT OFF

/* Names that row programs may give to their scalars, and that PoCL defines as macros. */
#undef all
#undef cross
#undef degrees
#undef distance
#undef dot
#undef length
#undef mix
#undef sign
#undef step

/* The layout of runtime/launch.h. */
typedef struct {
    int n, rows, row0, row_base, d0, d1, part_len, part0, parts, parts_total;
    int stages, iterations, accumulate, lanes, across, flags;
    int partial_in, partial_out, state_in, state_out;
    float param[8];
    int iparam[4];
    uint types[2], binds[2];
    struct {
        int offset, step, s0, s1;
    } tensor[16];
    int s2[16];
} am_row_args;

typedef struct {
    int m, n, k, batch, accumulate;
    float alpha;
    int row0, pad;
    uint types[2], binds[2];
    struct {
        int offset, row, column, batch;
    } tensor[3];
} am_product_args;

/* Bytes from the start of each slot's memory object to its binding. */
typedef struct {
    ulong at[16];
} am_bases;

enum { AM_ABSENT, AM_F32, AM_F16, AM_BF16, AM_I32, AM_I64, AM_U8 };

enum {
    AM_STAGE_ELEMENTS_1 = 1,
    AM_STAGE_ELEMENTS_2 = 2,
    AM_STAGE_ELEMENTS_3 = 4,
    AM_STAGE_FOLD_1 = 8,
    AM_STAGE_FOLD_2 = 16,
    AM_STAGE_FOLD_3 = 32,
    AM_STAGE_ONLINE = 64,
    AM_STAGE_LOAD = 128,
    AM_STAGE_SAVE = 256,
    AM_STAGE_PARTIAL = 512,
    AM_STAGE_FINISH = 1024
};

typedef __global uchar *am_pointer;

#define AM_NIBBLE(words, slot) ((words)[(slot) >> 3] >> (((slot)&7) * 4) & 15u)
#define AM_INF INFINITY
#define AM_NAN as_float(0x7fc00000)
#define AM_FN

float am_load1(am_pointer p, uint type, int at) {
    if (type == AM_F32) return ((__global const float *)p)[at];
    if (type == AM_F16) return vload_half(at, (__global const half *)p);
    return as_float((uint)((__global const ushort *)p)[at] << 16);
}

/* bf16 of a float, to the nearest, ties to even; NaN stays NaN. */
ushort am_bf16(float v) {
    uint b = as_uint(v);
    uint r = (b + 0x7fffu + (b >> 16 & 1u)) >> 16;
    return (ushort)((b & 0x7fffffffu) > 0x7f800000u ? (b >> 16 | 0x40u) : r);
}

void am_store1(am_pointer p, uint type, int at, float v) {
    if (type == AM_F32) {
        ((__global float *)p)[at] = v;
    } else if (type == AM_F16) {
        vstore_half_rte(v, at, (__global half *)p);
    } else {
        ((__global ushort *)p)[at] = am_bf16(v);
    }
}

/* An index; one that does not fit becomes -2147483647, which is out of every range. */
int am_load_index(am_pointer p, uint type, int at) {
    if (type == AM_I32) return ((__global const int *)p)[at];
    if (type == AM_U8) return p[at];
    long wide = ((__global const long *)p)[at];
    return wide == (long)(int)wide ? (int)wide : -2147483647;
}

#if AM_LANES == 16

#define real float16
#define ints int16
#define cond int16
#define LIT(c) ((float16)(c))
#define ILIT(c) ((int16)(c))
#define am_sel(c, a, b) ((c) ? (a) : (b))
#define am_and(a, b) ((a) && (b))
#define am_or(a, b) ((a) || (b))
#define am_bits(x) as_int16(x)
#define am_from_bits(i) as_float16(i)
#define am_float(i) convert_float16(i)
#define am_int(x) convert_int16(x)
#define am_round(x) rint(x)
#define am_sqrt(x) sqrt(x)
#define am_fabs(x) fabs(x)
#define AM_IOTA ((int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))

/* The cases that are rare or dear, out of line to keep the kernels small. `near`: the 16 elements are
 * neighbours. */
__attribute__((noinline)) float16 am_load_any(am_pointer p, uint type, bool near, int16 at) {
    float16 v;
    if (near && type == AM_F16) return vload_half16(0, (__global const half *)p + at.s0);
    if (near && type == AM_BF16)
        return as_float16(convert_uint16(vload16(0, (__global const ushort *)p + at.s0)) << 16);
    for (int l = 0; l < 16; l++) ((float *)&v)[l] = am_load1(p, type, ((int *)&at)[l]);
    return v;
}

float16 am_load(am_pointer p, uint type, bool near, int16 at, float16 absent) {
    if (type == AM_F32 && near) return vload16(0, (__global const float *)p + at.s0);
    if (type == AM_ABSENT) return absent;
    return am_load_any(p, type, near, at);
}

/* `on`: which of the 16 are stored; all of them if near. */
__attribute__((noinline)) void am_store_any(am_pointer p, uint type, bool near, int16 at, float16 v,
                                            int16 on) {
    if (near && type == AM_F16) {
        vstore_half16_rte(v, 0, (__global half *)p + at.s0);
    } else if (near && type == AM_BF16) {
        uint16 b = as_uint16(v);
        uint16 r = (b + 0x7fffu + (b >> 16 & 1u)) >> 16;
        r = (b & 0x7fffffffu) > 0x7f800000u ? (b >> 16 | 0x40u) : r;
        vstore16(convert_ushort16(r), 0, (__global ushort *)p + at.s0);
    } else {
        for (int l = 0; l < 16; l++)
            if (((int *)&on)[l]) am_store1(p, type, ((int *)&at)[l], ((float *)&v)[l]);
    }
}

void am_store(am_pointer p, uint type, bool near, int16 at, float16 v, int16 on) {
    if (type == AM_F32 && near) {
        vstore16(v, 0, (__global float *)p + at.s0);
    } else {
        am_store_any(p, type, near, at, v, on);
    }
}

float am_fold_sum(float16 a) {
    float8 b = a.lo + a.hi;
    float4 c = b.lo + b.hi;
    float2 d = c.lo + c.hi;
    return d.x + d.y;
}

float am_fold_max(float16 a) {
    float8 b = a.lo < a.hi ? a.hi : a.lo;
    float4 c = b.lo < b.hi ? b.hi : b.lo;
    float2 d = c.lo < c.hi ? c.hi : c.lo;
    return d.x < d.y ? d.y : d.x;
}

#define am_fold_SUM(a) am_fold_sum(a)
#define am_fold_MAX(a) am_fold_max(a)

/* Padding lanes of the last columns get their neutral value. */
float16 am_mask(bool full, int16 col, float16 v, float16 absent) {
    return full ? v : am_sel(col >= 0, v, absent);
}

__attribute__((noinline)) int16 am_load_indices(am_pointer p, uint type, int16 at) {
    int16 v;
    for (int l = 0; l < 16; l++) ((int *)&v)[l] = am_load_index(p, type, ((int *)&at)[l]);
    return v;
}

#else

#define real float
#define ints int
#define cond bool
#define LIT(c) ((float)(c))
#define ILIT(c) ((int)(c))
#define am_sel(c, a, b) ((c) ? (a) : (b))
#define am_and(a, b) ((a) && (b))
#define am_or(a, b) ((a) || (b))
#define am_bits(x) as_int(x)
#define am_from_bits(i) as_float(i)
#define am_float(i) ((float)(i))
#define am_int(x) ((int)(x))
#define am_round(x) rint(x)
#define am_sqrt(x) sqrt(x)
#define am_fabs(x) fabs(x)

float am_load(am_pointer p, uint type, bool near, int at, float absent) {
    return type == AM_ABSENT ? absent : am_load1(p, type, at);
}

void am_store(am_pointer p, uint type, bool near, int at, float v, bool on) {
    if (on) am_store1(p, type, at, v);
}

#endif
