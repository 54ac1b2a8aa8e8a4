# Phases: sanitizers and valgrind. Read by tests/run.sh.
# shellcheck shell=sh

# Leaks of drivers, and of the compilers in them, are theirs. Those that are unloaded by then have no
# name in the report, but what they leave comes from realloc, which the library never calls.
leaks_of_drivers() {
    printf 'leak:%s\n' libpocl libLLVM libclang libvulkan_lvp libOpenCL libvulkan __interceptor_realloc \
        >"$work/lsan"
    LSAN_OPTIONS=suppressions=$work/lsan:print_suppressions=0
    export LSAN_OPTIONS
}

# The named set, what fails on purpose, and the readers of files.
phase_asan() {
    say "Checker: addresses and undefined behaviour"
    need_sanitizer build-asan address,undefined RelWithDebInfo || return 0
    leaks_of_drivers
    ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
        ctest_run asan build-asan -j "$jobs" -R "$(printf '%s' '^(' \
        'skeleton-(plain|skeletons|limits)@cpu|skeleton-plain@(opencl|vulkan)|' \
        '(golden-.|map|loss|arguments|parameters|host_memory|workspace|runtime|threads|cache)@cpu|faults@.*|unit_.*|fuzz.*' ')$')"
}

# Alone it costs little, so all operations run under it, on every backend.
phase_lsan() {
    say "Checker: leaks"
    need_sanitizer build-lsan leak Debug || return 0
    leaks_of_drivers
    LSAN_OPTIONS=$LSAN_OPTIONS:allocator_may_return_null=1 ctest_run lsan build-lsan -j "$jobs" \
        -R '^((golden-.|loss|arguments|runtime|field|faults)@.*|unit_.*)$'
}

# Without optimisation, which is built sooner than what it gains would save here and above.
# The threads of drivers are not compiled with it: what is theirs stands in tsan.supp.
phase_tsan() {
    say "Checker: data races"
    need_sanitizer build-tsan thread Debug test_threads test_runtime test_skeleton || return 0
    TSAN_OPTIONS=allocator_may_return_null=1:suppressions=$PWD/tests/checkers/tsan.supp \
        ctest_run tsan build-tsan -j "$jobs" -R '^((threads|runtime|skeleton-plain)@cpu|threads@.*)$'
}

# Valgrind 3.19 knows no AVX-512, and says so when the library asks: the levels below it run. Drivers are
# left alone: what the linker of shared libraries does for them is reported too.
phase_memcheck() {
    need_build
    say "Checker: valgrind on the CPU backend"
    for suite in skeleton golden arguments runtime; do
        ANYMAX_TEST_DEVICE=cpu ANYMAX_SKIP=opencl,vulkan quietly "memcheck-$suite" \
            valgrind --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite,possible \
            "build/tests/test_$suite" || true
        needs_finding "memcheck-$suite" '^100%: Checks: ' "a test failed"
        needs_finding "memcheck-$suite" 'ERROR SUMMARY: 0 errors' "valgrind found something"
        echo "  memcheck-$suite: $took s"
    done
}
