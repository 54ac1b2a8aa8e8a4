#!/bin/sh
# The symbols of both libraries: the shared one exports anymax_ names and nothing else, the static one
# has no global name outside anymax_ and am_, and neither has a constructor or destructor of ours.
# Usage: symbols.sh SHARED STATIC HEADERS_DIR
set -eu
shared=$1 static=$2 headers=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
fail() {
    echo "FAIL: $1"
    status=1
}

nm -D --defined-only "$shared" | awk '{print $NF}' | sed 's/@.*//' | sort >"$work/exported"
# Sanitizers export names of their own.
if grep -v -E '^(anymax_|__asan|__odr|__ubsan|__tsan|___asan)' "$work/exported"; then
    fail "the shared library exports the names above"
fi
# What is declared is exported and the other way round.
cat "$headers"/*.h | grep -v '^#' | tr '\n' ' ' | grep -o 'ANYMAX_API [^;(]*(' |
    sed 's/($//; s/.*[ *]\(anymax_[a-z0-9_]*\)$/\1/' | sort -u >"$work/declared"
grep '^anymax_' "$work/exported" >"$work/ours"
if ! diff "$work/declared" "$work/ours"; then
    fail "headers (<) and exports (>) differ"
fi

nm -g --defined-only "$static" | awk 'NF == 3 {print $3}' | sort -u >"$work/global"
if grep -v -E '^(anymax_|am_|__asan|__odr|__ubsan|__tsan|___asan)' "$work/global"; then
    fail "the static library has the global names above"
fi

# The compiler's own start files leave one entry each (frame_dummy, __do_global_dtors_aux); an object
# of ours with a constructor would have such a section itself.
if command -v objdump >/dev/null 2>&1; then
    objdump -h "$static" 2>/dev/null >"$work/sections"
    if ! grep -q asan "$work/exported" && grep -E '\.(init_array|fini_array|ctors|dtors)' "$work/sections"; then
        fail "an object has a constructor or a destructor"
    fi
fi
[ "$status" -eq 0 ] && echo "ok: $(wc -l <"$work/ours") exported functions"
exit "$status"
