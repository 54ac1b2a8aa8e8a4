/* What the kernels share: argument blocks, the lane, loads and stores of any float type. The same for
 * Vulkan: shaders/common.glsl and lane.glsl; for the CPU: runtime/cpu/elements.h and lanes.h.
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

/* Row programs on processors. (On GPUs its constants would take registers.) Clang's own names too, as
 * PoCL does not define that of the standard. */
#if AM_LANES == 16 && (defined(FP_FAST_FMAF) || defined(__FMA__) || defined(__aarch64__))
#define am_fma(a, b, c) fma(a, b, c)
#endif

#define AM_NIBBLE(words, slot) ((words)[(slot) >> 3] >> (((slot)&7) * 4) & 15u)
#define AM_INF INFINITY
#define AM_NAN as_float(0x7fc00000)
#define AM_FN

/* No index is negative: GPUs add an offset without a sign to a base for nothing. */
#define AM_AT(kind, at, bits) ((__global kind *)(p + ((uint)(at) << (bits))))

float am_load1(am_pointer p, uint type, int at) {
    if (type == AM_F32) return *AM_AT(const float, at, 2);
    if (type == AM_F16) return vload_half(0, AM_AT(const half, at, 1));
    return as_float((uint)*AM_AT(const ushort, at, 1) << 16);
}

/* The element, or `absent` where it is not `there`; `at` can be read all the same. */
float am_load_or(am_pointer p, uint type, int at, bool there, float absent) {
    float v = absent;
    if (type != AM_ABSENT) v = am_load1(p, type, at);
    return there ? v : absent;
}

/* bf16 of a float, to the nearest, ties to even; NaN stays NaN. */
ushort am_bf16(float v) {
    uint b = as_uint(v);
    uint r = (b + 0x7fffu + (b >> 16 & 1u)) >> 16;
    return (ushort)((b & 0x7fffffffu) > 0x7f800000u ? (b >> 16 | 0x40u) : r);
}

void am_store1(am_pointer p, uint type, int at, float v) {
    if (type == AM_F32) {
        *AM_AT(float, at, 2) = v;
    } else if (type == AM_F16) {
        vstore_half_rte(v, 0, AM_AT(half, at, 1));
    } else {
        *AM_AT(ushort, at, 1) = am_bf16(v);
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
/* For |x| < 2^22: rint is a dozen operations in some libraries. */
#define am_round(x) (((x) + 12582912.0f) - 12582912.0f)
#define am_sqrt(x) sqrt(x)
#define am_fabs(x) fabs(x)
/* By addition: 1.5 * 2^23 + n ends with the bits of n, and a NaN needs no case of its own. */
#define am_pow2(n) as_float16((as_int16((n) + 12582912.0f) << 23) + 0x3f800000)
/* The skeleton makes z of its modifiers, and only where there are any (math/map.h). */
#define AM_MIXED
/* Hints for the caches, where the compiler has them: a lane that is written is not read again soon;
 * what lies there will be read. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_nontemporal_store)
#define am_write_past(v, p) __builtin_nontemporal_store(v, (__global float16 *)(p))
#endif
#if __has_builtin(__builtin_prefetch)
#define am_prefetch(p) __builtin_prefetch((const void *)(size_t)(p))
#endif
#endif
#ifndef am_write_past
#define am_write_past(v, p) (*(__global float16 *)(p) = (v))
#endif
#ifndef am_prefetch
#define am_prefetch(p)
#endif

/* Half and bf16 of 16 lanes by integers, as vload_half16 is not vectorised everywhere. */
float16 am_from_half(ushort16 h) {
    const uint16 u = convert_uint16(h), magnitude = (u & 0x7fffu) << 13;
    const uint16 normal = magnitude + 0x38000000u;
    const float16 tiny = convert_float16(u & 0x3ffu) * 0x1p-24f;
    uint16 b = am_sel(magnitude < (uint16)(0x00800000u), as_uint16(tiny), normal);
    b = am_sel(magnitude >= (uint16)(0x0f800000u), magnitude | 0x7f800000u, b);
    return as_float16(b | (u & 0x8000u) << 16);
}

ushort16 am_to_half(float16 v) {
    const uint16 b = as_uint16(v), sign_bit = b >> 16 & 0x8000u, a = b & 0x7fffffffu;
    const uint16 normal = (a + 0xfffu + (a >> 13 & 1u) - 0x38000000u) >> 13;
    /* Below 2^-14 the sum with 0.5 rounds to multiples of 2^-24. */
    const uint16 tiny = as_uint16(as_float16(a) + 0.5f) - 0x3f000000u;
    uint16 h = am_sel(a < (uint16)(0x38800000u), tiny, normal);
    h = am_sel(a >= (uint16)(0x477ff000u), (uint16)(0x7c00u), h);
    h = am_sel(a > (uint16)(0x7f800000u), (uint16)(0x7e00u), h);
    return convert_ushort16(h | sign_bit);
}

float16 am_from_bf16(ushort16 h) {
    return as_float16(convert_uint16(h) << 16);
}

ushort16 am_to_bf16(float16 v) {
    const uint16 b = as_uint16(v), r = (b + 0x7fffu + (b >> 16 & 1u)) >> 16;
    return convert_ushort16(am_sel((b & 0x7fffffffu) > (uint16)(0x7f800000u), b >> 16 | 0x40u, r));
}

/* 16 of them, wherever they lie: PoCL's vstore16 writes one after the other. */
typedef struct __attribute__((packed)) {
    ushort16 lane;
} am_packed;
#define AM_PUT_16(h, at) (((__global am_packed *)(at))->lane = (h))

#define AM_IOTA ((int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))

/* 16 lanes at any places; `near`: they are neighbours. Out of line, as are all that touch memory:
 * the loops over elements then see nothing but local memory, and stay small. */
__attribute__((noinline)) float16 am_load(am_pointer p, uint type, bool near, int16 at) {
    if (near && type == AM_F32) return vload16(0, (__global const float *)p + at.s0);
    if (near && type == AM_F16) return am_from_half(vload16(0, (__global const ushort *)p + at.s0));
    if (near && type == AM_BF16) return am_from_bf16(vload16(0, (__global const ushort *)p + at.s0));
    float16 v;
    for (int l = 0; l < 16; l++) ((float *)&v)[l] = am_load1(p, type, ((int *)&at)[l]);
    return v;
}

/* `on`: which of the 16 are stored; all of them if near. */
__attribute__((noinline)) void am_store(am_pointer p, uint type, bool near, int16 at, float16 v,
                                        int16 on) {
    if (near && type == AM_F32) {
        vstore16(v, 0, (__global float *)p + at.s0);
    } else if (near && type == AM_F16) {
        AM_PUT_16(am_to_half(v), (__global ushort *)p + at.s0);
    } else if (near && type == AM_BF16) {
        AM_PUT_16(am_to_bf16(v), (__global ushort *)p + at.s0);
    } else {
        for (int l = 0; l < 16; l++)
            if (((int *)&on)[l]) am_store1(p, type, ((int *)&at)[l], ((float *)&v)[l]);
    }
}

__attribute__((noinline)) int16 am_load_indices(am_pointer p, uint type, int16 at) {
    int16 v;
    for (int l = 0; l < 16; l++) ((int *)&v)[l] = am_load_index(p, type, ((int *)&at)[l]);
    return v;
}

/* Form `along`: columns at, at + step, ... into a tile; what is left of its last lane is `absent`.
 */
__attribute__((noinline)) void am_fill_along(__local float16 *tile, am_pointer p, uint type,
                                             int at, int step, int columns, float absent) {
    __local float *words = (__local float *)tile;
    int c = 0;
    if (step == 1) {
        const int whole = columns / 16;
        if (type == AM_F32)
            for (int i = 0; i < whole; i++) tile[i] = vload16(i, (__global const float *)p + at);
        else if (type == AM_F16)
            for (int i = 0; i < whole; i++)
                tile[i] = am_from_half(vload16(i, (__global const ushort *)p + at));
        else
            for (int i = 0; i < whole; i++)
                tile[i] = am_from_bf16(vload16(i, (__global const ushort *)p + at));
        c = whole * 16;
    }
    if (type == AM_F32)
        for (; c < columns; c++) words[c] = ((__global const float *)p)[at + c * step];
    for (; c < columns; c++) words[c] = am_load1(p, type, at + c * step);
    for (; c & 15; c++) words[c] = absent;
}

/* Adds to lanes of a tile what lies there. */
__attribute__((noinline)) void am_add_along(__local float16 *tile, am_pointer p, uint type, int at,
                                            int step, int columns) {
    __local float *words = (__local float *)tile;
    int c = 0;
    if (step == 1)
        for (; c + 16 <= columns; c += 16) tile[c / 16] += am_load(p, type, true, (int16)(at + c));
    for (; c < columns; c++) words[c] += am_load1(p, type, at + c * step);
}

__attribute__((noinline)) void am_add_across(__local float16 *tile, am_pointer p, uint type,
                                             bool near, int16 at, int step, int turns) {
    for (int i = 0; i < turns; i++) tile[i] += am_load(p, type, near, at + i * step);
}

/* z where the scale is negative: what is masked stays so, what poisons its row becomes NaN. */
__attribute__((noinline)) void am_turn(__local float16 *tile, float16 scale, int turns) {
    for (int i = 0; i < turns; i++) {
        const float16 z = tile[i];
        const float16 turned = am_sel(z == INFINITY, (float16)(AM_NAN), -z);
        tile[i] = am_sel(am_and(scale < 0.0f, z > -INFINITY), turned, z);
    }
}

/* The other way; `add`: to what is there. */
__attribute__((noinline)) void am_drain_along(__local const float16 *tile, am_pointer p,
                                              uint type, int at, int step, int columns, bool add) {
    __local const float *words = (__local const float *)tile;
    int c = 0;
    if (step == 1 && !add) {
        const int whole = columns / 16;
        if (type == AM_F32)
            for (int i = 0; i < whole; i++) vstore16(tile[i], i, (__global float *)p + at);
        else if (type == AM_F16)
            for (int i = 0; i < whole; i++)
                AM_PUT_16(am_to_half(tile[i]), (__global ushort *)p + at + i * 16);
        else
            for (int i = 0; i < whole; i++)
                AM_PUT_16(am_to_bf16(tile[i]), (__global ushort *)p + at + i * 16);
        c = whole * 16;
    }
    if (step == 1 && add && type == AM_F32)
        for (; c + 16 <= columns; c += 16)
            vstore16(vload16(0, (__global const float *)p + at + c) + tile[c / 16], 0,
                     (__global float *)p + at + c);
    for (; c < columns; c++)
        am_store1(p, type, at + c * step,
                  add ? am_load1(p, type, at + c * step) + words[c] : words[c]);
}

#define AM_EACH_8(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
#define AM_EACH_16(F) AM_EACH_8(F) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15)
/* 16 x 16 floats turned over, v into v by way of w: dealt like cards, half on half, four times. */
#define AM_DEAL(v, w, i)                                                       \
    w[2 * i].even = v[i].lo; w[2 * i].odd = v[i + 8].lo;                       \
    w[2 * i + 1].even = v[i].hi; w[2 * i + 1].odd = v[i + 8].hi;
#define AM_DEAL_V(i) AM_DEAL(v, w, i)
#define AM_DEAL_W(i) AM_DEAL(w, v, i)
#define AM_TURN_OVER                                                           \
    AM_EACH_8(AM_DEAL_V) AM_EACH_8(AM_DEAL_W) AM_EACH_8(AM_DEAL_V) AM_EACH_8(AM_DEAL_W)

/* Form `across`: lane l of turn i is column i of row l, at at[l] + i * step. */
__attribute__((noinline)) void am_fill_across(__local float16 *tile, am_pointer p, uint type,
                                              bool near, int16 at, int step, int turns) {
    __local float *words = (__local float *)tile;
    int first[16], done = 0;
    if (near && type == AM_F32) {
        for (int i = 0; i < turns; i++)
            tile[i] = vload16(0, (__global const float *)p + at.s0 + i * step);
        return;
    }
    if (near) {
        for (int i = 0; i < turns; i++) tile[i] = am_load(p, type, true, at + i * step);
        return;
    }
    vstore16(at, 0, first);
    if (step == 1)
        for (; done + 16 <= turns; done += 16) {
            float16 v[16], w[16];
#define LOAD_F32(l) v[l] = vload16(0, (__global const float *)p + first[l] + done);
#define LOAD_ANY(l) v[l] = am_load(p, type, true, (int16)(first[l] + done));
            if (type == AM_F32) {
                AM_EACH_16(LOAD_F32)
            } else {
                AM_EACH_16(LOAD_ANY)
            }
            AM_TURN_OVER
#define PUT_TURN(i) tile[done + i] = v[i];
            AM_EACH_16(PUT_TURN)
        }
    for (int l = 0; l < 16; l++)
        for (int i = done; i < turns; i++)
            words[i * 16 + l] = am_load1(p, type, first[l] + i * step);
}

__attribute__((noinline)) void am_drain_across(__local const float16 *tile, am_pointer p,
                                               uint type, bool near, int16 at, int step,
                                               int turns, bool add, int rows, bool past) {
    __local const float *words = (__local const float *)tile;
    int first[16], done = 0;
    if (near) {
        for (int i = 0; i < turns; i++) {
            const int16 place = at + i * step;
            am_store(p, type, true, place, add ? am_load(p, type, true, place) + tile[i] : tile[i],
                     (int16)(-1));
        }
        return;
    }
    vstore16(at, 0, first);
    if (step == 1 && !add && rows == 16)
        for (; done + 16 <= turns; done += 16) {
            float16 v[16], w[16];
#define GET_TURN(i) v[i] = tile[done + i];
#define STORE_PAST(l) am_write_past(v[l], (__global float *)p + first[l] + done);
#define STORE_F32(l) vstore16(v[l], 0, (__global float *)p + first[l] + done);
#define STORE_ANY(l) am_store(p, type, true, (int16)(first[l] + done), v[l], (int16)(-1));
            AM_EACH_16(GET_TURN)
            AM_TURN_OVER
            if (type == AM_F32 && past) {
                AM_EACH_16(STORE_PAST)
            } else if (type == AM_F32) {
                AM_EACH_16(STORE_F32)
            } else {
                AM_EACH_16(STORE_ANY)
            }
        }
    for (int l = 0; l < rows; l++)
        for (int i = done; i < turns; i++) {
            const int place = first[l] + i * step;
            const float v = words[i * 16 + l];
            am_store1(p, type, place, add ? am_load1(p, type, place) + v : v);
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
#define am_round(x) (((x) + 12582912.0f) - 12582912.0f)
#define am_sqrt(x) sqrt(x)
#define am_fabs(x) fabs(x)

#endif
