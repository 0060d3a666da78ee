# map infer by content at the sizes where it does something else: samples (4,096 elements), blocks of the hash
# (1 MiB); with constants, which are all alike; and what changed or vanished since the import.
cat >make.py <<'END'
import array, random
from make_safetensors import save
r = random.Random(5)
def values(n):
    x = array.array("I", r.randbytes(4 * n))
    return x
def turned(x, rows, columns):
    out = array.array("I")
    for c in range(columns):
        out.extend(x[c::columns])
    return out
a, b = [], []
for i, (rows, columns) in enumerate([(63, 65), (64, 64), (17, 241), (512, 512), (513, 512), (1, 262145)]):
    x = values(rows * columns)
    a.append((f"t.{i}", "F32", [rows, columns], x.tobytes()))
    b.append((f"u.{i}", "F32", [columns, rows], turned(x, rows, columns).tobytes()))
for i, n in enumerate([4095, 4096, 4097, 262143, 262144, 262145]):
    x, y, z, w = values(n), values(n), values(n), values(n)
    a += [(f"s.{i}.0", "F32", [n], x.tobytes()), (f"s.{i}.1", "F32", [n], y.tobytes()), (f"c.{i}", "F32", [2, n], (z + w).tobytes())]
    b += [(f"s{i}", "F32", [2, n], (x + y).tobytes()), (f"c{i}.k", "F32", [1, n], z.tobytes()), (f"c{i}.v", "F32", [1, n], w.tobytes())]
    # the same at both ends and in most of the middle
    z[n // 3] ^= 1
    a.append((f"n.{i}", "F32", [n, 1], z.tobytes()))
    z[n // 3] ^= 3
    b.append((f"m.{i}", "F32", [1, n], z.tobytes()))
for i in range(4):
    a.append((f"zero.{i}.b", "F32", [4, 8], bytes(128)))
    b.append((f"0/{i}/b", "F32", [8, 4], bytes(128)))
save("a.safetensors", a)
save("b.safetensors", b)
END
python3 make.py
"$CKPTDB_BIN" import . >/dev/null
run() { "$CKPTDB_BIN" map infer a.safetensors b.safetensors --name found; echo "status $?"; }
run
"$CKPTDB_BIN" "SELECT ord, pattern, replacement, ops FROM rule WHERE ruleset = 'found'"
"$CKPTDB_BIN" export a.safetensors made.safetensors --map found --no-sync
"$CKPTDB_BIN" import made.safetensors >/dev/null
"$CKPTDB_BIN" "SELECT b.name FROM tensor b WHERE b.path LIKE '%/b.safetensors' EXCEPT SELECT m.name FROM tensor m
    JOIN tensor b ON b.name = m.name WHERE m.path LIKE '%/made.safetensors' AND b.path LIKE '%/b.safetensors'
    AND m.shape = b.shape AND tensor_sha256(m.id) = tensor_sha256(b.id)"
echo '-- changed, and gone'
touch -d '2001-01-01' a.safetensors
run
"$CKPTDB_BIN" import a.safetensors 2>/dev/null
rm b.safetensors
run
