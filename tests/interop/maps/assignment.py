"""T5X's apply_assignment_map beside the view `assignment`."""
import re

from maps import catalog, trees, words
from originals import t5x


class Case:
    def __init__(self, rng, home):
        pool = [words.name(rng) for _ in range(rng.randint(1, 6))]
        some = lambda: [
            rng.choice(pool) if rng.random() < 0.8 else words.name(rng)
            for _ in range(rng.randint(0, 6))
        ]
        self.source = trees.tree(rng, trees.Leaves(rng), some())
        self.target = trees.tree(rng, trees.Leaves(rng, 1000), some())
        old = [name for name, _ in trees.flat(self.source)]
        new = [name for name, _ in trees.flat(self.target)]
        self.rules = rules(rng, new, old)
        self.options = {}
        if rng.random() < 0.6:
            self.options["require_all"] = False
        if rng.random() < 0.03:
            self.options["is_resuming"] = True
        self.ids = home.checkpoint(self.source), home.checkpoint(self.target)
        self.ruleset = home.ruleset("t5x-assignment", self.options, self.rules)

    def question(self, home):
        source, target = (home.ids[k] for k in self.ids)
        return catalog.rows_of(
            "new_name, status, old_name, rule, error",
            f"assignment WHERE ruleset = '{self.ruleset}' "
            f"AND source_id = {source} AND target_id = {target}")

    def wanted(self):
        source, target = trees.state(self.source), trees.state(self.target)
        old = t5x.flatten(source)
        if not self.options.get("is_resuming"):
            errors = []
            for name in t5x.flatten(target):
                try:
                    t5x.assigned(name, self.rules, old)
                except (ValueError, LookupError, ArithmeticError, re.error) as error:
                    errors.append([name, trees.said(error)])
            if errors:
                return {"errors": errors}
        try:
            result = t5x.apply_assignment_map(source, target, self.rules, **self.options)
        except ValueError as error:
            head, *patterns = re.split("{|, |}", trees.said(error))
            return {"unused": [head, sorted(patterns)]}
        except TypeError as error:
            return {"tree": trees.said(error)}
        of = {id(value) if value is None else value: name for name, value in old.items()}
        return {
            "values": sorted([name, "null" if value is None else of[value]]
                             for name, value in t5x.flatten(result).items())
        }

    def found(self, rows, wanted):
        errors = [[row[0], row[4]] for row in rows if row[1] == "error"]
        if not errors:
            nulls = set(name for name, value in trees.flat(self.source) if value is None)
            return {
                "values": sorted([new, "null" if old in nulls else old]
                                 for new, status, old, _, _ in rows if status in ("mapped", "kept"))
            }
        if errors[0][0] is None:
            head, *patterns = re.split("{|, |}", errors[0][1])
            return {"unused": [head, sorted(patterns)]}
        # For leaves inside leaves the original reports the first it comes to; its order is unrelated to
        # the order of the rows.
        if "tree" in wanted and [None, wanted["tree"]] in [[None, text] for _, text in errors]:
            return {"tree": wanted["tree"]}
        return {"errors": errors}


def rules(rng, matched, made):
    """Rules that match some names and make others of them: also none, doubles, swaps, cycles."""
    if len(matched) > 1 and rng.random() < 0.08:
        chosen = rng.sample(matched, rng.randint(2, len(matched)))
        return [[re.escape(a), b.replace("\\", "\\\\")]
                for a, b in zip(chosen, chosen[1:] + chosen[:1])]
    out = []
    for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4])):
        pattern = (words.relative(rng,
                                  rng.choice(out)[0])
                   if out and rng.random() < 0.2 else words.pattern(rng, matched))
        hit = [groups for groups in (words.groups_of(pattern, name) for name in matched) if groups]
        groups = rng.choice(hit) if hit else ()
        out.append([pattern, None if rng.random() < 0.12 else words.template(rng, made, groups)])
        if rng.random() < 0.03:
            out.append([pattern, words.template(rng, made)])
    return out
