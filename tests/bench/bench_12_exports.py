"""Exports to the formats of frameworks against the frameworks' own saving of the same tensors, which they have in memory:
of these the call alone counts, not the start of Python. The files are warm; what both write is compared by content."""
import json
import os
import shutil
import statistics
import struct

from bench_3_data import weights

TENSORS, TENSOR, ROW = 64, 4 << 20, 1024  # bytes of float32, [.., ROW]
LOAD = """
import sys, os, time, json, shutil, numpy as np
source, out = sys.argv[1:]
with open(source, "rb") as f:
    size = int.from_bytes(f.read(8), "little")
    header, data = json.loads(f.read(size)), f.read()
arrays = {k: np.frombuffer(data, "<f4", (v["data_offsets"][1] - v["data_offsets"][0]) // 4, v["data_offsets"][0])
             .reshape(v["shape"]).copy() for k, v in header.items()}
def clear():
    for path in out, out + ".index", out + ".data-00000-of-00001":
        shutil.rmtree(path) if os.path.isdir(path) else os.path.exists(path) and os.unlink(path)
"""
TIME = """
for _ in range(2):
    clear()
    began = time.perf_counter()
    save()
    took = time.perf_counter() - began
print(took)
"""
TORCH = """
import torch
tensors = {k: torch.from_numpy(a) for k, a in arrays.items()}
def save():
    torch.save(tensors, out)
"""
ORBAX = """
import orbax.checkpoint as ocp
def save():
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(out, arrays)
"""
TF = """
import tensorflow as tf
checkpoint = tf.train.Checkpoint(**{k: tf.Variable(a) for k, a in arrays.items()})
def save():
    checkpoint.write(out)
"""
ZARR = """
import tensorstore
context = tensorstore.Context({"file_io_sync": False})
def save():
    stores = [(a, tensorstore.open({"driver": "zarr", "kvstore": {"driver": "file", "path": f"{out}/{k}"}, "create": True,
               "metadata": {"shape": a.shape, "chunks": a.shape, "dtype": "<f4", "compressor": {"id": "gzip", "level": 5}}},
               context=context)) for k, a in arrays.items()]
    for written in [store.result().write(a) for a, store in stores]:
        written.result()
"""
# Row: module, goal, saving, OUT, its options, the part of the tensors. TensorStore syncs what Orbax saves.
ROWS = {
    "export torch, against torch.save": ("torch", 0.3, TORCH, "o.pt", ["--no-sync"], 1),
    "export Orbax OCDBT, against StandardCheckpointer": ("orbax.checkpoint", 0.5, ORBAX, "o.orbax", [], 1),
    "export TensorFlow, against Checkpoint.write": ("tensorflow", 0.3, TF, "o.index", ["--no-sync"], 1),
    "export gzip zarr, against TensorStore": ("tensorstore", 1.0, ZARR, "o.zarr", ["--no-sync", "--option", "codec=gzip"], 0.25),
}


def save(path, count):
    header = {f"layer{i:04}": {"dtype": "F32", "shape": [TENSOR // 4 // ROW, ROW], "data_offsets": [i * TENSOR, i * TENSOR + TENSOR]}
              for i in range(count)}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _ in range(count):
            f.write(weights(TENSOR))


def hashes(bench, path):
    """Hashes of the tensors there, by name without TensorFlow's additions."""
    bench.run([bench.ckptdb, "import", path])
    bench.run([bench.ckptdb, "hash", path])
    _, lines = bench.run([bench.ckptdb, "--list", "SELECT name || ' ' || hash FROM tensor WHERE dtype = 'float32' AND "
                          f"path = '{path}' ORDER BY name"])
    return lines.replace(b"/.ATTRIBUTES/VARIABLE_VALUE", b"")


def one(bench, name, module, goal, script, out, options, part):
    python = bench.python_with(module)
    if not python:
        bench.leave_out(name, f"there is no {module}")
        return
    folder = bench.root / "exports"
    folder.mkdir()
    source, mine, theirs = str(folder / "in.safetensors"), str(folder / out), str(folder / f"theirs{os.path.splitext(out)[1]}")
    theirs = theirs.removesuffix(".index")
    os.environ["CKPTDB"] = str(folder / "catalog.db")
    save(source, max(2, int(bench.count(TENSORS) * part)))
    bench.run([bench.ckptdb, "import", source])
    ratios, times = [], ([], [])
    for pair in range(bench.pairs + 1):
        for old in folder.glob("o.*"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        os.sync()
        took, _ = bench.run([bench.ckptdb, "export", source, mine, *options])
        os.sync()
        reference = float(bench.run([python, "-c", LOAD + script + TIME, source, theirs])[1].split()[-1])
        if pair:
            ratios.append(took / reference)
            times[0].append(took)
            times[1].append(reference)
    if not hashes(bench, mine.removesuffix(".index")) == hashes(bench, theirs) != b"":
        raise SystemExit(f"{name}: other tensors")
    shutil.rmtree(folder)
    del os.environ["CKPTDB"]
    bench.row(name, statistics.median(ratios), min(ratios), max(ratios), goal,
              f"{statistics.median(times[0]) * 1000:.0f} ms against {statistics.median(times[1]) * 1000:.0f} ms")


def run(bench):
    for name, row in ROWS.items():
        if bench.wants(name):
            one(bench, name, *row)
