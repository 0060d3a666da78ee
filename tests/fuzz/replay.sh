#!/usr/bin/env bash
# replay.sh DIR - run every kept corpus through its target, without a fuzzer. DIR holds the
# replay_NAME programs; the corpus of NAME is corpus/NAME beside this script, or, for a format that has none,
# its fixtures.
set -u
here=$(cd "$(dirname "$0")" && pwd)
passed=0 failed=0
for program in "$1"/replay_*; do
    [ -x "$program" ] && [[ $program != *.d ]] || continue
    name=${program##*/replay_}
    corpus=$here/corpus/$name
    # A format that no fuzzer has run on yet.
    [ -d "$corpus" ] || [[ $name != format_* ]] || corpus=$here/../fixtures/${name#format_}
    if [ ! -d "$corpus" ]; then
        echo "FAIL $name: no corpus in tests/fuzz/corpus/$name"
        failed=$((failed + 1))
    elif out=$(ulimit -t 300; "$program" "$corpus" 2>&1); then
        passed=$((passed + 1))
    else
        echo "FAIL $name:"
        tail -n 30 <<<"$out"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
