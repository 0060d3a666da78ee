# Statistics: values of all kinds, what is shared, what is forgotten, a tensor through the steps of a run.
python3 - <<'PY'
import os, struct
from make_safetensors import save
inf, nan = float("inf"), float("nan")
f32 = lambda *x: struct.pack("<%df" % len(x), *x)
save("kinds.safetensors", [
    ("nans", "F32", [6], f32(nan, inf, -inf, 1, 2, 3)),
    ("nothing", "F32", [0], b""),
    ("only_nan", "F32", [2], f32(nan, nan)),
    ("dead", "F32", [4], f32(0, -0.0, 0, 0)),
    ("subnormal", "F32", [3], f32(1e-40, -1e-45, 1)),
    ("half", "F16", [3], struct.pack("<3e", 6e-8, 65504, inf)),
    ("flag", "BOOL", [4], b"\1\0\1\1"),
    ("large", "I64", [2], struct.pack("<2q", 2**62, -1)),
    ("complex", "C64", [2], f32(3, 4, 0, -1)),
    ("bytes", "U8", [100000], bytes(i * i % 251 for i in range(100000))),
])
for step in (100, 20, 3):
    os.makedirs("run/checkpoint-%d" % step)
    save("run/checkpoint-%d/model.safetensors" % step,
         [("w", "F32", [4], f32(step, -step, 0, nan if step == 100 else 1)), ("frozen", "F32", [2], f32(1, 2))])
PY
"$CKPTDB_BIN" import .
"$CKPTDB_BIN" stats kinds.safetensors
echo "status $?"
"$CKPTDB_BIN" --box stats kinds.safetensors 'nan|bytes'
"$CKPTDB_BIN" --json stats kinds.safetensors '^dead$'
echo '-- through the steps of a run'
"$CKPTDB_BIN" --box stats run '^w$'
"$CKPTDB_BIN" stats run/ frozen | cut -f 1-4
echo '-- the runs with NaN, dead layers, outliers'
"$CKPTDB_BIN" "SELECT checkpoint, name FROM stats WHERE nans + infs > 0"
"$CKPTDB_BIN" "SELECT checkpoint, name FROM stats WHERE zeros = elements AND zeros > 0"
"$CKPTDB_BIN" "EXPLAIN QUERY PLAN SELECT mean FROM main.stats WHERE checkpoint_id = 1" | grep -c 'SCAN'
echo '-- what is known is shared by hash, and not read again'
"$CKPTDB_BIN" "SELECT count(*), count(DISTINCT statistics) FROM _tensor_statistics"
"$CKPTDB_BIN" hash >/dev/null
"$CKPTDB_BIN" "SELECT count(*), count(DISTINCT statistics) FROM _tensor_statistics; SELECT count(*), count(hash) FROM _statistics"
sqlite3 "$CKPTDB" "DELETE FROM _tensor_statistics; SELECT count(*) FROM _statistics"
"$CKPTDB_BIN" stats run frozen | wc -l
"$CKPTDB_BIN" "SELECT count(*), count(DISTINCT statistics) FROM _tensor_statistics; SELECT count(*) FROM _statistics"
echo '-- one thread, several: the same'
cp "$CKPTDB" one.db
"$CKPTDB_BIN" -d one.db stats kinds.safetensors --again --jobs 1 >one.txt
"$CKPTDB_BIN" stats kinds.safetensors --again --jobs 4 | cmp - one.txt && echo same
echo '-- values that changed behind our back, in a file that looks the same: a new hash drops what was of the old one'
touch -r run/checkpoint-3/model.safetensors time
printf '\0\0\200\100' | dd of=run/checkpoint-3/model.safetensors bs=1 seek=$(($(stat -c %s run/checkpoint-3/model.safetensors) - 4)) conv=notrunc status=none
touch -r time run/checkpoint-3/model.safetensors
"$CKPTDB_BIN" hash run/checkpoint-3/model.safetensors --again >/dev/null
"$CKPTDB_BIN" "SELECT count(*) FROM stats WHERE name = 'frozen'"
"$CKPTDB_BIN" stats run/ frozen | cut -f 1-5
echo '-- of all checkpoints'
"$CKPTDB_BIN" stats | cut -f 1-4 | sed 3q
[ "$("$CKPTDB_BIN" stats | wc -l)" = "$("$CKPTDB_BIN" "SELECT count(*) FROM stats")" ] || echo 'rows are missing'
"$CKPTDB_BIN" -d none.db stats
echo "status $?"
echo '-- a file that changed'
printf x | dd of=kinds.safetensors bs=1 seek=$(($(stat -c %s kinds.safetensors) - 1)) conv=notrunc status=none
touch -d '2001-01-01' kinds.safetensors
"$CKPTDB_BIN" stats kinds.safetensors
echo "status $?"
"$CKPTDB_BIN" "SELECT count(*) FROM stats WHERE checkpoint = 'kinds.safetensors'"
"$CKPTDB_BIN" import . && "$CKPTDB_BIN" stats kinds.safetensors bytes | cut -f 1-5
"$CKPTDB_BIN" forget kinds.safetensors && "$CKPTDB_BIN" "SELECT count(*) FROM _statistics"
echo '-- mistakes'
"$CKPTDB_BIN" stats run '('
echo "status $?"
"$CKPTDB_BIN" stats nothing
echo "status $?"
echo '-- float64 up to the largest: sums and squares that float64 does not have, against exact ones'
cat >far.py <<'EOF'
import os, struct, json, subprocess, math
from fractions import Fraction
from make_safetensors import save
most, r = 1.7976931348623157e308, 1
def numbers(n, size):
    global r
    out = []
    for _ in range(n):
        r = r * 6364136223846793005 + 1442695040888963407 & 2**64 - 1
        out.append((r / 2**63 - 1) * size)
    return out
cases = {"far": [1e200, 2e200, -3e200], "most": [most] * 9, "both": [most, -most] * 5, "mixed": numbers(9000, 1e-300) + [most, -1e300],
         "apart": [1e300] * 8192 + [-1e300] * 8192, "large": numbers(20000, most), "square": numbers(20000, 1e160), "odd": [most, math.nan, math.inf, most],
         "constant": [1e250] * 100, "half": [1e150] * 8192 + [1e155] * 3}
save("far.safetensors", [(n, "F64", [len(x)], struct.pack("<%dd" % len(x), *x)) for n, x in cases.items()])
ckptdb = lambda *a: subprocess.run([os.environ["CKPTDB_BIN"], *a], capture_output=True, text=True).stdout
ckptdb("import", "far.safetensors")
root = lambda q: float(Fraction(math.isqrt(q.numerator * q.denominator), q.denominator)) if q < (Fraction(most) * (1 + Fraction(1, 2**54)))**2 else None
for row in json.loads(ckptdb("--json", "stats", "far.safetensors")):
    x = [Fraction(v) for v in cases[row["name"]] if math.isfinite(v)]
    mean = sum(x) / len(x)
    right = {"mean": float(mean), "std": root(sum((v - mean)**2 for v in x) / len(x)), "l2": root(sum(v * v for v in x))}
    for stat, want in right.items():
        got = row[stat]
        if want is None or got is None: good = want is None and got is None
        else: good = abs(got - want) <= 1e-11 * float(max(map(abs, x)))
        if not good: print(row["name"], stat, got, want)
print(len(cases), "tensors")
EOF
python3 far.py
for jobs in 1 4; do "$CKPTDB_BIN" stats far.safetensors --again --jobs $jobs | md5sum; done | uniq | wc -l
