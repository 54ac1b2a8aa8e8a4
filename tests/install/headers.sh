#!/bin/sh
# Each public header compiles alone, as C11 and as C++11, without a warning.
# Usage: headers.sh INCLUDE_DIR C_COMPILER CXX_COMPILER
set -eu
include=$1 cc=$2 cxx=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

check() { # C_COMPILER CXX_COMPILER HEADER
    printf '#include <%s>\n#include <%s>\nint unused_main;\n' "$3" "$3" >"$work/alone.c"
    cp "$work/alone.c" "$work/alone.cpp"
    "$1" -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$include" -c "$work/alone.c" -o "$work/o"
    "$2" -std=c++11 -Wall -Wextra -Wpedantic -Werror -I"$include" -c "$work/alone.cpp" -o "$work/o"
    echo "ok $1 $2 $3"
}

for header in "$include"/anymax/*.h; do
    name=anymax/$(basename "$header")
    check "$cc" "$cxx" "$name"
    # Their warnings differ, so the other one is asked as well where it is.
    if command -v clang >/dev/null 2>&1 && command -v clang++ >/dev/null 2>&1; then
        check clang clang++ "$name"
    fi
done
