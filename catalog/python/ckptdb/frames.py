"""Rows as tables of pyarrow and pandas: whole columns, without an object for each value."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator

import numpy as np

from . import errors
from ._native import ffi
from .rows import INTEGER, NULL, REAL, TEXT
from .views import shown

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from .rows import Rows

ROWS = 1 << 17 # of a batch


def batches(rows: "Rows") -> "list[list[Any]]":
    """For each batch of the remaining rows, `take` applied to each column."""
    made = []
    first = list(rows._pending) # of a batch that was begun
    if first:
        made.append([list(column) for column in zip(*first)])
    if rows._statement is not None:
        rows._batch = rows._room(ROWS)
    while rows._statement is not None:
        rows._fetch()
        made.append([take(rows, i) for i in range(len(rows.columns))])
    return made


def take(rows: "Rows", i: int) -> Any:
    """A column of the present batch: an array of numbers, of Arrow's strings, or a list."""
    column, count = rows._batch.column[i], rows._batch.rows
    numbers = np.frombuffer(ffi.buffer(column.numbers, count * 8), np.int64) if count else np.empty(0, np.int64)
    if column.kinds == 1 << INTEGER:
        return numbers.copy()
    if column.kinds == 1 << REAL:
        return numbers.view(np.float64).copy()
    if column.kinds == 1 << REAL | 1 << NULL:
        types = np.frombuffer(ffi.buffer(column.types, count), np.uint8)
        return np.where(types == NULL, np.nan, numbers.view(np.float64))
    if column.kinds & ~(1 << TEXT | 1 << NULL) == 0 and column.kinds & 1 << TEXT:
        return strings(column, count)
    return rows._values(i)


def strings(column: Any, count: int) -> Any:
    """Texts and NULLs as a LargeStringArray; a list if pyarrow is not installed, or a text is not UTF-8."""
    try:
        import pyarrow as pa
    except ImportError:
        pa = None
    ends = np.frombuffer(ffi.buffer(column.ends, (count + 1) * 8), np.int64)
    held = ffi.buffer(column.bytes, int(ends[count]))[:] if ends[count] else b""
    types = np.frombuffer(ffi.buffer(column.types, count), np.uint8)
    if pa is not None:
        valid = pa.py_buffer(np.packbits(types != NULL, bitorder="little").tobytes())
        made = pa.LargeStringArray.from_buffers(count, pa.py_buffer(ends.tobytes()), pa.py_buffer(held), valid)
        try:
            made.validate(full=True)
            return made
        except pa.ArrowInvalid:
            pass
    at = ends.tolist()
    return [None if t == NULL else held[a:b].decode("utf-8", "surrogateescape")
            for t, a, b in zip(types.tolist(), at, at[1:])]


def record_batches(rows: "Rows", schema: "pyarrow.Schema") -> "Iterator[pyarrow.RecordBatch]":
    """The remaining rows, as they are read, in columns of these types."""
    import pyarrow as pa
    first = list(rows._pending)
    if first:
        yield pa.RecordBatch.from_arrays([fitting(list(c), f) for c, f in zip(zip(*first), schema)], schema=schema)
    if rows._statement is not None:
        rows._batch = rows._room(ROWS)
    while rows._statement is not None:
        rows._fetch()
        if rows._batch.rows:
            yield pa.RecordBatch.from_arrays([typed(rows, i, f) for i, f in enumerate(schema)], schema=schema)


def typed(rows: "Rows", i: int, field: "pyarrow.Field") -> Any:
    """A column of the present batch, of the field's type."""
    import pyarrow as pa
    column, count = rows._batch.column[i], rows._batch.rows
    if column.kinds == 1 << NULL:
        return pa.nulls(count, field.type)
    if column.kinds & 1 << NULL and column.kinds & ~(1 << NULL) in (1 << INTEGER, 1 << REAL):
        numbers = np.frombuffer(ffi.buffer(column.numbers, count * 8), np.int64 if column.kinds & 1 << INTEGER else np.float64)
        absent = np.frombuffer(ffi.buffer(column.types, count), np.uint8) == NULL
        return fitting(pa.array(numbers.copy(), mask=absent), field)
    return fitting(take(rows, i), field)


def fitting(values: Any, field: "pyarrow.Field") -> Any:
    """A column of numbers, strings or a list as an array of the field's type; a value that does not fit is refused."""
    import pyarrow as pa
    if pa.types.is_string(field.type) and not isinstance(values, pa.LargeStringArray):
        values = [shown(v) for v in (values if isinstance(values, list) else values.tolist())]
    try:
        made = values if isinstance(values, pa.Array) else pa.array(values, field.type if isinstance(values, list) else None)
        return made.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise errors.Value(f"column {field.name}: {error}") from None


def arrow(rows: "Rows") -> "pyarrow.Table":
    import pyarrow as pa
    made = batches(rows)
    columns = []
    for i in range(len(rows.columns)):
        parts = [pa.array(b[i]) for b in made]
        kinds = {p.type for p in parts if not pa.types.is_null(p.type)}
        if len(kinds) > 1: # SQLite's columns may hold anything: as numbers, else as text
            number = all(pa.types.is_integer(k) or pa.types.is_floating(k) for k in kinds)
            kinds = {pa.float64() if number else pa.large_string()}
        kind = kinds.pop() if kinds else pa.null()
        columns.append(pa.chunked_array([p.cast(kind) for p in parts], kind))
    return pa.table(columns, names=list(rows.columns))


def frame(rows: "Rows") -> "pandas.DataFrame":
    import pandas as pd
    made = batches(rows)
    data = {}
    for i, name in enumerate(unique(rows.columns)):
        data[name] = joined([b[i] for b in made])
    return pd.DataFrame(data, columns=list(data)).set_axis(list(rows.columns), axis=1)


def unique(names: "tuple[str, ...]") -> "list[str]":
    return [f"{i}:{name}" for i, name in enumerate(names)]


def joined(parts: "list[Any]") -> Any:
    """One column, joined from its batches' parts."""
    import pandas as pd
    if parts and all(isinstance(p, np.ndarray) for p in parts):
        return np.concatenate(parts)
    if parts and not any(isinstance(p, (list, np.ndarray)) for p in parts):
        import pyarrow as pa
        return pd.Series(pa.chunked_array(parts).to_pandas())
    values = [v for p in parts for v in (p if isinstance(p, list) else p.tolist() if isinstance(p, np.ndarray)
                                         else p.to_pylist())]
    return pd.Series(values)
