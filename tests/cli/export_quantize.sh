# export --option quantize=TYPE[:REGEX] to GGUF, and --dtype of blocks: which tensors become what, and what is refused.
export STATUS=always
python3 - <<'PY'
import struct
from make_safetensors import save
x = [(i * 7919 % 1000 - 500) / 64 for i in range(1024)]
f32 = struct.pack("<1024f", *x)
bf16 = b"".join(struct.pack("<f", v)[2:] for v in x)
save("m.safetensors", {"tok.weight": ("F32", [4, 256], f32), "blk.0.q.weight": ("BF16", [2, 512], bf16), "blk.0.narrow": ("F32", [4, 96], f32[:1536]),
                       "norm.weight": ("BF16", [512], bf16[:1024]), "scalar": ("F16", [], b"\0\x3c"), "ids": ("I64", [2, 256], bytes(4096)),
                       "half.weight": ("F16", [4, 3, 32], b"".join(struct.pack("<e", v) for v in x[:384]))})
save("large.safetensors", {"w": ("F32", [2, 32], struct.pack("<64f", *[2.0**30] * 32, *x[:30], 0, float("inf")))})
PY
try import . 2>/dev/null
quantize() { # OPTION...
    try export m.safetensors out.gguf --force --meta general.architecture=llama "$@" 2>&1 | sed 's/ in [0-9.]* s$//'
}
list() {
    rm -f list.db
    try -d list.db import out.gguf >/dev/null 2>&1
    try -d list.db --csv "SELECT name, dtype, shape, nbytes FROM tensor ORDER BY ord"
    try -d list.db --csv "SELECT key, value FROM metadata WHERE key LIKE 'general.%' AND key <> 'general.architecture'"
}
echo '--- all that can be; vectors become float32'
quantize --option quantize=q4_k && list
echo '--- the first REGEX, then the one without; names of other programs'
quantize --option quantize=Q8_0 --option quantize=q6_k:^tok --option quantize=q4_k:weight$ --names 'tok|ids|narrow' && list
quantize --option 'quantize=bf16:norm' --option 'quantize=iq4_nl:half|narrow' && list
echo '--- new names count; --dtype is for the rest'
quantize --rename '^tok=head' --option quantize=q5_0:^head --dtype float16 && list
echo '--- any file, any type, the bytes of get'
for type in q8_0 q4_0 q4_1 q5_0 q5_1 q2_k q3_k q4_k q5_k q6_k iq4_nl iq4_xs tq1_0 tq2_0 mxfp4; do
    try export m.safetensors out.gguf --force --names '^(tok|blk.0.q)' --option quantize=$type >/dev/null 2>&1
    rm -f list.db && try -d list.db import out.gguf >/dev/null 2>&1
    for name in tok.weight blk.0.q.weight; do
        "$CKPTDB_BIN" -d list.db get out.gguf $name --format raw >a.raw
        "$CKPTDB_BIN" get m.safetensors $name --dtype $type --format raw >b.raw
        cmp a.raw b.raw && printf '%s %s %s\n' $type $name "$(sha256sum <a.raw | cut -c1-16)"
    done
done
echo '--- blocks to other blocks; what the file says that it is'
quantize --option quantize=q4_k >/dev/null
try export out.gguf again.gguf --option quantize=q8_0 2>&1 | sed 's/ in [0-9.]* s$//'
mv again.gguf out.gguf && list
echo '--- what is planned; nothing that is lost by wish'
try export m.safetensors out.gguf --force --dry-run --option quantize=q4_0
echo '--- what is lost'
try export large.safetensors large.gguf --option quantize=q8_0 2>&1 | sed 's/ in [0-9.]* s$//'
echo '--- refused'
quantize --option quantize=q4_k:narrow
quantize --option quantize=q4_k:scalar
quantize --dtype q8_0
quantize --option quantize=iq2_xs
quantize --option quantize=int8
quantize --option quantize=
quantize --option 'quantize=q8_0:('
quantize --option quantize=q8_0 --option quantize=q4_k
quantize --option alignment=32 --option alignment=64
quantize --option quantize=q8_0:tok --option quantize=q8_0:nothing --names '^tok'
try export m.safetensors out.safetensors --option quantize=q8_0
try export m.safetensors out.safetensors --dtype q8_0 --names ^tok
try get m.safetensors blk.0.narrow --dtype q8_0 --slice :,:40 --format raw
try get m.safetensors tok.weight --dtype q8_0
try get m.safetensors tok.weight --dtype q8_0 -o x.npy
try get m.safetensors tok.weight --dtype q4_k --slice 1:3 --format raw | sha256sum
try --csv "SELECT length(tensor_bytes(id, 'q8_0')) FROM tensor WHERE name = 'tok.weight'"
