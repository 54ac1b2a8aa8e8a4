/* What every shader shares: the two flavours, storage bindings, element types.
 *
 * FULL 1: 8 storage bindings, 16-bit elements through 16-bit storage, sub-group operations.
 * FULL 0: the floor that Vulkan 1.1 guarantees: 4 bindings, 32-bit words only, no sub-groups; a
 * 16-bit element is stored by exchanging its half of the word atomically, as another item may own
 * the other half.
 *
 * Bindings are one array, indexed by specialisation constants: what a launch does not use costs
 * nothing once the pipeline is made. */
#if FULL
#extension GL_EXT_shader_16bit_storage : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#define AM_BINDINGS 8
#else
#define AM_BINDINGS 4
#endif
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x_id = 0) in;
#define AM_GROUP int(gl_WorkGroupSize.x)

layout(set = 0, binding = 1) buffer am_words_block { uint v[]; } am_words[AM_BINDINGS];
#if FULL
layout(set = 0, binding = 1) buffer am_halves_block { uint16_t v[]; } am_halves[AM_BINDINGS];
/* All of the memory that the first storage bindings lie in, four elements a texel. Not an array:
 * for its index, constant or not, compilers ask for more than Vulkan guarantees. */
layout(set = 0, binding = 2) uniform usamplerBuffer am_quads_0;
layout(set = 0, binding = 3) uniform usamplerBuffer am_quads_1;
layout(set = 0, binding = 4) uniform usamplerBuffer am_quads_2;
layout(set = 0, binding = 5) uniform usamplerBuffer am_quads_3;
#endif

/* 4 bits a slot: element type, and number of the binding. */
layout(constant_id = 1) const uint AM_TYPES_0 = 0x11111111u;
layout(constant_id = 2) const uint AM_TYPES_1 = 0x11111111u;
layout(constant_id = 3) const uint AM_BINDS_0 = 0u;
layout(constant_id = 4) const uint AM_BINDS_1 = 0u;

#define AM_SLOT(s, word, at)                              \
    const uint AM_TYPE_##s = (AM_TYPES_##word >> at) & 15u; \
    const uint AM_BIND_##s = (AM_BINDS_##word >> at) & 15u;
AM_SLOT(0, 0, 0) AM_SLOT(1, 0, 4) AM_SLOT(2, 0, 8) AM_SLOT(3, 0, 12)
AM_SLOT(4, 0, 16) AM_SLOT(5, 0, 20) AM_SLOT(6, 0, 24) AM_SLOT(7, 0, 28)
AM_SLOT(8, 1, 0) AM_SLOT(9, 1, 4) AM_SLOT(10, 1, 8) AM_SLOT(11, 1, 12)
AM_SLOT(12, 1, 16) AM_SLOT(13, 1, 20) AM_SLOT(14, 1, 24) AM_SLOT(15, 1, 28)

#define AM_ABSENT 0u
#define AM_F32 1u
#define AM_F16 2u
#define AM_BF16 3u
#define AM_I32 4u
#define AM_I64 5u
#define AM_U8 6u
/* A float type that args tell: fewer pipelines, for work that is small beside making one. */
#define AM_ANY 7u

#define AM_INF uintBitsToFloat(0x7f800000u)
#define AM_NAN uintBitsToFloat(0x7fc00000u)

/* Conversions by integers: unpackHalf2x16 may flush, packHalf2x16 may round either way. */
float am_from_half(uint h) {
    uint a = h & 0x7fffu;
    uint normal = (a << 13) + (a >= 0x7c00u ? 0x70000000u : 0x38000000u);
    float f = a < 0x400u ? float(a) * 5.9604644775390625e-8f : uintBitsToFloat(normal);
    return uintBitsToFloat(floatBitsToUint(f) | (h & 0x8000u) << 16);
}

uint am_to_half(float f) {
    uint u = floatBitsToUint(f);
    uint a = u & 0x7fffffffu;
    uint normal = min((a + 0xc8000fffu + ((a >> 13) & 1u)) >> 13, 0x7c00u);
    uint small = uint(roundEven(uintBitsToFloat(min(a, 0x38800000u)) * 16777216.0f));
    uint h = a < 0x38800000u ? small : normal;
    h = a > 0x7f800000u ? 0x7e00u : a >= 0x47800000u ? 0x7c00u : h;
    return h | (u >> 16 & 0x8000u);
}

uint am_to_bfloat(float f) {
    uint u = floatBitsToUint(f);
    uint rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    return (u & 0x7fffffffu) > 0x7f800000u ? (u >> 16) | 0x40u : rounded;
}

float am_from_16(uint type, uint h) {
    return type == AM_F16 ? am_from_half(h) : uintBitsToFloat(h << 16);
}

uint am_to_16(uint type, float f) { return type == AM_F16 ? am_to_half(f) : am_to_bfloat(f); }

/* Reads and writes an element of slot s: f32, f16 or bf16. Writes may add to what is there. No
 * index is negative: the max keeps LLVM, behind lavapipe, from computing each lane's index anew in
 * the scalar loop that a load or store is there (a fifth of softmax's time at 4096 x 4096). */
#if FULL
#define AM_HALF_AT(s, i) uint(am_halves[AM_BIND_##s].v[i])
#define AM_PUT_HALF(s, i, old, new) am_halves[AM_BIND_##s].v[i] = uint16_t(new);
#else
#define AM_HALF_AT(s, i) ((am_words[AM_BIND_##s].v[(i) >> 1] >> (((i) & 1) * 16)) & 0xffffu)
#define AM_PUT_HALF(s, i, old, new) \
    atomicXor(am_words[AM_BIND_##s].v[(i) >> 1], ((old) ^ (new)) << (((i) & 1) * 16));
#endif

#define AM_ARGS_TYPE(s) ((args.types_binds[(s) >> 3] >> (((s) & 7) * 4)) & 15u)
#define AM_ANY_AT(type, i) (type == AM_F32 ? i : i >> 1)
#define AM_ANY_SHIFT(type, i) (type == AM_F32 ? 0 : (i & 1) * 16)
#define AM_ANY_MASK(type) (type == AM_F32 ? 0xffffffffu : 0xffffu)
float am_from_any(uint type, uint bits) {
    return type == AM_F32 ? uintBitsToFloat(bits) : am_from_16(type, bits);
}

#define AM_LOAD(s, name)                                                       \
    float am_load_##name(int at) {                                             \
        const int i = max(at, 0);                                              \
        if (AM_TYPE_##s == AM_F32) return uintBitsToFloat(am_words[AM_BIND_##s].v[i]); \
        if (AM_TYPE_##s == AM_ANY) {                                           \
            const uint type = AM_ARGS_TYPE(s);                                 \
            const uint word = am_words[AM_BIND_##s].v[AM_ANY_AT(type, i)];     \
            return am_from_any(type, (word >> AM_ANY_SHIFT(type, i)) & AM_ANY_MASK(type)); \
        }                                                                      \
        return am_from_16(AM_TYPE_##s, AM_HALF_AT(s, i));                      \
    }

#if FULL
uvec4 am_fetch(uint binding, int i) {
    if (binding == 0u) return texelFetch(am_quads_0, i);
    if (binding == 1u) return texelFetch(am_quads_1, i);
    if (binding == 2u) return texelFetch(am_quads_2, i);
    return texelFetch(am_quads_3, i);
}
#endif

/* Four elements of slot s at once. */
#define AM_LOAD_QUAD(s, name)                                                  \
    vec4 am_load_quad_##name(int i) {                                          \
        const uvec4 w = am_fetch(AM_BIND_##s, i);                              \
        if (AM_TYPE_##s == AM_F32) return uintBitsToFloat(w);                  \
        return vec4(am_from_16(AM_TYPE_##s, w.x), am_from_16(AM_TYPE_##s, w.y), \
                    am_from_16(AM_TYPE_##s, w.z), am_from_16(AM_TYPE_##s, w.w)); \
    }

#define AM_STORE(s, name)                                                      \
    void am_store_##name(int at, float f, bool add) {                          \
        const int i = max(at, 0);                                              \
        if (AM_TYPE_##s == AM_F32) {                                           \
            if (add) f += uintBitsToFloat(am_words[AM_BIND_##s].v[i]);         \
            am_words[AM_BIND_##s].v[i] = floatBitsToUint(f);                   \
        } else if (AM_TYPE_##s == AM_ANY) {                                    \
            const uint type = AM_ARGS_TYPE(s);                                 \
            const int word = AM_ANY_AT(type, i), shift = AM_ANY_SHIFT(type, i); \
            const uint old = (am_words[AM_BIND_##s].v[word] >> shift) & AM_ANY_MASK(type); \
            if (add) f += am_from_any(type, old);                              \
            uint bits = floatBitsToUint(f);                                    \
            if (type != AM_F32) bits = am_to_16(type, f);                      \
            atomicXor(am_words[AM_BIND_##s].v[word], (old ^ bits) << shift);   \
        } else {                                                               \
            uint old = 0u;                                                     \
            if (add || FULL == 0) old = AM_HALF_AT(s, i);                      \
            if (add) f += am_from_16(AM_TYPE_##s, old);                        \
            uint new = am_to_16(AM_TYPE_##s, f);                               \
            AM_PUT_HALF(s, i, old, new)                                        \
        }                                                                      \
    }

/* An index: what does not fit 32 bits is out of every range. */
#define AM_LOAD_INDEX(s, name)                                                 \
    int am_load_##name(int i) {                                                \
        if (AM_TYPE_##s == AM_U8)                                              \
            return int(am_words[AM_BIND_##s].v[i >> 2] >> ((i & 3) * 8) & 255u); \
        if (AM_TYPE_##s == AM_I64) {                                           \
            int low = int(am_words[AM_BIND_##s].v[2 * i]);                     \
            int high = int(am_words[AM_BIND_##s].v[2 * i + 1]);                \
            return high == low >> 31 ? low : -2147483647;                      \
        }                                                                      \
        return int(am_words[AM_BIND_##s].v[i]);                                \
    }
