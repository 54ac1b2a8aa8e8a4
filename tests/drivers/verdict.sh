#!/bin/sh
# When the helper runs, when its verdict is remembered, and how it is found. See drivers.sh.
set -u
# shellcheck source=tests/drivers/drivers.sh
. "$(dirname "$0")/drivers.sh"

# Stands in for the helper, and counts how often it runs for which backend.
cat >"$work/helper" <<END
#!/bin/sh
echo "\$1" >>"$work/runs"
exec "$HELPER" "\$@"
END
chmod +x "$work/helper"
ANYMAX_PROBE=$work/helper
unset VK_DRIVER_FILES VK_ADD_DRIVER_FILES OCL_ICD_FILENAMES OPENCL_VENDOR_PATH

# Drivers of our own making, so that nothing else changes them.
mkdir "$work/vendors" "$work/icd"
echo "$FAKES/fake_opencl_sound.so" >"$work/vendors/sound.icd"
cp "$FAKES/fake_opencl_sound.so" "$work/own.so"
printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.1.0"}}\n' \
    "$work/own.so" >"$work/icd/own.json"
export OCL_ICD_VENDORS="$work/vendors" VK_ICD_FILENAMES="$work/icd/own.json"

# runs NAME OPENCL VULKAN: lists, and the helper must have run that often for each.
runs() {
    : >"$work/runs"
    lists "$1"
    for backend in opencl vulkan; do
        count=$(grep -c "$backend\$" "$work/runs")
        want=$2
        [ $backend = opencl ] || want=$3
        [ "$count" -eq "$want" ] || wrong "$1: $count probes of $backend, not $want"
    done
}

runs "first" 1 1
silent 'does not run'
runs "second" 0 0
touch "$work/vendors/sound.icd"
# What Vulkan loads is tried after what OpenCL has loaded.
runs "an .icd file was touched" 1 1
echo "$work/own.so" >"$work/vendors/own.icd"
runs "an .icd file more" 1 1
echo >>"$work/own.so"
runs "the library of both has changed" 1 1
cp "$work/icd/own.json" "$work/icd/second.json"
# A variable of the other API counts too: some drivers are of both.
VK_ICD_FILENAMES=$work/icd/own.json:$work/icd/second.json runs "a manifest more" 1 3
VK_ICD_FILENAMES=$work/icd/own.json:$work/icd/second.json runs "a manifest more, again" 0 0
runs "without it again" 0 0
POCL_DEVICES=basic runs "a variable of a driver" 1 1
MESA_ANYTHING=1 runs "another" 1 1
SOMETHING=else HOME=/nonexistent runs "a variable that matters to nobody" 0 0
mkdir "$work/lib"
LD_LIBRARY_PATH=$work/lib runs "LD_LIBRARY_PATH" 1 1
: >"$work/lib/libOpenCL.so.1"
LD_LIBRARY_PATH=$work/lib runs "a loader in it" 1 1
echo "# another version" >>"$work/helper"
runs "another helper" 1 1
ANYMAX_SKIP=opencl,vulkan runs "skipped backends" 0 0
ANYMAX_SKIP=opencl runs "Vulkan alone" 0 1
ANYMAX_SKIP=opencl runs "Vulkan alone, again" 0 0
ANYMAX_PROBE=off runs "the probe is off" 0 0
runs "and on again" 0 0

# Without the cache each process probes.
for turn in 1 2; do
    ANYMAX_CACHE=off runs "no cache, $turn" 1 1
    XDG_CACHE_HOME=/proc/nowhere runs "no place for a cache, $turn" 1 1
done
for damage in empty zeros text; do
    for file in "$XDG_CACHE_HOME"/anymax/probe*; do
        case $damage in
            empty) : >"$file" ;;
            zeros) head -c 5000 /dev/zero >"$file" ;;
            text) echo "sound sound sound sound sound sound sound sound" >"$file" ;;
        esac
    done
    runs "damaged verdicts: $damage" 1 1
    runs "damaged verdicts, made again: $damage" 0 0
done

# A helper that is none is no reason to do without devices.
echo "$FAKES/fake_opencl_sound.so" >"$work/vendors/sound.icd"
for helper in /bin/true /bin/false "$work/nowhere" "$work" "$work/icd/own.json" relative/path; do
    ANYMAX_PROBE=$helper lists "ANYMAX_PROBE=$helper"
    says '^device opencl:0: fake accelerator'
done

# Drivers of two APIs that do not go together.
echo "$FAKES/fake_opencl_twin.so" >"$work/vendors/twin.icd"
printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.1.0"}}\n' \
    "$FAKES/fake_vulkan_meets_twin.so" >"$work/icd/meets.json"
export VK_ICD_FILENAMES="$work/icd/meets.json:$work/icd/own.json"
lists "two APIs"
reasons 1
says "^reason vulkan: $work/icd/meets.json crashes (SIGABRT .*when it is listed after opencl; no other"
lists "two APIs, again"
says "^reason vulkan: $work/icd/meets.json crashes .*remembered"
ANYMAX_SKIP=opencl lists "two APIs, one skipped"
silent crashes
rm "$work/vendors/twin.icd"
lists "two APIs, one gone"
silent crashes

if [ "$COMMAND" != - ]; then
    # The command's own way to the helper: beside the library, or beside the program.
    unset ANYMAX_PROBE VK_ICD_FILENAMES OCL_ICD_VENDORS
    name="the command"
    "$COMMAND" devices >"$work/out" 2>&1 || wrong "$name: exit status $?"
    says '^cpu '
    silent 'not probed'
    "$COMMAND" devices --json >"$work/out" 2>&1 || wrong "$name --json: exit status $?"
    for key in loader driver uuid probe; do says "\"$key\":"; done
    export OCL_ICD_VENDORS="$work/vendors"
    rm "$work/vendors"/*
    echo "$FAKES/fake_opencl_sound.so" >"$work/vendors/sound.icd"
    echo "$FAKES/fake_opencl_abort.so" >"$work/vendors/abort.icd"
    name="the command with a bad driver"
    "$COMMAND" devices >"$work/out" 2>&1 || wrong "$name: exit status $?"
    says "^not usable: opencl: $work/vendors/abort.icd crashes .*set OCL_ICD_VENDORS=$work/vendors/sound.icd"
    "$COMMAND" run softmax --device opencl --in 'x=[1, 1]' >"$work/out" 2>&1
    [ $? -eq 1 ] || wrong "$name: run: not refused"
    says 'abort.icd crashes'
    "$COMMAND" run softmax --device cpu --in 'x=[1, 1]' >"$work/out" 2>&1 || wrong "$name: the CPU"
    says '0.5 0.5'
fi
finish
