#!/bin/sh
# Exit with live objects, dlclose with live objects, missing loaders, damaged caches, odd cache folders:
# process.sh CHILD PLUGIN LIBRARY ('-' for a build without the shared library)
# ANYMAX_TEST_DEVICE names the device. Exit 77: the device is absent.
set -u
child=$1
plugin=$2
library=$3
device=${ANYMAX_TEST_DEVICE:-cpu}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
cd "$work" || exit 1
export XDG_CACHE_HOME="$work/cache"
mkdir "$XDG_CACHE_HOME"
# The drivers have caches of their own, which are not the subject here.
export POCL_CACHE_DIR="$work/pocl" MESA_SHADER_CACHE_DISABLE=true ANYMAX_CACHE=always

wrong() {
    echo "FAILED on $device: $*"
    [ ! -s "$work/out" ] || sed 's/^/    /' "$work/out"
    failed=1
}

# run NAME COMMAND...: status 0, nothing on stderr
run() {
    name=$1
    shift
    "$@" >"$work/out" 2>"$work/err"
    status=$?
    [ "$status" -eq 0 ] || wrong "$name: exit status $status"
    if [ -s "$work/err" ] && [ -z "${ANYMAX_TEST_NOISY:-}" ]; then
        cat "$work/err" >>"$work/out"
        wrong "$name: something was written to stderr"
    fi
}

# sums NAME COMMAND...: run, and the same checksum as before
sums() {
    run "$@"
    grep '^sum' "$work/out" >"$work/sum"
    cmp -s "$work/sum" "$work/first" || wrong "$1: another result"
}

"$child" work >"$work/out" 2>"$work/err"
status=$?
if [ "$status" -eq 77 ]; then
    cat "$work/out"
    [ -n "${ANYMAX_TEST_REQUIRE:-}" ] && exit 1
    exit 77
fi
[ "$status" -eq 0 ] || wrong "work: exit status $status"
grep '^sum' "$work/out" >"$work/first" || wrong "work: no checksum"

sums "exit with live objects" "$child" live
sums "from the cache" "$child" work
[ "$library" = - ] || run "dlclose with live objects" "$plugin" "$library"

# Caches: whatever is in a file, the result is right; damage is logged, never fatal.
files=$(find "$XDG_CACHE_HOME/anymax" -type f 2>/dev/null | wc -l)
if [ "$device" != cpu ] && [ "$files" -eq 0 ]; then wrong "nothing was cached"; fi
for damage in empty short zeros text; do
    find "$XDG_CACHE_HOME/anymax" -type f 2>/dev/null >"$work/files"
    while read -r file; do
        case $damage in
            empty) : >"$file" ;;
            short) head -c 40 "$file" >"$work/part" && cp "$work/part" "$file" ;;
            zeros) head -c 5000 /dev/zero >"$file" ;;
            text) echo "not a cache file, but longer than a header would be" >"$file" ;;
        esac
    done <"$work/files"
    sums "cache files: $damage" "$child" work
    if [ "$files" -gt 0 ] && ! grep -q '^log: ' "$work/out"; then
        wrong "cache files: $damage: nothing was logged"
    fi
done
# One bit in the middle of each file.
find "$XDG_CACHE_HOME/anymax" -type f 2>/dev/null >"$work/files"
while read -r file; do
    middle=$(($(wc -c <"$file") / 2))
    printf '\377' | dd of="$file" bs=1 seek="$middle" conv=notrunc 2>/dev/null
done <"$work/files"
sums "cache files: a byte" "$child" work

mkdir "$work/with space and öäü"
XDG_CACHE_HOME="$work/with space and öäü" sums "a cache folder with spaces" "$child" work
XDG_CACHE_HOME=/proc/nowhere sums "a cache folder that cannot be made" "$child" work
XDG_CACHE_HOME=relative/path sums "a relative cache folder" "$child" work
[ ! -e relative ] || wrong "a relative XDG_CACHE_HOME was used"
(unset XDG_CACHE_HOME HOME; ANYMAX_TEST_NOISY=1 sums "no home" "$child" work; exit $failed) || failed=1
mkdir "$work/off"
XDG_CACHE_HOME="$work/off" ANYMAX_CACHE=off sums "cache switched off" "$child" work
[ ! -e "$work/off/anymax" ] || wrong "the cache was written although it is off"

# The time to the first result of a process, with nothing on disk and with what the one before has left.
for turn in cold warm; do
    ANYMAX_CACHE='' XDG_CACHE_HOME="$work/start" POCL_CACHE_DIR="$work/start/pocl" \
        run "start, $turn" "$child" start
    echo "start on $device, $turn: $(cat "$work/out")"
done

# Loaders without drivers: the CPU is there, each backend says why it is not.
mkdir "$work/none"
VK_ICD_FILENAMES=/nonexistent VK_DRIVER_FILES=/nonexistent OCL_ICD_VENDORS=$work/none \
    ANYMAX_TEST_NOISY=1 run "no drivers" "$child" devices
grep -q '^device cpu: ' "$work/out" || wrong "no drivers: the CPU is missing"
[ "$(grep -c '^reason ' "$work/out")" -eq 2 ] || wrong "no drivers: not two reasons"
ANYMAX_SKIP=opencl,vulkan run "skipped backends" "$child" devices
[ "$(grep -c '^reason .*ANYMAX_SKIP' "$work/out")" -eq 2 ] || wrong "skipped backends: not two reasons"

[ "$failed" -eq 0 ] && echo "process tests passed on $device"
exit "$failed"
