"""The views of a catalog as Parquet files, for programs that do not know catalogs.

OUT/VIEW/in_run=RUN/part-0.parquet holds the rows of one run, whose exact name (or NULL) is their column `run`; rows of
no run lie in in_run=!. Views whose rows belong to no checkpoint are OUT/VIEW/part-0.parquet.

The folders do not have the column's own name: readers take values from folders' names, where all could be numbers or
dates (007 would be 7), pandas refuses a NULL beside others, and Spark an empty name.
"""
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from . import errors
from .frames import record_batches
from .views import Column, columns, quoted, schema, shown

if TYPE_CHECKING:
    from .calls import Progress
    from .catalog import Catalog

VIEWS = ("checkpoint", "tensor", "metadata", "issue", "file", "node", "by_dtype", "by_module", "by_folded_module", "by_name",
         "largest", "disk", "content", "stats", "trend", "duplicate", "waste", "damage", "verification", "ruleset", "rule")
# It is always there, and first in listings: a reader gets the columns even without rows, and takes no names for numbers.
NO_RUN = "!"
LONGEST = 240 # bytes of a folder's name
MARK = "published.json" # tells a folder that may be replaced

Run = Optional[str]


def folder(run: Run) -> str:
    """The folder of a run, as Hive writes and Spark, DuckDB and pyarrow read names.

    >>> [folder(r) for r in (None, "a/b=c", "caf\\udce9", "007")]
    ['in_run=!', 'in_run=a%2Fb%3Dc', 'in_run=caf\ufffd', 'in_run=007']
    """
    text = re.sub(r'[\x00-\x1f"#%\'*/:=?\\{}\[\]^\x7f]', lambda m: f"%{ord(m[0]):02X}", shown(run or NO_RUN))
    if len(text.encode()) > LONGEST:
        cut = text.encode()[:LONGEST - 17].decode("utf-8", "ignore")
        text = re.sub("%.?$", "", cut) + "~" + hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"in_run={text}"


class Table:
    """One view: its statement for the rows of a run, and the columns of its files."""

    def __init__(self, catalog: "Catalog", view: str) -> None:
        self.catalog, self.view = catalog, view
        self.listed = [c for c in columns(catalog, view) if not c.hidden]
        self.select = ", ".join(quoted(c.name) for c in self.listed)
        self.has_run = any(c.name == "run" for c in self.listed)
        self.has_checkpoint = not self.has_run and any(c.name == "checkpoint_id" for c in self.listed)
        if self.has_checkpoint:
            self.listed.append(Column("run", "TEXT", False))
            self.select += ", ?1"
        self.schema = schema(self.listed)

    def asked(self, more: str = "", values: Sequence[Any] = ()) -> Any:
        """The rows in batches; `more` follows the view's name."""
        return record_batches(self.catalog.sql(f"SELECT {self.select} FROM {quoted(self.view)} {more}", values), self.schema)

    def parts(self, runs: Sequence[Run]) -> Iterator[Tuple[str, Any]]:
        """Folders, each with batches of its rows."""
        if self.has_run: # an aggregate is queried once
            yield folder(None), ()
            for batch in self.asked("ORDER BY run"):
                yield from divided(batch)
        elif self.has_checkpoint:
            for run in runs:
                where = "WHERE checkpoint_id IN (SELECT id FROM checkpoint WHERE run IS ?1)"
                yield folder(run), self.asked(where + (" OR checkpoint_id IS NULL" if run is None else ""), [run])
        else:
            yield "", self.asked()


def divided(batch: Any) -> Iterator[Tuple[str, Any]]:
    """A batch that is ordered by its column run: each run's folder, and its rows."""
    runs = batch.column("run").to_pylist()
    begin = 0
    for end in range(1, len(runs) + 1):
        if end == len(runs) or runs[end] != runs[begin]:
            yield folder(runs[begin]), [batch.slice(begin, end - begin)]
            begin = end


def write(table: Table, runs: Sequence[Run], out: str, counted: Dict[str, int]) -> int:
    """The files of one view below `out`; returns how many rows they have. `counted`: files of each folder."""
    import pyarrow.parquet as pq
    total = 0
    for name, batches in table.parts(runs):
        writer = None
        with contextlib.ExitStack() as held:
            for batch in batches:
                if writer is None:
                    writer = part(pq, held, os.path.join(out, table.view, name), table.schema, counted)
                writer.write_batch(batch)
                total += batch.num_rows
            if writer is None and name in ("", folder(None)):
                part(pq, held, os.path.join(out, table.view, name), table.schema, counted)
    return total


def part(pq: Any, held: contextlib.ExitStack, at: str, kinds: Any, counted: Dict[str, int]) -> Any:
    """A new file of a folder, which `held` closes when it is on the disk."""
    os.makedirs(at, exist_ok=True)
    number = counted[at] = counted.get(at, -1) + 1
    file = held.enter_context(open(os.path.join(at, f"part-{number}.parquet"), "wb"))
    held.callback(lambda: os.fsync(file.fileno()))
    held.callback(file.flush)
    return held.enter_context(pq.ParquetWriter(file, kinds, compression="zstd"))


def check(out: str, force: bool) -> None:
    """Refuse a folder that needs force, and one that even force does not replace."""
    if not os.path.lexists(out):
        return
    if not force:
        raise errors.Argument(f"{out}: exists; force=True writes over it", out)
    if os.path.islink(out) or not os.path.isdir(out) or os.listdir(out) and not os.path.exists(os.path.join(out, MARK)):
        raise errors.Argument(f"{out}: is not a folder that publish() made, and is left as it is", out)


def publish(catalog: "Catalog", out: Union[str, "os.PathLike[str]"], views: Optional[Sequence[str]] = None,
            force: bool = False, tell: Optional["Progress"] = None) -> Dict[str, int]:
    try:
        import pyarrow.parquet
    except ImportError:
        raise errors.Unsupported("publish() writes Parquet with pyarrow: pip install 'ckptdb[parquet]'") from None
    out = os.path.abspath(os.path.expanduser(os.fspath(out)))
    check(out, force)
    beside = os.path.join(os.path.dirname(out), f".{os.path.basename(out)[:200]}.{secrets.token_hex(4)}")
    rows: Dict[str, int] = {}
    listed = VIEWS if views is None else tuple(dict.fromkeys(views))
    try:
        os.mkdir(beside)
        with snapshot(catalog):
            runs = [None, *(r[0] for r in catalog.sql("SELECT DISTINCT run FROM checkpoint WHERE run IS NOT NULL ORDER BY run"))]
            for i, view in enumerate(listed):
                if tell:
                    tell("publishing", i, len(listed))
                rows[view] = write(Table(catalog, view), runs, beside, {})
        with open(os.path.join(beside, MARK), "w", encoding="utf-8") as file:
            json.dump({"program": "ckptdb", "rows": rows}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        put(beside, out, force)
    except OSError as error:
        if isinstance(error, errors.Error):
            raise
        raise errors.IO(f"{error.filename or out}: {error.strerror or error}", error.filename or out) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return rows


@contextlib.contextmanager
def snapshot(catalog: "Catalog") -> Iterator[None]:
    """One transaction, so that all reads agree; other threads wait for its end."""
    with catalog._lock:
        catalog.sql("SAVEPOINT _publish")
        try:
            yield
        finally:
            catalog.sql("RELEASE _publish")


def put(made: str, out: str, force: bool) -> None:
    """Give a finished folder its name; its predecessor stays until then, and is removed."""
    check(out, force)
    if not os.path.lexists(out) or not os.listdir(out):
        os.rename(made, out) # an empty folder is replaced in one step
        return
    old = made + ".old"
    os.rename(out, old)
    try:
        os.rename(made, out)
    except BaseException:
        os.rename(old, out)
        raise
    shutil.rmtree(old, ignore_errors=True)
