"""Random tensors of every dtype, shape and way to lie in a file: exported to every format and imported again, they have
the same shape and hash. Prints what each export makes of each dtype, and what differs.

export_random.py [SEED]
"""
import collections
import glob
import hashlib
import itertools
import json
import math
import os
import random
import struct
import subprocess
import sys

import make_safetensors
import make_torch

r = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
SLOW = int(os.environ["SLOW"])
ROUNDS = 4 if SLOW == 1 else 1
EXPORTS = ["safetensors", "torch", "dcp", "gguf", "npz", "zarr", "zarr3", "hdf5", "flax", "t5x", "orbax", "tf", "npy"]
SUFFIXES = {"flax": "msgpack", "zarr3": "z3.zarr", "torch": "bin", "hdf5": "h5", "tf": "index"}

# Spelling -> elements and bytes of the smallest piece.
SAFETENSORS = {"BOOL": (1, 1), "F4": (2, 1), "F6_E2M3": (4, 3), "F6_E3M2": (4, 3)} | {
    t: (1, 1) for t in ("U8 I8 F8_E5M2 F8_E4M3 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ").split()} | {
    t: (1, int("".join(filter(str.isdigit, t))) // 8) for t in "I16 U16 F16 BF16 I32 U32 F32 C64 F64 I64 U64".split()}
NUMPY = ["b1", "i1", "u1", "i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "V2", "V5", "M8[s]", "m8[25us]", "M8"]
ZARR = ["bfloat16", "float8_e3m4", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2", "float8_e5m2fnuz"]
TORCH = {"Float": 4, "Double": 8, "Half": 2, "BFloat16": 2, "Long": 8, "Int": 4, "Short": 2, "Char": 1, "Byte": 1, "Bool": 1,
         "ComplexFloat": 8, "ComplexDouble": 16, "QInt32": 4, "QUInt8": 1}


def shape(elements=1):
    sizes = [r.choice([0, 1, 1, 2, 3, 5, 17]) for _ in range(r.choice([0, 0, 1, 1, 2, 2, 3, 4]))]
    if elements > 1: # the last axis has whole pieces
        sizes = sizes[:-1] + [elements * r.choice([0, 1, 3])]
    return sizes


def random_bytes(count, of=None):
    return bytes(r.choice(b"\0\1") for _ in range(count)) if of in ("BOOL", "b1", "Bool") else r.randbytes(count)


def indices(sizes):
    return itertools.product(*map(range, sizes))


def place(at, strides):
    return sum(i * s for i, s in zip(at, strides))


def strides_of(sizes, order="C"):
    out = [1] * len(sizes)
    for d in range(len(sizes) - 2, -1, -1) if order == "C" else range(1, len(sizes)):
        out[d] = out[d + 1] * max(sizes[d + 1], 1) if order == "C" else out[d - 1] * max(sizes[d - 1], 1)
    return out


# --- files, and the values that they hold: {path: {name: bytes in the order of C}} ----------

def put_safetensors(path):
    tensors, held = {}, {}
    for k, (spelling, (elements, size)) in enumerate(SAFETENSORS.items()):
        sizes = shape(elements)
        raw = random_bytes(math.prod(sizes) // elements * size, spelling)
        tensors[f"t{k}"], held[f"t{k}"] = (spelling, sizes, raw), raw
    make_safetensors.save(path, tensors)
    return held


def swapped(raw, kind, width):
    width //= 2 if kind[0] == "c" else 1
    return b"".join(raw[k:k + width][::-1] for k in range(0, len(raw), width))


def put_npy(path, kind):
    width, sizes = int("".join(filter(str.isdigit, kind.split("[")[0]))[:2]), shape()
    order, big = r.choice("CF"), r.random() < 0.4 and kind[0] != "V" and width > 1
    raw = random_bytes(math.prod(sizes) * width, kind)
    header = repr({"descr": ("|" if width == 1 or kind[0] == "V" else ">" if big else "<") + kind,
                   "fortran_order": order == "F", "shape": tuple(sizes)}).encode() + b" \n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + raw)
    strides = strides_of(sizes, order)
    logical = b"".join(raw[place(at, strides) * width:][:width] for at in indices(sizes))
    return {os.path.basename(path)[:-4]: swapped(logical, kind, width) if big else logical}


def put_zarr(path, kind):
    width, sizes = 2 if kind == "bfloat16" else 1, shape() or [3]
    chunks, order = [r.randint(1, max(n, 1) + 1) for n in sizes], r.choice("CF")
    os.makedirs(path)
    with open(path + "/.zarray", "w", encoding="utf-8") as f:
        json.dump({"zarr_format": 2, "shape": sizes, "chunks": chunks, "dtype": kind, "compressor": None, "fill_value": 0,
                   "order": order, "filters": None}, f)
    strides, held = strides_of(chunks, order), {}
    for at in indices([-(-n // c) for n, c in zip(sizes, chunks)]):
        chunk = random_bytes(math.prod(chunks) * width)
        if r.random() < 0.15: # absent
            chunk = bytes(len(chunk))
        else:
            with open(path + "/" + ".".join(map(str, at)), "wb") as f:
                f.write(chunk)
        for inner in indices(chunks):
            held[tuple(a * c + i for a, c, i in zip(at, chunks, inner))] = chunk[place(inner, strides) * width:][:width]
    return {"": b"".join(held[at] for at in indices(sizes))}


def put_torch(path):
    data, tensors, held = {}, {}, {}
    for k, (kind, width) in enumerate(TORCH.items()):
        sizes = shape()
        strides = strides_of([n + r.randint(0, 1) for n in sizes], r.choice("CF"))
        strides = [0 if r.random() < 0.1 else s for s in strides]
        offset = r.randint(0, 3)
        count = offset + (place([max(n - 1, 0) for n in sizes], strides) + 1) * (0 not in sizes)
        raw = data[str(k)] = random_bytes(count * width, kind)
        tensors[f"t{k}"] = make_torch.tensor(tuple(sizes), tuple(strides), offset, make_torch.storage(str(k), kind, count))
        held[f"t{k}"] = b"".join(raw[(offset + place(at, strides)) * width:][:width] for at in indices(sizes))
    with open(path, "wb") as f:
        f.write(make_torch.saved(tensors, data=data))
    return held


def put_all(folder):
    os.mkdir(folder)
    held = {f"{folder}/a.safetensors": put_safetensors(f"{folder}/a.safetensors"), f"{folder}/b.pt": put_torch(f"{folder}/b.pt")}
    for k, kind in enumerate(NUMPY * 2):
        held[f"{folder}/n{k}.npy"] = put_npy(f"{folder}/n{k}.npy", kind)
    for k, kind in enumerate(ZARR * 2):
        held[f"{folder}/z{k}.zarr"] = put_zarr(f"{folder}/z{k}.zarr", kind)
    return held


# --- asking -------------------------------------------------------------------------------

def ckptdb(*words):
    return subprocess.run([os.environ["CKPTDB_BIN"], *words], capture_output=True, encoding="utf-8", check=False)


def rows(sql):
    done = ckptdb("--list", f"SELECT json_array({sql}")
    if done.returncode:
        sys.exit(f"{sql}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def say(*words):
    print(*words, f"(seed {sys.argv[1:] or 1})")


def suffix(export):
    return SUFFIXES.get(export, export)


def holds(export, dtype, tensor):
    """Whether an export takes a dtype, tried with a tensor."""
    sql = f"SELECT {tensor} AS tensor_id, 't' AS new_name"
    return ckptdb("export", "--sql", sql, f"x.{suffix(export)}", "--format", export, "--dry-run").returncode == 0


def export_all(export, round_, chosen):
    """[(what is exported, its number, its name)]: all at once, or each by itself."""
    options = []
    if export.startswith("zarr"):
        options = ["--option", f"chunk={r.choice([32, 200, 65536])}", "--option", f"codec={r.choice(['zstd', 'gzip', 'none'])}"]
    if export == "orbax":
        options = ["--option", f"ocdbt={r.choice(['true', 'false'])}"]
    if export == "hdf5":
        filters = r.choice([[], ["deflate=6"], ["shuffle=true", "deflate=1"], ["shuffle=true"]])
        options = [x for o in [*filters, f"chunks={r.choice(['auto', '2', '3,2', '2,1,2'])}"] for x in ("--option", o)]
    if export in ("torch", "dcp", "gguf", "tf"):
        options = ["--shard-size", str(r.choice([64, 1000, 10**9]))]
    if export == "npy":
        return [(f"out{round_}/{id_}.npy", [(id_, cast)], options) for id_, cast in r.sample(chosen, 8)]
    return [(f"out{round_}/x.{suffix(export)}", chosen, options)]


def compare(export, path, chosen, made):
    """The contents of the copy, beside those of its source."""
    places = [os.path.abspath(path), os.path.abspath(path) + ".index.json", os.path.abspath(path).removesuffix(".index"),
              *glob.glob(os.path.abspath(path).removesuffix(".gguf") + "-00001-of-*.gguf")]
    copies = {name.removeprefix("target/"): (dtype, sizes, digest) for name, dtype, sizes, digest in rows(
        f"name, dtype, shape || '', tensor_sha256(id)) FROM tensor WHERE path IN ({repr(places)[1:-1]})")}
    casts = dict(chosen)
    for id_, dtype, sizes, digest in rows(
            "tensor.id, dtype, shape || '', iif(c.value ->> 1 IS NULL, tensor_sha256(tensor.id), tensor_sha256(tensor.id, c.value ->> 1))) FROM tensor "
            f"JOIN json_each('{json.dumps(chosen)}') c ON tensor.id = c.value ->> 0"):
        cast = casts[id_]
        name = os.path.basename(path)[:-4] if export == "npy" else f"t{id_}"
        copy = copies.get(name)
        if copy is None or copy[1:] != (sizes, digest):
            say("differs:", export, path, name, dtype, cast, sizes, digest, copy)
        else:
            made[export, cast or dtype].add(copy[0])


made = collections.defaultdict(set)
takes = {}
for round_ in range(ROUNDS):
    held, done = put_all(f"in{round_}"), []
    os.mkdir(f"out{round_}")
    ckptdb("import", f"in{round_}")
    tensors = rows("id, path, name, dtype, tensor_sha256(id)) FROM tensor WHERE path LIKE '%/in" + f"{round_}/%'")
    for id_, path, name, dtype, digest in tensors:
        wanted = held[f"in{round_}/{os.path.basename(path)}"]
        wanted = wanted.get(name, wanted.get(""))
        if wanted is None or hashlib.sha256(wanted).hexdigest() != digest:
            say("read otherwise:", path, name, dtype)
    if len(tensors) != sum(map(len, held.values())):
        say("tensors are missing in", round_)
    for export in EXPORTS:
        for id_, _, _, dtype, _ in tensors:
            if (export, dtype) not in takes:
                takes[export, dtype] = holds(export, dtype, id_)
        chosen = [(id_, None) for id_, _, _, dtype, _ in tensors if takes[export, dtype] and r.random() < 0.7]
        chosen += [(id_, r.choice(["float16", "bfloat16", "float32", "float64"])) for id_, _, _, dtype, _ in tensors
                   if "float" in dtype and dtype[:6] not in ("float4", "float6") and r.random() < 0.3 and id_ not in dict(chosen)]
        for path, some, options in export_all(export, round_, chosen):
            sql = " UNION ALL ".join(f"SELECT {id_} AS tensor_id, 't{id_}' AS new_name, {repr(cast) if cast else 'NULL'} AS dtype"
                                     for id_, cast in some)
            told = ckptdb("export", "--sql", sql, path, "--format", export, "--no-sync", *options)
            if told.returncode:
                say("not exported:", export, told.stderr)
            done.append((export, path, some))
    ckptdb("import", f"out{round_}")
    for export, path, some in done:
        compare(export, path, some, made)
for export in EXPORTS if SLOW == 1 else []:
    print(f"{export}:", ", ".join(dtype if seen == {dtype} else f"{dtype} as {' or '.join(sorted(seen))}"
                                  for (of, dtype), seen in sorted(made.items()) if of == export))
    print("    not:", ", ".join(dtype for (of, dtype), good in sorted(takes.items()) if of == export and not good))
