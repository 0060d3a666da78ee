"""T5X's CheckpointTranslator, with rules that expand a template, beside the view `translation`."""
import re

from maps import catalog, trees, words
from maps.assignment import rules
from originals import t5x


class Case:
    def __init__(self, rng, home):
        pool = [words.name(rng) for _ in range(rng.randint(1, 8))]
        self.tree = trees.tree(rng, trees.Leaves(rng), pool)
        names = [name for name, _ in trees.flat(self.tree)]
        self.rules = rules(rng, names, names + pool)
        if rng.random() < 0.5:
            self.rules.append([
                rng.choice(["(.*)", "(.|\n)*", r"[^a]*|\S*", "(a/)?(.*)"]),
                rng.choice([r"\g<0>", "same", r"x/\1"])
            ])
        self.id = home.checkpoint(self.tree)
        self.ruleset = home.ruleset("t5x-translator", {}, self.rules)

    def question(self, home):
        return catalog.rows_of(
            "old_name, status, new_name, error, wins",
            f"translation WHERE ruleset = '{self.ruleset}' "
            f"AND checkpoint_id = {home.ids[self.id]}")

    def one(self, name):
        """What becomes of one name. (A pattern is compiled when a name comes to it: the original
        compiles all at once, and of a bad one does nothing.)"""
        try:
            for pattern, template in self.rules:
                match = re.compile(pattern + "$").match(name)
                if match:
                    return (["dropped", None, None]
                            if template is None else ["ok", match.expand(template), None])
        except (LookupError, ArithmeticError, re.error) as error:
            return ["error", None, trees.said(error)]
        return ["unmatched", None, None]

    def wanted(self):
        flat = t5x.flatten(trees.state(self.tree))
        each = {name: self.one(name) for name in flat}
        answer = {"each": sorted([name, *one] for name, one in each.items())}
        if all(status in ("ok", "dropped") for status, _, _ in each.values()):
            try:
                translator = t5x.CheckpointTranslator([
                    (pattern, lambda match, template=template: None
                     if template is None else match.expand(template))
                    for pattern, template in self.rules
                ])
            except (ArithmeticError, re.error): # of a pattern that no name came to
                return answer
            # Each leaf's value is its name, so that one sees which leaf won.
            answer["kept"] = sorted(translator.apply({name: name for name in flat}).items())
        return answer

    def found(self, rows, wanted):
        answer = {"each": sorted(row[:4] for row in rows)}
        if "kept" in wanted:
            answer["kept"] = sorted(
                (new, old) for old, status, new, _, wins in rows if status == "ok" and wins)
        return answer
