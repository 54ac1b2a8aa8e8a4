#!/bin/sh
# For an hour on a machine with a GPU, with or without a network: builds, holds every device against
# double precision, times every operation, runs the tests, and packs what was seen.
#   sh bench/gpu.sh [--minutes N] [--device SELECTOR]...
#
# Installs nothing, and stops by itself: after N minutes (default 50) at the latest. GPUs come first,
# a device that fails or hangs does not keep the next one from its turn. The table comes before the
# tests, and again at the end; the archive that the last line names is what to send back.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=bench/setup.sh
. bench/setup.sh

minutes=50
chosen=
out=$PWD/build-gpu/results-$(date -u +%Y%m%d-%H%M%S)
while [ $# -gt 0 ]; do
    case $1 in
    --minutes) minutes=$2 ;;
    --device) chosen="$chosen $2" ;;
    *)
        sed -n '2,9s/^# \{0,1\}//p' "$0"
        exit 2
        ;;
    esac
    shift 2
done
start=$(seconds)
end=$((start + minutes * 60))
mkdir -p "$out"
# Compiled kernels of other runs would hide what compiling takes.
XDG_CACHE_HOME=$work/cache
POCL_CACHE_DIR=$work/pocl
export XDG_CACHE_HOME POCL_CACHE_DIR
mkdir -p "$XDG_CACHE_HOME" "$POCL_CACHE_DIR"

left() { # left [UNTIL]: seconds
    now=$(seconds)
    echo $((${1:-$end} > now ? ${1:-$end} - now : 0))
}

# limited SECONDS LOG COMMAND...: status 124 if it had to be ended. What a driver keeps from ending is
# left behind. Every 20 seconds a line tells where it is.
limited() {
    limit=$1
    log=$2
    shift 2
    [ "$limit" -gt 0 ] || return 124
    "$@" >"$log" 2>&1 </dev/null &
    quiet_pid=$!
    begun=$(seconds)
    told=20
    while kill -0 "$quiet_pid" 2>/dev/null; do
        passed=$(($(seconds) - begun))
        if [ "$passed" -ge "$limit" ]; then
            # Not a polite signal: Check would pass it on to this script.
            kill -9 "$quiet_pid" 2>/dev/null || true
            sleep 1
            quiet_pid=
            echo "ended after $limit s" >>"$log"
            return 124
        fi
        if [ "$passed" -ge "$told" ]; then
            printf '  %4d s  %s: %s\n' "$passed" "$(basename "$log" .txt)" \
                "$(tail -n 1 "$log" | cut -c 1-60)"
            told=$((passed + 20))
        fi
        sleep 0.2 2>/dev/null || sleep 1
    done
    limited_status=0
    wait "$quiet_pid" || limited_status=$?
    quiet_pid=
    return "$limited_status"
}

pack() {
    (cd "$(dirname "$out")" && tar -czf "$out.tar.gz" "$(basename "$out")") || return 0
    echo "Send back: $out.tar.gz ($(($(wc -c <"$out.tar.gz") / 1024)) KiB)"
}

# ---- what is here
say "This machine"
for tool in cmake cc glslangValidator pkg-config; do
    command -v "$tool" >/dev/null 2>&1 || echo "Missing: $tool"
done
for module in popt libcjson check; do
    pkg-config --exists "$module" 2>/dev/null || echo "Missing: the development files of $module"
done
echo "(Debian: cmake gcc libc6-dev pkg-config glslang-tools libvulkan-dev opencl-headers libpopt-dev"
echo " libcjson-dev check libsubunit-dev; beside the drivers: ocl-icd-libopencl1 libvulkan1)"
{
    date -u
    uname -a
    cat /etc/os-release 2>/dev/null || sw_vers 2>/dev/null || true
    git log -1 --oneline 2>/dev/null || true
    cc --version 2>/dev/null | head -n 1
    cmake --version 2>/dev/null | head -n 1
} >"$out/system.txt" 2>&1 || true
# Facts that drivers give; each of these may be missing, or hang.
facts() { # facts NAME COMMAND...
    name=$1
    shift
    command -v "$1" >/dev/null 2>&1 || return 0
    limited 20 "$out/$name.txt" "$@" || true
}
facts lspci lspci -nnk
facts lscpu lscpu
facts vulkaninfo vulkaninfo
facts clinfo clinfo
facts nvidia-smi nvidia-smi -q
facts rocm-smi rocm-smi -a
facts kernel-log sh -c 'dmesg | grep -iE "amdgpu|i915|xe |nouveau|nvidia|panfrost|panthor|v3d|msm" | tail -n 200'

# ---- build
say "Building in build-gpu/ (Release)"
if ! build build-gpu -DCMAKE_BUILD_TYPE=Release -DANYMAX_BENCH=ON -DANYMAX_TESTS=ON; then
    cp "$work"/*.log "$out/" 2>/dev/null || true
    pack
    exit 1
fi
cp "$work"/*.log "$out/" 2>/dev/null || true
anymax=$PWD/build-gpu/bench/anymax
if [ ! -x "$anymax" ]; then
    echo "The command was not built: libpopt and libcjson are needed."
    pack
    exit 1
fi

# ---- devices: GPUs first, processors last
say "Devices"
limited 60 "$out/devices.txt" "$anymax" devices || true
cat "$out/devices.txt"
limited 60 "$out/devices.json" "$anymax" devices --json || true
awk -F '"' '
    $2 == "selector" { s = $4; n++; at[n] = s }
    $2 == "name" { name[s] = $4 }
    $2 == "type" { type[s] = $4 }
    $2 == "driver" { driver[s] = $4 }
    END {
        for (round = 1; round <= 2; round++)
            for (i = 1; i <= n; i++) {
                s = at[i]
                if ((type[s] == "cpu") == (round == 2))
                    printf "%s\t%s\t%s\n", s, substr(name[s], 1, 32), substr(driver[s], 1, 28)
            }
    }' "$out/devices.json" >"$out/devices.tsv"
devices=${chosen:-$(cut -f 1 "$out/devices.tsv")}
count=$(echo "$devices" | wc -w)
[ "$count" -gt 0 ] || { echo "There is no device."; pack; exit 1; }
ops=$("$anymax" ops | awk 'NF > 1 && $1 ~ /^[a-z][a-z0-9_]*$/ && $1 != "operation" { print $1 }')
file_of() { # a selector as a part of a file's name
    echo "$1" | tr -c 'a-zA-Z0-9\n' '-'
}

# ---- verify: an operation at a time, so that a lost device tells which
say "Against double precision: $count devices, golden cases in f32, f16 and bf16"
verify_end=$(($(seconds) + $(left) / 3))
turn=0
for device in $devices; do
    turn=$((turn + 1))
    share=$(($(seconds) + $(left "$verify_end") / (count - turn + 1)))
    bad=0
    for op in $ops; do
        log=$out/verify-$(file_of "$device")-$op.txt
        status=0
        each=$(left "$share")
        [ "$each" -le 180 ] || each=180
        limited "$each" "$log" "$anymax" verify "$op" --device "$device" || status=$?
        [ "$status" -eq 0 ] || bad=$((bad + 1))
        printf '%s\t%s\t%d\n' "$device" "$op" "$status" >>"$out/verify.tsv"
    done
    echo "  $device: $bad operations failed or were not finished, after $(($(seconds) - start)) s in all"
done

# ---- what a call costs at all
say "Latency: a first and a tiny call beside an empty launch"
for device in $devices; do
    log=$out/latency-$(file_of "$device").txt
    each=$(left)
    [ "$each" -le 60 ] || each=60
    limited "$each" "$log" "$anymax" bench --latency --device "$device" ||
        echo "  $device: failed or not finished"
    sed -n '1,2s/^/  /p' "$log"
done

# ---- bench: under 8 minutes
say "Time: every operation, forward and backward, by device"
limit=$(($(left) / 2))
[ "$limit" -le 460 ] || limit=460
bench_end=$(($(seconds) + limit))
turn=0
for device in $devices; do
    turn=$((turn + 1))
    share=$(($(seconds) + $(left "$bench_end") / (count - turn + 1)))
    todo=$(echo "$ops" | wc -w)
    bad=0
    for op in $ops; do
        shapes='4096x4096 65536x64 8x1000000'
        # Operations on pairs have a shape of their own.
        case $op in infonce*) shapes=1024x128 ;; esac
        for shape in $shapes; do
            each=$(($(left "$share") * 2 / todo))
            [ "$each" -le 30 ] || each=30
            log=$out/bench-$(file_of "$device")-$op-$shape
            limited "$each" "$log.txt" "$anymax" bench "$op" --device "$device" --shape "$shape" \
                --seconds 0.1 --json "$log.json" || bad=$((bad + 1))
        done
        todo=$((todo - 1))
        [ "$todo" -gt 0 ] || todo=1
    done
    echo "  $device: $bad cases failed or were not finished, after $(($(seconds) - start)) s in all"
done

# ---- the table
table() {
    printf '%s\n' "$devices" | tr ' ' '\n' >"$work/order"
    cat "$out"/verify-*.txt "$out"/bench-*.json 2>/dev/null |
        awk -v order="$work/order" -v names="$out/devices.tsv" -v verified="$out/verify.tsv" \
            -f bench/gpu.awk | tee "$out/table.txt"
}
say "Results"
table

# ---- tests: what the suite has for a device
if [ -x build-gpu/tests/test_map ]; then
    say "Tests: the suites that take a device"
    suites=$(find build-gpu/tests -maxdepth 1 -name 'test_*' -type f -perm -u+x | sort |
        sed 's,.*/test_,,' | grep -v -x -e large -e plan -e reference)
    turn=0
    for device in $devices; do
        turn=$((turn + 1))
        share=$(($(seconds) + $(left) / (count - turn + 1)))
        for suite in $suites large; do
            log=$out/test-$(file_of "$device")-$suite.txt
            status=0
            # A suite that hangs leaves half of the time to the others.
            limited $(($(left "$share") / 2)) "$log" \
                env ANYMAX_TEST_REQUIRE=1 ANYMAX_TEST_DEVICE="$device" \
                "build-gpu/tests/test_$suite" || status=$?
            case $status in
            0) word=passed ;;
            124) word='not finished in time' ;;
            *) word="FAILED ($status)" ;;
            esac
            printf '%-12s%-12s%s\n' "$device" "$suite" "$word" | tee -a "$out/tests.txt"
        done
    done
else
    echo "The tests were not built (they need Check): left out."
fi

say "Results, again, after $(($(seconds) - start)) s"
table
[ ! -f "$out/tests.txt" ] || awk '{ n++ } $3 == "passed" { good++ }
    END { printf "\n%d of %d runs of a suite passed (tests.txt)\n", good, n }' "$out/tests.txt"
pack
awk -F '\t' '$3 != 0 { bad = 1 } END { exit bad }' "$out/verify.tsv"
