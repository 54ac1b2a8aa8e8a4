#!/bin/sh
# OpenCL drivers that are bad, broken, absent or two. See drivers.sh.
set -u
# shellcheck source=tests/drivers/drivers.sh
. "$(dirname "$0")/drivers.sh"
export ANYMAX_SKIP=vulkan

real=$(find "${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}" -name 'pocl*.icd' 2>/dev/null | head -n 1)
[ -n "$real" ] || absent "PoCL is not installed: no sound OpenCL driver to keep"

# vendors FAKE...: a folder with the .icd files of these; `real` is PoCL's.
vendors() {
    rm -rf "$work/vendors"
    mkdir "$work/vendors"
    for fake in "$@"; do
        if [ "$fake" = real ]; then
            cp "$real" "$work/vendors/real.icd"
        else
            echo "$FAKES/fake_opencl_$fake.so" >"$work/vendors/$fake.icd"
        fi
    done
    export OCL_ICD_VENDORS="$work/vendors"
}

# bad FAKE PATTERN: beside a sound driver, and alone.
bad() {
    vendors "$1" real
    lists "$1 beside a sound driver"
    reasons 2
    says "^reason opencl: $work/vendors/$1.icd $2"
    says "^log: opencl: $work/vendors/$1.icd $2"
    silent "vendors/real.icd [a-z]* (" # the sound one is not blamed
    lists "$1 once more"
    says "^reason opencl: .*$1.icd $2.*(probed remembered"
    silent '^log:'
    follow
    reasons 1
    says '^device opencl:0: '
    vendors "$1"
    lists "$1 alone"
    says "^reason opencl: .*$1.icd $2.*no other driver has devices"
    dies "$1"
}

bad crash 'crashes (SIGSEGV 11'
bad late_crash 'crashes (SIGSEGV 11'
bad abort 'crashes (SIGABRT 6; its last words: fake driver: two of me)'
bad leave 'ends the process (status 0'
bad garbage 'crashes (SIGSEGV 11'
ANYMAX_PROBE_SECONDS=3
bad hang 'does not answer within 3 s'
ANYMAX_PROBE_SECONDS=20

# The loader ocl-icd 2.3.1 itself crashes on a file of zero bytes; others pass over it.
vendors real
head -c 3000 /dev/zero >"$work/vendors/zeros.icd"
lists "a file of zeros"
if grep -q '^reason opencl: ' "$work/out"; then
    says "^reason opencl: $work/vendors/zeros.icd crashes (SIGSEGV 11"
    follow
fi
says '^device opencl:0: '

# Two bad ones, and two sound ones: each is named, and what to keep.
vendors abort crash real sound
lists "two bad of four"
says "abort.icd crashes (SIGABRT .*, .*crash.icd crashes (SIGSEGV"
says "set OCL_ICD_VENDORS to a folder with copies of $work/vendors/real.icd $work/vendors/sound.icd"

# Two that are sound, but not together: two copies of one compiler, say.
vendors real twin
cp "$FAKES/fake_opencl_twin.so" "$work/other.so"
echo "$work/other.so" >"$work/vendors/other.icd"
lists "sound alone, not together"
says '^reason opencl: listing its devices crashes (SIGABRT 6; its last words: fake driver: two of me)'
says 'though each driver alone does no harm; to go on with one, set OCL_ICD_VENDORS='
follow
reasons 1
says '^device opencl:0: '

# What a loader passes over is no reason to leave anything.
vendors real
echo "$work/nowhere.so" >"$work/vendors/missing.icd"
echo "no library at all" >"$work/text.so"
echo "$work/text.so" >"$work/vendors/text.icd"
echo "$FAKES/fake_loader_nothing.so" >"$work/vendors/nothing.icd"
: >"$work/vendors/empty.icd"
echo "$FAKES/fake_opencl_fail.so" >"$work/vendors/fail.icd"
lists "harmless rubbish beside a sound driver"
says '^device opencl:0: '
reasons 1
silent '^device opencl:1'
rm "$work/vendors/real.icd"
lists "harmless rubbish alone"
reasons 2
silent 'probed'
for fake in fail empty old; do
    vendors "$fake"
    lists "$fake alone"
    reasons 2
    vendors "$fake" real
    lists "$fake and a sound driver"
    reasons 1
    says '^device opencl:0: '
done

# A count of devices that cannot be, from a driver of OpenCL 3.0 with a device of 1.2.
vendors many
lists "too many devices"
says '^device opencl:0: fake accelerator$'
silent '^device opencl:1'

vendors
lists "an empty folder"
says '^reason opencl: .*-1001'
OCL_ICD_VENDORS=$work/nowhere lists "no folder"
says '^reason opencl: '
ANYMAX_SKIP=cpu,opencl,vulkan lists "everything skipped"
reasons 2
says '^reason opencl: .*ANYMAX_SKIP'

# Two platforms: the same numbers each time, and a number means its device.
vendors real sound
lists "two platforms"
reasons 1
says '^device opencl:0: '
says '^device opencl:1: '
says '^device opencl:[01]: fake accelerator$'
cp "$work/out" "$work/first"
for turn in again "without a cache" "and again"; do
    [ "$turn" = again ] || export ANYMAX_CACHE=off
    lists "two platforms $turn"
    cmp -s "$work/out" "$work/first" || wrong "two platforms: other numbers $turn"
done
unset ANYMAX_CACHE
sound=$(sed -n 's/^device \(opencl:[01]\): fake.*/\1/p' "$work/first")
real=$(sed -n '/fake/d; s/^device \(opencl:[01]\): .*/\1/p' "$work/first")
for selector in "$sound" "fake accel"; do
    name="open $selector"
    ANYMAX_TEST_DEVICE=$selector "$CHILD" open >"$work/out" 2>&1
    [ $? -eq 77 ] || wrong "$name: not refused"
    says 'CL_DEVICE_NOT_AVAILABLE'
done
name="open $real"
ANYMAX_TEST_DEVICE=$real "$CHILD" open >"$work/out" 2>&1 || wrong "$name: exit status $?"
says "^device $real: "
silent fake
finish
