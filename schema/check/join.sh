#!/bin/sh
# join.sh - print map_check.sql: the views that checks look at (views.sql, views_rules.sql), the checks,
# and what is shown of their findings (findings.sql). A check is a file NN_CODE.sql, shown in the order of NN:
#
#   -- CODE: what it means
#   -- severity: error | warning | note [, error where every rule is required]
#   -- advice: what to do                     (may be left out)
#   SELECT rule, place, name, detail FROM ... one row for each name that it concerns
set -eu
export LC_ALL=C
cd "$(dirname "$0")"
echo "-- map_check(ruleset, source[, target, all]): what may be wrong with a map before a byte moves."
echo 'WITH'
cat views.sql
echo ','
cat views_rules.sql
echo ', finding(kind, rule, place, name, detail) AS ('
arm=
for f in [0-9]*.sql; do
    code=$(sed -n '1s/^-- \([a-z-]*\): .*/\1/p' "$f")
    [ -n "$code" ] || { echo "$f: its first line is no '-- CODE: meaning'" >&2; exit 1; }
    printf "%sSELECT '%s', rule, place, name, detail FROM (\n" "$arm" "$code"
    cat "$f"
    echo ')'
    arm='UNION ALL
'
done
echo '), kind(kind, turn, severity, otherwise, meaning, advice) AS (VALUES'
awk -v q="'" '
function quoted(s) {
    gsub(q, q q, s)
    return q s q
}
function row() {
    if (!code)
        return
    printf "%s(%s, %d, %s, %s, %s, %s)\n", turn ? "," : "", quoted(code), turn + 1, quoted(severity),
        quoted(otherwise), quoted(meaning), advice ? quoted(advice) : "NULL"
    turn++
}
FNR == 1 {
    row()
    head = 1
    advice = severity = ""
    code = meaning = substr($0, 4)
    sub(/:.*/, "", code)
    sub(/^[a-z-]*: /, "", meaning)
    next
}
head && sub(/^-- severity: /, "") {
    otherwise = severity = $0
    if (sub(/, error where every rule is required$/, "", otherwise))
        severity = "required"
    next
}
head && sub(/^-- advice: /, "") {
    advice = $0
    next
}
!/^--/ { head = 0 }
END { row() }' [0-9]*.sql
echo ')'
cat findings.sql
