#!/usr/bin/env python3
"""Statistics against NumPy: every dtype of numbers, NaN, infinities, subnormals, 10^8 elements.

    stats_values.py CKPTDB

Counts, least, greatest and histograms are the same; mean, std and norm are as near to sums of long doubles as
catalog/content/stats.h says. One set of values gives the same in each container, with any number of threads.
CKPTDB_SEED chooses other values. The last line is "N passed, N failed".
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np

np.seterr(all="ignore")

CKPTDB = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # tests/
random = np.random.default_rng(int(os.environ.get("CKPTDB_SEED", "1")))
passed = failed = 0

SAFETENSORS = {"bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32", "int32": "I32",
               "uint64": "U64", "int64": "I64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
               "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "complex64": "C64"}
# The least positive normal number, of dtypes that have smaller ones.
TINY = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022, "float8_e4m3fn": 2.0**-6,
        "float8_e5m2": 2.0**-14, "complex64": 2.0**-126}


def run(*args):
    done = subprocess.run([CKPTDB, "-d", "catalog.db", *map(str, args)], capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise AssertionError(f"{args}: status {done.returncode}: {done.stderr}")
    return done.stdout


def save_safetensors(path, arrays):
    header, at = {}, 0
    for name, a in arrays.items():
        header[name] = {"dtype": SAFETENSORS[a.dtype.name], "shape": list(a.shape), "data_offsets": [at, at + a.nbytes]}
        at += a.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for a in arrays.values():
            f.write(a.tobytes())


def save_int4(path, values):
    """Flax: a map of one name to an array, one element a byte."""
    array = b"\x93\x91\xcd" + struct.pack(">H", len(values)) + b"\xa4int4\xc5" + struct.pack(">H", len(values))
    array += (values & 15).astype("u1").tobytes()
    with open(path, "wb") as f:
        f.write(b"\x81\xa1w\xc8" + struct.pack(">H", len(array)) + b"\x01" + array)


def statistics(path, *options):
    run("import", path)
    run("stats", path, "--again", *options)
    rows = json.loads(run("--json", f"SELECT s.* FROM stats s JOIN checkpoint c ON c.id = s.checkpoint_id"
                          f" WHERE c.path = '{os.path.realpath(path)}' ORDER BY tensor_id"))
    return {r["name"]: r for r in rows}


def check_histogram(row, x):
    h = row["histogram"]
    h = json.loads(h) if isinstance(h, str) else h
    edges, counts = h["edges"], h["counts"]
    assert len(edges) == len(counts) + 1 and edges == sorted(edges), edges
    assert edges[0] == x.min() and edges[-1] == x.max(), (edges, x.min(), x.max())
    place = np.zeros(x.shape, dtype="i4")
    for e in edges[1:-1]:
        place += (x >= e) if e >= 0 else (x > e)
    have = np.bincount(place.ravel(), minlength=len(counts)).tolist()
    assert have == counts, (have, counts)
    if len(np.unique(x[:1000])) > 500 and x.std() > 0.01 * np.abs(x.mean()):
        assert len(counts) > 5, counts


def near(have, want, room, what):
    assert have is not None and abs(have - want) <= room, f"{what}: {have!r}, not {want!r} (within {room!r})"


def compare(row, a, name, histogram=True):
    values = np.hypot(a.real.astype("f8"), a.imag.astype("f8")) if a.dtype.kind == "c" else a.astype("f8")
    finite = values[np.isfinite(values)]
    want = {"elements": a.size, "nans": int(np.isnan(values).sum()), "infs": int(np.isinf(values).sum()),
            "zeros": int((finite == 0).sum()),
            "subnormals": int(((finite != 0) & (np.abs(finite) < TINY.get(name, 0))).sum())}
    for k, v in want.items():
        assert row[k] == v, f"{k}: {row[k]}, not {v}"
    if not finite.size:
        assert row["mean"] is None and row["min"] is None and row["histogram"] is None
        return
    assert row["min"] == finite.min() and row["max"] == finite.max(), (row["min"], finite.min())
    sums, squares = np.longdouble(0), np.longdouble(0)
    for part in np.array_split(finite.ravel(), finite.size // 10**7 + 1):
        sums += part.astype(np.longdouble).sum()
        squares += (part.astype(np.longdouble) ** 2).sum()
    mean, spread = sums / finite.size, np.longdouble(0)
    for part in np.array_split(finite.ravel(), finite.size // 10**7 + 1):
        spread += ((part.astype(np.longdouble) - mean) ** 2).sum()
    most = max(abs(finite.min()), abs(finite.max()))
    near(row["mean"], float(mean), 1e-12 * most, "mean")
    near(row["std"], float(np.sqrt(spread / finite.size)), 1e-12 * most, "std")
    near(row["l2"], float(np.sqrt(squares)), 1e-12 * float(np.sqrt(squares)), "l2")
    if histogram:
        check_histogram(row, finite)


def case(what, test):
    global passed, failed
    try:
        test()
        passed += 1
    except Exception as e:  # all that can go wrong is a finding
        failed += 1
        print(f"{what}: {type(e).__name__}: {e}")


def values_of(name, count):
    """Values of all kinds that a dtype has."""
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return random.integers(info.min, info.max, size=count, dtype=dtype, endpoint=True)
    if dtype.kind == "b":
        return random.integers(0, 2, size=count).astype(bool)
    if dtype.kind == "c":
        return (random.standard_normal(count) + 1j * random.standard_normal(count)).astype(dtype)
    a = (random.standard_normal(count) * 0.02).astype(dtype)
    if count > 100:
        bits = a.view("u%d" % dtype.itemsize)
        some = random.integers(0, count, size=count // 50)
        bits[some] = random.integers(0, 2 ** (8 * dtype.itemsize), size=len(some), dtype=bits.dtype)  # any code: NaN, infinities
        a[::71] = np.array(TINY[name] / 3).astype(dtype)  # subnormal
        a[::97] = 0
        if dtype.itemsize > 2:  # a few outliers leave nothing else to see
            big = np.isfinite(a) & (np.abs(a.astype("f8")) > 1e6)
            a[big] = 1
    return a


def dtypes():
    arrays = {}
    for name in SAFETENSORS:
        for count in (0, 1, 7, 8, 8191, 8192, 8193, 65535, 65536, 65537, 200001):
            arrays[f"{name}/{count}"] = values_of(name, count)
    save_safetensors("dtypes.safetensors", arrays)
    for jobs in ("1", "2"):
        rows = statistics("dtypes.safetensors", "--jobs", jobs)
        for name, a in arrays.items():
            case(f"{name}, {jobs} threads", lambda: compare(rows[name], a, name.split("/")[0]))


def odd():
    arrays = {
        "all_nan": np.full(100, np.nan, "f4"),
        "all_infinite": np.array([np.inf, -np.inf] * 50, "f4"),
        "minus_zero": np.full(1000, -0.0, "f4"),
        "constant": np.full(10**5, 1e6 / 3, "f4"),
        "far_from_zero": (1e6 + random.standard_normal(10**6)).astype("f4"),
        "far_in_64": 1e9 + random.standard_normal(10**6),
        "outlier_first": np.concatenate([[1e30], random.standard_normal(10**5)]),
        "nan_first": np.concatenate([[np.nan] * 9000, random.standard_normal(9000)]).astype("f4"),
        "all_finite_64": np.frombuffer(random.bytes(8 * 10**5), "f8").copy(),
        "greatest": np.array([np.finfo("f8").max, -np.finfo("f8").max], "f8"),
    }
    arrays["all_finite_64"][np.abs(arrays["all_finite_64"]) > 1e100] = 0
    save_safetensors("odd.safetensors", arrays)
    rows = statistics("odd.safetensors")
    for name, a in arrays.items():
        if name == "greatest":
            case(name, lambda: check_histogram(rows[name], a))
        else:
            case(name, lambda: compare(rows[name], a, a.dtype.name))


def containers():
    a = values_of("float32", 3 * 2**23 + 12345)
    np.save("one.npy", a)
    np.savez_compressed("one.npz", one=a)
    save_safetensors("one.safetensors", {"one": a})
    keys = ("elements", "min", "max", "mean", "std", "l2", "zeros", "nans", "infs", "subnormals", "histogram")
    rows = [statistics(p, "--jobs", j)["one"] for p in ("one.npy", "one.npz", "one.safetensors") for j in (1, 2)]

    def same(row):
        for k in keys:
            assert row[k] == rows[0][k], f"{k}: {row[k]}, not {rows[0][k]}"
    for r in rows[1:]:
        case("one in another container", lambda: same(r))
    case("three groups and more", lambda: compare(rows[0], a, "float32"))


def other_formats():
    a = random.integers(-8, 8, size=10001)
    save_int4("int4.msgpack", a)
    case("int4", lambda: compare(statistics("int4.msgpack")["w"], a.astype("i1"), "int4"))
    gguf = os.path.join(HERE, "fixtures/real/gguf/blocks/data/blocks.gguf")
    for i, (name, row) in enumerate(statistics(gguf).items()):
        subprocess.run([CKPTDB, "-d", "catalog.db", "get", gguf, name, "--dtype", "float32", "-o", f"{i}.npy"], check=True)
        case(f"{row['dtype']} {name}", lambda: compare(row, np.load(f"{i}.npy"), "block"))


def large():
    for name in ("float32", "bfloat16"):
        a = np.tile(values_of(name, 10**6), 100)
        save_safetensors("large.safetensors", {"w": a})
        row = statistics("large.safetensors")["w"]
        case(f"10^8 {name}", lambda: compare(row, a, name, histogram=False))
        case(f"10^8 {name}: histogram", lambda: check_histogram(row, a.astype("f8")[np.isfinite(a.astype("f4"))]))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for part in (dtypes, odd, containers, other_formats, large):
        part()
print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
