/* The loops of a row program over elements, for one of two forms. Included by row_program.h.
 *
 * `across`, lanes are rows, and every row scalar is a lane. `along`, lanes are columns of one row:
 * its scalars are read once, before the loop, from lane 0. */
#define AM_PART(part) AM_CAT(AM_ID(part), AM_FORM)

#if defined(AM_ALONG)
#define ROW_BEFORE(...) __VA_ARGS__
#define ROW_INSIDE(...)
#define AM_AT 0
#else
#define ROW_BEFORE(...)
#define ROW_INSIDE(...) __VA_ARGS__
#define AM_AT (am_c + am_l)
#endif

/* A loop over the elements of a tile: AM_CHUNK lanes of all steps, then the next ones, so that what
 * is summed up stays in registers. */
#define ROW_TILE(firsts, bases, scalars_, body, nexts, done, last) \
    ROW_STATE(am_tile_->scalars, am_tile_->indices, am_tile_->args) \
    ROW_BEFORE(ROW_VARS(GET_V) ROW_PARAM(GET_P) ROW_INDEX(GET_X) scalars_) \
    firsts \
    for (int am_c = 0; am_c < AM_W; am_c += AM_CHUNK) { \
        bases \
        for (int am_j = 0; am_j < am_tile_->steps; am_j++) { \
            const int32_t am_column = am_tile_->column + am_j * am_tile_->column_step; \
            AM_LANES { \
                const int32_t am_place = am_column + am_tile_->lane_column[am_c + am_l]; \
                const ints col = am_place < am_tile_->column_end ? am_place : -1; \
                (void)col; \
                ROW_INSIDE(ROW_VARS(GET_V) ROW_PARAM(GET_P) ROW_INDEX(GET_X) scalars_) body \
            } \
            nexts \
        } \
        done \
    } \
    last
#define ROW_STAGE(scalars_, keep_make, sums_, nexts) \
    ROW_TILE(sums_(ROW_SUM(FIRST)), \
             ROW_IN(IN_BASE) ROW_KEPT(KEEP_BASE) sums_(ROW_SUM(BASE)), scalars_, \
             ROW_IN(IN_GET) ROW_LET keep_make sums_(SUM_STEP), \
             nexts ROW_IN(IN_NEXT) ROW_KEPT(KEEP_NEXT), sums_(ROW_SUM(DONE)), \
             sums_(ROW_SUM(LAST)))

/* Twice, for tiles that ROW_IDLE holds for and for others. */
#if ROW_HAS_IDLE && defined(AM_ALONG)
static int AM_PART(idle)(const am_tile *am_tile_) {
    ROW_STATE(am_tile_->scalars, am_tile_->indices, am_tile_->args)
    ROW_INDEX(GET_X)
    return ROW_IDLE(am_tile_->column, am_tile_->column + am_tile_->steps * AM_W);
}
#define ROW_APART(...) \
    if (AM_PART(idle)(am_tile_)) { \
        enum { am_idles = 1 }; \
        __VA_ARGS__ \
    } else { \
        __VA_ARGS__ \
    }
#else
#define ROW_APART(...) __VA_ARGS__
#endif
#if ROW_HAS_1
static void AM_PART(stage_1)(const am_tile *am_tile_, float *am_sums) {
    ROW_APART(
        ROW_TILE(ROW_S1(ROW_SUM(FIRST)), ROW_IN(IN_BASE) ROW_S1(ROW_SUM(BASE)) ROW_WATCH(BASE), ,
                 ROW_IN(IN_GET) ROW_LET ROW_S1(SUM_STEP) ROW_WATCH(STEP)(ROW_POISON),
                 ROW_BEFORE(ROW_IN(IN_AHEAD_1)) ROW_IN(IN_NEXT), ROW_S1(ROW_SUM(DONE)) ROW_WATCH_DONE(ROW_BAD),
                 ROW_S1(ROW_SUM(LAST))))
}
#endif
/* Twice, for rows that ROW_UNIT holds for and for others. */
#if ROW_HAS_UNIT
static int AM_PART(unit)(const am_tile *am_tile_) {
    int am_all = 1;
    ROW_STATE(am_tile_->scalars, am_tile_->indices, am_tile_->args)
    ROW_BEFORE(ROW_VARS(GET_V) ROW_SEEN_2 am_all = ROW_UNIT;)
    ROW_INSIDE(for (int am_c = 0; am_c < AM_W; am_c += AM_CHUNK) AM_LANES {
        ROW_VARS(GET_V) ROW_SEEN_2
        am_all &= ROW_UNIT;
    })
    return am_all;
}
#define ROW_TWICE(...) \
    if (AM_PART(unit)(am_tile_)) { \
        enum { am_unit = 1 }; \
        __VA_ARGS__ \
    } else { \
        __VA_ARGS__ \
    }
#else
#define ROW_TWICE(...) __VA_ARGS__
#endif
#if ROW_HAS_2
static void AM_PART(stage_2)(const am_tile *am_tile_, float *am_sums) {
    ROW_APART(ROW_TWICE(ROW_STAGE(ROW_SEEN_2, ROW_KEEP(KEEP_MAKE) ROW_KEPT(KEEP_PUT), ROW_S2,
                                  ROW_BEFORE(ROW_IN(IN_AHEAD_2)))))
}
#endif
#if ROW_HAS_3
static void AM_PART(stage_3)(const am_tile *am_tile_, float *am_sums) {
    ROW_APART(ROW_STAGE(ROW_SEEN_3, ROW_KEPT(KEEP_GET), ROW_S3, ))
}
#endif
#if ROW_HAS_KEEP && ROW_KEEP_LATER
static void AM_PART(keep)(const am_tile *am_tile_) {
    ROW_TWICE(ROW_TILE(, ROW_IN(IN_BASE) ROW_KEPT(KEEP_BASE), ROW_SEEN_2,
                       ROW_IN(IN_GET) ROW_LET ROW_KEEP(KEEP_MAKE) ROW_KEPT(KEEP_PUT),
                       ROW_IN(IN_NEXT) ROW_KEPT(KEEP_NEXT), , ))
}
#endif
#if ROW_HAS_OUT
#define ROW_FINISH(kept, put, next) \
    ROW_TILE(, ROW_IN(IN_BASE) ROW_KEPT(KEEP_BASE) ROW_OUT(OUT_BASE), ROW_SEEN_4, \
             ROW_IN(IN_GET) ROW_LET kept ROW_OUT(put), \
             ROW_IN(IN_NEXT) ROW_KEPT(KEEP_NEXT) ROW_OUT(next), , )
/* Once more, for tiles that ROW_PLAIN holds for. */
#if ROW_HAS_IDLE && defined(AM_ALONG)
static int AM_PART(plain)(const am_tile *am_tile_) {
    ROW_STATE(am_tile_->scalars, am_tile_->indices, am_tile_->args)
    ROW_VARS(GET_V) ROW_PARAM(GET_P) ROW_INDEX(GET_X) ROW_SEEN_4
    return ROW_PLAIN && AM_PART(idle)(am_tile_);
}
#define ROW_APART_4(...) \
    if (AM_PART(plain)(am_tile_)) { \
        enum { am_plains = 1 }; \
        __VA_ARGS__ \
    } else \
        ROW_APART({__VA_ARGS__})
#else
#define ROW_APART_4(...) ROW_APART(__VA_ARGS__)
#endif
static void AM_PART(finish)(const am_tile *am_tile_) {
    ROW_APART_4(ROW_FINISH(ROW_KEPT(KEEP_GET), OUT_PUT, OUT_NEXT))
}
#if defined(AM_ALONG)
/* Past the caches. */
static void AM_PART(finish_stream)(const am_tile *am_tile_) {
    ROW_APART_4(ROW_FINISH(ROW_KEPT(KEEP_GET), LINE_PUT, LINE_NEXT))
}
#if ROW_HAS_KEEP_MOVE
/* The same for a tile whose anchor, that of the tiles up to it, lies below the row's. */
static void AM_PART(finish_moved)(const am_tile *am_tile_) {
    const rowf w = am_tile_->fall;
    ROW_FINISH(ROW_KEEP(KEEP_TAKE) ROW_KEEP_MOVE(KEEP_MOVED), OUT_PUT, OUT_NEXT)
}
static void AM_PART(finish_moved_stream)(const am_tile *am_tile_) {
    const rowf w = am_tile_->fall;
    ROW_FINISH(ROW_KEEP(KEEP_TAKE) ROW_KEEP_MOVE(KEEP_MOVED), LINE_PUT, LINE_NEXT)
}
#endif
#endif
#undef ROW_FINISH
#endif
#if ROW_HAS_CANDIDATE
/* Most steps hold no candidate at all; that is found out by vectors, the rest lane by lane. */
static bool AM_PART(candidates)(const am_tile *am_tile_, am_list *am_found) {
    int32_t am_wanted[AM_CHUNK];
    float am_z[AM_CHUNK];
    int32_t am_full = 0;
    ROW_TILE(, ROW_IN(IN_BASE), ROW_SEEN_2,
             ROW_IN(IN_GET) ROW_LET am_z[am_l] = z;
             am_wanted[am_l] = (ROW_CANDIDATE) ? 1 : 0;,
             am_full |= AM_CAT(am_append, AM_FORM)(am_found, am_c, am_z, am_wanted);
             ROW_BEFORE(ROW_IN(IN_AHEAD_2)) ROW_IN(IN_NEXT), , )
    return am_full == 0;
}
#define ROW_LIST(sums_, scalars_) \
    ROW_TILE(sums_(ROW_SUM(FIRST)), \
             const float *am_z = am_tile_->in[0] + am_c; sums_(ROW_SUM(BASE)), scalars_, \
             const real z = am_z[am_l]; sums_(SUM_STEP), am_z += AM_W;, sums_(ROW_SUM(DONE)), \
             sums_(ROW_SUM(LAST)))
static void AM_PART(list_2)(const am_tile *am_tile_, float *am_sums) {
    ROW_LIST(ROW_S2, ROW_SEEN_2)
}
#if ROW_HAS_3
static void AM_PART(list_3)(const am_tile *am_tile_, float *am_sums) {
    ROW_LIST(ROW_S3, ROW_SEEN_3)
}
#endif
#undef ROW_LIST
#endif

#if ROW_HAS_MOVE
static void AM_PART(move)(const float *am_scalars, const am_row_args *am_call, float *am_sums,
                          const float *am_fall) {
    ROW_STATE(am_scalars, NULL, am_call)
    for (int am_c = 0; am_c < AM_W; am_c += AM_CHUNK) AM_LANES {
        const real w = am_fall[am_c + am_l];
        ROW_VARS(GET_V) ROW_PARAM(GET_P) ROW_S2(SUM_GET)
        ROW_MOVE(MOVE_MAKE)
        ROW_MOVE(MOVE_PUT)
    }
}
#endif

#if ROW_HAS_3 && defined(AM_ALONG)
static bool AM_PART(need_3)(const float *am_scalars, const int32_t *am_indices,
                            const am_row_args *am_call) {
    ROW_STATE(am_scalars, am_indices, am_call)
    ROW_VARS(GET_V) ROW_PARAM(GET_P) ROW_INDEX(GET_X) ROW_SEEN_3
    return ROW_NEED_3;
}
#endif

static const am_cpu_form AM_PART(form) = {
    .apart = ROW_HAS_IDLE,
#if ROW_HAS_1
    .stage[0] = AM_PART(stage_1),
#endif
#if ROW_HAS_2
    .stage[1] = AM_PART(stage_2),
#endif
#if ROW_HAS_3
    .stage[2] = AM_PART(stage_3),
#if defined(AM_ALONG)
    .need_3 = AM_PART(need_3),
#endif
#endif
#if ROW_HAS_KEEP && ROW_KEEP_LATER
    .keep = AM_PART(keep),
#endif
#if ROW_HAS_OUT
    .finish = {AM_PART(finish)
#if defined(AM_ALONG)
               , AM_PART(finish_stream)
#if ROW_HAS_KEEP_MOVE
               , AM_PART(finish_moved), AM_PART(finish_moved_stream)
#endif
#endif
    },
#endif
#if ROW_HAS_MOVE
    .move = AM_PART(move),
#endif
#if ROW_HAS_CANDIDATE
    .candidates = AM_PART(candidates),
    .list_stage[1] = AM_PART(list_2),
#if ROW_HAS_3
    .list_stage[2] = AM_PART(list_3),
#endif
#endif
};

#undef AM_PART
#undef AM_AT
#undef ROW_BEFORE
#undef ROW_INSIDE
#undef ROW_TILE
#undef ROW_STAGE
#undef ROW_TWICE
#undef ROW_APART
#undef ROW_APART_4
