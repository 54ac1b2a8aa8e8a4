#!/bin/sh
# Compiles every row program of runtime/math/rows, forward and backward, in the forms that its
# skeletons use: C (GCC and Clang, all warnings), OpenCL C 1.2 (a lane is float, or float16 with row
# scalars float or float16) and GLSL. What must hold in all of them: the rules of runtime/math/am.h.
# Exit 77: some compiler is missing, and all that are there have passed.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0
missing=

# A skeleton that expands every macro once. Each language says how numbers come and go.
cat > "$tmp/expand.h" <<'EOF'
#include "row.h"
#define CAT2(a, b) a##_##b
#define CAT(a, b) CAT2(a, b)
#define IN(slot, name, absent) \
    const real name = am_sel(load_int(slot) < 0, LIT(absent), load(slot));
#define PARAM(slot, i, name) const rowf name = load_row(slot + i);
#define CONST(i, name) const rowf name = load_row(i);
#define INT(i, name) const rowi name = load_rowi(i);
#define INDEX(slot, name) const rowi name = load_rowi(slot);
#define VAR(name) rowf name = ROWLIT(0.0f);
#define RESULT(op, name, e) rowf name = ROWLIT(0.0f);
#define SUM_START 0.0f
#define MAX_START -AM_INF
#define SUM_OP(a, b) ((a) + (b))
#define MAX_OP(a, b) am_sel((a) < (b), b, a)
#define DECLARE(op, name, e) real name##_v = LIT(op##_START);
#define STEP(op, name, e) name##_v = op##_OP(name##_v, (e));
#define FOLD(op, name, e) name = am_row(name##_v);
#define LANE(op, name, e) const real name = LIT(load_row(2));
#define MOVE(name, e) store(1, (e));
#define KEEP(name, e) const real name = (e);
#define OUT(slot, name, e) store(slot, (e));
#define ROW(slot, name, e) store_row(slot, (e));
#define FLAG(bit, condition) flag(bit, (condition) ? ROWLIT(1.0f) : ROWLIT(0.0f));
#define ELEMENT ROW_IN(IN) const ints col = load_int(0); ROW_LET
#define STAGE(reductions, keep) \
    { reductions(DECLARE) { ELEMENT keep reductions(STEP) } reductions(FOLD) }
SCOPE void CAT(NAME, run)(void) {
    const int row_length = 7;
    ROW_PARAM(PARAM) ROW_CONST(CONST) ROW_INT(INT) ROW_INDEX(INDEX) ROW_VARS(VAR)
    ROW_S1_GUARDED(RESULT) ROW_S2(RESULT) ROW_S3(RESULT)
    ROW_T0
    STAGE(ROW_S1_GUARDED, )
    ROW_T1
    { ELEMENT if (ANY(ROW_CANDIDATE)) store(0, LIT(0.0f)); }
    for (int i = 0; i < ROW_N2; i++) {
        STAGE(ROW_S2, ROW_KEEP(KEEP))
        ROW_T2
    }
    { const real w = load(1); ROW_S2(LANE) ROW_MOVE(MOVE) }
    STAGE(ROW_S3, ROW_KEEP(KEEP))
    ROW_T3
    { ELEMENT ROW_KEEP(KEEP) ROW_OUT(OUT) }
    ROW_ROW(ROW) ROW_FLAG(FLAG) flag(31, bad);
}
#undef CAT2
#undef CAT
#undef IN
#undef PARAM
#undef CONST
#undef INT
#undef INDEX
#undef VAR
#undef RESULT
#undef SUM_START
#undef MAX_START
#undef SUM_OP
#undef MAX_OP
#undef DECLARE
#undef STEP
#undef FOLD
#undef LANE
#undef MOVE
#undef KEEP
#undef OUT
#undef ROW
#undef FLAG
#undef ELEMENT
#undef STAGE
#include "row_undef.h"
#undef NAME
EOF

cat > "$tmp/c.h" <<'EOF'
#include <math.h>
#include <string.h>
#define AM_FN static inline
#define SCOPE extern
typedef float real;
typedef int ints;
typedef float rowf;
typedef int rowi;
#define LIT(c) (c)
#define ILIT(c) (c)
#define ROWLIT(c) (c)
#define am_sel(c, a, b) ((c) ? (a) : (b))
#define am_and(a, b) ((a) & (b))
#define am_or(a, b) ((a) | (b))
static inline int am_bits(float x) { int i; memcpy(&i, &x, 4); return i; }
static inline float am_from_bits(int i) { float x; memcpy(&x, &i, 4); return x; }
#define am_float(i) ((float)(i))
#define am_int(x) ((int)(x))
#define am_round(x) rintf(x)
#define am_sqrt(x) sqrtf(x)
#define am_fabs(x) fabsf(x)
#define am_row(v) (v)
#define AM_INF INFINITY
#define ANY(c) (c)
extern float load(int slot), load_row(int slot);
extern int load_int(int slot), load_rowi(int slot);
extern void store(int slot, float v), store_row(int slot, float v), flag(int bit, float v);
#include "am.h"
EOF

cat > "$tmp/cl.h" <<'EOF'
#define AM_FN static inline
#define SCOPE
#if LANES == 16
#define real float16
#define ints int16
#define am_bits as_int16
#define am_from_bits as_float16
#define am_float convert_float16
#define am_int convert_int16
#define ANY(c) any(c)
#else
#define real float
#define ints int
#define am_bits as_int
#define am_from_bits as_float
#define am_float(i) ((float)(i))
#define am_int(x) ((int)(x))
#define ANY(c) (c)
#endif
#if ROWS == 16
#define rowf float16
#define rowi int16
#define am_row(v) (v)
#elif LANES == 16
#define rowf float
#define rowi int
#define am_row(v) ((v).s0)
#else
#define rowf float
#define rowi int
#define am_row(v) (v)
#endif
#define LIT(c) ((real)(c))
#define ILIT(c) ((ints)(c))
#define ROWLIT(c) ((rowf)(c))
#define am_sel(c, a, b) ((c) ? (a) : (b))
#define am_and(a, b) ((a) & (b))
#define am_or(a, b) ((a) | (b))
#define am_round(x) rint(x)
#define am_sqrt(x) sqrt(x)
#define am_fabs(x) fabs(x)
#define AM_INF INFINITY
real load(int slot);
rowf load_row(int slot);
ints load_int(int slot);
rowi load_rowi(int slot);
void store(int slot, real v);
void store_row(int slot, rowf v);
void flag(int bit, rowf v);
#include "am.h"
EOF

cat > "$tmp/glsl.h" <<'EOF'
#version 450
#extension GL_GOOGLE_include_directive : require
#define AM_FN
#define SCOPE
#define real float
#define ints int
#define rowf float
#define rowi int
#define LIT(c) (c)
#define ILIT(c) (c)
#define ROWLIT(c) (c)
#define am_sel(c, a, b) ((c) ? (a) : (b))
#define am_and(a, b) ((a) && (b))
#define am_or(a, b) ((a) || (b))
#define am_bits(x) floatBitsToInt(x)
#define am_from_bits(i) intBitsToFloat(i)
#define am_float(i) float(i)
#define am_int(x) int(x)
#define am_round(x) roundEven(x)
#define am_sqrt(x) sqrt(x)
#define am_fabs(x) abs(x)
#define am_row(v) (v)
#define AM_INF intBitsToFloat(0x7f800000)
#define ANY(c) (c)
layout(binding = 0) buffer floats_block { float floats[]; };
layout(binding = 1) buffer whole_block { int whole[]; };
float load(int slot) { return floats[slot]; }
float load_row(int slot) { return floats[slot]; }
int load_int(int slot) { return whole[slot]; }
int load_rowi(int slot) { return whole[slot]; }
void store(int slot, float v) { floats[slot] = v; }
void store_row(int slot, float v) { floats[slot] = v; }
void flag(int bit, float v) { floats[bit] = v; }
#include "am.h"
EOF

# All programs in one file for each language: the macros of one must not reach the next.
for file in "$root"/runtime/math/rows/*.h; do
    name=$(basename "$file" .h)
    for direction in FORWARD BACKWARD; do
        printf '#define NAME %s_%s\n#define ROW_%s\n#include "rows/%s.h"\n#include "expand.h"\n' \
            "$name" "$direction" "$direction" "$name"
    done
done > "$tmp/programs.h"
sed -n 's/#define NAME \(.*\)/void \1_run(void);/p' "$tmp/programs.h" > "$tmp/prototypes.h"
calls=$(sed -n 's/#define NAME \(.*\)/\1_run();/p' "$tmp/programs.h" | tr '\n' ' ')
(cat "$tmp/c.h" "$tmp/prototypes.h" "$tmp/programs.h") > "$tmp/all.c"
(cat "$tmp/cl.h" "$tmp/prototypes.h" "$tmp/programs.h") > "$tmp/all.cl"
(cat "$tmp/glsl.h" "$tmp/programs.h"; echo "void main() { $calls }") > "$tmp/all.comp"

# check LABEL COMMAND...: the tool is the command's first word.
check() {
    label=$1
    shift
    if ! command -v "$1" > /dev/null 2>&1; then
        echo "missing: $1 ($label)"
        missing="$missing $1"
    elif "$@" > "$tmp/log" 2>&1; then
        echo "ok       $label"
    else
        echo "FAILED   $label"
        sed "s|$tmp/||; s|$root/||" "$tmp/log" | head -n 20
        failed=1
    fi
}

include="-I$tmp -I$root/runtime/math"
warnings="-Wall -Wextra -Werror -Wno-unused-variable"
c="-std=c11 $warnings -pedantic -fsyntax-only $include"
cl="-x cl -cl-std=CL1.2 -Xclang -finclude-default-header $warnings -fsyntax-only $include"
# The flags are lists of words.
# shellcheck disable=SC2086
{
    check "C, GCC" gcc $c "$tmp/all.c"
    check "C, Clang" clang $c "$tmp/all.c"
    check "OpenCL C, lanes float" clang $cl -DLANES=1 -DROWS=1 "$tmp/all.cl"
    check "OpenCL C, lanes float16 along a row" clang $cl -DLANES=16 -DROWS=1 "$tmp/all.cl"
    check "OpenCL C, lanes float16 across rows" clang $cl -DLANES=16 -DROWS=16 "$tmp/all.cl"
    check "GLSL" glslangValidator -V --target-env vulkan1.1 $include -o "$tmp/all.spv" \
        "$tmp/all.comp"
}
[ "$failed" = 0 ] || exit 1
[ -z "$missing" ] || exit 77
