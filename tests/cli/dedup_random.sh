# Duplicates planted at random: all are found, none is false. Runs of one layout with frozen weights, fine-tunes
# of other layouts, tied tensors, links, other containers, the same bytes under another dtype or shape.
cat >trial.py <<'END'
import collections, json, math, os, random, struct, subprocess, sys, zipfile
sys.path.insert(0, os.environ["TESTS"] + "/fixtures")
import make_torch
DTYPES = {"F32": ("float32", "<f4", 4), "I32": ("int32", "<i4", 4), "F64": ("float64", "<f8", 8), "U8": ("uint8", "|u1", 1)}
KINDS = {"F32": "Float", "I32": "Int", "F64": "Double", "U8": "Byte"}
def npy(dtype, shape, raw):
    head = repr({"descr": DTYPES[dtype][1], "fortran_order": False, "shape": tuple(shape)}).encode()
    head += b" " * (53 - len(head)) + b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + raw
def save(path, tensors, tied):
    """Returns where each tensor lies."""
    places = {}
    if path.endswith(".npz"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if tied else zipfile.ZIP_STORED) as z:
            for name, t in tensors.items(): z.writestr(name + ".npy", npy(*t))
        return {name: name for name in tensors}
    if path.endswith(".pt"):
        keys, value = {}, {}
        for name, (dtype, shape, raw) in tensors.items():
            key = keys.setdefault((dtype, raw) if tied else name, (str(len(keys)), raw))[0]
            strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]
            where = make_torch.storage(key, KINDS[dtype], math.prod(shape))
            value[name] = make_torch.tensor(tuple(shape), tuple(strides), 0, where)
            places[name] = key
        with open(path, "wb") as f: f.write(make_torch.saved(value, data=dict(keys.values())))
        return places
    header, data = {}, b""
    for name, (dtype, shape, raw) in tensors.items():
        places[name] = len(data)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)
    return places
def tensor(r):
    dtype, shape = r.choice(list(DTYPES)), r.choice([[8], [2, 4], [4, 2], [16], [1], [24]])
    size = DTYPES[dtype][2] * math.prod(shape)
    return dtype, shape, bytes(r.choice([0, 3]) for _ in range(size)) if r.random() < 0.5 else r.randbytes(size)
def trial(seed):
    r = random.Random(seed)
    os.mkdir(f"t{seed}")
    files, pool = [], [tensor(r) for _ in range(12)]        # (path, tensors, places, number)
    base = {f"w{i}": r.choice(pool) for i in range(r.randint(1, 9))}
    for i in range(r.randint(2, 9)):
        kind = r.choice("step step step tune npz torch torch link soft".split())
        path = f"t{seed}/m{i}" + {"npz": ".npz", "torch": ".pt"}.get(kind, ".safetensors")
        if kind in ("link", "soft") and files:
            old = r.choice(files)
            path = f"t{seed}/m{i}" + os.path.splitext(old[0])[1]
            os.link(old[0], path) if kind == "link" else os.symlink(os.path.basename(old[0]), path)
            files.append((path, old[1], old[2], old[3]))
            continue
        if kind == "tune": tensors = {f"{n}.{i}": t for n, t in base.items()} | {f"head{i}": tensor(r)}
        else: tensors = {n: t if r.random() < 0.6 else (t[0], t[1], r.randbytes(len(t[2]))) for n, t in base.items()}
        for n in list(tensors):                             # the same bytes, called something else
            d, s, raw = tensors[n]
            if r.random() < 0.1: tensors[n] = ("U8", [len(raw)], raw) if r.random() < 0.5 else (d, s + [1], raw)
        files.append((path, tensors, save(path, tensors, r.random() < 0.5), i))
    groups = collections.defaultdict(lambda: (set(), []))
    for path, tensors, places, file in files:
        for n, (dtype, shape, raw) in tensors.items():
            places_of, members = groups[dtype, tuple(shape), raw]
            places_of.add((file, places[n]))
            members.append((os.path.basename(path), n))
    return sorted((DTYPES[d][0], list(s), len(raw), len(p), len(raw) * (len(p) - 1), sorted(m))
                  for (d, s, raw), (p, m) in groups.items() if len(p) > 1)
def ckptdb(*args):
    return subprocess.run([os.environ["CKPTDB_BIN"], "-d", "trial.db", "--json", *args], capture_output=True, text=True)
total, groups = 0, 0
for seed in range(40):
    want = trial(seed)
    if os.path.exists("trial.db"): os.remove("trial.db")
    if ckptdb("import", f"t{seed}").returncode: sys.exit(f"seed {seed}: import")
    p = ckptdb("dedup")
    got = [(g["dtype"], g["shape"], g["nbytes"], g["copies"], g["wasted"],
            sorted((t["checkpoint"].split("/")[-1], t["name"]) for t in g["tensors"]))
           for g in json.loads(p.stdout)]
    waste = json.loads(ckptdb("SELECT coalesce(sum(nbytes), 0) AS n FROM waste").stdout)[0]["n"]
    if sorted(got) != want or waste != sum(g[4] for g in want):
        print("seed", seed, p.stderr, "expected", *want, "got", *sorted(got), waste, sep="\n")
        sys.exit(1)
    groups, total = groups + len(want), total + waste
print(groups, "groups,", total, "bytes wasted")
END
python3 trial.py
