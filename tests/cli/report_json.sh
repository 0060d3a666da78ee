# What load, delete and export did, for programs; and JSON that says a thing twice.
export STATUS=always
names m.json a b
for json in '{"dialect": "convert", "options": {"unmatched": "keep"}, "rules": [["a", "c"]]}' \
    '{"dialect": "convert", "options": {"unmatched": "keep", "unmatched": "drop"}, "rules": [["a", "c"]]}' \
    '{"dialect": "kauldron", "options": {"ignore_model_keys": ["a"], "ignore_restored_keys": [], "ignore_model_keys": ["b"]}, "rules": [["a", "c"]]}' \
    '{"dialect": "convert", "rules": [["a", "c"]], "rules": [["a", "d"]]}' \
    '{"dialect": "convert", "options": {}, "rules": [["a", "c"]], "options": {}}' \
    '{"dialect": "convert", "dialect": "orbax", "rules": [["a", "c"]]}' \
    '{"dialect": "convert", "rules": [["a", "c", {"ops": [["cast", "int8"]], "ops": []}]]}'; do
    echo "$json" | tee map.json
    try map load m map.json --json
done
try map load m map.json
"$CKPTDB_BIN" --list "SELECT dialect, options FROM ruleset WHERE name = 'm'"
"$CKPTDB_BIN" "INSERT INTO ruleset VALUES ('twice', 'convert', '{\"unmatched\": \"keep\", \"unmatched\": \"drop\"}', 0)"
"$CKPTDB_BIN" --list "SELECT old_name, status, error FROM conversion WHERE ruleset = 'twice' AND checkpoint_id = checkpoint_id('m.json')"
try map delete m --json
try map delete m --json
echo '{"adafactor": {}}' >o.json
try optimizer load o o.json --json
try optimizer delete o --csv
