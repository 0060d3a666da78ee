# Options that a plain INSERT brings in: what a dialect does not know is said by name, by check, run, get
# and export and in the views; 0 and 1 count as truths, since json_object() has no others.
names a.json a/w:2,3 b:3 >/dev/null
names m.json a/w:2,3 b:3 >/dev/null
id="(SELECT id FROM checkpoint WHERE path LIKE '%/a.json')"
m="(SELECT id FROM checkpoint WHERE path LIKE '%/m.json')"
set_of() { # DIALECT OPTIONS PATTERN REPLACEMENT
    "$CKPTDB_BIN" "DELETE FROM ruleset WHERE name = 'x'" \
        "INSERT INTO ruleset(name, dialect, options) VALUES ('x', '$1', '$2')" \
        "INSERT INTO rule(ruleset, ord, pattern, replacement) VALUES ('x', 1, '$3', '$4')" 2>&1
}
try() { # DIALECT OPTIONS PATTERN REPLACEMENT [--target m.json]
    echo "-- $1 $2"
    set_of "${@:1:4}" || return
    "$CKPTDB_BIN" --list map check x a.json "${@:5}" 2>&1 | grep -v '^note'
    echo "status ${PIPESTATUS[0]}"
    "$CKPTDB_BIN" --list map run x a.json "${@:5}" 2>&1
    echo "status $?"
}
try t5x-translator '{"mode": "bogus"}' '(.*)' 'n/\1'
"$CKPTDB_BIN" --list "SELECT old_name, new_name, status, error FROM translation WHERE ruleset = 'x' AND checkpoint_id = $id" \
    "SELECT count(*) FROM translation WHERE ruleset = 'x' AND status = 'error'" \
    "SELECT name, status, error FROM restore WHERE ruleset = 'x' AND checkpoint_id = $id AND target_id IS NULL"
try t5x-translator ' { "restore" : 1, "tables": {} } ' '(.*)' 'n/\1'
try t5x-translator '{"strict": true}' '(.*)' 'n/\1'
try t5x-translator '[]' '(.*)' 'n/\1'
try t5x-translator '{"mode": ' '(.*)' 'n/\1'
try convert '{"unmatched": "ignore"}' '(.*)' 'n/\1'
"$CKPTDB_BIN" export a.json out.npz --map x
echo "status $?"
ls out.npz 2>&1
try t5x-assignment '{"require_all": 2}' '(.*)' '\1' --target m.json
try t5x-assignment '{"require_all": 0}' '(.*)' '\1' --target m.json
try kauldron '{"ignore_model_keys": ["a["]}' 'a' 'a' --target m.json
"$CKPTDB_BIN" --list "SELECT new_name, status, error FROM assignment WHERE ruleset = 'x' AND source_id = $id AND target_id = $m"
try orbax '{"mode": "strict", "nested": "yes"}' '(.*)' '\1' --target m.json
echo '-- a set of a dialect that is not known'
set_of other '{"any": 1}' a b
"$CKPTDB_BIN" --list map check x a.json
echo '-- what comes with the program has no faults'
"$CKPTDB_BIN" --list "SELECT name, options_fault(dialect, options) FROM ruleset WHERE shipped AND options_fault(dialect, options) IS NOT NULL" \
    "SELECT count(*) > 9 FROM ruleset WHERE shipped"
