#!/usr/bin/env python3
"""Read what ckptdb exports to msgpack with flax.serialization, and compare by value.

    flax_back.py CKPTDB

Names, shapes and dtypes are random; CKPTDB_SEED chooses others. The last line is "N passed, N failed".
"""
import os
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np
import safetensors.numpy
from flax import serialization, traverse_util

CKPTDB = os.path.abspath(sys.argv[1])
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
          "float32", "float64", "complex64", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
passed = failed = 0


def run(*args, want=0):
    done = subprocess.run([CKPTDB, "-d", "catalog.db", *map(str, args)], capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == want, f"{args}: status {done.returncode}: {done.stderr}"
    return done.stderr


def check(title, test):
    global passed, failed
    try:
        test()
        passed += 1
    except Exception as error:  # noqa: BLE001: any trouble is this case's
        failed += 1
        print(f"FAIL {title}: {type(error).__name__}: {error}")


def random_array(rng):
    dtype = rng.choice(DTYPES)
    shape = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 9, rng.integers(0, 4)))
    raw = np.abs(rng.standard_normal(shape) * 50)
    return np.asarray(np.asarray(raw).astype(getattr(ml_dtypes, dtype, None) or dtype))


def random_names(rng, count):
    """Paths of a tree: none lies below another."""
    parts = ["w", "kernel", "layers_0", "0", "1", "x" * 31, "x" * 32, "ü", "a b", "a-b", "a", "y" * 300]
    names = set()
    while len(names) < count:
        name = "/".join(rng.choice(parts, rng.integers(1, 6)))
        below = any(other.startswith(name + "/") or name.startswith(other + "/") for other in names)
        if not below:
            names.add(name)
    return names


def same_tree(path, arrays):
    with open(path, "rb") as file:
        tree = serialization.msgpack_restore(file.read())
    have = traverse_util.flatten_dict(tree, sep="/")
    assert sorted(have) == sorted(arrays), f"{sorted(have)} not {sorted(arrays)}"
    for name, want in arrays.items():
        got = np.asarray(have[name])
        assert got.dtype == want.dtype, f"{name}: dtype {got.dtype}, not {want.dtype}"
        assert got.shape == want.shape, f"{name}: shape {got.shape}, not {want.shape}"
        assert got.tobytes() == want.tobytes(), f"{name}: other values"


def round_trip(rng, i):
    arrays = {name: random_array(rng) for name in random_names(rng, int(rng.integers(1, 40)))}
    safetensors.numpy.save_file(arrays, f"{i}.safetensors")
    run("import", f"{i}.safetensors")
    run("export", f"{i}.safetensors", f"{i}.msgpack")
    same_tree(f"{i}.msgpack", arrays)
    run("import", f"{i}.msgpack")
    run("diff", "--bytes", f"{i}.safetensors", f"{i}.msgpack")


def root():
    np.save("root.npy", np.arange(6.0).reshape(2, 3))
    run("import", "root.npy")
    run("export", "--sql", "SELECT id AS tensor_id, '' AS new_name FROM tensor WHERE name = 'root'",
        "root.msgpack")
    with open("root.msgpack", "rb") as file:
        assert serialization.msgpack_restore(file.read()).tolist() == [[0, 1, 2], [3, 4, 5]]


def inside():
    safetensors.numpy.save_file({"a": np.zeros(1), "a/b": np.zeros(1)}, "inside.safetensors")
    run("import", "inside.safetensors")
    assert 'below "a"' in run("export", "inside.safetensors", "inside.msgpack", want=1)


def main():
    rng = np.random.default_rng(int(os.environ.get("CKPTDB_SEED", "1")))
    os.chdir(tempfile.mkdtemp())
    for i in range(30):
        check(f"round trip {i}", lambda i=i: round_trip(rng, i))
    check("root", root)
    check("a tensor inside a tensor", inside)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
