# Phases that are scripts of their own. Read by tests/run.sh.
# shellcheck shell=sh

# sub_phase NAME COMMAND...: its output is shown; its status counts.
sub_phase() {
    sub_name=$1
    shift
    if "$@"; then
        count passed "$sub_name"
    else
        count failed "$sub_name"
    fi
}

phase_lint() {
    need_build
    say "Checker: rules of kernels, shaders and scripts"
    sub_phase lint-rules sh tests/lint/run.sh build
}

phase_fuzz() {
    sub_phase fuzz sh tests/fuzz.sh 60
}

phase_absent() {
    need_build
    say "Checker: compilers for GPUs that are not here"
    sub_phase absent sh tests/absent/run.sh --ci build
}
