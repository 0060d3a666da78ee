# ONNX: values from every holder, as onnx reads them.
cases=$TESTS/fixtures/onnx
value() { "$CKPTDB_BIN" get "$1" "$2"; }
for c in y_raw y_packed y_pieces y_int32_data y_int4; do cp "$cases/$c.onnx" .; done
cp "$cases"/y_sparse_*.onnx "$cases/y_raw_twice.onnx" .
cp -r "$cases/y_external" ext
"$CKPTDB_BIN" import .
for c in y_raw y_packed y_pieces y_int32_data y_int4; do
    echo "-- $c"
    "$CKPTDB_BIN" "SELECT name, dtype, position, value FROM tensor t, tensor_values(t.id) WHERE checkpoint LIKE '%/$c.onnx' ORDER BY name, position LIMIT 6"
done
echo '-- raw_data twice: the last counts, as in protobuf'
value y_raw_twice.onnx w
echo '-- sparse: values and indices in raw bytes or in lists, in an initialiser or a constant'
value y_sparse_flat.onnx w
value y_sparse_packed_values.onnx w
value y_sparse_varints.onnx w
value y_sparse_constant.onnx c
echo '-- external data'
value ext/m.onnx w
echo '-- ... that changed since'
sleep 0.01 && printf 'head0123456789abcdef' >ext/w.bin
value ext/m.onnx w
rm ext/w.bin
value ext/m.onnx w
