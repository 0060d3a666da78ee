"""The state of Optax's optimizers, as the view optimizer_state has it, and as optax.init makes it.

optax_states.py CKPTDB. Each case is a spec. Optax is built from it, its state of the parameters is
flattened by the rules of T5X's OptaxWrapper (flax.serialization, and without what is empty),
and names, shapes and dtypes are compared.
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

PARAMS = {
    "enc": {"kernel": ((256, 128), "float32"), "bias": ((128,), "float32")},
    "dec": {"kernel": ((4, 3, 2), "bfloat16"), "scale": ((), "float32")},
}
LR = {"learning_rate": 0.1}
SCHEDULE = {"learning_rate": {"$schedule": "constant"}}
KERNEL = {"contains": "kernel"}


def passes(test, name):
    (how, what), = test.items()
    if how == "not":
        return not passes(what, name)
    path = "/" + name
    return {"contains": lambda: what in path, "startswith": lambda: path.startswith(what),
            "endswith": lambda: path.endswith(what)}[how]()


def tree_of(function):
    def of(tree):
        def visit(path, _leaf):
            return function("/".join(key.key for key in path))
        return jax.tree_util.tree_map_with_path(
            visit, tree, is_leaf=lambda x: isinstance(x, optax.MaskedNode))
    return of


def argument(value):
    if isinstance(value, dict) and "$schedule" in value:
        return optax.constant_schedule(0.5)
    if isinstance(value, dict) and "$mask" in value:
        return tree_of(lambda name: passes(value["$mask"], name))
    return value


def build(spec):
    arguments = {key: argument(value) for key, value in spec.get("args", {}).items()}
    if "opt" in spec or "transform" in spec:
        return getattr(optax, spec.get("opt", spec.get("transform")))(**arguments)
    if "chain" in spec:
        return optax.chain(*map(build, spec["chain"]))
    if "named_chain" in spec:
        return optax.named_chain(*((name, build(tx)) for name, tx in spec["named_chain"]))
    if "masked" in spec:
        return optax.masked(build(spec["masked"]), tree_of(lambda name: passes(spec["mask"], name)))
    if "multi_transform" in spec:
        labels = [label for label, _ in spec["multi_transform"]]
        return optax.multi_transform(
            {label: build(tx) for label, tx in spec["multi_transform"]},
            tree_of(lambda name: labels[0 if passes(spec["filter"], name) else 1]))
    if "inject_hyperparams" in spec:
        return optax.inject_hyperparams(getattr(optax, spec["inject_hyperparams"]))(**arguments)
    if "multi_steps" in spec:
        return optax.MultiSteps(build(spec["multi_steps"]), 2)
    return optax.apply_if_finite(build(spec["apply_if_finite"]), 2)


def rows(state, path):
    if isinstance(state, dict):
        for key, value in state.items():
            yield from rows(value, path + "/" + key)
    else:
        array = state if hasattr(state, "dtype") else jnp.asarray(state)
        yield path, list(array.shape), str(array.dtype)


def original(spec, params):
    arrays = jax.tree_util.tree_map(
        lambda leaf: jnp.zeros(*leaf), params, is_leaf=lambda x: isinstance(x, tuple))
    state = flax.serialization.to_state_dict(build(spec).init(arrays))
    return set((n, json.dumps(s, separators=(",", ":")), d)
               for n, s, d in rows(plain(state), "state/param_states"))


def plain(state):
    """OrderedDict, which flax takes for a leaf, is a dict of states."""
    if hasattr(state, "items"):
        return {str(key): plain(flax.serialization.to_state_dict(value))
                for key, value in state.items()}
    return state


def cases():
    for name in ("sgd adam radam yogi adamax nadam amsgrad adabelief adamw nadamw adamaxw lamb lion "
                 "adadelta adan novograd sign_sgd optimistic_gradient_descent adagrad rmsprop "
                 "fromage lars adafactor signum optimistic_adam_v2").split():
        yield name, {"opt": name, "args": LR}
        yield name + " schedule", {"opt": name, "args": SCHEDULE}
        yield name + " injected", {"inject_hyperparams": name, "args": LR}
        if name not in ("fromage", "optimistic_adam_v2"):
            yield name + " injected schedule", {"inject_hyperparams": name, "args": SCHEDULE}
    yield "rprop", {"opt": "rprop", "args": LR}
    yield "sm3", {"opt": "sm3", "args": LR}
    yield "polyak_sgd", {"opt": "polyak_sgd", "args": {"scaling": {"$schedule": 1}}}
    yield "noisy_sgd", {"opt": "noisy_sgd", "args": {**SCHEDULE, "seed": 0}}
    for momentum in (0.9, 0.0):
        yield f"sgd {momentum}", {"opt": "sgd", "args": {**SCHEDULE, "momentum": momentum}}
    yield "sgd dtype", {"opt": "sgd",
                        "args": {**LR, "momentum": 0.9, "accumulator_dtype": "bfloat16"}}
    for name in ("adam", "adamw", "lion", "amsgrad", "nadam"):
        yield name + " mu_dtype", {"opt": name, "args": {**LR, "mu_dtype": "bfloat16"}}
    decay = {"weight_decay": {"$schedule": 1}}
    for name in ("adamw", "lion", "lamb", "adan", "adamaxw", "nadamw"):
        yield name + " decay", {"opt": name, "args": {**SCHEDULE, **decay}}
        yield name + " masked decay", {"opt": name, "args": {**LR, **decay, "mask": {"$mask": KERNEL}}}
    for name in ("adadelta", "lars"):
        yield name + " decay", {"opt": name, "args": {**LR, **decay}}
        yield name + " masked decay", {
            "opt": name, "args": {**LR, **decay, "weight_decay_mask": {"$mask": KERNEL}}}
    for more in ({"centered": True}, {"bias_correction": True}, {"momentum": 0.9},
                 {"centered": True, "bias_correction": True, "momentum": 0.5}):
        yield f"rmsprop {more}", {"opt": "rmsprop", "args": {**SCHEDULE, **more}}
        yield f"rmsprop injected {more}", {"inject_hyperparams": "rmsprop", "args": {**LR, **more}}
    for more in ({}, {"learning_rate": 0.1}, SCHEDULE, {**SCHEDULE, "clipping_threshold": None},
                 {"momentum": 0.9}, {"momentum": 0.9, "dtype_momentum": "bfloat16", **LR},
                 {"factored": False}, {"min_dim_size_to_factor": 3},
                 {"weight_decay_rate": {"$schedule": 1}, "multiply_by_parameter_scale": False}):
        yield f"adafactor {more}", {"opt": "adafactor", "args": more}
    for name, more in (("scale_by_adam", {}), ("trace", {"decay": 0.9}), ("ema", {"decay": 0.9}),
                       ("scale_by_schedule", {"step_size_fn": {"$schedule": 1}}), ("apply_every", {}),
                       ("zero_nans", {}), ("identity", {}), ("clip", {"max_delta": 1.0}),
                       ("ema", {"decay": 0.9, "accumulator_dtype": "float32"}),
                       ("add_decayed_weights", {"weight_decay": {"$schedule": 1}})):
        yield f"{name} {more}", {"transform": name, "args": more}
    adam, momentum = {"opt": "adam", "args": LR}, {"opt": "sgd", "args": {**LR, "momentum": 0.9}}
    clip = {"transform": "clip", "args": {"max_delta": 1.0}}
    yield "chain", {"chain": [clip, adam, {"chain": [momentum, clip]}]}
    yield "named_chain", {"named_chain": [["clip", clip], ["main", adam]]}
    yield "masked", {"masked": adam, "mask": KERNEL}
    yield "masked not", {"masked": adam, "mask": {"not": KERNEL}}
    yield "masked nothing", {"masked": adam, "mask": {"contains": "nothing"}}
    yield "masked twice", {"masked": {"masked": adam, "mask": {"startswith": "/enc"}}, "mask": KERNEL}
    for first, second in ((True, False), ("a", "b"), (0, 1)):
        yield f"multi_transform {first}", {
            "multi_transform": [[first, adam], [second, momentum]], "filter": {"startswith": "/enc"}}
    yield "multi_transform empty", {
        "multi_transform": [["a", adam], ["b", momentum]], "filter": {"contains": "e"}}
    yield "multi_steps", {"multi_steps": adam}
    yield "apply_if_finite", {"apply_if_finite": {"chain": [clip, momentum]}}
    yield "all", {"multi_steps": {"apply_if_finite": {"masked": {
        "inject_hyperparams": "adamw", "args": SCHEDULE}, "mask": KERNEL}}}


def main():
    program = os.path.abspath(sys.argv[1])
    half = {"a": ((3,), "bfloat16"), "b": {"c": ((2, 2), "bfloat16")}}
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        def ask(*words):
            done = subprocess.run([program, "-d", folder + "/c.db", *words], cwd=folder,
                                  capture_output=True, text=True, check=False)
            return done.stdout if done.returncode == 0 else done.stderr
        for k, params in enumerate((PARAMS, half)):
            leaves = jax.tree_util.tree_flatten_with_path(
                params, is_leaf=lambda x: isinstance(x, tuple))[0]
            with open(f"{folder}/{k}.json", "w", encoding="utf-8") as f:
                json.dump({"ckptdb": "names", "tensors": {
                    "/".join(key.key for key in path): {"dtype": leaf[1], "shape": leaf[0]}
                    for path, leaf in leaves}}, f)
            ask("import", f"{k}.json")
            for name, spec in cases():
                wanted = original(spec, params)
                answer = ask("--json", "-c", f"""
                    SELECT ifnull(name, error) AS name, shape, dtype FROM optimizer_state_rows(
                      '{json.dumps({'optax': spec})}',
                      (SELECT id FROM checkpoint WHERE path LIKE '%/{k}.json'))
                    WHERE name IS NOT 'state/step'""")
                found = (set(tuple(row.values()) for row in json.loads(answer))
                         if answer.startswith("[") else {(answer,)})
                if wanted == found:
                    passed += 1
                    continue
                failed += 1
                print(f"{name} ({k}): missing {sorted(wanted - found)[:4]}, "
                      f"unexpected {sorted(found - wanted, key=str)[:4]}")
    print(f"{passed} passed, {failed} failed")


if __name__ == "__main__":
    main()
