/* What row_program.h hands to the X-macros of a program. Names that could meet a program's
 * own begin with am_ (a program may call a row scalar `l` or a tensor `x`). */
#ifndef AM_CPU_ROW_MACROS_H
#define AM_CPU_ROW_MACROS_H

/* One name for each half of the file. */
#define AM_ID(part) AM_CAT(part, AM_HALF)

/* Row scalars in memory; their order is that of LOAD and SAVE. */
#define FIELD_R(op, name, e) float name[AM_W];
#define FIELD_V(name) float name[AM_W];
#define FIELD_P(slot, i, name) float name[AM_W];
#define FIELD_X(slot, name) int32_t name[AM_W];

/* Row scalars of a lane, to read. A program need not use all of them. */
#define GET_R(op, name, e) const rowf name = am_v->name[AM_AT]; (void)name;
#define GET_V(name) const rowf name = am_v->name[AM_AT]; (void)name;
#define GET_P(slot, i, name) const rowf name = am_v->name[AM_AT]; (void)name;
#define GET_X(slot, name) const rowi name = am_x->name[AM_AT]; (void)name;
#define GET_C(i, name) const rowf name = am_args->param[i]; (void)name;
#define GET_I(i, name) const rowi name = am_args->iparam[i]; (void)name;
/* To change: read, run the row scalars of a stage, write back. */
#define LOAD_R(op, name, e) rowf name = am_v->name[am_l];
#define LOAD_V(name) rowf name = am_v->name[am_l];
#define STORE_R(op, name, e) am_v->name[am_l] = name;
#define STORE_V(name) am_v->name[am_l] = name;

/* Tensors of rows. */
#define IN_AT(slot, name, absent) AM_ID(IN_##slot##_##name),
#define IN_BASE(slot, name, absent) \
    const float *name##_in = am_tile_->in[AM_ID(IN_##slot##_##name)] + am_c; \
    const ptrdiff_t name##_in_step = am_tile_->in_step[AM_ID(IN_##slot##_##name)]; \
    const ptrdiff_t name##_ahead = am_tile_->ahead[AM_ID(IN_##slot##_##name)]; (void)name##_ahead;
#define IN_GET(slot, name, absent) const real name = name##_in[am_l]; (void)name;
#define IN_NEXT(slot, name, absent) name##_in += name##_in_step;
/* What comes next is asked for in stage 2, the longest, or in stage 1. */
#define IN_AHEAD_1(slot, name, absent) if (name##_ahead != 0 && am_tile_->early) IN_ASK(name)
#define IN_AHEAD_2(slot, name, absent) if (name##_ahead != 0 && !am_tile_->early) IN_ASK(name)
#define IN_ASK(name) \
        for (int am_i = 0; am_i < AM_CHUNK; am_i += 16) am_prefetch(name##_in + name##_ahead + am_i);
#define OUT_AT(slot, name, e) AM_ID(OUT_##slot##_##name),
#define OUT_BASE(slot, name, e) \
    float *name##_out = am_tile_->out[AM_ID(OUT_##slot##_##name)] + am_c, name##_line[AM_CHUNK]; \
    (void)name##_line; \
    const ptrdiff_t name##_out_step = am_tile_->out_step[AM_ID(OUT_##slot##_##name)];
#define OUT_PUT(slot, name, e) name##_out[am_l] = am_sel(bad > 0.0f, NAN, e);
#define OUT_NEXT(slot, name, e) name##_out += name##_out_step;
#define LINE_PUT(slot, name, e) name##_line[am_l] = am_sel(bad > 0.0f, NAN, e);
#define LINE_NEXT(slot, name, e) \
    am_stream_lanes(name##_out, name##_line); \
    name##_out += name##_out_step;
#define KEEP_AT(name, e) AM_ID(KEEP_##name),
#define KEEP_BASE(name, e) float *name##_keep = am_tile_->keep[AM_ID(KEEP_##name)] + am_c;
#define KEEP_MAKE(name, e) const real name = (e);
#define KEEP_PUT(name, e) name##_keep[am_l] = name;
#define KEEP_GET(name, e) const real name = name##_keep[am_l]; (void)name;
#define KEEP_TAKE(name, e) real name = name##_keep[am_l];
#define KEEP_MOVED(name, e) name = (e);
#define KEEP_NEXT(name, e) name##_keep += AM_W;

/* Reductions. */
#define SUM_16(to, from) am_add_16(to, from)
#define MAX_16(to, from) am_max_16(to, from)
#define SUM_NONE 0.0f
#define MAX_NONE (-AM_INF)
#define SUM_OP(a, b) ((a) + (b))
#define MAX_OP(a, b) am_larger(a, b)
#define SUM_AT(op, name, e) AM_ID(SUM_##name),
#define SUM_STEP(op, name, e) name##_sum[am_l] = op##_OP(name##_sum[am_l], e);
/* Across, a lane's sum goes on from tile to tile. */
#define SUM_FIRST_across(op, name, e)
#define SUM_BASE_across(op, name, e) \
    float name##_sum[AM_CHUNK]; \
    memcpy(name##_sum, am_sums + AM_ID(SUM_##name) * AM_W + am_c, sizeof name##_sum);
#define SUM_DONE_across(op, name, e) \
    memcpy(am_sums + AM_ID(SUM_##name) * AM_W + am_c, name##_sum, sizeof name##_sum);
#define SUM_LAST_across(op, name, e)
/* Along, the lanes of a tile are folded into lane 0: every 16th of them, then a tree. */
#define SUM_FIRST_along(op, name, e) \
    float name##_fold[16]; \
    am_fill_16(name##_fold, op##_NONE);
#define SUM_BASE_along(op, name, e) \
    float name##_sum[AM_CHUNK]; \
    AM_LANES name##_sum[am_l] = op##_NONE;
#define SUM_DONE_along(op, name, e) \
    for (int am_i = 0; am_i < AM_CHUNK; am_i += 16) \
        op##_16(name##_fold, name##_sum + am_i);
#define SUM_LAST_along(op, name, e) \
    am_sums[AM_ID(SUM_##name) * AM_W] = \
        op##_OP(am_sums[AM_ID(SUM_##name) * AM_W], AM_FOLD_16(op##_OP, name##_fold));
#define AM_FOLD_2(op, v, i, h) op(v[i], v[(i) + (h)])
#define AM_FOLD_4(op, v, i, h) op(AM_FOLD_2(op, v, i, 2 * (h)), AM_FOLD_2(op, v, (i) + (h), 2 * (h)))
#define AM_FOLD_8(op, v, i, h) op(AM_FOLD_4(op, v, i, 2 * (h)), AM_FOLD_4(op, v, (i) + (h), 2 * (h)))
#define AM_FOLD_16(op, v) op(AM_FOLD_8(op, v, 0, 2), AM_FOLD_8(op, v, 1, 2))
#define SUM_GET(op, name, e) \
    const real name = am_sums[AM_ID(SUM_##name) * AM_W + am_c + am_l]; (void)name;
#define MOVE_MAKE(name, e) const real name##_moved = (e);
#define MOVE_PUT(name, e) \
    am_sums[AM_ID(SUM_##name) * AM_W + am_c + am_l] = am_sel(w < 0.0f, name##_moved, name);

/* Poison: NaN of either sign and +inf are the largest bits of a float, as signed numbers or as
 * unsigned ones; -inf is neither. */
#define WATCH_BASE_1 \
    int32_t am_high[AM_CHUNK]; \
    uint32_t am_low[AM_CHUNK]; \
    AM_LANES { am_high[am_l] = 0; am_low[am_l] = 0; }
#define WATCH_STEP_1(x) { \
        const int32_t am_word = am_bits(x); \
        am_high[am_l] = am_high[am_l] < am_word ? am_word : am_high[am_l]; \
        am_low[am_l] = am_low[am_l] < (uint32_t)am_word ? (uint32_t)am_word : am_low[am_l]; \
    }
#define WATCH_FOUND(of_row) \
    ((am_high[am_l] >= 0x7f800000) | (am_low[am_l] > 0xff800000u) | ((of_row) > 0.0f))
#define WATCH_DONE_1_across(of_row) \
    AM_LANES { \
        ROW_PARAM(GET_P) \
        float *const am_bad = am_sums + AM_ID(SUM_bad) * AM_W + am_c + am_l; \
        *am_bad = am_sel(WATCH_FOUND(of_row), 1.0f, *am_bad); \
    }
#define WATCH_DONE_1_along(of_row) \
    int32_t am_any = 0; \
    for (int am_l = 0; am_l < AM_CHUNK; am_l++) am_any |= WATCH_FOUND(of_row); \
    if (am_any) am_sums[AM_ID(SUM_bad) * AM_W] = 1.0f;
#define WATCH_BASE_0
#define WATCH_STEP_0(x)
#define WATCH_DONE_0_across(of_row)
#define WATCH_DONE_0_along(of_row)

/* Finish: row scalars. */
#define ROW_AT(slot, name, e) AM_ID(ROW_##slot##_##name),
#define ROW_PUT(slot, name, e) \
    am_values[AM_ID(ROW_##slot##_##name) * AM_W + am_l] = bad > 0.0f ? NAN : (e);
#define FLAG_PUT(bit, condition) am_raised |= (condition) ? 1 << (bit) : 0;

/* Tables. */
#define OP_AT(op, name, e) AM_REDUCTION_##op,
#define SLOT_I(slot, name, absent) {slot, 0, absent},
#define SLOT_P(slot, i, name) {slot, i, 0.0f},
#define SLOT_X(slot, name) {slot, 0, 0.0f},
#define SLOT_O(slot, name, e) {slot, 0, 0.0f},
#define ONE_I(slot, name, absent) +1
#define ONE_R(op, name, e) +1
#define ONE_V(name) +1
#define ONE_P(slot, i, name) +1
#define ONE_F(bit, condition) +1
#define ONE_X(slot, name) +1
#define ONE_K(name, e) +1
#define ONE_O(slot, name, e) +1

static inline AM_ALWAYS_INLINE float am_larger(float a, float b) { return a < b ? b : a; }

/* Sixteen lanes onto sixteen: as vectors, since GCC takes such loops apart into scalars. */
#if defined(__GNUC__)
typedef float am_floats_16 __attribute__((vector_size(64)));
typedef int32_t am_ints_16 __attribute__((vector_size(64)));
#define AM_OF_16(a, b, vectors, lanes) \
    am_floats_16 a, b; \
    memcpy(&b, from, sizeof b); \
    memcpy(&a, to, sizeof a); \
    a = vectors; \
    memcpy(to, &a, sizeof a);
#else
#define AM_OF_16(a, b, vectors, lanes) \
    for (int i = 0; i < 16; i++) { \
        float a = to[i], b = from[i]; \
        to[i] = lanes; \
    }
#endif
static inline AM_ALWAYS_INLINE void am_fill_16(float *to, float value) {
#if defined(__GNUC__)
    am_floats_16 a = {0.0f};
    a += value;
    memcpy(to, &a, sizeof a);
#else
    for (int i = 0; i < 16; i++) to[i] = value;
#endif
}
static inline AM_ALWAYS_INLINE void am_add_16(float *to, const float *from) {
    AM_OF_16(a, b, a + b, a + b)
}
static inline AM_ALWAYS_INLINE void am_max_16(float *to, const float *from) {
    AM_OF_16(a, b, (am_floats_16)(((am_ints_16)a & ~(a < b)) | ((am_ints_16)b & (a < b))),
             am_larger(a, b))
}

/* Appends z[l] to lane first + l where wanted[l], for AM_CHUNK lanes; 1 when a lane was full. */
static inline int32_t am_append_across(am_list *list, int first, const float *z,
                                       const int32_t *wanted) {
    int32_t any = 0, full = 0;
    for (int l = 0; l < AM_CHUNK; l++) any |= wanted[l];
    if (any == 0) return 0;
    for (int l = 0; l < AM_CHUNK; l++) {
        if (!wanted[l]) continue;
        int32_t *count = &list->count[first + l];
        if (*count == AM_LIST_STEPS)
            full = 1;
        else
            list->z[(*count)++ * AM_W + first + l] = z[l];
    }
    return full;
}

/* Puts those of 16 numbers that are wanted side by side, with any others behind; their count. */
static inline AM_ALWAYS_INLINE int am_pack_16(float *to, const float *z, const int32_t *wanted) {
#if defined(__AVX512F__)
    __m512i w = _mm512_loadu_si512(wanted);
    __mmask16 mask = _mm512_test_epi32_mask(w, w);
    _mm512_storeu_ps(to, _mm512_maskz_compress_ps(mask, _mm512_loadu_ps(z)));
    return _mm_popcnt_u32(mask);
#else
    int count = 0;
    for (int l = 0; l < 16; l++) {
        to[count] = z[l];
        count += wanted[l];
    }
    return count;
#endif
}

/* The same for a list of one row, whatever the lane. */
static inline int32_t am_append_along(am_list *list, int first, const float *z,
                                      const int32_t *wanted) {
    int32_t any = 1, count = list->count[0];
    (void)first;
    if (count > AM_LIST_STEPS * AM_W - AM_CHUNK) return 1;
#if !defined(__AVX512F__)
    any = 0;
    for (int l = 0; l < AM_CHUNK; l++) any |= wanted[l];
#endif
    for (int l = 0; l < AM_CHUNK && any; l += 16)
        count += am_pack_16(list->z + count, z + l, wanted + l);
    list->count[0] = count;
    return 0;
}

#endif
