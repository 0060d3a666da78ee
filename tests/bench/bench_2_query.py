"""Aggregates over 10,000 checkpoints of 500 tensors, against one flat indexed table."""
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
    ("the same, of the view tensor",
     "SELECT count(*), sum(nbytes) FROM tensor WHERE name GLOB '*self_attn*weight'",
     "SELECT count(*), sum(nbytes) FROM flat WHERE name GLOB '*self_attn*weight'"),
    ("the 20 largest",
     "SELECT sum(nbytes) FROM (SELECT nbytes FROM largest LIMIT 20)",
     "SELECT sum(nbytes) FROM (SELECT nbytes FROM flat ORDER BY nbytes DESC LIMIT 20)"),
    ("one checkpoint's tensors",
     "SELECT count(*), sum(nbytes) FROM tensor WHERE checkpoint_id = 777",
     "SELECT count(*), sum(nbytes) FROM flat WHERE checkpoint_id = 777"),
    ("which checkpoints hold a name",
     "SELECT count(*), sum(nbytes) FROM tensor WHERE name = 'run7.layers.3.mlp.up_proj.weight'",
     "SELECT count(*), sum(nbytes) FROM flat WHERE name = 'run7.layers.3.mlp.up_proj.weight'"),
]


def flat_table(catalog, flat):
    subprocess.run(["sqlite3", flat], check=True, text=True, input=f"""
        PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-400000;
        ATTACH '{catalog}' AS c;
        CREATE TABLE flat(checkpoint_id INTEGER, name TEXT, dtype TEXT, shape TEXT, offset INTEGER, nbytes INTEGER);
        INSERT INTO flat SELECT checkpoint_id, name, dtype, shape, offset, nbytes FROM c.tensor ORDER BY checkpoint_id;
        CREATE INDEX flat_1 ON flat(checkpoint_id, name);
        CREATE INDEX flat_2 ON flat(name);
        """, stdout=subprocess.DEVNULL)


def one(bench, title, layouts, goal):
    if not bench.wants("query " + title):
        return
    count = bench.count(CHECKPOINTS)
    folder = bench.root / f"layouts{layouts}"
    headers = [header(names(LAYERS, f"run{k}")) for k in range(bench.count(layouts) if layouts > 10 else layouts)]
    many(folder, count, lambda i: headers[i % len(headers)])
    catalog, flat = bench.root / f"q{layouts}.db", bench.root / f"flat{layouts}.db"
    seconds, _ = bench.run([bench.ckptdb, "-d", str(catalog), "import", str(folder)])
    subprocess.run(["rm", "-rf", str(folder)], check=True)
    flat_table(catalog, flat)
    bench.say(f"query {title}: catalog", f"{count} checkpoints imported in {seconds:.2f} s, "
              f"{os.path.getsize(catalog) / 1e6:.1f} MB; flat table {os.path.getsize(flat) / 1e6:.0f} MB")
    for name, ours, reference in QUERIES:
        small = name in ("one checkpoint's tensors", "which checkpoints hold a name",
                         "the same, of the view tensor")
        bench.compare(f"query {title}: {name}",
                      [bench.ckptdb, "-d", str(catalog), "--list", ours], ["sqlite3", str(flat), reference],
                      1.2 if small and layouts < 10 else None if small else goal,
                      same=lambda a, b: sorted(a.decode().replace("\t", "|").split()) == sorted(b.decode().split()))
    flat.unlink()


def run(bench):
    one(bench, "shared", 8, 0.05)
    one(bench, "five a layout", 2000, 0.3)
