#!/bin/sh
# Each public header compiles alone, as C11 and as C++11, without a warning.
# Usage: headers.sh INCLUDE_DIR C_COMPILER CXX_COMPILER
set -eu
include=$1 cc=$2 cxx=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for header in "$include"/anymax/*.h; do
    name=anymax/$(basename "$header")
    printf '#include <%s>\n#include <%s>\nint unused_main;\n' "$name" "$name" >"$work/alone.c"
    cp "$work/alone.c" "$work/alone.cpp"
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$include" -c "$work/alone.c" -o "$work/o"
    "$cxx" -std=c++11 -Wall -Wextra -Wpedantic -Werror -I"$include" -c "$work/alone.cpp" -o "$work/o"
    echo "ok $name"
done
