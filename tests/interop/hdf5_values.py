#!/usr/bin/env python3
"""Let h5py and Keras write random HDF5 files in each of their forms, and compare every tensor with
what they read back: name, dtype, shape and value.

    hdf5_values.py CKPTDB [SEED]

The seed is printed; one that failed can be given again. The last line is "N passed, N failed".
"""
import ctypes
import hashlib
import importlib.util
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import zipfile
import zlib

os.environ.setdefault("KERAS_BACKEND", "numpy")

import h5py
import ml_dtypes
import numpy as np

try:
    import hdf5plugin
except ImportError:
    hdf5plugin = None

LIBBLOSC2 = importlib.util.find_spec("blosc2")  # not imported: h5py's plugin has a Blosc2 of its own
if LIBBLOSC2:
    os.environ["LD_LIBRARY_PATH"] = os.path.dirname(LIBBLOSC2.origin) + "/lib"

CKPTDB = os.path.abspath(sys.argv[1])
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("CKPTDB_SEED") or random.randrange(1 << 32))
rng = np.random.default_rng(SEED)
PLAIN = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
         "float32", "float64", "complex64", "complex128"]
FORMS = [{}, {"libver": "latest"}, {"libver": ("v108", "v108")}, {"libver": ("v110", "v114")},
         {"userblock_size": 512}, {"userblock_size": 8192}, {"track_order": True},
         {"libver": "latest", "track_order": True}]


# --- random things ----------------------------------------------------------------------------
def dims(most=4, least=0, size=9):
    return tuple(int(n) for n in rng.integers(least, size, rng.integers(0, most)))


def array(dtype, shape):
    real = np.dtype(dtype)
    count = int(np.prod(shape))
    if real == np.bool_:
        return rng.integers(0, 2, count).astype(bool).reshape(shape)
    raw = np.frombuffer(rng.integers(0, 256, count * real.itemsize, np.uint8).tobytes(), real)
    return raw.reshape(shape)


def turned(a):
    return a.astype(a.dtype.newbyteorder(">")) if a.dtype.itemsize > 1 and rng.random() < 0.3 else a


def word():
    return "".join(rng.choice(list("abcäé 01_:.-"), int(rng.integers(1, 12)))).strip(" .") or "x"


# --- what the library reads -------------------------------------------------------------------
def little(a):
    if a.dtype.byteorder == ">":
        a = a.astype(a.dtype.newbyteorder("<"))
    return np.ascontiguousarray(a).tobytes()


def answer(d):
    text = h5py.check_string_dtype(d.dtype)
    if text is not None:
        flat = np.asarray(d[()], dtype=object).ravel().tolist()
        return "string", list(d.shape), [bytes(s).hex().upper() for s in flat]
    a = np.asarray(d[()])
    shape, name = list(a.shape), a.dtype.newbyteorder("=").name
    if a.dtype.kind == "V" and "dtype" in d.attrs:
        name = d.attrs["dtype"]
    elif a.dtype.kind == "V":
        name = f"void{a.dtype.itemsize * 8}"
    elif isinstance(a.dtype, h5py.h5t.TypeID) or a.dtype.kind in "Mm":
        name = a.dtype.name
    return name, shape, hashlib.sha256(little(a)).hexdigest()


def answers(f):
    found = {}

    def walk(g, path, above):
        for k in g.keys():
            if not isinstance(g.get(k, getlink=True), h5py.HardLink):
                continue
            o = g[k]
            if isinstance(o, h5py.Group):
                at = h5py.h5o.get_info(o.id).addr
                if at not in above:
                    walk(o, path + [k], above | {at})
            elif isinstance(o, h5py.Dataset):
                found["/".join(path + [k])] = answer(o)
    walk(f, [], {h5py.h5o.get_info(f.id).addr})
    return found


def facts(f):
    def plain(v):
        v = v.tolist() if isinstance(v, (np.ndarray, np.generic)) else v
        return [plain(x) for x in v] if isinstance(v, list) else v.decode() if isinstance(v, bytes) else v
    return {k: plain(v) for k, v in f.attrs.items()}


# --- what ckptdb reads ------------------------------------------------------------------------
def sql(statement):
    done = subprocess.run([CKPTDB, "--json", "-c", statement], capture_output=True, timeout=900)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[:2000]
    return json.loads(done.stdout)


def our_answers(path):
    quoted = "'" + os.path.realpath(".") + "/" + path + "'"
    found, strings = {}, {}
    for row in sql("SELECT t.name, v.position, hex(v.value) AS v FROM tensor t JOIN "
                   f"tensor_values(t.id) v WHERE t.path = {quoted} AND t.dtype = 'string' "
                   "ORDER BY t.name, v.position"):
        strings.setdefault(row["name"], []).append(row["v"])
    for row in sql("SELECT name, dtype, shape, iif(dtype = 'string', NULL, tensor_sha256(id)) AS h "
                   f"FROM tensor WHERE path = {quoted}"):
        shape = row["shape"] if isinstance(row["shape"], list) else json.loads(row["shape"])
        found[row["name"]] = (row["dtype"], shape,
                              strings.get(row["name"], []) if row["dtype"] == "string" else row["h"])
    return found


def our_facts(path):
    quoted = "'" + os.path.realpath(".") + "/" + path + "'"
    rows = sql("SELECT m.key, m.value FROM metadata m JOIN checkpoint c ON c.id = m.checkpoint_id "
               f"WHERE c.path = {quoted} AND m.key NOT LIKE '%/%'")
    return {r["key"]: r["value"] for r in rows}


def same_fact(want, have):
    if isinstance(want, bool):
        return have in (str(want).lower(), want)
    if isinstance(want, list):
        return (json.loads(have) if isinstance(have, str) else have) == want
    return have == want or str(have) == str(want)


def compare(want, known_facts):
    done = subprocess.run([CKPTDB, "import", "."], capture_output=True, timeout=900)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[:2000]
    count = 0
    for path, tensors in want.items():
        have = our_answers(path)
        assert sorted(have) == sorted(tensors), f"{path}: {sorted(set(have) ^ set(tensors))[:5]}"
        for name, told in tensors.items():
            assert have[name] == told, f"{path}: {name}: {str(have[name])[:200]}, not {str(told)[:200]}"
        count += len(tensors)
        if path in known_facts:
            ours = our_facts(path)
            for key, value in known_facts[path].items():
                assert key in ours and same_fact(value, ours[key]), \
                    f"{path}: attribute {key}: {str(ours.get(key))[:200]}, not {str(value)[:200]}"
    return count


# --- cases: each writes into an open file -----------------------------------------------------
def every_dtype(f):
    for i, dtype in enumerate(PLAIN * 3):
        f[f"{dtype}/{i}"] = turned(array(dtype, dims()))
    f["enum"] = np.array([1, 2, 2], dtype=h5py.enum_dtype({"A": 1, "B": 2}, "i2"))
    f["array"] = np.zeros(3, dtype="(2,4)f4") if rng.random() < 0 else array("float32", (3, 2, 4))
    base = h5py.h5t.array_create(h5py.h5t.IEEE_F32LE, (2, 3))
    d = h5py.h5d.create(f.id, b"arrays", base, h5py.h5s.create_simple((4,)))
    d.write(h5py.h5s.ALL, h5py.h5s.ALL, array("int32", (4, 2, 3)).astype("f4"),
            h5py.h5t.array_create(h5py.h5t.NATIVE_FLOAT, (2, 3)))
    for dtype in ("bfloat16", "float8_e5m2", "float8_e4m3fn"):
        real = np.dtype(getattr(ml_dtypes, dtype))
        f[f"raw/{dtype}"] = array("uint8", (4, 5 * real.itemsize)).view(f"V{real.itemsize}")
        f[f"raw/{dtype}"].attrs["dtype"] = dtype
    f["opaque"] = array("uint8", (4, 15)).view("V5")
    f["time"] = array("int64", (3,)).astype("M8[s]").astype(h5py.opaque_dtype("M8[s]"))
    f["text/fixed"] = np.array([b"ab", b"abcde", b""])
    f["text/spaces"] = np.array([b"a b ", b"  x"])
    f.create_dataset("text/vlen", data=[word() * int(rng.integers(0, 400)) for _ in range(50)],
                     dtype=h5py.string_dtype())
    f.create_dataset("text/chunks", data=np.array([word() for _ in range(35)], dtype=object).reshape(5, 7),
                     dtype=h5py.string_dtype(), chunks=(2, 3), compression="gzip")
    f.create_dataset("text/unwritten", (4,), dtype=h5py.string_dtype(), chunks=(2,))
    f["text/scalar"] = word()
    for pad in (h5py.h5t.STR_NULLTERM, h5py.h5t.STR_SPACEPAD):
        t = h5py.h5t.C_S1.copy()
        t.set_size(6)
        t.set_strpad(pad)
        d = h5py.h5d.create(f.id, b"text/pad%d" % pad, t, h5py.h5s.create_simple((3,)))
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([b"abc", b"", b"x  y"], dtype="S6"))
    named = h5py.h5t.IEEE_F64BE.copy()
    named.commit(f.id, b"named type")
    d = h5py.h5d.create(f.id, b"of named type", named, h5py.h5s.create_simple((3,)))
    d.write(h5py.h5s.ALL, h5py.h5s.ALL, array("int64", (3,)).astype("f8"))


def filters(rank_type):
    kinds = [{}, {"compression": "gzip"}, {"compression": "gzip", "compression_opts": 9, "shuffle": True},
             {"compression": "lzf"}, {"compression": "lzf", "shuffle": True, "fletcher32": True},
             {"fletcher32": True}, {"shuffle": True},
             {"compression": "gzip", "shuffle": True, "fletcher32": True}]
    return kinds[int(rng.integers(len(kinds)))]


def chunks(f):
    """Every kind of index, with every kind of filter."""
    for i in range(80):
        dtype = str(rng.choice(PLAIN))
        shape = tuple(int(n) for n in rng.integers(1, 20, rng.integers(1, 4)))
        box = tuple(int(rng.integers(1, n + 3)) for n in shape)
        grow = [None if rng.random() < 0.4 else n + int(rng.integers(0, 9)) for n in shape]
        box = tuple(min(b, n) if m is not None else b for b, n, m in zip(box, shape, grow))
        most = None if rng.random() < 0.3 else tuple(grow)
        box = box if most else tuple(min(b, n) for b, n in zip(box, shape))
        d = f.create_dataset(f"c{i}", shape, dtype=turned(array(dtype, ())).dtype, chunks=box, maxshape=most,
                             fillvalue=array(dtype, ())[()] if rng.random() < 0.3 else None, **filters(dtype))
        if rng.random() < 0.7:
            d[...] = array(dtype, shape)
        elif rng.random() < 0.7:
            part = tuple(slice(0, int(rng.integers(1, n + 1))) for n in shape)
            d[part] = array(dtype, tuple(p.stop for p in part))
        if rng.random() < 0.2 and most is not None:
            d.resize(tuple(max(1, n // 2) if m is None else n for n, m in zip(shape, most)))


def large_indexes(f):
    """Enough chunks for arrays to have pages and super blocks, trees to have levels."""
    n = int(rng.integers(30_000, 60_000)) if f.userblock_size else int(rng.integers(600_000, 700_000))
    for name, most, kw in (("fixed", None, {}), ("growing", (None,), {}), ("growing_z", (None,), {"compression": "gzip"}),
                           ("fixed_z", None, {"compression": "lzf"})):
        f.create_dataset(name, data=array("uint16", (n,)), chunks=(3,), maxshape=most, **kw)
    for name, most in (("two", (None, None)), ("late", (90, None)), ("early", (None, 300)), ("wide", (200, 400))):
        f.create_dataset(name, data=array("uint8", (80, 250)), chunks=(2, 3), maxshape=most)
    d = f.create_dataset("sparse", (10**9,), dtype="i4", chunks=(1000,), maxshape=(None,), fillvalue=5)
    d[77_777_000:77_778_500] = 1
    d.resize((77_790_000,))
    f.create_dataset("holes", (100_000,), dtype="i4", chunks=(7,), fillvalue=-3)[50_000:50_100] = 9


def early(f):
    """All chunks at once: no index where nothing else is needed."""
    for i in range(6):
        pl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        pl.set_chunk((int(rng.integers(1, 5)), int(rng.integers(1, 5))))
        pl.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        most = (11, 9) if i % 2 else None
        d = h5py.h5d.create(f.id, b"e%d" % i, h5py.h5t.STD_I32LE, h5py.h5s.create_simple((7, 9), most), pl)
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, array("int32", (7, 9)))


def hdf5_library():
    """The library that h5py has loaded, for functions that h5py lacks."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return ctypes.CDLL(next(line.split()[-1] for line in maps if "/libhdf5-" in line or "/libhdf5.so" in line))


def masks(f):
    """Chunks to which some of the filters were not applied."""
    for i, (shape, box, most) in enumerate((((50,), (8,), None), ((50,), (8,), (-1,)), ((10, 7), (4, 3), (-1, -1)))):
        pl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        pl.set_chunk(box)
        pl.set_deflate(6)
        assert hdf5_library().H5Pset_chunk_opts(ctypes.c_int64(pl.id), 2) >= 0  # none at the edges
        space = h5py.h5s.create_simple(shape, most and tuple(h5py.h5s.UNLIMITED for _ in most))
        if f.libver[0] in ("latest", "v110", "v112", "v114", "v200"):
            d = h5py.h5d.create(f.id, b"edge%d" % i, h5py.h5t.STD_I32BE, space, pl)
            d.write(h5py.h5s.ALL, h5py.h5s.ALL, array("int32", shape))
    d = f.create_dataset("m", (40,), dtype="<i4", chunks=(8,), compression="gzip", shuffle=True, fillvalue=3)
    for i, mask in enumerate((0, 1, 2, 3)):
        a = array("int32", (8,)).tobytes()
        raw = a if mask & 1 else np.frombuffer(a, "u1").reshape(8, 4).T.tobytes()
        d.id.write_direct_chunk((8 * i,), raw if mask & 2 else zlib.compress(raw), mask)


def packed(f):
    """Scale-offset, szip, n-bit."""
    for i in range(40):
        dtype = str(rng.choice(["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]))
        n, wide = int(rng.integers(1, 200)), int(rng.integers(1, 100))
        info = np.iinfo(dtype)
        low = int(rng.integers(info.min, info.max - 100, dtype=dtype, endpoint=False))
        a = rng.integers(0, wide, n).astype(dtype) + np.array(low, dtype)
        fill = a.dtype.type(low + 5) if rng.random() < 0.4 else None
        f.create_dataset(f"s{i}", data=turned(a), chunks=(max(1, n // 2),), scaleoffset=0, fillvalue=fill,
                         shuffle=False, compression="gzip" if rng.random() < 0.3 else None)
    for i in range(20):
        dtype = "float32" if i % 2 else "float64"
        a = (rng.random(int(rng.integers(1, 99))) * 10.0 ** rng.integers(-2, 5) - 7).astype(dtype)
        f.create_dataset(f"f{i}", data=turned(a), chunks=True, scaleoffset=int(rng.integers(1, 6)),
                         fillvalue=a.dtype.type(1.5) if i % 3 else None)
    f.create_dataset("all", data=array("int32", (50,)), chunks=(50,), scaleoffset=32)
    if h5py.h5z.filter_avail(h5py.h5z.FILTER_SZIP) and "szip" in h5py.filters.encode:
        for i in range(40):
            dtype = str(rng.choice([d for d in PLAIN if d not in ("bool", "complex64", "complex128", "float16")]))
            a = array(dtype, (64, 30)) if i % 2 else (np.arange(64 * 30) // 7 % 99).reshape(64, 30).astype(dtype)
            f.create_dataset(f"z{i}", data=a, chunks=(int(rng.integers(8, 65)), int(rng.integers(16, 31))),
                             compression="szip", compression_opts=("nn" if i % 3 else "ec", [8, 16, 32][i % 3]))
    for i, dtype in enumerate(("int32", "uint16", "float32", "float64")):
        pl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        pl.set_chunk((5, 4))
        pl.set_filter(h5py.h5z.FILTER_NBIT, h5py.h5z.FLAG_OPTIONAL, ())
        a = array("int16", (9, 6)).astype(dtype)
        d = h5py.h5d.create(f.id, b"n%d" % i, h5py.h5t.py_create(np.dtype(dtype)), h5py.h5s.create_simple(a.shape), pl)
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, a)


    for i, (kind, bits, low) in enumerate(((h5py.h5t.STD_I32LE, 20, -9), (h5py.h5t.STD_I16BE, 11, -99),
                                           (h5py.h5t.STD_U32BE, 17, 0), (h5py.h5t.STD_U8LE, 3, 0))):
        t = kind.copy()
        t.set_precision(bits)
        pl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        pl.set_chunk((5, 4))
        pl.set_filter(h5py.h5z.FILTER_NBIT, h5py.h5z.FLAG_OPTIONAL, ())
        d = h5py.h5d.create(f.id, b"narrow%d" % i, t, h5py.h5s.create_simple((9, 6)), pl)
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(rng.integers(low, 7, (9, 6)), "i4"))


def plugins(f):
    a = (np.arange(5000) // 3).astype("i4").reshape(50, 100)
    f["plain"] = a
    if hdf5plugin is None:
        return
    f.create_dataset("odd", data=array("uint8", (3, 7)), chunks=(2, 7), **hdf5plugin.Bitshuffle())
    for i, kw in enumerate((hdf5plugin.Blosc(), hdf5plugin.Blosc("zstd", 5, 2), hdf5plugin.Zstd(), hdf5plugin.BZip2(),
                            hdf5plugin.LZ4(), hdf5plugin.Bitshuffle(), hdf5plugin.Bitshuffle(cname="none"),
                            hdf5plugin.Bitshuffle(cname="zstd"))):
        f.create_dataset(f"p{i}", data=a, chunks=(33, 41), **kw)
        f.create_dataset(f"q{i}", data=array("float64", (77,)), chunks=(30,), **kw)


def blosc2_chunks(f):
    """Blosc2: each codec and filter; chunks of one block, of padded blocks, of zeros, and such as do not shrink."""
    f["plain"] = 1
    if not hdf5plugin or not LIBBLOSC2:
        return print("blosc2_chunks: the Python packages hdf5plugin and blosc2 are not installed: skipped")
    kinds = [hdf5plugin.Blosc2(), hdf5plugin.Blosc2("zstd", 5, hdf5plugin.Blosc2.BITSHUFFLE),
             hdf5plugin.Blosc2("zlib", filters=hdf5plugin.Blosc2.NOFILTER), hdf5plugin.Blosc2("blosclz", 0),
             hdf5plugin.Blosc2("lz4hc", 9, hdf5plugin.Blosc2.DELTA)]
    for i, kw in enumerate(kinds):
        few = rng.integers(0, 99, (int(rng.integers(260, 1100)), int(rng.integers(260, 700))))
        f.create_dataset(f"padded{i}", data=few.astype("f4"), chunks=tuple(n - n // 5 for n in few.shape), **kw)
        f.create_dataset(f"one{i}", data=array("float64", (777,)), chunks=(300,), **kw)
        f.create_dataset(f"four{i}", data=rng.integers(0, 9, (7, 9, 5, 11)).astype("i2"), chunks=(5, 4, 3, 7), **kw)
        f.create_dataset(f"deep{i}", data=rng.integers(0, 9, (70, 90, 33)).astype("f8"), chunks=(69, 81, 31), **kw)
        f.create_dataset(f"zeros{i}", data=np.zeros((70, 90)), chunks=(50, 40), **kw)
        f.create_dataset(f"equal{i}", data=np.full((70, 90), 7.5), chunks=(50, 40), **kw)


def tree(f):
    """Many groups, many names in one, hard links, empty groups."""
    for i in range(300):
        path = "/".join(word() for _ in range(int(rng.integers(1, 6))))
        if path:
            try:
                f[path] = array("int8", dims(2))
            except (ValueError, OSError, TypeError, KeyError):  # a dataset is in the way
                pass
    g = f.create_group("Many0")
    for i in range(int(rng.integers(500, 3000))):
        g[f"weight_{i}"] = np.int16(i)
    f["alias"] = g["weight_3"]
    f["group alias"] = f.create_group("X0/y")
    f["X0/y/one"] = 1
    f.create_group("Empty0/inside")


def attributes(f):
    f["a"] = 1
    for i in range(int(rng.integers(0, 60))):
        kind = rng.integers(0, 7)
        f.attrs[f"k{i}"] = [word(), np.float64(rng.random()), int(rng.integers(-9, 9)), [word() for _ in range(9)],
                            np.arange(6).reshape(2, 3), np.float32(1.5), np.array([b"x", b"yz"])][kind]
    f.attrs["large"] = "x" * int(rng.integers(1000, 300_000))
    f.attrs["flag"] = np.bool_(True)
    f.attrs["list"] = np.arange(int(rng.integers(2000, 8000)), dtype="i4")
    f.attrs["names"] = [f"layer_{i}".encode() for i in range(int(rng.integers(1, 3000)))]


H5_CASES = [every_dtype, chunks, large_indexes, early, masks, packed, plugins, blosc2_chunks, tree, attributes]


def keras_files():
    import keras
    keras.utils.set_random_seed(SEED % 10_000)
    units = [int(n) for n in rng.integers(1, 9, 4)]
    x = i = keras.Input((units[0],))
    x = keras.layers.Dense(units[1], name="first")(x)
    x = keras.layers.BatchNormalization()(x)
    x = keras.Sequential([keras.layers.Dense(units[2]), keras.layers.Dense(3, use_bias=False)])(x)
    m = keras.Model(i, keras.layers.Dense(2)(x))
    m.compile(optimizer="adam", loss="mse")
    m.save_weights("m.weights.h5")
    m.save("m.keras")
    m.save("old.h5")
    with zipfile.ZipFile("m.keras") as z, zipfile.ZipFile("deflated.keras", "w", zipfile.ZIP_DEFLATED) as d:
        for member in z.namelist():
            d.writestr(member, z.read(member))
    want = {}
    for path in ("m.weights.h5", "old.h5"):
        with h5py.File(path) as f:
            want[path] = answers(f)
    for path in ("m.keras", "deflated.keras"):
        with zipfile.ZipFile(path) as z, h5py.File(io.BytesIO(z.read("model.weights.h5"))) as f:
            want[path] = answers(f)
    assert sum(len(w) for w in want.values()) > 20
    return want


def h5_files(case):
    want, known = {}, {}
    for i, form in enumerate(FORMS):
        path = f"{case.__name__}_{i}.h5"
        try:
            with h5py.File(path, "w", **form) as f:
                case(f)
        except (ValueError, TypeError) as error:
            if "libver" in str(error):
                continue
            raise
        with h5py.File(path) as f:
            want[path] = answers(f)
            known[path] = facts(f)
    return want, known


def main():
    passed = failed = 0
    print(f"seed {SEED}")
    for case in H5_CASES + [keras_files]:
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(folder + "/data")
            os.chdir(folder + "/data")
            os.environ["CKPTDB"] = folder + "/catalog.db"
            try:
                want, known = (case(), {}) if case is keras_files else h5_files(case)
                print(f"{case.__name__}: {compare(want, known)} tensors")
                passed += 1
            except Exception as error:  # noqa: BLE001: any trouble is this case's
                failed += 1
                print(f"FAIL {case.__name__}: {type(error).__name__}: {str(error)[:1000]}")
            os.chdir("/")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
