"""A small catalog that has a bit of everything, for the statements of compare.py."""
import os
import shutil
import subprocess

import runs

FIXTURES = "safetensors safetensors_index npz names t5x zarr orbax onnx tf_bundle ocdbt gguf".split()


def build(ckptdb, fixtures, folder, catalog):
    """Repeated and shuffled layouts, shards, names without dtypes and shapes, steps, facts, empty leaves of trees,
    issues; some hashed, verified or with statistics; one forgotten from the middle, one changed, one gone."""
    def run(*args):
        done = subprocess.run([ckptdb, "-d", str(catalog), *args], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise SystemExit(f"{args}: {done.returncode} {done.stderr}")

    runs.write(folder / "runs", 12, 4, 24, (0, 1))
    for name in FIXTURES:
        shutil.copytree(fixtures / name, folder / name)
    run("import", str(folder))
    run("forget", "run0002@200")
    os.remove(folder / "runs/run0004/checkpoint-100/model.safetensors")
    runs.save(folder / "runs/run0005/checkpoint-300/model.safetensors", runs.layout(5, 22), None, None)
    run("import", str(folder / "runs/run0004"), str(folder / "runs/run0005"))
    for step in (100, 200, 300):
        run("hash", f"run0000@{step}")
        run("hash", f"run0001@{step}")
    run("stats", "run0000@100")
    run("verify", "--quick", "run0000@200")
