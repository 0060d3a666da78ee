# diff on 60 random pairs, as a script over the safetensors headers says it: not hashed, one side hashed, both.
# Tensors are moved, dropped, added, renamed, reshaped, cast, changed, copied; lists are shuffled or lie side by side.
cat >trial.py <<'END'
import csv, io, json, os, random, subprocess, sys
from make_safetensors import save
SHAPES, DTYPES = [[], [0], [2], [2, 3], [3, 2], [6]], {"F32": 4, "I32": 4, "F64": 8, "BF16": 2}
NAMES = {"F32": "float32", "I32": "int32", "F64": "float64", "BF16": "bfloat16"}
def tensor(r, dtype=None, shape=None):
    dtype, shape, size = dtype or r.choice(list(DTYPES)), r.choice(SHAPES) if shape is None else shape, 1
    for s in shape: size *= s
    return dtype, shape, bytes(r.choice([0, 1, 2, 60])for _ in range(size * DTYPES[dtype]))
def pair(seed):
    r = random.Random(seed)
    a = {f"layer{r.choice('./_')}{i}{r.choice(['.w', '.b', '/k'])}": tensor(r) for i in range(r.choice([0, 1, 5, 40]))}
    for name in r.sample(list(a), len(a) // 4): a[name] = a[r.choice(list(a))]
    b, much = {}, r.choice([0, 0.1, 0.9])
    for name, t in a.items():
        kind = r.choice("drop add name shape dtype value".split()) if r.random() < much else ""
        if kind == "drop": continue
        if kind == "add": b[name + "+"] = tensor(r)
        if kind == "shape": t = tensor(r, t[0])
        if kind == "dtype": t = tensor(r, None, t[1])
        if kind == "value": t = tensor(r, t[0], t[1])
        b[name + "~" if kind == "name" else name] = t
    if r.random() < 0.4:
        names = list(b)
        r.shuffle(names)
        b = {n: b[n] for n in names}
    return a, b
def expected(a, b, hashed):
    """Rows in a's order, then b's."""
    rows, by = {}, {}
    if hashed:
        for name in b:
            if name not in a: by.setdefault(b[name][2], []).append(name)
    for name, (dtype, shape, raw) in a.items():
        other = name if name in b else None
        if other: status = ("shape" if b[name][1] != shape else "dtype" if b[name][0] != dtype else
                            "unread" if not hashed else "value" if b[name][2] != raw else "same")
        elif by.get(raw): status, other = "renamed", by[raw].pop(0)
        else: status = "only_a"
        rows[name] = (status, name, other)
    taken = {o for _, _, o in rows.values()}
    rows = list(rows.values()) + [("only_b", None, n) for n in b if n not in taken]
    text = lambda t, i: "" if t is None else NAMES[t[0]] if i == 0 else json.dumps(t[1], separators=(",", ":"))
    return [[s, x or "", y or "", text(a.get(x), 0), text(b.get(y), 0), text(a.get(x), 1), text(b.get(y), 1)] for s, x, y in rows]
def run(*args):
    return subprocess.run([os.environ["CKPTDB_BIN"], "--csv", *args], capture_output=True, text=True)
def check(seed, a, b, hashed):
    for wide in ([], ["--all"]):
        p = run("diff", f"a{seed}.safetensors", f"b{seed}.safetensors", *wide)
        rows = expected(a, b, hashed)
        alike = [r for r in rows if r[0] in ("same", "unread")]
        want = rows if wide else [r for r in rows if r not in alike]
        got = list(csv.reader(io.StringIO(p.stdout)))[1:]
        unread = any(r[0] == "unread" for r in rows)
        said = f"ckptdb: {len(rows) - len(alike)} different, {len(alike)} the same" + \
               (" as far as names, dtypes and shapes go" if unread else "") + "\n"
        if got != want or p.stderr != said or p.returncode != (len(alike) < len(rows)):
            print("seed", seed, "hashed" if hashed else "", wide, p.returncode, p.stderr, "expected", said, *want, "got", *got, sep="\n")
            sys.exit(1)
pairs = {seed: pair(seed) for seed in range(60)}
for seed, (a, b) in pairs.items():
    save(f"a{seed}.safetensors", a)
    save(f"b{seed}.safetensors", b)
print(run("import", ".").stderr, end="")
for seed, (a, b) in pairs.items(): check(seed, a, b, False)
for seed, (a, b) in pairs.items():
    if seed % 3: run("hash", f"a{seed}.safetensors")
    check(seed, a, b, False)
run("hash")
kinds = {}
for seed, (a, b) in pairs.items():
    check(seed, a, b, True)
    for row in expected(a, b, True): kinds[row[0]] = kinds.get(row[0], 0) + 1
print(*sorted(kinds))
END
python3 trial.py
