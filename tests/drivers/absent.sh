#!/bin/sh
# A machine without loaders, for real: a root folder with the C library and ours. Then loaders that are
# broken, or have another name. See drivers.sh; needs root, or user namespaces.
set -u
# shellcheck source=tests/drivers/drivers.sh
. "$(dirname "$0")/drivers.sh"

root=$work/root
mkdir -p "$root/dev" "$root/tmp" "$root/bin" "$root/fakes"
: >"$root/dev/null"

# into FILE PATH: a program or library, and the libraries that it is linked to.
into() {
    cp "$1" "$root$2"
    ldd "$1" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) .*/\1/p' | while read -r library; do
        case $library in
            */libanymax*) target=/bin/${library##*/} ;;
            *) target=$library ;;
        esac
        mkdir -p "$root${target%/*}"
        cp "$library" "$root$target"
    done
}

into "$CHILD" /bin/child
into "$HELPER" /bin/anymax-probe
[ "$COMMAND" = - ] || into "$COMMAND" /bin/anymax

PATH=$PATH:/usr/sbin:/sbin
if chroot "$root" /bin/child devices >"$work/out" 2>&1; then
    enter=$(command -v chroot)
elif unshare -r chroot "$root" /bin/child devices >"$work/out" 2>&1; then
    enter="$(command -v unshare) -r $(command -v chroot)"
else
    sed 's/^/    /' "$work/out"
    absent "neither root nor user namespaces here: a root folder of its own cannot be entered"
fi

# inside COMMAND...: there, with nothing of this environment.
inside() {
    # Word splitting is meant: a command with options.
    # shellcheck disable=SC2086
    env -i PATH=/bin HOME=/tmp LD_LIBRARY_PATH=/bin:/lib ANYMAX_PROBE=/bin/anymax-probe ${SET:-A=} \
        $enter "$root" "$@"
}
# there NAME: as lists, inside.
there() {
    name=$1
    checks=$((checks + 1))
    inside /bin/child devices >"$work/out" 2>"$work/err" || wrong "$name: exit status $?"
    grep -q '^device cpu: ' "$work/out" || wrong "$name: the CPU is missing"
}

there "no loaders"
reasons 2
says '^reason opencl: no loader found (libOpenCL.so.1)'
says '^reason vulkan: there is no Vulkan loader (libvulkan.so.1)'
there "no loaders, again"
reasons 2
SET=ANYMAX_PROBE=off there "no loaders, no probe"
reasons 2
name="work without loaders"
inside /bin/child work >"$work/out" 2>&1 || wrong "$name: exit status $?"
says '^sum '
for backend in opencl vulkan gpu; do
    name="$backend without loaders"
    SET=ANYMAX_TEST_DEVICE=$backend inside /bin/child work >"$work/out" 2>&1
    [ $? -eq 77 ] || wrong "$name: not refused"
    says "no device fits \"$backend\".*no .*loader"
done
if [ "$COMMAND" != - ]; then
    name="the command without loaders"
    inside /bin/anymax devices >"$work/out" 2>&1 || wrong "$name: exit status $?"
    says '^cpu '
    says '^not usable: opencl: no loader found'
    says '^not usable: vulkan: there is no Vulkan loader'
    inside /bin/anymax run softmax --in 'x=[1, 1]' >"$work/out" 2>&1 || wrong "$name: run"
    says '0.5 0.5'
fi

# Something else in the place of both loaders.
mkdir -p "$root/lib"
for what in text nothing crash; do
    rm -rf "$root/tmp/.cache"
    for library in libOpenCL.so.1 libvulkan.so.1; do
        case $what in
            text) echo "no library" >"$root/lib/$library" ;;
            *) into "$FAKES/fake_loader_$what.so" "/lib/$library" ;;
        esac
    done
    there "loaders that are $what"
    reasons 2
    case $what in
        nothing)
            says '^reason opencl: the loader .*libOpenCL.so.1 lacks clGetPlatformIDs'
            says '^reason vulkan: the loader .*libvulkan.so.1 lacks vkGetInstanceProcAddr'
            ;;
        crash)
            says '^reason opencl: listing its devices crashes (SIGSEGV 11); .*set ANYMAX_SKIP=opencl'
            says '^reason vulkan: listing its devices crashes (SIGSEGV 11); .*set ANYMAX_SKIP=vulkan'
            SET=ANYMAX_SKIP=opencl,vulkan there "skipped, as advised"
            reasons 2
            silent crashes
            ;;
    esac
done
rm "$root/lib/libOpenCL.so.1" "$root/lib/libvulkan.so.1"

# The name that development packages have, alone.
real=$(ldconfig -p 2>/dev/null | sed -n 's/.*libOpenCL\.so\.1 .*=> //p' | head -n 1)
if [ -n "$real" ]; then
    into "$real" /lib/libOpenCL.so
    into "$FAKES/fake_opencl_sound.so" /fakes/sound.so
    mkdir -p "$root/etc/OpenCL/vendors"
    there "libOpenCL.so without .1, no driver folder"
    says '^reason opencl: '
    echo /fakes/sound.so >"$root/etc/OpenCL/vendors/sound.icd"
    there "libOpenCL.so without .1"
    says '^device opencl:0: fake accelerator'
    reasons 1
fi
finish
