#!/usr/bin/env bash
# lint.sh FLAGS... - layers, forbidden functions, exports, formatter, clang-tidy, shellcheck. FLAGS
# are the compiler's. The last line is "N passed, N failed".
#
# ONLY="FILE..." lints these C files alone with clang-tidy.
set -u
cd "$(dirname "$0")/.." || exit 2
log=$(mktemp -d) || exit 2
trap 'rm -rf "$log"' EXIT
passed=0 failed=0

verdict() { # TITLE RC: what was found is in $log/found
    if [ "$2" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $1"
        sed 's/^/    /' "$log/found"
    fi
}

# The pattern is only in allowed files; comments do not count.
absent() { # TITLE PATTERN ALLOWED PATH...
    local title=$1 pattern=$2 allowed=$3
    shift 3
    grep -rnE --include='*.[ch]' -e "$pattern" "$@" |
        grep -vE "^($allowed):" | grep -vE '^[^:]+:[0-9]+:\s*(/?\*|//)' >"$log/found"
    [ ! -s "$log/found" ]
    verdict "$title" $?
}

# --- layers: every include points down ------------------------------------------------------
# Folders that include what tests/layers.txt has below them, or that it does not know.
git ls-files --cached --others --exclude-standard '*.[ch]' | grep -E '^(catalog|importer|shell)/' |
    xargs grep -HE '^# *include "(catalog|importer|shell)/' |
    awk -v order=tests/layers.txt '
        BEGIN { while ((getline line < order) > 0) if (line !~ /^#/) rank[line] = ++n }
        { file = $1; sub(/:.*/, "", file); used = $0; sub(/^[^"]*"/, "", used); sub(/".*/, "", used)
          from = file; to = used; sub(/\/[^\/]*$/, "", from); sub(/\/[^\/]*$/, "", to)
          if (!(from in rank)) print file ": its folder is not in " order
          else if (!(to in rank) || rank[to] > rank[from]) print file " includes " used }
    ' >"$log/found"
[ ! -s "$log/found" ]
verdict 'every include points down (tests/layers.txt)' $?

# A family of formats includes no other, but a checkpoint of many ranks holds files of torch.save.
git ls-files --cached --others --exclude-standard 'importer/format/*.[ch]' |
    xargs grep -HoE '^# *include "importer/format/[^"]*' | sed -E 's/:[^"]*"/ /' |
    awk '{ split($1, from, "/"); split($2, to, "/") }
        from[3] != to[3] && $2 != "importer/format/torch/torch_file.h" { print $1 " includes " $2 }' >"$log/found"
[ ! -s "$log/found" ]
verdict 'a family of formats includes no other' $?

# The shell is built against the public header, and what draws; with that alone it links.
public='catalog/(ckptdb|base/(text|arena|strmap|nearest|error|json)|data/model/module_tree)\.h'
grep -rHE --include='*.[ch]' '^# *include "(catalog|importer)/' shell | grep -vE "\"$public\"" >"$log/found"
[ ! -s "$log/found" ]
verdict 'the shell includes catalog/ckptdb.h and what draws' $?
# shellcheck disable=SC2046
cc -o "$log/program" $(git ls-files 'shell/*.c' | sed -E 's#(.*)\.c#build/release/core/\1.o#') build/release/core/gen/page.o build/release/core/catalog/base/*.o build/release/core/catalog/data/model/module_tree.o \
    -Lbuild -lckptdb $(pkg-config --libs sqlite3 libpcre2-8 zlib) -ldl -lm -pthread >"$log/found" 2>&1 &&
    LD_LIBRARY_PATH=build/release "$log/program" --version >"$log/found" 2>&1
verdict 'the shell links with libckptdb.so' $?

include='^# *include [<"]'
may_sqlite='catalog/(sql|db)/[^:]*|catalog/export/(rows|select)\.[ch]|catalog/python/[^:]*|shell/[^:]*'
absent 'only SQL and the database know SQLite' \
    "$include(sqlite3|catalog/db/sqlite\.h)" "$may_sqlite" catalog importer
absent 'only catalog/data/store opens data files' \
    '(^|[^>.[:alnum:]_])(open|openat|fopen|freopen|mkstemp|creat)\(' \
    'catalog/data/store/[^:]*' catalog importer
absent 'functions that overrun, share state or hide errors' \
    '\b(strcpy|strcat|sprintf|vsprintf|strtok|strerror|strsignal|localtime|gmtime|asctime|ctime|rand|atoi|atol|atof|alloca|tmpnam|mktemp|setjmp|longjmp)\(' \
    none catalog importer shell tests
absent 'nothing unfinished' '\b(TODO|FIXME|XXX)\b' none catalog importer shell tests

absent "a field in the line of its type (its comment goes above)" \
    '^ +(const )?(bool|char|int|unsigned|float|double|size_t|u?int[0-9]+_t|(struct|enum) [a-z0-9_]+)( \*)?$' \
    none catalog importer shell

# Queries that can be read: rows of VALUES do not count, nor do the INSERTs of rule sets.
git ls-files 'schema/*.sql' | grep -vE '^schema/rules/' | xargs awk '
    function ends() { if (n > 60) print file ": a statement of " n " lines (60 at most)"; n = 0 }
    FNR == 1 { ends(); file = FILENAME }
    /^ *(--.*)?$/ || /^ *\([\047"0-9]/ { next }
    { n++ }
    /;$/ { ends() }
    END { ends() }' >"$log/found"
[ ! -s "$log/found" ]
verdict 'no query has more than 60 lines' $?

# A search for a function of one file finds that one: no third file has a function of its own by that name.
git ls-files 'catalog/*.c' 'importer/*.c' 'shell/*.c' |
    xargs grep -oE '^static [a-z][a-z0-9_ ]*[ *]+[a-z0-9_]+\(' | sed 's/:.*[ *]/ /; s/($//' | sort -u |
    awk '{ files[$2] = files[$2] " " $1; n[$2]++ } END { for (f in n) if (n[f] > 2) print f " in" files[f] }' >"$log/found"
[ ! -s "$log/found" ]
verdict 'no function of one file has the name of functions in two others' $?

# What somebody tried and `git add` took with it.
git ls-files -z | tr '\0' '\n' | grep -vE '^"?(\.ci|catalog|importer|schema|shell|tests)/|^(\.clang-(format|tidy)|\.gitignore|Makefile|README\.md)$' >"$log/found"
[ ! -s "$log/found" ]
verdict 'nothing stray at the top' $?

python3 tests/counts.py >"$log/found"
verdict 'no figure has risen (tests/counts.txt)' $?

nm -D --defined-only build/ckptdb.so | awk '{print $3}' | sort >"$log/exports"
printf '%s\n' sqlite3_ckptdb_init sqlite3_ckptdb_noread_init | diff - "$log/exports" >"$log/found"
verdict 'ckptdb.so exports its two doors alone' $?

# Exactly what the header declares.
nm -D --defined-only build/libckptdb.so | awk '{print $3}' | sort >"$log/exports"
sed -n '/^#ifndef/,$p' catalog/ckptdb.h | grep -v '^ *\(/\*\|\*\)' |
    grep -oE '\*?\bckptdb_[a-z0-9_]+\(' | tr -d '*(' | sort -u | diff - "$log/exports" >"$log/found"
verdict 'libckptdb.so exports what its header declares' $?

# --- tools ----------------------------------------------------------------------------------
mapfile -t sources < <(git ls-files --cached --others --exclude-standard '*.c' '*.h' | sort -u)
clang-format-14 --dry-run -Werror "${sources[@]}" >"$log/found" 2>&1
verdict 'formatted (make format)' $?

tidy() { # FILE FLAGS...: prints what it finds
    local file=$1 out checks=
    shift
    # The analyser takes nine tenths of the time. It follows what ships (a test's paths are those that it takes), and
    # in each function 50,000 states, not 225,000: half the time of 100,000.
    [[ $file != tests/* ]] || checks='--checks=-clang-analyzer-*'
    set -- "$@" -Xclang -analyzer-config -Xclang max-nodes=50000
    # Compiled once a format.
    [[ $file != tests/fuzz/* ]] || set -- "$@" -DFORMAT=format_npy
    grep -qE '^#define _GNU_SOURCE|^enum status error_set' "$file" || set -- "$@" -include tests/lint.h
    if out=$(clang-tidy-14 --quiet ${checks:+"$checks"} "$file" -- "$@" 2>&1); then
        echo ok >"$log/tidy.${file//\//_}"
    else
        grep -vE '^([0-9]+ warnings?|Suppressed|Use -)' <<<"$out" >"$log/tidy.${file//\//_}"
    fi
}
if [ -n "${ONLY:-}" ]; then
    read -rd '' -a units <<<"$ONLY"
else
    units=()
    for file in "${sources[@]}"; do
        [[ $file == *.c ]] && units+=("$file")
    done
fi
export log
export -f tidy
printf '%s\n' "${units[@]}" | xargs -P "$(nproc)" -I{} bash -c 'tidy "$@"' tidy {} "$@"
for file in "${units[@]}"; do
    cp "$log/tidy.${file//\//_}" "$log/found"
    [ "$(head -n 1 "$log/found")" = ok ]
    verdict "clang-tidy $file" $?
done

if command -v shellcheck >/dev/null; then
    mapfile -t scripts < <(git ls-files '*.sh' .ci/run)
    shellcheck -s bash -S warning "${scripts[@]}" >"$log/found" 2>&1
    verdict shellcheck $?
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
