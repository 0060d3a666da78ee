"""The state of T5X's Adafactor and MultiOptimizer, written anew from what they do: shapes and
dtypes by name. Factor words are members of FactorDim, since errors print them."""
import enum
import re

import numpy as np


class FactorDim(enum.Enum):
    NONE = None
    BATCH = 1
    ROW = 2
    COLUMN = 3


HEURISTIC = object()
WORDS = {
    "row": FactorDim.ROW, "col": FactorDim.COLUMN, "column": FactorDim.COLUMN,
    "batch": FactorDim.BATCH, "none": FactorDim.NONE, "unfactorized": FactorDim.NONE
}
STANDARD = {
    **dict.fromkeys([
        "vocab", "mlp", "heads", "kv", "joined_kv", "q_wi_fused", "o_wo_fused",
        "multiquery_heads", "kv_fused", "mlp_activations"
    ], "column"), "embed": "row", "relpos_buckets": "none", "layer_norm_scale": "none",
    "layers": "batch", "stack": "batch"
}


def in_order(params):
    """JAX's order: keys sorted, level by level."""
    return sorted(params, key=lambda name: name.split("/"))


class Adafactor:
    def __init__(self, factored=True, beta1=None, min_dim_size_to_factor=128,
                 dtype_momentum="float32", factor_map=None, logical_factor_rules=None, **_more):
        if not factored and factor_map is not None:
            raise ValueError(
                "Adafactor factored is False but factorization rules have been provided.")
        self.factored, self.beta1, self.least = factored, beta1, min_dim_size_to_factor
        self.momentum = "float32" if dtype_momentum == "float64" else dtype_momentum
        self.rules = factor_map
        self.logical = STANDARD if logical_factor_rules == "standard" else logical_factor_rules
        self.by_name = None

    def set_param_axes(self, axes):
        if self.logical is None:
            return
        self.by_name = {}
        for name in in_order(axes):
            words = tuple(WORDS[self.logical[axis].lower()] for axis in axes[name])
            row, column = FactorDim.ROW in words, FactorDim.COLUMN in words
            if row and column and FactorDim.NONE in words:
                shown = ", ".join(map(repr, axes[name])) + ("," if len(axes[name]) == 1 else "")
                raise ValueError(f"Incomplete adafactor spec {words} for P({shown})!")
            self.by_name[name] = words if row and column else tuple(
                FactorDim.NONE if word in (FactorDim.ROW, FactorDim.COLUMN) else word
                for word in words)

    def rule(self, name):
        if not self.factored:
            return None
        if self.by_name:
            return self.by_name[name]
        if self.rules is None or self.by_name is not None:
            return HEURISTIC
        for pattern, rule in self.rules:
            if re.search(pattern, name):
                if rule is None:
                    return None
                if isinstance(rule, str):
                    return HEURISTIC
                return tuple(WORDS[word.lower()] for word in rule)
        raise KeyError(f"No factor rule found for parameter: {name}")

    def dims(self, name, shape):
        """The row and the column dimensions, or None."""
        rule = self.rule(name)
        if rule is None:
            return None
        if rule is HEURISTIC and len(shape) > 2:
            raise ValueError("A parameter with rank strictly higher than 2 must have an explicit "
                             f"factorization rule: {name}, {shape}")
        if rule is not HEURISTIC:
            if len(rule) != len(shape):
                raise ValueError(f"Factorization rule {rule} has incorrect rank for param of rank "
                                 f"{len(shape)}: {name}, {shape}")
            if len(shape) > 2 or FactorDim.BATCH in rule:
                rows, columns = (tuple(k for k, word in enumerate(rule) if word == which)
                                 for which in (FactorDim.ROW, FactorDim.COLUMN))
                return (rows, columns) if rows or columns else None
        if len(shape) < 2:
            return None
        order = np.argsort(shape, kind="stable")
        return ((int(order[-2]), ), (int(order[-1]), )) if shape[order[-2]] >= self.least else None

    def state(self, name, shape):
        dims = self.dims(name, shape)
        slots = dict.fromkeys(["v_row", "v_col", "v", "m"], ((1, ), "float32"))
        if dims is None:
            slots["v"] = shape, "float32"
        else:
            for slot, gone in zip(("v_row", "v_col"), (dims[1], dims[0])):
                slots[slot] = tuple(size for k, size in enumerate(shape)
                                    if k not in gone), "float32"
        if self.beta1 is not None:
            slots["m"] = shape, self.momentum
        return {f"{name}/{slot}": what for slot, what in slots.items()}

    def init(self, params):
        state = {}
        for name in in_order(params):
            state.update(self.state(name, params[name]))
        return state


def multi(parts, params):
    """parts: (what selects '/' + name, optimizer)."""
    marks = {
        name: [k for k, (selects, _) in enumerate(parts) if selects("/" + name)]
        for name in in_order(params)
    }
    if any(len(mark) > 1 for mark in marks.values()):
        tree = {}
        for name, mark in marks.items():
            at = tree
            *parents, last = name.split("/")
            for parent in parents:
                at = at.setdefault(parent, {})
            at[last] = mark
        raise ValueError(f"Multiple optimizers match the same leaves : {tree}")
    state = {name: None for name in params if not marks[name]}
    for k, (_, optimizer) in enumerate(parts):
        state.update(optimizer.init({name: params[name] for name in params if marks[name] == [k]}))
    return state
