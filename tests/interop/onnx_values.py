#!/usr/bin/env python3
"""Let onnx write random models, and compare every tensor with what onnx holds: name, dtype, shape and
value. Raw and typed fields, external data, packed types, strings, sparse tensors, graphs in nodes,
functions, training graphs.

    onnx_values.py CKPTDB [SEED]

The seed is printed; one that failed can be given again. The last line is "N passed, N failed".
"""
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto as P
from onnx import helper, numpy_helper

CKPTDB = os.path.abspath(sys.argv[1])
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("CKPTDB_SEED") or random.randrange(1 << 32))
FILES = 40
rng = np.random.default_rng(SEED)

# data type: (our name, bits, the typed field, elements per number in that field)
TYPES = {
    P.FLOAT: ("float32", 32, "float_data", 1), P.UINT8: ("uint8", 8, "int32_data", 1),
    P.INT8: ("int8", 8, "int32_data", 1), P.UINT16: ("uint16", 16, "int32_data", 1),
    P.INT16: ("int16", 16, "int32_data", 1), P.INT32: ("int32", 32, "int32_data", 1),
    P.INT64: ("int64", 64, "int64_data", 1), P.BOOL: ("bool", 8, "int32_data", 1),
    P.FLOAT16: ("float16", 16, "int32_data", 1), P.DOUBLE: ("float64", 64, "double_data", 1),
    P.UINT32: ("uint32", 32, "uint64_data", 1), P.UINT64: ("uint64", 64, "uint64_data", 1),
    P.COMPLEX64: ("complex64", 64, "float_data", 1), P.COMPLEX128: ("complex128", 128, "double_data", 1),
    P.BFLOAT16: ("bfloat16", 16, "int32_data", 1), P.FLOAT8E4M3FN: ("float8_e4m3fn", 8, "int32_data", 1),
    P.FLOAT8E4M3FNUZ: ("float8_e4m3fnuz", 8, "int32_data", 1), P.FLOAT8E5M2: ("float8_e5m2", 8, "int32_data", 1),
    P.FLOAT8E5M2FNUZ: ("float8_e5m2fnuz", 8, "int32_data", 1), P.UINT4: ("uint4", 4, "int32_data", 2),
    P.INT4: ("int4", 4, "int32_data", 2), P.FLOAT4E2M1: ("float4_e2m1fn", 4, "int32_data", 2),
    P.FLOAT8E8M0: ("float8_e8m0fnu", 8, "int32_data", 1),
}
for late, told in (("UINT2", "uint2"), ("INT2", "int2")):
    if hasattr(P, late):
        TYPES[getattr(P, late)] = (told, 2, "int32_data", 4)
PACKED = {name: bits for name, bits, _, _ in TYPES.values() if bits < 8}


def pick(things):
    return things[int(rng.integers(len(things)))]


def word(most=8):
    return "".join(rng.choice(list("abcxyz_/é0"), int(rng.integers(1, most))))


def shape():
    return [int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 7, rng.integers(0, 5))]


# --- tensors ----------------------------------------------------------------------------------
def raw_bits(kind, count):
    """The bytes that raw_data would have."""
    name, bits, _, _ = TYPES[kind]
    raw = rng.integers(0, 2 if name == "bool" else 256, (count * bits + 7) // 8, np.uint8)
    spare = len(raw) * 8 - count * bits
    if spare and bits < 8:  # no rule defines spare bits: use none
        raw[-1] &= np.uint8(0xFF >> spare)
    return raw.tobytes()


def typed(t, kind, raw):
    """Put the elements into the list for their type, as in onnx.proto."""
    name, bits, field, _ = TYPES[kind]
    if bits < 8 or name == "bool" or "float8" in name:
        numbers = np.frombuffer(raw, np.uint8).tolist()
    elif field == "float_data":
        numbers = np.frombuffer(raw, np.float32)
    elif field == "double_data":
        numbers = np.frombuffer(raw, np.float64)
    elif name in ("float16", "bfloat16"):
        numbers = np.frombuffer(raw, np.uint16).tolist()
    else:
        numbers = np.frombuffer(raw, name).tolist()
    if name in ("float32", "complex64"):  # a NaN that signals does not survive Python's float
        numbers = np.where(np.isnan(numbers), np.float32(1), numbers)
        raw = numbers.tobytes()
    getattr(t, field).extend(numbers)
    return raw


def digest(raw):
    return hashlib.sha256(raw).hexdigest()


def tensor(name):
    """(TensorProto, what the catalog must say)"""
    t = P(name=name)
    t.dims.extend(shape())
    count = int(np.prod(t.dims))
    if rng.random() < 0.08:
        t.data_type = P.STRING
        t.string_data.extend(rng.bytes(int(rng.integers(0, 9))) for _ in range(count))
        return t, ("string", list(t.dims), [s.hex().upper() for s in t.string_data])
    kind = pick(list(TYPES))
    t.data_type = kind
    raw = raw_bits(kind, count)
    if rng.random() < 0.5:
        t.raw_data = raw
    else:
        raw = typed(t, kind, raw)
    return t, (TYPES[kind][0], list(t.dims), digest(raw))


def confirm(t, told):
    """onnx itself reads the same (where it has a NumPy type for it)."""
    if told[0] == "string" or not told[1]:  # onnx 1.20 stumbles over packed scalars
        return
    a = numpy_helper.to_array(t)
    if told[0] in PACKED:
        per = 8 // PACKED[told[0]]
        flat = a.view(np.uint8).ravel() & (0xFF >> (8 - PACKED[told[0]]))
        flat = np.pad(flat, (0, -len(flat) % per)).reshape(-1, per)
        a = np.bitwise_or.reduce(flat << (np.arange(per) * PACKED[told[0]]).astype(np.uint8), 1).astype(np.uint8)
    assert digest(np.ascontiguousarray(a).tobytes()) == told[2], f"onnx reads {t.name!r} otherwise"


def sparse(name):
    """(SparseTensorProto, what its dense tensor is)"""
    dims = [int(n) for n in rng.integers(1, 7, rng.integers(1, 4))]
    count = int(np.prod(dims))
    some = np.sort(rng.choice(count, int(rng.integers(0, count + 1)), replace=False)).astype(np.int64)
    dtype = pick(["float32", "float64", "float16", "int32", "int64", "uint8", "bool", "complex64", "bfloat16"])
    real = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    values = (rng.integers(1, 2 if dtype == "bool" else 100, len(some))).astype(real)
    flat = rng.random() < 0.5
    where = some if flat else np.stack(np.unravel_index(some, dims), 1).astype(np.int64) if len(some) else np.zeros((0, len(dims)), np.int64)
    indices = numpy_helper.from_array(where)
    if rng.random() < 0.5:
        indices = helper.make_tensor("", P.INT64, where.shape, where.ravel().tolist())
    s = onnx.SparseTensorProto(values=numpy_helper.from_array(values, name), indices=indices, dims=dims)
    dense = np.zeros(count, real)
    dense[some] = values
    return s, (dtype, dims, digest(dense.tobytes()))


# --- models -----------------------------------------------------------------------------------
class Model:
    def __init__(self):
        self.names, self.want, self.graphs = 0, {}, []

    def name(self):
        self.names += 1
        return f"{word()}.{self.names}"

    def tensor(self):
        name = self.name()
        t, told = tensor(name)
        confirm(t, told)
        self.want[name] = told
        return t

    def constant(self):
        t = self.tensor()
        output, t.name = t.name, pick(["", "other"])
        return helper.make_node("Constant", [], [output], value=t)

    def graph(self, depth=0):
        """A graph with tensors of all kinds, and graphs in nodes."""
        nodes = [self.constant() for _ in range(rng.integers(0, 3))]
        if depth < 3 and rng.random() < 0.6:
            nodes.append(helper.make_node("If", ["c"], ["o"], then_branch=self.graph(depth + 1),
                                          else_branch=self.graph(depth + 1)))
        if depth < 3 and rng.random() < 0.2:
            nodes.append(helper.make_node("Custom", ["c"], ["p"], domain="x", bodies=[self.graph(depth + 1)]))
        g = helper.make_graph(nodes, "g", [], [], [self.tensor() for _ in range(rng.integers(0, 6))])
        for _ in range(rng.integers(0, 2)):
            name = self.name()
            s, self.want[name] = sparse(name)
            g.sparse_initializer.append(s)
        self.graphs.append(g)
        return g


def write(path):
    m = Model()
    model = helper.make_model(m.graph())
    model.producer_name = word()
    if rng.random() < 0.4:
        model.functions.append(helper.make_function("x", "f", [], ["y"], [m.constant(), m.constant()],
                                                    [helper.make_opsetid("", 20)]))
    if rng.random() < 0.3:
        model.training_info.append(onnx.TrainingInfoProto(initialization=m.graph(2), algorithm=m.graph(2)))
    form = int(rng.integers(0, 4))
    if form == 3:  # protobuf allows this: the model in pieces
        rest = onnx.ModelProto()
        rest.CopyFrom(model)
        rest.ClearField("graph")
        with open(path, "wb") as f:
            f.write(rest.SerializeToString() + onnx.ModelProto(graph=model.graph).SerializeToString())
    elif form == 0:
        onnx.save_model(model, path)
    else:
        onnx.save_model(model, path, save_as_external_data=True, all_tensors_to_one_file=form == 1,
                        location="data.bin" if form == 1 else None, size_threshold=int(rng.integers(0, 64)),
                        convert_attribute=bool(rng.integers(2)))
    return m.want


# --- what ckptdb says -------------------------------------------------------------------------
def sql(statement):
    done = subprocess.run([CKPTDB, "--json", "-c", statement], capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return json.loads(done.stdout)


def found_in(path):
    rows = sql("SELECT name, dtype, shape, CASE dtype WHEN 'string' THEN (SELECT json_group_array(hex(value)) FROM "
               f"(SELECT value FROM tensor_values(tensor.id) ORDER BY position)) ELSE tensor_sha256(id) END AS v FROM tensor WHERE path = '{path}'")
    parse = lambda v: json.loads(v) if isinstance(v, str) and v.startswith("[") else v
    return {r["name"]: (r["dtype"], parse(r["shape"]), parse(r["v"])) for r in rows}


def main():
    print(f"seed {SEED}")
    passed = failed = tensors = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        os.environ["CKPTDB"] = folder + "/catalog.db"
        models = {}
        for i in range(FILES):
            os.makedirs(f"{folder}/{i}")
            path = f"{folder}/{i}/m.onnx"
            models[path] = write(path)
        done = subprocess.run([CKPTDB, "import", folder], capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            print(done.stderr[:2000])
        for path, want in models.items():
            found = found_in(path)
            wrong = [f"{n!r}: {found.get(n)}, not {want.get(n)}" for n in sorted(found.keys() | want.keys())
                     if found.get(n) != want.get(n)]
            tensors += len(want)
            passed += not wrong
            failed += bool(wrong)
            for line in wrong[:5]:
                print(f"FAIL {path}: {line}"[:400])
    print(f"{tensors} tensors")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
