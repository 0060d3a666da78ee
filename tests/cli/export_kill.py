"""export_kill.py [POINTS] - exports to each format are killed at random moments: a final name is complete or absent, and
what is left of the work goes with the next export.

The export is run whole once; then POINTS (4) times it is killed after a random part of the time that this took, into a
folder in which the others died before."""
import hashlib
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time

PROGRAM = os.environ["CKPTDB_BIN"]
POINTS = int(sys.argv[1]) if len(sys.argv) > 1 else 4
FORMATS = {  # name: (OUT, options)
    "safetensors": ("o.safetensors", []),
    "safetensors in parts": ("o.safetensors", ["--shard-size", "1MB"]),
    "torch": ("o.pt", []),
    "torch in parts": ("o.bin", ["--shard-size", "1MB"]),
    "dcp": ("o.dcp", []),
    "npz": ("o.npz", []),
    "zarr": ("o.zarr", ["--option", "chunk=100000"]),
    "zarr3": ("o.zarr", ["--format", "zarr3"]),
    "flax": ("o.msgpack", []),
    "t5x": ("o.t5x", []),
    "orbax": ("o.orbax", []),
    "tf": ("o.index", []),
    "hdf5": ("o.h5", []),
    "gguf": ("o.gguf", []),
}


def model(path, tensors, size):
    text = "{" + ",".join('"layer%d/w":{"dtype":"F32","shape":[%d],"data_offsets":[%d,%d]}'
                          % (i, size // 4, i * size, i * size + size) for i in range(tensors)) + "}"
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text.encode())
        for i in range(tensors):
            f.write(random.Random(i).randbytes(size))


def digest(folder):
    """Everything below a folder that has a final name, by path."""
    found = {}
    for where, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if not f.startswith(".tmp-")]
        for name in files:
            if not name.startswith(".tmp-"):
                path = os.path.join(where, name)
                with open(path, "rb") as f:
                    found[os.path.relpath(path, folder)] = hashlib.sha256(f.read()).hexdigest()
    return found


def export(out, options):
    return subprocess.Popen([PROGRAM, "export", "m.safetensors", out, "--no-meta", "--force", *options],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    rng = random.Random(24)
    model("m.safetensors", 20, 200000)
    subprocess.run([PROGRAM, "import", "m.safetensors"], check=True, stderr=subprocess.DEVNULL)
    for name, (out, options) in FORMATS.items():
        shutil.rmtree("k", ignore_errors=True)
        os.mkdir("k")
        before = time.monotonic()
        if export("k/" + out, options).wait() != 0:
            print(name, "cannot be written")
            continue
        took = time.monotonic() - before
        whole = digest("k")
        bad = 0
        for _ in range(POINTS):
            for path in list(whole):
                top = os.path.join("k", path.split("/")[0])
                if os.path.isdir(top):
                    shutil.rmtree(top)
                elif os.path.exists(top):
                    os.unlink(top)
            process = export("k/" + out, options)
            time.sleep(rng.random() * took * 1.1)
            process.send_signal(signal.SIGKILL)
            process.wait()
            now = digest("k")
            # Parts get their names before the index, which comes last: without it nothing loads them.
            last = [p for p in whole if p.endswith((".index.json", ".index"))]
            complete = now == whole
            begun = all(whole.get(p) == sum_ for p, sum_ in now.items()) and last and last[0] not in now
            if now and not complete and not begun:
                bad += 1
        code = export("k/" + out, options).wait()
        left = [f for f in os.listdir("k") if f.startswith(".")]
        print(name, "fine" if not bad and not code and not left and digest("k") == whole
              else f"{bad} bad, status {code}, left {left}")


main()
