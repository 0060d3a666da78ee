"""Import: many files that share layouts, repeat headers, or share nothing; and importing again."""
import os
import subprocess
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


def write_long(path, tensors):
    """Piece by piece: this process's memory counts as its children's, too."""
    with open(path, "wb") as f:
        f.write(bytes(8) + b"{")
        for i in range(tensors):
            f.write(b'%s"model.layers.%d.mod%d.w%d.weight":{"dtype":"F32","shape":[%s64],"data_offsets":[%d,%d]}'
                    % (b"," if i else b"", i // 9, i % 9, i % 7, b"1," * (i % 3), i * 256, i * 256 + 256))
        f.write(b"}")
        length = f.tell() - 8
        f.truncate(8 + length + tensors * 256)
        f.seek(0)
        f.write(length.to_bytes(8, "little"))


def most_memory(command, folder):
    """A command's peak memory in MB."""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command}: status {process.returncode}")
    return used.ru_maxrss * 1024 / 1e6


def memory(bench):
    """One checkpoint of very many tensors, near the largest header that safetensors allows."""
    tensors = bench.count(930053)
    rows = [(f"import of {tensors} tensors, MB", 412, ["import", "large"]),
            (f"tree of {tensors} tensors, MB", 250, ["tree", "large.safetensors"])]
    if not any(bench.wants(name) for name, _, _ in rows):
        return
    os.makedirs(bench.root / "large")
    write_long(bench.root / "large/large.safetensors", tensors)
    for name, goal, command in rows:
        used = most_memory([bench.ckptdb, "-d", "large.db", *command], bench.root)
        bench.row(name, used, used, used, goal, "one run")


def run(bench):
    (bench.root / "reference_import.py").write_bytes(
        (__import__("pathlib").Path(__file__).parent / "reference_import.py").read_bytes())
    distinct = [header(names(LAYERS, f"run{k}")) for k in range(100)]
    one(bench, "import, headers repeat", 0.03, lambda i: distinct[i % 100])
    one(bench, "import, layouts shared", 0.07,
        lambda i: header(names(LAYERS, f"run{i % 100}"), {"step": str(i)}))
    one(bench, "import, all different", 0.3, lambda i: header(names(LAYERS, f"m{i}")))
    again(bench)
    memory(bench)
