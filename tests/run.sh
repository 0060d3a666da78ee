#!/usr/bin/env bash
# run.sh [NAME]... - the golden tests: what a script prints is compared with the .out beside it.
#
#   sql/NAME.sql  run by `ckptdb -d FRESH -f NAME.sql`, from this folder
#   cli/NAME.sh   run by bash in a fresh, empty folder, with the functions of cli/case.bash; $CKPTDB_BIN
#                 is the program, $TESTS this folder, $CKPTDB a catalog that does not exist yet, $SLOW what
#                 a limit of CPU time is multiplied with (a sanitizer's program is slower)
#
# stdout and stderr go to one file; an exit status other than 0 is its last line. This folder is
# written TESTS, the fresh one WORK, a time DATE, how long an export took TIME. UPDATE=1 rewrites the .out files. A case that has nothing to
# run with prints "SKIP: why" and exits with status 77.
set -u
TESTS=$(cd "$(dirname "$0")" && pwd)
: "${CKPTDB_BIN:=$TESTS/../build/ckptdb}"
export TESTS CKPTDB_BIN
unset XDG_DATA_HOME XDG_STATE_HOME NO_COLOR CLICOLOR_FORCE
export LC_ALL=C.UTF-8 TERM=dumb TZ=UTC COLUMNS=80
export PYTHONPATH=$TESTS/fixtures PYTHONDONTWRITEBYTECODE=1 # what writes files of a format, for their Python
top=$(mktemp -d) || exit 2
trap 'rm -rf "$top"' EXIT

SLOW=1
grep -q __asan_init "$CKPTDB_BIN" && SLOW=10
grep -q __tsan_init "$CKPTDB_BIN" && SLOW=40
export SLOW
patience=$((600 + 60 * SLOW)) # seconds: it ends what hangs; under a sanitizer, on a busy machine, some take over 120

run_case() { # FILE: prints "ok", "skip: why" or the difference
    local file=$1 name work rc
    name=$(basename "${file%.*}")
    work=$top/$(basename "$(dirname "$file")").$name
    mkdir -p "$work/dir" "$work/home"
    export HOME=$work/home CKPTDB=$work/catalog.db
    case $file in
    *.sql) "$CKPTDB_BIN" -d "$CKPTDB" import "$work/dir" 2>/dev/null # makes it
        (cd "$TESTS" && timeout $patience "$CKPTDB_BIN" -d "$CKPTDB" -f "$file") ;;
    *) (cd "$work/dir" && BASH_ENV=$TESTS/cli/case.bash timeout $patience bash "$file") ;;
    esac </dev/null >"$work/raw" 2>&1
    rc=$?
    [ $rc = 77 ] && { echo "skip $(basename "$file"): $(tail -n 1 "$work/raw")"; return; }
    sed -E -e "s|$work/dir|WORK|g" -e "s|$work|WORK|g" -e "s|$TESTS|TESTS|g" \
        -e 's/( files?) in [0-9.]+ s$/\1 in TIME/' \
        -e 's/20[0-9]{2}-[01][0-9]-[0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-5][0-9]/DATE/g' "$work/raw" >"$work/out"
    [ -s "$work/out" ] && [ -n "$(tail -c 1 "$work/out")" ] && echo '(no final newline)' >>"$work/out"
    [ $rc = 0 ] || echo "[exit status $rc]" >>"$work/out"
    if [ -n "${UPDATE:-}" ]; then
        cmp -s "$work/out" "${file%.*}.out" || cp "$work/out" "${file%.*}.out"
        echo ok
    elif diff -u "${file%.*}.out" "$work/out" >"$work/diff" 2>&1; then
        echo ok
    else
        echo "FAIL $(basename "$(dirname "$file")")/$(basename "$file")"
        tail -n +3 "$work/diff" | head -n 60 | sed 's/^/    /'
    fi
    rm -rf "$work"
}

files=()
for file in "$TESTS"/sql/*.sql "$TESTS"/cli/*.sh; do
    name=$(basename "${file%.*}")
    [ -f "$file" ] || continue
    [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
    files+=("$file")
done
if [ -z "${TOKENS:-}" ]; then # of check.sh; a line for each that may run
    TOKENS=$top/tokens
    mkfifo "$TOKENS" && exec 8<>"$TOKENS" || exit 2
    yes | head -n "$(nproc)" >&8
fi
for i in "${!files[@]}"; do
    read -r <&8
    { run_case "${files[$i]}" 8>&- >"$top/$i.result"; echo >&8; } &
done
wait
passed=0 failed=0 skipped=0
for i in "${!files[@]}"; do
    case $(head -n 1 "$top/$i.result") in
    ok) passed=$((passed + 1)) ;;
    skip*) skipped=$((skipped + 1)); cat "$top/$i.result" ;;
    *) failed=$((failed + 1)); cat "$top/$i.result" ;;
    esac
done
echo "$passed passed, $failed failed$([ "$skipped" = 0 ] || echo ", $skipped skipped")"
[ "$failed" = 0 ]
