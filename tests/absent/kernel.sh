#!/bin/sh
# Compiles one OpenCL kernel for a GPU that is not here, and prints its line of the table:
#   kernel.sh amd|intel|nvidia TARGET FOLDER NUMBER KERNEL VARIANT
# FOLDER is what absent_opencl wrote. CLANG, BITCODE (libclc's, for amd and nvidia), OCLOC and PTXAS
# come from run.sh. A kernel that does not compile is a line on stderr, and status 1.
set -eu
way=$1
target=$2
source=$3/$4.cl
options=$(cat "$3/$4.options")
kernel=${5#am_}
kernel=${kernel%_group}
variant=$6
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
name=opencl-$way

fail() {
    echo "$name $target: $kernel $variant does not compile: $(head -n 3 "$out/log" | cut -c 1-300)" >&2
    exit 1
}

# Word splitting of $options is meant, here and below.
# clang_for TARGET CPU FORMAT: what drivers that are built on LLVM do.
clang_for() {
    # shellcheck disable=SC2086
    "$CLANG" -x cl $options -Xclang -finclude-default-header -target "$1" -mcpu="$2" -nogpulib -O3 -S \
        -Xclang -mlink-builtin-bitcode -Xclang "$BITCODE" -o "$out/asm" "$source" >"$out/log" 2>&1 || fail
}

case $way in
amd)
    clang_for amdgcn-amd-amdhsa "$target"
    # Registers that the kernel counts: its own, and those of what it calls.
    awk -v kernel="am_$kernel" -v head="$name $target $kernel $variant" '
        BEGIN { gsub(/ /, "\t", head) }
        $1 ~ "^" kernel "(_group)?:" { inside = 1 }
        inside && /^\t[a-z]/ { count++ }
        inside && /^\.Lfunc_end/ { inside = 0; after = 1 }
        after && /^; codeLenInByte/ { code = $4 }
        after && /^; NumVgprs:/ { vgpr = $3 }
        after && /^; NumSgprs:/ { sgpr = $3 }
        after && /^; ScratchSize:/ { scratch = $3 }
        after && /^; Occupancy:/ { waves = $3; after = 0 }
        $1 == ".group_segment_fixed_size:" { lds = $2 }
        $1 == ".vgpr_spill_count:" { vspill = $2 }
        $1 == ".sgpr_spill_count:" { sspill = $2 }
        $1 == ".wavefront_size:" { width = $2 }
        END {
            if (vgpr == "") exit 1
            printf "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", head, width, vgpr, sgpr, vspill,
                sspill, scratch, lds, waves, count, code
        }' "$out/asm"
    ;;
nvidia)
    clang_for nvptx64-nvidia-nvcl "$target"
    "$PTXAS" -v -arch="$target" -o "$out/bin" "$out/asm" >"$out/log" 2>&1 || fail
    awk -v head="$name $target $kernel $variant" '
        BEGIN { gsub(/ /, "\t", head) }
        { for (i = 2; i <= NF; i++) {
            if ($i == "registers,") registers = $(i - 1)
            if ($i == "stack") scratch = $(i - 2)
            if ($i == "spill" && $(i + 1) ~ /^stores/) spill = $(i - 2)
            if ($i ~ /^smem/) shared = $(i - 2)
        } }
        END {
            if (registers == "") exit 1
            printf "%s\t32\t%d\t-\t%d\t-\t%d\t%d\t-\t-\t-\n", head, registers, spill, scratch, shared
        }' "$out/log"
    ;;
intel)
    "$OCLOC" compile -file "$source" -device "$target" -options "$options" --format zebin -out_dir "$out" \
        >"$out/log" 2>&1 || fail
    bin=$(find "$out" -name '*.bin' | head -n 1)
    readelf -W -S "$bin" | sed -n 's/^ *\[ *[0-9]*\] \.text\.[^ ]* *PROGBITS *[0-9a-f]* *[0-9a-f]* *\([0-9a-f]*\).*/code \1/p' \
        >"$out/words"
    readelf -p .ze_info "$bin" | sed 's/\\n$//; s/^ *\[ *[0-9a-f]*\]//' >>"$out/words"
    code=$(sed -n 's/^code //p' "$out/words" | head -n 1)
    # Registers of 32 bytes; what a thread spills is in bytes too.
    awk -v head="$name $target $kernel $variant" -v code="$((0x${code:-0}))" '
        BEGIN { gsub(/ /, "\t", head) }
        $1 == "simd_size:" { width = $2 }
        $1 == "grf_count:" { registers = $2 }
        $1 == "slm_size:" { shared = $2 }
        $1 == "usage:" || ($1 == "-" && $2 == "usage:") { usage = $NF }
        /per_thread_memory_buffers/ { memory = 1 }
        memory && $1 == "size:" { if (usage ~ /spill/) spill += $2; else scratch += $2 }
        END {
            if (width == "") exit 1
            printf "%s\t%d\t%d\t-\t%d\t-\t%d\t%d\t-\t-\t%d\n", head, width, registers, spill, scratch,
                shared, code
        }' "$out/words"
    ;;
esac
