# shellcheck shell=sh
# Read by the scripts here: a folder of its own ($work), and what a run of the library is to say. The
# environment tells where things are:
#   CHILD    tests/process/child.c; linked to the static library, so that it finds a helper only by
#            ANYMAX_PROBE
#   COMMAND  the command `anymax`, or - ; linked to the shared library where there is one
#   HELPER   anymax-probe
#   FAKES    the folder of the fake drivers
# POSIX sh.

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
failed=0
checks=0
XDG_CACHE_HOME=$work/cache
ANYMAX_PROBE=$HELPER
ANYMAX_PROBE_SECONDS=20
export XDG_CACHE_HOME ANYMAX_PROBE ANYMAX_PROBE_SECONDS
unset ANYMAX_SKIP ANYMAX_CACHE ANYMAX_DEVICE ANYMAX_PRETEND
# The drivers have caches of their own, which are not the subject here.
export POCL_CACHE_DIR="$work/pocl" MESA_SHADER_CACHE_DISABLE=true

wrong() {
    echo "FAILED: $*"
    [ ! -s "$work/out" ] || sed 's/^/    /' "$work/out"
    failed=1
}

# lists NAME: the devices and reasons are in $work/out, the CPU is among them, the status is 0.
lists() {
    name=$1
    checks=$((checks + 1))
    "$CHILD" devices >"$work/out" 2>"$work/err"
    status=$?
    [ "$status" -eq 0 ] || wrong "$name: exit status $status"
    grep -q '^device cpu: ' "$work/out" || wrong "$name: the CPU is missing"
}

# says PATTERN, silent PATTERN: a line of the last list has it, none has it.
says() {
    grep -q -- "$1" "$work/out" || wrong "$name: nothing says '$1'"
}
silent() {
    if grep -q -- "$1" "$work/out"; then wrong "$name: something says '$1'"; fi
}
# reasons N: that many backends are off.
reasons() {
    [ "$(grep -c '^reason ' "$work/out")" -eq "$1" ] || wrong "$name: not $1 reasons"
}

# follow: does what the reason in the last list advises, and lists again.
follow() {
    advice=$(sed -n 's/^reason .*to go on [^,]*, set \(.*\) (probed .*/\1/p' "$work/out")
    if [ -z "$advice" ]; then
        wrong "$name: no advice"
        return
    fi
    name="$name, as advised"
    checks=$((checks + 1))
    # Word splitting is meant: settings, one or more.
    # shellcheck disable=SC2086
    env $advice "$CHILD" devices >"$work/out" 2>"$work/err" || wrong "$name: exit status $?"
}

# dies NAME: the same without the probe takes the process along, or does not end; else the fake proves
# nothing.
dies() {
    checks=$((checks + 1))
    if ANYMAX_PROBE=off timeout -k 1 1 "$CHILD" devices >"$work/out" 2>&1 &&
        grep -q '^reason ' "$work/out"; then
        wrong "$1: harmless without the probe"
    fi
}

# Without devices there is nothing to lose: the test cannot tell right from wrong.
absent() {
    echo "$*"
    [ -n "${ANYMAX_TEST_REQUIRE:-}" ] && exit 1
    exit 77
}

finish() {
    [ "$failed" -eq 0 ] && echo "$checks checks passed"
    exit "$failed"
}
