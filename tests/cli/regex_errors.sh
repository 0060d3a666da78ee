# What a bad pattern, template or text is answered with: the quoted source and Python's words.
"$CKPTDB_BIN" import . >/dev/null 2>&1 # makes the catalog
ask() {
    "$CKPTDB_BIN" "SELECT $1"
}
ask "regexp('(', 'a')"
ask "regexp_match('a**', 'a')"
ask "regexp_match('a' || char(10) || '(?P<1>b)', 'a')"
ask "regexp_replace('b', 'a', '\d')"
ask "regexp_expand('(a)', 'a', '\g<n>')"
ask "regexp_capture('(a)', 'a', 2)"
ask "regexp_capture('(a)', 'a', 'n')"
ask "regexp_match('a', 'a', 'exact')"
ask "regexp_match('a', x'ff')"
ask "regexp_match(x'ff', 'a')"
ask "regexp_match('a{70000}', 'a')"
ask "regexp_match('(a+)+\$', printf('%.*c', 60, 'a') || 'b')"
true
