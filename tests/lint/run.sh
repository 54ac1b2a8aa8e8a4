#!/bin/sh
# Checks that kernels, shaders and scripts keep the project's rules (docs/kernels.md), after it has checked
# that the rules find what they are there to find: sh tests/lint/run.sh [BUILD]
# BUILD has the modules and the programs that the devices get; without one, files alone are looked at.
# Status 0 if there is no finding.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
status=0
python3 "$here/lint.py" cases "$here" || status=1
if [ $# -gt 0 ]; then
    python3 "$here/lint.py" repository --build "$1" || status=1
else
    python3 "$here/lint.py" repository || status=1
fi
cd "$here/../.."
scripts=0
for script in $(find . -name '*.sh' ! -path './build*' ! -path './.git/*' | sort) .ci/run; do
    # What is read by another is checked with it.
    if head -n 1 "$script" | grep -q '^#!'; then
        scripts=$((scripts + 1))
        shellcheck -a -x -S warning "$script" || status=1
    fi
done
echo "shellcheck: $scripts scripts"
exit "$status"
