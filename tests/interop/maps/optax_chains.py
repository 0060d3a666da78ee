"""Random compositions of Optax's transformations beside `optimizer_state_rows`."""
import json

import optax_states
from maps import catalog, trees, words

LR = {"learning_rate": 0.1}
SCHEDULE = {"$schedule": "constant"}
OPTIMIZERS = (
    "sgd adam radam yogi adamax nadam amsgrad adabelief adamw nadamw adamaxw lamb lion adadelta "
    "adan novograd sign_sgd optimistic_gradient_descent adagrad rmsprop fromage lars adafactor"
).split()
TRANSFORMS = [("scale_by_adam", {}), ("trace", {"decay": 0.9}), ("ema", {"decay": 0.9}),
              ("clip", {"max_delta": 1.0}), ("scale_by_schedule", {"step_size_fn": SCHEDULE}),
              ("apply_every", {}), ("zero_nans", {}), ("identity", {}),
              ("add_decayed_weights", {"weight_decay": SCHEDULE}),
              ("add_decayed_weights", {"weight_decay": 0.1}),
              ("ema", {"decay": 0.9, "accumulator_dtype": "bfloat16"}), ("scale_by_lion", {}),
              ("scale_by_rms", {}), ("scale_by_rss", {}), ("scale_by_belief", {}),
              ("clip_by_global_norm", {"max_norm": 1.0}), ("scale", {"step_size": 0.1})]


def mask(rng):
    kind = rng.choice([{"contains": rng.choice(["a", "kernel", "w", "nothing"])},
                       {"startswith": "/a"}, {"endswith": "b"}])
    return {"not": kind} if rng.random() < 0.3 else kind


def optimizer(rng):
    name = rng.choice(OPTIMIZERS)
    given = {"learning_rate": SCHEDULE if rng.random() < 0.4 else 0.1}
    if name in ("adam", "adamw", "lion", "amsgrad", "nadam") and rng.random() < 0.3:
        given["mu_dtype"] = rng.choice(["bfloat16", "float32"])
    if name in ("adamw", "lion", "lamb", "adamaxw", "nadamw") and rng.random() < 0.4:
        given["weight_decay"] = SCHEDULE if rng.random() < 0.5 else 0.01
        if rng.random() < 0.5:
            given["mask"] = {"$mask": mask(rng)}
    if name == "sgd" and rng.random() < 0.6:
        given["momentum"] = rng.choice([0.9, 0.0])
        if rng.random() < 0.4:
            given["accumulator_dtype"] = rng.choice(["bfloat16", "float32"])
    if name == "rmsprop":
        given.update({
            key: value
            for key, value in (("centered", True), ("bias_correction", True), ("momentum", 0.9))
            if rng.random() < 0.4
        })
    if name == "adafactor":
        given.update({
            key: value
            for key, value in (("momentum", 0.9), ("factored", False),
                               ("min_dim_size_to_factor", 3), ("clipping_threshold", None),
                               ("multiply_by_parameter_scale", False), ("weight_decay_rate", 0.1))
            if rng.random() < 0.25
        })
    return name, given


def holds_tuples(tx, named=False, tuples=False):
    """Whether a named_chain is inside a tuple inside another: T5X cannot save that, and ckptdb says so."""
    if "named_chain" in tx:
        return tuples or any(holds_tuples(part, True, tuples) for _, part in tx["named_chain"])
    inside = tx.get("chain") or [part for _, part in tx.get("multi_transform", ())]
    inside = inside or [tx[key] for key in ("masked", "multi_steps", "apply_if_finite") if key in tx]
    return any(holds_tuples(part, named, tuples or named) for part in inside)


def leaf(rng):
    if rng.random() < 0.4:
        name, given = rng.choice(TRANSFORMS)
        return {"transform": name, "args": given}
    name, given = optimizer(rng)
    return {"opt": name, "args": given}


def spec(rng, depth):
    kind = rng.random()
    if depth == 0 or kind < 0.25:
        return leaf(rng)
    if kind < 0.5:
        return {"chain": [spec(rng, depth - 1) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 3]))]}
    if kind < 0.58:
        names = rng.sample(["clip", "main", "1", "a/b", "é"][:3], rng.randint(1, 3))
        return {"named_chain": [[name, spec(rng, depth - 1)] for name in names]}
    if kind < 0.7:
        return {"masked": spec(rng, depth - 1), "mask": mask(rng)}
    if kind < 0.8:
        labels = rng.choice([["a", "b"], [True, False], [0, 1]])
        return {
            "multi_transform": [[label, spec(rng, depth - 1)] for label in labels],
            "filter": mask(rng)
        }
    if kind < 0.88:
        name, given = optimizer(rng)
        # A schedule cannot be injected into fromage. A mask is a function, which Optax would call
        # as a schedule. Adafactor's momentum becomes an array, which this version cannot hash.
        given = LR if name == "fromage" else {
            key: value
            for key, value in given.items()
            if key not in ("mask", "momentum" * (name == "adafactor"))
        }
        return {"inject_hyperparams": name, "args": given}
    return {rng.choice(["multi_steps", "apply_if_finite"]): spec(rng, depth - 1)}


class Case:
    def __init__(self, rng, home):
        half = rng.random() < 0.2
        self.params = {}
        for name in dict.fromkeys(words.name(rng, 0, 2) for _ in range(rng.randint(1, 4))):
            at = self.params
            *parents, last = name.split("/")
            for parent in parents:
                at = at.setdefault(parent, {}) if isinstance(at, dict) else at
            if isinstance(at, dict) and last not in at:
                shape = tuple(rng.choice([1, 2, 3, 4]) for _ in range(rng.randint(0, 3)))
                at[last] = shape, "bfloat16" if half or rng.random() < 0.2 else "float32"
        self.spec = spec(rng, 3)
        self.id = home.checkpoint({
            name: trees.LazyArray(0, dtype, list(shape))
            for name, (shape, dtype) in leaves(self.params)
        })

    def question(self, home):
        text = catalog.quote(json.dumps({"optax": self.spec}))
        return catalog.rows_of(
            "ifnull(name, error), shape, dtype",
            f"optimizer_state_rows({text}, {home.ids[self.id]}) "
            "WHERE name IS NOT 'state/step'")

    def wanted(self):
        try:
            return sorted(map(list, optax_states.original(self.spec, self.params)))
        except (ValueError, TypeError, KeyError) as error:
            return trees.said(error)

    def found(self, rows, wanted):
        if holds_tuples(self.spec):
            rows = [row for row in rows if not row[0].endswith("which it cannot save")]
        return rows[0][0] if isinstance(wanted, str) and rows else sorted(rows)


def leaves(params, prefix=""):
    for key, value in params.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{key}/")
        else:
            yield prefix + key, value
