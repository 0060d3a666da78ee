#!/usr/bin/env python3
"""Export every fixture that is whole to every format, and read the output with the library that the format is of.

    every_to_every.py CKPTDB [FORMAT...]

What a format cannot hold must be refused by name; tensors of the dtypes that it holds are then exported alone. What is
expected comes from the source by `export` to .npz. CKPTDB_SOURCES names other folders. The last line is "N passed, N failed".
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import ml_dtypes
import numpy as np
from exports_back import flat, read_dcp, read_gguf, read_hdf5, read_orbax, read_t5x, read_tf, read_torch

CKPTDB = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = os.environ.get("CKPTDB_SOURCES", os.path.join(HERE, "fixtures")).split(":")
LARGEST = 4_000_000  # bytes of a checkpoint: more would give no other case


def run(*args):
    done = subprocess.run([CKPTDB, "-d", "catalog.db", *map(str, args)], capture_output=True, text=True, timeout=600, check=False)
    return done.returncode, done.stderr


def query(sql):
    done = subprocess.run([CKPTDB, "-d", "catalog.db", "--json", sql], capture_output=True, text=True, check=True)
    return [tuple(row.values()) for row in json.loads(done.stdout or "[]")]


def dtype_of(name):
    try:
        return np.dtype(getattr(ml_dtypes, name, None) or name)
    except TypeError:
        return None


# --- what each library reads ----------------------------------------------------------------

def read_safetensors(path, want, rng):
    import torch
    from exports_back import of_torch
    from safetensors.torch import load_file
    assert torch
    return {name: of_torch(t) for name, t in load_file(path).items()}


def read_npz(path, want, rng):
    with np.load(path) as f:
        return dict(f)


def read_npy(path, want, rng):
    return {next(iter(want["arrays"])): np.load(path)}


def read_flax(path, want, rng):
    from flax import serialization
    with open(path, "rb") as f:
        tree = serialization.msgpack_restore(f.read())
    return dict(flat(tree)) if isinstance(tree, dict) else {"": tree}


def read_zarr(path, want, rng):
    import tensorstore
    driver = "zarr3" if want["format"] == "zarr3" else "zarr"
    stores = {name: {"driver": "file", "path": os.path.join(os.path.abspath(path), name)} for name in want["arrays"]}
    return {name: tensorstore.open({"driver": driver, "kvstore": store}).result().read().result() for name, store in stores.items()}


# name: (format, OUT, options, reads)
OUTPUTS = {
    "safetensors": ("safetensors", "x.safetensors", [], read_safetensors),
    "npz": ("npz", "x.npz", [], read_npz),
    "npy": ("npy", "x.npy", [], read_npy),
    "zarr": ("zarr", "x.zarr", [], read_zarr),
    "zarr3": ("zarr3", "x3.zarr", [], read_zarr),
    "flax": ("flax", "x.msgpack", [], read_flax),
    "torch": ("torch", "x.pt", [], read_torch),
    "dcp": ("dcp", "x.dcp", [], read_dcp),
    "gguf": ("gguf", "x.gguf", [], read_gguf),
    "hdf5": ("hdf5", "x.h5", [], read_hdf5),
    "weights.h5": ("hdf5", "x.weights.h5", ["--option", "chunks=auto", "--option", "deflate=1"], read_hdf5),
    "tf": ("tf", "x.index", [], read_tf),
    "t5x": ("t5x", "x.t5x", [], read_t5x),
    "orbax": ("orbax", "x.orbax", [], read_orbax),
    "orbax folders": ("orbax", "y.orbax", ["--option", "ocdbt=false"], read_orbax),
}


# --- one output -----------------------------------------------------------------------------

def same(have, want, what):
    have = np.asarray(have)
    if have.dtype.kind == "V" and not have.dtype.names and have.dtype.itemsize == want.dtype.itemsize:
        have = have.view(want.dtype)
    assert have.dtype == want.dtype, f"{what}: dtype {have.dtype}, not {want.dtype}"
    assert have.shape == want.shape, f"{what}: shape {have.shape}, not {want.shape}"
    assert have.tobytes() == want.tobytes(), f"{what}: other values"


def expected(checkpoint, dtypes):
    """{name: array} of the tensors that have NumPy's dtypes; one array is alone in `only`."""
    arrays, out = {}, f"want{checkpoint}.npz"
    status, said = run("export", checkpoint, out, "--where", listed(dtypes), "--no-sync", "--force")
    if status:
        return None, said
    kinds = dict(query(f"SELECT name, dtype FROM tensor WHERE checkpoint_id = {checkpoint}"))
    with np.load(out) as f:
        for name in f.files:
            arrays[name] = f[name].view(dtype_of(kinds[name])) if f[name].dtype.kind == "V" else f[name]
    os.unlink(out)
    return arrays, ""


def listed(dtypes):
    return "dtype IN (" + ", ".join(f"'{d}'" for d in dtypes) + ")"


def export(checkpoint, name, dtypes, one=None):
    fmt, out, options, _ = OUTPUTS[name]
    where = listed(dtypes) + (" AND name = '" + one.replace("'", "''") + "'" if one is not None else "")
    return run("export", checkpoint, out, "--format", fmt, "--where", where, "--no-sync", "--force", *options)


def refusal(said):
    """Without the parts that only this one has."""
    said = re.sub(r"ckptdb: (error: )?", "", said.strip().splitlines()[0] if said.strip() else "nothing was said")
    return re.sub(r"'[^']*'|\"[^\"]*\"|\d+|\S*/\S*", "_", said)[:140]


def one_output(checkpoint, name, arrays, dtypes):
    """None, or the reason for the refusal."""
    one = None
    if name == "npy":
        one = sorted(arrays)[0]
    status, said = export(checkpoint, name, dtypes, one)
    why = refusal(said) if status else None
    if status and len(dtypes) > 1:
        dtypes = [d for d in dtypes if export(checkpoint, name, [d], one)[0] == 0]
        if dtypes:
            status, said = export(checkpoint, name, dtypes, one)
    if status:
        assert status == 1 and said.startswith("ckptdb: "), f"status {status}: {said}"
        return refusal(said)
    wanted = {k: a for k, a in arrays.items() if a.dtype in [dtype_of(d) for d in dtypes] and one in (None, k)}
    if name.startswith(("orbax", "t5x")) and any(not a.size for a in wanted.values()):
        return "(Orbax does not read arrays without elements)"
    if name.startswith("zarr") and any((a.dtype.kind in "mM" or a.dtype.type is np.void) or a.ndim > 32 for a in wanted.values()):
        return "(TensorStore has neither dates nor raw bytes, nor more than 32 dimensions)"
    if name == "gguf" and any(not a.ndim and a.dtype == "bfloat16" for a in wanted.values()):
        return "(gguf-py does not read bfloat16 without dimensions, which ggml takes)"
    got = OUTPUTS[name][3](OUTPUTS[name][1], {"arrays": wanted, "format": OUTPUTS[name][0]}, np.random.default_rng(1))
    assert sorted(got) == sorted(wanted), f"names: {sorted(set(got) ^ set(wanted))[:5]}"
    for k, want in wanted.items():
        same(got[k], want, k)
    return why


def main():
    passed = failed = 0
    refused = Counter()
    names = sys.argv[2:] or list(OUTPUTS)
    run("import", *SOURCES)
    todo = query(f"SELECT id, format, path FROM checkpoint WHERE tensors > 0 AND nbytes < {LARGEST} AND state = 'complete'")
    for checkpoint, source, path in todo:
        kinds = [d for (d,) in query(f"SELECT DISTINCT dtype FROM tensor WHERE checkpoint_id = {checkpoint}")]
        dtypes = [d for d in kinds if dtype_of(d) is not None]
        try:
            arrays, said = expected(checkpoint, dtypes) if dtypes else (None, "no dtype of NumPy's")
        except ValueError as error:  # such as no elements, in one of 2^62 rows
            arrays, said = None, f"NumPy: {error}"
        if arrays is None:
            refused["npz, expected", refusal(said)] += 1
            continue
        for name in names:
            try:
                why = one_output(checkpoint, name, arrays, dtypes)
                if why:
                    refused[name, why] += 1
                passed += 1
            except Exception as error:  # noqa: BLE001: any trouble is this output's
                failed += 1
                print(f"FAIL {source} to {name}: {path}: {type(error).__name__}: {str(error)[:300]}", flush=True)
    for (name, why), count in sorted(refused.items()):
        print(f"{count:5} refused: {name}: {why}")
    print(f"{len(todo)} checkpoints")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        status = main()
        os.chdir("/")
    sys.exit(status)
