# Rule sets change under statements: what a view says is what the rows say now.
echo '{"ckptdb": "names", "tree": {"a": "?", "b": "?"}}' >n.json
"$CKPTDB_BIN" import n.json 2>/dev/null
cat >steps.sql <<'END'
.headers off
CREATE TEMP VIEW now AS
  SELECT old_name, status, new_name, dtype, error FROM translation WHERE ruleset = 'r';
SELECT '-- no rules';
INSERT INTO ruleset(name, dialect) VALUES ('r', 't5x-translator');
SELECT * FROM now;
SELECT '-- one rule';
INSERT INTO rule(ruleset, ord, pattern, replacement) VALUES ('r', 5, 'a', 'one');
SELECT * FROM now;
BEGIN;
UPDATE rule SET replacement = 'two' WHERE ruleset = 'r';
SELECT '-- inside a transaction';
SELECT * FROM now;
SAVEPOINT s;
INSERT INTO rule(ruleset, ord, pattern, replacement) VALUES ('r', 4, '.', 'any');
SELECT '-- inside a savepoint';
SELECT * FROM now;
ROLLBACK TO s;
SELECT '-- the savepoint taken back';
SELECT * FROM now;
ROLLBACK;
SELECT '-- all taken back';
SELECT * FROM now;
SELECT '-- renamed';
UPDATE ruleset SET name = 'q' WHERE name = 'r';
SELECT count(*) FROM now;
SELECT count(*) FROM rule WHERE ruleset = 'q';
UPDATE ruleset SET name = 'r' WHERE name = 'q';
SELECT '-- a bad pattern is met where it is tried, and never fails the query';
INSERT INTO rule(ruleset, ord, pattern, replacement) VALUES ('r', 6, '(', 'x');
SELECT * FROM now;
SELECT '-- a bad template, where its pattern matches';
UPDATE rule SET pattern = 'b', replacement = '\9' WHERE ruleset = 'r' AND ord = 6;
SELECT * FROM now;
SELECT '-- steps';
UPDATE rule SET replacement = '\g<v>', compute = '[["v", "table", "t", "\\g<0>"]]'
  WHERE ruleset = 'r' AND ord = 6;
SELECT * FROM now;
UPDATE ruleset SET options = '{"tables": {"t": {"b": "found", "c": null, "l": [1, 2]}}}'
  WHERE name = 'r';
SELECT * FROM now;
UPDATE ruleset SET options = '{"tables": {"t": {"b": "early", "b": "late"}}}' WHERE name = 'r';
SELECT * FROM now;
UPDATE rule SET compute = '[["v", "shift", "1"]]' WHERE ruleset = 'r' AND ord = 6;
SELECT * FROM now;
UPDATE rule SET compute = '["v"]' WHERE ruleset = 'r' AND ord = 6;
SELECT * FROM now;
UPDATE rule SET compute = '[[]]' WHERE ruleset = 'r' AND ord = 6;
SELECT * FROM now;
SELECT '-- operations';
UPDATE rule SET compute = NULL, replacement = 'c', ops = '[["cast", "bfloat16"]]'
  WHERE ruleset = 'r' AND ord = 6;
SELECT * FROM now;
UPDATE rule SET ops = '[["cast", "float33"]]' WHERE ruleset = 'r' AND ord = 6;
SELECT * FROM now;
UPDATE rule SET ops = '[["fold", 1]]' WHERE ruleset = 'r' AND ord = 6;
SELECT * FROM now;
UPDATE rule SET ops = '["cast"]' WHERE ruleset = 'r' AND ord = 6;
SELECT * FROM now;
SELECT '-- other dialects have no rows';
UPDATE ruleset SET dialect = 'kauldron' WHERE name = 'r';
SELECT count(*) FROM now;
SELECT rule_match('r', 'a');
SELECT rule_match('none', 'a');
SELECT '-- shipped, until it is edited';
SELECT name, shipped <> 0 FROM ruleset WHERE name IN ('r', 't5_to_t5x') ORDER BY name;
DELETE FROM rule WHERE ruleset = 't5_to_t5x' AND ord = 9;
SELECT name, shipped <> 0 FROM ruleset WHERE name IN ('r', 't5_to_t5x') ORDER BY name;
DELETE FROM ruleset WHERE name = 't5_to_t5x';
SELECT count(*) FROM rule WHERE ruleset = 't5_to_t5x';
END
"$CKPTDB_BIN" --keep-going -f steps.sql
echo "-- one that is gone comes back with the next import, and can be edited"
"$CKPTDB_BIN" import n.json 2>/dev/null
"$CKPTDB_BIN" -c "SELECT name, shipped <> 0 FROM ruleset WHERE name IN ('r', 't5_to_t5x') ORDER BY name" \
    -c "UPDATE rule SET pattern = 'mine' WHERE ruleset = 't5_to_t5x' AND ord = 1"
echo "-- an edited one stays"
"$CKPTDB_BIN" import n.json 2>/dev/null
"$CKPTDB_BIN" -c "SELECT pattern FROM rule WHERE ruleset = 't5_to_t5x' AND ord = 1"
echo "-- another connection edits"
python3 - "$CKPTDB_BIN" "$CKPTDB" <<'END'
import sqlite3
import subprocess
import sys

shell = subprocess.Popen(
    [sys.argv[1], "-d", sys.argv[2]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)


def ask():
    shell.stdin.write("SELECT rule_replace('t5_to_t5x', 'mine');\n")
    shell.stdin.flush()
    print(shell.stdout.readline().strip(), flush=True)


ask()
other = sqlite3.connect(sys.argv[2])
other.execute("UPDATE rule SET replacement = 'theirs' WHERE ruleset = 't5_to_t5x' AND ord = 1")
other.commit()
ask()
shell.stdin.close()
shell.wait()
END
echo '-- a name that no rule set has is no map without results, nor is one that fills a model one from old names to new'
"$CKPTDB_BIN" "INSERT INTO ruleset(name, dialect) VALUES ('fills', 't5x-assignment')"
for call in "diff(1, 1, 'none')" "diff(1, 1) WHERE ruleset = 'none'" "mapped(1, 'none')" "map_file('none', 'json')" \
    "map_inverse('none', 1)" "map_check('none', 1)" "map_why(1, 'x', 0, 'none')" "map_why(1, 'x', 0, '')" \
    "translation_rows('none', 1)" "assignment_rows('none', 1, 1)" "conversion_rows('none', 1)" \
    "diff(1, 1, 'fills')" "mapped(1, 'fills')" "diff(1, 1, 'llama_hf_to_gguf')" \
    "restore_rows('none', 1, 0, 0)" "conversion_counts('none')" "translation WHERE ruleset = 'none'"; do
    echo "$call: $("$CKPTDB_BIN" --list "SELECT count(*) FROM $call" 2>&1)"
done
