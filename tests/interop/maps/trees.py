"""Random trees of states, and their form in the catalog."""
import json

from flax import serialization

from maps import words

DTYPES = ["float32", "bfloat16", "int32", "uint8"]


class LazyArray:
    """A leaf with dimensions. Errors tell a leaf's class: this is what the catalog calls it."""
    def __init__(self, number, dtype, shape):
        self.number, self.dtype, self.shape = number, dtype, shape

    def __repr__(self):
        return f"LazyArray({self.number})"


class Leaves:
    """Makes leaves that all differ: plain integers, arrays, nulls."""
    def __init__(self, rng, first=1):
        self.rng, self.next = rng, first

    def leaf(self, nulls=0.06):
        rng = self.rng
        self.next += 1
        if rng.random() < nulls:
            return None
        if rng.random() < 0.5:
            return self.next
        shape = [rng.choice([0, 1, 2, 3, 16]) for _ in range(rng.randint(1, 3))]
        return LazyArray(self.next, rng.choice(DTYPES), shape)


def grow(rng, leaves, names, odd=0.05, lists=0.1):
    """A tree with about these leaves; its names once more in other trees make maps that fit."""
    tree = {}
    for name in names:
        at, parts = tree, name.split("/")
        if len(parts) > 1 and rng.random() < 0.04: # a key with a separator
            parts = ["/".join(parts[:2])] + parts[2:]
        for part in parts[:-1]:
            at = at.setdefault(part, {})
            if not isinstance(at, dict):
                break
        else:
            if rng.random() < 0.04:
                at[parts[-1]] = rng.choice([{}, [], {"e": {}}])
            elif rng.random() < lists / 4:
                at[parts[-1]] = [leaves.leaf() for _ in range(rng.randint(1, 3))]
            else:
                at[parts[-1]] = leaves.leaf()
        if rng.random() < odd:
            tree[words.component(rng, 0.5)] = leaves.leaf()
    return tree


def flat(tree, prefix=""):
    """Every leaf and every empty container, by the catalog's name."""
    if isinstance(tree, (dict, list)) and tree:
        children = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, value in children:
            yield from flat(value, f"{prefix}{key}/")
    else:
        yield prefix[:-1], tree


def catalogued(tree):
    """Whether the catalog can hold the tree: a name stands in it once."""
    names = [name for name, _ in flat(tree)]
    return isinstance(tree, dict) and len(names) == len(set(names))


def tree(rng, leaves, names, **more):
    while True:
        made = grow(rng, leaves, names, **more)
        if catalogued(made):
            return made


def skeleton(made):
    """The tree as a names-only checkpoint has it."""
    if isinstance(made, dict):
        return {key: skeleton(value) for key, value in made.items()}
    if isinstance(made, list):
        return [skeleton(value) for value in made]
    if made is None:
        return None
    if isinstance(made, LazyArray):
        return f"{made.dtype}{json.dumps(made.shape, separators=(',', ':'))}"
    return "?" if made % 3 == 0 else "int32[]"


def state(made):
    """The tree as a T5X state is one: lists are dicts of their positions."""
    return serialization.to_state_dict(made)


def said(error):
    """An exception as a row tells it."""
    return f"{type(error).__name__}: {error}"
