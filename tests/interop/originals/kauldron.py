"""Kauldron's PartialKauldronLoader and the paths of its kontext, written anew from what they do.

Kauldron's own part of a restore: subtrees are looked up, reconciled and written back. What Orbax
does in between (reading the arrays) has nothing to do with names. What turns the written back
state into the model's own structure is Orbax's, from the package.
"""
import ast
import copy
import re

import jax
import orbax.checkpoint as ocp

STAR, STARS = object(), object()
LITERAL = re.compile(
    r"""[uUrR]?'(?:[^'\\\n]|\\.)*'|[uUrR]?"(?:[^"\\\n]|\\.)*"|"""
    r"""[-+]?0[xX][0-9a-fA-F]+|[-+]?0[oO][0-7]+|[-+]?0[bB][01]+|[-+]?\d+|True|False|None""")
NAME = re.compile(r"\*+|[-+]?\d+|[^\W\d]\w*")
SLICE = re.compile(r"([-+]?\d+)?[ \t]*:[ \t]*([-+]?\d+)?[ \t]*(?::[ \t]*([-+]?\d+)?)?[ \t]*(?=\])")
SPACE = re.compile(r"[ \t]*")


def parse(text):
    """A path's parts."""
    parts, at = [], SPACE.match(text).end()

    def take(pattern):
        nonlocal at
        match = pattern.match(text, at)
        if not match:
            raise ValueError(f"Could not parse path: {text!r}: ")
        at = SPACE.match(text, match.end()).end()
        return match.group()

    while at < len(text):
        if text[at] == "[":
            take(re.compile(r"\["))
            if SLICE.match(text, at):
                bounds = SLICE.match(take(SLICE) + "]").groups()
                parts.append(slice(*(bound and int(bound) for bound in bounds)))
                take(re.compile(r"\]"))
                continue
            parts.append(ast.literal_eval(take(LITERAL)))
            take(re.compile(r"\]"))
            continue
        if parts:
            take(re.compile(r"\."))
        name = take(NAME)
        stars = {"*": STAR, "**": STARS}
        if name.strip("*") == "" and name not in stars or name[-1].isdigit() and (
                text[at:at + 1].isidentifier() and not text[at - 1].isspace()):
            raise ValueError(f"Could not parse path: {text!r}: ")
        parts.append(stars[name] if name in
                     stars else int(name) if name.lstrip("+-").isdecimal() else name)
    return parts


def printed(parts):
    text = "".join("." + part if isinstance(part, str) and part.isidentifier() else
                   f"[{part.start}:{part.stop}]" if isinstance(part, slice) else f"[{part!r}]"
                   for part in parts)
    return text.removeprefix(".")


def get(tree, path):
    parts = parse(path)
    if STAR in parts or STARS in parts:
        raise ValueError(f"Invalid part(s) {parts}")
    at = tree
    for part in parts:
        try:
            at = at[part]
        except (TypeError, IndexError, KeyError):
            raise KeyError(f"Could not find path '{printed(parts)}' in the {type(tree).__name__} "
                           f"object. The {type(at).__name__} has no attributes/key: "
                           f"{part!r}.") from None
    return at


def put(tree, parts, value):
    head = f"Error trying to mutate path {printed(parts)}: "
    if not parts:
        raise ValueError(head + "Path is empty")
    at = tree
    for part in parts[:-1]:
        where = f"{head}Error accessing {part!r} in {type(at)}: "
        if not isinstance(at, (dict, list)):
            raise RuntimeError(where)
        try:
            at = at[part]
        except (TypeError, IndexError, KeyError) as error:
            raise type(error)(f"{where}{error}") from None
    part = parts[-1]
    if isinstance(at, dict):
        at[part] = value
    elif not isinstance(at, list):
        raise ValueError(f"{head}Cannot mutate leaf {type(at)}. Tried to overwrite key {part!r}. "
                         "Only dict, list can be recursed into.")
    elif not isinstance(part, int):
        raise TypeError(f"{head}Expected list index, got {part!r}.")
    elif abs(part) >= len(at):
        raise KeyError(f"{head}Key {part} out of range (length {len(at)})")
    else:
        at[part] = value


def selects(pattern, key):
    """Whether a pattern of ignore_* selects a key: whether it covers a leading part. The
    original raises of most patterns that do not; here they do not match."""
    def covers(parts, components):
        if not parts:
            return True
        part, rest = parts[0], parts[1:]
        if part is STARS:
            if rest and rest[0] in (STAR, STARS):
                return False
            return any(covers(rest, components[k:]) for k in range(len(components) + 1))
        return bool(components) and (part is STAR or part == components[0]) and covers(
            rest, components[1:])

    return covers(parse(pattern), key.split(".")) # of a leaf that is itself mapped: one empty component


def leaves(tree):
    """The leaves by their printed paths, in JAX's order."""
    found = {}
    for path, value in jax.tree_util.tree_flatten_with_path(tree)[0]:
        parts = [
            step.idx if isinstance(step, jax.tree_util.SequenceKey) else step.key for step in path
        ]
        found[printed(parts)] = parts, value
    return found


def has(tree, parts):
    """Whether there is any node: a leaf of the checkpoint may replace a subtree of the model."""
    try:
        for part in parts:
            tree = tree[part]
    except (TypeError, IndexError, KeyError):
        return False
    return True


def reconcile(model, restored, ignore_restored, ignore_model):
    wanted, given = leaves(model), leaves(restored)
    result = copy.deepcopy(model)
    for key, (parts, value) in given.items():
        if any(selects(pattern, key) for pattern in ignore_restored):
            continue
        if not has(model, parts):
            raise ValueError(f"Unexpected key in restored checkpoint: {key}. If you don't want to "
                             "load this key, please use a matching pattern in the "
                             "`ignore_restored_keys` argument.")
        put(result, parts, value)
    for key in wanted:
        if key not in given and not any(selects(pattern, key) for pattern in ignore_model):
            raise ValueError(
                f"Missing key in restored checkpoint: {key}. If you don't want to load "
                "this key, please use a matching pattern in the `ignore_model_keys` "
                "argument.")
    return result


def load(model, checkpoint, new_to_old, ignore_restored=(), ignore_model=()):
    """Both phases: the optimizer's state is made in between, and comes last."""
    late = {
        new: old
        for new, old in new_to_old.items() if new == "opt_state" or new.startswith("opt_state.")
    }
    for entries in ({new: old for new, old in new_to_old.items() if new not in late}, late):
        targets = {new: get(model, new) for new in entries}
        found = {}
        for new, old in entries.items():
            found[new] = get(checkpoint, old)
            if ignore_restored or ignore_model:
                found[new] = reconcile(targets[new], found[new], ignore_restored, ignore_model)
        state = ocp.utils.serialize_tree(model, keep_empty_nodes=True)
        for new, subtree in found.items():
            put(state, parse(new), copy.deepcopy(subtree))
        model = ocp.utils.deserialize_tree(state, target=model, keep_empty_nodes=True)
    return model
