"""Hugging Face's key mappings, read by `map load`, beside the view `translation`."""
import re

from maps import catalog, trees, words

PIECES = [
    r"^model\.", r"layers", r"(\d+)", "a", "b|c", r"[^/]*$", r"\bw\b", "kernel", r"(a)(b)?", "$",
    r"x*", r"(?<=a)b", "/"
]
NEW = ["", "x", r"\1", r"<\g<0>>", "a/b", r"\\", "q."]


def works(pattern, new):
    """What fails does so in the original whatever the name, at other positions, or where ours puts
    a pattern inside another: a group that is open, flags that are not at the start."""
    try:
        re.compile(pattern)
        re.sub(pattern, new, "")
        re.compile(f"(?:{pattern})")
    except (LookupError, ArithmeticError, re.error):
        return False
    return True


class Case:
    def __init__(self, rng, home):
        pool = [words.name(rng) for _ in range(rng.randint(1, 8))]
        self.tree = trees.tree(rng, trees.Leaves(rng), pool)
        self.mapping = {}
        for _ in range(rng.randint(1, 4)):
            pattern = rng.choice(PIECES) if rng.random() < 0.6 else words.pattern(rng, pool, bad=0)
            new = rng.choice(NEW) if rng.random() < 0.8 else words.template(rng, pool, bad=0)
            if works(pattern, new):
                self.mapping[pattern] = new
        self.mapping["c$"] = "d"
        self.id = home.checkpoint(self.tree)
        self.ruleset = home.load(self.mapping)

    def question(self, home):
        return catalog.rows_of(
            "old_name, new_name, error", f"translation WHERE ruleset = '{self.ruleset}' "
            f"AND checkpoint_id = {home.ids[self.id]}")

    def one(self, name):
        """The first pattern that is found anywhere in a name decides; by re.subn, as Transformers
        does it."""
        try:
            for pattern, replacement in self.mapping.items():
                new, found = re.subn(pattern, replacement, name)
                if found:
                    return [name, new, None]
        except (LookupError, ArithmeticError, re.error) as error:
            return [name, None, trees.said(error)]
        return [name, name, None]

    def wanted(self):
        return sorted(
            self.one(name) for name, value in trees.flat(self.tree)
            if not isinstance(value, (dict, list)))

    def found(self, rows, _wanted):
        return sorted(rows)
