#!/usr/bin/env python3
"""Chunks that pcodec compressed, by itself and by numcodecs in zarr-python, against ckptdb's values.

    pcodec_values.py CKPTDB

Numbers of all types, of many distributions, in sizes at the edges of batches and pages, in all modes
and kinds of differences. CKPTDB_SEED chooses others. Works with pcodec 0.3 (which numcodecs asks for)
and 1.x, which has more. The last line is "N passed, N failed".
"""
import itertools
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import pcodec
from pcodec import ChunkConfig, DeltaSpec, ModeSpec, PagingSpec

try:
    from pcodec import standalone
except ImportError:
    from pcodec.pcodec import standalone
try:
    import zarr
    from numcodecs.pcodec import PCodec
except ImportError:
    zarr = None

CKPTDB = os.path.abspath(sys.argv[1])
MANY = hasattr(DeltaSpec, "try_conv1")  # 1.x
TYPES = ["uint16", "uint32", "uint64", "int16", "int32", "int64", "float16", "float32", "float64"]
TYPES += ["uint8", "int8"] if MANY else []
SIZES = [1, 2, 3, 4, 5, 7, 8, 255, 256, 257, 258, 259, 511, 512, 513, 1023, 1024, 1025, 5000]
LARGE = [(1 << 18) - 1, 1 << 18, (1 << 18) + 1, 600000]
passed = failed = 0


def compress(values, **settings):
    if MANY and values.dtype.itemsize == 1:
        settings["enable_8_bit"] = True
    return standalone.simple_compress(values, ChunkConfig(**settings))


def numbers(rng, dtype, n):
    """Numbers of a kind that pco has something for."""
    d, kind = np.dtype(dtype), rng.integers(0, 9)
    raw = np.frombuffer(rng.bytes(n * d.itemsize), d).copy()
    if d.kind == "f":
        x = [lambda: raw, lambda: rng.standard_normal(n), lambda: np.round(rng.standard_normal(n) * 100) * 0.1,
             lambda: rng.integers(-50, 50, n) * 0.37, lambda: np.cumsum(rng.standard_normal(n)),
             lambda: rng.standard_normal(n).astype("float16"),
             lambda: np.where(rng.random(n) < 0.05, rng.choice([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], n),
                              np.round(rng.standard_normal(n) * 1e3) / 4),
             lambda: np.sin(np.arange(n) / 20), lambda: np.full(n, rng.standard_normal())][kind]()
        with np.errstate(all="ignore"):
            return np.asarray(x).astype(d)
    info = np.iinfo(d)
    x = [lambda: raw, lambda: rng.integers(0, 100, n), lambda: rng.integers(0, 60, n) * 2 + 1,
         lambda: rng.integers(0, 1000, n) * 777 + rng.integers(0, 3, n), lambda: np.arange(n) * 3,
         lambda: np.cumsum(rng.integers(-2, 9, n)), lambda: np.tile(rng.integers(0, 1 << 15, 37), n // 37 + 1)[:n],
         lambda: rng.geometric(0.01, n), lambda: np.full(n, raw[:1])][kind]()
    return np.asarray(x).astype(d)


def modes(dtype):
    yield {}
    yield {"mode_spec": ModeSpec.classic()}
    if np.dtype(dtype).kind == "f":
        yield {"mode_spec": ModeSpec.try_float_mult(0.1)}
        yield {"mode_spec": ModeSpec.try_float_mult(-3.0)}
        yield {"mode_spec": ModeSpec.try_float_quant(7)}
        yield {"mode_spec": ModeSpec.try_float_quant(np.finfo(dtype).nmant)}
    else:
        yield {"mode_spec": ModeSpec.try_int_mult(7)}
        yield {"mode_spec": ModeSpec.try_int_mult(1 << (np.dtype(dtype).itemsize * 8 - 2))}
    if hasattr(ModeSpec, "try_dict"):
        yield {"mode_spec": ModeSpec.try_dict()}


def deltas(dtype):
    yield {}
    yield {"delta_spec": getattr(DeltaSpec, "none", None) and DeltaSpec.none() or DeltaSpec.no_op()}
    for order in range(8):
        yield {"delta_spec": DeltaSpec.try_consecutive(order)}
    yield {"delta_spec": DeltaSpec.try_lookback()}
    if MANY and np.dtype(dtype).itemsize < 8:
        for order in (1, 2, 6, 13, 32):
            yield {"delta_spec": DeltaSpec.try_conv1(order)}


class Tree:
    """Arrays of one chunk that are written first and read by one call."""

    def __init__(self, name):
        self.name, self.want = name, {}
        os.mkdir(name)
        with open(f"{name}/.zgroup", "w") as f:
            f.write('{"zarr_format": 2}')

    def add(self, values, stored):
        name = f"a{len(self.want)}"
        os.mkdir(f"{self.name}/{name}")
        with open(f"{self.name}/{name}/.zarray", "w") as f:
            json.dump({"zarr_format": 2, "shape": [len(values)], "chunks": [len(values)],
                       "dtype": values.dtype.str, "order": "C", "fill_value": 0, "filters": None,
                       "compressor": {"id": "pcodec", "level": 8}}, f)
        with open(f"{self.name}/{name}/0", "wb") as f:
            f.write(stored)
        self.want[name] = values

    def check(self):
        compare(self.name, self.want)


def run(*args):
    done = subprocess.run([CKPTDB, *map(str, args)], capture_output=True, timeout=3000)
    if done.returncode:
        print(done.stderr.decode()[-2000:])
    return done


def compare(folder, want):
    global passed, failed
    run("-d", f"{folder}.db", "import", folder)
    run("-d", f"{folder}.db", "export", folder, f"{folder}.npz", "--no-sync", "--force")
    try:
        have = np.load(f"{folder}.npz")
    except FileNotFoundError:
        have = {}
    for name, values in want.items():
        # Bits, for the payloads of NaN.
        if name in have and have[name].dtype == values.dtype and have[name].tobytes() == values.tobytes():
            passed += 1
            continue
        failed += 1
        where = ""
        if name in have and have[name].shape == values.shape:
            bits = f"u{values.dtype.itemsize}"
            differ = np.flatnonzero(have[name].ravel().view(bits) != values.ravel().view(bits))
            where = f": {len(differ)} differ, first {differ[:3]}"
        print(f"FAIL {folder}/{name} {values.dtype} {values.shape}{where}")


def by_itself(rng):
    for dtype in TYPES:
        tree = Tree(f"modes_{dtype}")
        for mode, delta in itertools.product(modes(dtype), deltas(dtype)):
            for n in rng.choice(SIZES, 4):
                values = numbers(rng, dtype, int(n))
                try:
                    stored = compress(values, compression_level=int(rng.integers(0, 13)), **mode, **delta)
                except BaseException as error:  # noqa: BLE001: its panics are no Exception
                    if isinstance(error, (KeyboardInterrupt, SystemExit)):
                        raise
                    continue  # one that it does not take
                tree.add(values, stored)
        for n, level in itertools.product(SIZES, (0, 8, 12)):
            values = numbers(rng, dtype, n)
            tree.add(values, compress(values, compression_level=level))
        tree.check()
        tree = Tree(f"pages_{dtype}")
        for n, page in itertools.product(LARGE, (1 << 18, 1 << 16, 1000)):
            values = numbers(rng, dtype, n)
            paging = PagingSpec.equal_pages_up_to(page)
            tree.add(values, compress(values, compression_level=int(rng.integers(0, 9)), paging_spec=paging))
        tree.check()


def by_zarr(rng):
    for version in (2, 3):
        folder, want = f"zarr{version}", {}
        group = zarr.open_group(folder, mode="w", zarr_format=version)
        for dtype, case in itertools.product(TYPES[:9], range(8)):
            shape = tuple(int(n) for n in rng.integers(1, 60, rng.integers(1, 4)))
            chunks = tuple(int(rng.integers(1, n + 1)) for n in shape)
            values = numbers(rng, dtype, int(np.prod(shape))).reshape(shape)
            name = f"{dtype}_{case}"
            setting = {"level": int(rng.integers(0, 13))}
            if version == 2:
                array = group.create_array(name, shape=shape, chunks=chunks, dtype=dtype, order="CF"[case % 2],
                                           compressors=PCodec(**setting))
            else:
                from zarr.codecs.numcodecs import PCodec as Codec3
                from zarr.codecs import TransposeCodec
                filters = [TransposeCodec(order=tuple(rng.permutation(len(shape)).tolist()))] if case % 2 else []
                array = group.create_array(name, shape=shape, chunks=chunks, dtype=dtype, filters=filters,
                                           serializer=Codec3(**setting), compressors=None)
            try:
                array[...] = values
            except ValueError:  # numcodecs takes no transposed chunks but those in reverse order
                del group[name]
                continue
            want[name] = np.ascontiguousarray(zarr.open_array(f"{folder}/{name}", mode="r")[...])
        compare(folder, want)


def main():
    rng = np.random.default_rng(int(os.environ.get("CKPTDB_SEED", "1")))
    by_itself(rng)
    if zarr:
        by_zarr(rng)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        status = main()
        os.chdir("/")
    sys.exit(status)
