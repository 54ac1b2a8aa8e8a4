#!/bin/sh
# Whether `anymax bench` finds what to hold a device's speed against: sh tests/bench_anchor.sh ANYMAX DEVICE
# Status 77 where there is no such device.
set -u
anymax=${1:?path of the command}
device=${2:?device}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

"$anymax" devices --json >"$work/devices"
if ! grep -q "\"selector\":[^\"]*\"$device" "$work/devices"; then
    echo "There is no device $device here."
    exit 77
fi

# holds PATTERN ARGUMENT...: status 0, a line of that pattern, nothing on stderr.
holds() {
    pattern=$1
    shift
    if ! "$anymax" bench --device "$device" --seconds 0.01 "$@" >"$work/out" 2>"$work/err" ||
        [ -s "$work/err" ] || ! grep -q -e "$pattern" "$work/out"; then
        failed=$((failed + 1))
        echo "FAILED: anymax bench --device $device $*: no '$pattern', or something on stderr"
        cat "$work/out" "$work/err"
    fi
}

# Of more than one block of an anchor, and of less.
holds '^softmax .*copy [0-9.]*  *[0-9.]*  *[0-9.]*$' softmax --shape 300x300 --direction forward
holds '^softmax .*copy [0-9.]*  *[0-9.]*  *[0-9.]*$' softmax --shape 4x7
holds '^logsumexp .*read [0-9.]*  *[0-9.]*  *[0-9.]*$' logsumexp --shape 300x3000 --direction forward
holds '^cross_entropy  *both .*copy' cross_entropy --shape 30x300 --direction both
if [ "$device" = cpu ]; then
    holds "^$device .*us" --latency
else
    holds "^$device.* [0-9]*\.[0-9]*$" --latency
fi
echo "bench on $device: $failed failed"
[ "$failed" -eq 0 ]
