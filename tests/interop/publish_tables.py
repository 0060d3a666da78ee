"""publish(): its Parquet files hold, row by row, what SQL answers, as DuckDB and pandas read them.

    python tests/interop/publish_tables.py build/ckptdb
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
REAL = os.path.join(ROOT, "tests", "fixtures", "real")
RUNS = [b"007", b"2024-01-01", b"a b=c", b"100%", b"x'y\"z", b"caf\xc3\xa9", b"caf\xe9", b"caf\xea", b"q?[*]{:}", b"%2F",
        b"null", b"tab\there", b"long" + b"%" * 150]
done = {True: 0, False: 0}


def check(name, good, why=""):
    done[bool(good)] += 1
    if not good:
        print(f"FAIL {name}: {why}")


def model(path, tensors, metadata=None):
    """A safetensors file of empty tensors."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    header = {name: {"dtype": "F32", "shape": [0, i % 7], "data_offsets": [0, 0]} for i, name in enumerate(tensors)}
    if metadata:
        header["__metadata__"] = metadata
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)


def shown(value):
    """As views of Arrow have it: text alone, UTF-8."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if isinstance(value, str) else value


def sort(rows):
    return sorted(rows, key=repr)


def differ(found, rows):
    at = next((pair for pair in zip(sort(found), rows) if pair[0] != pair[1]), None)
    return f"{len(found)} rows, {len(rows)} expected, {at}"


def expected(db, ckptdb, view):
    """The columns of a view's files, and its rows through SQL."""
    kinds = {c.name: c.kind for c in ckptdb.views.columns(db, view) if not c.hidden}
    run = "" if "run" in kinds or "checkpoint_id" not in kinds else \
        ", (SELECT run FROM checkpoint c WHERE c.id = checkpoint_id) AS run"
    rows = db.sql(f"SELECT {', '.join(kinds)}{run} FROM {view}")
    made = [tuple(shown(v) if kinds.get(c, "TEXT") or v is None else ckptdb.views.shown(v) for c, v in zip(rows.columns, row))
            for row in rows]
    return rows.columns, sort(made)


def read_back(db, out, ckptdb):
    import duckdb
    import pandas
    from ckptdb.publish import VIEWS
    for view in VIEWS:
        wanted, rows = expected(db, ckptdb, view)
        names = ", ".join(f'"{c}"' for c in wanted)
        found = duckdb.sql(f"SELECT {names} FROM read_parquet('{out}/{view}/**/*.parquet',"
                           f" hive_partitioning = {'run' in wanted})").fetchall()
        check(f"{view} by DuckDB", sort(found) == rows, differ(found, rows))
        frame = pandas.read_parquet(os.path.join(out, view), dtype_backend="numpy_nullable")
        found = list(zip(*([None if pandas.isna(v) else v for v in frame[c].tolist()] for c in wanted)))
        check(f"{view} by pandas", sort(found) == rows, differ(found, rows))
    # DuckDB takes a folder of the name null for NULL: another reason to have the run in a column.
    kept = "length(run) < 100 AND run NOT LIKE '%null'"
    asked = duckdb.sql(f"SELECT in_run = run, count(*) FROM read_parquet('{out}/checkpoint/*/*.parquet', hive_partitioning ="
                       f" true) WHERE {kept} GROUP BY 1").fetchall()
    check("folders are runs", asked == [(True, db.sql(f"SELECT count(*) FROM checkpoint WHERE {kept}").fetchone()[0])], asked)


def all_views(ckptdb, at):
    for i, run in enumerate(RUNS):
        for step in (1, 2):
            model(os.path.join(os.fsencode(at), b"runs", run, b"checkpoint-%d" % step, b"model.safetensors").decode(
                "utf-8", "surrogateescape"), [f"layer{i}.w", "nul\0l", "é"], {"n": "1", "k" * 9: "text"})
    with open(os.path.join(at, "runs", "cut.safetensors"), "wb") as file:
        file.write(b"\xff" * 20)
    db = ckptdb.open(os.path.join(at, "catalog.db"))
    db.index(os.path.join(at, "runs"), *(os.path.join(REAL, d) for d in ("tf", "safetensors", "orbax", "torch", "gguf")))
    some = [ck.id for ck in db.checkpoints() if ck.state == "complete"][:40]
    for work in (db.hash, db.stats, db.verify):
        work(*some)
    out = os.path.join(at, "out")
    rows = db.publish(out)
    check("rows are counted", rows["tensor"] == db.sql("SELECT count(*) FROM tensor").fetchone()[0])
    check("rows of all kinds", all(rows[v] for v in ("stats", "content", "issue", "node", "disk", "by_module")), rows)
    read_back(db, out, ckptdb)
    return db, out


def types(out):
    import pyarrow.parquet as pq
    kinds = {f.name: str(f.type) for f in pq.read_schema(os.path.join(out, "tensor", "in_run=!", "part-0.parquet"))}
    check("64 bits", kinds["id"] == kinds["nbytes"] == kinds["offset"] == "int64", kinds)
    check("JSON stays text", kinds["shape"] == "string", kinds)


def replacing(ckptdb, db, out):
    import pyarrow.parquet as pq
    def refused(path, word, **options):
        try:
            db.publish(path, **options)
        except ckptdb.Error as error:
            check(f"refused: {word}", word in str(error), error)
        else:
            check(f"refused: {word}", False, "it wrote")
    refused(out, "exists")
    db.publish(out, ["checkpoint"], force=True)
    check("replaced whole", sorted(os.listdir(out)) == ["checkpoint", "published.json"], os.listdir(out))
    mine = os.path.join(os.path.dirname(out), "mine")
    os.mkdir(mine)
    open(os.path.join(mine, "thesis.tex"), "w").close()
    refused(mine, "left as it is", force=True)
    check("what is not ours stays", os.listdir(mine) == ["thesis.tex"])
    refused(os.path.join(out, "..", "none", "deep"), "none")
    before = set(os.listdir(os.path.dirname(out)))
    refused(os.path.join(os.path.dirname(out), "new"), "there is no view", views=["checkpoint", "absent"])
    refused(out, "there is no view", views=["_place"], force=True)
    check("nothing is left of what failed", set(os.listdir(os.path.dirname(out))) == before)
    check("and the old one is whole", pq.read_table(os.path.join(out, "checkpoint")).num_rows == len(db))
    empty = ckptdb.open(":memory:")
    at = os.path.join(os.path.dirname(out), "empty")
    check("an empty catalog", not any(n for v, n in empty.publish(at).items() if not v.startswith("rule")))
    check("has its columns", "nbytes" in pq.read_table(os.path.join(at, "tensor")).column_names)


def one_moment(ckptdb, db, at):
    """What another connection writes meanwhile is in all views or in none."""
    import pyarrow.parquet as pq
    path = os.path.join(at, "more", "late.safetensors")
    model(path, ["late"])
    started, errors = threading.Event(), []
    def writer():
        started.wait()
        try:
            with ckptdb.open(db.path) as other:
                other.index(path)
        except ckptdb.Error as error:
            errors.append(error)
    thread = threading.Thread(target=writer)
    thread.start()
    out = os.path.join(at, "moment")
    db.publish(out, progress=lambda doing, done, total: started.set() if done == 1 else None)
    thread.join()
    ids = {v: set(pq.read_table(os.path.join(out, v)).column(c).to_pylist())
           for v, c in (("checkpoint", "id"), ("tensor", "checkpoint_id"), ("file", "checkpoint_id"))}
    check("one moment", ids["checkpoint"] >= ids["file"] and ids["checkpoint"] >= ids["tensor"], errors)


MILLION = """
import re, sys, ckptdb
def peak():
    return int(re.search("VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) >> 10
db = ckptdb.open(sys.argv[1], "r")
import pyarrow.parquet, pandas
before = peak()
rows = db.publish(sys.argv[2], ["tensor", "largest"])
print(rows["tensor"], peak() - before)
"""


def memory(ckptdb, at):
    """A million tensors in one folder: as much memory as some batches take."""
    for i in range(20):
        model(os.path.join(at, "million", f"m{i}", "model.safetensors"), [f"layers.{j}.weight.of.model" for j in range(50000)])
    db = ckptdb.open(os.path.join(at, "million.db"))
    db.index(os.path.join(at, "million"))
    db.close()
    said = subprocess.run([sys.executable, "-c", MILLION, os.path.join(at, "million.db"), os.path.join(at, "million.out")],
                          capture_output=True, text=True, check=False)
    rows, mib = map(int, said.stdout.split() or [0, 0])
    check("a million tensors", rows == 10**6, said.stderr)
    check("memory", mib < 250, f"{mib} MiB")
    print(f"a million tensors twice: {mib} MiB above what libraries take")


def main():
    package = os.path.join(os.path.dirname(os.path.realpath(sys.argv[1])), "python")
    sys.path.insert(0, package)
    os.environ["PYTHONPATH"] = package
    try:
        import ckptdb
        import ckptdb.views
        import duckdb
        import pandas
        import pyarrow
    except ImportError as error:
        print(f"skipped: {error.name} is not installed")
        print("0 passed, 0 failed")
        return 0
    with tempfile.TemporaryDirectory() as at:
        db, out = all_views(ckptdb, at)
        types(out)
        replacing(ckptdb, db, out)
        one_moment(ckptdb, db, at)
        memory(ckptdb, at)
    print(f"{done[True]} passed, {done[False]} failed")
    return done[False]


if __name__ == "__main__":
    sys.exit(bool(main()))
