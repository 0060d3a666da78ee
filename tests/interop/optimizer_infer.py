#!/usr/bin/env python3
"""`optimizer infer` on what Optax's optimizers keep, as Orbax and Flax save it.

    optimizer_infer.py CKPTDB

Each is saved beside its parameters and alone, by Orbax's StandardCheckpointer and by Flax's to_bytes(); what fits at the
place of the inner optimizer must hold its name. The last line is "N passed, N failed".
"""
import json
import os
import subprocess
import sys
import tempfile

import flax.serialization
import jax
import jax.numpy as jnp
import optax
import orbax.checkpoint as ocp

CKPTDB = os.path.abspath(sys.argv[1])
PARAMS = {"a": {"kernel": jnp.ones((3, 4)), "bias": jnp.zeros(4)}, "b": {"kernel": jnp.ones((4, 2))}}
adamw = optax.adamw(1e-3)


def matrices(tree):
    return jax.tree.map(lambda x: x.ndim > 1, tree)


LABELS = jax.tree.map(lambda x: "k" if x.ndim > 1 else "b", PARAMS)
# What fits, and below which folder of the state; None: nothing can be told.
STATES = {
    "adamw": (adamw, "optax.adamw", ""),
    "sgd": (optax.sgd(0.1), None, None),
    "momentum": (optax.sgd(0.1, momentum=0.9), "optax.sgd with momentum", ""),
    "clipped": (optax.chain(optax.clip_by_global_norm(1.0), adamw), "optax.adamw", "1"),
    "scheduled": (optax.chain(optax.clip(1.0), optax.adamw(optax.cosine_decay_schedule(1e-3, 100))),
                  "optax.adamw with a schedule", "1"),
    "decay_masked": (optax.chain(optax.masked(optax.add_decayed_weights(1e-2), matrices), optax.adam(1e-3)), "optax.adam", "1"),
    "masked": (optax.masked(adamw, matrices), "optax.adamw", "inner_state"),
    "labelled": (optax.multi_transform({"k": adamw, "b": optax.set_to_zero()}, LABELS), "optax.adamw", "inner_states/k/inner_state"),
    "several_steps": (optax.MultiSteps(adamw, 4), "optax.adamw", "inner_opt_state"),
    "injected": (optax.inject_hyperparams(optax.adamw)(learning_rate=1e-3), "optax.adamw", "inner_state"),
    "finite": (optax.apply_if_finite(adamw, 3), "optax.adamw", "inner_state"),
    "lion": (optax.lion(1e-3), "optax.lion", ""),
    "rmsprop": (optax.rmsprop(0.1), "optax.rmsprop", ""),
    "adafactor": (optax.adafactor(1e-3), "optax.adafactor", ""),
    "named": (optax.named_chain(("clip", optax.clip(1.0)), ("opt", adamw)), "optax.adamw", "opt"),
}
# Factored moments do not tell the shapes of parameters; names of links do not tell a state.
NOT_ALONE = ("adafactor", "named")


def run(*args):
    return subprocess.run([CKPTDB, "-d", "c.db", *args], capture_output=True, text=True, timeout=100)


def check(path, wanted, place):
    run("import", path)
    done = run("--json", "optimizer", "infer", path)
    if wanted is None:
        assert done.returncode == 1 and not done.stdout, done.stdout
        return
    assert done.returncode == 0, done.stderr
    fits = [(r["optimizer"], r["place"]) for r in json.loads(done.stdout) if r["fits"]]
    assert (wanted, place or ".") in fits, f"{wanted} at {place} is not among {fits}"


def save(checkpointer, name, tree):
    path = os.path.abspath(name)
    if name.endswith(".msgpack"):
        with open(path, "wb") as out:
            out.write(flax.serialization.to_bytes(tree))
    else:
        checkpointer.save(path, tree)
        checkpointer.wait_until_finished()
    return path


def main():
    passed = failed = 0
    checkpointer = ocp.StandardCheckpointer()
    for name, (transformation, wanted, place) in STATES.items():
        state = transformation.init(PARAMS)
        whole = {"params": PARAMS, "opt_state": state}
        trees = [(name, whole, "opt_state" + ("/" + place if place else ""))]
        trees += [(name + ".msgpack", whole, trees[0][2])] if name != "named" else []  # which Flax refuses
        trees += [(name + "_alone", state, place)] if name not in NOT_ALONE else []
        for file, tree, at in trees:
            try:
                check(save(checkpointer, file, tree), wanted, at)
                passed += 1
            except (AssertionError, ValueError, subprocess.TimeoutExpired) as why:
                failed += 1
                print(f"{file}: {why}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        status = main()
        os.chdir("/")
    sys.exit(status)
