#!/usr/bin/env python3
"""Names of a T5X model, names of another to be filled from it, and the loop that assigns them.

    assign.py names FOLDER [COUNT]            COUNT (1,000,000) names of a checkpoint and of a model
    assign.py run FOLDER [CHECKPOINTS]        CHECKPOINTS (645) of the same 1,551 names, one model
    assign.py reference MODEL SOURCE.txt...   assign all; prints count and summed lengths

The files are names-only checkpoints (model.json, step_N.json), with a list of the names as plain
lines beside each, so that the reference need not read JSON, and the map (map.json). The model is
the checkpoint's upcycled: the dense layers of odd blocks are experts with a router, as in
T5X's sparse_upcycle.gin, and the decoder's self-attention starts from the encoder's. The loop is
T5X's apply_assignment_map. What to compare it with, over a catalog of the same files:

    SELECT count(*), sum(length(new_name)), sum(length(old_name)) FROM assignment
    WHERE ruleset = 'upcycle' AND source_id = ... AND target_id = ... AND status IN ('mapped', 'kept')
"""

import itertools
import json
import os
import re
import sys

import translate

RULES = [
    (r"(.*)mlp\/expert(.*)", r"\1mlp\2"),
    (r".*\/router\/.*", None),
    (r"(.*)/decoder/(.*)self_attention/(.*)", r"\1/encoder/\2attention/\3"),
    (r"state\/step", None),
]

# --- names ---------------------------------------------------------------------------------


def source_names(count):
    return translate.translate(dict.fromkeys(itertools.islice(translate.t5_names(), count)))


def model_names(names):
    """As many names as in `names`, where routers replace the last ones."""
    out = {}
    for name in names:
        odd = re.search(r"layers_\d*[13579]/mlp/", name)
        out[name.replace("/mlp/", "/mlp/expert/") if odd else name] = None
        if odd and name.endswith("wo/kernel"):
            out[name.replace("wo/kernel", "router/w")] = None
    return dict.fromkeys(itertools.islice(out, len(names)))


def write(path, names):
    leaf = {"dtype": "float32", "shape": [8]}
    with open(path + ".json", "w") as out:
        tensors = dict.fromkeys(names, leaf)
        json.dump({"ckptdb": "names", "tensors": tensors}, out, separators=(",", ":"))
    with open(path + ".txt", "w") as out:
        out.writelines(name + "\n" for name in names)


def write_all(folder, count, checkpoints):
    names = source_names(count)
    os.makedirs(folder, exist_ok=True)
    for step in range(checkpoints):
        write(os.path.join(folder, f"step_{step}"), names)
    write(os.path.join(folder, "model"), model_names(names))
    with open(os.path.join(folder, "map.json"), "w") as out:
        json.dump({"dialect": "t5x-assignment", "rules": RULES}, out)


# --- the loop ------------------------------------------------------------------------------


def unflatten(flat):
    tree = {}
    for name, value in flat.items():
        *path, last = name.split("/")
        at = tree
        for key in path:
            at = at.setdefault(key, {})
        at[last] = value
    return tree


def assign(source, model, rules):
    result, unmapped, skipped, used = {}, dict(source), set(), set()
    for new in model:
        for pattern, template in rules:
            match = pattern.fullmatch(new)
            if not match:
                continue
            used.add(pattern)
            if template is None:
                skipped.add(new)
                break
            old = match.expand(template)
            unmapped.pop(old, None)
            if old not in source:
                raise ValueError(f"Parameter '{old}' does not exist in restore checkpoint.")
            result[new] = source[old]
            break
    for old, value in unmapped.items():
        if old not in skipped:
            result[old] = value
    for new in set(model) - set(result):
        if new not in skipped and new in source:
            result[new] = source[new]
    if len(used) != len(rules):
        raise ValueError("Unused patterns in `assignment_map`")
    return result, unflatten(result)


def read(path):
    with open(path) as f:
        return {name: name for name in f.read().splitlines()}


def reference(model, *sources):
    rules = [(re.compile(pattern), template) for pattern, template in RULES]
    model = read(model)
    totals = [0, 0, 0]
    for path in sources:
        flat, _ = assign(read(path), model, rules)
        totals[0] += len(flat)
        totals[1] += sum(map(len, flat))
        totals[2] += sum(map(len, flat.values()))
    print(*totals)


def main(verb=None, *args):
    if verb == "names" and args:
        write_all(args[0], int(args[1]) if len(args) > 1 else 1_000_000, 1)
    elif verb == "run" and args:
        write_all(args[0], 1551, int(args[1]) if len(args) > 1 else 645)
    elif verb == "reference" and len(args) > 1:
        reference(*args)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
