"""A tree of zarr arrays that nobody has looked at for a while: what many threads of I/O gain.

Caches are dropped before each run (/proc/sys/vm/drop_caches, which only root may write); where
that cannot be done there is nothing to measure, and the row is left out.
"""
import os

ARRAYS = 5000
METADATA = ('{"chunks":[16,16],"compressor":{"id":"zstd","level":1},"dimension_separator":".",'
            '"dtype":"<f4","fill_value":null,"filters":null,"order":"C","shape":[32,32],"zarr_format":2}')


def make(root, arrays):
    root.mkdir()
    (root / ".zgroup").write_text('{"zarr_format":2}')
    for i in range(arrays):
        folder = root / f"layers_{i % 50}" / f"param_{i}"
        folder.mkdir(parents=True)
        (folder / ".zarray").write_text(METADATA)
        for key in ("0.0", "0.1", "1.0", "1.1"):
            (folder / key).write_bytes(b"chunk")


def drop_caches():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as knob:
        knob.write("3\n")


def run(bench):
    name = "cold zarr tree, many I/O threads against one"
    if not bench.wants(name):
        return
    try:
        drop_caches()
    except OSError as why:
        bench.leave_out(name, f"caches cannot be dropped ({why.strerror})")
        return
    store, arrays = bench.root / "store.zarr", bench.count(ARRAYS)
    make(store, arrays)
    catalogs = [str(bench.root / "many.db"), str(bench.root / "one.db")]

    def before(side):
        for suffix in ("", "-wal", "-shm", "-journal"):
            if os.path.exists(catalogs[side] + suffix):
                os.remove(catalogs[side] + suffix)
        drop_caches()

    def same(_, __):
        query = "SELECT count(*), sum(elements), min(name), max(shape) FROM tensor"
        counted = [bench.run([bench.ckptdb, "-d", catalog, "--csv", query])[1] for catalog in catalogs]
        return counted[0] == counted[1] and f"{arrays},".encode() in counted[0]

    bench.compare(name, [bench.ckptdb, "-d", catalogs[0], "import", str(store)],
                  [bench.ckptdb, "-d", catalogs[1], "import", "--jobs", "1", str(store)],
                  0.35, before, same, f"; {arrays} arrays")
