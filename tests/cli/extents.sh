# The view extent, asked for all tensors at once, says what it says of each: the arrays of zarr and T5X
# have their chunks in files of their own, one array after another.
cp -r "$TESTS/fixtures/zarr/y_keys" "$TESTS/fixtures/zarr/y_sharded" "$TESTS/fixtures/t5x/y_two_arrays" \
    "$TESTS/fixtures/ocdbt/y_two" "$TESTS/fixtures/npz/y_deflated.npz" . 2>/dev/null
"$CKPTDB_BIN" import . 2>&1 | tail -n 1
all="SELECT tensor_id, ordinal, file, offset, stored, codec, origin, shape, strides FROM extent"
one="SELECT tensor_id, ordinal, e.file, e.offset, e.stored, codec, origin, e.shape, strides FROM tensor t CROSS JOIN extent e ON e.tensor_id = t.id"
"$CKPTDB_BIN" "SELECT count(*) > 40 FROM extent" "SELECT count(*) FROM ($all EXCEPT $one)" "SELECT count(*) FROM ($one EXCEPT $all)"
"$CKPTDB_BIN" "SELECT count(*) FROM extent e JOIN tensor t ON t.id = e.tensor_id WHERE e.file IS NULL AND t.storage <> 'inline'"
