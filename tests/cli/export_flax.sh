# A Flax msgpack file: nested maps, read back by the importer; what it cannot hold is refused.
try() {
    "$CKPTDB_BIN" "$@"
    local rc=$?
    [ $rc = 0 ] || echo "status $rc"
}
python3 - <<'PY'
import struct
from make_safetensors import save
save("model.safetensors", {
    "layers/0/w": ("F32", [2, 3], struct.pack("<6f", *range(6))), "layers/1/w": ("F32", [2, 3], struct.pack("<6f", *range(9, 15))),
    "layers/10/w": ("BF16", [2], b"\x80\x3f\x00\x40"), "layers-x": ("I64", [], struct.pack("<q", -1)),
    "empty": ("F32", [0, 3], b""), "x" * 31: ("U8", [1], b"a"), "x" * 32: ("U8", [1], b"b"),
    "long/" + "y" * 70000: ("BOOL", [2], b"\0\1"), "wide": ("U8", [300, 1000], bytes(range(250)) * 1200)})
save("inside.safetensors", {"a": ("U8", [1], b"a"), "a/b": ("U8", [1], b"b"), "ab": ("U8", [1], b"c")})
save("packed.safetensors", {"p": ("F4", [4], b"\x12\x34")})
PY
"$CKPTDB_BIN" import . 2>&1 | tail -n 1
try export model.safetensors model.msgpack
try import model.msgpack
try diff --bytes model.safetensors model.msgpack
od -An -tx1 -N 24 model.msgpack
echo '-- what no tree holds, and no NumPy'
try export inside.safetensors inside.msgpack
try export inside.safetensors some.msgpack --names '^a'
try export packed.safetensors packed.msgpack
try export packed.safetensors packed.msgpack --dtype float32
try import packed.msgpack
try get packed.msgpack
