"""Kauldron's new_to_old, with paths written in every way, beside the view `assignment`."""
import re

from maps import catalog, trees, words
from originals import kauldron

NAMES = [
    "a", "b", "c", "w", "kernel", "layer-0", "x.y", "é", "bias", "it's", "_1", "a b", "\n", 'q"',
    "\\"
]

EMPTY = ... # a null, once the tree is filled


class Leaf:
    """JAX takes it for one; copies are itself."""
    def __init__(self, name):
        self.name = name

    def __deepcopy__(self, _memo):
        return self

    def __repr__(self):
        return f"<{self.name}>"

    def __mod__(self, _by): # trees.skeleton asks
        return 0


def tree(rng, depth=3):
    """Of dicts, and of lists, whose positions are the only numbers: the catalog does not tell a
    key 0 from a key '0'."""
    if depth == 0 or rng.random() < 0.25:
        return None
    if rng.random() < 0.05:
        return rng.choice([EMPTY, {}, []])
    if rng.random() < 0.15:
        return [tree(rng, depth - 1) for _ in range(rng.randint(1, 3))]
    names = NAMES[:6] if rng.random() < 0.9 else NAMES
    return {rng.choice(names): tree(rng, depth - 1) for _ in range(rng.randint(1, 3))}


def varied(rng, made):
    """A tree much like another."""
    if rng.random() < 0.06:
        return tree(rng, 2)
    if isinstance(made, dict):
        same = {key: varied(rng, value) for key, value in made.items() if rng.random() < 0.93}
        if rng.random() < 0.1:
            same[rng.choice(NAMES[:6])] = tree(rng, 1)
        return same or None
    if isinstance(made, list):
        same = [varied(rng, value) for value in made]
        if rng.random() < 0.1: # the original cuts a longer list
            return same[1:] or same * 2
        return same + same[:1] if rng.random() < 0.1 else same
    return made


def filled(made, prefix, name=""):
    if isinstance(made, dict) and made:
        return {key: filled(value, prefix, f"{name}/{key}") for key, value in made.items()}
    if isinstance(made, list) and made:
        return [filled(value, prefix, f"{name}/{key}") for key, value in enumerate(made)]
    return Leaf(prefix + name) if made is None else None if made is EMPTY else made


def below(made, name):
    """The part of a state that has the parameters."""
    return {name: made if isinstance(made, dict) else {"a": made}}


def paths(made, parts=()):
    yield list(parts)
    children = (made.items()
                if isinstance(made, dict) else enumerate(made) if isinstance(made, list) else ())
    for key, value in children:
        yield from paths(value, (*parts, key))


def escaped(part):
    return "".join(f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{ord(c):04x}" for c in part)


def written(rng, parts, made, slices=False):
    """A path of these parts of a tree, in one of the ways it may be written."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += rng.choice([
                f"[{part}]", f"[{part}]", f".{part}" if text else f"[{part}]", f"[{part:#x}]",
                f"[+{part}]", f"[{part - len(made)}]"
            ])
        elif part.isidentifier() and rng.random() < 0.9:
            text += ("." if text else "") + part
        else:
            text += rng.choice([f"[{part!r}]", f"[u{part!r}]", f"['{escaped(part)}']"])
        made = made[part]
    if slices and isinstance(made, list) and made and rng.random() < 0.5:
        text += rng.choice(["[:]", "[1:]", "[:-1]", "[::-1]", "[0:2]", "[-1:][0]", "[: : 2]"])
    if rng.random() < 0.03:
        text = text.replace(".", " . ").replace("[", "[ ")
    return text


BROKEN = [
    "a..b", ".a", "a.", "params.", "params[", "params[a]", "params.1b", "a-b", "params.*", "**",
    "params[*]", "params.[0]", "a\nb", "", "params['a", "params.nothing", "nothing", "params[7]",
    "params a"
]
PATTERNS = [
    "", "*", "**", "**.a", "**.b", "*.b", "a", "b.c", "**.kernel", "*.*", "**.*.b", "**.**",
    "**.bias.**", "a.**", "**[0]", "a[0]", "['layer-0']", "['x.y']", "**.w.a", "*.*.*", " a ",
    "** . a"
]


class Case:
    def __init__(self, rng, home):
        self.make(rng)
        self.ids = home.checkpoint(self.source), home.checkpoint(self.target)
        self.ruleset = home.ruleset("kauldron", self.options, self.new_to_old.items())

    def make(self, rng):
        base = tree(rng) or {"a": None}
        source, target = below(base, rng.choice(["params", "params",
                                                 "old"])), below(varied(rng, base), "params")
        if rng.random() < 0.3:
            source["opt_state"], target["opt_state"] = [tree(rng, 2)], [tree(rng, 2)]
        if rng.random() < 0.3:
            source["step"] = target["step"] = None
        self.source, self.target = filled(source, "old"), filled(target, "new")
        new = list(paths(self.target))[1:]
        old = list(paths(self.source))[1:]
        self.new_to_old = {}
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            a = rng.choice(new)
            same = [b for b in old if b[1:] == a[1:]] if rng.random() < 0.7 else []
            self.new_to_old[written(rng, a, self.target)] = written(
                rng, rng.choice(same or old), self.source, True)
        if rng.random() < 0.04:
            self.new_to_old[rng.choice(BROKEN)] = written(rng, rng.choice(old), self.source)
        if rng.random() < 0.04:
            self.new_to_old[written(rng, rng.choice(new), self.target)] = rng.choice(BROKEN)
        # Where the first phase makes another structure of the optimizer's state, the second
        # follows that one: here it is the model's still.
        if any(new == "opt_state" or new.startswith("opt_state.") for new in self.new_to_old):
            self.new_to_old = {
                new: old
                for new, old in self.new_to_old.items()
                if "opt_state" not in new or new.startswith("opt_state") and new[9:10] in ("", ".")
            }
        self.options = {}
        for which in ("ignore_restored_keys", "ignore_model_keys"):
            if rng.random() < 0.3:
                self.options[which] = [rng.choice(PATTERNS) for _ in range(rng.randint(1, 2))]
                if rng.random() < 0.02:
                    self.options[which][0] = rng.choice(BROKEN[:3])
        if self.options: # the root is refused in any case, and here once its leaves are compared
            self.new_to_old.pop("", None)

    def question(self, home):
        source, target = (home.ids[k] for k in self.ids)
        return catalog.rows_of(
            "new_name, status, old_name, error, tensor_id IS NOT NULL",
            f"assignment WHERE ruleset = '{self.ruleset}' "
            f"AND source_id = {source} AND target_id = {target}")

    def wanted(self):
        try:
            result = kauldron.load(self.target, self.source, self.new_to_old,
                                   self.options.get("ignore_restored_keys", ()),
                                   self.options.get("ignore_model_keys", ()))
        except (ValueError, LookupError, TypeError, RuntimeError) as error:
            # A KeyError of a key shows it as Python writes it, one of a text shows that.
            text = str(error.args[0]) if error.args else ""
            text = text if text.startswith(("Could", "Error")) else str(error)
            return head(f"{type(error).__name__}: {text}")
        return sorted([name, value.name] for name, value in trees.flat(result)
                      if isinstance(value, Leaf))

    def found(self, rows, wanted):
        errors = [head(error) for _, status, _, error, _ in rows if status == "error"]
        if errors:
            return wanted if wanted in errors else errors[0]
        return sorted([new, f"new/{new}" if status == "missing" else f"old/{old}"]
                      for new, status, old, _, leaf in rows if status == "missing" or leaf)


def head(error):
    """As much of an error as does not depend on a Python object, or on the parser's own words."""
    error = re.sub("<class '[^']*'>", "<class>", error)
    return re.sub(
        r"(Could not parse path: |Invalid part\(s\)|Could not find path .* object\.|"
        r"TypeError: |Error trying to mutate path .+: ).*", r"\1",
        re.sub("IndexError: .*|KeyError: '?[0-9]+'?", "KeyError: a position", error), flags=re.S)
