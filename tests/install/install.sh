#!/bin/sh
# Installs a build to a prefix, moves it, then builds and runs programs against it: C and C++, shared and
# static, through find_package and through pkg-config.
# Usage: install.sh SOURCE_DIR BUILD_DIR GENERATOR C_COMPILER CXX_COMPILER
set -eu
source_dir=$1 build_dir=$2 generator=$3 cc=$4 cxx=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build_dir" --prefix "$work/first" >"$work/install.log"
mkdir -p "$work/a folder"
prefix="$work/a folder/moved"
mv "$work/first" "$prefix"
if grep -rl "$work/first" "$prefix"; then
    echo "FAIL: these installed files name the prefix they were installed to"
    exit 1
fi
if find "$prefix" -name '*.cmake' -o -name '*.pc' | tr '\n' '\0' | xargs -0 grep -l "$source_dir"; then
    echo "FAIL: these installed files name the source folder"
    exit 1
fi

echo "find_package"
consumer="$source_dir/tests/install/consumer"
cmake -G "$generator" -S "$consumer" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmake --build "$work/cmake" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
for program in shared_c shared_cpp static_c static_cpp; do
    echo "  $program"
    "$work/cmake/$program"
done

echo "pkg-config"
pc=$(find "$prefix" -name anymax.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
libdir=$(dirname "$PKG_CONFIG_PATH")
# eval: pkg-config quotes the space in the folder's name for a shell.
flags=$(pkg-config --cflags --libs anymax)
eval "$cc \"$consumer/consumer.c\" -o \"$work/pc_c\" $flags -lm"
eval "$cxx -std=c++11 \"$consumer/consumer.cpp\" -o \"$work/pc_cpp\" $flags"
LD_LIBRARY_PATH="$libdir" "$work/pc_c"
LD_LIBRARY_PATH="$libdir" "$work/pc_cpp"
# The static library by its file name, as both kinds lie in one folder.
flags=$(pkg-config --static --cflags --libs anymax | sed 's/-lanymax/-l:libanymax.a/')
eval "$cc -DANYMAX_STATIC \"$consumer/consumer.c\" -o \"$work/pc_static_c\" $flags -lm"
eval "$cxx -DANYMAX_STATIC -std=c++11 \"$consumer/consumer.cpp\" -o \"$work/pc_static_cpp\" $flags"
"$work/pc_static_c"
"$work/pc_static_cpp"
if [ "$(pkg-config --modversion anymax)" != "$(sed -n 's/^project(anymax VERSION \([0-9.]*\).*/\1/p' \
    "$source_dir/CMakeLists.txt")" ]; then
    echo "FAIL: the version in anymax.pc"
    exit 1
fi

if [ -x "$prefix/bin/anymax" ]; then
    echo "the command"
    "$prefix/bin/anymax" devices >"$work/devices"
    # It finds the helper, which finds the library, in the moved tree.
    if grep 'not probed' "$work/devices"; then
        echo "FAIL: the helper anymax-probe"
        exit 1
    fi
    "$prefix/bin/anymax" verify softmax --device cpu
fi
echo "ok"
