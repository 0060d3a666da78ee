# map show --format: a set becomes a file, and the file becomes the same set.
"$CKPTDB_BIN" import . >/dev/null 2>&1 # makes the catalog
again() { # NAME FORMAT: written, loaded as `again`, compared
    echo "-- $1 as $2"
    "$CKPTDB_BIN" map show "$1" --format "$2" >file || { echo "status $?" && return; }
    [ "${3:-}" = quiet ] || cat file
    "$CKPTDB_BIN" map load again file || { echo "status $?" && return; }
    "$CKPTDB_BIN" --line "
        SELECT (SELECT json_array(dialect, json(options)) FROM ruleset WHERE name = '$1')
             = (SELECT json_array(dialect, json(options)) FROM ruleset WHERE name = 'again') AS same_set,
          (SELECT count(*) FROM (
            SELECT ord, pattern, replacement, json(compute), json(ops) FROM rule WHERE ruleset = '$1'
            EXCEPT SELECT ord, pattern, replacement, json(compute), json(ops) FROM rule WHERE ruleset = 'again'))
          + (SELECT abs(count(*) FILTER (WHERE ruleset = '$1') - count(*) FILTER (WHERE ruleset = 'again'))
             FROM rule) AS rules_that_differ"
}
set_of() { # NAME DIALECT OPTIONS [RULE]...: rules as SQL values behind the name
    local name=$1 rows='' each
    "$CKPTDB_BIN" "INSERT INTO ruleset(name, dialect, options) VALUES ('$1', '$2', '$3')"
    shift 3
    for each in "$@"; do rows="$rows${rows:+, }('$name', $each)"; done
    [ -z "$rows" ] || "$CKPTDB_BIN" "INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES $rows"
}
nl="' || char(10) || '"

"$CKPTDB_BIN" 'SELECT 1' >/dev/null
again t5_to_t5x json quiet
again t5_to_t5x sql quiet
for name in $("$CKPTDB_BIN" 'SELECT name FROM ruleset WHERE shipped'); do
    for format in sql json; do
        again "$name" $format quiet >shipped
        grep -q 'same_set = 1' shipped && grep -q 'differ = 0' shipped || cat shipped
    done
done

set_of nasty t5x-translator '{"mode": "strict", "tables": {"it'"''"'s": {"\"": "\\", "é": ["✓", "\n"]}}}' \
    "-5, 'it''s \"both\"', '\\g<0>''\"\\\\', NULL, NULL" \
    "2, '(line)${nl}break	tab \\d+\\\\', '日本語 \\\\U0001F600 😀', '[[\"g\", \"sub\", \"\\\\d\", \"\\\\g<0>\", \"\\\\1\"]]', NULL" \
    "3, '', '', '[]', '[]'" \
    "70, '--; DROP TABLE rule; /* ', NULL, NULL, '[[\"cast\", \"bfloat16\"]]'"
again nasty json
again nasty sql
set_of none t5x-assignment '{}'
again none json
again none sql
again none gin

set_of pairs t5x-assignment '{}' "1, 'target/(.*)', 'old/\\1', NULL, NULL" \
    "2, 'it''s', 'say \"so\"', NULL, NULL" "3, 'it''s \"both\"', '\\\\', NULL, NULL" \
    "4, 'a${nl}b\\n	c', 'end\\\\', NULL, NULL" "5, 'state/.*', NULL, NULL, NULL" \
    "6, 'x.assignment_map = [(.*)]  # 日本', '', NULL, NULL"
again pairs gin
set_of usual t5x-assignment '{"require_all": true, "mode": "compat"}' "1, 'a', 'b', NULL, NULL"
again usual gin # options that change nothing are left out
set_of loose t5x-assignment '{"require_all": false}' "1, 'a', 'b', NULL, NULL"
again loose gin
set_of casts t5x-assignment '{}' "1, 'a', 'b', NULL, '[[\"cast\", \"int32\"]]'"
again casts gin
again casts json

set_of kd kauldron '{ "ignore_model_keys": ["**.bias"], "mode": "strict" } ' \
    "1, 'params[''a-\"b\"'']', 'params.old[0]', NULL, NULL" "2, 'params.größe', 'params', NULL, NULL"
again kd new_to_old
again kd json
set_of kd_plain kauldron '{}' "1, 'step', 'step', NULL, NULL"
again kd_plain new_to_old
set_of kd_twice kauldron '{}' "1, 'a', 'b', NULL, NULL" "2, 'a', 'c', NULL, NULL"
again kd_twice new_to_old
set_of kd_none kauldron '{}' "1, 'a', NULL, NULL, NULL"
again kd_none new_to_old

cat >tree.json <<'J'
{"dialect": "orbax", "options": {"default_to_original": false},
 "transforms": {"params": {"(.*)/\"w\"": {"original_key": "old\\\\/\\1"}, "deep": {"er": {"": {"use_fallback": true}}}},
  "a": {"value": {"original_key": null, "value": [["cast", "float32"]]}}, "z|[^/]*/x": {"original_key": ["a", "b"]}}}
J
"$CKPTDB_BIN" map load tree tree.json
again tree transforms
again tree json
set_of flat orbax '{}' "1, 'a(.*)', 'b', NULL, NULL" "2, 'a/(.*)', 'c', NULL, NULL" "3, 'a/original_key/b', NULL, NULL, NULL"
again flat transforms
set_of below orbax '{"nested": true}' "1, 'a', 'b', NULL, NULL" "2, 'a/b', 'b', NULL, NULL" "3, 'a!', 'b', NULL, NULL"
again below transforms
set_of begins orbax '{"nested": true}' "1, '//', NULL, NULL, NULL" "2, '/a', 'b', NULL, NULL" "3, 'a', 'c', NULL, NULL"
again begins transforms
set_of named orbax '{"nested": true}' "1, 'a/original_key/b', 'b', NULL, NULL"
again named transforms
set_of empty_tree orbax '{}'
again empty_tree transforms

set_of joins convert '{"unmatched": "keep", "tables": {"order": {"q": "0"}}}' \
    "1, 'h\.(\d+)\.(q|k)', 'h.\1.qk', '[[\"at\", \"table\", \"order\", \"\\\\2\"]]', '[[\"transpose\"], [\"concat\", 0, \"\\\\g<at>\"]]'" \
    "2, 'layers/(.*)', 'layers_\g<n>/\1', '[[\"n\", \"part\"]]', '[[\"unstack\", 1]]'"
again joins json
again joins sql quiet
again joins gin

cat >hf.json <<'J'
{"^model\\.": "it's \"new\".", "\\.(q|k)_proj": ".attn.\\1", "größe\n": "", "^lm_head": null}
J
"$CKPTDB_BIN" map load hf hf.json
again hf key_mapping
again hf json quiet
set_of plain t5x-translator '{}' "1, 'a/(.*)', 'b/\\1', NULL, NULL" "2, '(?s:(.*))', '\\1', NULL, NULL"
again plain key_mapping
set_of keep t5x-translator '{}' "1, '(?s:(.*))', '\\1', NULL, NULL"
again keep key_mapping
again tree key_mapping

set_of line t5x-translator '{}' "1, 'a', 'b${nl}assignment_map = [', NULL, NULL"
again line sql

echo '-- what no form, or only SQL holds'
set_of nul t5x-translator '{}' "1, 'a' || char(0) || 'b', 'c', NULL, NULL"
again nul sql
set_of odd t5x-translator '[]' "1, 'a', 'c', '{}', NULL"
again odd json
"$CKPTDB_BIN" "UPDATE ruleset SET options = '{}' WHERE name = 'odd'"
again odd json
again odd sql
"$CKPTDB_BIN" map show odd --format yaml
echo "status $?"
"$CKPTDB_BIN" map show nobody --format json
echo "status $?"
"$CKPTDB_BIN" --json map show odd --format sql
echo "status $?"
"$CKPTDB_BIN" map run odd x --format sql
echo "status $?"
"$CKPTDB_BIN" "SELECT line FROM map_file('kd_plain', 'json')" "SELECT fault FROM map_file('kd_plain', 'gin')"
