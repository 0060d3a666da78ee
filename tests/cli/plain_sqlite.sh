# What other SQLite programs see of a catalog, without the extension.
command -v sqlite3 >/dev/null || { echo "SKIP: there is no sqlite3"; exit 77; }
"$CKPTDB_BIN" import "$TESTS/fixtures/safetensors/y_dtypes.safetensors" 2>/dev/null
echo "--- every view that needs no functions of ours, with trusted_schema off"
for view in checkpoint tensor file metadata node issue ruleset rule by_dtype by_module by_folded_module largest; do
    sqlite3 "$CKPTDB" "PRAGMA trusted_schema=off" "SELECT count(*) >= 0 FROM $view" >/dev/null &&
        echo "$view"
done
sqlite3 "$CKPTDB" "PRAGMA trusted_schema=off" \
    "SELECT rank, shape FROM tensor GROUP BY 1, 2 ORDER BY 1 LIMIT 3"
echo "--- tables are strict"
sqlite3 "$CKPTDB" "SELECT name FROM pragma_table_list
    WHERE schema = 'main' AND type = 'table' AND NOT strict AND name NOT LIKE 'sqlite%'"
echo "--- what should be JSON is"
sqlite3 "$CKPTDB" "INSERT INTO ruleset(name, dialect, options) VALUES ('m', 't5x-translator', '{')"
sqlite3 "$CKPTDB" "INSERT INTO ruleset(name, dialect) VALUES ('m', 't5x-translator')"
sqlite3 "$CKPTDB" "UPDATE ruleset SET options = 'x' WHERE name = 'm'"
sqlite3 "$CKPTDB" "INSERT INTO rule(ruleset, ord, pattern, ops) VALUES ('m', 1, 'a', 'b')"
echo "--- look-ups do not scan"
for condition in "tensor WHERE checkpoint = 'p' AND name = 'n'" "checkpoint c JOIN tensor t ON t.checkpoint_id = c.id WHERE c.name = 'p'" "tensor WHERE path = 'p' AND name = 'n'" "tensor WHERE name = 'n'" \
    "tensor WHERE checkpoint_id = 1 AND name = 'n'" "file WHERE checkpoint_id = 1" \
    "metadata WHERE checkpoint_id = 1" "by_module WHERE checkpoint_id = 1" "by_folded_module WHERE checkpoint_id = 1" \
    "issue WHERE checkpoint_id = 1"; do
    sqlite3 "$CKPTDB" "EXPLAIN QUERY PLAN SELECT * FROM $condition" | grep -c SCAN
done
true
echo "--- the views that need the extension say so, and with it they answer"
for view in $(sqlite3 "$CKPTDB" "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name"); do
    if why=$(sqlite3 "$CKPTDB" "SELECT * FROM $view LIMIT 0" 2>&1); then
        grep -q "\`$view\`†" "$TESTS/../schema/README.md" && echo "$view answers, but has a dagger"
        continue
    fi
    grep -oE 'no such (table|function).*' <<<"$why"
    grep -q "\`$view\`†" "$TESTS/../schema/README.md" || echo "$view has no dagger"
    case $view in extent | optimizer_state) where='WHERE 0' ;; *) where= ;; esac
    bash "$TESTS/plain_sqlite.sh" "$CKPTDB" "SELECT count(*) >= 0 FROM $view $where"
done
python3 - "$CKPTDB" <<'PY' # which has no REGEXP of its own
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
try:
    db.execute("SELECT name FROM tensor WHERE name REGEXP 'a'").fetchall()
except sqlite3.OperationalError as why:
    print(why)
PY
echo '--- a second copy while a statement goes on: it is told, and what it had registered by then works'
mkdir second && cp "$(dirname "$(realpath "$CKPTDB_BIN")")/ckptdb.so" second/
printf "SELECT load_extension('%s');\n" "$PWD/second/ckptdb" "$(dirname "$(realpath "$CKPTDB_BIN")")/ckptdb" >again.sql
echo "SELECT regexp_capture('b(.)', 'abc', 1), dtype_bits('bfloat16');" >>again.sql
bash "$TESTS/plain_sqlite.sh" :memory: '.read again.sql' 2>&1
echo '--- a host that lets nobody write schemas has the tables, and still lets nobody'
bash "$TESTS/plain_sqlite.sh" :memory: ".open $CKPTDB" '.dbconfig defensive on' \
    ".load $(dirname "$(realpath "$CKPTDB_BIN")")/ckptdb" "SELECT count(*) FROM temp.sqlite_schema" \
    "SELECT count(*) FROM checkpoint" "PRAGMA writable_schema = ON" "DELETE FROM temp.sqlite_schema" 2>&1
