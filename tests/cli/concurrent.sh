# Several at once: one makes the catalog, all fill it, nothing is there twice.
for i in 1 2 3 4; do
    mkdir -p "r$i"
    cp "$TESTS/fixtures/safetensors/y_dtypes.safetensors" "r$i/a.safetensors"
    cp "$TESTS"/fixtures/npy/y_*.npy "r$i"
done
for i in 1 2 3 4; do
    "$CKPTDB_BIN" import "r$i" r1 2>"err$i" || cat "err$i" &
done
wait
"$CKPTDB_BIN" import . 2>&1 | sed 's/[0-9][0-9]* unchanged/all unchanged/'
"$CKPTDB_BIN" 'SELECT count(*) = count(DISTINCT path), count(DISTINCT run) FROM checkpoint;
    SELECT count(*) = count(DISTINCT name) FROM names;
    SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> '"'ok'"
