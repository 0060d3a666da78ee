#!/usr/bin/env bash
# run.sh [SCRIPT]... - compare with the original libraries, which a virtual environment in
# build/interop gets from PyPI (requirements.txt). CKPTDB_SEED chooses the values of all scripts; without it
# they are others every time. The last line is "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 2
venv=build/interop
[ $# != 0 ] || set -- tests/interop/*.py
[ -x $venv/bin/python ] || "${PYTHON:-python3}" -m venv $venv || exit 2
$venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input \
    -r tests/interop/requirements.txt || exit 2
# Spark runs on Java, which PyPI has not; spark_tables.py says that it is skipped where there is none.
if ! command -v java >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get install -y -qq openjdk-17-jre-headless >/dev/null || echo 'apt-get cannot install openjdk-17-jre-headless'
fi
# hosts.py tries Node's, too, where there is a Node; npm builds it, with the headers beside Node.
if command -v npm >/dev/null && [ ! -d $venv/node ]; then
    mkdir -p $venv/node
    (cd $venv/node && npm_config_nodedir=/usr npm install --silent --no-audit --no-fund better-sqlite3@11.10.0) >/dev/null ||
        echo 'npm cannot install better-sqlite3'
fi
export CKPTDB_SEED=${CKPTDB_SEED:-$((RANDOM << 15 | RANDOM))}
echo "seed $CKPTDB_SEED"
passed=0 failed=0
for script in "$@"; do
    echo "== $(basename "$script")"
    SECONDS=0
    out=$($venv/bin/python "$script" build/ckptdb)
    echo "$out"
    if [[ $(tail -n 1 <<<"$out") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    else
        failed=$((failed + 1))
    fi
    echo "-- $SECONDS s"
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
