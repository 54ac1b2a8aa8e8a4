#!/bin/sh
# Fuzzes with libFuzzer, addresses and undefined behaviour checked: sh tests/fuzz.sh [SECONDS [TARGET...]]
# Each target runs for so long (60 s) on the kept inputs in tests/fuzz/corpus, as many at once as there are
# processors. What breaks is kept in build-fuzz/findings, with the command that repeats it. Inputs that reach
# new code stay in build-fuzz/found; `MERGE=1 sh tests/fuzz.sh 0` keeps those in the corpus that are needed.
# Status 0 if nothing broke.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=bench/setup.sh
. bench/setup.sh

all='npy safetensors call selector pretend cache'
time=${1:-60}
[ $# -eq 0 ] || shift
# shellcheck disable=SC2086 # a list of names
[ $# -gt 0 ] || set -- $all
corpus=tests/fuzz/corpus
findings=build-fuzz/findings
# Larger than anything that the targets need, far smaller than what hostile sizes ask for. The time is that of the
# wall: on a busy machine a second of work takes many.
limits='-rss_limit_mb=1024 -malloc_limit_mb=64 -timeout=120'

if ! command -v clang >/dev/null 2>&1; then
    echo "There is no clang here, and libFuzzer comes with it: nothing was fuzzed."
    exit 1
fi
say "Building the fuzz targets"
# Loops that are not vectorised are no news here.
build build-fuzz -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=None "-DCMAKE_C_FLAGS=-O1 -Wno-pass-failed" \
    -DANYMAX_FUZZ=ON -DANYMAX_BUILD_SHARED=OFF -DANYMAX_OPENCL=OFF -DANYMAX_VULKAN=OFF -DANYMAX_BENCH=OFF \
    -DANYMAX_TESTS=OFF

# Files of the cache target; a disk would take most of its time.
TMPDIR=$work
if [ -w /dev/shm ]; then TMPDIR=/dev/shm; fi
ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
UBSAN_OPTIONS=print_stacktrace=1
unset ANYMAX_DEVICE ANYMAX_TEST_DEVICE ANYMAX_PRETEND ANYMAX_SKIP ANYMAX_THREADS ANYMAX_CACHE
export TMPDIR ASAN_OPTIONS UBSAN_OPTIONS

dictionary() {
    if [ -f "tests/fuzz/$1.dict" ]; then echo "-dict=tests/fuzz/$1.dict"; fi
}

# fuzz TARGET: one run; libFuzzer ends at the first finding.
fuzz() {
    mkdir -p "build-fuzz/found/$1" "$findings"
    # Word splitting is meant: lists of options.
    # shellcheck disable=SC2046,SC2086
    "build-fuzz/tests/fuzz/fuzz_$1" -max_total_time="$time" $limits $(dictionary "$1") -print_final_stats=1 \
        -artifact_prefix="$findings/$1-" "build-fuzz/found/$1" "$corpus/$1" \
        >"$work/$1.log" 2>&1 || echo $? >"$work/$1.status"
}

# show TARGET: a row of the table, and what broke.
show() {
    status=ok
    if [ -f "$work/$1.status" ]; then status=BROKEN; fi
    awk -v name="$1" -v status="$status" '
        / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") edges = $(i + 1); else if ($i == "corp:") inputs = $(i + 1) }
        /^stat::number_of_executed_units:/ { runs = $2 }
        /^stat::peak_rss_mb:/ { memory = $2 }
        END { sub(/\/.*/, "", inputs); printf "%-14s%14d%10d%10d%10d  %s\n", name, runs, edges, inputs, memory, status }
    ' "$work/$1.log"
}

explain() {
    cp "$work/$1.log" "$findings/$1.log"
    printf '\n%s:\n' "$1"
    grep -a -E 'broken promise|runtime error|ERROR|SUMMARY|Test unit written' "$work/$1.log" | sed 's/^/    /' || true
    input=$(sed -n 's/.*Test unit written to //p' "$work/$1.log" | head -n 1)
    printf '    everything: %s\n    again: build-fuzz/tests/fuzz/fuzz_%s %s\n' "$findings/$1.log" "$1" "$input"
}

if [ "$time" -gt 0 ]; then
    say "Fuzzing, $time s for each of: $*"
    export time work corpus findings limits
    waiting=0
    pids=
    for target in "$@"; do
        fuzz "$target" &
        pids="$pids $!"
        waiting=$((waiting + 1))
        if [ $waiting -eq "$(jobs_count)" ]; then
            # shellcheck disable=SC2086
            wait $pids
            waiting=0
            pids=
        fi
    done
    wait
    printf '%-14s%14s%10s%10s%10s\n' target executions edges inputs MiB
    for target in "$@"; do show "$target"; done
    broken=0
    for target in "$@"; do
        if [ -f "$work/$target.status" ]; then
            explain "$target"
            broken=$((broken + 1))
        fi
    done
else
    broken=0
fi

if [ "${MERGE:-0}" = 1 ]; then
    for target in "$@"; do
        # Inputs with a speaking name stay; those that libFuzzer has named compete with what was found.
        mkdir -p "build-fuzz/found/$target"
        find "$corpus/$target" -type f | grep -E '/[0-9a-f]{40}$' >"$work/named" || true
        while read -r input; do mv "$input" "build-fuzz/found/$target/"; done <"$work/named"
        quietly "merge-$target" "build-fuzz/tests/fuzz/fuzz_$target" -set_cover_merge=1 "$corpus/$target" \
            "build-fuzz/found/$target"
        echo "$target: $(find "$corpus/$target" -type f | wc -l) inputs are kept"
    done
fi
printf '\n%d targets, %d broken\n' $# $broken
[ $broken -eq 0 ]
