"""Orbax's own apply_transformations beside the view `assignment`."""
import logging
import re

from orbax.checkpoint import transform_utils

from maps import catalog, trees, words
from maps.assignment import rules

logging.disable(logging.WARNING)


def works(pattern, template):
    """`map load` refuses what fails as soon as a name comes to it."""
    try:
        re.compile(pattern)
        if template is not None:
            re.sub(pattern, template, "")
    except (LookupError, ArithmeticError, re.error):
        return False
    return True


class Case:
    def __init__(self, rng, home):
        # Both trees are dicts of str: JAX sorts keys, and could not sort mixed ones.
        pool = [words.name(rng) for _ in range(rng.randint(1, 6))]
        some = lambda: [
            rng.choice(pool) if rng.random() < 0.8 else words.name(rng)
            for _ in range(rng.randint(0, 6))
        ]
        self.source = trees.tree(rng, trees.Leaves(rng), some())
        self.target = trees.tree(rng, trees.Leaves(rng, 1000), some())
        self.rules = list(
            dict(
                rules(rng, [name for name, _ in trees.flat(self.target)],
                      [name for name, _ in trees.flat(self.source)])).items())
        rng.shuffle(self.rules)
        self.options = {"default_to_original": False} if rng.random() < 0.3 else {}
        self.nested = rng.random() < 0.3 and nest(dict(self.rules)) is not None
        self.ids = home.checkpoint(self.source), home.checkpoint(self.target)
        if rng.random() < 0.2 and all(works(*rule) for rule in self.rules): # as Orbax has them
            each = {
                pattern: {"use_fallback": True} if template is None else {"original_key": template}
                for pattern, template in self.rules
            }
            self.ruleset = home.load({
                "dialect": "orbax", "options": self.options,
                "transforms": nest(each) if self.nested else each
            })
        else:
            self.ruleset = home.ruleset("orbax", {**self.options, "nested": self.nested},
                                        self.rules)

    def question(self, home):
        source, target = (home.ids[k] for k in self.ids)
        return catalog.rows_of(
            "new_name, status, old_name, error", f"assignment WHERE ruleset = '{self.ruleset}' "
            f"AND source_id = {source} AND target_id = {target}")

    def wanted(self):
        """Names do not depend on each other: each by itself, and all of them if none fails."""
        transforms = {
            pattern: transform_utils.Transform(original_key=template)
            if template is not None else transform_utils.Transform(use_fallback=True)
            for pattern, template in self.rules
        }
        if self.nested:
            transforms = nest(transforms)
        original = {name: value for name, value in trees.flat(self.source) if leaf(value)}
        names = {id(value): name for name, value in original.items()}
        each = []
        for name, value in trees.flat(self.target):
            if not leaf(value):
                continue
            try:
                new = transform_utils.apply_transformations(original, transforms, {name: value},
                                                            **self.options)[name]
                each.append([name, names.get(id(new), "own"), None])
            except (ValueError, LookupError, ArithmeticError, re.error) as error:
                each.append([name, None, trees.said(error)])
        if all(error is None for _, _, error in each):
            new = transform_utils.apply_transformations(self.source, transforms, self.target,
                                                        **self.options)
            assert sorted([name, names.get(id(value), "own"), None]
                          for name, value in trees.flat(new)
                          if leaf(value)) == sorted(each), self.rules
        return sorted(each)

    def found(self, rows, _wanted):
        return sorted([new, None if error else old if status != "missing" else "own", error]
                      for new, status, old, error in rows)


def leaf(value):
    return value is not None and not isinstance(value, (dict, list))


def nest(flat):
    """The same transforms as a tree of their patterns' components; None: one lies below another."""
    tree = {}
    for pattern, transform in flat.items():
        *parents, last = pattern.split("/")
        at = tree
        for part in parents:
            at = at.setdefault(part, {})
            if not isinstance(at, dict):
                break
        if not isinstance(at, dict) or last in at:
            return None
        at[last] = transform
    return tree
