"""The tensors of a checkpoint in columns, as one call of the library gives them."""
from __future__ import annotations

from itertools import count, repeat
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple

import numpy as np

from . import calls, dtypes, errors
from ._native import ffi, lib
from .tensor import Tensor

if TYPE_CHECKING:
    from .checkpoint import Tensors


class Kind:
    """Properties that many tensors share.

    `direct` is the dtype of an array that takes the file's bytes unchanged; None: they are read
    otherwise. `nbytes` -1: not known.
    """

    __slots__ = ("dtype_name", "shape", "nbytes", "storage", "direct")

    def __init__(self, dtype_name: str, shape: Tuple[int, ...], nbytes: int, storage: str,
                 direct: Optional["np.dtype[Any]"] = None) -> None:
        self.dtype_name, self.shape, self.nbytes, self.storage, self.direct = dtype_name, shape, nbytes, storage, direct


class Listing:
    """Names of tensors, their kinds, their ids in the catalog (None: a map makes them), and the library's reader for
    them (None: each is opened by itself)."""

    __slots__ = ("owner", "names", "kinds", "ids", "reader", "_places")

    def __init__(self, owner: "Tensors", names: List[str], kinds: List[Kind], ids: Any = None, reader: Any = None) -> None:
        self.owner, self.names, self.kinds, self.ids, self.reader = owner, names, kinds, ids, reader
        self._places: Optional[Dict[str, int]] = None

    @property
    def places(self) -> Dict[str, int]:
        """Positions by name."""
        if self._places is None:
            self._places = dict(zip(self.names, range(len(self.names))))
        return self._places

    def tensors(self) -> Iterator[Tensor]:
        return map(Tensor, repeat(self), self.kinds, count())


def direct(name: str, shape: Tuple[int, ...], nbytes: int) -> Optional["np.dtype[Any]"]:
    """The dtype of NumPy for elements that are read as they are stored."""
    if name == "string" or dtypes.is_block(name) or dtypes.read_as(name):
        return None
    kind = dtypes.numpy_dtype(name)
    size = 0 if kind is None else kind.itemsize
    for n in shape:
        size *= n
    return kind if size == nbytes else None


def _kinds(columns: Any) -> List[Kind]:
    """Each of the library's kinds twice: read through its own tensor, and as plain bytes."""
    made = []
    for i in range(columns.kind_count):
        k = columns.kinds[i]
        name, storage = errors.text(k.dtype) or "?", errors.text(k.storage) or "none"
        shape = tuple(ffi.unpack(k.shape, k.rank)) if k.rank else ()
        made.append(Kind(name, shape, k.nbytes, storage))
        made.append(Kind(name, shape, k.nbytes, storage, direct(name, shape, k.nbytes)))
    return made


def _column(pointer: Any, count: int, dtype: Any) -> "np.ndarray[Any, Any]":
    size = count * np.dtype(dtype).itemsize
    return np.frombuffer(ffi.buffer(pointer, size) if size else b"", dtype)


def look_up(owner: "Tensors", db: Any) -> Listing:
    """The tensors of a checkpoint of the catalog."""
    made = ffi.new("ckptdb_checkpoint **")
    calls.call(lib.ckptdb_checkpoint_open, db, owner.id, made)
    reader = ffi.gc(made[0], lib.ckptdb_checkpoint_close)
    columns = lib.ckptdb_checkpoint_columns(reader)
    size = columns.count
    raw = ffi.buffer(columns.names, columns.names_size)[:] if size else b""
    names = raw.decode("utf-8", "surrogateescape").split("\0")[:-1]
    if len(names) != size: # some hold a NUL
        ends = [*_column(columns.name_at, size, np.uint64).tolist(), len(raw)]
        names = [raw[a:b - 1].decode("utf-8", "surrogateescape") for a, b in zip(ends, ends[1:])]
    both = _kinds(columns)
    which = _column(columns.kind, size, np.uint32) * 2 + _column(columns.plain, size, np.uint8)
    kinds = np.array([*both, None], object)[which].tolist()
    return Listing(owner, names, kinds, _column(columns.id, size, np.int64), reader)
