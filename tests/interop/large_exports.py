#!/usr/bin/env python3
"""Export a tensor above 4 GiB to every format in 1 GiB of memory, import it, and compare: the hash, and at the marks around
2^31 and 2^32 what each format's own library sees, where it can look at a part of a tensor.

    large_exports.py CKPTDB [FORMAT...]

The source is a sparse file, the largest copy takes about 4.3 GB, one at a time. The last line is "N passed, N failed".
"""
import importlib
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
CKPTDB = os.path.abspath(sys.argv[1])
MEMORY = 1 << 30
ROWS, ROW = (1 << 16) + 1, 1 << 16  # int8: 4 GiB and a row
MARKS = [0, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, ROWS * ROW - 1]
SIZE = 3 << 30  # of the file for formats whose tensors are smaller, in three


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run(*args, status=0):
    done = subprocess.run([CKPTDB, "-d", "c.db", *map(str, args)], capture_output=True, text=True, check=False, preexec_fn=limit)
    assert done.returncode == status, f"{args}: status {done.returncode}: {done.stderr[-500:]}"
    return done.stdout + done.stderr


def sparse(path, tensors, marks):
    """A safetensors file of zeros, with other values at some bytes of the data."""
    header, at = {}, 0
    for name, shape in tensors.items():
        size = shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "I8", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.truncate(8 + len(text) + at)
        for k, mark in enumerate(marks):
            f.seek(8 + len(text) + mark)
            f.write(bytes([k + 1]))


# --- what a library sees at the marks: a function of (row, column) -> number ---------------------

def see_safetensors(path):
    from safetensors import safe_open
    part = safe_open(path, "numpy").get_slice("big")
    return lambda row, column: part[row:row + 1, column:column + 1][0, 0]


def see_npy(path):
    return lambda row, column, a=importlib.import_module("numpy").load(path, mmap_mode="r"): a[row, column]


def see_torch(path):
    import torch
    tensor = torch.load(path, mmap=True, weights_only=True)["big"]
    return lambda row, column: int(tensor[row, column])


def see_gguf(path):
    import gguf
    tensor = gguf.GGUFReader(path).tensors[0]
    return lambda row, column: tensor.data.reshape(ROWS, ROW)[row, column]


def see_hdf5(path):
    import h5py
    data = h5py.File(path)["big"]
    return lambda row, column: data[row, column]


def see_store(driver, below=""):
    def see(path):
        import tensorstore
        store = tensorstore.open({"driver": driver, "kvstore": {"driver": "file", "path": f"{path}/{below}big"}}).result()
        return lambda row, column: int(store[row, column].read().result())
    return see


def see_ocdbt(path):
    import tensorstore
    store = tensorstore.open({"driver": "zarr", "kvstore": {"driver": "ocdbt", "base": f"file://{os.path.abspath(path)}/", "path": "big/"}}).result()
    return lambda row, column: int(store[row, column].read().result())


# name: (OUT, options, a program that reads a part)
FORMATS = {
    "safetensors": (".safetensors", [], see_safetensors),
    "npy": (".npy", [], see_npy),
    "npz": (".npz", [], None),
    "zarr": (".zarr", [], see_store("zarr")),
    "zarr3": (".zarr", ["--format", "zarr3"], see_store("zarr3")),
    "gguf": (".gguf", [], see_gguf),
    "torch": (".pt", [], see_torch),
    "dcp": (".dcp", [], None),
    "hdf5": (".h5", [], see_hdf5),
    "hdf5 chunks": (".h5", ["--option", "chunks=auto"], see_hdf5),
    "tf": (".index", [], None),
    "orbax": (".orbax", [], see_ocdbt),
    "orbax folders": (".orbax", ["--option", "ocdbt=false"], see_store("zarr")),
    "t5x": (".t5x", [], see_store("zarr", "target.")),
    "flax": (".msgpack", [], None),
}


def hashes(path):
    run("hash", path)
    sql = f"SELECT name || ' ' || hash FROM tensor WHERE path = '{os.path.abspath(path)}' ORDER BY name"
    return [line.removeprefix("target/") for line in run("--list", sql).splitlines() if not line.startswith("state/")]


def one(fmt, out, options, see):
    source = "in.safetensors"
    if fmt == "flax":
        refused = run("export", source, out, status=1)
        assert "big" in refused and "4 GiB" in refused, refused
        source = "three.safetensors"
    names = ["--names", "^big$"] if fmt == "npy" else []
    began = time.monotonic()
    run("export", source, out, "--no-sync", *options, *names)
    took = time.monotonic() - began
    run("import", out)
    want, have = hashes(source), hashes(out.removesuffix(".index"))
    if fmt == "npy":
        want, have = [h.split()[1] for h in want if h.startswith("big ")], [h.split()[1] for h in have]
    assert have == want and want, f"hashes: {have}, not {want}"
    seen = "not looked at in part"
    if see:
        try:
            value = see(out)
            got = [value(mark // ROW, mark % ROW) for mark in MARKS]
            assert got == [k + 1 for k in range(len(MARKS))], f"values: {got}"
            seen = "seen by its library"
        except ModuleNotFoundError as error:
            seen = f"no {error.name} here"
    print(f"{fmt}: exported in {took:.1f} s, {seen}", flush=True)


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("CKPTDB_LARGE")) as folder:
        os.chdir(folder)
        sparse("in.safetensors", {"big": [ROWS, ROW], "small": [3]}, MARKS + [ROWS * ROW + 1])
        sparse("three.safetensors", {f"t{k}": [SIZE // 3 + k] for k in range(3)}, [0, SIZE // 3 - 1, 1 << 31, SIZE - 1, SIZE])
        run("import", "in.safetensors", "three.safetensors")
        for fmt in sys.argv[2:] or FORMATS:
            try:
                one(fmt, fmt.replace(" ", "_") + FORMATS[fmt][0], *FORMATS[fmt][1:])
                passed += 1
            except Exception as error:  # noqa: BLE001: any trouble is this format's
                failed += 1
                print(f"FAIL {fmt}: {type(error).__name__}: {str(error)[:600]}", flush=True)
            for name in os.listdir("."):
                if name.startswith((fmt.replace(" ", "_"), ".tmp-")):
                    shutil.rmtree(name) if os.path.isdir(name) else os.unlink(name)
        os.chdir("/")
    print(f"{passed} passed, {failed} failed")


main()
