#!/usr/bin/env python3
"""Let Flax serialise random trees, and compare every leaf with what Flax itself restores.

    flax_values.py CKPTDB [SEED]

The seed is printed; one that failed can be given again. The last line is "N passed, N failed".
"""
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import flax.serialization as serialization
import ml_dtypes
import numpy as np

CKPTDB = os.path.abspath(sys.argv[1])
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("CKPTDB_SEED") or random.randrange(1 << 32))
TREES = 40
rng = np.random.default_rng(SEED)
WHOLE = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
         "float64", "complex64", "complex128", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu",
         "float8_e4m3b11fnuz", "datetime64[s]"]
PART = ["int4", "uint4", "int2", "uint2", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"]


def array(dtypes):
    dtype = str(rng.choice(dtypes))
    real = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    dims = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 9, rng.integers(0, 4)))
    count = int(np.prod(dims))
    if dtype in ("bool", *PART):
        return rng.integers(0, 2, count).astype(real).reshape(dims)
    return np.frombuffer(rng.integers(0, 256, count * real.itemsize, np.uint8).tobytes(), real).reshape(dims)


def leaf(dtypes):
    kind = rng.integers(0, 12)
    if kind > 4:
        return array(dtypes)
    return [None, int(rng.integers(-2**40, 2**40)), float(rng.random()), "text é", np.float32(rng.random())][kind]


def word():
    return "".join(rng.choice(list("abcdefgh_./ é0"), int(rng.integers(0, 9))))


def tree(depth, dtypes):
    if depth == 0 or rng.random() < 0.2:
        return leaf(dtypes)
    if rng.random() < 0.2:
        return [tree(depth - 1, dtypes) for _ in range(rng.integers(0, 4))]
    return {f"{word()}{i}": tree(depth - 1, dtypes) for i in range(rng.integers(0, 6))}


def leaves(value, path=()):
    """Paths and leaves, empty containers among them."""
    if isinstance(value, (dict, list, tuple)) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from leaves(inner, (*path, str(key)))
    else:
        yield "/".join(path), value


def told(value):
    """[dtype, shape, sha256 of the elements, one byte each if they are less than a byte]"""
    a = np.asarray(value)
    return [a.dtype.name, list(a.shape), hashlib.sha256(a.tobytes()).hexdigest()]


def answers(path):
    """What Flax restores: tensors, nodes, facts."""
    with open(path, "rb") as file:
        restored = list(leaves(serialization.msgpack_restore(file.read())))
    kinds = {"NoneType": "null", "dict": "dict", "list": "list", "tuple": "list"}
    tensors = {n: told(v) for n, v in restored if isinstance(v, (np.ndarray, np.generic))}
    nodes = {n: kinds[type(v).__name__] for n, v in restored if type(v).__name__ in kinds}
    facts = {n: v for n, v in restored if isinstance(v, (int, float, str)) and n not in tensors}
    return tensors, nodes, facts


def sql(statement):
    done = subprocess.run([CKPTDB, "--json", "-c", statement], capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return json.loads(done.stdout)


def our_answers(path):
    quoted = "'" + os.path.realpath(path).replace("'", "''") + "'"
    tensors = {}
    for row in sql(f"SELECT name, dtype, shape, tensor_sha256(id) AS h FROM tensor WHERE path = {quoted}"):
        dims = row["shape"] if isinstance(row["shape"], list) else json.loads(row["shape"])
        tensors[row["name"]] = [row["dtype"], dims, row["h"]]
    owner = f"checkpoint_id = (SELECT id FROM checkpoint WHERE path = {quoted})"
    nodes = {row["name"]: row["kind"] for row in sql(f"SELECT name, kind FROM node WHERE {owner}")}
    facts = {row["key"]: row["value"] for row in sql(f"SELECT key, value FROM metadata WHERE {owner}")}
    return tensors, nodes, facts


def compare(path):
    serialised = answers(path)
    done = subprocess.run([CKPTDB, "import", path], capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    for what, want, have in zip(("tensors", "nodes", "facts"), serialised, our_answers(path)):
        for name in want.keys() | have.keys():
            assert want.get(name) == have.get(name), \
                f"{what}: {name!r}: {str(have.get(name))[:200]}, not {str(want.get(name))[:200]}"
    return len(serialised[0])


def main():
    passed = failed = tensors = 0
    print(f"seed {SEED}")
    for number in range(TREES):
        # Pieces of elements that share bytes cannot be read, so those are not cut here.
        chunk = int(rng.choice([2**30, 64, 100]))
        serialization.MAX_CHUNK_SIZE = chunk
        with tempfile.TemporaryDirectory() as folder:
            os.environ["CKPTDB"] = folder + "/catalog.db"
            path = folder + "/tree.msgpack"
            with open(path, "wb") as file:
                file.write(serialization.msgpack_serialize(
                    {"tree": tree(5, WHOLE + (PART if chunk == 2**30 else []))}))
            try:
                tensors += compare(path)
                passed += 1
            except Exception as error:  # noqa: BLE001: any trouble is this tree's
                failed += 1
                print(f"FAIL tree {number}: {type(error).__name__}: {str(error)[:1000]}")
    print(f"{tensors} tensors compared")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
