"""T5X's functions on flat states and their names, written anew from what they do.

T5X is no package that can be installed. flatten_dict and unflatten_dict, which it stands on, are
Flax's own. Each function raises what the original raises, with its text.
"""
import re

from flax import traverse_util


def flatten(state):
    """flatten_state_dict. (A TensorStore spec, which it takes for a leaf, is no tree here.)"""
    return traverse_util.flatten_dict(state, sep="/")


def unflatten(flat):
    return traverse_util.unflatten_dict(flat, sep="/")


def merge_state(state, scratch, overwrite=False):
    merged = flatten(state)
    for name, value in flatten(scratch).items():
        if overwrite or name not in merged:
            merged[name] = value
    return unflatten(merged)


def intersect_state(state, keep):
    names = flatten(keep)
    return unflatten({name: v for name, v in flatten(state).items() if name in names})


def assigned(name, rules, source):
    """The first rule that matches a name: (its place, the old name), (its place, None) where it
    leaves the name out, None where no rule matches."""
    for place, (pattern, template) in enumerate(rules):
        match = re.fullmatch(pattern, name)
        if not match:
            continue
        if template is None:
            return place, None
        old = match.expand(template)
        if old not in source:
            raise ValueError(f"Parameter '{old}' does not exist in restore checkpoint. "
                             f"Must be one of: {sorted(source)}")
        return place, old
    return None


def apply_assignment_map(checkpoint, state, rules, require_all=True, is_resuming=False):
    if is_resuming:
        return checkpoint
    source, target = flatten(checkpoint), flatten(state)
    result, taken, skipped, used = {}, set(), set(), set()
    for name in target:
        decided = assigned(name, rules, source)
        if decided is None:
            continue
        place, old = decided
        used.add(rules[place][0])
        if old is None:
            skipped.add(name)
        else:
            taken.add(old)
            result[name] = source[old]
    for name, value in source.items():
        if name not in taken and name not in skipped:
            result[name] = value
    # The original goes through a set here, in no order; the target's is as good as any.
    for name in target:
        if name not in result and name not in skipped and name in source:
            result[name] = source[name]
    if require_all and len(rules) != len(used):
        unused = {pattern for pattern, _ in rules} - used
        raise ValueError("Unused patterns in `assignment_map`: {" +
                         ", ".join(f"'{pattern}'" for pattern in unused) + "}")
    return unflatten(result)


class CheckpointTranslator:
    """Rules are pairs of a pattern and a function of (name, *groups), which gives the new name."""
    def __init__(self, rules):
        self.rules = [(re.compile(pattern + "$"), function) for pattern, function in rules]

    def apply(self, flat):
        translated, unmapped = {}, {}
        for name, value in flat.items():
            for pattern, function in self.rules:
                match = pattern.match(name)
                if match:
                    new = function(match)
                    if new is not None:
                        translated[new] = value
                    break
            else:
                unmapped[name] = value
        if unmapped:
            raise ValueError(f"Unmapped tensor keys exist: {unmapped}")
        return translated
