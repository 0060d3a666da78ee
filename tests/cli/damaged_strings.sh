# Strings of TensorFlow whose bytes are not what was written: whoever asks for all is told.
cp -r "$TESTS/fixtures/tf_bundle/y_strings" here
ask() {
    rm -f "$CKPTDB"
    "$CKPTDB_BIN" import here
    "$CKPTDB_BIN" --csv -c "SELECT json_group_array(value) AS all_ FROM tensor t, tensor_values(t.id) WHERE t.name = 's'"
    echo "values: status $?"
    "$CKPTDB_BIN" --csv -c "SELECT value FROM tensor t, tensor_values(t.id, 0, 1) WHERE t.name = 's'"
    echo "one value: status $?"
    "$CKPTDB_BIN" get here/m s
    echo "get: status $?"
}
ask
echo '--- their last letter differs'
printf '~' | dd of="$(echo here/*.data-*)" bs=1 seek=11 conv=notrunc status=none
ask
