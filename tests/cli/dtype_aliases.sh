# A dtype by what other programs call it: wherever a command or a function takes one.
python3 - <<'PY'
import json, struct
head = json.dumps({"h": {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]},
                   "i": {"dtype": "I64", "shape": [1], "data_offsets": [4, 12]}}).encode()
open("m.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + struct.pack("<2eq", 1.5, -2, 7))
PY
"$CKPTDB_BIN" import m.safetensors
for each in bf16 BF16 bfloat16 BFloat16 torch.bfloat16 jnp.bfloat16 fp16 F16 half torch.half np.float16 '<f2' fp32 f32 F32 float single \
    torch.float32 np.float32 numpy.float32 '<f4' '>f4' DT_FLOAT tf.float32 FLOAT32 double np.double np.float '=f8' F64 c64; do
    "$CKPTDB_BIN" get m.safetensors h --dtype "$each" -o h.npy && printf '%s ' "$each" && "$CKPTDB_BIN" get m.safetensors h --dtype "$each" --format json |
        tr -d '\n' && head -c 80 h.npy | tr -dc ' -~' | grep -o "'descr': [^,]*"
    rm -f h.npy
done
echo '-- a width alone is of safetensors, with a byte order of NumPy; np. has names of its own'
for each in i8 '<i8' u8 '|u1' byte np.byte int np.int_ int64 '|b1' boolean; do
    "$CKPTDB_BIN" get m.safetensors i --dtype "$each" -o "i.npy" && head -c 80 i.npy | tr -dc ' -~' | grep -o "descr': '[^']*'" | sed "s/^/$each /"
    rm -f i.npy
done
echo '-- export, and the functions'
"$CKPTDB_BIN" export m.safetensors f32.safetensors --names h --dtype F32 2>&1 | sed 's/ in .*//'
"$CKPTDB_BIN" export --sql "SELECT id AS tensor_id, name AS new_name, 'bf16' AS dtype FROM tensor WHERE name = 'h'" bf16.safetensors 2>&1 |
    sed 's/ in .*//'
"$CKPTDB_BIN" import f32.safetensors bf16.safetensors 2>/dev/null
"$CKPTDB_BIN" --list "SELECT name, dtype FROM tensor ORDER BY dtype, name"
"$CKPTDB_BIN" --list "SELECT hex(tensor_bytes(id, 'torch.float')) = hex(tensor_bytes(id, 'float32')), dtype_bits('bf16'), dtype_bits('<f8')
    FROM tensor WHERE name = 'h' AND dtype = 'float16'"
for each in float7 bf17 torch. '<f3' '<' ''; do "$CKPTDB_BIN" get m.safetensors h --dtype "$each"; done
echo '-- what NumPy will see of those that it has not'
"$CKPTDB_BIN" export m.safetensors raw.npz --names 'h|i' --dtype bf16 2>&1
"$CKPTDB_BIN" export m.safetensors f.npy --names h --dtype f32 2>&1
"$CKPTDB_BIN" get m.safetensors h --dtype float8_e5m2 -o raw.npy
"$CKPTDB_BIN" get m.safetensors h --dtype float32 -o f32.npy
