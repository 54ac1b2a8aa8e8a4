#!/bin/sh
# Installs what is missing, builds, runs every test on the CPU, OpenCL and Vulkan, then the checkers:
# sh tests/run.sh
# Or only some of that: sh tests/run.sh PHASE...; sh tests/run.sh --help lists the phases.
# A backend or a checker that is missing here is a failure. Ends with 'N passed, N failed'; status 0 if
# none failed.
set -eu
cd "$(dirname "$0")/.."

# Name; Debian packages that it needs besides those of the build; what it does. In the order in which
# they run. Phase a-b is function phase_a_b of tests/checkers/.
phases() {
    cat <<'END'
lint; python3 clang glslang-tools spirv-tools shellcheck; rules of cl/, shaders/, runtime/ and the scripts
units; clang g++ patch; installation, units, the maths in each language
cpu; ; all operations on the CPU
opencl; pocl-opencl-icd; all operations on OpenCL (PoCL)
vulkan; mesa-vulkan-drivers; all operations on Vulkan (lavapipe)
forms; pocl-opencl-icd mesa-vulkan-drivers; the named set on each backend: every skeleton forced, lowered limits
asan; pocl-opencl-icd mesa-vulkan-drivers; AddressSanitizer and UndefinedBehaviorSanitizer
lsan; pocl-opencl-icd mesa-vulkan-drivers; LeakSanitizer
tsan; pocl-opencl-icd mesa-vulkan-drivers; ThreadSanitizer
memcheck; valgrind; valgrind on the CPU backend: undefined values, leaks
validation; mesa-vulkan-drivers vulkan-validationlayers; the Vulkan validation layer with synchronisation
gpu-assisted; mesa-vulkan-drivers vulkan-validationlayers; the layer's checks inside of shaders
oclgrind; oclgrind; OpenCL calls, memory, races and uninitialised values in a simulator
wg-methods; pocl-opencl-icd; golden cases with each work-group method of PoCL
fuzz; clang libclang-rt-dev; the fuzzers, a minute each
absent; clang-15 libclc-15 mesa-vulkan-drivers; the kernels compiled for some GPUs that are not here
END
}

# field NUMBER PHASE
field() {
    phases | awk -F'; *' -v n="$1" -v phase="$2" '$1 == phase { print $n }'
}

usage() {
    echo "sh tests/run.sh            all phases"
    echo "sh tests/run.sh PHASE...   only these, in the order of this list:"
    phases | awk -F'; *' '{ printf "  %-13s %s\n", $1, $3 }'
    echo "They build what they need."
}

wanted=
for phase in "$@"; do
    case $phase in
    -h | --help)
        usage
        exit 0
        ;;
    esac
    if [ -z "$(field 1 "$phase")" ]; then
        echo "tests/run.sh: no phase '$phase'" >&2
        usage >&2
        exit 2
    fi
    wanted="$wanted $phase"
done
[ -n "$wanted" ] || wanted=$(phases | sed 's/;.*//' | tr '\n' ' ')

# shellcheck source=bench/setup.sh
. bench/setup.sh
# shellcheck source=tests/checkers/common.sh
. tests/checkers/common.sh
# shellcheck source=tests/checkers/suites.sh
. tests/checkers/suites.sh
# shellcheck source=tests/checkers/memory.sh
. tests/checkers/memory.sh
# shellcheck source=tests/checkers/devices.sh
. tests/checkers/devices.sh
# shellcheck source=tests/checkers/tools.sh
. tests/checkers/tools.sh
# shellcheck source=tests/checkers/summary.sh
. tests/checkers/summary.sh

packages=
for phase in $wanted; do packages="$packages $(field 2 "$phase")"; done
# A list of names.
# shellcheck disable=SC2046,SC2086
need_packages cmake ninja-build gcc libc6-dev binutils pkg-config libpopt-dev libcjson-dev opencl-headers \
    ocl-icd-libopencl1 libvulkan-dev libvulkan1 glslang-tools check libsubunit-dev \
    $(printf '%s\n' $packages | sort -u)

for phase in $(phases | sed 's/;.*//'); do
    case " $wanted " in
    *" $phase "*)
        phase_start=$(seconds)
        "phase_$(echo "$phase" | tr - _)"
        echo "$phase $(($(seconds) - phase_start))" >>"$work/phases"
        ;;
    esac
done
summary
[ "$failed" -eq 0 ]
