# A catalog with rows of a layout that is not there: an import that would mix its own with them ends, and
# leaves all as it was.
mkdir one two
cp "$TESTS/fixtures/real/safetensors/tied/data/tied.safetensors" one
cp "$TESTS/fixtures/safetensors/y_dtypes.safetensors" two
"$CKPTDB_BIN" import one
for place in 0 2; do # the first row that it would write, and a later one
    echo "-- $place"
    sqlite3 "$CKPTDB" "INSERT INTO _layout_tensors(id, name, storage) VALUES ((2 << 24) + $place, 'foreign', 0)"
    "$CKPTDB_BIN" "SELECT count(*), sum(tensors) FROM checkpoint; SELECT count(*) FROM _layout_modules; SELECT count(*) FROM _layout_tensors" >before
    "$CKPTDB_BIN" import one two
    echo "status $?"
    "$CKPTDB_BIN" "SELECT count(*), sum(tensors) FROM checkpoint; SELECT count(*) FROM _layout_modules; SELECT count(*) FROM _layout_tensors" | cmp - before && echo 'as it was'
    sqlite3 "$CKPTDB" 'PRAGMA integrity_check; DELETE FROM _layout_tensors WHERE id >= 2 << 24'
done
"$CKPTDB_BIN" import one two
