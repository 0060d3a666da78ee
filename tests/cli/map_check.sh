# map check, map why, map_inverse(): each kind of finding, once.
state() { names "$1.json" "${@:2}"; } # FILE NAME[:SHAPE[:DTYPE]]...
map() { # NAME DIALECT [PATTERN REPLACEMENT]...
    local name=$1 dialect=$2 sql n=0
    shift 2
    sql="INSERT INTO ruleset(name, dialect) VALUES ('$name', '$dialect');"
    while [ $# -gt 0 ]; do
        n=$((n + 1))
        sql="$sql INSERT INTO rule(ruleset, ord, pattern, replacement) VALUES ('$name', $n, '$1', nullif('$2', 'NULL'));"
        shift 2
    done
    "$CKPTDB_BIN" "$sql"
}
check() {
    echo "-- $*"
    "$CKPTDB_BIN" --list map check "$@" 2>&1
    echo "status $?"
}

state old a/w:2,3 a/b:3 b/w:3,2 c.x:1 c/x:1 step::int64
state model n/w:2,3 n/b:4 n/v:2,3 step::int32
map partly t5x-translator 'a/(.*)' 'n/\1'
check partly old.json
map collides t5x-translator '[ab]/(.*)' 'n/\1' '(.*)' '\1'
check collides old.json
map prefix t5x-translator 'a/w' 'n' 'a/(.*)' 'n/\1' '.*' NULL
check prefix old.json
map again t5x-translator '(.*)' 'model.\1'
check again old.json
map inside t5x-translator '(.*)x' '\1y' '(.*)' '\1'
state inner d/box xy/z:2
check inside inner.json
map tail t5x-translator 'd/b(.*)' 'e/b\1' 'x(.*)' 'w\1'
check tail inner.json
map shadowed t5x-translator '(.*)' '\1' 'a/(.*)' 'n/\1' '(.*)' 'again'
check shadowed old.json
map fine t5x-translator 'a/(.*)' 'new/a/\1' 'b/(.*)' 'new/b/\1' 'c([./])x' 'new/c\1x' 'step' 'global_step'
check fine old.json

map onto t5x-assignment 'n/(w|v)' 'a/w' 'n/b' 'a/b' 'zz' 'a/w'
check onto old.json
check onto old.json --target model.json
state swapped n/w:2,3 n/b:3
map undone t5x-assignment 'n/w' 'a/w' 'n/b' 'b/w'
state both a/w:1 b/w:1 n/w:1
check undone both.json --target swapped.json
map moves orbax '(.*)/w' '\1/b' 'n/.*' NULL
check moves old.json --target model.json

echo '-- strict: what was a warning is an error'
"$CKPTDB_BIN" "SELECT finding, severity FROM map_check('moves', (SELECT id FROM checkpoint WHERE path LIKE '%/old.json'), (SELECT id FROM checkpoint WHERE path LIKE '%/model.json')) WHERE severity <> 'note'" \
    "UPDATE ruleset SET options = '{\"mode\": \"strict\"}' WHERE name = 'moves'" \
    "SELECT finding, severity FROM map_check('moves', (SELECT id FROM checkpoint WHERE path LIKE '%/old.json'), (SELECT id FROM checkpoint WHERE path LIKE '%/model.json')) WHERE severity <> 'note'"

echo '-- back'
"$CKPTDB_BIN" "INSERT INTO ruleset(name, dialect) VALUES ('back', 't5x-translator')" \
    "INSERT INTO rule(ruleset, ord, pattern, replacement)
        SELECT 'back', ord, pattern, replacement FROM map_inverse('fine', (SELECT id FROM checkpoint WHERE path LIKE '%/old.json'))"
state new new/a/w new/a/b new/b/w new/c.x new/c/x global_step
"$CKPTDB_BIN" map run back new.json
"$CKPTDB_BIN" "SELECT * FROM map_inverse('collides', (SELECT id FROM checkpoint WHERE path LIKE '%/old.json'))"
for dialect in orbax t5x-assignment; do
    "$CKPTDB_BIN" "DELETE FROM ruleset WHERE name = 'turns'" "INSERT INTO ruleset(name, dialect) VALUES ('turns', '$dialect')" \
        "INSERT INTO rule(ruleset, ord, pattern, replacement, ops) VALUES ('turns', 1, 'n/w', 'a/w', '[[\"transpose\"]]'), ('turns', 2, 'n/b', 'a/b', NULL)"
    "$CKPTDB_BIN" --list "SELECT * FROM map_inverse('turns', (SELECT id FROM checkpoint WHERE path LIKE '%/old.json'),
        (SELECT id FROM checkpoint WHERE path LIKE '%/model.json'))"
done
state ends a 'a\n' 'b\n'
map ends t5x-translator '(?s:(.*))' 'n/\1'
"$CKPTDB_BIN" --list "SELECT pattern, replacement, error FROM map_inverse('ends', (SELECT id FROM checkpoint WHERE path LIKE '%/ends.json'))"
"$CKPTDB_BIN" "DELETE FROM ruleset WHERE name = 'ends'"

echo '-- why'
for name in n/w a/w n/q a/zz; do
    "$CKPTDB_BIN" "SELECT ruleset, old_name, new_name, status, rule, pattern, storage FROM map_why(
        (SELECT id FROM checkpoint WHERE path LIKE '%/old.json'), '$name')"
    "$CKPTDB_BIN" map why old.json $name >/dev/null 2>err
    echo "status $?"
    cat err
done
"$CKPTDB_BIN" map why old.json n/v --target model.json | cut -f 1-5,8-10
"$CKPTDB_BIN" map why nothing n/v
echo '-- a name that the map makes, while other names of the checkpoint are unmatched; one that no rule matches'
why() { # ARGUMENT...
    echo "-- $*"
    "$CKPTDB_BIN" map why old.json "$@" | cut -f 1-5,7-10
    echo "status ${PIPESTATUS[0]}"
}
map only t5x-translator 'a/w' 'made' 'step' '\g<n>'
for name in again collides fine inside prefix shadowed tail; do "$CKPTDB_BIN" map delete $name; done
why made
why made --map only
why made --map partly
why b/w
why b/w --map only
why step --map only
why a/w --map onto
why n/v --map onto --target model.json
why a/w --map nobody
"$CKPTDB_BIN" map delete again
"$CKPTDB_BIN" map delete strip_prefixes
"$CKPTDB_BIN" --readonly map delete only
"$CKPTDB_BIN" map list | cut -f 1 | tr '\n' ' '
echo
"$CKPTDB_BIN" map why old.json
echo "-- what is not in the catalog is no answer"
"$CKPTDB_BIN" "INSERT INTO optimizer(name, spec) VALUES ('adam', '{}')"
for query in "map_check('moves', 99)" "map_check('moves', 1, 99)" "map_why(99, 'a/w')" "map_why(1, 'a/w', 99)" \
    "map_inverse('only', 1, 99)" "map_inverse('moves', 1, 99)" "verify_state('adam', 99)" "verify_state('adma', 1)" \
    "infer_optimizer(99)"; do
    "$CKPTDB_BIN" "SELECT count(*) FROM $query"
done
echo "-- a target 0 is none"
for function in map_check map_inverse; do
    "$CKPTDB_BIN" "SELECT count(*) FROM $function('only', 1, 0)" "SELECT * FROM $function('only', 1, 0) EXCEPT SELECT * FROM $function('only', 1)"
done
