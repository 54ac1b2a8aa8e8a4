#!/bin/sh
# What bench/compare_commits.sh says of two programs, and what it refuses: sh tests/compare_commits.sh ANYMAX
# Commits are not built here: the programs are the given one and some that only pretend to measure.
set -u
anymax=${1:?path of the command}
script=$(cd "$(dirname "$0")/../bench" && pwd)/compare_commits.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
ANYMAX_DEVICE=cpu
export ANYMAX_DEVICE

# says STATUS PATTERN ARGUMENT...: that status, and the pattern on stdout or stderr.
says() {
    wanted=$1
    pattern=$2
    shift 2
    rm -f "$work"/*.runs
    sh "$script" "$@" >"$work/out" 2>&1
    status=$?
    if [ "$status" -ne "$wanted" ] || ! grep -q -e "$pattern" "$work/out"; then
        failed=$((failed + 1))
        echo "FAILED: compare_commits.sh $*: status $status instead of $wanted, or no '$pattern'"
        sed 's/^/    /' "$work/out" | tail -n 8
    fi
}

# pretend NAME BASE OP: a program that needs BASE nanoseconds, and 1 % more in each further run.
pretend() {
    cat >"$work/$1" <<END
#!/bin/sh
[ "\$2" = --json ] || exit 1
n=\$(cat "$work/$1.runs" 2>/dev/null || echo 0)
echo \$((n + 1)) >"$work/$1.runs"
printf '{\n"op":\t"$3",\n"device":\t"cpu",\n"shape":\t"4x7",\n"dtype":\t"f32",\n' >"\$3"
printf '"direction":\t"forward",\n"median_ns":\t%d\n}\n' \$(($2 + n * $2 / 100)) >>"\$3"
END
    chmod +x "$work/$1"
}
pretend usual 1000 softmax
pretend quick 500 softmax
pretend near 1005 softmax
pretend other 1000 entmax15
printf '#!/bin/sh\necho broken >&2\nexit 1\n' >"$work/broken"
chmod +x "$work/broken"

says 0 '1 faster, 0 slower' --rounds 3 "$work/usual" "$work/quick"
says 1 'SLOWER' --rounds 3 "$work/quick" "$work/usual"
says 0 '0 faster, 0 slower' --rounds 3 "$work/usual" "$work/near"
says 1 'gone' --rounds 1 "$work/usual" "$work/other"
says 0 'softmax forward 4x7 f32 cpu' --rounds 1 "$anymax" "$anymax" softmax --shape 4x7 --seconds 0.001
says 2 'broken fails in round 1' "$work/usual" "$work/broken"
says 2 'fails in round 1' "$anymax" "$anymax" nonsense
says 2 'neither a commit' nonsense HEAD
says 2 'two commits' HEAD
says 2 'number from 1' --rounds 0 HEAD HEAD
says 2 'no option --shape' --shape 4x7 HEAD HEAD
says 2 'leave it out' "$anymax" "$anymax" --json x
says 0 'side by side' --help

echo "compare_commits.sh: $failed failed"
[ "$failed" -eq 0 ]
