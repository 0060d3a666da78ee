"""Questions to 10,000 checkpoints of 500 tensors, of sums kept per layout and of maps, against a flat table with every
index that helps it. (What people ask of `tensor`: bench_11_flat.py.)"""
import json
import os
import subprocess

from make_files import header, many, names

CHECKPOINTS = 10000
LAYERS = 55  # 498 tensors

# The same question of the public views and of the flat table. Where the answer is a list of
# numbers its sums are compared: the views keep no order of their own.
QUERIES = [
    ("count and bytes by dtype",
     "SELECT dtype, sum(tensors), sum(nbytes) FROM by_dtype GROUP BY dtype",
     "SELECT dtype, count(*), sum(nbytes) FROM flat GROUP BY dtype"),
    ("bytes per checkpoint",
     "SELECT count(*), sum(b) FROM (SELECT id, nbytes AS b FROM checkpoint)",
     "SELECT count(*), sum(b) FROM (SELECT checkpoint_id, sum(nbytes) AS b FROM flat GROUP BY checkpoint_id)"),
    ("tensors whose name matches",
     "SELECT sum(checkpoints), sum(nbytes * checkpoints) FROM by_name WHERE name GLOB '*self_attn*weight'",
     "SELECT count(*), sum(nbytes) FROM flat WHERE name GLOB '*self_attn*weight'"),
    ("the 20 largest",
     "SELECT sum(nbytes) FROM (SELECT nbytes FROM largest LIMIT 20)",
     "SELECT sum(nbytes) FROM (SELECT nbytes FROM flat ORDER BY nbytes DESC LIMIT 20)"),
]

# What maps make of all that, against tables of the answers with every index that helps. Lists of rows are counted by their sums.
COUNTED = "WHERE ruleset = 'llama_hf_to_gguf'"
MAPS = [
    ("conversions of a set, counted", "SELECT sum(rows) FROM conversion_counts('llama_hf_to_gguf')",
     f"SELECT count(*) FROM converted {COUNTED}"),
    ("conversions of a set, each made", f"SELECT count(*) FROM conversion {COUNTED}",
     f"SELECT count(*) FROM converted {COUNTED}"),
    ("conversions of a set, names", f"SELECT count(*), sum(length(old_name)), sum(length(new_name)) FROM conversion {COUNTED}",
     f"SELECT count(*), sum(length(old_name)), sum(length(new_name)) FROM converted {COUNTED}"),
    ("conversions of a set by status", "SELECT status, sum(rows) FROM conversion_counts('llama_hf_to_gguf') GROUP BY 1",
     f"SELECT status, count(*) FROM converted {COUNTED} GROUP BY 1"),
    ("conversions of a set by checkpoint",
     "SELECT count(*), sum(n) FROM (SELECT sum(rows) AS n FROM conversion_counts('llama_hf_to_gguf') GROUP BY checkpoint_id)",
     f"SELECT count(*), sum(n) FROM (SELECT count(*) AS n FROM converted {COUNTED} GROUP BY checkpoint_id)"),
    ("one source to all targets, counted", "SELECT sum(rows) FROM assignment_counts('up', 8)",
     "SELECT count(*) FROM assigned WHERE ruleset = 'up' AND source_id = 8"),
    ("one source to all targets by target",
     "SELECT count(*), sum(n) FROM (SELECT sum(rows) AS n FROM assignment_counts('up', 8) GROUP BY target_id)",
     "SELECT count(*), sum(n) FROM (SELECT count(*) AS n FROM assigned WHERE ruleset = 'up' AND source_id = 8 GROUP BY target_id)"),
]
# The same of all rule sets, over a fifth of the checkpoints and of the layouts: both sides have a fifth of the
# work, so the ratio is the same as for the whole, whose table would take 6 GB and minutes to make. It has the columns
# that are asked for.
PART = 5
EVERY = [
    ("all conversions, counted", "SELECT sum(rows) FROM ruleset r JOIN conversion_counts(r.name)",
     "SELECT count(*) FROM every"),
    ("all conversions, as rows", "SELECT count(*) FROM conversion", "SELECT count(*) FROM every"),
    ("all conversions by rule set", "SELECT r.name, sum(rows) FROM ruleset r JOIN conversion_counts(r.name) GROUP BY 1",
     "SELECT ruleset, count(*) FROM every GROUP BY 1"),
    ("all conversions by rule set and status",
     "SELECT r.name || ' ' || status, sum(rows) FROM ruleset r JOIN conversion_counts(r.name) GROUP BY 1",
     "SELECT ruleset || ' ' || status, count(*) FROM every GROUP BY ruleset, status"),
]
ANSWERS = f"""
    PRAGMA answers.journal_mode=OFF; PRAGMA answers.synchronous=OFF;
    CREATE TABLE answers.assigned AS SELECT ruleset, source_id, target_id, new_name, old_name, tensor_id, dtype, shape,
      status FROM assignment WHERE ruleset = 'up' AND source_id = 8;
    CREATE TABLE answers.converted AS SELECT ruleset, checkpoint_id, new_name, old_name, tensor_id, dtype, shape, status
      FROM conversion {COUNTED};
    """
ANSWERS_EVERY = """
    PRAGMA answers.journal_mode=OFF; PRAGMA answers.synchronous=OFF;
    CREATE TABLE answers.every AS SELECT ruleset, checkpoint_id, status FROM conversion;
    """
FAST = "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-400000;"
INDEXES = f"""
    {FAST}
    CREATE INDEX assigned_1 ON assigned(ruleset, source_id, target_id);
    CREATE INDEX converted_1 ON converted(ruleset, checkpoint_id);
    CREATE INDEX converted_2 ON converted(ruleset, status);
    """
INDEXES_EVERY = f"""
    {FAST}
    CREATE INDEX every_1 ON every(ruleset);
    CREATE INDEX every_2 ON every(ruleset, status);
    """


def flat_table(catalog, flat):
    subprocess.run(["sqlite3", flat], check=True, text=True, input=f"""
        PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-400000;
        ATTACH '{catalog}' AS c;
        CREATE TABLE flat(id INTEGER PRIMARY KEY, checkpoint_id INTEGER, name TEXT, dtype TEXT, nbytes INTEGER);
        INSERT INTO flat SELECT id, checkpoint_id, name, dtype, nbytes FROM c.tensor ORDER BY checkpoint_id;
        CREATE INDEX flat_1 ON flat(checkpoint_id);
        CREATE INDEX flat_2 ON flat(dtype, nbytes);
        CREATE INDEX flat_3 ON flat(nbytes);
        ANALYZE;
        """, stdout=subprocess.DEVNULL)


def same(ours, reference):
    return sorted(ours.decode().replace("\t", "|").split()) == sorted(reference.decode().split())


def catalog_of(bench, name, count, layouts):
    """A catalog of N checkpoints, whose layouts alternate, and the duration of its import."""
    folder, catalog = bench.root / name, bench.root / f"{name}.db"
    headers = [header(names(LAYERS, f"run{k}")) for k in range(layouts)]
    many(folder, count, lambda i: headers[i % len(headers)])
    seconds, _ = bench.run([bench.ckptdb, "-d", str(catalog), "import", str(folder)])
    subprocess.run(["rm", "-rf", str(folder)], check=True)
    return catalog, seconds


def one(bench, title, layouts, goal):
    if not bench.wants("query " + title):
        return
    count = bench.count(CHECKPOINTS)
    catalog, seconds = catalog_of(bench, f"layouts{layouts}", count, bench.count(layouts) if layouts > 10 else layouts)
    flat = bench.root / f"flat{layouts}.db"
    flat_table(catalog, flat)
    bench.say(f"query {title}: catalog", f"{count} checkpoints imported in {seconds:.2f} s, "
              f"{os.path.getsize(catalog) / 1e6:.1f} MB; flat table {os.path.getsize(flat) / 1e6:.0f} MB")
    for name, ours, reference in QUERIES:
        bench.compare(f"query {title}: {name}",
                      [bench.ckptdb, "-d", str(catalog), "--list", ours], ["sqlite3", str(flat), reference],
                      goal, same=same, floor=0.02 if name == "the 20 largest" else 0)
    if layouts > 10:
        maps(bench, title, catalog)
    flat.unlink()
    catalog.unlink()


def against_answers(bench, title, catalog, make, indexes, questions):
    answers = bench.root / "answers.db"
    answers.touch()
    bench.run([bench.ckptdb, "-d", str(catalog), f"ATTACH '{answers}' AS answers; {make}"])
    bench.run(["sqlite3", str(answers), indexes])
    for name, ours, reference in questions:
        bench.compare(f"query {title}: {name}", [bench.ckptdb, "-d", str(catalog), "--list", ours],
                      ["sqlite3", str(answers), reference], 3, same=same, floor=0.2)
    answers.unlink()


def maps(bench, title, catalog):
    rules = bench.root / "up.json"
    rules.write_text(json.dumps({"dialect": "t5x-assignment", "rules": [[r"run\d+(.*)", r"run7\1"]]}))
    bench.run([bench.ckptdb, "-d", str(catalog), "map", "load", "up", str(rules)])
    against_answers(bench, title, catalog, ANSWERS, INDEXES, MAPS)


def every_set(bench, title, layouts):
    if not bench.wants("query " + title):
        return
    catalog, _ = catalog_of(bench, "every", bench.count(CHECKPOINTS // PART), bench.count(layouts // PART))
    against_answers(bench, title, catalog, ANSWERS_EVERY, INDEXES_EVERY, EVERY)
    catalog.unlink()


def run(bench):
    one(bench, "shared", 8, 0.05)
    one(bench, "five a layout", 2000, 0.3)
    every_set(bench, "five a layout, a fifth", 2000)
