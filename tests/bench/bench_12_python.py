"""The Python package against safetensors, NumPy and pandas; each row is a process that runs both in turn."""
import json
import os
import pathlib
import shutil

# ratio of medians, and what each took
HEAD = """
import json, os, sqlite3, statistics, sys, time
import numpy as np
import ckptdb

def ratio(ours, theirs, pairs):
    times = ([], [])
    for pair in range(pairs + 1):
        for side, work in enumerate((ours, theirs)):
            began = time.perf_counter()
            work()
            if pair:
                times[side].append(time.perf_counter() - began)
    a, b = map(statistics.median, times)
    both = sorted(x / y for x, y in zip(*times))
    print(json.dumps([a / b, both[0], both[-1], a, b]))

at = sys.argv[1]
pairs = int(sys.argv[2])
db = ckptdb.open(":memory:")

def file(name, arrays):
    from safetensors.numpy import save_file
    path = os.path.join(at, name)
    save_file(arrays, path)
    db.index(path)
    return path
"""
LIST = """
from safetensors import safe_open
path = file("list.safetensors", {f"layers.{i // 50}.block.{i % 50}.weight": np.zeros((4, 8), "f4") for i in range(5000)})

def theirs():
    with safe_open(path, "np") as f:
        return {n: tuple(f.get_slice(n).get_shape()) for n in f.keys()}

def ours():
    return {n: t.shape for n, t in db["list.safetensors"].items()}

assert ours() == theirs()
ratio(ours, theirs, pairs)
"""
SMALL = """
from safetensors import safe_open
path = file("small.safetensors", {f"layers.{i // 50}.block.{i % 50}.bias": np.full(16, i, "f4") for i in range(10000)})

def theirs():
    with safe_open(path, "np") as f:
        return [f.get_tensor(n) for n in f.keys()]

def ours():
    return [t[...] for t in db["small.safetensors"].values()]

assert sorted(a[0] for a in ours()) == sorted(a[0] for a in theirs())
ratio(ours, theirs, pairs)
"""
LARGE = """
path = file("large.safetensors", {"w": np.arange(4 << 20, dtype="f4").reshape(2048, 2048)})
t = db["large.safetensors"]["w"]
offset = t._places()["extents"][0]["offset"]
theirs = lambda: np.fromfile(path, "f4", offset=offset)
assert (t[...].ravel() == theirs()).all()
ratio(lambda: t[...], theirs, 4 * pairs)
"""
FRAME = """
import pandas
path = os.path.join(at, "flat.db")
with sqlite3.connect(path) as flat:
    flat.execute("CREATE TABLE flat AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999999)"
                 " SELECT i AS id, 'layers.' || i || '.weight' AS name, i * 0.5 AS x, i * 4096 AS nbytes FROM n")
other = ckptdb.open(os.path.join(at, "frame.db"))
other.sql("ATTACH ? AS f", [path])
ask = "SELECT id, name, x, nbytes FROM flat"
ours = lambda: other.sql(ask).df()
theirs = lambda: pandas.read_sql(ask, flat)
pandas.testing.assert_frame_equal(ours(), theirs(), check_dtype=False)
ratio(ours, theirs, max(3, pairs // 2))
"""
SPARK = """
import pandas, warnings
from pyspark.sql import SparkSession
warnings.simplefilter("ignore")
os.environ.update(PYSPARK_PYTHON=sys.executable)
paths = []
for c in range(100):
    names = [{"dtype": ["F32", "BF16"][i % 2], "shape": [0, i % 9], "data_offsets": [0, 0]} for i in range(TENSORS // 5)]
    text = json.dumps({f"catalog{c}.layers.{i}.weight": n for i, n in enumerate(names)}).encode()
    os.makedirs(os.path.join(at, "spark", str(c)), exist_ok=True)
    with open(os.path.join(at, "spark", str(c), "model.safetensors"), "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
    paths.append(os.path.join(at, "spark", f"{c}.db"))
    with ckptdb.open(paths[-1]) as one:
        one.index(os.path.join(at, "spark", str(c)))
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.log.level", "OFF").config(
    "spark.sql.shuffle.partitions", "2").config("spark.sql.execution.arrow.pyspark.enabled", "true").getOrCreate()
ask = "SELECT dtype, rank, count(*), sum(nbytes) FROM {t} WHERE dtype = 'bfloat16' AND name LIKE '%.layers.1%' GROUP BY dtype, rank"

def ours():
    ckptdb.spark.read(spark, paths, "tensor", columns="name,dtype,rank,nbytes").createOrReplaceTempView("o")
    return spark.sql(ask.format(t="o")).collect()

def theirs():
    frames = []
    for path in paths:
        with sqlite3.connect(path) as held:
            frames.append(pandas.read_sql("SELECT name, dtype, rank, nbytes FROM tensor", held))
    spark.createDataFrame(pandas.concat(frames)).createOrReplaceTempView("p")
    return spark.sql(ask.format(t="p")).collect()

assert sorted(map(tuple, ours())) == sorted(map(tuple, theirs()))
ratio(ours, theirs, max(2, pairs // 3))
"""
ROWS = [("Python: list names and shapes of 5,000 tensors, against safe_open", LIST, "safetensors", 0.5),
        ("Python: read 10,000 small tensors one by one, against safe_open().get_tensor", SMALL, "safetensors", 0.5),
        ("Python: t[...] of 16 MiB, against numpy.fromfile", LARGE, "safetensors", 1.1),
        ("Python: a data frame of a million rows, against pandas.read_sql", FRAME, "pandas", 1.2),
        ("Python: a filtered sum of Spark's over 100 catalogs of 20,000 tensors, against the rows through pandas", SPARK,
         "pyspark, pyarrow, pandas", 0.2)]


def run(bench):
    package = str(pathlib.Path(bench.ckptdb).resolve().parent / "python")
    for name, script, module, goal in ROWS:
        if not bench.wants(name):
            continue
        python = bench.python_with(f"cffi, {module}")
        if not python or script is SPARK and not shutil.which("java"):
            bench.leave_out(name, f"there is no {module if not python else 'Java'}")
            continue
        script = script.replace("TENSORS", str(bench.count(100000)))
        told = bench.run([python, "-c", HEAD + script, str(bench.root), str(bench.pairs)],
                         env={**os.environ, "PYTHONPATH": package})[1]
        ratio, least, most, ours, theirs = json.loads(told)
        bench.row(name, ratio, least, most, goal, f"{ours * 1000:.1f} ms against {theirs * 1000:.1f} ms")
