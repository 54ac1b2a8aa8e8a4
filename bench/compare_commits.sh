#!/bin/sh
# Benches two commits side by side and prints how they differ:
#   sh bench/compare_commits.sh [--rounds N] [--builds FOLDER] OLD NEW [OPTION OF anymax bench]...
#   sh bench/compare_commits.sh HEAD~1 HEAD softmax --threads 1 --shape 4096x4096
#
# OLD and NEW are commits, or programs `anymax` that are built already. Each commit is built in a folder
# of its own, which is removed at the end unless --builds names a place where to keep builds and to look
# for them. The two programs then run in turn, N times (default 5), the first one changing from round to
# round, as what a machine is able to do changes by the minute. A case is called faster or slower if
# all N times of one commit lie on the same side of all N of the other, by 2 % or more.
# Status 1 if a case is slower, or not there any more; 2 if there is nothing to compare.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=bench/setup.sh
. "$root/bench/setup.sh"

usage() {
    sed -n '2,12s/^# \{0,1\}//p' "$root/bench/compare_commits.sh"
}
give_up() {
    echo "compare_commits.sh: $*" >&2
    exit 2
}

rounds=5
builds=$work/builds
while [ $# -gt 0 ]; do
    case $1 in
    --help | -h)
        usage
        exit 0
        ;;
    --rounds | --builds)
        [ $# -gt 1 ] || give_up "$1 wants a value"
        if [ "$1" = --rounds ]; then rounds=$2; else builds=$2; fi
        shift 2
        ;;
    -*) give_up "there is no option $1 before OLD and NEW (--help tells more)" ;;
    *) break ;;
    esac
done
case $rounds in
'' | *[!0-9]* | 0*) give_up "--rounds is a number from 1 on, not '$rounds'" ;;
esac
[ $# -ge 2 ] || give_up "two commits are needed: OLD NEW (--help tells more)"
old=$1
new=$2
shift 2
for option in "$@"; do
    case $option in
    --json* | -j*) give_up "--json is what this script reads: leave it out" ;;
    esac
done

# program_of NAME: builds the commit if NAME is no program, and sets $program.
program_of() {
    if [ -f "$1" ] && [ -x "$1" ]; then
        program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
        return 0
    fi
    commit=$(git -C "$root" rev-parse --verify --quiet "$1^{commit}" 2>/dev/null) ||
        give_up "'$1' is neither a commit of $root nor a program"
    place=$builds/$commit
    program=$place/build/bench/anymax
    if [ ! -x "$program" ]; then
        say "Building $1 ($(git -C "$root" log -1 --format='%h %s' "$commit" | cut -c 1-70))"
        rm -rf "$place"
        mkdir -p "$place/source"
        git -C "$root" archive "$commit" | tar -x -C "$place/source"
        # shellcheck disable=SC2034
        build_targets='anymax_command anymax_probe'
        (cd "$place/source" && build "$place/build" -DCMAKE_BUILD_TYPE=Release -DANYMAX_TESTS=OFF \
            -DANYMAX_BENCH=ON) || give_up "'$1' cannot be built"
        [ -x "$program" ] || give_up "'$1' was built without the command: libpopt and libcjson are needed"
    fi
}
mkdir -p "$builds"
builds=$(cd "$builds" && pwd)
program_of "$old"
old_program=$program
program_of "$new"
new_program=$program

run_one() { # run_one SIDE PROGRAM OPTION...: adds a line for each case
    side=$1
    tried=$2
    shift 2
    if ! "$tried" bench --json "$work/result.json" "$@" >"$work/out" 2>"$work/err"; then
        tail -n 5 "$work/err" >&2
        give_up "$tried fails in round $round"
    fi
    awk -v side="$side" '
        function value(line) { sub(/^[^:]*:[ \t]*/, "", line); gsub(/[",]/, "", line); return line }
        /"op":/ { name = value($0) }
        /"device":/ { device = value($0) }
        /"shape":/ { shape = value($0) }
        /"dtype":/ { type = value($0) }
        /"direction":/ { way = value($0) }
        /"median_ns":/ { print side "\t" name " " way " " shape " " type " " device "\t" value($0) }
    ' "$work/result.json" >>"$work/times"
}

: >"$work/times"
round=1
while [ "$round" -le "$rounds" ]; do
    printf 'round %d of %d\n' "$round" "$rounds" >&2
    if [ $((round % 2)) -eq 1 ]; then
        run_one old "$old_program" "$@"
        run_one new "$new_program" "$@"
    else
        run_one new "$new_program" "$@"
        run_one old "$old_program" "$@"
    fi
    round=$((round + 1))
done

printf 'old: %s   new: %s   %d rounds\n' "$old" "$new" "$rounds"
awk -F '\t' -f "$root/bench/compare_commits.awk" "$work/times"
