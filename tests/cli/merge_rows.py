"""merge_rows.py - catalogs merged against one that imported the same, row by row, and kills while they merge."""
import os
import random
import signal
import sqlite3
import subprocess
import time

PROGRAM = os.environ["CKPTDB_BIN"]
REAL = os.path.join(os.environ["TESTS"], "fixtures", "real")
PARTS = {"a": ["safetensors", "tf", "numpy", "t5x"], "b": ["torch", "gguf", "hdf5"], "c": ["jax", "onnx", "orbax"]}
# The views' rows without ids, times of import, and columns that depend on which came first.
VIEWS = {
    "checkpoint": "name, path, format, run, run_path, step, item, state, tensors, parameters, nbytes, stored, files, mtime, hash",
    "tensor": "checkpoint, path, ord, name, dtype, shape, rank, elements, nbytes, stored, storage, file, offset, hash",
    "extent": "(SELECT path FROM tensor t WHERE t.id = tensor_id), (SELECT name FROM tensor t WHERE t.id = tensor_id), ordinal,"
              " file, offset, stored, codec, origin, shape, strides",
    "file": "path, size, mtime_ns, inode, device, role",
    "metadata": "checkpoint, key, value",
    "node": "(SELECT name FROM checkpoint c WHERE c.id = checkpoint_id), name, kind",
    "issue": "checkpoint, path, offset, severity, code, message",
    "by_dtype": "checkpoint, dtype, tensors, parameters, nbytes",
    "by_module": "checkpoint, module, depth, tensors, parameters, nbytes",
    "by_folded_module": "checkpoint, module, depth, tensors, parameters, nbytes",
    "by_name": "name, dtype, shape, elements, nbytes, checkpoints",
    "disk": "run, folder, files, bytes",
    "content": "hash, tensor_name(tensor_id)",
    "stats": "checkpoint, name, elements, min, max, mean, std, l2, zeros, nans, infs, subnormals, histogram",
    "trend": "run, step, checkpoint, name, l2, change",
    "damage": "checkpoint, name, file, offset, code, message",
    "verification": "checkpoint, quick, findings",
    "duplicate": "hash, dtype, shape, nbytes, copies, wasted",
    "adapter": "checkpoint, kind, name, rank, alpha, status",
    "main.by_module": "checkpoint, module, depth, tensors, parameters, nbytes",
    "main.tensor": "path, ord, name, dtype, shape, storage, file, offset",
    "checkpoint AS c GROUP BY layout": "count(*), min(name), sum(tensors)",
    "translation WHERE ruleset = 't5_to_t5x'": "old_name, new_name, dtype, shape, rule, status",
    "checkpoint AS c JOIN tensor t ON t.checkpoint_id = c.id": "c.name, t.name",
    "ruleset": "name, dialect, options, shipped",
    "rule": "ruleset, ord, pattern, replacement, compute, ops",
}


def run(catalog, *words, okay=(0, 1)):
    done = subprocess.run([PROGRAM, "-d", catalog, *words], capture_output=True, text=True, errors="surrogateescape", check=False)
    assert done.returncode in okay, (words, done.returncode, done.stderr)
    return done


def dump(catalog):
    """All rows of storage, but the sums of pages."""
    db = sqlite3.connect(f"file:{catalog}?mode=ro", uri=True)
    db.text_factory = bytes
    names = [n.decode() for n, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")]
    return {n: sorted(map(repr, db.execute(f'SELECT * FROM "{n}"'))) for n in names if n != "_page_sums"}


def rows(catalog, view, columns):
    words = view if " GROUP BY " in view or " JOIN " in view or " WHERE " in view else view
    done = run(catalog, "--jsonl", f"SELECT {columns} FROM {words}", okay=(0,))
    return sorted(done.stdout.splitlines())


def summed(catalog):
    with open(catalog, "rb") as f:
        counter = f.read(28)[24:]
    sums, = sqlite3.connect(catalog).execute("SELECT substr(sums, 1, 4) FROM _page_sums").fetchone()
    return sums[::-1] == counter


def bytes_of(paths):
    found = []
    for path in paths:
        with open(path, "rb") as f:
            found.append(f.read())
    return found


def main():
    folders = {part: [os.path.join(REAL, d) for d in of] for part, of in PARTS.items()}
    run("all.db", "import", *sum(folders.values(), []))
    for part, paths in folders.items():
        run(f"{part}.db", "import", *paths)
    for catalog in "all.db", "a.db", "b.db", "c.db":
        run(catalog, "hash")
        run(catalog, "verify", "--quick")
        for name in run(catalog, "--list", "SELECT id FROM checkpoint WHERE format IN ('tf_bundle', 'safetensors', 'gguf', 'npz')").stdout.split():
            run(catalog, "stats", name, "^[a-m]")
    sources = [f"{part}.db" for part in PARTS]
    before = bytes_of(sources)
    print(run("merged.db", "merge", *sources).stderr.replace("309", "N"), end="")
    for view, columns in VIEWS.items():
        ours, theirs = rows("merged.db", view, columns), rows("all.db", view, columns)
        if ours != theirs:
            print(view, "differs:", len(ours), "and", len(theirs), [r for r in ours if r not in theirs][:2],
                  [r for r in theirs if r not in ours][:2])
        elif not ours:
            print(view, "has no rows")
    shared = {t: (len(m), len(a)) for (t, m), a in zip(dump("merged.db").items(), dump("all.db").values())
              if t.startswith(("_layout", "_meta", "_long", "_content", "_statistics")) and len(m) != len(a)}
    print("tables of another size:", shared)
    print(run("merged.db", "PRAGMA integrity_check; PRAGMA foreign_key_check", okay=(0,)).stdout, end="")
    print("pages summed:", summed("merged.db"))
    first = dump("merged.db")
    run("merged.db", "merge", *sources, okay=(0,))
    run("merged.db", "merge", sources[1], okay=(0,))
    print("again:", dump("merged.db") == first, " sources as they were:", before == bytes_of(sources))
    print(run("merged.db", "import", *sum(folders.values(), [])).stderr.splitlines()[-1].replace("309", "N"))
    print("in memory:", run(":memory:", "-c", ".merge " + " ".join(sources), "-c", "SELECT count(*) FROM tensor").stdout.strip()
          == run("all.db", "SELECT count(*) FROM tensor").stdout.strip())
    kills(sources)


def kills(sources):
    """Into a catalog that has a part: each kill leaves it as it was, or as it would have been."""
    rng, seen, bad = random.Random(26), set(), 0
    run("base.db", "merge", sources[0], okay=(0,))
    with open("base.db", "rb") as f:
        base = f.read()
    old = dump("base.db")
    begun = time.monotonic()
    run("base.db", "merge", sources[1], okay=(0,))
    took, new = time.monotonic() - begun, dump("base.db")
    for _ in range(25):
        for suffix in "", "-journal", "-wal", "-shm":
            if os.path.exists("kill.db" + suffix):
                os.unlink("kill.db" + suffix)
        with open("kill.db", "wb") as f:
            f.write(base)
        p = subprocess.Popen([PROGRAM, "-d", "kill.db", "merge", sources[1]], stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0, took))
        p.send_signal(signal.SIGKILL)
        p.wait()
        run("kill.db", "SELECT 1", okay=(0,))
        now = dump("kill.db")
        seen.add("before" if now == old else "after" if now == new else "between")
    bad += seen - {"before", "after"} != set()
    # Of several catalogs those that were finished are there; the next merge goes on from there, and names all.
    run("whole.db", "merge", *sources, okay=(0,))
    for _ in range(8):
        p = subprocess.Popen([PROGRAM, "-d", "several.db", "merge", *sources], stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0, 2 * took))
        p.send_signal(signal.SIGKILL)
        p.wait()
        run("several.db", "merge", *sources, okay=(0,))
        bad += dump("several.db") != dump("whole.db")
        os.unlink("several.db")
    print("kills:", "bad" if bad else "as before or as after")
    between(sources)


def between(sources):
    """Killed while it waits for the last of several: the checkpoints of the others have names."""
    run("two.db", "merge", *sources[:2], okay=(0,))
    count = "SELECT count(*), count(DISTINCT name), sum(name = path) FROM checkpoint"
    expected = run("two.db", "--list", count, okay=(0,)).stdout
    lock = sqlite3.connect(sources[2], isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    p = subprocess.Popen([PROGRAM, "-d", "several.db", "merge", *sources], stderr=subprocess.DEVNULL)
    while p.poll() is None:
        found = run("several.db", "--readonly", "--list", count, okay=(0, 1, 2, 3, 4, 5)).stdout
        if found.split("|")[0] == expected.split("|")[0]:
            break
        time.sleep(0.01)
    p.send_signal(signal.SIGKILL)
    p.wait()
    lock.close()
    print("names between:", run("several.db", "--list", count, okay=(0,)).stdout == expected or found)
    run("several.db", "merge", *sources, okay=(0,))
    print("named at last:", dump("several.db") == dump("whole.db"))


main()
