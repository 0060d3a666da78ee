"""Catalogs in Apache Spark: a data source for PySpark 4, and work on many catalogs, spread over the workers.

    spark.read.format("ckptdb").option("view", "tensor").load("/catalogs/*.db")

Every catalog is a partition, which a worker queries in SQL: the workers need this package, and see the catalogs under the
same paths. `register(spark, "/catalogs/*.db")` makes the data source known to a session, and all views its temporary
views; like read() it spreads many catalogs over one partition per core: a task takes longer to start than ten catalogs
to be read.

Options
-------
view : a public view, or a table function
args : the arguments of a table function, a JSON list; or each under its own name, as an option
any column of the view : its required value; for a checkpoint's id also its name
columns : names of the wanted columns, separated by commas. (PySpark does not tell a data source which these are.)
catalog : "false": without the column `catalog`, the catalog's path, which tells ids of different catalogs apart
where : a condition in SQLite's SQL, with all functions of the catalog, passed on unchanged
partitions : the most partitions, with several catalogs each; default: one for each catalog
log : a file to which each partition appends its statement, one JSON object per line
"""
from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import glob
import hashlib
import itertools
import json
import os
import re
import secrets
import shutil
import sqlite3
import tempfile
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union
from urllib.parse import unquote, urlsplit

from . import catalog as _catalog
from . import errors
from .frames import record_batches
from .pushdown import Condition, condition
from .views import Column, columns, names, quoted, schema

try:
    from pyspark.errors import PySparkException
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
except ImportError as missing:
    raise ImportError("ckptdb.spark needs PySpark 4 or later: pip install 'ckptdb[spark]'") from missing

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

Scan = Tuple[List[Condition], List[Condition]] # of the column catalog, of others
Paths = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]
OPTIONS = ("path", "paths", "view", "args", "columns", "catalog", "where", "log", "partitions", "pushed")
CATALOG = Column("catalog", "TEXT", False)
SQL_TYPES = {"INTEGER": "bigint", "REAL": "double", "BLOB": "binary"}
TOGETHER = 1 << 22 # bytes that are worth a batch
PATIENCE = 600 # seconds that a task waits for another that writes the same catalog


def listed(paths: Iterable[str]) -> List[str]:
    """The catalogs of globs, folders (their *.db) and files; an error if one has none."""
    found: Dict[str, None] = {}
    for path in paths:
        at = unquote(urlsplit(path).path) if path.startswith("file:") else os.path.expanduser(path)
        some = [at] if os.path.isfile(at) else sorted(glob.glob(os.path.join(glob.escape(at), "*.db") if os.path.isdir(at) else at,
                                                                recursive=True))
        if not some:
            raise errors.Missing(f"{path}: no catalog is there", path)
        found.update(dict.fromkeys(map(os.path.abspath, some)))
    return list(found)


def both(conditions: Iterable[Condition]) -> Condition:
    listed = list(conditions)
    return " AND ".join(f"({sql})" for sql, _ in listed), [v for _, values in listed for v in values]


def either(scans: "List[List[Condition]]") -> List[Condition]:
    """The condition for rows that at least one scan wants; empty if one wants all."""
    if not all(scans):
        return []
    if len(scans) == 1:
        return scans[0]
    listed = [both(conditions) for conditions in scans]
    return [(" OR ".join(f"({sql})" for sql, _ in listed), [v for _, values in listed for v in values])]


def holds(path: str, conditions: Iterable[Condition]) -> bool:
    """Whether conditions on the column `catalog` hold for one."""
    sql, values = both(conditions)
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        return not sql or db.execute(f"SELECT 1 FROM (SELECT ? AS catalog) WHERE {sql}", [path, *values]).fetchone() is not None


@functools.lru_cache(maxsize=None)
def columns_of(view: str) -> List[Column]:
    with _catalog.open(":memory:") as db:
        return columns(db, view)


class Question:
    """The query for each catalog: a view, its columns and conditions."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.view = options.get("view", "tensor")
        self.log = options.get("log")
        most = options.get("partitions", str(1 << 31))
        if not re.fullmatch("[1-9][0-9]{0,9}", most):
            raise errors.Argument(f"option partitions: {most} is not a number of partitions")
        self.partitions = int(most)
        known = columns_of(self.view)
        self.kinds = {c.name: c.kind for c in known}
        shown = [c for c in known if not c.hidden]
        if options.get("catalog", "true").lower() != "false":
            shown.append(CATALOG)
        self.columns = self.chosen(shown, [n.strip() for n in options["columns"].split(",")] if "columns" in options else None)
        self.arguments: List[Any] = json.loads(options.get("args", "[]"))
        if not isinstance(self.arguments, list):
            raise errors.Argument(f"option args: {options['args']} is not a JSON list")
        self.conditions: List[Condition] = [self.equal(*o) for o in sorted(options.items()) if o[0] not in OPTIONS]
        if "where" in options:
            self.conditions.append((options["where"], []))
        self.scans: List[Scan] = [([], [])]

    def chosen(self, shown: Sequence[Column], wanted: Optional[Sequence[str]]) -> List[Column]:
        by_name = {c.name.lower(): c for c in shown}
        absent = [n for n in wanted or () if n.lower() not in by_name]
        if absent:
            raise errors.Argument(f"{self.view} has no column {absent[0]!r}; its columns are {', '.join(by_name)}")
        return list(shown) if wanted is None else [by_name[n.lower()]._replace(name=n) for n in wanted]

    def equal(self, option: str, value: str) -> Condition:
        """An option that names a column or an argument."""
        name = next((n for n in self.kinds if n.lower() == option.lower()), None)
        if name is None:
            raise errors.Argument(f"option {option!r}: {self.view} has no such column; other options are {', '.join(OPTIONS)}")
        if self.kinds[name] != "TEXT" and re.fullmatch(r"-?\d{1,18}", value):
            return f"{quoted(name)} = ?", [int(value)]
        if name.endswith("_id") and self.kinds[name] == "INTEGER":
            return f"{quoted(name)} IN (SELECT id FROM checkpoint WHERE name = ?)", [value]
        return f"{quoted(name)} = ?", [value]

    def push(self, filters: Iterable[Any]) -> "Scan":
        """The filters that SQL can apply."""
        pushed: Scan = ([], [])
        for one in filters:
            for kinds, taken in zip(({"catalog": "TEXT"}, {c.name.lower(): c.kind for c in self.columns}), pushed):
                made = condition(one, kinds)
                if made:
                    taken.append(made)
                    break
        return pushed

    def of(self, path: str) -> "List[List[Condition]]":
        """The conditions of each scan that wants rows of this catalog."""
        return [conditions for of_catalog, conditions in self.scans if holds(path, of_catalog)]

    def statement(self, path: str) -> Tuple[str, List[Any]]:
        """A partition's statement, and the values of its ?."""
        wanted = ", ".join(quoted(c.name) for c in self.columns if c.name.lower() != "catalog") or "1"
        called = f"({', '.join('?' * len(self.arguments))})" if self.arguments else ""
        where = [*self.conditions, *either(self.of(path))]
        text = f"SELECT {wanted} FROM {quoted(self.view)}{called}"
        return text + (f" WHERE {both(where)[0]}" if where else ""), [*self.arguments, *both(where)[1]]

    def dealt(self, paths: Iterable[str]) -> List[List[str]]:
        """The catalogs to be queried, by partition: large ones are separate."""
        asked = sorted(filter(self.of, paths), key=os.path.getsize, reverse=True)
        count = min(self.partitions, len(asked))
        return [asked[i::count] for i in range(count)]

    def rows(self, path: str) -> "Iterator[pyarrow.RecordBatch]":
        """The answer of one catalog."""
        import pyarrow as pa
        statement, values = self.statement(path)
        if self.log:
            line = {"catalog": path, "process": os.getpid(), "statement": statement, "values": values}
            with open(self.log, "ab", buffering=0) as file: # one write a line: partitions run at once
                file.write(json.dumps(line).encode() + b"\n")
        own = [c for c in self.columns if c.name.lower() != "catalog"] or [Column("one", "INTEGER", False)]
        try:
            with _catalog.open(path, "r") as db:
                for batch in record_batches(db.sql(statement, values), schema(own)):
                    arrays = dict(zip((c.name.lower() for c in own), batch.columns), catalog=pa.repeat(path, batch.num_rows))
                    yield pa.RecordBatch.from_arrays([arrays[c.name.lower()] for c in self.columns], schema=schema(self.columns))
        except errors.Error as error:
            raise type(error)(f"catalog {path}: {error}", path) from None


class Reader(DataSourceReader):
    """Reads a view of catalogs."""

    def __init__(self, paths: List[str], question: Question, pushed: Optional[str]) -> None:
        self.paths, self.question, self.pushed = paths, question, pushed

    @property
    def pushFilters(self) -> Any: # type: ignore[override,unused-ignore]
        return Push(self)

    def partitions(self) -> List[InputPartition]:
        return [InputPartition(paths) for paths in self.question.dealt(self.paths)]

    def read(self, partition: InputPartition) -> "Iterator[pyarrow.RecordBatch]":
        """Join the answers of small catalogs: Spark takes long for each batch."""
        import pyarrow as pa
        held: List[pa.RecordBatch] = []
        size = 0
        answers = (batch for path in partition.value or () for batch in self.question.rows(path))
        for batch in itertools.chain(answers, [None]):
            if batch is not None:
                held.append(batch)
                size += batch.nbytes
            if held and (batch is None or size >= TOGETHER):
                yield from pa.Table.from_batches(held).combine_chunks().to_batches()
                held, size = [], 0


class Push:
    """Reader.pushFilters.

    Spark (4.1 to 4.3) keeps one answer of pushFilters() for each data frame that was loaded, the last one, and gives it to all
    its scans: in one query (a join with itself) and in later ones, even scans without a filter. So each
    answer holds the filters of all scans so far, joined by OR, and Spark applies all filters again; and
    only frames of read() and register(), whose scans all have a filter, get pushed filters.

    Where spark.sql.python.filterPushdown.enabled is off, its default, Spark refuses readers with a method of this name
    that is not the inherited one, by its `__func__`. This one may go uncalled: the rows are the same.
    """

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.__func__ = getattr(DataSourceReader, "pushFilters", None) # None: PySpark 4.0 pushes nothing

    def __call__(self, filters: List[Any]) -> List[Any]:
        question = self.reader.question
        if self.reader.pushed and os.path.isdir(os.path.dirname(self.reader.pushed)): # not on another machine
            with open(self.reader.pushed, "a+", encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.write(json.dumps(question.push(filters)) + "\n")
                file.flush()
                file.seek(0)
                question.scans = [json.loads(line) for line in dict.fromkeys(file)]
        return filters


class Source(DataSource):
    """The data source "ckptdb"."""

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.scanned = secrets.token_hex(8) # by all scans of what was loaded once

    @classmethod
    def name(cls) -> str:
        return "ckptdb"

    def paths(self) -> List[str]:
        given = self.options.get("path")
        return listed(json.loads(self.options.get("paths", "[]")) if given is None else [given])

    def schema(self) -> str:
        self.paths() # a wrong path is told at once
        return ddl(Question(self.options).columns)

    def reader(self, schema: Any) -> Reader:
        question = Question(self.options)
        question.columns = question.chosen([*question.columns, CATALOG], schema.names)
        pushed = self.options.get("pushed")
        return Reader(self.paths(), question, pushed and os.path.join(pushed, self.scanned))


def ddl(shown: Sequence[Column]) -> str:
    """Columns as Spark's SQL declares them.

    >>> ddl([Column("name", "TEXT", False), Column("nbytes", "INTEGER", False)])
    '`name` string, `nbytes` bigint'
    """
    return ", ".join(f"`{c.name}` {SQL_TYPES.get(c.kind, 'string')}" for c in shown)


def texts(paths: Paths) -> List[str]:
    return [os.fspath(paths)] if isinstance(paths, (str, os.PathLike)) else [os.fspath(p) for p in paths]


def register(spark: "SparkSession", paths: Optional[Paths] = None, **options: str) -> List[str]:
    """Make the data source known to a session, and with `paths` each public view a temporary view of its name.

    Filters are pushed down from then on (`spark.sql.python.filterPushdown.enabled`), as read() says. A view that is
    called like one of ours is replaced. `options` go to the data source. Returns the names.
    """
    spark.dataSource.register(Source)
    if paths is None:
        return []
    with _catalog.open(":memory:") as db:
        made = names(db)
    found = listed(texts(paths))
    for view in made:
        read(spark, found, view, **options).createOrReplaceTempView(view)
    return made


def read(spark: "SparkSession", paths: Paths, view: str = "tensor", **options: str) -> "DataFrame":
    """A view of some catalogs as a data frame, with the options of the data source; filters are pushed down.

    Earlier filters of a data frame are pushed again beside a new one (see Push), so that a new frame
    for each question reads least. register() makes one for each view.
    """
    spark.dataSource.register(Source)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    wanted = [c.name for c in Question({"view": view, **options}).columns]
    asked = {"view": view, **{k: v for k, v in options.items() if k not in ("columns", "catalog")}, "pushed": pushed()}
    with contextlib.suppress(PySparkException): # Spark Connect knows no cores
        asked.setdefault("partitions", str(spark.sparkContext.defaultParallelism))
    kept = [c for c in Question(asked).columns if c.name in wanted or c.name == "catalog"]
    frame = spark.read.format("ckptdb").options(**asked).schema(ddl(kept)).load(listed(texts(paths)))
    return frame.filter("catalog IS NOT NULL").select(*(f"`{name}`" for name in wanted))


@functools.lru_cache(maxsize=None)
def pushed() -> str:
    """A folder, as long as this process lives, for the filters of each data frame."""
    made = tempfile.mkdtemp(prefix="ckptdb-spark-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


# --- work on the workers ----------------------------------------------------------------------

def spread(spark: "SparkSession", work: Callable[[Any], Dict[str, Any]], items: Sequence[Any], returns: str) -> "List[Any]":
    """Call `work` on each item in its own task; the dicts that it returns come as rows."""
    def task(batches: "Iterable[pyarrow.RecordBatch]") -> "Iterator[pyarrow.RecordBatch]":
        import pyarrow as pa
        for batch in batches:
            for i in batch.column(0).to_pylist():
                yield pa.RecordBatch.from_pylist([work(items[i])])
    return spark.range(0, len(items), 1, len(items)).mapInArrow(task, returns).collect() if items else []


def patient(work: Callable[[], Any]) -> Any:
    """Write a catalog; wait for another task that writes it."""
    end, pause = time.monotonic() + PATIENCE, 0.1
    while True:
        try:
            return work()
        except errors.Busy:
            if time.monotonic() > end:
                raise
        time.sleep(pause)
        pause = min(pause * 2, 10)


def index_one(item: Tuple[str, str], **options: Any) -> Dict[str, Any]:
    """Index a path into a catalog, which is new as a whole or brought up to date."""
    path, out = item
    def into(at: str) -> Any:
        with _catalog.open(at) as db:
            return db.index(path, **options)
    try:
        report = patient(lambda: into(out)) if os.path.exists(out) else made_new(into, out)
    except errors.Error as error:
        raise type(error)(f"{path}: {error}", path) from None
    counts = {n: getattr(report, n) for n in ("added", "changed", "unchanged", "failed", "vanished", "pruned")}
    return {"path": path, "catalog": out, **counts, "issues": len(report.issues)}


def made_new(into: Callable[[str], Any], out: str) -> Any:
    """A catalog that gets its name when it is complete; if two tasks make one, the first wins."""
    beside = f"{out}.{secrets.token_hex(4)}"
    try:
        report = into(beside)
        try:
            os.link(beside, out)
        except FileExistsError:
            pass
        except OSError: # a file system without links
            if not os.path.exists(out):
                os.rename(beside, out)
        return report
    finally:
        for name in (beside, beside + "-wal", beside + "-shm", beside + "-journal"):
            if os.path.exists(name):
                os.unlink(name)


def catalog_of(path: str, out: str) -> str:
    """The catalog of a path, in a folder of catalogs."""
    stem = re.sub(r"[^\w.-]+", "_", os.path.basename(path.rstrip("/")), flags=re.ASCII)[:80] or "all"
    return os.path.join(out, f"{stem}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:12]}.db")


def index(spark: "SparkSession", paths: Paths, out: Union[str, "os.PathLike[str]"], follow: bool = False, prune: bool = False,
          salvage: bool = False) -> "DataFrame":
    """Index paths on the workers, each into a catalog of its own in the folder `out`.

    A new catalog appears when it is complete; one that an earlier call made is brought up to date. Tasks may
    run twice, also at once.

    Returns
    -------
    DataFrame
        path, catalog, added, changed, unchanged, failed, vanished, pruned, issues
    """
    folder = os.path.abspath(os.path.expanduser(os.fspath(out)))
    os.makedirs(folder, exist_ok=True)
    whole = dict.fromkeys(p if "://" in p else os.path.abspath(os.path.expanduser(p)) for p in texts(paths))
    returns = "path string, catalog string, added bigint, changed bigint, unchanged bigint, failed bigint, vanished bigint," \
        " pruned bigint, issues bigint"
    work = functools.partial(index_one, follow=follow, prune=prune, salvage=salvage)
    return spark.createDataFrame(spread(spark, work, [(p, catalog_of(p, folder)) for p in whole], returns), returns)


def content_one(path: str, what: str, **options: Any) -> Dict[str, Any]:
    def work() -> None:
        with _catalog.open(path) as db:
            getattr(db, what)(**options)
    try:
        patient(work)
    except errors.Error as error:
        raise type(error)(f"catalog {path}: {error}", path) from None
    return {"catalog": path}


def content(spark: "SparkSession", paths: Paths, what: str, view: str, asked: str = "", **options: Any) -> "DataFrame":
    """Work through catalogs on the workers, and read a view of the results from them."""
    found = listed(texts(paths))
    spread(spark, functools.partial(content_one, what=what, **options), found, "catalog string")
    return read(spark, found, view, **({"columns": asked} if asked else {}))


def hash(spark: "SparkSession", paths: Paths, again: bool = False) -> "DataFrame":
    """Hash the tensors of catalogs on the workers, a catalog a task: rows of id, name, hash and catalog.

    Known hashes are not computed again, so that a task may run twice; each result is written in one transaction.
    """
    return content(spark, paths, "hash", "checkpoint", "id,name,hash,catalog", again=again)


def stats(spark: "SparkSession", paths: Paths, tensors: Optional[str] = None, again: bool = False) -> "DataFrame":
    """Statistics of tensors, on the workers: rows of the view `stats`. `tensors`: a regular expression."""
    return content(spark, paths, "stats", "stats", tensors=tensors, again=again)


def verify(spark: "SparkSession", paths: Paths, quick: bool = False) -> "DataFrame":
    """Find damage on the workers: rows of the view `damage`, none if all is well."""
    return content(spark, paths, "verify", "damage", quick=quick)
