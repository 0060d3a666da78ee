#!/usr/bin/env python3
"""Let PyTorch write random checkpoints in each of its forms, and compare every tensor with what
PyTorch holds: name, dtype, shape and value.

    torch_values.py CKPTDB [SEED]

The seed is printed; one that failed can be given again. The last line is "N passed, N failed".
"""
import collections
import hashlib
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
import warnings
import zipfile

import numpy as np
import torch

warnings.filterwarnings("ignore")
CKPTDB = os.path.abspath(sys.argv[1])
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("CKPTDB_SEED") or random.randrange(1 << 32))
FILES = 12  # of each form
rng = np.random.default_rng(SEED)
T = torch

PLAIN = [T.float64, T.float32, T.float16, T.bfloat16, T.int64, T.int32, T.int16, T.int8, T.uint8, T.bool,
         T.complex64, T.complex128]
NEWER = [T.complex32, T.uint16, T.uint32, T.uint64, T.float8_e4m3fn, T.float8_e5m2, T.float8_e4m3fnuz,
         T.float8_e5m2fnuz, T.float8_e8m0fnu]


# --- random things ----------------------------------------------------------------------------
def dims(most=5):
    return [int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 7, rng.integers(0, most))]


def whole(dtype, shape):
    """Any bits that the dtype has."""
    count = int(np.prod(shape))
    if dtype == T.bool:
        return T.from_numpy(rng.integers(0, 2, count).astype(bool)).reshape(shape)
    raw = T.from_numpy(rng.integers(0, 256, count * dtype.itemsize, np.uint8))
    return raw.view(dtype).reshape(shape) if count else T.zeros(shape, dtype=dtype)


def view(t):
    """A random view, perhaps one that walks its storage in an odd way."""
    for _ in range(rng.integers(0, 3)):
        kind = rng.integers(0, 6)
        if kind == 0 and t.dim() >= 2:
            t = t.transpose(*(int(d) for d in rng.choice(t.dim(), 2, replace=False)))
        elif kind == 1 and t.dim():
            d = int(rng.integers(t.dim()))
            first = int(rng.integers(0, t.shape[d] + 1))
            t = t.narrow(d, first, int(rng.integers(0, t.shape[d] - first + 1)))
        elif kind == 2 and t.dim():
            t = t[tuple(slice(None, None, int(rng.integers(1, 4))) for _ in range(t.dim()))]
        elif kind == 3 and t.dim() < 5:
            t = t.unsqueeze(0).expand(int(rng.integers(1, 4)), *t.shape)
        elif kind == 4 and t.numel() > 6 and t.is_contiguous():
            t = t.as_strided((2, 3), (int(rng.integers(0, 3)), int(rng.integers(0, 2))), t.storage_offset() + 1)
        elif kind == 5 and t.is_complex() and t.dtype != T.complex32:
            t = t.conj()
            t = t.imag if rng.random() < 0.4 else t
    return t


def sparse():
    n = int(rng.integers(1, 5))
    t = T.from_numpy(rng.standard_normal((2 * n, 6)) * (rng.random((2 * n, 6)) < 0.4)).to(
        [T.float32, T.float64, T.int32, T.complex64][rng.integers(4)])
    kind = rng.integers(0, 6)
    if kind == 0:
        where = T.from_numpy(rng.integers(0, 3, (2, 7)))
        return T.sparse_coo_tensor(where, T.from_numpy(rng.integers(-9, 9, 7)).to(T.int64), (3, 3))
    if kind == 1:
        return T.sparse_coo_tensor(T.tensor([[2, 0]]), T.arange(8.0).reshape(2, 4), (5, 4))
    return [t.to_sparse, t.to_sparse_csr, t.to_sparse_csc, lambda: t.to_sparse_bsr((2, 3))][kind - 2]()


def quantised():
    x = T.from_numpy(rng.standard_normal((4, 6))).float()
    if rng.random() < 0.5:
        q = T.quantize_per_tensor(x, 0.1, 3, [T.qint8, T.quint8, T.qint32][rng.integers(3)])
        return q[1:3, ::2] if rng.random() < 0.5 else q
    return T.quantize_per_channel(x, T.rand(4) + 0.1, T.zeros(4, dtype=T.long), 0, T.qint8)


def array():
    a = rng.integers(-99, 99, dims(4)).astype(
        [">f4", "<f8", "i2", "u1", "c8", "bool", ">i8", "S5", "U3", "M8[ms]"][rng.integers(10)])
    return np.asfortranarray(a) if rng.random() < 0.3 else a


def leaf(kinds):
    kind = rng.integers(0, 20)
    t = view(whole(kinds[rng.integers(len(kinds))], dims()))
    if kind == 0 and kinds is not PLAIN:
        return sparse()
    if kind == 1 and kinds is not PLAIN:
        return quantised()
    if kind == 2:
        return array()
    if kind == 3 and t.is_floating_point():
        return T.nn.Parameter(t, requires_grad=bool(rng.integers(2)))
    if kind == 4:
        return [3, 0.5, None, True, "text é", b"\x00\xff", [1, 2], T.Size([2]), T.float32, 2**70][rng.integers(10)]
    return t


def word():
    return "".join(rng.choice(list("abcxyz_/é0"), int(rng.integers(1, 7))))


def tree(depth, kinds):
    if depth == 0 or rng.random() < 0.2:
        return leaf(kinds)
    kind = rng.integers(0, 5)
    if kind == 0:
        return [tree(depth - 1, kinds) for _ in range(rng.integers(0, 4))]
    if kind == 1:
        return (tree(depth - 1, kinds), tree(depth - 1, kinds))
    made = collections.OrderedDict() if kind == 2 else {}
    for i in range(rng.integers(0, 6)):
        made[i if kind == 3 else f"{word()}{i}"] = tree(depth - 1, kinds)
    return made


def tied(root):
    """The same tensor and the same dict in more than one place."""
    if isinstance(root, dict) and root:
        keys = list(root)
        root["again"] = root[keys[0]]
        root["list"] = [root[keys[-1]], root[keys[0]]]
    return root


# --- what is in there -------------------------------------------------------------------------
def bytes_of(t):
    t = t.detach()
    if t.is_quantized:
        t = t.int_repr()
    if t.layout != T.strided:
        t = t.to_dense()
    if t.is_complex():
        t = t.resolve_conj()
    flat = T.empty(t.numel(), dtype=t.dtype)
    flat.copy_(t.resolve_neg().reshape(-1))
    return flat.view(T.uint8).numpy().tobytes() if t.numel() else b""


def flatten(value, path, out):
    name = ".".join(path)
    if isinstance(value, torch.Tensor):
        out[name] = (str(value.dtype)[6:], list(value.shape), hashlib.sha256(bytes_of(value)).hexdigest())
    elif isinstance(value, np.ndarray):
        if value.dtype.kind in "SU":
            out[name] = ("string", list(value.shape), None)
        else:
            plain = value.astype(value.dtype.newbyteorder("<"))
            out[name] = (plain.dtype.name, list(value.shape), hashlib.sha256(plain.tobytes()).hexdigest())
    elif isinstance(value, dict):
        for key, inner in value.items():
            flatten(inner, path + [str(key)], out)
    elif isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        for i, inner in enumerate(value):
            flatten(inner, path + [str(i)], out)
    return out


# --- forms ------------------------------------------------------------------------------------
def deflate(path):
    with zipfile.ZipFile(path) as z:
        members = [(i.filename, z.read(i)) for i in z.infolist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in members:
            z.writestr(name, data)


def save_zip(root, path):
    torch.save(root, path, pickle_protocol=int(rng.integers(2, 6)))


def save_deflated(root, path):
    torch.save(root, path)
    deflate(path)


def save_legacy(root, path):
    torch.save(root, path, _use_new_zipfile_serialization=False, pickle_protocol=int(rng.integers(2, 6)))


def save_plain(root, path):
    with open(path, "wb") as f:
        pickle.dump({"np": np.arange(3), "root": root}, f, protocol=int(rng.integers(0, 6)))


FORMS = [("zip", save_zip, PLAIN + NEWER), ("deflated", save_deflated, PLAIN), ("legacy", save_legacy, PLAIN),
         ("plain", save_plain, PLAIN)]


def rows_of(folder):
    catalog = os.path.join(folder, "catalog.db")
    subprocess.run([CKPTDB, "-d", catalog, "import", os.path.join(folder, "data")], capture_output=True, check=False)
    query = ("SELECT path, name, dtype, shape, CASE dtype WHEN 'string' THEN NULL ELSE tensor_sha256(id) END "
             "AS sha FROM tensor")
    done = subprocess.run([CKPTDB, "-d", catalog, "--json", "-c", query], capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr[-2000:])
    found = {}
    for row in json.loads(done.stdout or "[]"):
        file = os.path.basename(row["path"])
        found.setdefault(file, {})[row["name"]] = (row["dtype"], json.loads(row["shape"]), row["sha"])
    return found


def main():
    print(f"seed {SEED}")
    torch.manual_seed(SEED % (1 << 31))
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "data"))
        wanted = {}
        for form, save, kinds in FORMS:
            for i in range(FILES):
                root = tied(tree(4, kinds))
                try:
                    save(root, os.path.join(folder, "data", f"{form}{i}.pt"))
                except (RuntimeError, NotImplementedError, pickle.PicklingError) as error:
                    print(f"{form}{i}: PyTorch does not write it: {error}"[:120])
                    os.remove(os.path.join(folder, "data", f"{form}{i}.pt"))
                    continue
                flat = flatten({"np": np.arange(3), "root": root} if form == "plain" else root, [], {})
                wanted[f"{form}{i}.pt"] = flat
        found = rows_of(folder)
        for file, flat in wanted.items():
            have = found.get(file, {})
            for name in sorted(flat.keys() | have.keys()):
                if flat.get(name) == have.get(name):
                    passed += 1
                    continue
                failed += 1
                if failed <= 20:
                    print(f"{file}: {name!r}: {have.get(name)}, not {flat.get(name)}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
