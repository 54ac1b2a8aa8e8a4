#!/bin/sh
# Adds a map that is not in the library: a copy of the sources, the patch (one new file of maths, an enum
# value, a registry entry), its golden file; then builds and runs that map forward and backward on three
# devices.
# add_map.sh SOURCE CMAKE GENERATOR C_COMPILER BUILD_TYPE [CMAKE_ARGUMENT...]
# Exit 77: a device is absent, and the map is right on the others.
set -eu
source=$1
cmake=$2
generator=$3
compiler=$4
build_type=$5
shift 5
here="$source/tests/add_map"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset ANYMAX_TEST_TIMINGS

mkdir "$work/copy"
(cd "$source" && tar cf - CMakeLists.txt CHANGELOG.md LICENSE README.md bench cl cmake docs examples include runtime shaders tests) |
    tar xf - -C "$work/copy"

touched=$(grep -c '^+++ ' "$here/0001-map-add-squaremax.patch")
if [ "$touched" -ne 3 ]; then
    echo "the patch touches $touched files: adding a map has become more than three edits"
    exit 1
fi
patch -s -p1 -d "$work/copy" <"$here/0001-map-add-squaremax.patch"
cp "$here/squaremax.safetensors" "$work/copy/tests/golden/"

"$cmake" -S "$work/copy" -B "$work/build" -G "$generator" -DCMAKE_C_COMPILER="$compiler" \
    -DCMAKE_BUILD_TYPE="$build_type" -DCMAKE_C_FLAGS_RELEASE=-O1 -DANYMAX_BENCH=OFF \
    -DANYMAX_BUILD_SHARED=OFF "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$cmake" --build "$work/build" --target test_golden >"$work/log" 2>&1 || { tail -n 50 "$work/log"; exit 1; }

status=0
for device in cpu opencl vulkan; do
    code=0
    ANYMAX_TEST_DEVICE=$device ANYMAX_TEST_OP=squaremax XDG_CACHE_HOME="$work/cache" \
        "$work/build/tests/test_golden" || code=$?
    if [ "$code" -eq 77 ]; then
        [ "$status" -eq 0 ] && status=77
    elif [ "$code" -ne 0 ]; then
        status=1
    fi
done
exit "$status"
