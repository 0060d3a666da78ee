"""100 catalogs of 1,000 checkpoints each, as 100 machines write them, become one: against importing the same files."""
import os
import sqlite3

import make_files

CATALOGS, CHECKPOINTS, LAYERS = 100, 1000, 2


def rows(bench, catalog):
    return bench.run([bench.ckptdb, "-d", str(catalog), "--list",
                      "SELECT count(*), sum(tensors), sum(nbytes), count(DISTINCT layout) FROM checkpoint;"
                      "SELECT count(*), sum(value) FROM metadata"])[1]


def run(bench):
    name = f"merge: {CATALOGS} catalogs x {bench.count(CHECKPOINTS)} checkpoints / import"
    if not bench.wants(name):
        return
    folder, one, merged = bench.root / "machines", bench.root / "imported.db", bench.root / "merged.db"
    sources = []
    for machine in range(CATALOGS):
        here = folder / f"m{machine}"
        os.makedirs(here)
        for i in range(bench.count(CHECKPOINTS)):
            text, size = make_files.header(make_files.names(LAYERS, f"run{machine % 7}"), {"step": str(i)})
            make_files.write(here / f"step-{i:06d}.safetensors", text, size)
        sources.append(str(bench.root / f"m{machine}.db"))
        bench.run([bench.ckptdb, "-d", sources[-1], "import", str(here)])

    def before(side):
        for path in [merged, one][side:side + 1]:
            if path.exists():
                path.unlink()
    bench.compare(name, [bench.ckptdb, "-d", str(merged), "merge", *sources],
                  [bench.ckptdb, "-d", str(one), "import", str(folder)], 0.5, before=before,
                  same=lambda *_: rows(bench, merged) == rows(bench, one),
                  note=lambda: f", {merged.stat().st_size / 1e6:.1f} MB and {one.stat().st_size / 1e6:.1f} MB")
    took = bench.run([bench.ckptdb, "-d", str(merged), "merge", *sources])[0]
    tensors = sqlite3.connect(merged).execute("SELECT count(*) FROM _checkpoints").fetchone()[0]
    bench.say("merge: all of them again", f"{took * 1000:.0f} ms for {tensors} checkpoints that are known")
