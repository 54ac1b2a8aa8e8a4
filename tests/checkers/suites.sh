# Phases: the suite itself. Read by tests/run.sh.
# shellcheck shell=sh

phase_units() {
    need_build
    say "Installation, units"
    ctest_run units build -LE '^(cpu|opencl|vulkan)$' -j "$jobs"
}

# What grows with the number of operations.
run_backend() {
    need_build
    say "All operations on $1"
    ANYMAX_TEST_TIMINGS=$work/timings ctest_run "$1" build -L "^$1\$" -E '^skeleton-' -j "$jobs"
}

phase_cpu() { run_backend cpu; }
phase_opencl() { run_backend opencl; }
phase_vulkan() { run_backend vulkan; }

# What does not: about ten programs, in every form.
phase_forms() {
    need_build
    for backend in cpu opencl vulkan; do
        say "The named set on $backend: every skeleton forced, lowered limits"
        ctest_run "$backend-forms" build -L "^$backend\$" -R '^skeleton-' -j "$jobs"
    done
}
