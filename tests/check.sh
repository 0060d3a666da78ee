#!/usr/bin/env bash
# check.sh VARIANT [unit|golden|answers|pages|pty|python|fuzz]... - run the tests of a build that make has made,
# all kinds unless some are named. The last line is "N passed, N failed".
set -u
cd "$(dirname "$0")/.." || exit 2
variant=$1
shift
kinds=${*:-unit golden answers pages pty python fuzz}
# ThreadSanitizer holds signals back, which the cases on a terminal are about; replays have one thread.
[ "$variant" != tsan ] || [ $# != 0 ] || kinds='unit golden answers'
export TESTS=$PWD/tests
export CKPTDB_BIN=$PWD/build/$variant/ckptdb
# Eight callers of what was allocated are enough to find it; thirty for each allocation take a part of the time.
export ASAN_OPTIONS=malloc_context_size=8${ASAN_OPTIONS:+:$ASAN_OPTIONS}
passed=0 failed=0 skipped=0
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
# A line for each processor, in a pipe: who runs a test takes one, and puts it back. Unit tests and cases share them, so
# that none waits for the longest of the others.
export TOKENS=$log/tokens
mkfifo "$TOKENS" && exec 8<>"$TOKENS" || exit 2
yes | head -n "$(nproc)" >&8

# Several programs at once; each prints only when it fails.
run_each() { # NAME...
    local name
    for name in "$@"; do
        read -r <&8
        ( "$name" 8>&- >"$log/$(basename "$name")" 2>&1; echo $? >"$log/$(basename "$name").rc"; echo >&8 ) &
    done
    wait
    for name in "$@"; do
        if [ "$(cat "$log/$(basename "$name").rc")" = 0 ]; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "FAIL $(basename "$name")"
            tail -n 40 "$log/$(basename "$name")" | sed 's/^/    /'
        fi
    done
}

# A runner with a closing line of its own, "N passed, N failed[, N skipped]".
run_counted() { # TITLE COMMAND...
    local title=$1 last out=$log/$1.out
    shift
    "$@" >"$out" 2>&1
    local rc=$?
    last=$(tail -n 1 "$out")
    grep -i '^skip' "$out"
    if [[ $last =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)? ]]; then
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
        skipped=$((skipped + ${BASH_REMATCH[4]:-0}))
        [ "${BASH_REMATCH[2]}" = 0 ] && [ "$rc" = 0 ] || sed '$d' "$out"
        [ "${BASH_REMATCH[2]}" != 0 ] || [ "$rc" = 0 ] || failed=$((failed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $title: no closing line, status $rc"
        tail -n 40 "$out"
    fi
}

# Of ThreadSanitizer's build: the unit tests of unit/threaded.sh, and the cases in which several threads do something of
# their own. The others run one thread, or the same ones: it would prove nothing.
several='concurrent|dedup|diff|export|export_(gguf|hdf5|kill|many|quantize|random|ties|zarr)|get|hash|import_(interrupt|'
several+='neighbours|shards|together)|merge|ocdbt|orbax|read_(changed|once)|remote_.*|snapshot|split_many|stats|strings_large|t5x|'
several+='track|trainer|verify|view|zarr|zarr_changes'

run_kind() { # KIND
    local names=()
    case $1 in
    unit)
        mapfile -t names < <(if [ "$variant" = tsan ]; then sh tests/unit/threaded.sh; else
            cd tests/unit && basename -s .c ./test_*.c; fi)
        run_each "${names[@]/#/build/$variant/tests/unit/}" ;;
    golden)
        [ "$variant" != tsan ] || mapfile -t names < <(cd tests/cli && basename -s .sh ./*.sh | grep -xE "$several")
        run_counted golden bash tests/run.sh "${names[@]}" ;;
    answers) run_counted answers python3 tests/check_answers.py "$CKPTDB_BIN" tests/fixtures/real ;;
    # Pages are about the program that a reader builds; a sanitizer's extension fits no sqlite3.
    pages) [ "$variant" = release ] || return
        run_counted pages python3 tests/readme.py "$CKPTDB_BIN" ;;
    pty) run_counted pty python3 tests/pty/run.py "$CKPTDB_BIN" ;;
    # The interpreter does not have the sanitizer in it, and keeps much to its end.
    python) sanitizer=
        [ "$variant" != asan ] || sanitizer=$(gcc -print-file-name=libasan.so)
        run_counted python env LD_PRELOAD="$sanitizer" ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" \
            PYTHONPATH="build/$variant/python" /usr/bin/python3 tests/python/test_package.py ;;
    fuzz) run_counted fuzz bash tests/fuzz/replay.sh "build/$variant/tests/fuzz" ;;
    *) failed=1; echo "FAIL check.sh: no such kind of test: $1" ;;
    esac
}

# Kinds one after the other; what each says when it has ended.
lane() { # KIND...
    local kind said
    for kind in "$@"; do
        passed=0 failed=0 skipped=0
        run_kind "$kind" >"$log/$kind.said"
        said=$(cat "$log/$kind.said")
        printf '%s%s: %s tests\n' "${said:+$said$'\n'}" "$kind" $((passed + failed))
        echo "$passed $failed $skipped" >"$log/$kind.counts"
    done
}

# Kinds that run one program at a time, and mostly wait for it (a terminal's pauses), go one after the other beside
# those that keep all processors busy.
alone=()
for kind in $kinds; do
    case $kind in
    unit | golden) lane "$kind" & ;;
    *) alone+=("$kind") ;;
    esac
done
lane "${alone[@]}" &
wait
for kind in $kinds; do
    read -r good bad left <"$log/$kind.counts" || bad=1
    passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + left))
done
echo "$passed passed, $failed failed$([ "$skipped" = 0 ] || echo ", $skipped skipped")"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
