"""Indexing files of torch.save against torch.load(mmap=True, map_location="meta")."""
import os
import statistics

TENSORS, FILES, TENSORS_A_FILE = 5000, 2000, 100
MAKE = """
import sys, torch
def save(path, count):
    torch.save({f"layers.{i // 10}.part{i % 10}": torch.zeros(8, 8) for i in range(count)}, path)
save(sys.argv[1] + "/one.pt", int(sys.argv[2]))
for i in range(int(sys.argv[3])):
    save(f"{sys.argv[1]}/many/run_{i:04}.pt", int(sys.argv[4]))
"""
LOAD = """
import sys, time, pathlib, torch
began = time.perf_counter()
path = pathlib.Path(sys.argv[1])
files = sorted(path.iterdir()) if path.is_dir() else [path]
print(sum(len(torch.load(f, mmap=True, map_location="meta")) for f in files))
print(time.perf_counter() - began)
"""


def run(bench):
    names = ["index a torch file of 5,000 tensors, start-up included", "the same without start-up",
             "index 2,000 torch files of one layout"]
    wanted = [name for name in names if bench.wants(name)]
    python = bench.python_with("torch") if wanted else None
    if not python:
        for name in wanted:
            bench.leave_out(name, "there is no PyTorch")
        return
    (bench.root / "many").mkdir()
    (bench.root / "empty").mkdir()
    bench.run([python, "-c", MAKE, str(bench.root), str(TENSORS), str(bench.count(FILES)), str(TENSORS_A_FILE)])
    catalog = str(bench.root / "torch.db")

    def ours(path):
        return [bench.ckptdb, "-d", catalog, "import", str(bench.root / path)]

    def theirs(path):
        return [python, "-c", LOAD, str(bench.root / path)]

    def before(side=0):
        if side:
            return
        for suffix in ("", "-wal", "-shm", "-journal"):
            if os.path.exists(catalog + suffix):
                os.remove(catalog + suffix)

    def same(_, loaded):
        counted = bench.run([bench.ckptdb, "-d", catalog, "--csv", "SELECT count(*) FROM tensor"])[1]
        return loaded.split()[0] in counted

    if bench.wants(names[0]):
        bench.compare(names[0], ours("one.pt"), theirs("one.pt"), 0.1, before, same)
    if bench.wants(names[1]):
        ratios = []
        for _ in range(bench.pairs):
            loaded = float(bench.run(theirs("one.pt"))[1].split()[1])
            before()
            all_ = bench.run(ours("one.pt"))[0]
            before()
            ratios.append((all_ - bench.run(ours("empty"))[0]) / loaded)
        bench.row(names[1], statistics.median(ratios), min(ratios), max(ratios), 0.33, "")
    if bench.wants(names[2]):
        bench.compare(names[2], ours("many"), theirs("many"), 0.05, before, same)
