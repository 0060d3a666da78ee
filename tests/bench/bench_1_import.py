"""Import: many files that share layouts, repeat headers, or share nothing; and importing again."""
import os
import sys

from make_files import header, many, names

FILES = 2000
LAYERS = 47  # 426 tensors a file


def catalogs(bench):
    return bench.root / "ours.db", bench.root / "reference.db"


def remove(bench):
    def before(side):
        path = catalogs(bench)[side]
        for suffix in ("", "-wal", "-shm", "-journal"):
            if os.path.exists(f"{path}{suffix}"):
                os.remove(f"{path}{suffix}")
    return before


def totals_agree(bench, folder):
    def same(_, reference):
        query = "SELECT sum(tensors), sum(nbytes) FROM checkpoint"
        _, ours = bench.run([bench.ckptdb, "-d", str(catalogs(bench)[0]), "--csv", query])
        wanted = reference.decode().strip().strip("()").replace(" ", "")
        return ours.decode().split()[-1] == wanted
    return same


def one(bench, name, goal, make):
    if not bench.wants(name):
        return
    folder = bench.root / name.replace(" ", "_")
    many(folder, bench.count(FILES), make)
    ours, reference = catalogs(bench)
    bench.compare(name,
                  [bench.ckptdb, "-d", str(ours), "import", str(folder)],
                  [sys.executable, str(bench.root / "reference_import.py"), str(reference), str(folder)],
                  goal, remove(bench), totals_agree(bench, folder),
                  lambda: f"; {bench.count(FILES)} files, catalog {os.path.getsize(ours) / 1e6:.1f} MB")


def again(bench):
    name = "re-import of unchanged files"
    if not bench.wants(name):
        return
    folder = bench.root / "again"
    text, size = header(names(2))
    many(folder, bench.count(10000), lambda i: (text, size))
    catalog = bench.root / "again.db"
    bench.run([bench.ckptdb, "-d", str(catalog), "import", str(folder)])
    bench.compare(name, [bench.ckptdb, "-d", str(catalog), "import", str(folder)],
                  ["find", str(folder), "-printf", "%s %T@ %p\\n"], 2)


def run(bench):
    (bench.root / "reference_import.py").write_bytes(
        (__import__("pathlib").Path(__file__).parent / "reference_import.py").read_bytes())
    distinct = [header(names(LAYERS, f"run{k}")) for k in range(100)]
    one(bench, "import, headers repeat", 0.03, lambda i: distinct[i % 100])
    one(bench, "import, layouts shared", 0.07,
        lambda i: header(names(LAYERS, f"run{i % 100}"), {"step": str(i)}))
    one(bench, "import, all different", 0.3, lambda i: header(names(LAYERS, f"m{i}")))
    again(bench)
