#!/usr/bin/env bash
# run.sh - compare with the original libraries, which a virtual environment in build/interop
# gets from PyPI. Each script prints "N passed, N failed" last; NAME.txt beside it lists what it
# needs.
set -u
cd "$(dirname "$0")/../.." || exit 2
python=${PYTHON:-python3}
venv=build/interop
status=0
[ -x $venv/bin/python ] || "$python" -m venv $venv || exit 2
for script in tests/interop/*.py; do
    $venv/bin/python -m pip install --quiet --disable-pip-version-check \
        -r "${script%.py}.txt" || exit 2
    echo "== $(basename "$script")"
    $venv/bin/python "$script" build/ckptdb || status=1
done
exit $status
