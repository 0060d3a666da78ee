"""A catalog: finding checkpoints, indexing, SQL, and work on all of them."""
from __future__ import annotations

import contextlib
import os
import threading
import warnings
import weakref
from typing import Any, Dict, Iterator, List, Optional, Sequence, Union

from . import calls, errors
from ._native import ffi, lib
from .calls import Issue, Progress
from .checkpoint import Checkpoint
from .maps import Inferred, Maps
from .rows import Parameters, Rows

MODES = {"r": lib.CKPTDB_READ, "w": lib.CKPTDB_CREATE}
Named = Union[str, int, Checkpoint, "os.PathLike[str]"]


class Report:
    """What index() did; the numbers count checkpoints.

    Attributes
    ----------
    added, changed, unchanged : int
        New in the catalog; indexed anew; not opened again.
    failed : int
        Files that are refused.
    vanished, pruned : int
        No longer there; of these, dropped from the catalog.
    issues : list of Issue
        Problems, each with severity, code, path, message, offset and checkpoint.
    """

    __slots__ = ("added", "changed", "unchanged", "failed", "vanished", "pruned", "issues", "unread")

    def __init__(self, report: Any, issues: List[Issue]) -> None:
        for name in self.__slots__[:6]:
            setattr(self, name, int(getattr(report, name)))
        self.issues = issues
        self.unread: str = errors.text(report.unread) or ""

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {getattr(self, name)}" for name in self.__slots__[:6])
        return f"<index: {counts}, {len(self.issues)} issues>"


def default_path() -> str:
    """The program's default catalog: $CKPTDB, else a file in the data folder."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.environ.get("CKPTDB") or os.path.join(data, "ckptdb", "catalog.db")


class Bar:
    """Progress on tqdm's bar, where tqdm is installed."""

    def __init__(self) -> None:
        self.bar: Any = None
        self.doing = ""
        try:
            from tqdm.auto import tqdm # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            tqdm = None
        self.tqdm: Any = tqdm

    def __call__(self, doing: str, done: int, total: int) -> None:
        if self.tqdm is None:
            return
        if doing != self.doing:
            self.close()
            self.doing = doing
            self.bar = self.tqdm(desc=doing, total=total or None)
        self.bar.total = total or None
        self.bar.update(done - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None


class Catalog:
    """A catalog of checkpoints; open() makes one. A context manager, which closes it.

    One thread at a time works with a catalog (others wait); for more, open it once more. It can be
    pickled if it is a file: the receiver opens that file.
    """

    def __init__(self, path: Optional[str], mode: str) -> None:
        if mode not in MODES:
            raise errors.Argument(f"mode {mode!r}: 'r' or 'w'")
        self.path, self.mode = path, mode
        self._lock = threading.RLock()
        self._busy = False
        self._pid = os.getpid()
        self._watch = calls.Watch()
        self._watch.begin()
        self._statements: "weakref.WeakSet[Rows]" = weakref.WeakSet()
        self._db: Any = ffi.new("ckptdb **")
        self._separators: Optional[Dict[str, str]] = None
        self._opened: Optional[str] = None # the file that open_file() indexed
        calls.call(lib.ckptdb_open_watched, calls.c_text(path), MODES[mode], self._watch.struct, self._db)
        self._end = weakref.finalize(self, lib.ckptdb_close, self._db[0])
        lib.ckptdb_watch(self._db[0], self._watch.struct)

    # --- being open ---------------------------------------------------------------------------

    def close(self) -> None:
        """Close the catalog; tensors that were opened can still be read."""
        with self._idle():
            for rows in list(self._statements):
                rows.close()
            self._end()

    def __enter__(self) -> "Catalog":
        return self

    def __exit__(self, *caught: Any) -> None:
        self.close()

    @contextlib.contextmanager
    def _using(self, progress: Union[Progress, bool, None] = None) -> Iterator[Any]:
        """The library's catalog, for this thread alone."""
        tell: Optional[Progress] = Bar() if progress is True else progress or None
        with self._idle():
            if not self._end.alive:
                raise errors.Argument("the catalog was closed")
            if os.getpid() != self._pid:
                raise errors.Argument("a catalog does not survive fork(): pickle it, or open it anew")
            self._busy = True
            self._watch.begin(tell)
            lib.ckptdb_stopping(self._watch.struct.stop, self._watch.call)
            try:
                yield self._db[0]
            finally:
                self._busy = False
                calls.stoppable()
                if isinstance(tell, Bar):
                    tell.close()
                if self._watch.caught is not None:
                    raise self._watch.caught

    @contextlib.contextmanager
    def _idle(self) -> Iterator[None]:
        """The lock; refused to a progress callable or a signal handler while the catalog is busy."""
        at_work = errors.Argument("the catalog is busy: its callbacks cannot use it")
        if calls.telling(self._watch): # on any thread: it waits for the callback
            raise at_work
        with self._lock:
            if self._busy:
                raise at_work
            yield

    def __reduce__(self) -> Any:
        if self.path is None:
            raise errors.Argument("a catalog in memory cannot be pickled")
        return _again, (os.path.abspath(self.path), self.mode)

    def __repr__(self) -> str:
        state = "" if self._end.alive else ", closed"
        return f"<catalog {self.path or 'in memory'}{state}>"

    def _repr_html_(self) -> str:
        return self.sql("SELECT name, format, step, tensors, parameters, nbytes, state FROM checkpoint"
                        " ORDER BY name")._repr_html_()

    # --- indexing -----------------------------------------------------------------------------

    def index(self, *paths: Union[str, "os.PathLike[str]"], prune: bool = False, follow: bool = False,
              progress: Union[Progress, bool, None] = None, dry_run: bool = False, salvage: bool = False,
              threads: int = 0) -> Report:
        """Index the checkpoints at and below some paths: headers are read, weights are not.

        Parameters
        ----------
        paths : str or path-like
            Files, folders, prefixes of TensorFlow's.
        prune : bool
            Drop checkpoints below the paths that are no longer there.
        follow : bool
            Enter linked folders.
        progress : callable or bool, optional
            Called with (doing, done, total); True: a bar, where tqdm is installed.
        dry_run : bool
            Only find out what would be done.
        salvage : bool
            Take the whole tensors of files that were cut short.
        threads : int
            0: the library decides.

        Returns
        -------
        Report
            Problems with single files do not raise: they are its `issues`.
        """
        texts, count, kept = calls.c_texts(os.path.expanduser(p) for p in paths)
        report = calls.new("ckptdb_import_report")
        with self._using(progress) as db:
            options = calls.new("ckptdb_import_options", paths=texts, path_count=count, threads=threads, prune=prune,
                                follow=follow, dry_run=dry_run, salvage=salvage, issue=lib.python_issue,
                                context=self._watch.handle)
            calls.call(lib.ckptdb_import, db, options, report)
            return Report(report, self._watch.items)

    def forget(self, *names: Named) -> None:
        """Drop checkpoints from the catalog; their files stay."""
        ids = [self._id(n) for n in names]
        with self._using() as db:
            calls.call(lib.ckptdb_forget, db, ffi.new("int64_t[]", ids), len(ids))

    def relocate(self, old: str, new: str, dry_run: bool = False) -> int:
        """Files were moved: change the beginning of paths. Returns how many checkpoints moved."""
        count = ffi.new("uint64_t *")
        with self._using() as db:
            calls.call(lib.ckptdb_relocate, db, calls.c_text(old), calls.c_text(new), dry_run, count)
        return int(count[0])

    def merge(self, *catalogs: Union[str, "os.PathLike[str]"], relocate: Optional[Dict[str, str]] = None,
              host: Optional[str] = None, keep_both: bool = False) -> Dict[str, int]:
        """Add the contents of other catalogs to this one, each whole or not at all.

        Parameters
        ----------
        catalogs : str or path-like
            Only read. An error in one is raised once the others were added.
        relocate : dict, optional
            Beginnings of paths there, and what they are here.
        host : str, optional
            The machine of the other paths: they become file://HOST/...
        keep_both : bool
            Keep rule sets that differ from this catalog's as NAME@CATALOG.

        Returns
        -------
        dict
            How many checkpoints are `added`, `changed`, `known`; how many rule sets `kept` beside others.
        """
        texts, count, kept = calls.c_texts(os.path.expanduser(c) for c in catalogs)
        places = [(calls.c_text(a), calls.c_text(b)) for a, b in (relocate or {}).items()]
        joined, name = calls.new("ckptdb_joined"), calls.c_text(host)
        with self._using() as db:
            options = calls.new("ckptdb_joining", paths=texts, path_count=count, host=name, keep_both=keep_both,
                                relocations=(moved := ffi.new("struct ckptdb_relocation[]", places)),
                                relocation_count=len(moved))
            calls.call(lib.ckptdb_join, db, options, joined)
        return {key: int(getattr(joined, key)) for key in ("added", "changed", "known", "kept")}

    def snapshot(self, path: Union[str, "os.PathLike[str]"], force: bool = False) -> None:
        """Copy one consistent state of the catalog to a file, also while others write; `force` replaces an existing file."""
        with self._using() as db:
            calls.call(lib.ckptdb_snapshot, db, calls.c_text(os.path.expanduser(path)), force)

    # --- finding ------------------------------------------------------------------------------

    def _id(self, name: Named) -> int:
        if isinstance(name, Checkpoint):
            paths = {p and os.path.abspath(p) for p in (self.path, name.catalog.path)}
            if name.catalog is not self and (len(paths) > 1 or None in paths):
                raise errors.Argument(f"{name!r} belongs to another catalog")
            return name.id
        ids, count = ffi.new("int64_t[1]"), ffi.new("size_t *")
        with self._using() as db:
            calls.call(lib.ckptdb_find, db, calls.c_text(str(name) if isinstance(name, int) else name), ids, 1, count)
        return int(ids[0])

    def __getitem__(self, name: Named) -> Checkpoint:
        """The checkpoint by a name: a name, an id, a path or its end, RUN@STEP, RUN@latest, RUN@STEP:ITEM."""
        return Checkpoint(self, self._id(name))

    def __contains__(self, name: Named) -> bool:
        try:
            self._id(name)
        except (errors.Missing, errors.Argument):
            return False
        return True

    def __len__(self) -> int:
        row = self.sql("SELECT count(*) FROM checkpoint").fetchone()
        return int(row[0]) if row else 0

    def __iter__(self) -> Iterator[Checkpoint]:
        return iter(self.checkpoints())

    def checkpoints(self, pattern: str = "*") -> List[Checkpoint]:
        """The checkpoints whose name or path a glob matches, by name."""
        rows = self.sql("SELECT id FROM checkpoint WHERE name GLOB ?1 OR path GLOB ?1 ORDER BY name, id", [pattern])
        return [Checkpoint(self, row[0]) for row in rows]

    def _separator(self, format: str) -> str:
        if self._separators is None:
            self._separators = calls.separators()
        return self._separators.get(format, "")

    # --- asking -------------------------------------------------------------------------------

    def sql(self, statement: str, parameters: Parameters = ()) -> Rows:
        """Run one statement.

        Parameters
        ----------
        statement : str
            SQL, with all views and functions of the catalog.
        parameters : sequence or dict
            Values of its ?, or of its :names.

        Returns
        -------
        Rows
            Tuples, read as they are asked for; also .df(), .arrow(), .fetchall(), .columns.
        """
        return Rows(self, statement, parameters)

    def diff(self, a: Named, b: Named, map: Optional[str] = None, values: bool = False) -> Rows:
        """Compare the tensors of two checkpoints, matched by name.

        Parameters
        ----------
        map : str, optional
            A rule set that renames the tensors of `a` first.
        values : bool
            Read the tensors that both have, and say how far apart they are (column `distance`, JSON).

        Returns
        -------
        Rows
            status (same, unread, value, dtype, shape, renamed, only_a, only_b), name_a, name_b, dtype_a, …
        """
        shown = "status, name_a, name_b, dtype_a, dtype_b, shape_a, shape_b, nbytes_a, nbytes_b, hash_a, hash_b"
        if values:
            shown += (", CASE WHEN status IN ('value', 'dtype', 'unread') AND tensor_a IS NOT NULL"
                      " AND tensor_b IS NOT NULL THEN tensor_distance(tensor_a, tensor_b) END AS distance")
        return self.sql(f"SELECT {shown} FROM diff(?, ?, ?)", [self._id(a), self._id(b), map])

    def _content(self, function: Any, which: Sequence[Named], progress: Union[Progress, bool, None],
                 **fields: Any) -> List[int]:
        """Run a function that reads tensors, on all checkpoints unless some are named; returns their ids."""
        ids = [self._id(n) for n in which] or [int(r[0]) for r in self.sql("SELECT id FROM checkpoint")]
        listed, good = ffi.new("int64_t[]", ids), ffi.new("bool *")
        with self._using(progress) as db:
            options = calls.new("ckptdb_content_options", checkpoints=listed, count=len(ids), **fields)
            last = ffi.NULL if function == lib.ckptdb_verify else good
            calls.call(function, db, options, last, said=self._watch.said)
            if last and not good[0]:
                warnings.warn("\n".join(self._watch.said), RuntimeWarning, stacklevel=3)
        return ids

    def _of(self, sql: str, ids: Sequence[int]) -> Rows:
        return self.sql(f"{sql} WHERE checkpoint_id IN (SELECT value FROM json_each(?))", [str(list(ids))])

    def hash(self, *names: Named, again: bool = False, progress: Union[Progress, bool, None] = None) -> Rows:
        """Hash the contents of tensors, so that copies are found: rows of id, name and hash of checkpoints."""
        ids = self._content(lib.ckptdb_hash, names, progress, again=again)
        return self.sql("SELECT id, name, hash FROM checkpoint WHERE id IN (SELECT value FROM json_each(?))",
                        [str(ids)])

    def verify(self, *names: Named, quick: bool = False, progress: Union[Progress, bool, None] = None) -> Rows:
        """Find damage (checksums, headers, files that changed): rows of the view `damage`, none if all is well."""
        return self._of("SELECT * FROM damage", self._content(lib.ckptdb_verify, names, progress, quick=quick))

    def stats(self, *names: Named, tensors: Optional[str] = None, again: bool = False,
              progress: Union[Progress, bool, None] = None) -> Rows:
        """Least, greatest, mean, … of tensors: rows of the view `stats`. `tensors`: a regular expression."""
        ids = self._content(lib.ckptdb_statistics, names, progress, again=again, names=calls.c_text(tensors))
        return self._of("SELECT * FROM stats", ids)

    def dedup(self, *names: Named, progress: Union[Progress, bool, None] = None) -> Rows:
        """Tensors stored more than once: rows of the view `duplicate`."""
        self._content(lib.ckptdb_hash, names, progress, twins=not names)
        return self.sql("SELECT * FROM duplicate")

    def publish(self, out: Union[str, "os.PathLike[str]"], views: Optional[Sequence[str]] = None, force: bool = False,
                progress: Optional[Progress] = None) -> Dict[str, int]:
        """Write the views as Parquet, for DuckDB, Spark, pandas, Polars; needs pyarrow.

        Parameters
        ----------
        out : str or path-like
            A new folder: OUT/VIEW/in_run=RUN/part-0.parquet, as Hive names partitions. It appears when it is complete.
        views : sequence of str, optional
            None: all that need no arguments, except the views of maps and optimizers.
        force : bool
            Replace a folder that an earlier call wrote; no other folder.
        progress : callable, optional
            Called with ("publishing", done, total); these count views.

        Returns
        -------
        dict
            The number of rows of each view. All show one state, whoever writes meanwhile.
        """
        from .publish import publish
        return publish(self, out, views, force, progress)

    # --- maps ---------------------------------------------------------------------------------

    @property
    def maps(self) -> Maps:
        """The rule sets, by name: a mapping to dicts."""
        return Maps(self)

    def infer(self, a: Named, b: Named) -> Inferred:
        """Infer the map that turns `a`'s names into `b`'s."""
        return Inferred(self, self._id(a), self._id(b))


_opened: Dict[Any, Catalog] = {}


def _again(path: str, mode: str) -> Catalog:
    """The catalog of an unpickled handle: one per process."""
    key = (path, mode, os.getpid())
    if key not in _opened or not _opened[key]._end.alive:
        _opened[key] = Catalog(path, mode)
    return _opened[key]


def open(path: Union[str, "os.PathLike[str]", None] = None, mode: str = "w") -> Catalog:
    """Open a catalog.

    Parameters
    ----------
    path : str or path-like, optional
        A file; ":memory:": a new one in memory; None: the program's default.
    mode : str
        "w": it is created if it is missing; "r": nothing is written.

    Examples
    --------
    >>> import ckptdb
    >>> with ckptdb.open(":memory:") as db:
    ...     len(db)
    0
    """
    name = os.path.expanduser(os.fspath(path)) if path is not None else default_path()
    if name == ":memory:":
        return Catalog(None, mode)
    if path is None and mode == "w":
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    return Catalog(name, mode)


def open_file(path: Union[str, "os.PathLike[str]"]) -> Checkpoint:
    """A checkpoint without a catalog: its header is indexed in memory.

    >>> import ckptdb
    >>> ckptdb.open_file("/no/such.safetensors")
    Traceback (most recent call last):
    ...
    ckptdb.errors.Missing: ...
    """
    db = Catalog(None, "w")
    report = db.index(path)
    found = db.checkpoints()
    if len(found) != 1:
        wrong = [i for i in report.issues if i.severity == "error"]
        at = wrong[0] if wrong else None
        if not found and at:
            raise errors.Corrupt(f"{at.path}: {at.message}", at.path, at.offset)
        raise errors.Argument(f"{os.fspath(path)} holds {len(found)} checkpoints: index it, and choose one")
    db._opened = os.path.abspath(os.path.expanduser(os.fspath(path)))
    return found[0]


def load_file(path: Union[str, "os.PathLike[str]"]) -> Dict[str, Any]:
    """All tensors of a file, by name, as arrays."""
    return {name: tensor[...] for name, tensor in open_file(path).items()}
