# GGUF: quantised tensors as numbers, whole, in slices, and in files; a split model as one.
real=$TESTS/fixtures/real/gguf
"$CKPTDB_BIN" import "$real/quantised" "$real/split" "$real/kv_types"
echo '-- shapes are logical, bytes count blocks'
"$CKPTDB_BIN" "SELECT name, dtype, shape, nbytes, stored FROM tensor WHERE checkpoint_id = 2"
echo '-- a list is one fact'
"$CKPTDB_BIN" "SELECT key, length(value), json_array_length(value) FROM metadata WHERE key = 'tokenizer.ggml.tokens'"
echo '-- slices that are not whole blocks'
"$CKPTDB_BIN" get quantised.gguf q8_3d --slice '1, 1:3, 3:9'
"$CKPTDB_BIN" get quantised.gguf q8_3d --slice '1, 1:3, 3:9' --dtype float32 --format raw | od -An -f
"$CKPTDB_BIN" get quantised.gguf q8_3d --slice '1, ::-1, ::-9' --dtype float16 --format npy -o a.npy
"$CKPTDB_BIN" import a.npy && "$CKPTDB_BIN" get a.npy a
"$CKPTDB_BIN" "SELECT position, value FROM tensor_values((SELECT id FROM tensor WHERE name = 'q8_3d'), 30, 4)"
echo '-- raw blocks, and what only whole blocks can give'
"$CKPTDB_BIN" get quantised.gguf q8_3d --slice 1 --format raw | wc -c
"$CKPTDB_BIN" get quantised.gguf q8_3d --slice '1, :, :8' --format raw | wc -c
echo '-- a split model is one checkpoint'
"$CKPTDB_BIN" "SELECT format, tensors, files FROM checkpoint WHERE path LIKE '%tiny%'"
"$CKPTDB_BIN" "SELECT name, replace(file, rtrim(file, replace(file, '/', '')), '') FROM tensor WHERE path LIKE '%tiny%'"
echo '-- exports: dequantised, or refused'
"$CKPTDB_BIN" export quantised.gguf x.safetensors --names '^q8'
"$CKPTDB_BIN" export quantised.gguf x.safetensors --names '^q8' --dtype float16 && "$CKPTDB_BIN" import x.safetensors
"$CKPTDB_BIN" get x.safetensors q8_3d --slice '1, 1:3, 3:9'
echo '-- tensors that overlap, with an empty one inside the first'
python3 - <<'PY'
import struct
def text(t): return struct.pack("<Q", len(t)) + t.encode()
rows = [("a", 64, 0), ("none", 0, 32), ("b", 16, 64)]
head = b"GGUF" + struct.pack("<IQQ", 3, len(rows), 0)
head += b"".join(text(n) + struct.pack("<IQIQ", 1, count, 0, at) for n, count, at in rows)
open("overlap.gguf", "wb").write(head + bytes(-len(head) % 32) + bytes(512))
PY
"$CKPTDB_BIN" import overlap.gguf
