# tensor: its rows are the view's, also of layouts without packed columns, and damage to these is told.
mkdir m && cp -r "$TESTS/fixtures/real/safetensors/llama_tiny/data" m/llama && chmod -R u+w m
cp "$TESTS"/fixtures/safetensors/y_dtypes.safetensors "$TESTS"/fixtures/npz/*.npz m/ 2>/dev/null
"$CKPTDB_BIN" import m 2>/dev/null
other() { python3 -c 'import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute(sys.argv[2]); db.commit()' "$CKPTDB" "$1"; }
alike() {
    for where in 1 "file IS NULL" "storage <> 'range'" "storage IN ('range', 'none') AND rank = 1" "elements = 1" \
        "shape LIKE '[4%' AND name LIKE '%a%'" "id IN (SELECT id FROM tensor ORDER BY shape, id LIMIT 9)"; do
        "$CKPTDB_BIN" --readonly "SELECT (SELECT count(*) FROM tensor WHERE $where) = (SELECT count(*) FROM main.tensor WHERE $where),
            (SELECT count(*) FROM (SELECT * FROM tensor WHERE $where EXCEPT SELECT * FROM main.tensor WHERE $where))" ||
            echo "$where"
    done | sort | uniq -c
}
"$CKPTDB_BIN" --readonly "SELECT count(*) > 1 FROM _layout_columns; SELECT count(*) = 2, sum(n) > 39 FROM (SELECT storage, count(*) AS n
    FROM tensor WHERE checkpoint LIKE '%index.json' OR file IS NULL GROUP BY storage)"
alike
echo '-- without the columns'
other 'DELETE FROM _layout_columns'
alike
echo '-- without their table'
other 'DROP TABLE _layout_columns'
alike
echo '-- of another layout, and damaged'
"$CKPTDB_BIN" forget '*' 2>/dev/null
"$CKPTDB_BIN" import m 2>/dev/null
for value in "(SELECT columns FROM _layout_columns ORDER BY length(columns) DESC LIMIT 1)" "x'00000000'" "substr(columns, 2)"; do
    other "UPDATE _layout_columns SET columns = $value WHERE id = (SELECT id FROM _layout_columns ORDER BY length(columns) LIMIT 1)"
    "$CKPTDB_BIN" "SELECT count(*) FROM tensor WHERE elements = 1"
    echo "$?"
done
