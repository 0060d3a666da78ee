#!/usr/bin/env bash
# plain_sqlite.sh [OPTION...] CATALOG STATEMENT... - the answer of another SQLite program that has loaded
# our extension. A sanitizer's build needs the sanitizer's runtime loaded first.
build=$(dirname "$(realpath "$CKPTDB_BIN")")
case $build in
*/asan) runtime=libasan.so ;;
*/tsan) runtime=libtsan.so ;;
*) runtime= ;;
esac
[ -z "$runtime" ] || LD_PRELOAD=$(cc -print-file-name=$runtime)
[ -z "$runtime" ] || export LD_PRELOAD ASAN_OPTIONS=detect_leaks=0
options=()
while [[ ${1-} == -* ]]; do
    options+=("$1")
    shift
done
catalog=$1
shift
exec sqlite3 "${options[@]}" "$catalog" ".load $build/ckptdb" "$@"
