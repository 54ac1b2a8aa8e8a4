#!/bin/sh
# Exercises every verb of the command, and files and arguments that it must refuse:
# sh tests/command.sh PATH_OF_ANYMAX
# Prints what failed; status 0 if nothing did.
set -u
anymax=${1:?path of the command}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
checks=0
ANYMAX_DEVICE=cpu
ANYMAX_CACHE=off
export ANYMAX_DEVICE ANYMAX_CACHE

complain() {
    failed=$((failed + 1))
    echo "FAILED: $*"
    sed 's/^/    stdout: /' "$work/out" | head -5
    sed 's/^/    stderr: /' "$work/err" | head -5
}

# accepts PATTERN ARGUMENT...: status 0, the pattern on stdout, nothing on stderr.
accepts() {
    pattern=$1
    shift
    checks=$((checks + 1))
    "$anymax" "$@" >"$work/out" 2>"$work/err"
    status=$?
    if [ $status -ne 0 ]; then
        complain "anymax $*: status $status"
    elif ! grep -q -e "$pattern" "$work/out"; then
        complain "anymax $*: no '$pattern' on stdout"
    elif [ -s "$work/err" ]; then
        complain "anymax $*: something on stderr"
    fi
}

# quiet ARGUMENT...: status 0, no output at all.
quiet() {
    checks=$((checks + 1))
    "$anymax" "$@" >"$work/out" 2>"$work/err"
    status=$?
    if [ $status -ne 0 ] || [ -s "$work/out" ] || [ -s "$work/err" ]; then
        complain "anymax $*: status $status, or some output"
    fi
}

# refuses STATUS PATTERN ARGUMENT...: that status, one sentence on stderr, nothing on stdout.
refuses() {
    wanted=$1
    pattern=$2
    shift 2
    checks=$((checks + 1))
    "$anymax" "$@" >"$work/out" 2>"$work/err"
    status=$?
    if [ $status -ne "$wanted" ]; then
        complain "anymax $*: status $status instead of $wanted"
    elif ! grep -q -e "^anymax: .*$pattern" "$work/err"; then
        complain "anymax $*: no '$pattern' on stderr"
    elif [ "$(grep -c '^anymax: ' "$work/err")" -ne 1 ]; then
        complain "anymax $*: more than one sentence"
    elif [ -s "$work/out" ]; then
        complain "anymax $*: something on stdout"
    fi
}

# npy FILE HEADER DATA: version 1, the header's length right; DATA is a format of printf.
npy() {
    length=$(printf '%s' "$2" | wc -c)
    {
        printf '\223NUMPY\001\000'
        printf "\\$(printf '%03o' $((length % 256)))\\$(printf '%03o' $((length / 256)))"
        printf '%s' "$2"
        # shellcheck disable=SC2059
        printf "$3"
    } >"$work/$1"
}

# tensors FILE HEADER DATA: likewise for .safetensors.
tensors() {
    length=$(printf '%s' "$2" | wc -c)
    {
        printf "\\$(printf '%03o' $((length % 256)))\\$(printf '%03o' $((length / 256)))"
        printf '\000\000\000\000\000\000%s' "$2"
        # shellcheck disable=SC2059
        printf "$3"
    } >"$work/$1"
}

same() {
    checks=$((checks + 1))
    cmp -s "$1" "$2" || complain "$1 and $2 differ"
}

# ---------------------------------------------------------------- help, lists

accepts 'Usage: anymax' --help
accepts '^anymax [0-9]' --version
for verb in devices ops run verify bench digits; do
    accepts "Usage: anymax $verb" "$verb" --help
    accepts 'Common options' "$verb" -h
done
refuses 2 "no verb 'nonsense'" nonsense
refuses 2 'unknown option' devices --nonsense
refuses 2 'not expected' devices cpu
accepts '^cpu ' devices
accepts '"selector"' devices --json
accepts '^softmax ' ops
accepts 'grad\|has a gradient' ops softmax
accepts '"gradients"' ops --json
accepts '"name":[[:space:]]*"entmax"' ops entmax --json
refuses 1 "no operation 'softmx'" ops softmx
refuses 2 'one operation at most' ops softmax entmax
if command -v python3 >/dev/null 2>&1; then
    for verb in devices ops; do
        "$anymax" "$verb" --json >"$work/out" 2>"$work/err"
        checks=$((checks + 1))
        python3 -m json.tool "$work/out" >/dev/null || complain "anymax $verb --json is no JSON"
    done
fi

# ---------------------------------------------------------------- run

accepts '^  0.5 0.5$' run softmax --in 'x=[[1, 1], [3, 3]]'
accepts '^  1 0$' run softmax --in 'x=[0, "-inf"]'
accepts '^  nan nan$' run softmax --in 'x=[0, "nan"]'
accepts '^y f16 (2,)$' run softmax --in 'x=[1, 1]' --dtype f16
accepts '^  0.25 0.75' run logit_adjusted_softmax --in 'x=[0, 0]' --in 'prior=[0.75, 0.25]'
accepts '^  0.5 0.5$' run softmax --in 'x=[7, 9]' --set scale=0
accepts '^  0.5 0.5$' run softmax --axis 0 --in 'x=[[1, 2], [1, 2]]'
accepts '^  0.5 0.5$' run softmax --axis -2 --in 'x=[[1, 2], [1, 2]]'
accepts '^  0.69314' run cross_entropy --in 'x=[[0, 0]]' --in 'target=[1]'
accepts '^loss f32 (1,)$' run cross_entropy --in 'x=[[0, 0]]' --in 'target=[1]' --set reduction=mean
accepts '^  -0.25 0.25$' run softmax --grad --in 'x=[[0, 0]]' --in 'up.y=[[0, 1]]'

# files: what is written is read again, in both formats and all float types
quiet run softmax --in 'x=[[1, 2, 3], [4, 5, 6]]' --out "y=$work/y.npy"
quiet run softmax --in "x=$work/y.npy" --out "y=$work/a.npy"
quiet run softmax --in "x=$work/y.npy" --out "y=$work/all.safetensors:a"
quiet run log_softmax --in "x=$work/y.npy" --out "y=$work/all.safetensors:b" --dtype bf16
quiet run log_softmax --in "x=$work/y.npy" --out "y=$work/all.safetensors:b" --dtype f16
accepts '^y f32 (2, 3)$' run softmax --in "x=$work/all.safetensors:a"
accepts '^y f32 (2, 3)$' run softmax --in "x=$work/all.safetensors:b"
quiet run softmax --in 'x=[[1, 2, 3], [4, 5, 6]]' --out "y=$work/again.npy"
same "$work/y.npy" "$work/again.npy"
quiet run cross_entropy --in 'x=[[0, 0]]' --in 'target=[1]' --out "lse=$work/lse.npy" \
    --out "loss=$work/loss.npy"
quiet run softmax --grad --in 'x=[[0, 1]]' --in 'up.y=[[0, 1]]' --out "grad.x=$work/g.npy"

# NumPy's ways to write the same numbers
npy c.npy "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }" \
    '\000\000\200\077\000\000\000\100\000\000\100\100\000\000\200\100'
npy fortran.npy "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }" \
    '\000\000\200\077\000\000\100\100\000\000\000\100\000\000\200\100'
npy big.npy "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 2), }" \
    '\077\200\000\000\100\000\000\000\100\100\000\000\100\200\000\000'
npy i8.npy '{"shape":(2L,2L),"fortran_order":False,"descr":"|i1"}' '\001\002\003\004'
npy i2.npy "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 2), }" \
    '\001\000\002\000\003\000\004\000'
for kind in c fortran big i8 i2; do
    quiet run softmax --in "x=$work/$kind.npy" --out "y=$work/of_$kind.npy"
    same "$work/of_c.npy" "$work/of_$kind.npy"
done
npy f8.npy "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }" \
    '\000\000\000\000\000\000\360\077\000\000\000\000\000\000\360\077'
accepts '^  0.5 0.5$' run softmax --in "x=$work/f8.npy"
npy none.npy "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }" ''
accepts '^y f32 (0, 3)$' run softmax --in "x=$work/none.npy"

# ---------------------------------------------------------------- arguments that are refused

refuses 2 'operation is missing' run
refuses 1 "no operation 'nonsense'" run nonsense
refuses 2 'needs --in x' run softmax
refuses 2 'takes NAME=FILE' run softmax --in x
refuses 2 'takes NAME=FILE' run softmax --in 'x=[1]' --out y
refuses 2 'given twice' run softmax --in 'x=[1]' --in 'x=[1]'
refuses 2 'given twice' run softmax --in 'x=[1]' --out "y=$work/1.npy" --out "y=$work/2.npy"
refuses 1 "no input 'z'" run softmax --in 'x=[1]' --in 'z=[1]'
refuses 1 "no output 'z'" run softmax --in 'x=[1]' --out "z=$work/z.npy"
refuses 1 'add --grad' run softmax --in 'x=[1]' --in 'up.y=[1]'
refuses 1 'add --grad' run softmax --in 'x=[1]' --out "grad.x=$work/z.npy"
refuses 2 'upstream gradient' run softmax --grad --in 'x=[1]'
refuses 1 'no gradient' run softmax --grad --in 'x=[1]' --in 'up.y=[1]' --out "y=$work/z.npy"
refuses 2 'neither FILE.npy nor' run softmax --in 'x=[1]' --out "y=$work/y.txt"
refuses 2 'no parameter of softmax' run softmax --in 'x=[1]' --set nonsense=1
refuses 2 'type float' run softmax --in 'x=[1]' --set scale=fast
refuses 2 'given twice' run softmax --in 'x=[1]' --set scale=1 --set scale=2
refuses 2 'type int' run softmax --in 'x=[1]' --axis last
refuses 1 'axis' run softmax --in 'x=[1]' --axis 7
refuses 2 'f32, f16 or bf16' run softmax --in 'x=[1]' --dtype f64
refuses 1 'device nonsense' run softmax --in 'x=[1]' --device nonsense
refuses 1 'cannot be opened' run softmax --in "x=$work/absent.npy"
refuses 1 'ordinary file\|cannot be read\|too short' run softmax --in "x=$work"
refuses 1 'cannot be written' run softmax --in 'x=[1]' --out "y=$work/absent/y.npy"
refuses 1 'not a list of numbers' run softmax --in 'x=[[1, 2], [3]]'
refuses 1 'not a list of numbers' run softmax --in 'x=[1, 2'
refuses 1 'indices' run cross_entropy --in 'x=[[0, 0]]' --in 'target=[0.5]'
refuses 1 . run cross_entropy --in 'x=[[0, 0]]' --in 'target=[5]'
refuses 1 . run gumbel_softmax --in 'x=[0, 0]' --in 'noise=[0, 0, 0]'

# ---------------------------------------------------------------- malformed .npy

bad_npy() { # PATTERN HEADER DATA
    npy bad.npy "$2" "$3"
    refuses 1 "$1" run softmax --in "x=$work/bad.npy"
}
four='\000\000\000\000'
bad_npy 'bytes of elements' "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }" "$four"
bad_npy 'bytes of elements' "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }" "$four$four"
bad_npy 'bytes of elements' "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }" "$four"
bad_npy 'address space' \
    "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4), }" "$four"
bad_npy 'address space' \
    "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296, 4), }" ''
bad_npy 'too long' "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }" "$four"
bad_npy 'tuple of sizes' "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }" "$four"
bad_npy 'tuple of sizes' "{'descr': '<f4', 'fortran_order': False, 'shape': 1, }" "$four"
bad_npy 'tuple of sizes' "{'descr': '<f4', 'fortran_order': False, 'shape': (1" "$four"
bad_npy 'more than 6 axes' "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1), }" "$four"
bad_npy "type '<c8'" "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }" "$four$four"
bad_npy "type '|O'" "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }" "$four"
bad_npy "type '?\\[31m?'" "{'descr': '$(printf '\033[31m\007')', 'fortran_order': False, 'shape': (1,), }" "$four"
bad_npy 'records' "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }" "$four"
bad_npy 'neither True nor False' "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }" "$four"
bad_npy 'lacks' "{'descr': '<f4', 'shape': (1,), }" "$four"
bad_npy 'repeated key' "{'descr': '<f4', 'descr': '<f4', 'shape': (1,), }" "$four"
bad_npy 'unknown or repeated' "{'nonsense': 1}" "$four"
bad_npy 'not a dictionary' "nonsense" "$four"
bad_npy 'not a dictionary' "" "$four"
bad_npy 'text behind' "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } 7" "$four"
bad_npy 'not a type' "{'descr': '<f4" "$four"
printf 'nonsense, but long enough' >"$work/bad.npy"
refuses 1 'not a .npy file' run softmax --in "x=$work/bad.npy"
printf '\223NUMPY\001\000' >"$work/bad.npy"
refuses 1 'too short' run softmax --in "x=$work/bad.npy"
printf '\223NUMPY\001\000\377\377{}' >"$work/bad.npy"
refuses 1 'inside its header' run softmax --in "x=$work/bad.npy"
printf '\223NUMPY\002\000\377\377\377\377{}' >"$work/bad.npy"
refuses 1 'too long' run softmax --in "x=$work/bad.npy"
printf '\223NUMPY\011\000\001\000{}' >"$work/bad.npy"
refuses 1 'version 9' run softmax --in "x=$work/bad.npy"
: >"$work/bad.npy"
refuses 1 'too short' run softmax --in "x=$work/bad.npy"

# ---------------------------------------------------------------- malformed .safetensors

bad_tensors() { # PATTERN HEADER DATA
    tensors bad.safetensors "$2" "$3"
    refuses 1 "$1" run softmax --in "x=$work/bad.safetensors:a"
}
refuses 1 'name of a tensor' run softmax --in "x=$work/all.safetensors"
refuses 1 "no tensor 'absent'" run softmax --in "x=$work/all.safetensors:absent"
bad_tensors 'at bytes 0 to 8 of 4' '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}' "$four"
bad_tensors 'at bytes 4 to 0' '{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}' "$four"
bad_tensors 'asks for 8' '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}' "$four"
bad_tensors 'too large' '{"a":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,4]}}' "$four"
bad_tensors 'list of sizes' '{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}' "$four"
bad_tensors 'list of sizes' '{"a":{"dtype":"F32","shape":[1e300],"data_offsets":[0,4]}}' "$four"
bad_tensors 'without a shape' '{"a":{"dtype":"F32","data_offsets":[0,4]}}' "$four"
bad_tensors 'without a dtype' '{"a":{"shape":[1],"data_offsets":[0,4]}}' "$four"
bad_tensors 'without a dtype' '{"a":7}' "$four"
bad_tensors 'without data_offsets' '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}}' "$four"
bad_tensors 'type F8_E4M3' '{"a":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}}' "$four"
bad_tensors '7 axes' '{"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1],"data_offsets":[0,4]}}' "$four"
bad_tensors 'gap or an overlap' \
    '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}}' \
    "$four$four"
bad_tensors 'belong to no tensor' '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}' "$four$four"
bad_tensors 'twice' \
    '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}' \
    "$four$four"
bad_tensors 'not a JSON object' '[]' ''
bad_tensors 'not a JSON object' '{"a"' ''
bad_tensors 'metadata' '{"__metadata__":{"a":1}}' ''
printf '\377\377\377\377\377\377\377\377{}' >"$work/bad.safetensors"
refuses 1 'ends inside its header' run softmax --in "x=$work/bad.safetensors:a"
printf '{}' >"$work/bad.safetensors"
refuses 1 'too short' run softmax --in "x=$work/bad.safetensors:a"
refuses 1 'too short' run softmax --in 'x=[1]' --out "y=$work/bad.safetensors:a"
refuses 1 '__metadata__' run softmax --in 'x=[1]' --out "y=$work/all.safetensors:__metadata__"

# ---------------------------------------------------------------- verify, bench, digits

accepts 'all agree' verify softmax --device cpu
refuses 1 'device nonsense' verify --device nonsense
refuses 1 "no operation 'nonsense'" verify nonsense
refuses 1 "no operation 'nonsense'" verify softmax nonsense --device cpu
refuses 1 "no operation 'nonsense'" verify "$work/nonsense.safetensors" --device cpu
refuses 1 "no operation ''" verify "$work/.safetensors" --device cpu
refuses 1 'softmax.safetensors cannot be opened' verify "$work/softmax.safetensors" --device cpu
accepts '^softmax .*forward .*4x7' bench softmax --seconds 0.001 --shape 4x7
accepts '"share"' bench softmax --seconds 0.001 --shape 4x7 --json - --threads 1
accepts '^entmax .*backward' bench entmax --seconds 0.001 --shape 3x4x5 --dtype bf16 --direction backward \
    --json "$work/bench.json"
checks=$((checks + 1))
grep -q '"median_ns"' "$work/bench.json" || complain "bench --json wrote no cases"
accepts '^cross_entropy .*both .* copy ' bench cross_entropy --seconds 0.001 --shape 4x7 --direction both
accepts '^cross_entropy .*forward .* read ' bench cross_entropy --seconds 0.001 --shape 4x64 --threads 2 \
    --direction forward
accepts '^cpu .* [0-9.]* us' bench --latency --seconds 0.001
accepts '"call_ns"' bench --latency --seconds 0.001 --json -
accepts '^cpu, 2 threads, longer row .*slope' bench --scaling softmax --seconds 0.0001 --most 300000 --svg "$work/s.svg"
checks=$((checks + 1))
[ "$(grep -c '<polyline' "$work/s.svg")" -eq 6 ] && tail -n 1 "$work/s.svg" | grep -q '^</svg>$' ||
    complain "bench --scaling drew no six lines"
checks=$((checks + 1))
sh "$(dirname "$0")/../bench/first_result.sh" "$anymax" cpu >"$work/out" 2>"$work/err" &&
    grep -q '^cpu *[0-9][0-9.]*  *[0-9][0-9.]*$' "$work/out" || complain "first_result.sh gives no two times"
checks=$((checks + 1)) # reached or not is a matter of the machine
SECONDS_EACH=0.001 sh "$(dirname "$0")/../bench/goals.sh" "$anymax" '^softmax forward 65536x64 f32 cpu 1' >"$work/out" 2>"$work/err"
grep -q '^softmax .* 0.40  *[0-9]*\.[0-9]' "$work/out" || complain "goals.sh measures no speed"
refuses 2 'do not go together' bench --latency --scaling
refuses 2 'of their own' bench --latency --shape 4x7
refuses 2 'end of --scaling' bench softmax --most 1000
refuses 2 'number from 1000' bench --scaling --most 10
refuses 2 'picture of --scaling' bench softmax --svg "$work/s.svg"
refuses 2 'takes no operation' bench --latency softmax
refuses 1 'cannot be written' bench --scaling logsumexp --threads 1 --seconds 0.0001 \
    --svg "$work/absent/s.svg"
refuses 2 'sizes with an x' bench softmax --shape 4by7
refuses 2 'sizes with an x' bench softmax --shape 0x7
refuses 2 'number from 1' bench softmax --threads many
refuses 2 'forward, backward or both' bench softmax --direction up
refuses 2 'number above 0' bench softmax --seconds -1
refuses 1 "no operation 'nonsense'" bench nonsense
accepts 'agrees with double precision' digits --device cpu
refuses 1 'device nonsense' digits --device nonsense
ANYMAX_DATA=$work
export ANYMAX_DATA
refuses 1 'there is no digits' digits --device cpu

# Golden files from elsewhere, right and wrong: CASE/in.x, CASE/out.y in f64.
golden='{"__metadata__":{"c":"{}"},"c/in.x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"c/out.y":{"dtype":"F64","shape":[2],"data_offsets":[8,24]}}'
half='\000\000\000\000\000\000\340\077'
tensors softmax.safetensors "$golden" "$four$four$half$half"
accepts 'all agree' verify "$work/softmax.safetensors" --device cpu
tensors softmax.safetensors "$golden" "$four$four$half$four$four"
checks=$((checks + 1))
"$anymax" verify "$work/softmax.safetensors" --device cpu >"$work/out" 2>"$work/err" &&
    complain "verify passes a wrong result"
grep -q 'FAILED' "$work/out" || complain "verify does not name what failed"

echo "$checks checks of the command, $failed failed"
[ "$failed" -eq 0 ]
