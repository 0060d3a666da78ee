# Every output mode shows the same two rows, and no rows.
"$CKPTDB_BIN" import . >/dev/null 2>&1 # makes the catalog
rows="SELECT 1 AS id, 'a|b,\"c\"' AS text, NULL AS none, x'00ff' AS bytes, 0.1 AS real
      UNION ALL SELECT -20, 'naïve 日本', '', x'', 1e300 * 1e10"
for mode in box table csv tsv json jsonl markdown line list; do
    echo "--- $mode"
    "$CKPTDB_BIN" --$mode "$rows"
    "$CKPTDB_BIN" --$mode "SELECT 1 AS empty WHERE 0"
done
echo "--- plain"
"$CKPTDB_BIN" "$rows"
echo "--- headers"
"$CKPTDB_BIN" --header "SELECT 1 AS one, 2 AS two"
"$CKPTDB_BIN" --headers "SELECT 1 AS one, 2 AS two" # its name before
printf '{"ckptdb":"names","tensors":{"w":{"dtype":"float32","shape":[2]}}}' >m.json
"$CKPTDB_BIN" -d rows.db import m.json 2>/dev/null
"$CKPTDB_BIN" -d rows.db ls --header --columns id,name
"$CKPTDB_BIN" -d rows.db --no-header ls --header --columns id,name
printf '.ls --csv --no-header --columns id,name\n.tensors m.json --header\n.ls --columns id,name\n' | "$CKPTDB_BIN" -d rows.db
"$CKPTDB_BIN" -d rows.db get m.json w --header || echo "status $?"
echo "--- numbers"
"$CKPTDB_BIN" --json "SELECT 0.1 + 0.2 AS a, 1e22 AS b, 3.0 AS c, -1e999 AS d, 9007199254740993 AS e"
echo "--- control characters"
printf 'SELECT char(27) || "[31m" || char(10, 9, 0x9b) AS x\n' >script
for mode in box markdown json; do
    "$CKPTDB_BIN" --$mode -f script
done
for mode in csv tsv list; do
    "$CKPTDB_BIN" --$mode -f script | od -An -c
done
