# Read by scripts of this folder and of tests/: a folder of their own ($work), packages, progress, the
# build. POSIX sh.
# shellcheck shell=sh

work=$(mktemp -d)
quiet_pid=
clean_up() {
    # A command in the background ignores the interrupt key.
    [ -z "$quiet_pid" ] || kill "$quiet_pid" 2>/dev/null || true
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

say() {
    printf '\n== %s\n' "$*"
}

seconds() {
    date +%s
}

jobs_count() {
    getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2
}

# Installs the Debian packages that are missing, if this machine lets us; else says what to install.
need_packages() {
    if ! command -v dpkg-query >/dev/null 2>&1; then
        echo "Not a Debian system: going on with what is here. Debian's names of what is needed:"
        echo "  $*"
        return 0
    fi
    missing=
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
            missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" -eq 0 ]; then
        as_root='env DEBIAN_FRONTEND=noninteractive'
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        as_root='sudo -n env DEBIAN_FRONTEND=noninteractive'
    else
        echo "These packages are missing and this user may not install them; going on without:"
        echo "  apt-get install$missing"
        return 0
    fi
    say "Installing$missing"
    # Word splitting is meant: a command, and a list of names.
    # shellcheck disable=SC2086
    quietly apt-update $as_root apt-get update -qq || true
    # shellcheck disable=SC2086
    quietly apt-install $as_root apt-get install -y -qq --no-install-recommends $missing ||
        echo "That did not work; going on with what is here."
}

# quietly NAME COMMAND...: output goes to a file; a line every 20 seconds, the end of it on failure.
quietly() {
    quiet_name=$1
    shift
    quiet_log="$work/$quiet_name.log"
    quiet_start=$(seconds)
    "$@" >"$quiet_log" 2>&1 </dev/null &
    quiet_pid=$!
    quiet_next=20
    while kill -0 "$quiet_pid" 2>/dev/null; do
        sleep 1
        quiet_passed=$(($(seconds) - quiet_start))
        if [ "$quiet_passed" -ge "$quiet_next" ]; then
            printf '  %4d s  %s\n' "$quiet_passed" "$(tail -n 1 "$quiet_log" | cut -c 1-86)"
            quiet_next=$((quiet_passed + 20))
        fi
    done
    quiet_status=0
    wait "$quiet_pid" || quiet_status=$?
    quiet_pid=
    took=$(($(seconds) - quiet_start))
    if [ "$quiet_status" -ne 0 ]; then
        echo "  $quiet_name failed (status $quiet_status); the end of its output:"
        tail -n 60 "$quiet_log" | sed 's/^/    /'
    fi
    return "$quiet_status"
}

# build FOLDER CMAKE_OPTION...: configures and builds this checkout there, all of it or the targets in
# $build_targets; $took is the seconds.
build_targets=
build() {
    build_folder=$1
    shift
    if ! command -v cmake >/dev/null 2>&1; then
        echo "There is no cmake here: nothing can be built."
        return 1
    fi
    generator='Unix Makefiles'
    if command -v ninja >/dev/null 2>&1; then generator=Ninja; fi
    # A folder that was made with another generator keeps it.
    if [ -f "$build_folder/CMakeCache.txt" ]; then
        set -- -S . -B "$build_folder" "$@"
    else
        set -- -G "$generator" -S . -B "$build_folder" "$@"
    fi
    build_start=$(seconds)
    quietly configure cmake "$@" || return 1
    grep -E '^CMake Warning|^  No |anymax: OpenCL' "$work/configure.log" || true
    # A list of names.
    # shellcheck disable=SC2086
    quietly build cmake --build "$build_folder" --parallel "$(jobs_count)" \
        ${build_targets:+--target $build_targets} || return 1
    took=$(($(seconds) - build_start))
    echo "  built in $took s"
}
