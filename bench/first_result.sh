#!/bin/sh
# How long the first result of a process takes where nothing has been compiled before (cold), and in the
# next process (warm), by device:
#   sh bench/first_result.sh ANYMAX DEVICE...
#   sh bench/first_result.sh build/bench/anymax cpu opencl:0 vulkan:0
#
# Cold means that all caches of compiled kernels are new and empty folders: the library's, and those of
# PoCL and Mesa below it; drivers that keep theirs elsewhere are not cold. The time is that of `anymax bench
# --latency`: from opening the device, drivers looked for included, to the result of softmax of 1x64.
set -eu

if [ $# -lt 2 ]; then
    sed -n '2,9s/^# \{0,1\}//p' "$0"
    exit 2
fi
anymax=$1
shift
if [ ! -x "$anymax" ]; then
    echo "first_result.sh: there is no program $anymax" >&2
    exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
unset ANYMAX_CACHE

first() { # first DEVICE: milliseconds; the caches are those of $cache
    mkdir -p "$cache/xdg" "$cache/pocl" "$cache/mesa"
    XDG_CACHE_HOME=$cache/xdg POCL_CACHE_DIR=$cache/pocl MESA_SHADER_CACHE_DIR=$cache/mesa \
        "$anymax" bench --latency --seconds 0.001 --device "$1" --json "$work/result.json" >/dev/null
    sed -n 's/.*"first_ns":[^0-9]*\([0-9.e+]*\).*/\1/p' "$work/result.json" | awk '{ printf "%.1f", $1 / 1e6 }'
}

printf '%-12s%12s%12s\n' device 'cold, ms' 'warm, ms'
for device in "$@"; do
    cache=$work/cache
    rm -rf "$cache"
    cold=$(first "$device")
    warm=$(first "$device")
    printf '%-12s%12s%12s\n' "$device" "$cold" "$warm"
done
