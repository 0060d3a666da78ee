# Duplicates planted at random: all are found, none is false. Runs of one layout with frozen weights, fine-tunes
# of other layouts, tied tensors, links, other containers, the same bytes under another dtype or shape. Then the sums:
# by checkpoint, by run and by pair.
cat >trial.py <<'END'
import collections, json, math, os, random, struct, subprocess, sys, zipfile
import make_safetensors, make_torch
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
    make_safetensors.save(path, tensors)
    return {name: name for name in tensors}
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
            os.link(old[0], path) if kind == "link" else os.symlink(os.path.relpath(old[0], f"t{seed}"), path)
            files.append((path, old[1], old[2], old[3]))
            continue
        if kind == "step":
            path = f"t{seed}/{r.choice('ab')}/checkpoint-{i}/model.safetensors"
            os.makedirs(os.path.dirname(path))
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
            members.append((path, n))
    return files, sorted((DTYPES[d][0], list(s), len(raw), len(p), len(raw) * (len(p) - 1), sorted(m))
                         for (d, s, raw), (p, m) in groups.items() if len(p) > 1)
def by_checkpoint(files):
    """The order of files is that in which they were catalogued: of a tensor's places the first is the original."""
    seen, wasted = collections.defaultdict(set), collections.defaultdict(lambda: (0, 0))
    for path, tensors, places, file in files:
        for n, (dtype, shape, raw) in tensors.items():
            others, place = seen[dtype, tuple(shape), raw], (file, places[n])
            if others and place not in others: wasted[path] = (wasted[path][0] + len(raw), wasted[path][1] + 1)
            others.add(place)
    return sorted((*sums, path) for path, sums in wasted.items())
def by_run(wasted, runs):
    sums = collections.defaultdict(lambda: (0, 0, 0))
    for nbytes, tensors, path in wasted:
        sums[runs[path]] = tuple(map(sum, zip(sums[runs[path]], (nbytes, tensors, 1))))
    return sorted((*s, run or "") for run, s in sums.items())
def by_pair(files, named=None):
    """A pair once: bytes of what both have, a content once; the tensors of either that hold it. One that was named comes first."""
    pairs = []
    for i, (path, tensors, _, _) in enumerate(files):
        for other, theirs, _, _ in files[i + 1:]:
            one, two = ([raw for _, _, raw in t.values()] for t in (tensors, theirs))
            both = set(one) & set(two)
            if not both or named not in (None, path, other): continue
            sides = [(sum(raw in both for raw in one), path), (sum(raw in both for raw in two), other)]
            if named == other: sides.reverse()
            pairs.append((sum(map(len, both)), sides[0][0], sides[1][0], sides[0][1], sides[1][1]))
    return sorted(pairs)
def ckptdb(*args):
    return subprocess.run([os.environ["CKPTDB_BIN"], "-d", "trial.db", "--json", *args], capture_output=True, text=True)
total = collections.Counter()
for seed in range(40):
    files, want = trial(seed)
    if os.path.exists("trial.db"): os.remove("trial.db")
    if ckptdb("import", f"t{seed}").returncode: sys.exit(f"seed {seed}: import")
    rows = lambda *args: json.loads(ckptdb(*args).stdout)
    p = ckptdb("dedup")
    known = rows("SELECT id, name, path, run FROM checkpoint")
    paths = {c["name"]: os.path.relpath(c["path"]) for c in known}
    ids = {os.path.relpath(c["path"]): c["id"] for c in known}
    runs = {os.path.relpath(c["path"]): c["run"] for c in known}
    got = sorted((g["dtype"], g["shape"], g["nbytes"], g["copies"], g["wasted"],
                  sorted((paths[t["checkpoint"]], t["name"]) for t in g["tensors"]))
                 for g in json.loads(p.stdout))
    files.sort(key=lambda f: ids[f[0]])
    wasted = by_checkpoint(files)
    pairs = lambda *args: sorted((s["nbytes"], s["tensors"], s["other_tensors"], paths[s["checkpoint"]], paths[s["other"]])
                                 for s in rows(*args))
    answers = {
        "groups": (want, got),
        "sum": (sum(g[4] for g in want), sum(w[0] for w in wasted)),
        "by checkpoint": (wasted, sorted((w["wasted"], w["tensors"], paths[w["checkpoint"]])
                                         for w in rows("dedup", "--by", "checkpoint"))),
        "by run": (by_run(wasted, runs), sorted((w["wasted"], w["tensors"], w["checkpoints"], w["run"] or "")
                                                for w in rows("dedup", "--by", "run"))),
        "by pair": (by_pair(files), pairs("dedup", "--by", "pair")),
        "of one": (by_pair(files, files[-1][0]), pairs("dedup", "--by", "pair", files[-1][0])),
    }
    for name, (right, ours) in answers.items():
        if right != ours:
            print("seed", seed, name, p.stderr, "expected", *right, "got", *ours, sep="\n")
            sys.exit(1)
    total.update(groups=len(want), bytes=answers["sum"][0], runs=sum(run != "" for *_, run in answers["by run"][0]),
                 pairs=len(answers["by pair"][0]))
print(*(f"{n} {what}" for what, n in total.items()), sep=", ")
END
python3 trial.py
