"""GGUF against the package gguf: reading a file's header against gguf.GGUFReader, and decoding Q4_K blocks
against its NumPy. Quantising against ggml's own quantisers, from a file to a file, on as many threads as there are
processors; `make interop` has built them (tests/interop/quantise.py). Of the references the call alone counts, not the
start of Python."""
import array
import hashlib
import json
import os
import pathlib
import random
import statistics
import struct

TENSORS, TOKENS, ELEMENTS = 291, 32000, 1 << 26
READ = """
import sys, time, gguf
began = time.perf_counter()
print(len(gguf.GGUFReader(sys.argv[1]).tensors))
print(time.perf_counter() - began)
"""
DECODE = """
import sys, time, hashlib, gguf
tensor = gguf.GGUFReader(sys.argv[1]).tensors[0]
began = time.perf_counter()
values = gguf.dequantize(tensor.data, tensor.tensor_type)
took = time.perf_counter() - began
print(hashlib.sha256(values.astype("<f4").tobytes()).hexdigest())
print(took)
"""


QUANTISE = """
import sys, os, time, ctypes, hashlib, mmap
from concurrent.futures import ThreadPoolExecutor
library, source, begin, count, name, elements, size, target = sys.argv[1:]
begin, count, elements, size = int(begin), int(count), int(elements), int(size)
quantise = getattr(ctypes.CDLL(library), f"quantize_row_{name}_ref")
at_once = 65536
def part(first):
    n = min(at_once, count - first)
    rows = os.pread(file, 4 * n, begin + 4 * first)
    blocks = ctypes.create_string_buffer(n // elements * size)
    quantise(rows, blocks, ctypes.c_int64(n))
    os.pwrite(out, blocks, first // elements * size)
began = time.perf_counter()
file, out = os.open(source, os.O_RDONLY), os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
with ThreadPoolExecutor(os.cpu_count()) as threads:
    list(threads.map(part, range(0, count, at_once)))
took = time.perf_counter() - began
print(hashlib.sha256(open(target, "rb").read()).hexdigest())
print(took)
"""
GGML = pathlib.Path(__file__).resolve().parents[2] / "build/ggml/libggml-quants.so"
# Type: ggml's name, elements and bytes of a block, goal, elements to quantise.
QUANTISED = {"q8_0": ("q8_0", 32, 34, 0.15, 1 << 27), "q4_k": ("q4_K", 256, 144, 0.5, 1 << 24)}


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def write(path, tensors, tokens, data):
    """`tensors`: (name, shape innermost first, type, offset)."""
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), 2)
    head += text("general.architecture") + struct.pack("<I", 8) + text("llama")
    head += text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, len(tokens)) + b"".join(map(text, tokens))
    for name, shape, kind, offset in tensors:
        head += text(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", n) for n in shape)
        head += struct.pack("<IQ", kind, offset)
    with open(path, "wb") as out:
        out.write(head + b"\0" * (-len(head) % 32))
        if isinstance(data, int):
            out.truncate(out.tell() + data)
        else:
            for block in data:
                out.write(block)


def q4_k(count):
    """Blocks of random nibbles and scales; d and dmin are small positive halves."""
    block = bytearray(os.urandom(144 * 4096))
    for at in range(0, len(block), 144):
        block[at:at + 4] = bytes([block[at], 0x1c, block[at + 2], 0x1c])
    for left in range(count, 0, -4096):
        yield bytes(block[:144 * min(left, 4096)])


def against(bench, name, goal, ours, theirs, same, before=lambda: None):
    ratios, mine, other = [], [], []
    for pair in range(bench.pairs + 1):
        before()
        took, out = bench.run(ours)
        answer, seconds = bench.run(theirs)[1].split()
        if not same(out, answer):
            raise SystemExit(f"{name}: {answer} is not what was read")
        if pair:
            mine.append(took)
            other.append(float(seconds))
            ratios.append(took / float(seconds))
    bench.row(name, statistics.median(ratios), min(ratios), max(ratios), goal,
              f"{statistics.median(mine) * 1000:.1f} ms against {statistics.median(other) * 1000:.1f} ms")


def quantise(bench):
    for kind, (theirs, elements, size, goal, count) in QUANTISED.items():
        name = f"export a GGUF of {kind.upper()}"
        if not bench.wants(name):
            continue
        if not GGML.exists():
            bench.leave_out(name, "there is no ggml (make interop builds it)")
            continue
        rows = bench.count(count) >> 12
        some = array.array("f", (random.gauss(0, 0.02) for _ in range(1 << 16))).tobytes()
        source, out, target = (str(bench.root / n) for n in ("m.safetensors", "q.gguf", "q.bin"))
        header = json.dumps({"w": {"dtype": "F32", "shape": [rows, 4096], "data_offsets": [0, rows << 14]}}).encode()
        with open(source, "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header)
            for _ in range(rows >> 4):
                file.write(some)
            file.write(some[:(rows & 15) << 14])

        def same(_, digest):
            have = bench.run([bench.ckptdb, "get", out, "w", "--format", "raw"])[1]
            return hashlib.sha256(have).hexdigest().encode() == digest
        against(bench, name, goal,
                [bench.ckptdb, "export", source, out, "--force", "--no-sync", "--option", f"quantize={kind}"],
                [bench.python_with("hashlib"), "-c", QUANTISE, str(GGML), source, str(8 + len(header)), str(rows << 12), theirs,
                 str(elements), str(size), target], same,
                lambda: [os.remove(p) for p in (out, target) if os.path.exists(p)])


def run(bench):
    quantise(bench)
    index, decode = "index a GGUF of 32,000 tokens", "decode Q4_K"
    wanted = [name for name in (index, decode) if bench.wants(name)]
    python = bench.python_with("gguf") if wanted else None
    if not python:
        for name in wanted:
            bench.leave_out(name, "there is no gguf")
        return
    path, blocks, catalog = str(bench.root / "m.gguf"), str(bench.root / "q.gguf"), str(bench.root / "gguf.db")
    command = [bench.ckptdb, "-d", catalog]

    def fresh():
        for suffix in ("", "-wal", "-shm", "-journal"):
            if os.path.exists(catalog + suffix):
                os.remove(catalog + suffix)

    if index in wanted:
        write(path, [(f"blk.{i}.attn_q.weight", (4096, 16), 0, i << 18) for i in range(TENSORS)],
              [f"token{i}" for i in range(TOKENS)], TENSORS << 18)
        against(bench, index, 0.05, [*command, "import", path], [python, "-c", READ, path],
                lambda _, count: count in bench.run([*command, "--csv", "SELECT tensors FROM checkpoint"])[1], fresh)
    if decode in wanted:
        rows = bench.count(ELEMENTS) >> 12
        write(blocks, [("w", (4096, rows), 12, 0)], ["a"], q4_k(rows * 16))
        bench.run([*command, "import", blocks])
        get = f"'{bench.ckptdb}' -d '{catalog}' get '{blocks}' w --dtype float32 --format raw"
        digest = hashlib.sha256(bench.run(get)[1]).hexdigest().encode()
        against(bench, decode, 0.2, get + " >/dev/null", [python, "-c", DECODE, blocks],
                lambda _, theirs: theirs == digest)
