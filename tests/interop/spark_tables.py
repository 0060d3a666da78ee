"""ckptdb.spark: what Spark answers over several catalogs is the union of what each answers itself, with filters in SQL.

    python tests/interop/spark_tables.py build/ckptdb
"""
import json
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
REAL = os.path.join(ROOT, "tests", "fixtures", "real")
CATALOGS = {"a.db": ["tf", "gguf"], "b.db": ["safetensors", "orbax", "t5x"], "c.db": ["torch", "numpy", "hdf5"]}
done = {True: 0, False: 0}

# {c} is a catalog's path; {on} joins rows of one catalog. Behind a query stands what its partitions' WHERE must hold.
QUERIES = [
    ("SELECT {c}, id, name, format, run, step, state, layout, tensors, nbytes, stored FROM checkpoint", []),
    ("SELECT {c}, name FROM checkpoint WHERE format = 'torch'", ['"format" = ?']),
    ("SELECT {c}, name, mtime FROM checkpoint WHERE run IS NULL", ['"run" IS NULL']),
    ("SELECT {c}, name FROM checkpoint WHERE run IS NOT NULL AND step >= 10", ['"step" >= ?', '"run" IS NOT NULL']),
    ("SELECT {c}, count(*), sum(nbytes), sum(elements) FROM tensor GROUP BY {c}", []),
    ("SELECT {c}, id, name, shape FROM tensor WHERE dtype = 'bfloat16'", ['"dtype" = ?']),
    ("SELECT {c}, id, name FROM tensor WHERE dtype IN ('int64', 'float64', 'bool')", ['"dtype" IN (?, ?, ?)']),
    ("SELECT {c}, id FROM tensor WHERE dtype NOT IN ('float32', 'bfloat16')", ['NOT ("dtype" IN (?, ?))']),
    ("SELECT {c}, id, name FROM tensor WHERE name LIKE 'model.%'", ['"name" >= ? AND "name" < ?']),
    ("SELECT {c}, id, name FROM tensor WHERE name LIKE '%kernel'", ["substr(CAST("]),
    ("SELECT {c}, id, name FROM tensor WHERE name LIKE '%layer%'", ["instr("]),
    ("SELECT {c}, id, name FROM tensor WHERE NOT name LIKE '%layer%' AND rank = 2", ["NOT (instr(", '"rank" = ?']),
    ("SELECT {c}, id, nbytes FROM tensor WHERE nbytes > 1000 AND nbytes <= 100000", ['"nbytes" > ?', '"nbytes" <= ?']),
    ("SELECT {c}, id, offset, stored, file FROM tensor WHERE offset IS NOT NULL AND offset < 4096", ['"offset" < ?']),
    ("SELECT {c}, id FROM tensor WHERE offset IS NULL", ['"offset" IS NULL']),
    ("SELECT {c}, id FROM tensor WHERE storage <> 'range'", ['NOT ("storage" = ?)']),
    ("SELECT {c}, id, name FROM tensor WHERE name > 'dec' AND name < 'f'", ['"name" > ?', '"name" < ?']),
    ("SELECT {c}, id FROM tensor WHERE dtype = 'int64' OR rank = 0", []),
    ("SELECT {c}, id, length(name) FROM tensor WHERE length(name) > 30 AND rank = 1", ['"rank" = ?']),
    ("SELECT {c}, dtype, sum(tensors), sum(nbytes) FROM by_dtype GROUP BY {c}, dtype", []),
    ("SELECT {c}, checkpoint_id, module, tensors FROM by_module WHERE depth = 1", ['"depth" = ?']),
    ("SELECT {c}, checkpoint_id, module, tensors FROM by_folded_module WHERE tensors > 3", ['"tensors" > ?']),
    ("SELECT {c}, checkpoint_id, key, value FROM metadata", []),
    ("SELECT {c}, key, value FROM metadata WHERE key LIKE 'general.%' AND value IS NOT NULL", ['"value" IS NOT NULL']),
    ("SELECT {c}, path, size, role FROM file WHERE size > 1000", ['"size" > ?']),
    ("SELECT {c}, checkpoint_id, severity, code, message FROM issue WHERE severity = 'error'", ['"severity" = ?']),
    ("SELECT {c}, checkpoint_id, name, kind FROM node", []),
    ("SELECT t.{c}, c.name, count(*), max(t.nbytes) FROM tensor t JOIN checkpoint c ON {on} c.id = t.checkpoint_id"
     " WHERE t.dtype = 'float32' GROUP BY t.{c}, c.name", ['"dtype" = ?']),
    ("SELECT {c}, checkpoint_id, tensor_id, min, max, mean, std, l2, zeros, histogram FROM stats WHERE max > 1.5", ['"max" > ?']),
    ("SELECT {c}, hash, tensor_id FROM content WHERE hash < '8'", ['"hash" < ?']),
    ("SELECT {c}, checkpoint_id, old_name, new_name, status, rule FROM translation WHERE ruleset = 't5_to_t5x'"
     " AND status = 'ok'", ['"ruleset" = ?', '"status" = ?']),
    ("SELECT {c}, source_id, new_name, old_name, status FROM assignment WHERE ruleset = 'turn'", ['"ruleset" = ?']),
    ("SELECT {c}, name, dialect FROM ruleset", []),
    ("SELECT {c}, ord, pattern, replacement FROM rule WHERE ruleset = 'turn' AND replacement IS NULL", ['"replacement" IS NULL']),
    ("SELECT {c}, run, folder, files, bytes FROM disk", []),
]


def check(name, good, why=""):
    done[bool(good)] += 1
    if not good:
        print(f"FAIL {name}: {why}")


def shown(value):
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if isinstance(value, str) else value


def fails(name, action, *words):
    try:
        action()
    except Exception as error: # pylint: disable=broad-except
        check(name, all(w in str(error) for w in words), f"{words}: {str(error)[:2000]}")
    else:
        check(name, False, "no error")


def own_answers(ckptdb, paths, query):
    rows = []
    for path in paths:
        text = path.replace("'", "''")
        with ckptdb.open(path, "r") as db:
            asked = db.sql(query.replace("t.{c}", f"'{text}'").replace("{c}", f"'{text}'").replace("{on}", ""))
            for row in asked:
                at = dict(zip(asked.columns, row))
                if "value" in at and not isinstance(at["value"], str) and at["value"] is not None:
                    row = (*row[:-1], repr(at["value"]))
                rows.append(tuple(shown(v) for v in row))
    return sorted(rows, key=repr)


class Log:
    """What partitions asked since the last look."""

    def __init__(self, path):
        self.path, self.at = path, 0

    def __call__(self):
        with open(self.path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        new, self.at = lines[self.at:], len(lines)
        return [json.loads(line) for line in new]


def queries(spark, ckptdb, paths, log):
    """Each of views that all queries share, and then of data frames that only it asks."""
    processes = set()
    for query, parts in QUERIES:
        asked = query.replace("{c}", "catalog").replace("{on}", "t.catalog = c.catalog AND")
        expected = own_answers(ckptdb, paths, query)
        for fresh in (False, True) if parts else (False,):
            for view in re.findall(r"(?:FROM|JOIN) (\w+)", query) if fresh else ():
                ckptdb.spark.read(spark, paths, view, log=log.path).createOrReplaceTempView(view)
            found = sorted((tuple(row) for row in spark.sql(asked).collect()), key=repr)
            check(asked, found == expected and (found or "error" in query or "node" in query),
                  f"{len(found)} rows, {len(expected)} expected: "
                  f"{next((p for p in zip(found, expected) if p[0] != p[1]), None)}")
            lines = log()
            processes |= {line["process"] for line in lines}
            check(f"each catalog was asked: {asked}", {line["catalog"] for line in lines} == set(paths), lines)
        hit = [line for line in lines if parts and all(p in line["statement"] for p in parts)]
        check(f"pushed down: {asked}", not parts or {line["catalog"] for line in hit} == set(paths), (parts, lines))
    check("two worker processes", len(processes) >= 2, processes)
    print(f"{len(QUERIES)} queries, {len(processes)} processes")
    ckptdb.spark.read(spark, paths, "tensor", log=log.path).createOrReplaceTempView("tensor")
    union = [tuple(r) for r in spark.sql("SELECT 1, count(*) FROM tensor WHERE dtype = 'bool' UNION ALL"
                                         " SELECT 2, count(*) FROM tensor WHERE dtype = 'int64'").collect()]
    count = lambda where: len(own_answers(ckptdb, paths, f"SELECT 1 FROM tensor {where}"))
    check("two scans of one query", sorted(union) == [(1, count("WHERE dtype = 'bool'")), (2, count("WHERE dtype = 'int64'"))], union)
    check("ask for what either wants", any(" OR " in line["statement"] for line in log()))
    check("a scan without a filter behind them", spark.table("tensor").count() == count(""))


def options(spark, ckptdb, paths, at, log):
    read = lambda **o: spark.read.format("ckptdb").options(log=log.path, **o).load(os.path.join(at, "*.db"))
    log()
    df = read(view="tensor", columns="name,nbytes", dtype="float32")
    check("columns", df.columns == ["name", "nbytes"], df.columns)
    rows = own_answers(ckptdb, paths, "SELECT name, nbytes FROM tensor WHERE dtype = 'float32'")
    check("an option is a condition", sorted(map(tuple, df.collect()), key=repr) == rows)
    check("only these columns are asked", all(line["statement"].startswith('SELECT "name", "nbytes" FROM') for line in log()))
    df = spark.read.format("ckptdb").schema("nbytes bigint, NAME string").option("log", log.path).load(paths)
    check("a schema chooses columns", sorted(map(tuple, df.collect()), key=repr) ==
          own_answers(ckptdb, paths, "SELECT nbytes, name FROM tensor"))
    few = read(view="tensor", partitions="2")
    check("several catalogs a partition", few.rdd.getNumPartitions() == 2 and
          few.count() == len(own_answers(ckptdb, paths, "SELECT 1 FROM tensor")))
    where = read(view="tensor", where="name REGEXP '^(enc|dec)oder' AND rank = 2")
    check("where is SQLite's", where.count() == len(own_answers(ckptdb, paths,
          "SELECT 1 FROM tensor WHERE name REGEXP '^(enc|dec)oder' AND rank = 2")) != 0)
    frame = spark.read.format("ckptdb").load(paths)
    counts = [frame.filter("dtype = 'bool'").count(), frame.count(), spark.read.format("ckptdb").load(paths).count()]
    check("a plain frame twice", counts[0] < counts[1] == counts[2], counts)
    check("catalog can be left out", "catalog" not in read(view="checkpoint", catalog="false").columns)
    log()
    df = ckptdb.spark.read(spark, paths, "checkpoint", log=log.path).filter(f"catalog = '{paths[1]}'")
    with ckptdb.open(paths[1], "r") as db:
        check("one catalog alone is read", df.count() == len(db) and {line["catalog"] for line in log()} == {paths[1]})
        a, b = [ck.name for ck in db.checkpoints("*exp@*")][:2]
        expected = sorted(db.sql("SELECT * FROM diff(?, ?)", [a, b]).fetchall(), key=repr)
        for asked in ({"args": json.dumps([a, b])}, {"a": a, "b": b}):
            found = spark.read.format("ckptdb").options(view="diff", catalog="false", **asked).load(paths[1]).collect()
            check(f"a table function, {list(asked)}", sorted(map(tuple, found), key=repr) == expected, found[:2])
        one = spark.read.format("ckptdb").options(view="translation", ruleset="t5_to_t5x", checkpoint_id=a).load(paths[1])
        check("a checkpoint by its name", one.count() == db.sql("SELECT count(*) FROM translation WHERE ruleset = 't5_to_t5x'"
              " AND checkpoint_id = ?", [db[a].id]).fetchone()[0] != 0)
        tensor = db.sql("SELECT id FROM tensor WHERE dtype = 'float32' AND elements > 3 AND storage <> 'none'").fetchone()[0]
        values = spark.read.format("ckptdb").options(view="tensor_values", args=f"[{tensor}, 0, 3]", catalog="false").load(paths[1])
        check("values", [tuple(r) for r in values.collect()] == [(p, i, repr(v)) for p, i, v in db.sql(
            "SELECT * FROM tensor_values(?, 0, 3)", [tensor])], values.collect())
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")
    check("without push-down the rows are the same", read(view="tensor").filter("dtype = 'bool'").count() ==
          len(own_answers(ckptdb, paths, "SELECT 1 FROM tensor WHERE dtype = 'bool'")))
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    fails("an unknown view", lambda: read(view="nothing").count(), "there is no view or table function 'nothing'")
    fails("an unknown option", lambda: read(view="tensor", colour="red").count(), "colour")
    fails("no number of partitions", lambda: read(view="tensor", partitions="0").count(), "partitions")
    fails("an unknown column", lambda: read(view="tensor", columns="nme").count(), "nme")
    fails("no catalog", lambda: spark.read.format("ckptdb").load(os.path.join(at, "*.sqlite")).count(), "*.sqlite", "no catalog")
    fails("no catalog, registered", lambda: ckptdb.spark.register(spark, os.path.join(at, "none.db")), "none.db")
    hurt = os.path.join(at, "damaged")
    os.mkdir(hurt)
    for path in paths:
        shutil.copy(path, hurt)
    with open(os.path.join(hurt, "b.db"), "r+b") as file:
        size = os.path.getsize(file.name)
        file.seek(16384)
        file.write(b"\xa5" * (size - 16384))
    fails("a damaged catalog", lambda: spark.read.format("ckptdb").load(os.path.join(hurt, "*.db")).collect(),
          os.path.join(hurt, "b.db"))
    open(os.path.join(hurt, "c.db"), "w").close()
    fails("an empty file", lambda: spark.read.format("ckptdb").load(os.path.join(hurt, "c.db")).collect(), "c.db")


def twin(item):
    from ckptdb import spark
    return spark.index_one(item)


def twin_content(item):
    from ckptdb import spark
    return spark.content_one(*item)


def known(ckptdb, path):
    """What tasks have found out about the contents of a catalog."""
    with ckptdb.open(path, "r") as db:
        check(f"whole: {path}", db.sql("PRAGMA integrity_check").fetchall() == [("ok",)])
        return [sorted(db.sql(ask).fetchall(), key=repr) for ask in (
            "SELECT name, hash FROM checkpoint", "SELECT checkpoint_id, name, hash FROM tensor", "SELECT * FROM stats",
            "SELECT checkpoint, name, file, offset, code, message FROM damage", "SELECT checkpoint, quick, findings FROM verification")]


def twice(ckptdb, pool, target):
    """hash, stats and verify: what four tasks at once leave, and one more behind them, is what one leaves."""
    from ckptdb import spark
    once = target.replace(".db", "-once.db")
    shutil.copy(target, once)
    for what in ("hash", "stats", "verify"):
        spark.content_one(once, what)
        before = known(ckptdb, target)
        pool.map(twin_content, [(target, what)] * 4, chunksize=1)
        at_once = known(ckptdb, target)
        twin_content((target, what))
        check(f"{what}: tasks at once", at_once == known(ckptdb, once) != before)
        check(f"{what}: a task again", known(ckptdb, target) == at_once)
    os.unlink(once)


def workers(spark, ckptdb, at):
    """index, hash, stats, verify; each may run twice."""
    folders = [os.path.join(REAL, f) for f in ("safetensors", "orbax", "tf")]
    out = os.path.join(at, "indexed")
    first = ckptdb.spark.index(spark, folders, out).collect()
    check("indexed", [r.path for r in first] == folders and all(r.added for r in first), first)
    check("one catalog a path", sorted(os.listdir(out)) == sorted(os.path.basename(r.catalog) for r in first), os.listdir(out))
    again = ckptdb.spark.index(spark, folders, out).collect()
    check("again changes nothing", [(r.added, r.unchanged) for r in again] == [(0, r.added) for r in first], again)
    for row in first:
        with ckptdb.open(":memory:") as db, ckptdb.open(row.catalog, "r") as other:
            db.index(row.path)
            ask = "SELECT name, path, tensors, nbytes, layout, state FROM checkpoint ORDER BY path"
            check(f"as index() has it: {row.path}", db.sql(ask).fetchall() == other.sql(ask).fetchall())
    target = os.path.join(at, "twins.db")
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        reports = pool.map(twin, [(folders[0], target)] * 4, chunksize=1)
        with ckptdb.open(target, "r") as db:
            check("tasks at once", len(db) == first[0].added and db.sql("PRAGMA integrity_check").fetchall() == [("ok",)], reports)
        twice(ckptdb, pool, target)
    check("nothing is left beside", [n for n in os.listdir(at) if n.startswith("twins")] == ["twins.db"], os.listdir(at))
    pattern = os.path.join(out, "*.db")
    hashes = ckptdb.spark.hash(spark, pattern)
    found = {(r.catalog, r.name): r.hash for r in hashes.collect()}
    before = {r.catalog: os.stat(r.catalog).st_mtime_ns for r in first}
    expected = {}
    for row in first:
        with ckptdb.open(":memory:") as db:
            db.index(row.path)
            expected.update({(row.catalog, name): value for _, name, value in db.hash()})
    check("hashes", found == expected and any(found.values()), len(found))
    check("hash again", {(r.catalog, r.name): r.hash for r in ckptdb.spark.hash(spark, pattern).collect()} == found)
    stats = ckptdb.spark.stats(spark, pattern)
    check("stats", stats.filter("l2 > 0").count() > 50 and "catalog" in stats.columns, stats.columns)
    damage = ckptdb.spark.verify(spark, pattern, quick=True)
    check("verify", "message" in damage.columns and damage.count() < 50, damage.columns)
    fails("a path that is not there", lambda: ckptdb.spark.index(spark, os.path.join(at, "void"), out), "void")
    check("leaves nothing", not [n for n in os.listdir(out) if "void" in n], os.listdir(out))
    return before


def prepare(ckptdb, at):
    paths = []
    for name, folders in CATALOGS.items():
        paths.append(os.path.join(at, name))
        with ckptdb.open(paths[-1]) as db:
            db.index(*(os.path.join(REAL, f) for f in folders))
            complete = [ck.id for ck in db.checkpoints() if ck.state == "complete"][:25]
            db.hash(*complete)
            db.stats(*complete)
            db.maps["turn"] = {"dialect": "t5x-assignment", "rules": [["^new/(.*)", r"\1"], ["^dropped$", None]]}
            db.sql("SELECT 1").fetchall()
    return paths


def main():
    package = os.path.join(os.path.dirname(os.path.realpath(sys.argv[1])), "python")
    sys.path.insert(0, package)
    os.environ.update(PYTHONPATH=package, PYSPARK_PYTHON=sys.executable)
    try:
        import ckptdb
        import pandas
        import pyarrow
        from pyspark.sql import SparkSession
    except ImportError as error:
        print(f"skipped: {error.name} is not installed")
        print("0 passed, 0 failed")
        return 0
    if not shutil.which("java"):
        print("skipped: Java is not installed (openjdk-17-jre-headless)")
        print("0 passed, 0 failed")
        return 0
    with tempfile.TemporaryDirectory() as at:
        paths = prepare(ckptdb, at)
        spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config(
            "spark.sql.shuffle.partitions", "2").config("spark.driver.host", "127.0.0.1").config(
            "spark.log.level", "OFF").config("spark.sql.execution.arrow.pyspark.enabled", "true").getOrCreate()
        spark.sparkContext.setLogLevel("OFF")
        try:
            found = spark.read.format("ckptdb").load(os.path.join(at, "*.db")).count()
            check("found without registering", found == len(own_answers(ckptdb, paths, "SELECT 1 FROM tensor")))
            log = Log(os.path.join(at, "log"))
            begin = time.time()
            views = ckptdb.spark.register(spark, os.path.join(at, "*.db"), log=log.path)
            print(f"{len(views)} views in {time.time() - begin:.1f} s")
            queries(spark, ckptdb, paths, log)
            options(spark, ckptdb, paths, at, log)
            workers(spark, ckptdb, at)
        finally:
            spark.stop()
    print(f"{done[True]} passed, {done[False]} failed")
    return done[False]


if __name__ == "__main__":
    sys.exit(bool(main()))
