#!/usr/bin/env python3
"""Keras 3 loads the .weights.h5 that ckptdb exports, from its own files and by way of every format that keeps their names.

    keras_back.py CKPTDB

The last line is "N passed, N failed".
"""
import itertools
import os
import subprocess
import sys
import tempfile
import warnings

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

CKPTDB = os.path.abspath(sys.argv[1])
BETWEEN = [None, "x.safetensors", "x.npz", "x.msgpack", "x.pt", "x.index", "x.orbax", "x.zarr"]
CHUNKS = [[], ["--option", "chunks=auto", "--option", "shuffle=true", "--option", "deflate=1"]]
warnings.simplefilter("ignore")


def run(*args):
    done = subprocess.run([CKPTDB, *args], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{args}: status {done.returncode}: {done.stderr}"


def model(seed):
    keras.utils.set_random_seed(seed)
    image = keras.Input((8, 8, 3))
    x = keras.layers.Conv2D(4, 3, padding="same", name="first")(image)
    x = keras.layers.DepthwiseConv2D(3)(keras.layers.BatchNormalization()(x))
    x = keras.layers.Reshape((9, 16))(x)
    x = keras.layers.MultiHeadAttention(2, 4)(x, x)
    x = keras.layers.LayerNormalization()(keras.layers.Bidirectional(keras.layers.LSTM(5))(x))
    x = keras.Sequential([keras.layers.Dense(4), keras.layers.Dropout(0.1), keras.layers.Dense(3)])(x)
    made = keras.Model(image, x)
    made.compile("adam", "mse")
    return made


def main():
    passed = failed = 0
    trained = model(1)
    trained.fit(np.random.rand(8, 8, 8, 3), np.random.rand(8, 3), verbose=0)
    trained.save_weights("a.weights.h5")
    trained.save("a.keras")
    for source, between, options in itertools.product(["./a.weights.h5", "./a.keras"], BETWEEN, CHUNKS):
        try:
            start = source
            if between:
                run("export", source, between, "--force")
                start = "./" + between.removesuffix(".index")
            run("export", start, "b.weights.h5", "--force", *options)
            other = model(2)
            other.load_weights("b.weights.h5")
            for have, want in zip(other.get_weights(), trained.get_weights(), strict=True):
                assert have.dtype == want.dtype and np.array_equal(have, want), "other weights"
            passed += 1
        except Exception as error:  # noqa: BLE001: any trouble is this way's
            failed += 1
            print(f"FAIL {source} by way of {between} {options}: {type(error).__name__}: {str(error)[:300]}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        status = main()
        os.chdir("/")
    sys.exit(status)
