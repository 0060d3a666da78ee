# What is stored twice: copies in other containers count, links and tied tensors do not.
python3 - <<'EOF'
import struct
from make_safetensors import save
def f32(*tensors): return [(name, "F32", [len(raw) // 4], raw) for name, raw in tensors]
big, small, other = (struct.pack("<f", x) * n for x, n in ((1, 1000), (2, 10), (3, 1000)))
save("base.safetensors", f32(("w", big), ("b", small), ("only", struct.pack("<f", 9) * 77)))
save("tune.safetensors", f32(("model.w", big), ("model.b", small), ("head", other)))
EOF
python3 "$TESTS/fixtures/make_npy.py" b.npy '<f4' '(10,)' '<f' 2 2 2 2 2 2 2 2 2 2
ln base.safetensors hard.safetensors
ln -s base.safetensors soft.safetensors
"$CKPTDB_BIN" import .
"$CKPTDB_BIN" dedup
echo "status $?"
echo '-- only what could be equal was read'
"$CKPTDB_BIN" "SELECT name FROM tensor WHERE hash IS NULL"
echo '-- waste of one checkpoint; all waste'
"$CKPTDB_BIN" dedup b.npy
"$CKPTDB_BIN" "SELECT sum(wasted), count(*) FROM duplicate"
echo '-- whose copies, by checkpoint, by run; what is shared'
"$CKPTDB_BIN" dedup --by checkpoint
"$CKPTDB_BIN" dedup --by run
"$CKPTDB_BIN" dedup --by pair tune.safetensors
"$CKPTDB_BIN" dedup --by size
echo '-- the total adds up; one checkpoint alone gives what all pairs say about it'
"$CKPTDB_BIN" "SELECT (SELECT sum(nbytes) FROM waste) = (SELECT sum(wasted) FROM duplicate)"
"$CKPTDB_BIN" "SELECT count(*) FROM (SELECT s.* FROM shared s EXCEPT SELECT s.* FROM checkpoint c CROSS JOIN shared s ON s.checkpoint_id = c.id)"
echo '-- nothing twice'
"$CKPTDB_BIN" -d one.db import base.safetensors && "$CKPTDB_BIN" -d one.db dedup
echo "status $?"
echo '-- for people, layers with the same contents elsewhere are folded; the sum covers all groups'
mkdir layers
python3 - <<'EOF'
import random
from make_safetensors import save
r = random.Random(1)
f32 = lambda n: ("F32", [n], r.randbytes(4 * n))
base = {"embed": f32(16)} | {f"layers.{l}.{n}": f32(8) for l in range(12) for n in ("attn.k", "attn.q", "norm")}
save("layers/base.safetensors", base)
save("layers/tune.safetensors", base | {"layers.11.norm": f32(8)})
save("layers/part.safetensors", {f"text.{n}": t for n, t in base.items() if n[-1] == "q"})
save("layers/tied.safetensors", base | {"head": base["embed"]})
EOF
"$CKPTDB_BIN" -d layers.db import layers 2>&1 && "$CKPTDB_BIN" -d layers.db dedup --table
"$CKPTDB_BIN" -d layers.db dedup part.safetensors --markdown
"$CKPTDB_BIN" -d layers.db "SELECT sum(wasted), count(*) FROM duplicate"
"$CKPTDB_BIN" -d layers.db dedup --table | awk -F'|' 'NR > 3 { sum += $2 } END { print sum }'
