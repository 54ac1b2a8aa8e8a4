/* Reductions of the row kernel, over the lanes of a row and over the parts of one. Names of the
 * skeleton begin with am_: the others belong to the program. n_v is a lane's share of n.
 *
 * Sums keep one fixed order: a lane's own elements in turn, then the lanes by a tree in shared
 * memory or by sub-groups, whose partial results are added in their order. */
shared float am_shared[AM_GROUP * AM_RMAX];

#define SUM_OP(a, b) ((a) + (b))
#define MAX_OP(a, b) mix(a, b, (a) < (b))
#define SUM_NONE 0.0f
#define MAX_NONE (-AM_INF)
#define AM_LANE(op, n, e) real n##_v = op##_NONE;
#define AM_OPEN(op, n, e) const real n##_before = n##_v; n##_v = op##_NONE;
#define AM_STEP(op, n, e) n##_v = op##_OP(n##_v, (e));
#define AM_CLOSE(op, n, e) n##_v = op##_OP(n##_before, n##_v);

#define AM_ALONE(op, n, e) n = n##_v;
#define AM_SHARE(op, n, e) am_shared[am_j++ * AM_GROUP + am_lid] = n##_v;
#define AM_HALVE(op, n, e)                                                       \
    am_shared[am_at] = op##_OP(am_shared[am_at], am_shared[am_at + am_half * am_apart]); \
    am_at += AM_GROUP;
#define AM_TAKE(op, n, e) n = am_shared[am_j++ * AM_GROUP + am_lid_first];
#define AM_TREE(S)                                                               \
    { int am_j = 0; S(AM_SHARE) }                                                \
    barrier();                                                                   \
    for (int am_half = am_lanes >> 1; am_half > 0; am_half >>= 1) {              \
        if (am_lane < am_half) { int am_at = am_lid; S(AM_HALVE) }               \
        barrier();                                                               \
    }                                                                            \
    { int am_j = 0; S(AM_TAKE) }                                                 \
    barrier();

#if FULL
#define SUM_ALL(v) subgroupAdd(v)
#define MAX_ALL(v) subgroupMax(v)
#define AM_SUBGROUP(op, n, e) n = op##_ALL(n##_v);
#define AM_SHARE_SUBGROUP(op, n, e) am_shared[am_j++ * AM_GROUP + int(gl_SubgroupID)] = n;
#define AM_FOLD_SUBGROUPS(op, n, e)                                              \
    n = am_shared[am_j * AM_GROUP];                                              \
    for (int am_i = 1; am_i < int(gl_NumSubgroups); am_i++)                      \
        n = op##_OP(n, am_shared[am_j * AM_GROUP + am_i]);                       \
    am_j++;
/* Nothing is assumed of the size of a sub-group: their number is asked for. REDUCE 3 is for
 * pipelines in which a group is one full sub-group by requirement. */
#define AM_SUBGROUPS(S)                                                          \
    S(AM_SUBGROUP)                                                               \
    if (REDUCE == 2) {                                                           \
        if (subgroupElect()) { int am_j = 0; S(AM_SHARE_SUBGROUP) }              \
        barrier();                                                               \
        { int am_j = 0; S(AM_FOLD_SUBGROUPS) }                                   \
        barrier();                                                               \
    }
#else
#define AM_SUBGROUPS(S)
#endif

#define AM_REDUCE(S)                                                             \
    if (REDUCE == 0) { S(AM_ALONE) }                                             \
    else if (REDUCE == 1) { AM_TREE(S) }                                         \
    else { AM_SUBGROUPS(S) }

/* ---- partial states in the workspace: word ((row * R) + j) * parts_total + part */
#define AM_WORD(i) uintBitsToFloat(am_words[AM_BIND_15].v[i])
#define AM_PUT_WORD(i, f) am_words[AM_BIND_15].v[i] = floatBitsToUint(f);
#define AM_PUT_PARTIAL(op, n, e) AM_PUT_WORD(am_at, n) am_at += args.parts_total;
#define AM_WRITE_PARTIAL(S, R)                                                   \
    if (am_writes) {                                                             \
        int am_at = args.partial_out + am_row * (R) * args.parts_total + am_part; \
        S(AM_PUT_PARTIAL)                                                        \
    }
#define AM_FOLD_ONE(op, n, e)                                                    \
    for (int am_q = am_lane; am_q < args.parts_total; am_q += am_lanes)          \
        n##_v = op##_OP(n##_v, AM_WORD(am_at + am_q));                           \
    am_at += args.parts_total;
#define AM_FOLD(S, R)                                                            \
    {                                                                            \
        int am_at = args.partial_in + am_row * (R) * args.parts_total;           \
        S(AM_LANE) S(AM_FOLD_ONE)                                                \
        AM_REDUCE(S)                                                             \
    }

/* ---- candidates: what of z can still matter, listed by each lane in the order of its columns */
#if ROW_HAS_CANDIDATE
shared float am_list[AM_GROUP * LIST + 1]; /* never of size 0 */
#define AM_COLLECT                                                               \
    if (am_inside && (ROW_CANDIDATE)) {                                          \
        if (am_count < LIST) am_list[am_count * AM_GROUP + am_lid] = z;          \
        am_count++;                                                              \
    }
#define AM_OVERFLOW(R) R(MAX, am_over, 0)
#define AM_LISTED(S, KEEP)                                                       \
    for (int am_i = 0; am_i < am_count; am_i++) {                                \
        const int col = -1;                                                      \
        const real z = am_list[am_i * AM_GROUP + am_lid];                        \
        KEEP S(AM_STEP)                                                          \
    }
#else
#define AM_LISTED(S, KEEP)
#endif

/* ---- online: a lane's sums are relative to its own anchor m_v, and move when it rises */
#if ROW_HAS_MOVE
#define AM_OLD(op, n, e) const real n = n##_v;
#define AM_MOVED(n, e) n##_v = am_sel(w < 0.0f, (e), n##_v);
/* A lane that has seen nothing has sums of 0, which need no move from -inf. */
#define AM_MOVE_TO(anchor)                                                       \
    {                                                                            \
        const real am_d = am_sel(m_v - (anchor) > -3.0e38f, m_v - (anchor), -3.0e38f); \
        const real w = am_sel(am_visible(m_v), am_d, 0.0f);                      \
        ROW_S2(AM_OLD) ROW_MOVE(AM_MOVED)                                        \
    }
/* A block of columns at a time: one move for all of them. The sums of a chunk begin at 0; what came
 * before, relative to an anchor of its own, is moved and added at the end. */
#define AM_SWAP(op, n, e) const real n##_chunk = n##_v; n##_v = n##_before;
#define AM_JOIN(op, n, e) n##_v = op##_OP(n##_v, n##_chunk);
#define AM_ONLINE_PASS                                                           \
    AM_CHUNKS {                                                                  \
        const real am_anchor = m_v;                                              \
        ROW_S2(AM_OPEN)                                                          \
        AM_CHUNK_BLOCKS {                                                        \
            if (!CHIP) { AM_READ_BLOCK }                                         \
            const real am_seen = m_v;                                            \
            AM_COLUMNS(ROW_S1_GUARDED(AM_STEP))                                  \
            const real m = m_v;                                                  \
            m_v = am_seen;                                                       \
            AM_MOVE_TO(m)                                                        \
            m_v = m;                                                             \
            AM_COLUMNS(ROW_KEEP(AM_KEPT) ROW_S2(AM_STEP))                        \
        }                                                                        \
        const real m = m_v;                                                      \
        ROW_S2(AM_SWAP)                                                          \
        m_v = am_anchor;                                                         \
        AM_MOVE_TO(m)                                                            \
        m_v = m;                                                                 \
        ROW_S2(AM_JOIN)                                                          \
    }
#define AM_READ_PARTIAL(op, n, e) n##_v = AM_WORD(am_at + am_q); am_at += args.parts_total;
#define AM_TOTAL(op, n, e) real n##_total = n##_v;
#define AM_ADD(op, n, e) n##_total = op##_OP(n##_total, n##_v);
#define AM_BACK(op, n, e) n##_v = n##_total;
/* m is known by now: each partial state is moved to it, then added. */
#define AM_FOLD_ONLINE                                                           \
    {                                                                            \
        const int am_from = args.partial_in + am_row * (AM_R1 + AM_R2) * args.parts_total; \
        ROW_S1_GUARDED(AM_LANE) ROW_S2(AM_LANE) ROW_S2(AM_TOTAL)                 \
        for (int am_q = am_lane; am_q < args.parts_total; am_q += am_lanes) {    \
            int am_at = am_from;                                                 \
            ROW_S1_GUARDED(AM_READ_PARTIAL) ROW_S2(AM_READ_PARTIAL)              \
            AM_MOVE_TO(m)                                                        \
            ROW_S2(AM_ADD)                                                       \
        }                                                                        \
        ROW_S2(AM_BACK)                                                          \
        AM_REDUCE(ROW_S2)                                                        \
    }
#define AM_BOTH(F) ROW_S1_GUARDED(F) ROW_S2(F)
#endif
