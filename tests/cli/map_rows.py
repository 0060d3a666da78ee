"""Rows of the views of maps for random rule sets over random checkpoints: a line for each set.

map_rows.py [SET]   with the number of a line: the set, its checkpoints and its rows

A line has the set's number, dialect and view, how many rows of each status there are, and a digest of all
columns of all rows, whatever their order. Nothing depends on the version of Python. A change of what the sets
are (here, or in interop/maps/words.py) changes all lines: then compare rows with the previous program's.
"""
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter

TESTS = os.environ.get("TESTS", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [TESTS + "/interop", TESTS + "/fixtures"]
import make_safetensors
from maps import words

WORLDS, SETS = 25, 20
VIEWS = {
    "t5x-translator": ["translation", "restore"], "t5x-assignment": ["assignment"], "orbax": ["assignment"],
    "kauldron": ["assignment"], "convert": ["conversion"]
}
COLUMNS = {
    "translation": "checkpoint_id ord tensor_id old_name new_name dtype shape rule status error note wins ops",
    "restore": "checkpoint_id target_id strict ord name old_name tensor_id origin dtype shape status error note ops",
    "assignment": "source_id target_id new_name old_name tensor_id dtype shape ops rule status error note",
    "conversion": "checkpoint_id ord new_name old_name tensor_id dtype shape part parts ops recipe rule status error note"
}


class Random:
    """As much of random.Random as is wanted, the same in every version."""
    def __init__(self, text):
        self.text, self.count = text, 0

    def randrange(self, low, high=None):
        low, high = (0, low) if high is None else (low, high)
        self.count += 1
        digest = hashlib.sha256(f"{self.text} {self.count}".encode()).digest()
        return low + int.from_bytes(digest[:8], "big") % (high - low)

    def random(self):
        return self.randrange(1 << 32) / (1 << 32)

    def randint(self, low, high):
        return self.randrange(low, high + 1)

    def choice(self, items):
        return items[self.randrange(len(items))]


# --- checkpoints --------------------------------------------------------------------------

T5 = ["global_step", "shared/embedding", "{t}/embedding{s}", "{t}/block_00{n}/layer_00{l}/SelfAttention/{m}{s}",
      "{t}/block_00{n}/layer_000/SelfAttention/relative_attention_bias{s}", "{t}/block_00{n}/layer_00{l}/EncDecAttention/{m}",
      "{t}/block_00{n}/layer_00{l}/DenseReluDense/{w}/kernel{s}", "{t}/block_00{n}/layer_00{l}/{r}_norm/scale{s}",
      "{t}/{r}_norm/scale{s}", "{t}/logits/kernel{s}"]
LONG = [63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 4096, 65535, 65536, 65537]


def t5_name(r):
    return r.choice(T5).format(t=r.choice(["encoder", "decoder", "transformer"]), n=r.choice("012"), l=r.choice("012"),
                               m=r.choice("qkvo"), s=r.choice(["", "", "_slot_v", "_slot_vr", "_slot_vc", "_slot_m"]),
                               w=r.choice(["wi", "wi_0", "wo"]), r=r.choice(["layer", "rms", "final_layer"]))


def leaf(r):
    return r.choice([f"float32[{r.choice('124')},{r.choice('246')}]"] * 4 + ["bfloat16[4]", "int8[2,0]", "?", "int32[]", None, {}, []])


def tree(r, names):
    out = {}
    for name in names:
        *parents, last = name.split("/")
        node = out
        for key in parents:
            node = node.setdefault(key, {}) if isinstance(node, dict) else None
        if isinstance(node, dict) and last not in node:
            node[last] = [leaf(r), leaf(r)] if r.random() < 0.05 else leaf(r)
    return out


def other_dtypes(made):
    if isinstance(made, dict):
        return {key: other_dtypes(value) for key, value in made.items()}
    return made.replace("float32", "bfloat16") if isinstance(made, str) else made


def leaves(made, prefix=""):
    if isinstance(made, (dict, list)) and made:
        for key, value in made.items() if isinstance(made, dict) else enumerate(made):
            yield from leaves(value, f"{prefix}{key}/")
    else:
        yield prefix[:-1]


def checkpoints(r, folder):
    """Some that share a layout, a name or nothing. Returns the names that patterns are made from."""
    pool = [words.name(r) for _ in range(8)]
    if r.random() < 0.3:
        pool.append(r.choice("aé") + "b" * (r.choice(LONG) - 1))
    some = lambda count: [r.choice(pool) if r.random() < 0.8 else words.name(r) for _ in range(count)]
    first = tree(r, some(7))
    params = tree(r, some(4)) or {"a": None}
    made = [first, first, other_dtypes(first), tree(r, some(4)), tree(r, {t5_name(r): 0 for _ in range(6)}),
            {"params": params, "step": "int32[]"}, {"params": tree(r, some(4)) or params, "step": "int32[]"}]
    for k, each in enumerate(made):
        with open(f"{folder}/t{k}.json", "w", encoding="utf-8") as f:
            json.dump({"ckptdb": "names", "tree": each}, f)
    os.mkdir(f"{folder}/m")
    make_safetensors.save(f"{folder}/m/model.safetensors", {n: ("F32", [2, 4], bytes(32)) for n in leaves(first) if n})
    with open(f"{folder}/m/config.json", "w", encoding="utf-8") as f:
        json.dump({"heads": r.choice([1, 2, 4, 3, "x"])} if r.random() < 0.7 else {}, f)
    return [name for each in made for name in leaves(each)] + pool


# --- rule sets ----------------------------------------------------------------------------

STEPS = [["t", "table", "short", "\\1"], ["t", "table", "none", "\\1"], ["i", "if", "\\1", "yes", "no"], ["p", "part"],
         ["s", "setting", "heads"], ["t", "nothing"], ["t", "table", "short", "\\1", "else"], ["t", "int", "\\1"], ["t", "name"],
         ["t", "drop", "\\2"], ["t", "sub", "a(.)", "\\1", "\\g<0>"]]
OPS = [[["transpose"]], [["reshape", [-1, 2]]], [["split", 1, 2]], [["unstack", 0]], [["stack", 0, "\\1"]], [["concat", 0, "0"]],
       [["permute", [1, 0]]], [["slice", 0, 0, 1]], [["take", 0, 0]], [["zeros"]], [["scale", 2]], [["flatten", 0, 1]], [["cast", "bfloat16"]], [["split", 1, "\\g<s>"]], [["fold"]], [["copies", ["q", "k"]]], [["cast", "floaty"]], [["transpose", [1, 0]]]]


def rule(r, names, made):
    """[pattern, replacement, compute, ops]"""
    pattern = words.relative(r, made[-1][0]) if made and r.random() < 0.25 else words.pattern(r, names)
    groups = ["x"] * r.randint(0, 3)
    replacement = None if r.random() < 0.1 else words.template(r, names, groups if r.random() < 0.5 else (), 0.04)
    compute = [r.choice(STEPS)] if r.random() < 0.15 else None
    if compute and replacement is not None and r.random() < 0.8:
        replacement += f"\\g<{compute[0][0]}>"
    return [pattern, replacement, compute, r.choice(OPS) if r.random() < 0.15 else None]


def path(r, names):
    """One of Kauldron's, of a name."""
    parts = r.choice(names).split("/") if r.random() < 0.95 else [r.choice(["a..b", "**", "params[", "", "a-b"])]
    parts = parts[:r.randint(1, len(parts))]
    text = "".join(f"[{p}]" if p.isdigit() and p.isascii() else f".{p}" if p.isascii() and p.isidentifier() else f"[{p!r}]" for p in parts)
    return text.lstrip(".") + r.choice([""] * 9 + ["[:]", "[1:]", "[-1]"])


def ruleset(r, names):
    dialect = r.choice(list(VIEWS))
    options = {"tables": {"short": {"a": "b", "b": "", "ab": "a"}}} if r.random() < 0.7 else {}
    if r.random() < 0.15:
        options["mode"] = "strict"
    if dialect == "kauldron":
        params = [n for n in names if n.startswith("params")] or ["params"]
        rules = [[path(r, params)] for _ in range(r.randint(1, 2))]
        rules = [[new, r.choice([new, path(r, params), path(r, names)]), None, None] for new, in rules]
        for which in ("ignore_restored_keys", "ignore_model_keys"):
            if r.random() < 0.3:
                options[which] = [r.choice(["*", "**", "**.a", "a", "params.*", "**[0]", "*.*", "params.**.b", "a..b"])]
        return dialect, options, rules
    rules = []
    for _ in range(r.randint(0, 5)):
        rules.append(rule(r, names, rules))
    if r.random() < 0.55:
        rules.append([r.choice(["(.*)", "(.|\n)*", r"[^a]*|\S*", "(a/)?(.*)", ""]), r.choice([r"\g<0>", "same", r"x/\1"]), None, None])
    if dialect == "t5x-assignment" and r.random() < 0.6:
        options["require_all"] = False
    if dialect == "t5x-assignment" and r.random() < 0.05:
        options["is_resuming"] = True
    if dialect == "orbax":
        options.update({key: r.random() < 0.5 for key in ("default_to_original", "nested", "ordered") if r.random() < 0.3})
    if dialect == "convert":
        options["unmatched"] = r.choice(["keep", "keep", "drop", "error", "lose"])
        if r.random() < 0.5:
            options["settings"] = {"heads": {"from": ["config.json:heads"], "number": True}}
    return dialect, options, rules


# --- rows ---------------------------------------------------------------------------------

def quote(value):
    if value is None or isinstance(value, int):
        return "NULL" if value is None else str(value)
    return "'" + (value if isinstance(value, str) else json.dumps(value)).replace("'", "''") + "'"


def ask(folder, sql):
    """A script's output, and its complaints."""
    done = subprocess.run([os.environ["CKPTDB_BIN"], "-d", f"{folder}.db", "--list", "-f", "-"], input=".bail off\n" + sql,
                          capture_output=True, encoding="utf-8", check=False)
    return done.stdout.split("\n"), done.stderr


def query(view, name):
    columns = [f"{c} || ''" if c in ("shape", "ops", "recipe") else c for c in COLUMNS[view].split()]
    return f"SELECT json_array({', '.join(columns)}) FROM {view} WHERE ruleset = '{name}';\n"


def world(number, folder):
    """Make it; give (dialect, options, rules) of its sets."""
    r = Random(f"world {number}")
    os.mkdir(folder)
    names = checkpoints(r, folder)
    sets = [ruleset(r, names) for _ in range(SETS)]
    subprocess.run([os.environ["CKPTDB_BIN"], "-d", f"{folder}.db", "import", folder], check=False, stderr=subprocess.DEVNULL)
    sql = ""
    for k, (dialect, options, rules) in enumerate(sets):
        sql += f"INSERT INTO ruleset(name, dialect, options) VALUES ('s{k}', '{dialect}', {quote(options)});\n"
        for ord_, each in enumerate(rules):
            sql += f"INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES ('s{k}', {ord_}, {', '.join(map(quote, each))});\n"
    _, told = ask(folder, sql)
    if told:
        sys.exit(f"world {number}: {told}")
    return sets


def rows_of(folder, sets):
    """{(set, view): rows, as texts, sorted}"""
    asked = [(k, view) for k, (dialect, _, _) in enumerate(sets) for view in VIEWS[dialect]]
    lines, _ = ask(folder, "".join(f"SELECT '#{k} {view}';\n{query(view, f's{k}')}" for k, view in asked))
    found, at = {one: [] for one in asked}, None
    for line in filter(None, lines):
        if line[0] == "#":
            k, view = line[1:].split()
            at = found[int(k), view]
        else:
            at.append(line)
    for (k, view), rows in found.items():
        rows.sort()
        if not rows: # a question that failed, or of no rows
            rows += filter(None, ask(folder, query(view, f"s{k}"))[1].split("\n"))
    return found


def digest(rows):
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:12]


def tally(view, rows):
    at = COLUMNS[view].split().index("status")
    counts = Counter(json.loads(row)[at] if row[0] == "[" else "refused" for row in rows)
    return " ".join(f"{status} {count}" for status, count in sorted(counts.items()))


def main():
    one = int(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as top:
        for number in range(WORLDS) if one is None else [one // SETS]:
            folder = f"{top}/{number}"
            sets = world(number, folder)
            for (k, view), rows in rows_of(folder, sets).items():
                line = f"{number * SETS + k} {sets[k][0]} {view}: {tally(view, rows)} {digest(rows)}"
                if one is None:
                    print(line)
                elif one == number * SETS + k:
                    print(line, *map(json.dumps, sets[k][1:]), *rows, sep="\n")


main()
