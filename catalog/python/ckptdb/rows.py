"""Answers of SQL statements."""
from __future__ import annotations

import html
import weakref
from typing import TYPE_CHECKING, Any, Callable, Iterator, Optional, Sequence, Tuple, Union

import numpy as np

from . import calls, errors
from ._native import ffi, lib

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from .catalog import Catalog

INTEGER, REAL, TEXT, BLOB, NULL = 1, 2, 3, 4, 5
FIRST, BATCH, BYTES = 64, 16384, 1 << 24 # rows of the first batch, of the others; text of one batch
SHOWN = 20 # rows of a picture
Parameters = Union[Sequence[Any], "dict[str, Any]"]


def bind(statement: Any, parameters: Parameters) -> None:
    """Bind a sequence to ?, or a dict to :name, @name and $name."""
    count = lib.sqlite3_bind_parameter_count(statement)
    if isinstance(parameters, dict):
        names = [errors.text(lib.sqlite3_bind_parameter_name(statement, i + 1)) for i in range(count)]
        missing = [n for n in names if n is None or n[1:] not in parameters]
        if missing:
            raise errors.Argument(f"the statement wants a value for {missing[0] or '?'}")
        values = [parameters[n[1:]] for n in names if n]
    else:
        values = list(parameters)
        if len(values) != count:
            raise errors.Argument(f"the statement has {count} parameters, and {len(values)} values are given")
    for i, value in enumerate(values):
        bind_value(statement, i + 1, value)


def bind_value(statement: Any, i: int, value: Any) -> None:
    if value is None:
        lib.sqlite3_bind_null(statement, i)
    elif isinstance(value, (bool, int, np.integer, np.bool_)):
        if not -(1 << 63) <= int(value) < 1 << 63:
            raise errors.Argument(f"parameter {i}: {value} has more than 64 bits")
        lib.sqlite3_bind_int64(statement, i, int(value))
    elif isinstance(value, (float, np.floating)):
        lib.sqlite3_bind_double(statement, i, float(value))
    elif isinstance(value, str):
        raw = value.encode("utf-8", "surrogateescape")
        lib.sqlite3_bind_text64(statement, i, raw, len(raw), lib.native_transient, 1)
    elif isinstance(value, (bytes, bytearray, memoryview)):
        raw = bytes(value)
        lib.sqlite3_bind_blob64(statement, i, raw, len(raw), lib.native_transient)
    else:
        raise errors.Argument(f"parameter {i}: SQL has no {type(value).__name__}")


class Rows:
    """The rows of one statement, read on demand.

    >>> import ckptdb
    >>> rows = ckptdb.open(":memory:").sql("SELECT 1 AS one, 'a' AS letter UNION ALL SELECT 2, NULL")
    >>> rows.columns
    ('one', 'letter')
    >>> list(rows)
    [(1, 'a'), (2, None)]
    """

    def __init__(self, catalog: "Catalog", sql: str, parameters: Parameters = ()) -> None:
        self._catalog = catalog
        self._statement: Any = None
        self._closed = False # before its last row
        self._pending: Iterator[Tuple[Any, ...]] = iter(())
        self.columns: Tuple[str, ...] = ()
        raw = sql.encode("utf-8", "surrogateescape")
        if b"\0" in raw:
            raise errors.Argument("a statement cannot hold a NUL")
        text = ffi.new("char[]", raw)
        made, rest = ffi.new("sqlite3_stmt **"), ffi.new("char **")
        with catalog._using() as db:
            self._check(lib.ckptdb_prepare(lib.ckptdb_sqlite(db), text, made, rest))
        if made[0] == ffi.NULL:
            return
        self._statement = made[0]
        self._end = weakref.finalize(self, lib.sqlite3_finalize, made[0])
        catalog._statements.add(self)
        if ffi.string(rest[0]).strip(b" \t\r\n;"):
            self.close()
            raise errors.Argument("one statement at a time: more follows its semicolon")
        self._start(parameters)

    def _start(self, parameters: Parameters) -> None:
        count = lib.sqlite3_column_count(self._statement)
        self.columns = tuple(str(errors.text(lib.sqlite3_column_name(self._statement, i))) for i in range(count))
        try:
            bind(self._statement, parameters)
            self._batch = self._room(FIRST)
            self._fetch()
            self._pending = iter(self._tuples())
        except BaseException:
            self.close()
            raise

    def _room(self, rows: int) -> Any:
        made = lib.native_rows_new(len(self.columns), rows)
        if made == ffi.NULL:
            raise MemoryError
        return ffi.gc(made, lib.native_rows_free)

    def _check(self, code: int) -> None:
        calls.raised()
        if code:
            message = errors.text(lib.ckptdb_why(self._catalog._db[0]))
            kind = {9: errors.Interrupted, 5: errors.Busy, 7: errors.Memory}.get(code & 0xFF, errors.Error)
            raise kind(message or "")

    def _fetch(self) -> None:
        """The next batch, in place of the last."""
        with self._catalog._using():
            self._check(lib.native_rows_next(self._batch, self._statement, BYTES))
        if self._batch.done:
            self._finish()

    def _finish(self) -> None:
        if self._statement is not None:
            self._statement = None
            self._end()

    def close(self) -> None:
        """Give up the remaining rows."""
        self._closed = self._statement is not None
        self._finish()
        self._pending = iter(())

    def _values(self, i: int) -> "list[Any]":
        """A column of this batch as Python's objects."""
        column, rows = self._batch.column[i], self._batch.rows
        if column.kinds in (0, 1 << NULL):
            return [None] * rows
        if column.kinds == 1 << INTEGER:
            return ffi.unpack(column.numbers, rows) # type: ignore[no-any-return]
        if column.kinds == 1 << REAL:
            return ffi.unpack(ffi.cast("double *", column.numbers), rows) # type: ignore[no-any-return]
        return self._mixed(column, rows)

    def _mixed(self, column: Any, rows: int) -> "list[Any]":
        ends = ffi.unpack(column.ends, rows + 1)
        held = ffi.buffer(column.bytes, ends[rows])[:] if ends[rows] else b""
        if column.kinds == 1 << TEXT:
            if held.isascii():
                text = held.decode("ascii")
                return [text[a:b] for a, b in zip(ends, ends[1:])]
            return [held[a:b].decode("utf-8", "surrogateescape") for a, b in zip(ends, ends[1:])]
        types, numbers = ffi.unpack(column.types, rows), ffi.unpack(column.numbers, rows)
        reals = ffi.unpack(ffi.cast("double *", column.numbers), rows)
        take: "dict[int, Callable[[int], Any]]" = {INTEGER: lambda k: numbers[k], REAL: lambda k: reals[k], NULL: lambda k: None,
                                                   TEXT: lambda k: held[ends[k]:ends[k + 1]].decode("utf-8", "surrogateescape"),
                                                   BLOB: lambda k: held[ends[k]:ends[k + 1]]}
        return [take[kind](k) for k, kind in enumerate(types)]

    def _tuples(self) -> "list[Tuple[Any, ...]]":
        return list(zip(*(self._values(i) for i in range(len(self.columns)))))

    def __iter__(self) -> "Rows":
        return self

    def __next__(self) -> Tuple[Any, ...]:
        while True:
            for row in self._pending:
                return row
            if self._statement is None:
                if self._closed:
                    raise errors.Argument("the catalog was closed")
                raise StopIteration
            self._batch = self._batch if self._batch.most == BATCH else self._room(BATCH)
            self._fetch()
            self._pending = iter(self._tuples())

    def fetchone(self) -> Optional[Tuple[Any, ...]]:
        """The next row; None at the end."""
        return next(self, None)

    def fetchall(self) -> "list[Tuple[Any, ...]]":
        """All remaining rows."""
        return list(self)

    def arrow(self) -> "pyarrow.Table":
        """All remaining rows, as a table of pyarrow."""
        from .frames import arrow
        return arrow(self)

    def df(self) -> "pandas.DataFrame":
        """All remaining rows, as a data frame of pandas."""
        from .frames import frame
        return frame(self)

    def __repr__(self) -> str:
        return f"<rows of {', '.join(self.columns)}>" if self.columns else "<no rows>"

    def _repr_html_(self) -> str:
        shown = []
        for row in self:
            shown.append(row)
            if len(shown) > SHOWN:
                break
        self._pending = iter([*shown, *self._pending])
        return table(self.columns, shown[:SHOWN], len(shown) > SHOWN)


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], more: bool = False) -> str:
    """Rows as HTML, where names are data and never markup."""
    def cells(tag: str, values: Sequence[Any]) -> str:
        return "".join(f"<{tag}>{html.escape('' if v is None else str(v))}</{tag}>" for v in values)
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (f"<table><thead><tr>{cells('th', columns)}</tr></thead><tbody>{body}</tbody></table>" +
            ("<p>…</p>" if more else ""))
