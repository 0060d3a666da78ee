# What each format cannot hold is refused before the first byte: the tensor, why, and what helps. Names: export_names.
mkdir out
python3 - <<'P'
import io, struct, zipfile
import make_safetensors, make_torch
head = b"{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }"
head += b" " * (-(len(head) + 11) % 64) + b"\n"
with zipfile.ZipFile("words.npz", "w") as z:
    z.writestr("words.npy", b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head + "abcd".encode("utf-32-le"))
make_safetensors.save("odd.safetensors", {
    "f4": ("F4", [2], b"\1"), "f6": ("F6_E2M3", [4], b"\1\2\3"), "e8": ("F8_E8M0", [1], b"\1"), "c": ("C64", [1], bytes(8)),
    "u2": ("U16", [1], bytes(2)), "u8": ("U64", [1], bytes(8)), "bool": ("BOOL", [1], b"\1"),
    "deep": ("F32", [1] * 64, bytes(4))})
make_safetensors.save("leaf.safetensors", {"a": ("F32", [1], bytes(4)), "a/b": ("F32", [1], bytes(4))})
P
"$CKPTDB_BIN" import words.npz odd.safetensors leaf.safetensors 2>&1
for to in safetensors torch dcp gguf npz zarr zarr3 hdf5 flax t5x orbax tf; do
    echo "--- $to"
    for from in words.npz odd.safetensors leaf.safetensors; do
        "$CKPTDB_BIN" export $from "out/x.$to" --format $to --dry-run 2>&1 >/dev/null | sed 's/^ckptdb: //; /nothing was written/d; s/^/  /'
    done
done
ls out
echo '--- sparse: a kind that is not read is refused by every format, the others are written dense'
cp "$TESTS"/fixtures/onnx/n_unsupported_sparse_int4.onnx "$TESTS"/fixtures/onnx/y_sparse_pairs.onnx .
"$CKPTDB_BIN" import n_unsupported_sparse_int4.onnx y_sparse_pairs.onnx >/dev/null 2>&1
for to in safetensors torch dcp gguf npz zarr zarr3 hdf5 flax t5x orbax tf; do
    "$CKPTDB_BIN" export n_unsupported_sparse_int4.onnx "out/x.$to" --format $to --dry-run 2>&1
    "$CKPTDB_BIN" export y_sparse_pairs.onnx "out/x.$to" --format $to --no-meta >/dev/null 2>&1 || echo "$to: status $?"
done | sort | uniq -c | sed 's/^ *//'
"$CKPTDB_BIN" import out >/dev/null 2>&1
"$CKPTDB_BIN" --list "SELECT count(*), count(DISTINCT tensor_sha256(id)) FROM tensor
    WHERE dtype = 'float32' AND (path LIKE '%/out/x.%' OR path LIKE '%/y_sparse_pairs.onnx')"
