"""T5X's flatten_state_dict, get_name_tree, merge_state and intersect_state beside the functions
of these names."""
from maps import catalog, trees, words
from originals import t5x


class Case:
    def __init__(self, rng, home):
        pool = [words.name(rng) for _ in range(rng.randint(1, 6))]
        for _ in range(rng.randint(0, 3)): # leaves inside leaves
            pool.append(rng.choice(pool) + "/" + words.name(rng, depth=2))
        some = lambda: rng.sample(pool, rng.randint(0, len(pool)))
        self.trees = (trees.tree(rng, trees.Leaves(rng),
                                 some()), trees.tree(rng, trees.Leaves(rng, 1000), some()))
        self.overwrite = rng.random() < 0.4
        self.ids = [home.checkpoint(tree) for tree in self.trees]

    def question(self, home):
        a, b = (home.ids[k] for k in self.ids)
        merged = f"merge_state({a}, {b}, {int(self.overwrite)})"
        parts = (catalog.rows_of("name", f"flatten({a})"),
                 catalog.rows_of("path, parent, component, name", f"name_tree({a})"),
                 catalog.rows_of("name, origin, status, error", merged),
                 catalog.rows_of("name, status, error", f"intersect_state({a}, {b})"))
        return f"SELECT json_array({', '.join(f'({part})' for part in parts)})"

    def wanted(self):
        a, b = (trees.state(tree) for tree in self.trees)
        names = list(t5x.flatten(a))
        answer = {"flat": names, "nodes": sorted(nodes(names))}
        try:
            answer["both"] = sorted(t5x.flatten(t5x.intersect_state(a, b)))
        except TypeError as error:
            answer["both"] = trees.said(error)
        try:
            # Names are told apart by whose value they have: nulls by where the name is from.
            merged = t5x.flatten(t5x.merge_state(a, b, self.overwrite))
            answer["merged"] = sorted([name, self.origin(name)] for name in merged)
            values = {**t5x.flatten(b), **t5x.flatten(a)}
            values.update(t5x.flatten(b) if self.overwrite else {})
            assert all(merged[name] is values[name] for name in merged)
        except TypeError as error:
            answer["merged"] = trees.said(error)
        return answer

    def origin(self, name):
        """A leaf of both is a's, unless b's is to replace it."""
        a, b = (t5x.flatten(trees.state(tree)) for tree in self.trees)
        return "b" if name not in a or (self.overwrite and name in b) else "a"

    def found(self, answer, _wanted):
        flat, tree, merged, both = answer
        fails = [error for _, _, error in both if error]
        errors = [error for _, _, _, error in merged if error]
        return {
            "flat": [name for name, in flat], "nodes": sorted(
                (path, parent, component, name) for path, parent, component, name in tree),
            "both": fails[0] if fails else sorted(name for name, status, _ in both
                                                  if status == "ok"),
            "merged": errors[0] if errors else sorted([name, origin]
                                                      for name, origin, status, _ in merged
                                                      if status == "ok")
        }


def nodes(names):
    """Every node of a tree of names. (In the catalog a key with a separator is two levels, so
    that this is not compared with get_name_tree's levels, but with its leaves.)"""
    paths = {"": None} if names else {}
    for name in names:
        parts = name.split("/")
        for k in range(1, len(parts)):
            paths.setdefault("/".join(parts[:k]), None)
        paths[name] = name
    return ((path, None if path == "" else path.rpartition("/")[0], path.rpartition("/")[2], name)
            for path, name in paths.items())
