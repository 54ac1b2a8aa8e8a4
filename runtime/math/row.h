/* Empty forms of the macros that a row program has left out (see README.md). */
#ifndef ROW_IN
#define ROW_IN(I)
#endif
#ifndef ROW_MIXED
#define ROW_MIXED 0
#endif
#ifndef ROW_UNIT
#define ROW_HAS_UNIT 0
#define ROW_UNIT 0
#else
#define ROW_HAS_UNIT 1
#endif
#ifndef ROW_PARAM
#define ROW_PARAM(P)
#endif
#ifndef ROW_CONST
#define ROW_CONST(C)
#endif
#ifndef ROW_INT
#define ROW_INT(C)
#endif
#ifndef ROW_INDEX
#define ROW_INDEX(X)
#endif
#ifndef ROW_VARS
#define ROW_VARS(V)
#endif
#ifndef ROW_T0
#define ROW_T0
#endif
#ifndef ROW_LET
#define ROW_LET
#endif
/* ROW_GUARD: 1 in a lane that poisons its row, else 0. */
#ifndef ROW_POISON
#define ROW_HAS_POISON 0
#define ROW_POISON LIT(0.0f)
#define ROW_BAD LIT(0.0f)
#define ROW_GUARD LIT(0.0f)
#else
#define ROW_HAS_POISON 1
#ifndef ROW_BAD
#define ROW_BAD LIT(0.0f)
#define ROW_GUARD am_poison(ROW_POISON)
#else
#define ROW_GUARD am_sel(ROW_BAD > 0.0f, LIT(1.0f), am_poison(ROW_POISON))
#endif
#endif
/* ROW_HAS_n: what a skeleton can leave out. */
#ifdef ROW_S1
#define ROW_HAS_1 1
#else
#define ROW_HAS_1 0
#define ROW_S1(R)
#endif
#ifdef ROW_S2
#define ROW_HAS_2 1
#else
#define ROW_HAS_2 0
#define ROW_S2(R)
#endif
#ifdef ROW_S3
#define ROW_HAS_3 1
#else
#define ROW_HAS_3 0
#define ROW_S3(R)
#endif
#ifndef ROW_T1
#define ROW_T1
#endif
#ifndef ROW_T2
#define ROW_T2
#endif
#ifndef ROW_T3
#define ROW_T3
#endif
#ifndef ROW_N2
#define ROW_N2 1
#endif
#ifdef ROW_KEEP
#define ROW_HAS_KEEP 1
#else
#define ROW_HAS_KEEP 0
#define ROW_KEEP(K)
#endif
#ifdef ROW_IDLE
#define ROW_HAS_IDLE 1
#else
#define ROW_HAS_IDLE 0
#define ROW_IDLE(first, end) 0
#endif
#ifndef ROW_PLAIN
#define ROW_PLAIN 0
#endif
#ifndef ROW_NEED_3
#define ROW_NEED_3 1
#endif
#ifndef ROW_KEEP_LATER
#define ROW_KEEP_LATER 1
#endif
#ifdef ROW_MOVE
#define ROW_HAS_MOVE 1
#else
#define ROW_HAS_MOVE 0
#define ROW_MOVE(M)
#endif
#ifdef ROW_CANDIDATE
#define ROW_HAS_CANDIDATE 1
#else
#define ROW_HAS_CANDIDATE 0
#define ROW_CANDIDATE (LIT(0.0f) == 0.0f)
#endif
#ifdef ROW_KEEP_MOVE
#define ROW_HAS_KEEP_MOVE 1
#else
#define ROW_HAS_KEEP_MOVE 0
#endif
#ifdef ROW_OUT
#define ROW_HAS_OUT 1
#else
#define ROW_HAS_OUT 0
#define ROW_OUT(O)
#endif
#ifndef ROW_ROW
#define ROW_ROW(O)
#endif
#ifndef ROW_FLAG
#define ROW_FLAG(F)
#endif
/* Stage 1 of every program also finds poisoned rows. */
#define ROW_S1_GUARDED(R) ROW_S1(R) R(MAX, bad, ROW_GUARD)
