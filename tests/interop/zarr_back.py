#!/usr/bin/env python3
"""Read what ckptdb exports to zarr with zarr-python and TensorStore, and compare by value.

    zarr_back.py CKPTDB

Shapes and chunks are random; CKPTDB_SEED chooses others. The last line is "N passed, N failed".
"""
import os
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np
import safetensors.numpy
import tensorstore
import zarr

CKPTDB = os.path.abspath(sys.argv[1])
PLAIN = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "float32", "float64", "complex64"]
TENSORSTORE_ONLY = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]
CODECS = ["zstd", "gzip", "blosc", "none"]
passed = failed = 0


def run(*args):
    done = subprocess.run([CKPTDB, "-d", "catalog.db", *map(str, args)], capture_output=True,
                          text=True, timeout=600)
    if done.returncode:
        raise AssertionError(f"{args}: status {done.returncode}: {done.stderr}")


def same(have, want, what):
    have = np.asarray(have)
    assert have.dtype == want.dtype, f"{what}: dtype {have.dtype}, not {want.dtype}"
    assert have.shape == want.shape, f"{what}: shape {have.shape}, not {want.shape}"
    assert have.tobytes() == want.tobytes(), f"{what}: other values"


def by_tensorstore(folder, version, arrays):
    driver = {2: "zarr", 3: "zarr3"}[version]
    for name, want in arrays.items():
        spec = {"driver": driver, "kvstore": {"driver": "file", "path": f"{folder}/{name}"}}
        same(tensorstore.open(spec).result().read().result(), want, name)


def by_zarr(folder, version, arrays, consolidated=True):
    group = zarr.open_group(folder, mode="r", zarr_format=version)
    assert (group.metadata.consolidated_metadata is not None) == consolidated
    assert group.attrs["note"] == 'of "a"'
    found = {name: a for name, a in group.members(max_depth=None) if isinstance(a, zarr.Array)}
    assert sorted(found) == sorted(arrays), f"{sorted(found)} not {sorted(arrays)}"
    for name, want in arrays.items():
        same(found[name][...], want, name)


def case(title):
    def decorate(test):
        global passed, failed
        try:
            test()
            passed += 1
        except Exception as error:  # noqa: BLE001: any trouble is this case's
            failed += 1
            print(f"FAIL {title}: {type(error).__name__}: {error}")
    return decorate


def random_array(rng, dtype):
    shape = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 40, rng.integers(0, 4)))
    raw = np.asarray(rng.standard_normal(shape) * 50)
    if dtype.startswith("uint"):
        raw = np.asarray(np.abs(raw))
    return np.asarray(raw.astype(getattr(ml_dtypes, dtype, None) or dtype))


def main():
    rng = np.random.default_rng(int(os.environ.get("CKPTDB_SEED", "1")))
    plain = {f"{d}/{i}" if i else d + ".w": random_array(rng, d) for d in PLAIN for i in range(3)}
    extra = {f"{d}/x": random_array(rng, d) for d in TENSORSTORE_ONLY}
    large = {"a/large": rng.standard_normal((700, 1900)).astype("float32")}
    safetensors.numpy.save_file({**plain, **large}, "plain.safetensors")
    safetensors.numpy.save_file({**plain, **extra}, "all.safetensors")
    numpy_only = {"dates": np.array(["2020-01-02", "NaT"], "datetime64[us]"),
                  "spans": np.array([[1, -5]], "timedelta64[25s]"),
                  "wide": (rng.standard_normal((3, 5)) * 1j).astype("complex128"),
                  "raw": np.frombuffer(rng.bytes(18), "V6")}
    np.savez("only.npz", **numpy_only)
    run("import", ".")
    for version, format_name in ((2, "zarr"), (3, "zarr3")):
        for codec in CODECS:
            @case(f"{format_name} {codec}")
            def _():
                folder = f"{format_name}-{codec}.zarr"
                run("export", "plain.safetensors", folder, "--format", format_name, "--option",
                    f"codec={codec}", "--option", f"chunk={int(rng.integers(1, 9)) * 777}",
                    "--meta", 'note=of "a"', "--no-sync")
                by_tensorstore(folder, version, {**plain, **large})
                by_zarr(folder, version, {**plain, **large})

        @case(f"{format_name} with dtypes of TensorStore")
        def _():
            folder = f"{format_name}-all.zarr"
            run("export", "all.safetensors", folder, "--format", format_name)
            by_tensorstore(folder, version, {**plain, **extra})

        @case(f"{format_name} with dtypes of NumPy")
        def _():
            folder = f"{format_name}-only.zarr"
            run("export", "only.npz", folder, "--format", format_name, "--option", "chunk=16",
                "--option", "codec=blosc", "--meta", 'note=of "a"')
            by_zarr(folder, version, numpy_only)

        @case(f"{format_name}, an array alone")
        def _():
            folder = f"{format_name}-root.zarr"
            run("export", "--sql", "SELECT id AS tensor_id, '' AS new_name FROM tensor WHERE "
                "name = 'a/large'", folder, "--format", format_name)
            by_tensorstore(folder, version, {"": large["a/large"]})
            same(zarr.open_array(folder, mode="r")[...], large["a/large"], "root")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        status = main()
        os.chdir("/")
    sys.exit(status)
