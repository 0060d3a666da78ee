#!/usr/bin/env bash
# building.sh MAKE ARGS... - build without a line a file: on a terminal a count moves, elsewhere what goes wrong is
# printed alone.
set -u
count() { grep -c "^printf '  %-5s" || :; } # the lines of the Makefile's `say`
if [ ! -t 1 ]; then
    echo 'building (V=1 shows what) ...'
    exec "$@" QUIET=1
fi
total=$("$@" -n 2>/dev/null | count)
columns=$(stty size </dev/tty 2>/dev/null | cut -d ' ' -f 2)
[ "${columns:-0}" -gt 1 ] || columns=80
done=0
"$@" 2>&1 | while IFS= read -r line; do
    case $line in
    '  CC '* | '  GEN '* | '  LINK '*)
        done=$((done + 1))
        line="building: $done of $total (V=1 shows commands) ${line##* }"
        printf '\r\033[K%s' "${line::columns-1}" ;;
    *) printf '\r\033[K%s\n' "$line" ;;
    esac
done
status=${PIPESTATUS[0]}
printf '\r\033[K'
exit "$status"
