#!/usr/bin/env python3
"""Read what ckptdb exports with the libraries it is meant for, and compare by value.

    read_back.py CKPTDB

Needs numpy, ml_dtypes and safetensors. The last line is "N passed, N failed".
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy

CKPTDB = os.path.abspath(sys.argv[1])
PLAIN = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "float32", "float64", "complex64"]
EXTRA = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]
SHAPES = {"scalar": (), "empty": (0, 3), "one": (1,), "row": (7,), "cube": (3, 4, 5)}
passed = failed = 0


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def values(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    if dtype == "bool":
        return rng.integers(0, 2, count).astype(bool).reshape(shape)
    if dtype.startswith(("int", "uint")):
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, count, dtype, endpoint=True).reshape(shape)
    real = rng.standard_normal(count) * 3
    if dtype.startswith("complex"):
        real = real + 1j * rng.standard_normal(count)
    return real.astype(dtype_of(dtype)).reshape(shape)


def run(*args, want=0):
    done = subprocess.run([CKPTDB, "-d", "catalog.db", *map(str, args)], capture_output=True,
                          text=True, timeout=600)
    if done.returncode != want:
        raise AssertionError(f"{args}: status {done.returncode}, not {want}: {done.stderr}")
    return done.stdout


def same(have, want, what):
    want = np.asarray(want)
    if have.dtype.kind == "V" and have.dtype.itemsize == want.dtype.itemsize:
        have = have.view(want.dtype)  # NumPy's own files hold ml_dtypes as raw bytes
    assert have.dtype == want.dtype, f"{what}: dtype {have.dtype}, not {want.dtype}"
    assert have.shape == want.shape, f"{what}: shape {have.shape}, not {want.shape}"
    assert have.tobytes() == want.tobytes(), f"{what}: other values"


def same_all(have, want):
    assert sorted(have) == sorted(want), f"names: {sorted(have)} not {sorted(want)}"
    for name, array in want.items():
        same(have[name], array, name)


def cast(arrays, to):
    """As ckptdb does it: the floating-point ones."""
    kinds = "fcV"
    return {n: a.astype(dtype_of(to)) if a.dtype.kind in kinds else a for n, a in arrays.items()}


def load_safetensors(path):
    """Through the reference parser, but with every dtype of ml_dtypes."""
    spelled = {"BOOL": "bool", "C64": "complex64", "BF16": "bfloat16",
               "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"}
    have = {}
    for name, entry in safetensors.deserialize(pathlib.Path(path).read_bytes()):
        letter, bits = entry["dtype"][0], entry["dtype"][1:]
        plain = {"F": "float", "I": "int", "U": "uint"}.get(letter, "") + bits
        dtype = dtype_of(spelled.get(entry["dtype"], plain))
        have[name] = np.frombuffer(entry["data"], dtype).reshape(entry["shape"])
    return have


def load_npz(path):
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files}


def load_parts(index):
    index = pathlib.Path(index)
    names = json.loads(index.read_text())["weight_map"]
    have = {}
    for part in sorted(set(names.values())):
        got = load_safetensors(index.parent / part)
        assert sorted(got) == sorted(n for n, p in names.items() if p == part)
        have.update(got)
    return have


def case(title):
    def decorate(test):
        global passed, failed
        try:
            test()
            passed += 1
        except Exception as error:  # noqa: BLE001: any trouble is this case's
            failed += 1
            print(f"FAIL {title}: {type(error).__name__}: {error}")
    return decorate


def main():
    arrays = {f"{d}/{s}": values(d, shape, i)
              for i, d in enumerate(PLAIN + EXTRA) for s, shape in SHAPES.items()}
    arrays["names/with \"quotes\" \\ and ünïcode\n\t\x01"] = np.arange(3, dtype="int32")
    arrays[""] = np.arange(2, dtype="uint8")
    big = {f"layer.{i}": values("float32", (100_003 + i,), i) for i in range(12)}
    numpy_only = {"dates": np.array(["2020-01-02", "NaT"], "datetime64[us]"),
                  "spans": np.array([1, -5], "timedelta64[25s]"),
                  "wide": values("complex128", (3,), 1), "raw": np.zeros(2, "V6")}
    safetensors.numpy.save_file(arrays, "all.safetensors", {"format": "np"})
    safetensors.numpy.save_file(big, "big.safetensors")
    np.savez_compressed("only.npz", **numpy_only)
    np.save("fortran.npy", np.asfortranarray(values("float64", (30, 40), 9)))
    run("import", ".")

    @case("safetensors")
    def _():
        run("export", "all.safetensors", "a.safetensors")
        same_all(load_safetensors("a.safetensors"), arrays)
        with safetensors.safe_open("a.safetensors", "np") as f:
            assert f.metadata()["format"] == "pt"

    @case("npz")
    def _():
        run("export", "all.safetensors", "a.npz")
        same_all(load_npz("a.npz"), arrays)
        assert zipfile.ZipFile("a.npz").testzip() is None
        for info in zipfile.ZipFile("a.npz").infolist():
            assert info.compress_type == zipfile.ZIP_STORED

    @case("npz from deflated members")
    def _():
        run("export", "only.npz", "o.npz")
        same_all(load_npz("o.npz"), numpy_only)

    @case("npy")
    def _():
        run("export", "fortran.npy", "f.npy")
        same(np.load("f.npy", mmap_mode="r"), np.load("fortran.npy"), "fortran")
        run("export", "all.safetensors", "one.npy", "--names", "^float32/cube$")
        same(np.load("one.npy"), arrays["float32/cube"], "cube")
        run("export", "all.safetensors", "two.npy", "--names", "^float32/", want=1)
        assert not os.path.exists("two.npy")

    for to in ["float32", "float64", "bfloat16", "float16"]:
        @case(f"--dtype {to}")
        def _():
            simple = {n: a for n, a in arrays.items()
                      if not n.startswith(("complex", "names/"))}
            run("export", "all.safetensors", f"{to}.safetensors", "--dtype", to, "--where",
                "dtype NOT LIKE 'complex%' AND name NOT LIKE 'names/%'")
            same_all(load_safetensors(f"{to}.safetensors"), cast(simple, to))
            run("export", "big.safetensors", f"{to}.npz", "--dtype", to)
            same_all(load_npz(f"{to}.npz"), cast(big, to))

    @case("parts")
    def _():
        run("export", "big.safetensors", "parts.safetensors", "--shard-size", "1MB")
        same_all(load_parts("parts.safetensors.index.json"), big)
        run("import", ".")
        run("export", "parts.safetensors.index.json", "joined.safetensors")
        same_all(load_safetensors("joined.safetensors"), big)

    @case("own names")
    def _():
        run("export", "--sql", "SELECT id AS tensor_id, 'x.' || ord AS new_name FROM tensor "
            "WHERE path LIKE '%/big.safetensors' ORDER BY name", "sql.npz")
        in_order = sorted(big)  # the writer orders by dtype, then by name
        same_all(load_npz("sql.npz"), {f"x.{i}": big[n] for i, n in enumerate(in_order)})

    @case("again and again the same bytes")
    def _():
        run("export", "big.safetensors", "1.npz", "--no-sync")
        run("export", "big.safetensors", "2.npz", "--no-sync")
        assert pathlib.Path("1.npz").read_bytes() == pathlib.Path("2.npz").read_bytes()

    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        status = main()
        os.chdir("/")
    sys.exit(status)
