#!/usr/bin/env python3
"""Let ggml quantise random rows, and compare its bytes with `ckptdb get --dtype TYPE`: every type,
rows of many kinds, hostile ones too. ggml is built from the source distribution of llama-cpp-python, its
reference quantisers without contraction of products and sums. gguf's own NumPy quantisers are a second opinion.

    quantise.py CKPTDB [SEED]        compare
    quantise.py CKPTDB --goldens     print tests/unit/quantised.def, made with ggml

GGML_SOURCE: a folder that has ggml's src/ and include/, in place of downloading it. The last line is "N passed,
N failed".
"""
import ctypes
import glob
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tarfile
import tempfile
import zlib

import gguf
import numpy as np

CKPTDB = os.path.abspath(sys.argv[1])
GOLDENS = "--goldens" in sys.argv
SEED = int(sys.argv[2]) if len(sys.argv) > 2 and not GOLDENS else int(os.environ.get("CKPTDB_SEED") or random.randrange(1 << 32))
ROWS, ROUNDS = 64, 6
rng = np.random.default_rng(SEED)
BUILD = pathlib.Path(__file__).resolve().parents[2] / "build/ggml"

# Type: ggml's name, elements and bytes of a block.
TYPES = {"q8_0": ("q8_0", 32, 34), "q4_0": ("q4_0", 32, 18), "q4_1": ("q4_1", 32, 20), "q5_0": ("q5_0", 32, 22),
         "q5_1": ("q5_1", 32, 24), "q2_k": ("q2_K", 256, 84), "q3_k": ("q3_K", 256, 110), "q4_k": ("q4_K", 256, 144),
         "q5_k": ("q5_K", 256, 176), "q6_k": ("q6_K", 256, 210), "iq4_nl": ("iq4_nl", 32, 18),
         "iq4_xs": ("iq4_xs", 256, 136), "tq1_0": ("tq1_0", 256, 54), "tq2_0": ("tq2_0", 256, 66),
         "mxfp4": ("mxfp4", 32, 17)}


# --- ggml -------------------------------------------------------------------------------------
def source():
    """The folder of ggml's sources."""
    if os.environ.get("GGML_SOURCE"):
        return pathlib.Path(os.environ["GGML_SOURCE"])
    BUILD.mkdir(parents=True, exist_ok=True)
    if not list(BUILD.glob("llama_cpp_python-*.tar.gz")):
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "--no-binary", "llama-cpp-python", "-d", str(BUILD), "llama-cpp-python==0.3.36"], check=True)
    with tarfile.open(glob.glob(str(BUILD / "llama_cpp_python-*.tar.gz"))[0]) as archive:
        wanted = [m for m in archive.getmembers() if "/vendor/llama.cpp/ggml/" in m.name and
                  m.name.endswith((".h", "/ggml-quants.c"))]
        archive.extractall(BUILD, wanted)
        return BUILD / wanted[0].name.split("/ggml/")[0] / "ggml"


def library():
    """build/ggml/libggml-quants.so, which the benchmarks take too."""
    path = BUILD / "libggml-quants.so"
    if not path.exists():
        folder = source()
        BUILD.mkdir(parents=True, exist_ok=True)
        rest = BUILD / "rest.c"
        rest.write_text("#include <stdlib.h>\n"  # what ggml-quants.c needs of others where something is wrong
                        "void ggml_abort(const char *file, int line, const char *format, ...) { abort(); }\n"
                        "size_t ggml_row_size(int type, long n) { return 0; }\n"
                        "size_t ggml_type_size(int type) { return 0; }\n"
                        "const char *ggml_type_name(int type) { return 0; }\n")
        subprocess.run(["cc", "-O3", "-DNDEBUG", "-fPIC", "-shared", "-ffp-contract=off", "-std=gnu11", "-w",
                        f"-I{folder}/include", f"-I{folder}/src", f"{folder}/src/ggml-quants.c", str(rest),
                        "-o", str(path), "-lm"], check=True)
    return ctypes.CDLL(str(path))


def theirs(ggml, kind, rows):
    name, elements, size = TYPES[kind]
    rows = np.ascontiguousarray(rows, np.float32)
    out = np.zeros(rows.size // elements * size, np.uint8)
    quantise = getattr(ggml, f"quantize_row_{name}_ref")
    quantise(ctypes.c_void_p(rows.ctypes.data), ctypes.c_void_p(out.ctypes.data), ctypes.c_int64(rows.size))
    if kind == "iq4_nl":  # of blocks of zeros it leaves the codes as they were: those nearest to zero, then
        blocks, most = out.reshape(-1, size), np.fmax.reduce(np.abs(rows.reshape(-1, 32)), axis=1)
        blocks[~(most >= np.float32(1e-15))] = [0, 0] + [0x88] * 16
    return out.tobytes()


# --- rows -------------------------------------------------------------------------------------
ODD = np.array([0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-45, -1e-45, 1e-40, 1e-38, 3.4e38, -3.4e38, 1, -1, 0.5, 65504,
                65520, 1e-8, 6e-8], np.float32)


def scale(shape):
    return np.exp2(rng.integers(-24, 24, shape)).astype(np.float32)


def normal(n):
    return rng.standard_normal((n, 256)).astype(np.float32)


def some(n, share):
    return rng.random((n, 256)) < share


def of_bits(bits):
    """Any floats but NaNs with a payload, whose result ggml's compiler decides."""
    x = bits.astype(np.uint32).view(np.float32)
    return np.where(np.isnan(x), np.float32(np.nan), x)


KINDS = {
    "normal": lambda n: normal(n) * scale((n, 1)),
    "uniform": lambda n: (rng.random((n, 256), np.float32) - np.float32(0.5)) * scale((n, 1)),
    "sparse": lambda n: np.where(some(n, 0.1), normal(n), 0) * scale((n, 1)),
    "tiny": lambda n: normal(n) * np.float32(1e-38) * rng.integers(0, 3, (n, 256)),
    "huge": lambda n: normal(n) * np.float32(5e37),
    "constant": lambda n: np.repeat(normal(n)[:, :1] * scale((n, 1)), 256, 1),
    "parts": lambda n: normal(n) * np.repeat(scale((n, 16)), 16, 1) * np.repeat(rng.integers(0, 2, (n, 16)), 16, 1),
    "ties": lambda n: rng.integers(-4, 5, (n, 256)) * scale((n, 1)),
    "shifted": lambda n: (normal(n) + normal(n)[:, :1] * 4) * scale((n, 1)),
    "positive": lambda n: (rng.random((n, 256), np.float32) + 1) * scale((n, 1)),
    "negative": lambda n: -(rng.random((n, 256), np.float32) + 1) * scale((n, 1)),
    "any scale": lambda n: normal(n) * scale((n, 256)),
    "odd": lambda n: np.where(some(n, 0.5), rng.choice(ODD, (n, 256)), normal(n)),
    "a few odd": lambda n: np.where(some(n, 0.02), rng.choice(ODD, (n, 256)), normal(n)),
    "bits": lambda n: of_bits(rng.integers(0, 1 << 32, (n, 256))),
    "denormal": lambda n: of_bits(rng.integers(0, 200, (n, 256))) * rng.choice([-1, 1], (n, 256)),
    "zeros": lambda n: rng.choice(ODD[:2], (n, 256)),
    "near powers": lambda n: of_bits(0x40000000 + rng.integers(-2, 3, (n, 256))) * scale((n, 1)),
    "near zero": lambda n: normal(n) * rng.choice(np.array([1e-16, 1e-15], np.float32), (n, 256)),
}


# --- comparing --------------------------------------------------------------------------------
def write(path, tensors):
    header, data = {}, b""
    for name, values in tensors.items():
        raw = np.ascontiguousarray(values, np.float32).tobytes()
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)


def ours(path, name, kind):
    done = subprocess.run([CKPTDB, "get", path, name, "--dtype", kind, "--format", "raw"], capture_output=True,
                          timeout=600, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


def check(ggml, path, name, kind, rows):
    elements, size = TYPES[kind][1:]
    want, have = theirs(ggml, kind, rows), ours(path, name, kind)
    if have != want:
        assert len(have) == len(want), f"{len(have)} bytes, not {len(want)}"
        at = next(i for i, (a, b) in enumerate(zip(have, want)) if a != b) // size
        raise AssertionError(f"block {at}: {have[at * size:at * size + size].hex()}, not {want[at * size:at * size + size].hex()}"
                             f" of {rows.reshape(-1, elements)[at].tolist()}")


def second_opinion(path, name, rows):
    """The result of NumPy in the package gguf."""
    for kind in ("q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "tq1_0", "tq2_0"):
        want = gguf.quants.quantize(rows, gguf.GGMLQuantizationType[kind.upper()]).tobytes()
        assert ours(path, name, kind) == want, f"{kind}: not what gguf makes of it"


# --- goldens ----------------------------------------------------------------------------------
def golden_rows(kind, count=8192):
    """The rows of tests/unit/test_quantise.c."""
    state, rows = 1, []
    for i in range(count):
        draws = []
        for _ in range(5):
            state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
            draws.append(state >> 16)
        n, e = sum(draws[:4]) - 131070, draws[4]
        value = [lambda: n * 2.0**-20, lambda: n * 2.0**(e % 41 - 40), lambda: 0.0 if e % 4 else n * 2.0**-18,
                 lambda: int(n / 16384) * 0.125, lambda: n * 2.0**-20 + 0.25, lambda: n * 2.0**110,
                 lambda: n * 2.0**-145, lambda: float(ODD[e % 6]) if e % 8 == 0 else n * 2.0**-17,
                 lambda: rows[-1] if i % 32 else n * 2.0**-20][kind]()
        rows.append(value)
    return np.array(rows, np.float32).reshape(-1, 256)


def goldens(ggml):
    print("/* quantised.def - CRC-32 of what ggml makes of the rows of test_quantise.c, a column a kind of rows.\n"
          " * Made by tests/interop/quantise.py --goldens. */\n/* clang-format off */")
    for kind in TYPES:
        sums = ", ".join(f"0x{zlib.crc32(theirs(ggml, kind, golden_rows(k))):08X}" for k in range(9))
        print(f"QUANTISED({kind}, {sums})")
    print("/* clang-format on */")


def main():
    ggml = library()
    if GOLDENS:
        return goldens(ggml)
    print(f"seed {SEED}")
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        os.environ["CKPTDB"] = folder + "/catalog.db"
        for _ in range(ROUNDS):
            path = folder + "/rows.safetensors"
            tensors = {name: make(ROWS).astype(np.float32) for name, make in KINDS.items()}
            write(path, tensors)
            checks = [(lambda n=name, k=kind, r=rows: check(ggml, path, n, k, r), f"{kind} of {name}")
                      for name, rows in tensors.items() for kind in TYPES]
            checks += [(lambda n=name: second_opinion(path, n, tensors[n]), f"gguf of {name}")
                       for name in ("normal", "uniform", "positive")]
            for run, what in checks:
                try:
                    run()
                    passed += 1
                except Exception as error:  # noqa: BLE001: any trouble is this case's
                    failed += 1
                    print(f"FAIL {what}: {type(error).__name__}: {str(error)[:1500]}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
