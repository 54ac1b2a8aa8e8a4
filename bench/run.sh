#!/bin/sh
# Installs what is missing, builds, and runs the main job on every device: sh bench/run.sh
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=bench/setup.sh
. bench/setup.sh

start=$(seconds)
need_packages cmake ninja-build gcc libc6-dev pkg-config libpopt-dev libcjson-dev \
    opencl-headers ocl-icd-libopencl1 libvulkan-dev libvulkan1 glslang-tools

say "Building in build/ (Release)"
build build -DCMAKE_BUILD_TYPE=Release -DANYMAX_TESTS=OFF -DANYMAX_BENCH=ON
anymax=build/bench/anymax
[ -x "$anymax" ] || anymax=$(find build -name anymax -type f -perm -u+x | head -n 1)
if [ -z "$anymax" ]; then
    echo "The command was not built: libpopt and libcjson are needed (Debian: libpopt-dev libcjson-dev)."
    exit 1
fi

say "Devices"
"$anymax" devices

status=0
say "Main job: 1,797 handwritten digits on every device"
"$anymax" digits --device all || status=1

say "Speed of softmax, in short ($anymax bench --help for more)"
"$anymax" bench softmax --device all --shape 4096x1024 || status=1

say "Summary"
if [ "$status" -eq 0 ]; then
    echo "All went well on every device found. $(($(seconds) - start)) s in all; the command is $anymax."
else
    echo "Something above went wrong. $(($(seconds) - start)) s in all."
fi
exit "$status"
