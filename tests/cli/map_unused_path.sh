# Rules of Kauldron that decide nothing are found as in other dialects: written over by a later
# rule, an empty subtree, or keys that are ignored.
names old.json p/a/w:2 p/a/b:2 p/b/w:2 p/c:2 >/dev/null
names model.json p/a/w:2 p/a/b:2 p/b/w:2 p/c:2 >/dev/null
"$CKPTDB_BIN" import model.json >/dev/null
try() { # OPTIONS NEW OLD [NEW OLD]...
    local options=$1 n=0 sql
    shift
    sql="DELETE FROM ruleset WHERE name = 'k'; INSERT INTO ruleset(name, dialect, options) VALUES ('k', 'kauldron', '$options');"
    while [ $# -gt 0 ]; do
        n=$((n + 1))
        sql="$sql INSERT INTO rule(ruleset, ord, pattern, replacement) VALUES ('k', $n, '$1', '$2');"
        shift 2
    done
    "$CKPTDB_BIN" "$sql"
    echo "-- $options"
    "$CKPTDB_BIN" --list map run k old.json --target model.json
    echo "status $?"
    "$CKPTDB_BIN" --json map check k old.json --target model.json
    echo "status $?"
}
try '{}' p.a p.a p.b p.b
try '{}' p.a p.a p.a.w p.b.w p.a.b p.c
try '{}' p.a.w p.b.w p.a p.a
try '{}' p.a p.a p.a p.a p.c p.c
try '{"ignore_model_keys": ["**"], "ignore_restored_keys": ["**"]}' p.a p.b p.c p.c
echo '-- without a model nothing is known about them'
"$CKPTDB_BIN" --list "SELECT finding, rule FROM map_check('k', (SELECT id FROM checkpoint WHERE path LIKE '%/old.json')) WHERE finding = 'unused'"
echo '-- in Orbax, too, the last rule decides'
"$CKPTDB_BIN" "INSERT INTO ruleset(name, dialect) VALUES ('o', 'orbax')" \
    "INSERT INTO rule(ruleset, ord, pattern, replacement) VALUES ('o', 1, 'p/a/w', 'p/b/w'), ('o', 2, 'p/a/w', 'p/c'), ('o', 3, 'p/(.)', 'p/c'), ('o', 4, 'p/c', 'p/a/b')"
"$CKPTDB_BIN" --list map run o old.json --target model.json
"$CKPTDB_BIN" --list map check o old.json --target model.json
