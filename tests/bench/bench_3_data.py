"""Materialising and exporting, against cat, cp, gzip, zstd and TensorStore; and start-up
against sqlite3."""
import json
import os
import shutil
import statistics
import struct
import subprocess
import zlib

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


CHUNK = 4 << 20  # bytes
ROW = 1024  # elements
READ = """
import sys, time, tensorstore as ts
def read():
    context = ts.Context({"data_copy_concurrency": {"limit": 2}, "cache_pool": {"total_bytes_limit": 0}})
    spec = {"driver": "zarr", "kvstore": {"driver": "file", "path": sys.argv[1]}}
    start = time.perf_counter()
    ts.open(spec, context=context).result().read().result()
    return time.perf_counter() - start
read()
print(read())
"""


def weights(size):
    """float32 as models have them: few exponents, random mantissas."""
    block = bytearray(os.urandom(size))
    block[3::4] = (block[3::4]).translate(bytes([60, 59, 188, 187][i % 4] for i in range(256)))
    return bytes(block)


def gzipped(block):
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return packer.compress(block) + packer.flush()


def zstandard(block):
    return subprocess.run(["zstd", "-q", "-1"], input=block, stdout=subprocess.PIPE, check=True).stdout


def zarr(path, size, codec, raw):
    """A zarr 2 array `w` in chunks of 4 MiB, and its elements in one compressed file."""
    pack = {"gzip": gzipped, "zstd": zstandard}[codec]
    rows = size // 4 // ROW
    (path / "w").mkdir(parents=True)
    (path / ".zgroup").write_text('{"zarr_format": 2}')
    compressor = {"id": codec, "level": 1}
    (path / "w/.zarray").write_text(json.dumps({
        "zarr_format": 2, "shape": [rows, ROW], "chunks": [CHUNK // 4 // ROW, ROW], "dtype": "<f4",
        "order": "C", "compressor": compressor, "filters": None, "fill_value": None}))
    with open(raw, "wb") as out:
        for i in range(size // CHUNK):
            block = weights(CHUNK)
            (path / f"w/{i}.0").write_bytes(pack(block))
            out.write(block)
    tool = ["gzip", "-1", "-f"] if codec == "gzip" else ["zstd", "-q", "-1", "-f", "--rm"]
    subprocess.run([*tool, str(raw)], check=True)


def tensorstore(bench, codec, path, get):
    """Reading into memory, both on the same two cores; its start-up does not count."""
    name = f"read {codec} chunks, as TensorStore does"
    python = bench.python_with("tensorstore")
    if not python:
        bench.leave_out(name, "there is no TensorStore")
        return
    ratios, times = [], ([], [])
    for pair in range(bench.pairs + 1):
        ours, _ = bench.run(f"taskset -c 0,1 {get} >/dev/null")
        theirs = float(bench.run(["taskset", "-c", "0,1", python, "-c", READ, str(path / "w")])[1])
        if pair:
            ratios.append(ours / theirs)
            times[0].append(ours)
            times[1].append(theirs)
    bench.row(name, statistics.median(ratios), min(ratios), max(ratios), 1.0,
              f"{statistics.median(times[0]) * 1000:.1f} ms against {statistics.median(times[1]) * 1000:.1f} ms")


def chunks(bench):
    size = max(bench.count(SIZE // 2) // CHUNK * CHUNK, CHUNK)
    for codec, suffix, unpack, one, two in (("gzip", ".gz", "gzip -dc", 0.45, 0.25),
                                            ("zstd", ".zst", "zstd -dcq", 0.65, 0.35)):
        if not shutil.which(codec):
            bench.leave_out(f"materialise {codec} chunks", f"there is no {codec}")
            continue
        path, raw, catalog = bench.root / codec, bench.root / f"{codec}.raw", bench.root / f"{codec}.db"
        zarr(path, size, codec, raw)
        bench.run([bench.ckptdb, "-d", str(catalog), "import", str(path)])
        get = f"'{bench.ckptdb}' -d '{catalog}' get '{path}' w --format raw"
        reference = f"{unpack} '{raw}{suffix}'"
        if bench.run(f"{get} | sha256sum")[1] != bench.run(f"{reference} | sha256sum")[1]:
            raise SystemExit(f"materialise {codec} chunks: other bytes")
        for cores, word, goal in (("0", "one core", one), ("0,1", "two cores", two)):
            bench.compare(f"materialise {codec} chunks, {word}", f"taskset -c {cores} {get} >/dev/null",
                          f"taskset -c {cores} {reference} >/dev/null", goal)
        tensorstore(bench, codec, path, get)


def startup(bench):
    catalog = bench.root / "start.db"
    (bench.root / "none").mkdir()
    bench.run([bench.ckptdb, "-d", str(catalog), "import", str(bench.root / "none")])
    loop = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do {} >/dev/null; done"
    bench.compare("start-up", loop.format(f"'{bench.ckptdb}' -d '{catalog}' 'SELECT 1'"),
                  loop.format(f"sqlite3 '{catalog}' 'SELECT 1'"), 1.2, note=" for 20 runs")


def run(bench):
    for name, part in (("materialise", materialise), ("chunks", chunks), ("export", export), ("start-up", startup)):
        if bench.wants(name):
            part(bench)
