# ONNX: values from every holder, as onnx reads them.
cases=$TESTS/fixtures/onnx
value() { "$CKPTDB_BIN" get "$1" "$2"; }
for c in y_raw y_packed y_pieces y_int32_data y_int4; do cp "$cases/$c.onnx" .; done
cp "$cases"/y_sparse_*.onnx "$cases/y_raw_twice.onnx" .
cp -r "$cases/y_external" ext
"$CKPTDB_BIN" import .
for c in y_raw y_packed y_pieces y_int32_data y_int4; do
    echo "-- $c"
    "$CKPTDB_BIN" "SELECT name, dtype, position, value FROM tensor t, tensor_values(t.id) WHERE path LIKE '%/$c.onnx' ORDER BY name, position LIMIT 6"
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
echo '-- ... in links: out of the folder is refused, below it and into the blobs of a cache is read'
mkdir -p links/out links/below/data links/hub/snapshots/1 links/hub/blobs links/else
data=links/else/w.bin
cp "$cases/y_external/w.bin" $data
for c in out below hub/snapshots/1; do cp "$cases/y_external/m.onnx" links/$c/m.onnx; done
ln -s ../else/w.bin links/out/w.bin
cp $data links/below/data/1 && ln -s data/1 links/below/w.bin
cp $data links/hub/blobs/f00d && ln -s ../../blobs/f00d links/hub/snapshots/1/w.bin
mv links/hub/snapshots/1/m.onnx links/hub/blobs/c0de && ln -s ../../blobs/c0de links/hub/snapshots/1/m.onnx
mkdir links/hub/snapshots/1/onnx # as exporters put them: a folder in the snapshot
ln -s ../../../blobs/c0de links/hub/snapshots/1/onnx/m.onnx && ln -s ../../../blobs/f00d links/hub/snapshots/1/onnx/w.bin
"$CKPTDB_BIN" -d links.db import links
"$CKPTDB_BIN" -d links.db "SELECT replace(path, '$PWD/', ''), severity, code, message FROM issue"
"$CKPTDB_BIN" -d links.db "SELECT count(*) FROM tensor WHERE storage = 'range'"
echo '-- texts of more bytes than a name may have'
python3 - <<'PY'
def varint(n): return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
def field(number, data): return varint(number << 3 | 2) + varint(len(data)) + data
tensor = b"\x08\x02\x10\x02" + field(8, b"w") + field(9, b"ab")
value = field(1, b"labels") + field(2, b"x" * 2000000)
open("long.onnx", "wb").write(b"\x08\x09" + field(6, b"d" * 1048577) + field(14, value) + field(7, field(5, tensor)))
PY
"$CKPTDB_BIN" -d long.db import long.onnx
"$CKPTDB_BIN" -d long.db "SELECT key, length(value) FROM metadata WHERE key IN ('doc_string', 'labels')"
"$CKPTDB_BIN" -d long.db "SELECT name, dtype, shape FROM tensor"
echo '-- keys that are no UTF-8; a sparse tensor of a kind that is not read'
rm -f "$CKPTDB"
cp "$cases/n_unsupported_sparse_int4.onnx" .
python3 - "$cases" <<'PY'
import sys
raw = open(f"{sys.argv[1]}/y_raw.onnx", "rb").read()
open("keys.onnx", "wb").write(raw + b"".join(b"\x72" + bytes([len(k) + 5]) + b"\x0a" + bytes([len(k)]) + k + b"\x12\x01v"
                                             for k in (b"\xff\xfe", b"a\0b", "h\u00e9".encode())))
PY
"$CKPTDB_BIN" import n_unsupported_sparse_int4.onnx keys.onnx
"$CKPTDB_BIN" "SELECT name, dtype, shape, storage, (SELECT json_group_array(value) FROM tensor_values(t.id)) FROM tensor t"
"$CKPTDB_BIN" "SELECT key, value FROM metadata WHERE value = 'v'"
