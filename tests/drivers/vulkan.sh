#!/bin/sh
# Vulkan drivers that are bad, broken or absent. See drivers.sh.
set -u
# shellcheck source=tests/drivers/drivers.sh
. "$(dirname "$0")/drivers.sh"
export ANYMAX_SKIP=opencl
unset VK_DRIVER_FILES VK_ICD_FILENAMES VK_ADD_DRIVER_FILES VK_INSTANCE_LAYERS

real=$(find /usr/share/vulkan/icd.d /etc/vulkan/icd.d /usr/local/share/vulkan/icd.d \
    -name 'lvp_icd*.json' 2>/dev/null | head -n 1)
[ -n "$real" ] || absent "lavapipe is not installed: no sound Vulkan driver to keep"

# manifest NAME LIBRARY
manifest() {
    printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.1.0"}}\n' \
        "$2" >"$work/icd/$1.json"
}

# drivers FAKE...: the loader sees these alone; `real` is lavapipe.
drivers() {
    rm -rf "$work/icd"
    mkdir "$work/icd"
    VK_ICD_FILENAMES=
    for fake in "$@"; do
        if [ "$fake" = real ]; then
            cp "$real" "$work/icd/real.json"
        else
            manifest "$fake" "$FAKES/fake_vulkan_$fake.so"
        fi
        VK_ICD_FILENAMES=$VK_ICD_FILENAMES${VK_ICD_FILENAMES:+:}$work/icd/$fake.json
    done
    export VK_ICD_FILENAMES
}

# bad FAKE PATTERN: beside a sound driver, and alone.
bad() {
    drivers "$1" real
    lists "$1 beside a sound driver"
    reasons 2
    says "^reason vulkan: $work/icd/$1.json $2"
    says "^log: vulkan: $work/icd/$1.json $2"
    silent "icd/real.json [a-z]* ("
    lists "$1 once more"
    says "^reason vulkan: .*$1.json $2.*(probed remembered"
    silent '^log:'
    follow
    reasons 1
    says '^device vulkan:0: '
    drivers "$1"
    lists "$1 alone"
    says "^reason vulkan: .*$1.json $2.*no other driver has devices"
    dies "$1"
}

bad crash 'crashes (SIGSEGV 11'
bad late_crash 'crashes (SIGSEGV 11'
bad abort 'crashes (SIGABRT 6; its last words: fake driver: two of me)'
bad leave 'ends the process (status 0'
ANYMAX_PROBE_SECONDS=3
bad hang 'does not answer within 3 s'
ANYMAX_PROBE_SECONDS=20

# The other variables that name drivers.
drivers crash real
VK_DRIVER_FILES=$VK_ICD_FILENAMES
export VK_DRIVER_FILES
lists "VK_DRIVER_FILES"
says "crash.json crashes .*set VK_DRIVER_FILES=$work/icd/real.json "
follow
says '^device vulkan:0: '
VK_DRIVER_FILES=$work/icd
lists "a folder in VK_DRIVER_FILES"
says "icd/crash.json crashes "
unset VK_DRIVER_FILES
# Where a user's own drivers lie.
unset VK_ICD_FILENAMES
mkdir -p "$work/data/vulkan/icd.d"
cp "$work/icd/crash.json" "$work/data/vulkan/icd.d"
XDG_DATA_HOME=$work/data
export XDG_DATA_HOME
lists "XDG_DATA_HOME"
says "data/vulkan/icd.d/crash.json crashes "
follow
says '^device vulkan:0: '

# A layer that is added to every program: no driver is to blame.
rm "$work/data/vulkan/icd.d/crash.json"
mkdir "$work/data/vulkan/implicit_layer.d"
cat >"$work/data/vulkan/implicit_layer.d/layer.json" <<END
{"file_format_version": "1.0.0", "layer": {"name": "VK_LAYER_FAKE_crash", "type": "GLOBAL",
 "library_path": "$FAKES/fake_loader_crash.so", "api_version": "1.3.0", "implementation_version": "1",
 "description": "crashes", "disable_environment": {"FAKE_LAYER_OFF": "1"}}}
END
lists "a bad layer"
reasons 2
says '^reason vulkan: listing its devices crashes (SIGSEGV 11) by a layer'
follow
says '^device vulkan:0: '
FAKE_LAYER_OFF=1 lists "a bad layer, switched off"
says '^device vulkan:0: '
unset XDG_DATA_HOME

# What the loader passes over is no reason to leave anything.
drivers real fail garbage
for rubbish in missing text nothing empty; do
    VK_ICD_FILENAMES=$VK_ICD_FILENAMES:$work/icd/$rubbish.json
done
manifest missing "$work/nowhere.so"
echo "no library at all" >"$work/text.so"
manifest text "$work/text.so"
manifest nothing "$FAKES/fake_loader_nothing.so"
: >"$work/icd/empty.json"
lists "harmless rubbish beside a sound driver"
says '^device vulkan:0: '
reasons 1
rm "$work/icd/real.json"
lists "harmless rubbish alone"
reasons 2
says '^reason vulkan: '
silent 'probed'

# What the loader 1.3.239 does not pass over: of half a JSON file it makes an error for all drivers, and
# it crashes on one that holds no object.
for broken in '{"file_format_version": "1.0.0", "ICD": {"library_path": "' '["ICD"]'; do
    drivers real fail
    echo "$broken" >"$work/icd/fail.json"
    lists "$broken"
    if grep -q '^reason vulkan: ' "$work/out"; then
        says "^reason vulkan: .*set VK_ICD_FILENAMES=$work/icd/real.json "
        follow
    fi
    says '^device vulkan:0: '
done

VK_ICD_FILENAMES=$work/nowhere.json
lists "no driver"
says '^reason vulkan: .*finds no driver\|^reason vulkan: no driver'
finish
