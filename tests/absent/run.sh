#!/bin/sh
# Compiles the kernels for GPUs that are not here, and tells what their compilers make of them:
#   sh tests/absent/run.sh [--ci | --all] [--page FILE] [BUILD]
# BUILD has absent_vulkan and absent_opencl (default: build/, which is built first).
#
# Three ways, each with Debian's packages alone: Mesa's RADV without a device (Vulkan, AMD), clang with
# libclc (OpenCL, AMD; NVIDIA too where ptxas is installed), ocloc (OpenCL, Intel). The whole table goes
# to BUILD/absent.tsv, a summary to the terminal, and as Markdown to FILE.
# --ci takes two AMD GPUs, one Intel GPU and some of the programs (default: --all).
#
# Status 1 if a kernel does not compile, spills, or keeps an array in memory of its own; also if a
# compiler is missing and ANYMAX_TEST_REQUIRE is set. Status 77: there is no compiler at all.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
# shellcheck source=bench/setup.sh
. bench/setup.sh

extent=all
page=
built=
while [ $# -gt 0 ]; do
    case $1 in
    --ci) extent=ci ;;
    --all) extent=all ;;
    --page)
        page=$2
        shift
        ;;
    *) built=$1 ;;
    esac
    shift
done
radv='vega10 gfx1100'
amd='gfx900'
intel='tgllp'
nvidia=
programs='softmax cross_entropy entmax entmax15 log_softmax unit'
part='am_(softmax_forward|cross_entropy_(forward|backward)|entmax_backward)_|product'
if [ "$extent" = all ]; then
    radv='tahiti polaris10 vega10 navi10 navi21 gfx1100'
    amd='gfx900 gfx1030 gfx1100'
    intel='skl tgllp dg2'
    nvidia='sm_75'
    programs=
    part=.
fi

: >"$work/versions"
version() { # version NAME WORDS
    echo "- $1: $2" >>"$work/versions"
}

missing_tools=
lacks() { # lacks WAY WHAT
    echo "$1 is left out: there is no $2 here."
    missing_tools="$missing_tools $2"
}

# Whoever gives a build has installed what there is to install.
if [ -z "$built" ]; then
    need_packages clang-15 libclc-15 mesa-vulkan-drivers binutils cmake ninja-build gcc libc6-dev \
        opencl-headers libvulkan-dev libvulkan1 glslang-tools pkg-config check libsubunit-dev libcjson-dev
    say "Building in build/"
    build build -DCMAKE_BUILD_TYPE=Release -DANYMAX_TESTS=ON || exit 1
    built=build
fi
built=$(cd "$built" && pwd)
folder=$built/tests/absent
table=$built/absent.tsv
: >"$work/table"
failed=0

# ---- Vulkan: RADV
radeon=$(find /usr/share/vulkan/icd.d /etc/vulkan/icd.d -name 'radeon_icd*.json' 2>/dev/null | head -n 1)
start=$(seconds)
if [ -z "$radeon" ]; then
    lacks "Vulkan for AMD" "RADV (mesa-vulkan-drivers)"
elif [ ! -x "$folder/absent_vulkan" ]; then
    lacks "Vulkan for AMD" "absent_vulkan in $folder"
else
    say "Vulkan for AMD, by RADV: $radv"
    version RADV "Mesa $(dpkg-query -W -f='${Version}' mesa-vulkan-drivers 2>/dev/null || echo '?')"
    export radeon work folder programs
    # A file for each, as they run side by side. The program reads its variables itself.
    # shellcheck disable=SC2016
    echo "$radv" | tr ' ' '\n' | xargs -n 1 -P "$(jobs_count)" sh -c 'RADV_FORCE_FAMILY=$0 \
        VK_ICD_FILENAMES=$radeon VK_DRIVER_FILES=$radeon "$folder/absent_vulkan" "$0" $programs \
        >"$work/radv.$0" 2>"$work/messages.$0"' || failed=1
    cat "$work"/messages.* | grep -v 'not a conformant' || true
    cat "$work"/radv.* >>"$work/table"
    echo "  $(wc -l <"$work/table") pipelines in $(($(seconds) - start)) s"
fi

# ---- OpenCL: one compilation a kernel
clang=
for name in clang-15 clang; do
    if [ -z "$clang" ] && "$name" --print-targets 2>/dev/null | grep -q amdgcn; then clang=$name; fi
done
CLANG=$clang
PTXAS=$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)
clc=$(find /usr/lib/clc /usr/share/clc -name 'amdgcn--amdhsa.bc' 2>/dev/null | head -n 1)
clc=${clc%/*}

# ocloc and what it needs, in a folder of the build: installed, it would bring a driver along.
ocloc_folder=$built/absent-intel
find_ocloc() {
    OCLOC=$(command -v ocloc || true)
    [ -z "$OCLOC" ] || return 0
    if [ ! -x "$ocloc_folder/usr/bin/ocloc" ] && command -v apt-get >/dev/null 2>&1; then
        mkdir -p "$work/deb"
        packages=
        for package in intel-opencl-icd libigc1 libigdfcl1 libopencl-clang14 libigdgmm12 \
            libllvmspirvlib14 libllvm14 libclang-cpp14; do
            dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
                packages="$packages $package"
        done
        say "Fetching ocloc (not installing it)"
        # shellcheck disable=SC2086 # a list of names
        (cd "$work/deb" && quietly download apt-get download $packages) || return 1
        for file in "$work"/deb/*.deb; do dpkg -x "$file" "$work/intel" || return 1; done
        mv "$work/intel" "$ocloc_folder"
    fi
    OCLOC=$ocloc_folder/usr/bin/ocloc
    [ -x "$OCLOC" ]
}

# compile WAY TARGET...: every kernel of the list, as many at a time as there are processors.
compile() {
    way=$1
    shift
    start=$(seconds)
    for target in "$@"; do
        grep -E "$part" "$work/cl/list" |
            awk -F '\t' -v way="$way" -v target="$target" -v folder="$work/cl" \
                '{ print way, target, folder, $1, $2, $3 }'
    done | xargs -n 6 -P "$(jobs_count)" sh "$here/kernel.sh" >"$work/lines" || failed=1
    cat "$work/lines" >>"$work/table"
    echo "  $(wc -l <"$work/lines") kernels in $(($(seconds) - start)) s"
}

mkdir "$work/cl"
if [ ! -x "$folder/absent_opencl" ]; then
    lacks "OpenCL" "absent_opencl in $folder"
else
    "$folder/absent_opencl" "$work/cl"
    if [ -z "$clang" ]; then
        lacks "OpenCL for AMD" "clang with amdgcn (clang-15)"
    elif [ -z "$clc" ]; then
        lacks "OpenCL for AMD" "libclc (libclc-15)"
    else
        export CLANG PTXAS
        say "OpenCL for AMD, by clang: $amd"
        version clang "$($clang --version | head -n 1)"
        BITCODE=$clc/amdgcn--amdhsa.bc
        export BITCODE
        # shellcheck disable=SC2086 # a list of names
        compile amd $amd
        if [ -n "$nvidia" ] && [ -x "$PTXAS" ] && [ -f "$clc/nvptx64--nvidiacl.bc" ]; then
            say "OpenCL for NVIDIA, by ptxas: $nvidia"
            version ptxas "$("$PTXAS" --version | sed -n 's/.*release/release/p')"
            BITCODE=$clc/nvptx64--nvidiacl.bc
            # shellcheck disable=SC2086
            compile nvidia $nvidia
        elif [ -n "$nvidia" ]; then
            echo "OpenCL for NVIDIA is left out: ptxas, which is not free, is not installed."
        fi
    fi
    if [ "$(dpkg --print-architecture 2>/dev/null)" != amd64 ] && ! command -v ocloc >/dev/null; then
        echo "OpenCL for Intel is left out: ocloc is packed for amd64 alone."
    elif find_ocloc; then
        export OCLOC
        LD_LIBRARY_PATH=$ocloc_folder/usr/lib/$(gcc -print-multiarch 2>/dev/null || echo x86_64-linux-gnu)
        export LD_LIBRARY_PATH
        say "OpenCL for Intel, by ocloc: $intel"
        version ocloc "$(cd "$work" && "$OCLOC" query OCL_DRIVER_VERSION >/dev/null 2>&1 &&
            cat OCL_DRIVER_VERSION)"
        # shellcheck disable=SC2086
        compile intel $intel
        unset LD_LIBRARY_PATH
    else
        lacks "OpenCL for Intel" "ocloc (packed in intel-opencl-icd)"
    fi
fi

# ---- what came out
heading='way target kernel variant width regs sregs vspill sspill private shared waves instr code'
{
    echo "$heading" | tr ' ' '\t'
    sort "$work/table"
} >"$table"
say "Summary"
awk -f "$here/summary.awk" "$table" >"$work/summary" || failed=1
cat "$work/summary"
echo
cat "$work/versions"
echo "All lines: $table"
if [ -n "$page" ]; then
    {
        cat "$here/page.md"
        echo "Compilers:"
        echo
        cat "$work/versions"
        awk -v markdown=1 -f "$here/summary.awk" "$table" || true
    } >"$page"
fi
if [ "$(wc -l <"$table")" -le 1 ]; then
    echo "There is no compiler for any absent GPU."
    exit 77
fi
if [ -n "$missing_tools" ] && [ -n "${ANYMAX_TEST_REQUIRE:-}" ]; then
    echo "Missing:$missing_tools"
    failed=1
fi
exit "$failed"
