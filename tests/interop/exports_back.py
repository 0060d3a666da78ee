#!/usr/bin/env python3
"""Read what ckptdb exports with the library that each format is of, and compare names, dtypes, shapes and values.

    exports_back.py CKPTDB [FORMAT...]

Trees are random, CKPTDB_TREES a format (default 60); CKPTDB_SEED chooses others. The last line is "N passed, N failed".
"""
import json
import os
import subprocess
import sys
import tempfile
import warnings

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import ml_dtypes
import numpy as np
import safetensors.numpy

CKPTDB = os.path.abspath(sys.argv[1])
TREES = int(os.environ.get("CKPTDB_TREES", "60"))
COMMON = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
          "complex64", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
PARTS = ["w", "kernel", "layers_0", "0", "1", "x" * 31, "ü", "a b", "a-b", "a", "a.b", "it's", 'say "x"', "y" * 40,
         "a\nb", "a\tb", "\x01", "\x7f", "\u2028", "\ufeffq", "\U0001f600", " ", "~", "-", "%s", "{}", "$HOME", "*", "[0]", "a:b", "a,b", "a=b",
         "a;b", "<b>", "|", "#", "__len__", "data.pkl", "checkpoint", "value", "None", "CON", "A"]
passed = failed = 0
warnings.simplefilter("ignore")


def run(*args):
    done = subprocess.run([CKPTDB, *map(str, args)], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{args}: status {done.returncode}: {done.stderr}"


def random_array(rng, dtypes):
    dtype = rng.choice(dtypes)
    shape = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 9, rng.integers(0, 4)))
    if rng.random() < 0.02:
        shape = (int(rng.integers(60_000, 140_000)),)
    return np.asarray(np.abs(rng.standard_normal(shape) * 50)).astype(getattr(ml_dtypes, dtype, None) or dtype)


def random_tree(rng, dtypes, largest):
    """Arrays by path: none lies below another, and none is another one's when its parts are joined by '.'."""
    tree, dotted = {}, set()
    for _ in range(int(rng.choice([1, 3, 20, largest]))):
        name = "/".join(rng.choice(PARTS, rng.integers(1, 5)))
        if rng.random() < 0.5:
            name += f"/{rng.integers(0, 3000)}"
        below = any(name.startswith(other + "/") or other.startswith(name + "/") for other in tree)
        if not below and name.replace("/", ".") not in dotted:
            tree[name] = random_array(rng, dtypes)
            dotted.add(name.replace("/", "."))
    return tree


def flat(tree, above=""):
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from flat(value, f"{above}{key}/")
        else:
            yield above + key, value


# --- what each library reads: {name: array} -------------------------------------------------

def of_torch(tensor):
    import torch
    words = {1: (torch.uint8, "uint8"), 2: (torch.int16, "int16")}
    name = str(tensor.dtype).removeprefix("torch.")
    if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64"):
        as_torch, as_numpy = words.get(tensor.element_size(), (torch.uint8, "uint8"))
        raw = tensor.contiguous().reshape(-1).view(as_torch).numpy().astype(as_numpy)
        return raw.view(getattr(ml_dtypes, name, None) or name).reshape(tuple(tensor.shape))
    return tensor.numpy()


def read_torch(path, want, rng):
    import torch
    got = torch.load(path, weights_only=True, mmap=bool(rng.integers(2)))
    assert list(got) == want.get("order", list(got)), "another order"
    return {name: of_torch(t) for name, t in got.items()}


def read_dcp(path, want, rng):
    import torch
    import torch.distributed.checkpoint as dcp
    whole = {name: torch.zeros(tuple(a.shape), dtype=getattr(torch, str(a.dtype))) for name, a in want["arrays"].items()}
    dcp.load(whole, checkpoint_id=path, no_dist=True)
    return {name: of_torch(t) for name, t in whole.items()}


def read_gguf(path, want, rng):
    """Of a split model all parts, the metadata of the first."""
    import glob
    from gguf import GGUFReader
    got, parts = {}, sorted(glob.glob(path.removesuffix(".gguf") + "-0*.gguf")) or [path]
    for k, part in enumerate(parts):
        reader = GGUFReader(part)
        if not k and "order" in want:
            assert reader.fields["note"].contents() == 'of "ü"' and reader.fields["n"].contents() == [1, -2]
        if len(parts) > 1:
            assert [reader.fields["split." + key].contents() for key in ("no", "count", "tensors.count")] == [
                k, len(parts), len(want["arrays"])]
        for t in reader.tensors:
            shape = tuple(int(n) for n in reversed(t.shape.tolist()))
            assert t.data_offset % reader.alignment == 0
            name = {"F32": "float32", "F16": "float16", "F64": "float64", "BF16": "bfloat16"}.get(t.tensor_type.name) or f"int{t.tensor_type.name[1:]}"
            got[t.name] = np.frombuffer(np.ascontiguousarray(t.data).tobytes(), getattr(ml_dtypes, name, None) or name).reshape(shape)
    assert list(got) == want.get("order", list(got)), "another order"
    return got


def read_hdf5(path, want, rng):
    import h5py
    got = {}

    def visit(name, node):
        if isinstance(node, h5py.Dataset):
            value = node[()]
            if "dtype" in node.attrs:
                value = np.frombuffer(value.tobytes(), getattr(ml_dtypes, node.attrs["dtype"])).reshape(node.shape)
            got[name] = value
    with h5py.File(path) as f:
        f.visititems(visit)
        assert "order" not in want or f.attrs["note"] == 'of "ü"'
    return got


def read_tf(path, want, rng):
    import tensorflow as tf
    reader = tf.train.load_checkpoint(path.removesuffix(".index"))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def read_orbax(path, want, rng):
    import orbax.checkpoint as ocp
    tree = ocp.StandardCheckpointer().restore(os.path.abspath(path))
    return dict(flat(tree)) if isinstance(tree, dict) else {"": tree}


def read_t5x(path, want, rng):
    """As T5X does: the index by Flax, what has a driver by TensorStore, with the metadata that is on the disk."""
    import tensorstore
    from flax import serialization
    with open(path + "/checkpoint", "rb") as f:
        index = serialization.msgpack_restore(f.read())
    named = any(name.startswith(("target/", "state/", "flax_mutables/")) for name in want["arrays"])  # as T5X's own names
    assert index["version"] == 3 and (named or int(index["optimizer"]["state"]["step"]) == 0)

    def leaves(tree, above=""):
        for key, value in tree.items():
            if isinstance(value, dict) and not ("driver" in value and "path" in value.get("kvstore", ())):
                yield from leaves(value, f"{above}{key}/")
            else:
                yield above + key, value
    got = {}
    mutables = {"flax_mutables": index["flax_mutables"]} if "flax_mutables" in index else {}
    for name, value in leaves({**index["optimizer"], **mutables} if named else index["optimizer"]["target"]):
        if isinstance(value, dict):
            store = {"driver": value["driver"],
                     "kvstore": {"driver": "file", "path": os.path.join(os.path.abspath(path), value["kvstore"]["path"])}}
            array = tensorstore.open(store).result()
            assert list(array.shape) == value["metadata"]["shape"]
            value = array.read().result()
        got[name] = np.asarray(value)
    if named and "state/step" not in want["arrays"]:
        del got["state/step"]
    return got


# name: (OUT, options, dtypes, reads, how many tensors at the most)
WITHOUT_FP8 = [d for d in COMMON if "float8" not in d]
FORMATS = {
    "torch": ("x.pt", lambda r: [], COMMON, read_torch, 900),
    "dcp": ("x.dcp", lambda r: r.choice([[], ["--shard-size", "4KB"]]), COMMON, read_dcp, 200),
    "gguf": ("x.gguf", lambda r: ["--meta", 'note=of "ü"', "--meta", "n=[1,-2]", *r.choice([[], ["--shard-size", "4KB"]]),
                                  *r.choice([[], ["--option", "alignment=64"]])],
             ["int8", "int16", "int32", "int64", "float16", "float32", "float64", "bfloat16"], read_gguf, 900),
    "hdf5": ("x.h5", lambda r: ["--meta", 'note=of "ü"', *r.choice(
        [[], ["--option", "chunks=2,3"], ["--option", "deflate=6"], ["--option", "shuffle=true", "--option", "deflate=1"],
         ["--option", "chunks=1", "--option", "shuffle=true"], ["--option", "chunks=2,2,2", "--option", "deflate=9"]])],
             COMMON, read_hdf5, 900),
    "tf": ("x.index", lambda r: r.choice([[], ["--shard-size", "4KB"]]), COMMON, read_tf, 900),
    "orbax": ("x.orbax", lambda r: r.choice([[], ["--option", "ocdbt=false"]]), COMMON, read_orbax, 200),
    "t5x": ("x.t5x", lambda r: [], [d for d in COMMON if d != "uint16"], read_t5x, 200),
}


class Choice:
    """random.choice of lists of lists, which NumPy's makes arrays of."""

    def __init__(self, rng):
        self.rng = rng

    def choice(self, options):
        return options[int(self.rng.integers(len(options)))]


def one_tree(fmt, rng):
    out, options, dtypes, read, largest = FORMATS[fmt]
    arrays = random_tree(rng, dtypes, largest)
    if fmt in ("orbax", "t5x"):  # Orbax refuses to read arrays without elements
        arrays = {name: a if a.size else np.zeros(1, a.dtype) for name, a in arrays.items()}
    if fmt == "gguf":  # gguf-py fails at a bfloat16 without dimensions, which ggml takes
        arrays = {name: a for name, a in arrays.items() if len(name.encode()) < 64 and (a.ndim or a.dtype != "bfloat16")} or {"w": np.zeros(1, np.float32)}
    if fmt == "orbax":  # of its own
        arrays.pop("checkpoint", None)
        arrays = arrays or {"w": np.zeros(1, np.float32)}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        safetensors.numpy.save_file(arrays, "in.safetensors")
        run("export", "./in.safetensors", out, "--format", fmt, "--no-sync", *options(Choice(rng)))
        got = read(out, {"arrays": arrays, "order": stored_order("in.safetensors")}, rng)
        os.chdir("/")
    assert sorted(got) == sorted(arrays), f"names: {sorted(set(got) ^ set(arrays))[:5]}"
    for name, want in arrays.items():
        have = np.asarray(got[name])
        assert have.dtype == want.dtype, f"{name}: dtype {have.dtype}, not {want.dtype}"
        assert have.shape == want.shape, f"{name}: shape {have.shape}, not {want.shape}"
        assert have.tobytes() == want.tobytes(), f"{name}: other values"


def stored_order(path):
    """The names as the file's header has them."""
    with open(path, "rb") as f:
        return [k for k in json.loads(f.read(int.from_bytes(f.read(8), "little"))) if k != "__metadata__"]


def main():
    global passed, failed
    seed = int(os.environ.get("CKPTDB_SEED", "1"))
    for fmt in sys.argv[2:] or FORMATS:
        for k in range(TREES):
            try:
                one_tree(fmt, np.random.default_rng([seed, k]))
                passed += 1
            except Exception as error:  # noqa: BLE001: any trouble is this tree's
                failed += 1
                print(f"FAIL {fmt}, tree {k}: {type(error).__name__}: {str(error)[:300]}")
    print(f"{passed} passed, {failed} failed")


if __name__ == "__main__":
    main()
