# The end of tests/run.sh: sizes, times, what failed, 'N passed, N failed'.
# shellcheck shell=sh

# Test seconds an operation on each backend, in the suites that go through all of them, and what the whole
# would take with all operations of the design: as if each of them cost what these do on average, compiling
# included (what shares a program with another costs less), while the other suites stay as they are.
times_of_operations() {
    awk -v operations=313 '
    FNR == NR { wall[$1] = $2; busy[$1] = $3; next }
    $1 == "timing" {
        if (!($2 in seen)) { seen[$2] = 1; name[++names] = $2 }
        time[$2, $3] += $4
        sum[$3] += $4
        if (!(($2, $3) in had)) { had[$2, $3] = 1; number[$3]++ }
    }
    END {
        if (!names) exit
        split("cpu opencl vulkan", backend, " ")
        printf "%-34s%10s%10s%10s\n", "test seconds per operation", "cpu", "opencl", "vulkan"
        for (i = 1; i <= names; i++) {
            printf "  %-32s", name[i]
            for (b = 1; b <= 3; b++) printf "%10.2f", time[name[i], backend[b]]
            printf "\n"
        }
        printf "%-34s", "wall seconds"
        for (b = 1; b <= 3; b++) printf "%10.0f", wall[backend[b]]
        printf "\n%-34s", "wall seconds at " operations " operations"
        for (b = 1; b <= 3; b++) {
            k = backend[b]
            if (busy[k] > 0 && number[k] > 0) {
                fixed = busy[k] > sum[k] ? busy[k] - sum[k] : 0
                grown = fixed + sum[k] / number[k] * operations
                printf "%10.0f", grown * wall[k] / busy[k]
            } else printf "%10s", "-"
        }
        printf "\n%-34s", "of which does not grow"
        for (b = 1; b <= 3; b++) {
            k = backend[b]
            if (busy[k] > sum[k] && sum[k] > 0) printf "%10.0f", (busy[k] - sum[k]) * wall[k] / busy[k]
            else printf "%10s", "-"
        }
        printf "\n\n"
    }' "$work/walls" "$work/timings"
}

summary() {
    say "Summary"
    if [ -n "$built" ]; then
        for library in build/libanymax.so.*.*.* build/libanymax.a; do
            [ -f "$library" ] &&
                printf '%-21s %d KiB\n' "${library#build/}" $(($(wc -c <"$library") / 1024))
        done
        echo
    fi
    times_of_operations
    awk '{ printf "  %-14s %5d s\n", $1, $2 }' "$work/phases"
    echo "  in all         $(printf %5d $(($(seconds) - start))) s, of which the build took $build_seconds s"
    if [ -n "$broken" ]; then
        printf '\nFailed:%s\n' "$broken"
    fi
    printf '\n%d passed, %d failed\n' "$passed" "$failed"
}
