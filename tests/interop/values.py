#!/usr/bin/env python3
"""Let TensorFlow, safetensors and NumPy write random checkpoints, and compare every tensor with
what the library itself reads back: name, dtype, shape and value.

    values.py CKPTDB [SEED]

The seed is printed; one that failed can be given again. The last line is "N passed, N failed".
"""
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy
import tensorflow as tf

CKPTDB = os.path.abspath(sys.argv[1])
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("CKPTDB_SEED") or random.randrange(1 << 32))
rng = np.random.default_rng(SEED)
tf1 = tf.compat.v1

PLAIN = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "float32", "float64", "complex64", "complex128"]
SMALL_FLOATS = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]
TF_ONLY = ["float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz", "int4", "uint4"]
QUANTISED = {"qint8": "int8", "quint8": "uint8", "qint16": "int16", "quint16": "uint16",
             "qint32": "int32"}
LOW_BITS = {"int4": 0x0F, "uint4": 0x0F}  # a byte an element; the upper bits mean nothing
JOINED = ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64",
          "complex128", "bfloat16"]  # TensorFlow does not join slices of the others


# --- random things ----------------------------------------------------------------------------
def shape(most=5):
    return tuple(int(n) for n in rng.integers(0, 7, rng.integers(0, most)))


def array(dtype, dims):
    """Any bits that the dtype has, NaNs and denormals too."""
    real = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    count = int(np.prod(dims))
    if dtype == "bool":
        return rng.integers(0, 2, count).astype(bool).reshape(dims)
    raw = rng.integers(0, 256, count * real.itemsize, np.uint8)
    if dtype in LOW_BITS:
        return (raw & 7).astype(real).reshape(dims)
    return np.frombuffer(raw.tobytes(), real).reshape(dims)


def text(most=300):
    return rng.integers(0, 256, int(rng.integers(0, most)), np.uint8).tobytes()


def constant(name, dims):
    if name in QUANTISED:
        return tf.bitcast(tf.constant(array(QUANTISED[name], dims)), getattr(tf, name))
    if name == "string":
        flat = [text() for _ in range(int(np.prod(dims)))]
        return tf.constant(flat, tf.string, dims)
    return tf.constant(array(name, dims))


# --- what a library reads ---------------------------------------------------------------------
def digest(a, dtype):
    if dtype in LOW_BITS:
        a = a.view(np.uint8) & LOW_BITS[dtype]
    a = np.asarray(a, order="C")
    if a.dtype.byteorder == ">":
        a = a.astype(a.dtype.newbyteorder("<"))
    return hashlib.sha256(a.tobytes()).hexdigest()


def answer(a, dtype=None):
    """(dtype, shape, digest or the strings in hex)"""
    if isinstance(a, bytes):  # NumPy would drop zero bytes at its end
        return "string", [], [a.hex().upper()]
    a = np.asarray(a)
    if a.dtype == object or dtype == "string":
        return "string", list(a.shape), [s.hex().upper() for s in a.ravel().tolist()]
    name = dtype or a.dtype.name
    return name, list(a.shape), digest(a, name)


def tf_answers(prefix, known=None):
    """What TensorFlow's own reader says; `known` are values that it cannot join."""
    reader = tf.train.load_checkpoint(prefix)
    answers = {}
    for name, dtype in reader.get_variable_to_dtype_map().items():
        a = known[name] if known and name in known else reader.get_tensor(name)
        if dtype.name in QUANTISED:
            a = np.asarray(a).view(QUANTISED[dtype.name])
        answers[name] = answer(a, dtype.name)
    return {prefix: answers}


# --- what ckptdb reads ------------------------------------------------------------------------
def sql(statement):
    done = subprocess.run([CKPTDB, "--json", "-c", statement], capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return json.loads(done.stdout)


def our_answers(path):
    quoted = "'" + os.path.realpath(os.path.dirname(path)) + "/" + os.path.basename(path) + "'"
    answers, strings = {}, {}
    for row in sql("SELECT t.name, v.position, hex(v.value) AS v FROM tensor t JOIN "
                   f"tensor_values(t.id) v WHERE t.path = {quoted} AND t.dtype = 'string' "
                   "ORDER BY t.name, v.position"):
        strings.setdefault(row["name"], []).append(row["v"])
    for row in sql("SELECT name, dtype, shape, iif(dtype = 'string', NULL, tensor_sha256(id)) AS h "
                   f"FROM tensor WHERE path = {quoted}"):
        dims = row["shape"] if isinstance(row["shape"], list) else json.loads(row["shape"])
        what = strings.get(row["name"], []) if row["dtype"] == "string" else row["h"]
        answers[row["name"]] = row["dtype"], dims, what
    return answers


def shorten(told):
    return [str(part)[:200] for part in told]


def compare(want):
    """Import the folder we are in and compare; the number of tensors."""
    done = subprocess.run([CKPTDB, "import", "."], capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    count = 0
    for path, tensors in want.items():
        have = our_answers(path)
        assert sorted(have) == sorted(tensors), f"{path}: {sorted(set(have) ^ set(tensors))[:5]}"
        for name, told in tensors.items():
            assert have[name] == told, f"{path}: {name}: {shorten(have[name])}, not {shorten(told)}"
        count += len(tensors)
    return count


# --- cases: each writes into the folder it is in and returns { path: { name: answer } } --------
def save(prefix, tensors, slices=None):
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=[n for n, _ in tensors],
                      shape_and_slices=slices or [""] * len(tensors),
                      tensors=[t for _, t in tensors])


def merge(prefix, parts, slices=None):
    """Every part a data file, as a sharded Saver does it."""
    files = []
    for i, part in enumerate(parts):
        files.append(f"{prefix}_temp/part-{i:05d}-of-{len(parts):05d}")
        save(files[-1], part, slices and slices[i])
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=files, destination_prefix=prefix)


def tf_every_dtype():
    names = PLAIN + SMALL_FLOATS + TF_ONLY + list(QUANTISED) + ["string"]
    tensors = [(f"{name}/{i}", constant(name, shape())) for name in names for i in range(4)]
    save("model.ckpt", tensors)
    return tf_answers("model.ckpt")


def tf_shards():
    parts = [[(f"part{i}/{text(9).hex()}_{j}", constant(str(rng.choice(PLAIN + ["string"])), shape()))
              for j in range(rng.integers(1, 9))] for i in range(rng.integers(2, 12))]
    merge("model.ckpt-77", parts)
    return tf_answers("model.ckpt-77")


def tf_many():
    """An index of many blocks, with long common beginnings."""
    tensors = [(f"encoder/block_{i % 300:03d}/layer_{i:05d}/kernel", constant("float32", shape(3)))
               for i in range(4000)]
    save("many", tensors)
    return tf_answers("many")


def tf_strings():
    lists = [[], [b""], [b"\0"] * 3, [text(100_000) for _ in range(3)],
             [text(20) for _ in range(5000)]]
    save("strings", [(f"s{i}", tf.constant(s, tf.string, [len(s)])) for i, s in enumerate(lists)]
         + [("scalar", tf.constant(text())), ("cube", constant("string", (3, 2, 4)))])
    return tf_answers("strings")


def cuts(n):
    """[(start, length), ...] that cover n."""
    places = sorted({0, n, *(int(i) for i in rng.integers(1, n, 2))})
    return [(a, b - a) for a, b in zip(places, places[1:])]


def tf_tiles():
    parts, slices, whole = [[], []], [[], []], {}
    for i, name in enumerate(PLAIN + SMALL_FLOATS):
        dims = tuple(int(n) for n in rng.integers(3, 12, 2))
        a = whole[f"cut/{name}"] = array(name, dims)
        for r, rows in cuts(dims[0]):
            for c, columns in cuts(dims[1]):
                at = int(rng.integers(0, 2))
                parts[at].append((f"cut/{name}", tf.constant(a[r:r + rows, c:c + columns])))
                slices[at].append(f"{dims[0]} {dims[1]} {r},{rows}:{c},{columns}")
    merge("tiles", parts, slices)
    return tf_answers("tiles", {n: a for n, a in whole.items() if n[4:] not in JOINED})


def tf_partitioned():
    with tf.Graph().as_default(), tf1.Session() as session:
        for axis in (0, 1):
            split = tf1.fixed_size_partitioner(int(rng.integers(2, 5)), axis=axis)
            with tf1.variable_scope(f"axis{axis}", partitioner=split):
                for name in ("float32", "float64", "int32"):
                    tf1.get_variable(name, (11, 7), name, tf1.random_uniform_initializer(
                        0, 99, int(rng.integers(99)), name))
        step = tf1.train.get_or_create_global_step()
        session.run(tf1.global_variables_initializer())
        session.run(step.assign(12))
        tf1.train.Saver(sharded=True).save(session, "./part.ckpt", 12, write_meta_graph=False)
    return tf_answers("part.ckpt-12")


class Net(tf.Module):
    def __init__(self):
        super().__init__()
        self.layers = [tf.Variable(array("float32", (4, i + 1))) for i in range(5)]
        self.named = {"a/b": tf.Variable(array("bfloat16", (3,))), "c.d": tf.Variable(True)}
        self.text = tf.Variable(text())
        self.count = tf.Variable(7, dtype=tf.int64)

    @tf.function(input_signature=[tf.TensorSpec([], tf.int64)])
    def add(self, n):
        return self.count + n


def tf_objects():
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(net=Net()), ".", 2)
    prefixes = [manager.save(n) for n in (5, 6)]
    tf.train.Checkpoint(net=Net()).write("sized", tf.train.CheckpointOptions(
        experimental_sharding_callback=tf.train.experimental.MaxShardSizePolicy(64)))
    want = tf_answers("sized")
    for prefix in prefixes:
        want.update(tf_answers(prefix))
    return want


def tf_saved_model():
    tf.saved_model.save(Net(), "export/1")
    return tf_answers("export/1/variables/variables")


def st_every_dtype():
    names = [n for n in PLAIN if n != "complex128"] + SMALL_FLOATS
    tensors = {f"{n}.{i}": array(n, shape(6)) for n in names for i in range(5)}
    safetensors.numpy.save_file(tensors, "model.safetensors", {"format": "np", "é\n": "\"x\""})
    with open("model.safetensors", "rb") as f:
        read = safetensors.deserialize(f.read())
    assert sorted(n for n, _ in read) == sorted(tensors)
    return {"model.safetensors": {
        n: (tensors[n].dtype.name, t["shape"], hashlib.sha256(t["data"]).hexdigest())
        for n, t in read}}


def st_many():
    tensors = {f"layers.{i}.weight": array("float32", shape(3)) for i in range(20000)}
    safetensors.numpy.save_file(tensors, "many.safetensors")
    read = safetensors.numpy.load_file("many.safetensors")
    return {"many.safetensors": {n: answer(a) for n, a in read.items()}}


def np_archives():
    tensors = {}
    for i, name in enumerate(PLAIN * 3):
        a = array(name, shape())
        a = [a, np.asfortranarray(a), a.astype(a.dtype.newbyteorder(">"))][i % 3]
        tensors[f"{name}/{i}"] = a
    np.savez("plain.npz", **tensors)
    np.savez_compressed("small.npz", **tensors)
    want = {}
    for path in ("plain.npz", "small.npz"):
        with np.load(path) as archive:
            want[path] = {n: answer(archive[n]) for n in archive.files}
    for i, (name, a) in enumerate(tensors.items()):
        np.save(f"{i}.npy", a)
        want[f"{i}.npy"] = {str(i): answer(np.load(f"{i}.npy"))}
    return want


CASES = [tf_every_dtype, tf_shards, tf_many, tf_strings, tf_tiles, tf_partitioned, tf_objects,
         tf_saved_model, st_every_dtype, st_many, np_archives]


def main():
    passed = failed = 0
    print(f"seed {SEED}")
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(folder + "/data")
            os.chdir(folder + "/data")
            os.environ["CKPTDB"] = folder + "/catalog.db"
            try:
                print(f"{case.__name__}: {compare(case())} tensors")
                passed += 1
            except Exception as error:  # noqa: BLE001: any trouble is this case's
                failed += 1
                print(f"FAIL {case.__name__}: {type(error).__name__}: {str(error)[:1000]}")
            os.chdir("/")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
