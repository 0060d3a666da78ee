"""A million T5 names through T5X's nine rules, in SQL and in Python."""
import sys
from pathlib import Path

SCRIPT = str(Path(__file__).parent / "translate.py")
QUERY = "SELECT count(new_name), sum(length(new_name)) FROM translation WHERE ruleset = 't5_to_t5x'"


def same(ours, reference):
    return ours.decode().replace("|", " ").split() == reference.decode().replace(",", " ").split()


def one(bench, name, goal, make, files):
    if not bench.wants(name):
        return
    folder = bench.root / name.replace(" ", "_").replace(",", "")
    folder.mkdir()
    bench.run([sys.executable, SCRIPT, *make(folder)])
    catalog = folder / "catalog.db"
    bench.run([bench.ckptdb, "-d", str(catalog), "import", str(folder)])
    bench.compare(name, [bench.ckptdb, "-d", str(catalog), "--list", QUERY],
                  f"'{sys.executable}' '{SCRIPT}' reference {files(folder)}", goal, same=same)


def run(bench):
    one(bench, "translate, each name its own", 0.2,
        lambda f: ["names", str(f / "t5.json"), str(bench.count(1000000))], lambda f: f"'{f}/t5.txt'")
    one(bench, "translate, names shared", 0.08,
        lambda f: ["run", str(f), str(bench.count(645))], lambda f: f"'{f}'/step_*/names.txt")
