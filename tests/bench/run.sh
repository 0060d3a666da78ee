#!/usr/bin/env bash
# run.sh [OPTIONS of bench.py] - all benchmarks against build/ckptdb.
set -eu
cd "$(dirname "$0")/../.."
exec python3 tests/bench/bench.py build/ckptdb "$@"
