# The command `map`: files become rule sets, or are refused whole.
export STATUS=always
load() { # TEXT: a file that is refused
    echo "$1" >bad.json
    echo "$ map load bad: $1"
    "$CKPTDB_BIN" map load bad bad.json
    echo "status $?"
}
try map list
cat >move.json <<'END'
{"dialect": "t5x-assignment", "options": {"require_all": false},
 "rules": [["target/(.*)/new", "\\1/old"], ["target/fresh", null], ["never", "x"],
           ["cast/(.*)", "\\g<n>", {"compute": [["n", "int", "\\1"]], "ops": [["cast", "int8"]]}]]}
END
try map load move move.json
try map list
try map show move
echo '{"ckptdb": "names", "tree": {"a": {"old": "float32[2]"}, "b": {"old": null},
  "7": "float32[]", "rest": "float32[3]"}}' >source.json
echo '{"ckptdb": "names", "tree": {"target": {"a": {"new": "?"}, "b": {"new": "?"}, "fresh": "?"},
  "cast": {"007": "?"}, "absent": "?"}}' >model.json
echo '{"ckptdb": "names", "tree": {"target": {"c": {"new": "?"}}}}' >other.json
"$CKPTDB_BIN" import source.json model.json other.json 2>/dev/null
try map run move source.json --target model.json
try map run move source.json --target other.json
try map run move source.json
try map run t5_to_t5x source.json
try map run t5_to_t5x source.json --target model.json
try map run t5_to_t5x nothing.json
try map run nothing source.json
try map show nothing
echo "-- SQL, under any name; the same set again, from stdin"
cat >two.sql <<'END'
INSERT INTO ruleset(name, dialect) VALUES ('two', 't5x-translator');
INSERT INTO rule(ruleset, ord, pattern, replacement) VALUES ('two', 1, 'a', 'b');
END
try map load two two.sql
try map load t5_to_t5x two.sql
try --readonly map list
sed 's/two/three/' two.sql | "$CKPTDB_BIN" map load two -
try map list
echo "-- refused"
load ''
load 'SELECT 1'
load 'ATTACH "x.db" AS x'
load 'CREATE TABLE'
load '{'
load '{"rules": []}'
load '{"dialect": "t5x-translator"}'
load '{"dialect": "t5x-translator", "rules": {}}'
load '{"dialect": "t5x-translator", "rules": [], "options": 1}'
load '{"dialect": "t5x-translator", "rules": [], "tables": {}}'
load '{"dialect": "t5x-translator", "rules": [["a", "b"], ["a"]]}'
load '{"dialect": "t5x-translator", "rules": [["a", 1]]}'
load '{"dialect": "t5x-translator", "rules": [[null, "b"]]}'
load '{"dialect": "t5x-translator", "rules": [["a", "b", {"steps": []}]]}'
load '{"dialect": "t5x-translator", "rules": [["a", "b", {"ops": {}}]]}'
load '{"dialect": "pytorch", "rules": []}'
echo "-- refused: a rule that cannot work, with its number and the place in it; options that nobody reads"
t='{"dialect": "t5x-translator", "rules": [["fine", "x"], '
load "${t}[\"a(\", \"b\"]]}"
load "${t}[\"(a)\", \"\\\\1/\\\\2\"]]}"
load "${t}[\"(a)\", \"\\\\g<name>\"]]}"
load "${t}[\"a\", \"\\\\g<n>\", {\"compute\": [[\"n\", \"int\", \"\\\\1\"]]}]]}"
load "${t}[\"a\", \"b\", {\"compute\": [[\"n\", \"floor\", \"1\"]]}]]}"
load "${t}[\"a\", \"b\", {\"compute\": [[\"n\", \"sub\", \"[\", \"\", \"a\"]]}]]}"
load "${t}[\"a\", \"b\", {\"ops\": [[\"fold\", 1]]}]]}"
load "${t}[\"a\", \"b\", {\"ops\": [[\"cast\", \"float33\"]]}]]}"
load "${t}[\"a\", \"b\", {\"ord\": 1}]]}"
load '{"dialect": "t5x-translator", "options": {"strict": true}, "rules": []}'
load '{"dialect": "t5x-assignment", "options": {"require_all": "no"}, "rules": []}'
load '{"dialect": "orbax", "options": {"mode": "Strict"}, "transforms": {}}'
load '{"dialect": "orbax", "transforms": {"a(": {"original_key": "b"}}}'
load '{"dialect": "orbax", "transforms": {"a": {"use_fallback": "yes"}}}'
load '{"^model\\.(": "x"}'
load '{"^model\\.": "\\1"}'
load '{"new_to_old": {"a": "b"}, "ignore_keys": []}'
load '{"new_to_old": {"a": "b", "c[": "d"}}'
load '{"new_to_old": {"a": "b..c"}}'
load '{"dialect": "kauldron", "rules": [["a.*", "b"]]}'
load '{"dialect": "kauldron", "options": {"ignore_model_keys": ["**.a", "a["]}, "rules": []}'
load '{"dialect": "kauldron", "options": {"ignore_restored_keys": ".a"}, "rules": []}'
load '{"dialect": "kauldron", "options": {"ignore_restored_keys": [5]}, "rules": []}'
load 'assignment_map = [("a", "b"), ("(", None)]'
load "INSERT INTO ruleset(name, dialect) VALUES ('m', 'convert'); INSERT INTO rule(ruleset, ord, pattern) VALUES ('m', 7, '*a');"
echo "-- refused: no JSON, with the line, the column and the usual cause"
load '{"dialect": "t5x-translator",
 "rules": [["a", "b"],]}'
load '{"dialect": "t5x-translator",
 "rules": [["größe\d", "b"]]}'
load '{"dialect": "t5x-translator" "rules": []}'
load "{'dialect': 1}"
load '{"dialect": "t5x-translator", "rules": [["a", None]]} # mine'
load '{"dialect": "t5x-translator", // mine
 "rules": []}'
load '{"dialect": "t5x-translator", "rules": [("a", "b")]}'
load '{"dialect": "t5x-translator", "rules": [["a", "b"] ["c", "d"]]}'
load '{"dialect": "t5x-translator", "rules": [["a", "b'
load '{"dialect": "t5x-translator", "options": {"require_all": True}}'
load '{} {}'
try map list
try map load missing missing.json
try map load folder .
try map
try map frob
try map load two
try map list extra
try map list --target x
try --readonly map load two two.sql
try map load '' two.sql
try map infer source.json source.json --name ''
try optimizer load '' two.sql
echo "-- a set that another program wrote, of a dialect that is not known here"
"$CKPTDB_BIN" "INSERT INTO ruleset(name, dialect) VALUES ('foreign', 'later')"
"$CKPTDB_BIN" "UPDATE ruleset SET dialect = 'later' WHERE name = 'two'"
python3 -c "import sqlite3; db = sqlite3.connect('$CKPTDB'); db.execute('INSERT INTO ruleset(name, dialect) VALUES (\'foreign\', \'later\')'); db.commit()"
for command in run check; do try map $command foreign source.json; done
try map why source.json step --map foreign
try export source.json foreign.npz --map foreign
"$CKPTDB_BIN" map delete foreign
echo "-- in the shell"
printf '.map list\n.map run two source.json\n' | "$CKPTDB_BIN"
