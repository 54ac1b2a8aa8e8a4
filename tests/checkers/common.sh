# Read by tests/run.sh after bench/setup.sh: caches of their own, counting, CTest. POSIX sh.
# shellcheck shell=sh

start=$(seconds)
passed=0
failed=0
broken=
built=
build_seconds=0
logs=build/logs
jobs=$(jobs_count)
mkdir "$work/cache" "$work/pocl" "$work/icd"
mkdir -p "$logs"
# Fresh caches: what an earlier build compiled must not hide that this one cannot.
XDG_CACHE_HOME=$work/cache
POCL_CACHE_DIR=$work/pocl
ANYMAX_TEST_REQUIRE=1
export XDG_CACHE_HOME POCL_CACHE_DIR ANYMAX_TEST_REQUIRE
: >"$work/timings"
: >"$work/walls"
: >"$work/phases"

count() { # count passed|failed NAME
    if [ "$1" = passed ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        broken="$broken
    $2"
    fi
}

# need_build: the library, the command and the tests in build/, once. Without them nothing goes on.
need_build() {
    [ -z "$built" ] || return 0
    strict=OFF
    [ -z "${CI:-}" ] || strict=ON
    say "Building in build/ (Release)"
    if ! build build -DCMAKE_BUILD_TYPE=Release -DANYMAX_TESTS=ON -DANYMAX_BENCH=ON \
        -DANYMAX_WERROR=$strict; then
        printf '\n%d passed, %d failed\n' "$passed" $((failed + 1))
        exit 1
    fi
    built=1
    build_seconds=$took
    say "Devices"
    build/bench/anymax devices || count failed "anymax devices"
}

# need_sanitizer FOLDER SANITIZERS TYPE [TARGET...]: a build of its own; false if it fails.
need_sanitizer() {
    sanitizer_folder=$1
    sanitizer=$2
    sanitizer_type=$3
    shift 3
    build_targets=$*
    sanitizer_status=0
    build "$sanitizer_folder" -DCMAKE_BUILD_TYPE="$sanitizer_type" -DANYMAX_SANITIZE="$sanitizer" \
        -DANYMAX_BUILD_SHARED=OFF -DANYMAX_BENCH=OFF -DANYMAX_TESTS=ON || sanitizer_status=1
    build_targets=
    [ "$sanitizer_status" -eq 0 ] || count failed "the build with -fsanitize=$sanitizer"
    return "$sanitizer_status"
}

# ctest_run NAME FOLDER CTEST_ARGUMENT...: counts the tests; a run without any is a failure.
ctest_run() {
    run_name=$1
    run_folder=$2
    shift 2
    # The inner shell expands these.
    # shellcheck disable=SC2016
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
        grep -E ':[FE]:|ERROR: (Address|Leak)|WARNING: Thread|runtime error:' "$work/$run_name.log" |
            head -n 30 | cut -c 1-240 | sed 's/^/    /'
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

# needs_finding NAME PATTERN WHAT: the other way: a checker that is not at work finds nothing.
needs_finding() {
    if grep -E -q "$2" "$work/$1.log"; then
        count passed "$1: it is at work"
    else
        cp "$work/$1.log" "$logs/"
        count failed "$1: $3"
    fi
}
