"""Export packed 4-bit integers and ggml's blocks, converted, in chunks that begin inside of a byte or block."""
import array
import json
import os
import random
import shutil
import struct
import subprocess
import sys

CKPTDB = sys.argv[1]
ROWS, ROW = 6, 320
random.seed(5)


def run(*args):
    return subprocess.run([CKPTDB, "-d", "cut.db", *args], capture_output=True, check=False)


def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def field(number, payload):
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def onnx(path, name, dtype, shape, raw):
    tensor = b"".join(field(1, d) for d in shape) + field(2, dtype) + field(8, name.encode()) + field(9, raw)
    with open(path, "wb") as f:
        f.write(field(1, 10) + field(7, field(2, b"g") + field(5, tensor)) + field(8, field(1, b"") + field(2, 21)))


def gguf(path, name, shape, kind, raw):
    head = struct.pack("<4sIQQ", b"GGUF", 3, 1, 0) + struct.pack("<Q", len(name)) + name.encode()
    head += struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape[::-1]) + struct.pack("<IQ", kind, 0)
    with open(path, "wb") as f:
        f.write(head + b"\0" * (-len(head) % 32) + raw)


def sources():
    """File, shape, values in C order; rows of 4-bit elements are odd, so that rows begin inside a byte."""
    shape = [7, 301]
    codes = [random.randrange(16) for _ in range(7 * 301)]
    packed = bytes(a | b << 4 for a, b in zip(codes[::2], codes[1::2] + [0]))
    onnx("u.onnx", "w", 21, shape, packed)
    yield "u.onnx", shape, codes
    onnx("s.onnx", "w", 22, shape, packed)
    yield "s.onnx", shape, [c - 16 if c > 7 else c for c in codes]
    blocks, values = b"", []
    for _ in range(ROWS * ROW // 32):
        scale, codes = random.choice([0.5, 2.0, 8.0]), [random.randrange(-128, 128) for _ in range(32)]
        blocks += struct.pack("<e32b", scale, *codes)
        values += [scale * c for c in codes]
    gguf("q.gguf", "w", [ROWS, ROW], 8, blocks)
    yield "q.gguf", [ROWS, ROW], values


def check(source, shape, values, dtype, out, *options):
    shutil.rmtree(out) if os.path.isdir(out) else os.path.exists(out) and os.unlink(out)
    done = run("export", source, out, "--dtype", dtype, "--no-meta", *options)
    got = run("get", "./" + out, "w", "--dtype", "float32", "--format", "raw", "-o", "-")
    same = array.array("f", got.stdout).tolist() == values if len(got.stdout) == 4 * len(values) else False
    if not same:
        print(source, shape, dtype, out, *options, "differs", done.stderr.decode(), got.stderr.decode())
    return same


total = good = 0
for source, shape, values in sources():
    run("import", source)
    for dtype in ("float32", "float64") + (() if source == "q.gguf" else ("int8", "int32")):
        for out, options in [("o.zarr", [["--option", f"chunk={n}"] for n in (100, 301, 1000, 4000)]),
                             ("o3.zarr", [["--format", "zarr3", "--option", f"chunk={n}"] for n in (333, 1204)]),
                             ("o.h5", [["--option", f"chunks={c}"] for c in ("auto", "1,7", "3,101", "2,33", "5,1", "4,320")])]:
            for some in options:
                total += 1
                good += check(source, shape, values, dtype, out, *some)
print(f"{good} of {total} exports have the values")
