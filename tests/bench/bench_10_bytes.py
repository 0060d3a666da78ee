"""What tensors hold: hashes, SHA-256, statistics, verifying, differences, duplicates; against xxhsum,
sha256sum, cat, and a Python script over safetensors' headers."""
import json
import os
import struct
import sys

SIZE = 2 << 30
TENSOR = 16 << 20
TF_TENSOR, TF_TENSORS = 4 << 20, 256
CHECKPOINTS, TENSORS = 10000, 500

DIFF = """
import json, struct, sys
def header(path):
    with open(path, "rb") as f:
        h = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
    h.pop("__metadata__", None)
    return {k: (v["dtype"], tuple(v["shape"])) for k, v in h.items()}
a, b = map(header, sys.argv[1:])
for name in sorted(a.keys() | b.keys()):
    if a.get(name) != b.get(name):
        print(name, a.get(name), b.get(name))
"""


# The same through safetensors' own library, which is what its users write.
DIFF_LIBRARY = """
import sys
from safetensors import safe_open
def header(path):
    with safe_open(path, "np") as f:
        return {k: (s.get_dtype(), tuple(s.get_shape())) for k in f.keys() for s in (f.get_slice(k),)}
""" + DIFF[DIFF.index("a, b ="):]


def save(path, tensors, dtype, block):
    """Tensors are (name, shape, bytes long); each is the beginning of a block."""
    head, at = {}, 0
    for name, shape, size in tensors:
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, _, size in tensors:
            f.write(block[:size])


def read(bench, catalog, path, size):
    """A large file, from the cache: hashes, sums, statistics."""
    def ours(*args):
        return [bench.ckptdb, "-d", catalog, *args]

    save(path, [(f"layers.{i}.weight", [TENSOR // 4], TENSOR) for i in range(size // TENSOR)], "F32", floats())
    bench.run(ours("import", path))
    for threads, goal in ((1, 1.1), (2, 0.65)):
        bench.compare(f"hash, {threads} thread{'s' * (threads > 1)}", ours("hash", "--again", "--jobs", str(threads)),
                      ["xxhsum", "-H2", path], goal)
    bench.compare("SHA-256 manifest, 2 threads", ours("hash", "--sha256", "--jobs", "2"), ["sha256sum", path], 0.6)
    bench.compare("statistics, 2 threads", ours("--csv", "stats", os.path.basename(path), "--again", "--jobs", "2"),
                  f"cat '{path}' >/dev/null", 1.3)


def floats(width=4):
    """Sixteen MiB of float32 (or bfloat16) as weights are: signs, exponents of some octaves, any mantissa."""
    noise = os.urandom(1 << 20)
    block = bytearray(noise)
    for i in range(width - 1, len(block), width):
        block[i] = noise[i] & 0x80 | 0x3C | noise[i] & 1
    return bytes(block) * (TENSOR >> 20)


def verify(bench, catalog, prefix):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fixtures"))
    import make_tf
    data, sums = os.urandom(TF_TENSOR), list(range(256))
    for n in range(256):
        for _ in range(8):
            sums[n] = sums[n] >> 1 ^ (0x82F63B78 if sums[n] & 1 else 0)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ sums[(crc ^ byte) & 255]
    count = bench.count(TF_TENSORS)
    rows = [(b"", make_tf.header())]
    rows += [(b"layer_%04d/kernel" % i, make_tf.entry(make_tf.FLOAT, [TF_TENSOR // 4], 0, i * TF_TENSOR, TF_TENSOR,
                                                      crc ^ 0xFFFFFFFF)) for i in range(count)]
    with open(prefix + ".index", "wb") as f:
        f.write(make_tf.table([rows]))
    with open(prefix + ".data-00000-of-00001", "wb") as f:
        for _ in range(count):
            f.write(data)
    bench.run([bench.ckptdb, "-d", catalog, "import", prefix])
    bench.compare("verify a TensorFlow checkpoint", [bench.ckptdb, "-d", catalog, "verify"],
                  f"cat '{prefix}'* >/dev/null", 1.1)


def diff(bench, catalog):
    paths = [str(bench.root / name) for name in ("a.safetensors", "b.safetensors")]
    for side, path in enumerate(paths):
        save(path, [(f"model.layers.{i // 10}.part{i % 10}.weight", [2, 1 + (i == 77 and side)], 2 + (2 if i == 77 and side else 0))
                    for i in range(5000)], "U8", b"\0" * 8)
    bench.run([bench.ckptdb, "-d", catalog, "import", *paths])
    ours = [bench.ckptdb, "-d", catalog, "diff", "a.safetensors", "b.safetensors"]
    library = bench.python_with("safetensors")
    for row, python, script, goal in (("diff by names, 5,000 tensors", sys.executable, DIFF, 0.05),
                                      ("diff by names, against safetensors' own", library, DIFF_LIBRARY, 0.05)):
        if not python:
            bench.leave_out(row, "no Python with safetensors")
            continue
        bench.compare(row, ours, [python, "-c", script, *paths], goal, status=1, # different
                      same=lambda a, b: len(a.splitlines()) == len(b.splitlines()) == 1 and b"part7" in a)


def values(bench, catalog):
    """How far two checkpoints are apart: CPU and wall of reading both once, some times over."""
    size = max(TENSOR, bench.count(SIZE // 4) // TENSOR * TENSOR)
    for dtype, width in ("F32", 4), ("BF16", 2):
        paths = [str(bench.root / f"{side}_{dtype}.safetensors") for side in "ab"]
        for path in paths:
            save(path, [(f"layers.{i}.weight", [TENSOR // width], TENSOR) for i in range(size // TENSOR)], dtype,
                 floats(width))
        bench.run([bench.ckptdb, "-d", catalog, "import", *paths])
        bench.compare(f"diff --values, {dtype}",
                      [bench.ckptdb, "-d", catalog, "--csv", "diff", *map(os.path.basename, paths), "--values"],
                      f"cat '{paths[0]}' '{paths[1]}' >/dev/null", 6, status=1)
        for path in paths:
            os.remove(path)


def dedup(bench, catalog, folder, layouts):
    """Runs in which every other tensor is frozen, under one layout or several: the first name is the layout's own."""
    os.mkdir(folder)
    count, of = bench.count(CHECKPOINTS), f", {layouts} layouts" * (layouts > 1)
    texts = []
    for own in range(layouts):
        text = json.dumps({f"layers.{k // 10}.part{k % 10}" if k else f"head{own}":
                           {"dtype": "U8", "shape": [4], "data_offsets": [4 * k, 4 * k + 4]} for k in range(TENSORS)}).encode()
        texts.append(struct.pack("<Q", len(text)) + text)
    for i in range(count):
        with open(f"{folder}/run_{i:05}.safetensors", "wb") as f:
            f.write(texts[i % layouts] + b"".join(struct.pack("<I", k if k % 2 else i * TENSORS + k) for k in range(TENSORS)))
    bench.run([bench.ckptdb, "-d", catalog, "import", folder])
    bench.run([bench.ckptdb, "-d", catalog, "hash"])
    bench.compare(f"dedup of {count:,} hashed checkpoints{of}", f"'{bench.ckptdb}' -d '{catalog}' dedup | wc -l",
                  ["sleep", str(2 * bench.scale)], 1)
    for by in ("--by checkpoint", "--by run", "--by pair run_00000.safetensors"):
        bench.compare(f"dedup {by}{of}", f"'{bench.ckptdb}' -d '{catalog}' dedup {by} | wc -l",
                      ["sleep", str(2 * bench.scale)], 1)


def run(bench):
    names = {"read": ["hash, 1 thread", "hash, 2 threads", "SHA-256 manifest, 2 threads", "statistics, 2 threads"],
             "verify": ["verify a TensorFlow checkpoint"], "diff": ["diff by names, 5,000 tensors", "diff by names, against safetensors' own"],
             "values": ["diff --values, F32", "diff --values, BF16"],
             "dedup": [f"{row}{of}" for of in ("", ", 20 layouts") for row in (
                 f"dedup of {bench.count(CHECKPOINTS):,} hashed checkpoints", "dedup --by checkpoint", "dedup --by run",
                 "dedup --by pair run_00000.safetensors")]}
    wanted = {part for part, rows in names.items() if any(map(bench.wants, rows))}
    if "read" in wanted:
        read(bench, str(bench.root / "bytes.db"), str(bench.root / "large.safetensors"),
             max(TENSOR, bench.count(SIZE) // TENSOR * TENSOR))
        os.remove(bench.root / "large.safetensors")
    if "verify" in wanted:
        verify(bench, str(bench.root / "verify.db"), str(bench.root / "model.ckpt"))
    if "diff" in wanted:
        diff(bench, str(bench.root / "diff.db"))
    if "values" in wanted:
        values(bench, str(bench.root / "values.db"))
    if "dedup" in wanted:
        for layouts in (1, 20):
            dedup(bench, str(bench.root / f"dedup{layouts}.db"), str(bench.root / f"many{layouts}"), layouts)
