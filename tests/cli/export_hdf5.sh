# HDF5 in chunks: what comes back, trees of one, two and three levels, chunks that extend over the edges, filters, what
# is not chunked, and what is refused.
python3 - <<'EOF'
from make_safetensors import save
def some(n, k=7): return bytes(i * k % 251 for i in range(n))
save("a.safetensors", {"w": ("F32", [70, 70], some(19600)), "deep/b": ("BF16", [300, 1000], some(600000, 3)),
    "deep/v": ("F64", [9], some(72)), "cube": ("U8", [5, 3, 7], some(105)), "scalar": ("I64", [], bytes(8)), "none": ("F32", [0, 4], b""),
    "flag": ("BOOL", [3], b"\0\1\0"), "c": ("C64", [2, 2], some(32)), "i": ("I32", [1, 5], bytes(range(20)))})
EOF
"$CKPTDB_BIN" import a.safetensors 2>/dev/null
tensors_of a.safetensors | sort >want
wc -l <want
back() { # OPTION...
    local options=() o
    for o in "$@"; do options+=(--option "$o"); done
    "$CKPTDB_BIN" export a.safetensors x.h5 --force "${options[@]}" 2>&1 | grep -v '^ckptdb: 9 tensors'
    "$CKPTDB_BIN" import x.h5 2>&1 | grep -v ' 0 unchanged'
    tensors_of x.h5 | sort | diff want - >difference && echo "$*: the same" || { echo "$*: differs"; head -n 4 difference; }
}
back
plain=$(stat -c %s x.h5)
for options in 'chunks=auto' 'chunks=1,1' 'chunks=3,8' 'chunks=100,100' 'chunks=2,3,4 deflate=0' 'deflate=6' 'shuffle=true' \
    'shuffle=true deflate=9 chunks=9' 'shuffle=true deflate=1 chunks=64,999' 'shuffle=false'; do
    # shellcheck disable=SC2086
    back $options
done
back deflate=6 shuffle=true
[ "$(stat -c %s x.h5)" -lt $((plain / 4)) ] && echo 'smaller'
for bad in chunks= chunks=0 chunks=2,x 'chunks=2,' chunks=1,0,2 deflate=10 deflate=-1 deflate=fast shuffle=1 level=3; do
    try export a.safetensors y.h5 --option "$bad" 2>&1
done
# Too many to keep where each lies.
python3 -c '
import os, json, struct
h = json.dumps({"w": {"dtype": "U8", "shape": [1 << 13, 1 << 12], "data_offsets": [0, 1 << 25]}}).encode()
open("many.safetensors", "wb").write(struct.pack("<Q", len(h)) + h)
os.truncate("many.safetensors", 8 + len(h) + (1 << 25))'
try export ./many.safetensors y.h5 --option chunks=1,1 2>&1
