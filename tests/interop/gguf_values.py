#!/usr/bin/env python3
"""Let gguf write random models, and compare every tensor with what gguf reads back: name, dtype, shape,
stored bytes, and the numbers of all types, quantised ones too; and every fact.

    gguf_values.py CKPTDB [SEED]

The seed is printed; one that failed can be given again. The last line is "N passed, N failed".
"""
import hashlib
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Q

CKPTDB = os.path.abspath(sys.argv[1])
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("CKPTDB_SEED") or random.randrange(1 << 32))
FILES = 12  # of each form
rng = np.random.default_rng(SEED)

PLAIN = {"float32": np.float32, "float16": np.float16, "float64": np.float64, "int8": np.int8, "int16": np.int16,
         "int32": np.int32, "int64": np.int64}
OURS = {Q.BF16: "bfloat16"}
# The types that gguf can decode.
BLOCKS = [q for q in Q if q in gguf.quants._type_traits and q not in (Q.F32, Q.F16)]


def dtype_of(q):
    return OURS.get(q, q.name.lower())


# --- random things ----------------------------------------------------------------------------
def pick(things):
    return things[int(rng.integers(len(things)))]


def word(most=12):
    return "".join(rng.choice(list("abcxyz_.é0"), int(rng.integers(1, most))))


def halves(block):
    """Where a block may have a float16: those bytes must not be a NaN, whose bits nobody promises."""
    return block & np.array([0xFF, 0x7B] * (block.size // 2) + [0xFF] * (block.size % 2), np.uint8)


def blocks(q, shape):
    """Any bits of a type, as rows of bytes."""
    elements, size = gguf.GGML_QUANT_SIZES[q]
    rows = shape[:-1] + (shape[-1] // elements * size,)
    raw = rng.integers(0, 256, rows, np.uint8)
    kind = rng.integers(0, 3)
    if kind == 0:
        return raw
    if kind == 1:
        return (raw.reshape(-1, size) & np.uint8(0x3B)).reshape(rows)
    return np.stack([halves(b) for b in raw.reshape(-1, size)]).reshape(rows) if raw.size else raw


def shape(last=1):
    rank = int(rng.integers(1, 5))
    dims = [int(rng.integers(1, 6)) for _ in range(rank)]
    dims[-1] = last * int(rng.integers(1, 4))
    return tuple(dims)


def tensor(big):
    """(array of numbers or of bytes, type or None, name of the dtype)"""
    kind = rng.integers(0, 4) if not big else 0
    if kind <= 1:
        name = pick(list(PLAIN))
        dims = shape()
        data = rng.integers(0, 256, int(np.prod(dims)) * np.dtype(PLAIN[name]).itemsize, np.uint8)
        return data.view(PLAIN[name]).reshape(dims), None, name
    q = pick(BLOCKS)
    return blocks(q, shape(gguf.GGML_QUANT_SIZES[q][0])), q, dtype_of(q)


# --- facts ------------------------------------------------------------------------------------
def fact(writer, key, big):
    """Add a fact; returns what the catalog must say."""
    value = int(rng.integers(0, 128))
    choices = [
        lambda: (writer.add_uint8(key, value), value), lambda: (writer.add_int8(key, -value), -value),
        lambda: (writer.add_uint16(key, value << 9), value << 9), lambda: (writer.add_int16(key, -value * 99), -value * 99),
        lambda: (writer.add_uint32(key, value << 25), value << 25), lambda: (writer.add_int32(key, -value << 20), -value << 20),
        lambda: (writer.add_uint64(key, value << 50), value << 50), lambda: (writer.add_int64(key, -value << 50), -value << 50),
        lambda: (writer.add_float32(key, value / 8), value / 8), lambda: (writer.add_float64(key, value / 7), value / 7),
        lambda: (writer.add_bool(key, value > 64), value > 64),
        lambda: (writer.add_array(key, [int(i) - 50 for i in range(value + 1)]), [i - 50 for i in range(value + 1)]),
        lambda: (writer.add_array(key, [i / 4 for i in range(value + 1)]), [i / 4 for i in range(value + 1)]),
    ]
    texts = [word() for _ in range(value + 1)]
    choices += [lambda: (writer.add_string(key, texts[0] + "\n\"\\"), texts[0] + "\n\"\\"),
                lambda: (writer.add_array(key, texts), texts)]
    return pick(choices)()[1]


# --- files ------------------------------------------------------------------------------------
def write(path, form):
    """Write one; its tensors and facts as they are meant."""
    big = form == "big"
    split = int(rng.integers(1, 4)) if form == "split" else 0
    writer = gguf.GGUFWriter(path, "test", endianess=gguf.GGUFEndian.BIG if big else gguf.GGUFEndian.LITTLE,
                             split_max_tensors=split, small_first_shard=bool(split and rng.integers(2)))
    facts, tensors = {"general.architecture": "test"}, {}
    if rng.random() < 0.5 and not split:
        alignment = 1 << int(rng.integers(3, 13))
        writer.add_custom_alignment(alignment)
        facts["general.alignment"] = alignment
    for i in range(int(rng.integers(0, 12))):
        key = f"k{i}.{word()}"
        facts[key] = fact(writer, key, big)
    for i in range(int(rng.integers(2, 14))):
        data, q, dtype = tensor(big)
        name = f"blk.{i}.{word()}"
        want = np.ascontiguousarray(data).tobytes()
        dims = list(data.shape) if q is None else list(gguf.quant_shape_from_byte_shape(data.shape, q))
        with np.errstate(all="ignore"):
            if q is not None:
                numbers = gguf.quants.dequantize(data, q).astype(np.float32)
            else:
                numbers = data.astype(np.float32) if data.dtype.kind == "f" else None
        tensors[name] = dtype, dims, hashlib.sha256(want).hexdigest(), numbers
        writer.add_tensor(name, data.copy(), raw_dtype=q)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tensors, facts


def mix(path):
    """The same file with its data in another order, and holes between: readers take it."""
    reader = gguf.GGUFReader(path)
    raw = bytearray(open(path, "rb").read())
    head, alignment, data = raw[:reader.data_offset], int(reader.alignment), b""
    for t in sorted(reader.tensors, key=lambda t: hashlib.md5(t.name.encode()).digest()):
        data += bytes(-len(data) % alignment) + bytes(int(rng.integers(0, 3)) * alignment)
        offset = t.field.parts[-1]
        where = t.field.offset + sum(p.nbytes for p in t.field.parts[:-1])
        assert bytes(head[where:where + 8]) == struct.pack("<Q", int(offset[0]))
        head[where:where + 8] = struct.pack("<Q", len(data))
        data += raw[t.data_offset:t.data_offset + t.n_bytes]
    del reader
    with open(path, "wb") as f:
        f.write(head + data)


# --- what ckptdb says -------------------------------------------------------------------------
def sql(statement):
    done = subprocess.run([CKPTDB, "--json", "-c", statement], capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return json.loads(done.stdout)


def as_list(value):
    return json.loads(value) if isinstance(value, str) else value


def check_facts(path, facts):
    rows = {r["key"]: r["value"] for r in sql(
        f"SELECT key, value FROM metadata WHERE checkpoint_id = (SELECT id FROM checkpoint WHERE path = '{path}')")}
    for key, value in facts.items():
        told = rows.get(key)
        if isinstance(value, (list, bool)) and isinstance(told, str):
            told = json.loads(told)
        assert told == value, f"fact {key!r}: {told!r}, not {value!r}"


def check_numbers(path, tensors):
    """Numbers of an export as float32, bit for bit except in NaNs."""
    out = path + ".npz"
    done = subprocess.run([CKPTDB, "export", path, out, "--dtype", "float32"], capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    floats = any(n is not None for *_, n in tensors.values())
    with np.load(out) as archive:
        for name, (dtype, dims, _, numbers) in tensors.items():
            if numbers is None or not floats:
                continue
            ours, theirs = archive[name], numbers
            assert list(ours.shape) == dims, f"{name}: {ours.shape}"
            same = (ours.view(np.uint32) == theirs.reshape(dims).view(np.uint32)) | (np.isnan(ours) & np.isnan(theirs.reshape(dims)))
            assert same.all(), f"{name} ({dtype}): {(~same).sum()} of {same.size} numbers differ"


def check(path, tensors, facts):
    rows = sql("SELECT name, dtype, shape, tensor_sha256(id) AS sha FROM tensor WHERE path = "
               f"'{path}'")
    found = {r["name"]: (r["dtype"], as_list(r["shape"]), r["sha"]) for r in rows}
    assert sorted(found) == sorted(tensors), f"{sorted(found)}, not {sorted(tensors)}"
    for name, (dtype, dims, sha, _) in tensors.items():
        assert found[name] == (dtype, dims, sha), f"{name}: {found[name]}, not {(dtype, dims, sha)}"
    check_facts(path, facts)
    check_numbers(path, tensors)


def slices(path, tensors):
    """Random parts of one tensor: only the blocks that they touch are decoded."""
    name = pick(sorted(tensors))
    dtype, dims, _, numbers = tensors[name]
    if numbers is None:
        return
    cut = [sorted(int(i) for i in rng.integers(0, n + 1, 2)) for n in dims]
    steps = [int(rng.integers(1, 4)) for _ in dims]
    text = ", ".join(f"{a}:{b}:{s}" for (a, b), s in zip(cut, steps))
    out = path + ".npy"
    done = subprocess.run([CKPTDB, "get", path, name, "--slice", text, "--dtype", "float32", "--format", "npy", "-o", out],
                          capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    ours = np.load(out)
    os.remove(out)
    theirs = numbers.reshape(dims)[tuple(slice(a, b, s) for (a, b), s in zip(cut, steps))]
    assert np.array_equal(ours, theirs, equal_nan=True), f"{name} ({dtype})[{text}]"


def main():
    print(f"seed {SEED}")
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CKPTDB"] = folder + "/catalog.db"
        folder = os.path.realpath(folder)
        models = {}
        for form in ("plain", "mixed", "big", "split"):
            for i in range(FILES):
                os.makedirs(f"{folder}/{form}{i}")
                path = f"{folder}/{form}{i}/m.gguf"
                answer = write(path, form)
                if form == "split":
                    parts = sorted(os.listdir(os.path.dirname(path)))
                    path = os.path.join(os.path.dirname(path), parts[0])
                    if len(parts) > 1:
                        answer[1]["split.count"] = len(parts)
                if form == "mixed":
                    mix(path)
                models[path] = answer
        subprocess.run([CKPTDB, "import", folder], capture_output=True, timeout=600, check=False)
        for path, (tensors, facts) in models.items():
            try:
                check(path, tensors, facts)
                for _ in range(4):
                    slices(path, tensors)
                passed += 1
            except Exception as error:  # noqa: BLE001: any trouble is this file's
                failed += 1
                print(f"FAIL {path}: {type(error).__name__}: {str(error)[:600]}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
