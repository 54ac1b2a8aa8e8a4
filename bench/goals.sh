#!/bin/sh
# Measures what bench/goals.txt aims at and tells what is reached:
#   sh bench/goals.sh ANYMAX [PATTERN]
#   sh bench/goals.sh build/bench/anymax 'softmax .* cpu'
# PATTERN (grep -E) picks lines of the file. $RUN, if set, is put before each program: a command that keeps
# the machine quiet meanwhile, say; $SECONDS_EACH is --seconds, default 0.3. Drivers that run on the
# processor get as many threads as the line says. Status 1 if something is not reached or cannot be measured.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 1 ]; then
    sed -n '2,7s/^# \{0,1\}//p' "$0"
    exit 2
fi
anymax=$1
pattern=${2:-.}
if [ ! -x "$anymax" ]; then
    echo "goals.sh: there is no program $anymax" >&2
    exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# bench THREADS KEY OPTION...: the values of KEY in the JSON of a run, a line each
bench() {
    threads=$1
    key=$2
    shift 2
    # A command and its arguments.
    # shellcheck disable=SC2086
    POCL_MAX_PTHREAD_COUNT=$threads LP_NUM_THREADS=$threads ${RUN:-} "$anymax" bench --threads "$threads" \
        --seconds "${SECONDS_EACH:-0.3}" --json "$work/result.json" "$@" >/dev/null 2>"$work/err" </dev/null ||
        { sed 's/^/    /' "$work/err" >&2; return 0; }
    sed -n "s/.*\"$key\":[^0-9n]*\([0-9.e+-]*\).*/\1/p" "$work/result.json"
}

# value OP WAY SHAPE TYPE DEVICE THREADS MEASURE: a number, or nothing
value() {
    op=$1
    way=$2
    shape=$3
    type=$4
    device=$5
    threads=$6
    measure=$7
    set -- "$op" --direction "$way" --shape "$shape" --device "$device"
    case $measure in
    share) bench "$threads" share "$@" --dtype "$type" ;;
    f32)
        bench "$threads" elements_per_second "$@" --dtype f32 --dtype "$type" |
            awk '{ v[NR] = $1 } END { if (NR == 2) print v[2] / v[1] }'
        ;;
    1)
        {
            bench 1 quartile_ns "$@" --dtype "$type"
            bench "$threads" quartile_ns "$@" --dtype "$type"
        } | awk '{ v[NR] = $1 } END { if (NR == 2) print v[1] / v[2] }'
        ;;
    esac
}

grep -v '^#' "$here/goals.txt" | grep -E -e "$pattern" >"$work/goals" || {
    echo "goals.sh: no line of goals.txt has '$pattern'" >&2
    exit 2
}
printf '%-15s%-10s%-13s%-6s%-8s%8s  %-8s%6s%8s\n' operation direction shape type device threads of aim got
while read -r op way shape type device threads measure aim; do
    got=$(value "$op" "$way" "$shape" "$type" "$device" "$threads" "$measure")
    printf '%-15s%-10s%-13s%-6s%-8s%8s  %-8s%6s%8s' "$op" "$way" "$shape" "$type" "$device" "$threads" \
        "$measure" "$aim" "$(echo "${got:--}" | awk '{ print $1 == "-" ? $1 : sprintf("%.2f", $1) }')"
    if awk -v a="${got:-0}" -v b="$aim" 'BEGIN { exit !(a >= b) }'; then
        echo
    else
        echo '  not reached'
        echo "$op" >>"$work/missed"
    fi
done <"$work/goals"
[ ! -f "$work/missed" ]
