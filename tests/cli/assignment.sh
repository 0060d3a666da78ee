# The view `assignment`: what becomes of every leaf, with notes, and the ways to ask.
map() { # NAME OPTIONS RULES SOURCE TARGET [PATTERN]: trees of names, and a map between them
    printf '{"ckptdb": "names", "tree": %s}' "$4" >"$1.source.json"
    printf '{"ckptdb": "names", "tree": %s}' "$5" >"$1.target.json"
    printf '{"dialect": "t5x-assignment", "options": %s, "rules": %s}' "$2" "$3" >"$1.json"
    "$CKPTDB_BIN" import "$1.source.json" "$1.target.json" 2>/dev/null
    "$CKPTDB_BIN" map load "$1" "$1.json"
    [ -z "${6-}" ] || "$CKPTDB_BIN" "UPDATE rule SET pattern = '$6' WHERE ruleset = '$1'"
    echo "-- $1"
    "$CKPTDB_BIN" --jsonl map run "$1" "$1.source.json" --target "$1.target.json" |
        sed 's/,"\(dtype\|shape\|rule\|error\|note\)":null//g; s/"old_name":null,//'
}
map undone '{}' '[["a", "b"]]' '{"a": "float32[]", "b": "int8[2]"}' '{"a": "?", "b": "?"}'
map undone-strict '{"mode": "strict"}' '[["a", "b"]]' '{"a": "?", "b": "?"}' '{"a": "?", "b": "?"}'
map hidden '{}' '[["a/b", "x"]]' '{"x": "?", "a": "?"}' '{"a": {"b": "?"}}'
map hidden-strict '{"mode": "strict"}' '[["a/b", "x"]]' '{"x": "?", "a": "?"}' '{"a": {"b": "?"}}'
map inside '{}' '[["a", "x"]]' '{"x": "float32[4]", "a": {"b": "?", "c": {"d": "?"}}}' '{"a": "?"}'
map inside-null '{}' '[["a", "x"]]' '{"x": null, "a": {"b": "?"}}' '{"a": "?"}'
map taken-twice '{}' '[["b", "a"]]' '{"a": "?"}' '{"a": "?", "b": "?"}'
map skipped '{}' '[["c", null]]' '{"a": "?", "c": "?"}' '{"a": "?", "c": "?", "d": "?"}'
map nulls '{}' '[["n/(.*)", "o/\\1"]]' '{"o": {"x": null, "y": "?", "z": {}}, "k": null}' '{"n": {"x": "?", "y": null, "z": []}}'
map unused '{}' '[["a", "a"], ["zz", "a"], ["it'"'"'s", null]]' '{"a": "?"}' '{"a": "?"}'
map two-errors '{}' '[["(a|b)", "no/\\1"], ["zz", "a"]]' '{"c": "?", "it'"'"'s": "?"}' '{"a": "?", "b": "?", "c": "?"}'
map resuming '{"is_resuming": true}' '[["p", "x"]]' '{"a": "?", "n": null, "e": {}}' '{"b": "?"}' '('
map cast '{}' '[["a", "b", {"ops": [["cast", "bfloat16"]]}]]' '{"b": "float32[2,3]"}' '{"a": "?"}'

echo "-- a join, a subquery, and what is left open"
"$CKPTDB_BIN" "SELECT a.status, count(*) FROM checkpoint s, checkpoint t
  JOIN assignment a ON a.source_id = s.id AND a.target_id = t.id
  WHERE a.ruleset = 'undone' AND s.path GLOB '*/undone.source.json'
   AND t.path GLOB '*/undone.target.json' GROUP BY 1"
"$CKPTDB_BIN" "SELECT count(DISTINCT source_id), count(DISTINCT target_id) FROM assignment
  WHERE ruleset = (SELECT min(name) FROM ruleset WHERE name LIKE 'und%')"
"$CKPTDB_BIN" "SELECT count(DISTINCT ruleset) FROM assignment WHERE source_id = 1 AND target_id = 2"
"$CKPTDB_BIN" "SELECT count(*) FROM assignment WHERE ruleset = 't5_to_t5x'"
"$CKPTDB_BIN" "SELECT count(*) FROM assignment WHERE ruleset = 'undone' AND source_id = 1 AND target_id = 999"
"$CKPTDB_BIN" "SELECT count(DISTINCT target_id) = (SELECT count(*) FROM checkpoint) FROM assignment_rows('undone', 1)"
echo "-- all targets together are what each is by itself"
"$CKPTDB_BIN" "CREATE TEMP TABLE alone AS SELECT a.* FROM checkpoint t, checkpoint s
  CROSS JOIN assignment a ON a.source_id = s.id AND a.target_id = t.id WHERE a.ruleset IN ('undone', 'taken-twice');
  SELECT count(*) > 1000, count(DISTINCT target_id || ' ' || source_id) > 100 FROM alone;
  SELECT count(*) FROM (SELECT * FROM assignment WHERE ruleset IN ('undone', 'taken-twice') EXCEPT SELECT * FROM alone);
  SELECT count(*) FROM (SELECT * FROM alone EXCEPT SELECT * FROM assignment);
  SELECT (SELECT count(*) FROM alone) - count(*) FROM assignment WHERE ruleset IN ('undone', 'taken-twice')"
"$CKPTDB_BIN" "SELECT * FROM assignment_rows('undone', 1, NULL)"
"$CKPTDB_BIN" "SELECT new_name, ruleset, source_id, target_id FROM assignment_rows('undone', 1, 2)"
"$CKPTDB_BIN" "SELECT count(*), sum(t.name = a.old_name AND t.checkpoint_id = a.source_id AND t.dtype IS a.dtype)
  FROM assignment a JOIN tensor t ON t.id = a.tensor_id WHERE a.ruleset = 'undone' AND a.source_id < 20"
echo "-- a large source is listed once"
python3 - <<'END'
import json
def names(file, names):
    json.dump({"ckptdb": "names", "tensors": {n: {"dtype": None, "shape": []} for n in names}}, open(file, "w"))
names("large.json", ["old/%d" % i for i in range(1001)])
names("wanted.json", ["new/%d" % i for i in range(3)])
END
"$CKPTDB_BIN" import large.json wanted.json 2>&1
echo '{"dialect": "t5x-assignment", "rules": [["new/(.*)", "no/\\1"]]}' >large.map
"$CKPTDB_BIN" map load large large.map
"$CKPTDB_BIN" --list "SELECT a.new_name, length(a.error), substr(a.error, 1, 90)
  FROM checkpoint s, checkpoint t JOIN assignment a ON a.source_id = s.id AND a.target_id = t.id
  WHERE ruleset = 'large' AND s.path GLOB '*/large.json' AND t.path GLOB '*/wanted.json'
   AND a.status = 'error'"
echo "-- sources of one layout: each gives its own tensors, together and alone"
for step in 1 2 3; do
    echo '{"ckptdb": "names", "tensors": {"a": {"dtype": "float32", "shape": [2]}, "b": {"dtype": "int8", "shape": []}}}' >"same_$step.json"
done
"$CKPTDB_BIN" import same_1.json same_2.json same_3.json 2>&1
echo '{"dialect": "t5x-assignment", "rules": [["new/(.*)", "old/\\1"]], "options": {"require_all": false}}' >same.map
"$CKPTDB_BIN" map load same same.map
"$CKPTDB_BIN" --list "SELECT s.path GLOB '*/same_*', a.new_name, a.dtype, a.status, count(*),
    sum(tensor_checkpoint(a.tensor_id) = a.source_id AND tensor_name(a.tensor_id) = a.old_name)
  FROM assignment a JOIN checkpoint s ON s.id = +a.source_id
  WHERE a.ruleset = 'same' AND s.path GLOB '*/same_*'
   AND a.target_id = (SELECT id FROM checkpoint WHERE path GLOB '*/same_2.json') GROUP BY 1, 2, 3, 4"
"$CKPTDB_BIN" --list "SELECT a.new_name, tensor_checkpoint(a.tensor_id) = a.source_id
  FROM assignment a WHERE a.ruleset = 'same'
   AND a.source_id = (SELECT id FROM checkpoint WHERE path GLOB '*/same_3.json')
   AND a.target_id = (SELECT id FROM checkpoint WHERE path GLOB '*/same_1.json')"
