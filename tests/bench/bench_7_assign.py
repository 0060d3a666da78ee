"""A million names of a model, filled from a checkpoint by an assignment map, in SQL and in Python;
what checking a map costs beside running it; and maps of 5,000 rules of every dialect."""
import itertools
import json
import statistics
import sys
from pathlib import Path

import translate

SCRIPT = str(Path(__file__).parent / "assign.py")
QUERY = """SELECT count(*), sum(length(new_name)), sum(length(old_name)) FROM assignment
WHERE ruleset = 'upcycle' AND target_id = (SELECT id FROM checkpoint WHERE path GLOB '*/model.json')
  AND source_id {} AND status IN ('mapped', 'kept')"""


def same(ours, reference):
    return ours.decode().replace("|", " ").split() == reference.decode().split()


def assign(bench, name, goal, make, source):
    if not bench.wants(name):
        return
    folder = bench.root / name.replace(" ", "_").replace(",", "")
    bench.run([sys.executable, SCRIPT, make[0], str(folder), str(make[1])])
    catalog = str(folder / "catalog.db")
    bench.run([bench.ckptdb, "-d", catalog, "import", str(folder)])
    bench.run([bench.ckptdb, "-d", catalog, "map", "load", "upcycle", str(folder / "map.json")])
    bench.compare(name, [bench.ckptdb, "-d", catalog, "--list", QUERY.format(source)],
                  f"'{sys.executable}' '{SCRIPT}' reference '{folder}'/model.txt '{folder}'/step_*.txt",
                  goal, same=same)


def many_rules(count):
    """One for each part of a block, by tower and the last digit of its number."""
    rules = [["global_step", "step"], [r"shared/(\w*)", r"embedder/\1"]]
    for digit, (tower, layers) in itertools.product("0123456789", translate.BLOCKS.items()):
        for layer, parts in layers:
            rules += [[rf"{tower}/block_(\d*{digit})/layer_{layer:03d}/{part}(\w*)",
                       rf"{tower}/layers_\1/{part}_{layer}\2"] for part in parts]
    return rules[:count - 1] + [["(.*)", r"rest/\1"]]


def check(bench, name, goal, names, rules):
    if not bench.wants(name):
        return
    folder = bench.root / "check"
    folder.mkdir()
    translate.write_names(str(folder / "names.json"), names)
    rules = {"dialect": "t5x-translator", "rules": many_rules(rules)}
    (folder / "many.json").write_text(json.dumps(rules))
    catalog = str(folder / "catalog.db")
    bench.run([bench.ckptdb, "-d", catalog, "import", str(folder / "names.json")])
    bench.run([bench.ckptdb, "-d", catalog, "map", "load", "many", str(folder / "many.json")])
    # What it finds makes its status 1.
    bench.compare(name, f"'{bench.ckptdb}' -d '{catalog}' map check many 1 || [ $? = 1 ]",
                  [bench.ckptdb, "-d", catalog, "map", "run", "many", "1"], goal)


def blocks(count, dialect):
    """A rule for each block of each tower, and one for all that is in none of these."""
    pairs = [(tower, block) for block in range(count // 2) for tower in translate.BLOCKS][:count - 1]
    if dialect == "kauldron":
        return [[f"{tower}.block_{block:03d}"] * 2 for tower, block in pairs] + [["global_step"] * 2]
    rules = [[rf"{tower}/block_{block:03d}/(.*)", rf"{tower}/block_{block:03d}/\1"] for tower, block in pairs]
    return rules + [["(.*)", r"\1"]]


def many(bench, dialect, view, names, rules):
    """Seconds of CPU of the whole process, against a goal of 3."""
    name = f"5,000 rules, {dialect}"
    if not bench.wants(name):
        return
    folder = bench.root / f"many_{dialect}"
    folder.mkdir()
    translate.write_names(str(folder / "names.json"), names)
    (folder / "map.json").write_text(json.dumps({"dialect": dialect, "rules": blocks(rules, dialect)}))
    catalog = str(folder / "catalog.db")
    bench.run([bench.ckptdb, "-d", catalog, "import", str(folder / "names.json")])
    bench.run([bench.ckptdb, "-d", catalog, "map", "load", "many", str(folder / "map.json")])
    pair = " AND source_id = 1 AND target_id = 1" if view == "assignment" else ""
    seconds = []
    for _ in range(bench.pairs):
        found = bench.run([bench.ckptdb, "-d", catalog, "--list",
                           f"SELECT count(new_name) FROM {view} WHERE ruleset = 'many'{pair}"])[1]
        seconds.append(bench.cpu)
    assert int(found) >= names, found
    bench.row(name, statistics.median(seconds), min(seconds), max(seconds), 3, f"seconds of CPU, {names} names")


def run(bench):
    assign(bench, "assign, each name its own", 0.35, ("names", bench.count(1000000)),
           "= (SELECT id FROM checkpoint WHERE path GLOB '*/step_0.json')")
    assign(bench, "assign, names shared", 0.08, ("run", bench.count(645)), "<> target_id")
    check(bench, "map check, 200 rules", 3, bench.count(100000), 200)
    for dialect, view in [("t5x-translator", "translation"), ("t5x-assignment", "assignment"), ("orbax", "assignment"),
                          ("kauldron", "assignment"), ("convert", "conversion")]:
        many(bench, dialect, view, bench.count(250000), bench.count(5000))
