# TorchScript: tensors that a state dict leaves out are marked; the weights of a frozen module are constants of its code.
# The archives were written by torch 2.13: a module with buffers, parameters and plain attributes; torch.jit.freeze().
cp "$TESTS/fixtures/torch/n_frozen_linear.pt" frozen.pt
cp "$TESTS/fixtures/torch/y_script_attributes.pt" attributes.pt
"$CKPTDB_BIN" import frozen.pt attributes.pt
echo "status $?"
"$CKPTDB_BIN" 'SELECT checkpoint, name, dtype, shape, storage FROM tensor'
"$CKPTDB_BIN" "SELECT checkpoint, key, value FROM metadata WHERE key GLOB '*.state_dict'"
"$CKPTDB_BIN" get frozen.pt constants.2
"$CKPTDB_BIN" verify
echo '--- numbers beyond 64 bits with a sign: decimal text'
python3 - <<'PY'
from make_torch import Call, Raw, op, saved, tensor
def u64(value):
    dtype = Call("numpy.dtype", "u8", False, True, state=(3, "<", None, None, None, -1, -1, 0))
    return Call("numpy.core.multiarray.scalar", dtype, value.to_bytes(8, "little"))
open("numbers.pt", "wb").write(saved({
    "w": tensor(), "most": u64(2**64 - 1), "more": u64(2**63), "fits": u64(2**63 - 1), "list": [u64(2**64 - 1), 1],
    "text": Raw(b"I9223372036854775807\n"), "least": Raw(b"L-9223372036854775808L\n"), "long": Raw(b"I9223372036854775808\n")}))
PY
"$CKPTDB_BIN" import numbers.pt
"$CKPTDB_BIN" "SELECT key, value, typeof(value) FROM metadata WHERE checkpoint = 'numbers.pt' ORDER BY 1"
