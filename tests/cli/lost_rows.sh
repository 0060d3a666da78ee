# Rows that another program deleted: what is in no view any more is told, with the way out.
mkdir m && for name in a b c; do cp "$TESTS"/fixtures/safetensors/y_dtypes.safetensors m/$name.safetensors; done
cp -r "$TESTS/fixtures/real/safetensors/llama_tiny/data" m/llama
"$CKPTDB_BIN" import m 2>/dev/null
echo "-- elements that one or another condition finds"
values="tensor_values((SELECT id FROM tensor WHERE checkpoint = 'model.safetensors.index.json' AND name = 'model.norm.weight'))"
try "SELECT position, idx FROM $values WHERE position = 1 OR position = 3"
try "SELECT count(*) FROM tensor_values WHERE position = 1 OR position = 2"
echo "-- checkpoints that cannot be listed"
other() { python3 -c 'import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute(sys.argv[2]); db.commit()' "$CKPTDB" "$1"; }
other "DELETE FROM _labels WHERE name LIKE 'b%'"
try ls --columns name
other "DELETE FROM _layouts WHERE tensors > 20"
try ls --columns name
try --json ls nothing --columns name
