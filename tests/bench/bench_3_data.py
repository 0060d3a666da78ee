"""Materialising and exporting, against cat and cp; and start-up against sqlite3."""
import json
import os
import struct

SIZE = 1 << 30


def model(path, size):
    """A safetensors file with tensors of 3 to 22 MB and many small ones, all random bytes."""
    sizes, left, i = [], size, 0
    while left > 0:
        want = 4096 if i % 5 < 2 else (3 + i * 7 % 20) << 20
        sizes.append(min(want, left))
        left -= sizes[-1]
        i += 1
    head, at = {}, 0
    for k, n in enumerate(sizes):
        head[f"layers.{k}.weight"] = {"dtype": "F32", "shape": [n // 4], "data_offsets": [at, at + n]}
        at += n
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    block = os.urandom(1 << 20)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for n in range(0, size, len(block)):
            f.write(block[: min(len(block), size - n)])


def one_tensor(path, size):
    text = json.dumps({"w": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}}).encode()
    block = os.urandom(1 << 20)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _ in range(size // len(block)):
            f.write(block)


def materialise(bench):
    path, catalog, raw = bench.root / "one.safetensors", bench.root / "one.db", bench.root / "one.raw"
    size = bench.count(SIZE) & ~((1 << 20) - 1)
    one_tensor(path, size)
    with open(path, "rb") as f, open(raw, "wb") as out:
        f.seek(os.path.getsize(path) - size)
        while block := f.read(1 << 20):
            out.write(block)
    bench.run([bench.ckptdb, "-d", str(catalog), "import", str(path)])
    get = f"'{bench.ckptdb}' -d '{catalog}' get one.safetensors w --format raw"
    _, ours = bench.run(f"{get} | sha256sum")
    _, theirs = bench.run(f"sha256sum < '{raw}'")
    if ours != theirs:
        raise SystemExit("materialise: other bytes")
    bench.compare("materialise a raw tensor, into a pipe", f"{get} | cat >/dev/null", f"cat '{raw}' | cat >/dev/null", 1.2)
    bench.compare("materialise a raw tensor, into nothing", f"{get} >/dev/null", f"cat '{raw}' >/dev/null", 1.2)
    bench.compare("sha256 of a tensor", [bench.ckptdb, "-d", str(catalog), "--list", "SELECT tensor_sha256(id) FROM tensor"],
                  f"sha256sum < '{raw}'", None, same=lambda a, b: a.split()[:1] == b.split()[:1])


def export(bench):
    path, catalog = bench.root / "model.safetensors", bench.root / "model.db"
    ours, copy = bench.root / "ours.safetensors", bench.root / "copy.safetensors"
    model(path, bench.count(2 * SIZE) & ~4095)
    bench.run([bench.ckptdb, "-d", str(catalog), "import", str(path)])

    def before(side):
        (ours, copy)[side].unlink(missing_ok=True)
        os.sync()

    base = f"'{bench.ckptdb}' -d '{catalog}' export model.safetensors '{ours}'"
    bench.compare("export, --no-sync", f"{base} --no-sync", f"cp '{path}' '{copy}'", 0.6, before)
    bench.compare("export, durable", base, f"cp '{path}' '{copy}' && sync '{copy}'", 0.7, before)
    bench.compare("export, --no-sync, to bfloat16", f"{base} --no-sync --dtype bfloat16", f"cp '{path}' '{copy}'", None, before)


def startup(bench):
    catalog = bench.root / "start.db"
    bench.run([bench.ckptdb, "-d", str(catalog), "-c", "SELECT 1"])
    loop = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do {} >/dev/null; done"
    bench.compare("start-up", loop.format(f"'{bench.ckptdb}' -d '{catalog}' 'SELECT 1'"),
                  loop.format(f"sqlite3 '{catalog}' 'SELECT 1'"), 1.2, note=" for 20 runs")


def run(bench):
    for name, part in (("materialise", materialise), ("export", export), ("start-up", startup)):
        if bench.wants(name):
            part(bench)
