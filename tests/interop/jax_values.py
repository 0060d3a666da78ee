#!/usr/bin/env python3
"""Let Orbax, TensorStore, Flax and zarr-python write random JAX checkpoints, and compare every
tensor with what the library itself restores: name, dtype, shape and value.

    jax_values.py CKPTDB [SEED]

The seed is printed; one that failed can be given again. The last line is "N passed, N failed".
"""
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
os.environ.setdefault("JAX_ENABLE_X64", "1")

import flax.linen as nn
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import optax
import orbax.checkpoint as ocp
import tensorstore as ts
from absl import logging
from flax import nnx
from flax.training import train_state
from orbax.checkpoint.experimental import v1
from jax.experimental.array_serialization import pytree_serialization
from jax.sharding import NamedSharding, PartitionSpec

logging.set_verbosity(logging.ERROR)
CKPTDB = os.path.abspath(sys.argv[1])
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("CKPTDB_SEED") or random.randrange(1 << 32))
rng = np.random.default_rng(SEED)
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
          "float32", "float64", "complex64", "bfloat16", "float8_e4m3fn", "float8_e5m2"]


# --- random things ----------------------------------------------------------------------------
def shape(most=4):
    return tuple(int(n) for n in rng.integers(1, 9, rng.integers(0, most)))


def array(dtype=None, dims=None):
    dtype = dtype or str(rng.choice(DTYPES))
    dims = shape() if dims is None else dims
    real = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    count = int(np.prod(dims))
    if dtype == "bool":
        return rng.integers(0, 2, count).astype(bool).reshape(dims)
    return np.frombuffer(rng.integers(0, 256, count * real.itemsize, np.uint8).tobytes(), real).reshape(dims)


def word():
    """TensorStore refuses names with parts that are empty, "." or ".."."""
    while True:
        made = "".join(rng.choice(list("abcdefgh_./ é0"), int(rng.integers(1, 9))))
        if not {"", ".", ".."} & set(made.split("/")):
            return made


def tree(depth=3):
    """Nested dicts and lists with leaves of all kinds."""
    if depth == 0 or rng.random() < 0.3:
        return jnp.asarray(array())
    if rng.random() < 0.3:
        return [tree(depth - 1) for _ in range(rng.integers(1, 4))]
    return {f"{word()}{i}": tree(depth - 1) for i in range(rng.integers(1, 5))}


# --- what the library says --------------------------------------------------------------------
def answer(leaf):
    if isinstance(leaf, str):
        return "string", [], [leaf.encode().hex().upper()]
    if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    a = np.asarray(leaf)
    return a.dtype.name, list(a.shape), hashlib.sha256(np.asarray(a, order="C").tobytes()).hexdigest()


def part(key):
    return str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", None))))


def leaves(values):
    """{ name: answer } of what was restored."""
    flat, _ = jax.tree_util.tree_flatten_with_path(values)
    return {"/".join(part(k) for k in path): answer(leaf) for path, leaf in flat}


# --- what ckptdb says -------------------------------------------------------------------------
def sql(statement):
    done = subprocess.run([CKPTDB, "--json", "-c", statement], capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return json.loads(done.stdout)


def our_answers(path):
    quoted = "'" + os.path.realpath(path).replace("'", "''") + "'"
    answers, strings = {}, {}
    for row in sql("SELECT t.name, v.position, hex(v.value) AS v FROM tensor t JOIN "
                   f"tensor_values(t.id) v WHERE t.path = {quoted} AND t.dtype = 'string' "
                   "ORDER BY t.name, v.position"):
        strings.setdefault(row["name"], []).append(row["v"])
    for row in sql("SELECT name, dtype, shape, iif(dtype = 'string', NULL, tensor_sha256(id)) AS h "
                   f"FROM tensor WHERE path = {quoted}"):
        dims = row["shape"] if isinstance(row["shape"], list) else json.loads(row["shape"])
        what = strings.get(row["name"], []) if row["dtype"] == "string" else row["h"]
        answers[row["name"]] = row["dtype"], dims, what
    return answers


def compare(want):
    """Import the folder we are in and compare; the number of tensors."""
    done = subprocess.run([CKPTDB, "import", "."], capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    count = 0
    for path, tensors in want.items():
        have = our_answers(path)
        assert sorted(have) == sorted(tensors), f"{path}: {sorted(set(have) ^ set(tensors))[:5]}"
        for name, told in tensors.items():
            assert have[name] == told, f"{path}: {name}: {str(have[name])[:200]}, not {str(told)[:200]}"
        count += len(tensors)
    return count


# --- cases: each writes into the folder it is in and returns { path: { name: answer } } --------
def saved(path, values, **how):
    """Save with the handler's options; returns what Orbax itself restores."""
    full = os.path.abspath(path)
    with ocp.Checkpointer(ocp.PyTreeCheckpointHandler(**how)) as checkpointer:
        checkpointer.save(full, values)
        return {path: leaves(checkpointer.restore(full))}


def every_layout():
    values = {"tree": tree(), "all": {d: jnp.asarray(array(d)) for d in DTYPES}, "zeros": jnp.zeros((70, 3)),
              "int": 5, "float": 1.5,
              "text": "é", "texts": ["", "x" * 5000], "none": None, "empty": {}, "list": []}
    want = {}
    for ocdbt in (True, False):
        for zarr3 in (True, False):
            want |= saved(f"item{int(ocdbt)}{int(zarr3)}", values, use_ocdbt=ocdbt, use_zarr3=zarr3)
    return want


def bare_arrays():
    want = {}
    for i, how in enumerate([{}, {"use_zarr3": True}, {"use_ocdbt": False},
                             {"use_ocdbt": False, "use_zarr3": True}]):
        want |= saved(f"bare{i}", jnp.asarray(array(dims=(3, 4))), **how)
    return want


def many():
    values = {f"layer_{i:04d}": {"kernel": jnp.asarray(array("float32", (2, int(rng.integers(1, 5)))))}
              for i in range(1500)}
    return saved("many", values)


def devices():
    mesh = jax.make_mesh((2, 2), ("x", "y"))
    values = {}
    for i, spec in enumerate([("x", "y"), ("y", None), (None, "x"), (("x", "y"), None), (None, None)]):
        a = array(dims=(8, 12))
        values[f"a{i}"] = jax.device_put(a, NamedSharding(mesh, PartitionSpec(*spec)))
    return saved("two", values) | saved("three", values, use_zarr3=True) | saved(
        "files", values, use_ocdbt=False)


def chunks():
    values = {"big": jnp.asarray(array("float32", (96, 100))), "zeros": jnp.zeros((64, 64)), "odd": jnp.asarray(array("int16", (33, 7, 5)))}
    want = {}
    for zarr3 in (False, True):
        path = os.path.abspath(f"item{zarr3:d}")
        handler = ocp.PyTreeCheckpointHandler(use_zarr3=zarr3)
        with ocp.Checkpointer(handler) as checkpointer:
            checkpointer.save(path, args=ocp.args.PyTreeSave(values, save_args=jax.tree.map(
                lambda _: ocp.SaveArgs(chunk_byte_size=1000), values), ocdbt_target_data_file_size=4000))
            want[f"item{zarr3:d}"] = leaves(checkpointer.restore(path))
    return want


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        for i in range(3):
            x = nn.Dense(5, name=f"dense_{i}")(nn.LayerNorm()(x))
        return x


def training_run():
    net = Net()
    params = net.init(jax.random.key(SEED & 0xFFFF), jnp.ones((2, 7)))["params"]
    state = train_state.TrainState.create(apply_fn=net.apply, params=params,
                                          tx=optax.chain(optax.clip(1.0), optax.adamw(1e-3)))
    want = {}
    with ocp.CheckpointManager(os.path.abspath("run"), options=ocp.CheckpointManagerOptions(
            step_prefix="ckpt", max_to_keep=2, best_fn=lambda m: m["loss"])) as manager:
        for step in (1, 20, 300):
            state = state.apply_gradients(grads=jax.tree.map(lambda p: p * 0.1, params))
            manager.save(step, args=ocp.args.Composite(
                state=ocp.args.StandardSave(state), params=ocp.args.PyTreeSave(state.params),
                about=ocp.args.JsonSave({"lr": 0.5})), metrics={"loss": float(step)})
        manager.wait_until_finished()
        for step in (20, 300):
            kept = manager.restore(step, args=ocp.args.Composite(
                state=ocp.args.StandardRestore(), params=ocp.args.PyTreeRestore()))
            want[f"run/ckpt_{step}/state"] = leaves(kept["state"])
            want[f"run/ckpt_{step}/params"] = leaves(kept["params"])
    return want


def check_run():
    rows = sql("SELECT step, item, run, run_path FROM checkpoint ORDER BY step, item")
    assert [(r["step"], r["item"]) for r in rows] == [(s, i) for s in (20, 300) for i in ("params", "state")], rows
    assert {(r["run"], r["run_path"]) for r in rows} == {("run", os.path.realpath("run"))}, rows
    loss = sql("SELECT value FROM metadata WHERE key = 'metrics:loss' ORDER BY checkpoint_id")
    assert sorted({r["value"] for r in loss}) == [20.0, 300.0], loss


def nnx_state():
    class Model(nnx.Module):
        def __init__(self, rngs):
            self.layers = nnx.List([nnx.Linear(3, 4, rngs=rngs) for _ in range(2)])
            self.drop = nnx.Dropout(0.5, rngs=rngs)

    state = nnx.state(Model(nnx.Rngs(0)))
    path = os.path.abspath("nnx/7")
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path, nnx.to_pure_dict(state))
        checkpointer.wait_until_finished()
        return {"nnx/7": leaves(checkpointer.restore(path))}


def one_array():
    path = os.path.abspath("array")
    value = jnp.asarray(array(dims=(5, 6)))
    with ocp.Checkpointer(ocp.ArrayCheckpointHandler()) as checkpointer:
        checkpointer.save(path, value)
        return {"array": {"checkpoint": answer(checkpointer.restore(path))}}


def version_1():
    """The newer interface; it writes the same except for the names of items."""
    values = {"a": jnp.asarray(array()), "b": {"c": array(), "text": "x"}}
    os.makedirs("v1")
    path = os.path.abspath("v1/5")
    v1.save(path, values)
    item = next(name for name in sorted(os.listdir(path)) if os.path.exists(f"{path}/{name}/_METADATA"))
    return {f"v1/5/{item}": leaves(v1.load(path))}


def databases():
    """Stores without Orbax: arrays written again and deleted, in trees of nodes of every size."""
    want = {}
    for i, config in enumerate([{}, {"max_decoded_node_bytes": 500, "max_inline_value_bytes": 60},
                                {"max_inline_value_bytes": 0, "compression": None},
                                {"manifest_kind": "numbered", "version_tree_arity_log2": 2}]):
        base = {"driver": "ocdbt", "base": f"file://{os.path.abspath(f'store{i}')}/", "config": config}
        want[f"store{i}"] = {}
        for _ in range(40):
            name, value = f"a{rng.integers(30)}/w", array(rng.choice(["float32", "int16", "bfloat16"]))
            kv = ts.KvStore.open(base).result()
            kv.delete_range(ts.KvStore.KeyRange(name + "/", name + "0")).result()
            driver = rng.choice(["zarr", "zarr3"])
            pieces = [int(rng.integers(1, n + 1)) for n in value.shape]
            grid = {"chunks": pieces} if driver == "zarr" else {
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": pieces}}}
            ts.open({"driver": driver, "kvstore": base | {"path": name + "/"}, "dtype": value.dtype.name,
                     "metadata": grid | {"shape": value.shape}}, create=True).result().write(value).result()
            want[f"store{i}"][name] = answer(value)
    return want


def pytrees():
    values = {"tree": tree(), "all": {d: jnp.asarray(array(d)) for d in DTYPES}, "none": None, "empty": {},
              "tuple": (jnp.asarray(array()), [jnp.asarray(array())])}
    pytree_serialization.save(values, os.path.abspath("step_3"))
    pytree_serialization.save(jnp.asarray(array()), os.path.abspath("leaf"))
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    return {"step_3": leaves(pytree_serialization.load(os.path.abspath("step_3"), jax.tree.map(
        lambda _: sharding, values))),
            "leaf": {"": answer(pytree_serialization.load(os.path.abspath("leaf"), sharding))}}


CASES = [databases, pytrees, version_1, every_layout, bare_arrays, many, devices, chunks, training_run, nnx_state, one_array]
CHECKS = {training_run: check_run}


def main():
    passed = failed = 0
    print(f"seed {SEED}")
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(folder + "/data")
            os.chdir(folder + "/data")
            os.environ["CKPTDB"] = folder + "/catalog.db"
            try:
                print(f"{case.__name__}: {compare(case())} tensors")
                CHECKS.get(case, lambda: None)()
                passed += 1
            except Exception as error:  # noqa: BLE001: any trouble is this case's
                failed += 1
                print(f"FAIL {case.__name__}: {type(error).__name__}: {str(error)[:1000]}")
            os.chdir("/")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
