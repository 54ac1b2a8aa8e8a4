#!/bin/sh
# Installs what is missing, builds, runs every test on the CPU, OpenCL and Vulkan, then the checkers:
# sh tests/run.sh
# A backend that is missing here is a failure. Ends with 'N passed, N failed'; status 0 if none failed.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=bench/setup.sh
. bench/setup.sh

start=$(seconds)
passed=0
failed=0
broken=
logs=build/logs
mkdir "$work/cache" "$work/pocl" "$work/icd"
mkdir -p "$logs"
# Fresh caches: what an earlier build compiled must not hide that this one cannot.
XDG_CACHE_HOME=$work/cache
POCL_CACHE_DIR=$work/pocl
ANYMAX_TEST_TIMINGS=$work/timings
ANYMAX_TEST_REQUIRE=1
export XDG_CACHE_HOME POCL_CACHE_DIR ANYMAX_TEST_TIMINGS ANYMAX_TEST_REQUIRE
: >"$work/timings"
: >"$work/walls"

count() { # count passed|failed NAME
    if [ "$1" = passed ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        broken="$broken
    $2"
    fi
}

# ctest_run NAME FOLDER CTEST_ARGUMENT...: counts the tests; a run without any is a failure.
ctest_run() {
    run_name=$1
    run_folder=$2
    shift 2
    quietly "$run_name" sh -c 'cd "$0" && exec ctest --no-tests=error "$@"' "$run_folder" \
        --output-on-failure --timeout 900 "$@" || true
    awk -v name="$run_name" -v list="$work/list" '
        /^ *[0-9]+\/[0-9]+ Test +#/ && / sec *$/ {
            if ($0 ~ /   Passed /) good++
            else {
                bad++
                line = $0
                sub(/^.*Test +#[0-9]+: */, "", line)
                print name ": " line >list
            }
            busy += $(NF - 1)
        }
        END { print good + 0, bad + 0, busy + 0 }' "$work/$run_name.log" >"$work/counts"
    read -r run_good run_bad run_busy <"$work/counts"
    if [ $((run_good + run_bad)) -eq 0 ]; then
        count failed "$run_name: no test ran"
    fi
    passed=$((passed + run_good))
    failed=$((failed + run_bad))
    if [ -s "$work/list" ]; then
        echo "  first failures (everything: $logs/$run_name.log):"
        grep -E ':[FE]:|ERROR: (Address|Leak)|runtime error:' "$work/$run_name.log" | head -n 30 |
            cut -c 1-240 | sed 's/^/    /'
        cp "$work/$run_name.log" "$logs/"
        broken="$broken
$(sed 's/^/    /' "$work/list")"
        rm -f "$work/list"
    fi
    echo "$run_name $took $run_busy" >>"$work/walls"
    echo "  $run_name: $run_good passed, $run_bad failed in $took s"
}

# no_findings NAME PATTERN WHAT: fails if a line of that run's output has the pattern.
no_findings() {
    if grep -E -n "$2" "$work/$1.log" >"$work/findings"; then
        echo "  $1: $3"
        sort -t: -k2 -u "$work/findings" | head -n 20 | cut -c 1-300
        cp "$work/$1.log" "$logs/"
        count failed "$1: $3"
    else
        count passed "$1"
    fi
}

need_packages cmake ninja-build gcc g++ libc6-dev binutils patch pkg-config libpopt-dev libcjson-dev \
    opencl-headers ocl-icd-libopencl1 libvulkan-dev libvulkan1 glslang-tools \
    check libsubunit-dev clang pocl-opencl-icd mesa-vulkan-drivers vulkan-validationlayers oclgrind

strict=OFF
[ -z "${CI:-}" ] || strict=ON
say "Building in build/ (Release)"
if ! build build -DCMAKE_BUILD_TYPE=Release -DANYMAX_TESTS=ON -DANYMAX_BENCH=ON -DANYMAX_WERROR=$strict; then
    printf '\n0 passed, 1 failed\n'
    exit 1
fi
build_seconds=$took
jobs=$(jobs_count)

say "Devices"
build/bench/anymax devices || count failed "anymax devices"

say "Build, install, units"
ctest_run units build -LE '^(cpu|opencl|vulkan)$' -j "$jobs"
for backend in cpu opencl vulkan; do
    say "All operations on $backend"
    ctest_run "$backend" build -L "^$backend\$" -E '^skeleton-' -j "$jobs"
done
# What follows does not grow with the number of operations: about ten programs, in every form.
unset ANYMAX_TEST_TIMINGS
for backend in cpu opencl vulkan; do
    say "The named set on $backend: every skeleton forced, lowered limits"
    ctest_run "$backend-forms" build -L "^$backend\$" -R '^skeleton-' -j "$jobs"
done

say "Checker: address and undefined behaviour, named set"
if build build-asan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DANYMAX_SANITIZE=address,undefined \
    -DANYMAX_BUILD_SHARED=OFF -DANYMAX_BENCH=OFF -DANYMAX_TESTS=ON; then
    # Leaks of drivers, and of the compilers in them, are theirs. Those that are unloaded by then have no
    # name in the report, but what they leave comes from realloc, which the library never calls.
    printf 'leak:%s\n' libpocl libLLVM libclang libvulkan_lvp libOpenCL libvulkan __interceptor_realloc \
        >"$work/lsan"
    ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 \
        UBSAN_OPTIONS=print_stacktrace=1 \
        LSAN_OPTIONS="suppressions=$work/lsan:print_suppressions=0" \
        ctest_run sanitizers build-asan -j "$jobs" \
        -R '^(skeleton-(plain|skeletons|limits)@cpu|skeleton-plain@(opencl|vulkan)|(golden|map|loss|arguments)@cpu)$'
else
    count failed "the sanitizer build"
fi

say "Checker: Vulkan validation with synchronisation, named set"
printf '%s\n' 'khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG' \
    'khronos_validation.report_flags = error,warn' 'khronos_validation.log_filename = stdout' \
    'khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT' \
    >"$work/vk_layer_settings.txt"
VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation VK_LAYER_SETTINGS_PATH="$work/vk_layer_settings.txt" \
    VK_LOADER_DEBUG=layer \
    ctest_run validation build -L '^vulkan$' -L '^named$' -j "$jobs" --verbose
no_findings validation 'VUID-|SYNC-HAZARD|UNASSIGNED-|Validation (Error|Warning)' \
    "the validation layer found something"
if ! grep -q 'VK_LAYER_KHRONOS_validation' "$work/validation.log"; then
    count failed "validation: the layer was not loaded"
fi

say "Checker: oclgrind, named set"
runtime=$(find /usr/lib /usr/local/lib -name 'liboclgrind-rt-icd.so' 2>/dev/null | head -n 1)
if [ -n "$runtime" ]; then
    echo "$runtime" >"$work/icd/oclgrind.icd"
    # Not OCLGRIND_UNINITIALIZED: in version 21.10 it does not know all instructions of optimised kernels,
    # and without optimisation the set takes half an hour. The suite poisons scratch and outputs instead.
    OCL_ICD_VENDORS=$work/icd OCLGRIND_CHECK_API=1 OCLGRIND_DATA_RACES=1 \
        ctest_run oclgrind build -R '^skeleton-plain@opencl$' --verbose
    # A query that a device does not know is refused, and that is an answer; other calls must be right.
    no_findings oclgrind \
        'Invalid (read|write|access|memory)|data race|divergence detected|OCLGRIND FATAL|Function: cl([A-FH-Z]|Get[A-CE-Z])' \
        "oclgrind found something"
    grep -q 'Oclgrind Simulator' "$work/oclgrind.log" || count failed "oclgrind: it did not run"
else
    count failed "oclgrind is not installed"
fi

say "Summary"
echo "build                 $build_seconds s"
for library in build/libanymax.so.*.*.* build/libanymax.a; do
    [ -f "$library" ] && printf '%-21s %d KiB\n' "${library#build/}" $(($(wc -c <"$library") / 1024))
done
echo
awk -v operations=313 '
    FNR == NR { wall[$1] = $2; busy[$1] = $3; next }
    $1 == "timing" {
        if (!($2 in seen)) { seen[$2] = 1; name[++names] = $2 }
        time[$2, $3] += $4
        sum[$3] += $4
        if (!(($2, $3) in had)) { had[$2, $3] = 1; number[$3]++ }
    }
    END {
        split("cpu opencl vulkan", backend, " ")
        printf "%-34s%10s%10s%10s\n", "test seconds per operation", "cpu", "opencl", "vulkan"
        for (i = 1; i <= names; i++) {
            printf "  %-32s", name[i]
            for (b = 1; b <= 3; b++) printf "%10.2f", time[name[i], backend[b]]
            printf "\n"
        }
        printf "%-34s", "wall seconds"
        for (b = 1; b <= 3; b++) printf "%10.0f", wall[backend[b]]
        printf "\n%-34s", "wall seconds at " operations " operations"
        for (b = 1; b <= 3; b++) {
            k = backend[b]
            if (busy[k] > 0 && number[k] > 0) {
                fixed = busy[k] > sum[k] ? busy[k] - sum[k] : 0
                grown = fixed + sum[k] / number[k] * operations
                printf "%10.0f", grown * wall[k] / busy[k]
            } else printf "%10s", "-"
        }
        printf "\n"
    }' "$work/walls" "$work/timings"
echo
awk '{ printf "  %-14s %5d s\n", $1, $2 }' "$work/walls"
echo "  in all         $(printf %5d $(($(seconds) - start))) s"
if [ -n "$broken" ]; then
    printf '\nFailed:%s\n' "$broken"
fi
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
