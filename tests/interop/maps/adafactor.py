"""T5X's Adafactor and MultiOptimizer beside `optimizer_state_rows`."""
import json
import re

from maps import catalog, trees, words
from originals import adafactor

AXES = list(adafactor.STANDARD)
PATTERNS = [
    "kernel", ".*", "^a", "b$", "w", "layers_\\d+", "a/b", "^$", "kernel|w", "(?i)KERNEL",
    "nothing", "/"
]


def words_for(rng, shape):
    rank = len(shape) if rng.random() < 0.93 else rng.randint(0, 4)
    # A text of no word is refused, by the original when it comes to it, by us at once.
    return [
        rng.choice(
            ["ROW", "COLUMN", "ROW", "COLUMN", "BATCH", "NONE", "col", "Row", "unfactorized"])
        for _ in range(rank)
    ]


def arguments(rng, params):
    shapes = [shape or () for shape in params.values()] or [()]
    given = {}
    if rng.random() < 0.5:
        given["min_dim_size_to_factor"] = rng.choice([0, 1, 2, 3, 8, 16])
    if rng.random() < 0.4:
        given["beta1"] = rng.choice([0.9, 0.0, None])
    if rng.random() < 0.3:
        given["dtype_momentum"] = rng.choice(["bfloat16", "float32", "float64", "float16"])
    if rng.random() < 0.1:
        given["factored"] = rng.random() < 0.3
    if rng.random() < 0.6:
        given["factor_map"] = [[
            rng.choice(PATTERNS + [re.escape(name) for name in params][:3]),
            rng.choice([
                None, "heuristic", "HEURISTIC",
                *[words_for(rng, rng.choice(shapes)) for _ in range(4)]
            ])
        ] for _ in range(rng.randint(0, 4))]
        if rng.random() < 0.6:
            given["factor_map"].append([".*", rng.choice([None, "heuristic"])])
    if rng.random() < 0.2:
        given["clipping_threshold"] = None
    return given


def passes(test, path):
    (how, what), = test.items()
    if how == "not":
        return not passes(what, path)
    if how == "search":
        return re.search(what, path) is not None
    return {
        "contains": what in path, "startswith": path.startswith(what),
        "endswith": path.endswith(what)
    }[how]


def filter_of(rng, names):
    if rng.random() < 0.15:
        return {"not": filter_of(rng, names)}
    return rng.choice([{"contains": "kernel"}, {"contains": rng.choice("abw")},
                       {"startswith": "/a"}, {"startswith": "a"}, {"endswith": "b"},
                       {"search": rng.choice(PATTERNS)}, {"contains": "nothing"}, {"endswith": ""},
                       {"startswith": "/" + rng.choice(names or ["a"])}])


class Case:
    def __init__(self, rng, home):
        self.params = {}
        names = list(dict.fromkeys(words.name(rng, 0.03) for _ in range(rng.randint(0, 6))))
        # A tree has no leaf inside a leaf, and JAX orders names as a tree does.
        names = [name for name in names if not any(other.startswith(name + "/") for other in names)]
        for name in names:
            self.params[name] = tuple(
                rng.choice([1, 2, 3, 4, 8, 16])
                for _ in range(rng.choice([0, 1, 2, 2, 2, 3, 3, 4])))
        prefix = "target/" if rng.random() < 0.3 and names else ""
        tree = {
            prefix + name: trees.LazyArray(0, "float32", list(shape))
            for name, shape in self.params.items()
        }
        if prefix:
            tree["state/x"] = trees.LazyArray(0, "float32", [3])
        if rng.random() < 0.3:
            self.spec = {
                "multi": [{
                    "filter": filter_of(rng, names),
                    "optimizer": {"adafactor": arguments(rng, self.params)}
                } for _ in range(rng.randint(1, 3))]
            }
        else:
            self.spec = {"adafactor": arguments(rng, self.params)}
            if rng.random() < 0.4:
                self.axes(rng)
        self.id = home.checkpoint(tree)

    def axes(self, rng):
        given = self.spec["adafactor"]
        if rng.random() < 0.85:
            given["logical_factor_rules"] = rng.choice([
                "standard", "standard",
                {axis: rng.choice(["ROW", "Column", "batch", "none"])
                 for axis in AXES[:6]}
            ])
        # With no axes at all it cannot be told whether they were set.
        axes = {
            name: [
                rng.choice(AXES[:7] +
                           ["embed", "embed", "layers"] if rng.random() < 0.97 else ["foo"])
                for _ in shape
            ]
            for name, shape in self.params.items() if rng.random() < 0.97
        }
        if axes:
            self.spec["axes"] = axes

    def question(self, home):
        return catalog.rows_of(
            "name, json(shape), dtype, error",
            f"optimizer_state_rows({catalog.quote(json.dumps(self.spec))}, {home.ids[self.id]})")

    def wanted(self):
        try:
            if "multi" in self.spec:
                state = adafactor.multi([(lambda path, test=part["filter"]: passes(test, path),
                                          adafactor.Adafactor(**part["optimizer"]["adafactor"]))
                                         for part in self.spec["multi"]], self.params)
            else:
                optimizer = adafactor.Adafactor(**self.spec["adafactor"])
                if "axes" in self.spec:
                    optimizer.set_param_axes(self.spec["axes"])
                state = optimizer.init(self.params)
        except (ValueError, KeyError) as error:
            return trees.said(error)
        rows = [["state/step", [], "int32"]]
        rows += [[
            "state/param_states/" + name,
            list(what[0]) if what else None, what[1] if what else None
        ] for name, what in state.items()]
        return sorted(rows)

    def found(self, rows, _wanted):
        errors = [row[3] for row in rows if row[3]]
        return errors[0] if errors else sorted(row[:3] for row in rows)
