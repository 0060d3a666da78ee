"""A tensor: described by the catalog, read when it is indexed."""
from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
import mmap as maps
import operator
import os
import re
import sys
import threading
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np

from . import calls, dtypes, errors, pictures
from ._native import ffi, lib

empty, from_buffer, NULL = np.empty, ffi.from_buffer, ffi.NULL
read, read_whole = lib.ckptdb_checkpoint_read, lib.native_read

if TYPE_CHECKING:
    from .checkpoint import Tensors
    from .listing import Kind, Listing

    Array = np.ndarray[Any, Any]


@functools.lru_cache(maxsize=4096)
def shape_of(text: Optional[str]) -> Tuple[int, ...]:
    """'[2,3]' as (2, 3)."""
    return tuple(map(int, text[1:-1].split(","))) if text and text != "[]" else ()


class Part(NamedTuple):
    """One index: slices of each dimension for the library, the shape that it reads, the result's shape."""

    slices: Any
    read: Tuple[int, ...]
    shape: Tuple[int, ...]


def whole(shape: Tuple[int, ...]) -> Part:
    return Part(ffi.NULL, shape, shape)


def cut(shape: Tuple[int, ...], index: Any) -> Part:
    """The selection of a basic NumPy index."""
    given = list(index) if isinstance(index, tuple) else [index]
    dots = [i for i, g in enumerate(given) if g is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    used = sum(g is not None and g is not Ellipsis for g in given)
    if used > len(shape):
        raise IndexError(f"too many indices: the tensor has {len(shape)} dimensions, {used} were indexed")
    at = dots[0] if dots else len(given)
    given[at:at + 1] = [slice(None)] * (len(shape) - used)
    slices = ffi.new("struct ckptdb_slice[]", max(len(shape), 1))
    read: List[int] = []
    result: List[int] = []
    for g in given:
        if g is None:
            result.append(1)
            continue
        d = len(read)
        start, count, step = bounds(shape[d], d, g)
        slices[d].start, slices[d].count, slices[d].step = start, count, step
        read.append(count)
        if isinstance(g, slice):
            result.append(count)
    return Part(slices, tuple(read), tuple(result))


def bounds(size: int, dimension: int, index: Any) -> Tuple[int, int, int]:
    """(start, count, step) of a slice or an integer."""
    if isinstance(index, slice):
        start, stop, step = index.indices(size)
        count = len(range(start, stop, step))
        return (start if count else 0), count, step if count > 1 else 1 # which may be any number
    if isinstance(index, (bool, np.bool_)) or not hasattr(index, "__index__"):
        raise IndexError("integers, slices, None and ... are read from the file; for others, index t[...]")
    number = index.__index__()
    if not -size <= number < size:
        raise IndexError(f"index {number} is out of bounds for axis {dimension} with size {size}")
    return number % size, 1, 1


class Opened:
    """A tensor of the library, which is for one thread at a time."""

    __slots__ = ("lock", "handle")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.handle: Any = None


class Tensor:
    """A tensor of a checkpoint, as stored or mapped; nothing is read before it is indexed.

    Attributes
    ----------
    name : str
    shape : tuple of int
        Outermost first.
    dtype : numpy.dtype or None
        From ml_dtypes for bfloat16, float8 and the like; None for GGML's blocks (see `block`) and where
        NumPy has no dtype. `dtype_name` is the catalog's own name.
    block : str or None
        "q4_k" and the like; t[...] is float32 then.
    nbytes : int
        Size of its elements, packed.
    storage : str
        range, pieces, chunks, inline or none.
    """

    __slots__ = ("_shape", "_listing", "_at", "_opened", "__weakref__")

    def __init__(self, listing: "Listing", kind: "Kind", at: int) -> None:
        self._shape, self._listing, self._at = kind.shape, listing, at # thousands are made: no more than is needed

    # --- what it is ---------------------------------------------------------------------------

    if TYPE_CHECKING:
        @property
        def shape(self) -> Tuple[int, ...]: ...
    else:
        shape = property(operator.attrgetter("_shape")) # in C: it is called for thousands

    @property
    def name(self) -> str:
        return self._listing.names[self._at]

    @property
    def _kind(self) -> "Kind":
        return self._listing.kinds[self._at]

    @property
    def dtype_name(self) -> str:
        return self._kind.dtype_name

    @property
    def storage(self) -> str:
        return self._kind.storage

    @property
    def id(self) -> Optional[int]:
        """Its id in the catalog; None for a tensor that a map makes."""
        ids = self._listing.ids
        return None if ids is None else int(ids[self._at])

    @property
    def _owner(self) -> "Tensors":
        return self._listing.owner

    @property
    def dtype(self) -> Optional["np.dtype[Any]"]:
        return None if self.block else dtypes.numpy_dtype(self.dtype_name)

    @property
    def block(self) -> Optional[str]:
        return self.dtype_name if dtypes.is_block(self.dtype_name) else None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self._kind.nbytes if self._kind.nbytes >= 0 else int(self._info().nbytes)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a tensor without dimensions")
        return self.shape[0]

    @contextlib.contextmanager
    def _using(self) -> Iterator[Any]:
        """The library's tensor, for this thread alone."""
        opened: Optional[Opened] = getattr(self, "_opened", None)
        if opened is None:
            opened = self._opened = Opened() # two threads may make one each, at first
        with opened.lock:
            if opened.handle is None:
                opened.handle = ffi.gc(self._owner._open(self.name, self.id), lib.ckptdb_tensor_close)
            yield opened.handle

    def _info(self) -> Any:
        with self._using() as tensor:
            return lib.ckptdb_tensor_info(tensor)

    # --- reading ------------------------------------------------------------------------------

    def _bytes(self, part: Part, dtype: Optional[str]) -> Array:
        """The elements that a part selects, as bytes."""
        size, as_dtype = ffi.new("uint64_t *"), calls.c_text(dtype)
        with self._using() as tensor:
            calls.call(lib.ckptdb_read_size, tensor, part.slices, as_dtype, size)
            out = np.empty(size[0], np.uint8)
            at = ffi.from_buffer("char[]", out, require_writable=True) if size[0] else ffi.new("char[1]")
            calls.call(lib.ckptdb_read, tensor, part.slices, as_dtype, at, size[0])
        return out

    def _read(self, part: Part, dtype: Optional[str] = None) -> Array:
        """A part as an array of this dtype; None: its own, float32 for blocks."""
        name = dtype or ("float32" if self.block else self.dtype_name)
        if name == "string":
            return self._strings().reshape(self.shape)
        kind = dtypes.numpy_dtype(name)
        if kind is None:
            raise errors.Unsupported(f"{self.name}: NumPy has no dtype {name}" + dtypes.advice(name))
        through = dtypes.read_as(name)
        if through:
            return self._bytes(part, through).view(through).reshape(part.shape).astype(kind)
        own = None if name == self.dtype_name else name
        return self._bytes(part, own).view(kind).reshape(part.shape)

    def _strings(self) -> Array:
        found: List[bytes] = []
        with self._using() as tensor:
            calls.call(lib.ckptdb_strings, tensor, lib.python_string, ffi.new_handle(found))
        out = np.empty(len(found), object)
        for i, raw in enumerate(found):
            try:
                out[i] = raw.decode("utf-8")
            except UnicodeDecodeError:
                out[i] = raw
        return out

    def __getitem__(self, index: Any) -> Any:
        """Elements, as an array; only their bytes are read. An index to one element gives a scalar, as NumPy's."""
        listing = self._listing
        kind = listing.kinds[self._at]
        if index is Ellipsis and kind.direct is not None:
            out = empty(kind.shape, kind.direct)
            if read_whole(listing.reader, self._at, from_buffer(out)):
                return out # else what follows fails, too, and says why
        elif kind.direct is not None and kind.shape and isinstance(index, (int, np.integer, slice)) \
                and not isinstance(index, bool):
            start, count, step = bounds(kind.shape[0], 0, index)
            if step == 1: # one run of bytes
                row = kind.nbytes // max(kind.shape[0], 1)
                out = empty((count, *kind.shape[1:]) if isinstance(index, slice) else kind.shape[1:], kind.direct)
                if not read(listing.reader, self._at, start * row, from_buffer(out), count * row, NULL):
                    return out if out.ndim else out[()]
        if self.dtype_name == "string":
            return self._read(whole(self.shape))[index]
        part = whole(self.shape) if index is Ellipsis else cut(self.shape, index)
        made = self._read(part)
        return made[()] if not part.shape and index is not Ellipsis else made

    def numpy(self, dtype: Any = None) -> Array:
        """The whole tensor, converted by the library if a dtype is given: a value that does not fit is an error."""
        return self._read(whole(self.shape), None if dtype is None else dtypes.name_of(dtype))

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Array:
        if copy is False:
            raise ValueError("the elements are read from a file: that is a copy (mmap() is none)")
        made = self.numpy()
        return made if dtype is None else made.astype(dtype)

    def torch(self) -> Any:
        """The whole, as a tensor of PyTorch."""
        import torch
        made = self.numpy()
        if made.dtype.kind == "V" or made.dtype.name.startswith(("bfloat", "float8")): # ml_dtypes
            kind = getattr(torch, self.dtype_name, None)
            if kind is None:
                raise errors.Unsupported(f"{self.name}: PyTorch has no dtype {self.dtype_name}")
            same = made.view(np.dtype(f"int{8 * made.dtype.itemsize}"))
            return torch.from_numpy(same).view(kind)
        return torch.from_numpy(made)

    def jax(self) -> Any:
        """The whole, as an array of JAX."""
        import jax.numpy
        return jax.numpy.asarray(self.numpy())

    def mmap(self) -> Array:
        """A read-only view of the file, without a copy. ValueError if its bytes are not one plain range."""
        places = self._places()
        kind = self.dtype
        if not places["plain"] or places["codec"] or places["strides"] or kind is None or kind.hasobject \
                or dtypes.read_as(self.dtype_name) or sys.byteorder != "little":
            raise ValueError(f"{self.name}: its bytes are not one plain range of a file")
        if not self.size:
            return self.numpy()
        self._read(cut(self.shape, (0,) * self.ndim)) # refuses a file that changed
        extent = places["extents"][0]
        with open(os.fsencode(extent["file"]), "rb") as file:
            begin = extent["offset"] // maps.ALLOCATIONGRANULARITY * maps.ALLOCATIONGRANULARITY
            lead = extent["offset"] - begin
            held = maps.mmap(file.fileno(), lead + self.nbytes, access=maps.ACCESS_READ, offset=begin)
        return np.frombuffer(held, np.uint8, self.nbytes, lead).view(kind).reshape(self.shape)

    def _places(self) -> Dict[str, Any]:
        text = ffi.new("char **")
        with self._using() as tensor:
            calls.call(lib.ckptdb_tensor_places, tensor, 1, text)
        try:
            return dict(json.loads(errors.text(text[0]) or "{}"))
        finally:
            lib.ckptdb_free(text[0])

    # --- contents -----------------------------------------------------------------------------

    def _catalogued(self) -> int:
        if self.id is None:
            raise errors.Unsupported(f"{self.name}: a map makes it; it has no row of its own in the catalog")
        return self.id

    def hash(self) -> str:
        """The hash of its contents, as the column `hash` has it; computed, of this tensor alone, if it is not known."""
        row = self._asked("SELECT coalesce(hash, tensor_hash(id)) FROM tensor WHERE id = ?")
        if not row or row[0] is None:
            raise errors.Missing(f"{self.name}: it has no bytes, or strings")
        return str(row[0])

    def sha256(self) -> str:
        """SHA-256 of its elements: C order, little-endian; those narrower than a byte, and blocks, as stored."""
        if self.id is not None:
            row = self._asked("SELECT tensor_sha256(?)")
            if not row or row[0] is None:
                raise errors.Missing(f"{self.name}: it has no bytes")
            return str(row[0])
        with self._using() as tensor:
            return self._stream_sha256(tensor)

    def _asked(self, sql: str) -> Optional[Tuple[Any, ...]]:
        try:
            return self._owner.catalog.sql(sql, [self._catalogued()]).fetchone()
        except errors.Error:
            self._whole() # SQL says only that it cannot be read: this says why, by its class
            raise

    def _whole(self) -> None:
        """Raise the error of reading it completely."""
        with self._using() as tensor:
            self._stream_sha256(tensor)

    def _stream_sha256(self, tensor: Any) -> str:
        made, at, length = ffi.new("ckptdb_stream **"), ffi.new("void **"), ffi.new("size_t *")
        calls.call(lib.ckptdb_stream_open, tensor, ffi.NULL, ffi.NULL, made)
        sums = hashlib.sha256()
        try:
            calls.call(lib.ckptdb_stream_next, made[0], at, length)
            while length[0]:
                sums.update(ffi.buffer(at[0], length[0]))
                calls.call(lib.ckptdb_stream_next, made[0], at, length)
        finally:
            lib.ckptdb_stream_close(made[0])
        return sums.hexdigest()

    def stats(self) -> Dict[str, Any]:
        """Its row of the view `stats` (min, max, mean, std, l2, zeros, nans, histogram, …), computed if it is not known."""
        ask = "SELECT * FROM stats WHERE tensor_id = ?"
        rows = self._owner.catalog.sql(ask, [self._catalogued()])
        row = rows.fetchone()
        if not row:
            self._owner.catalog.stats(self._owner.id, tensors=rf"\A{re.escape(self.name)}\Z")
            rows = self._owner.catalog.sql(ask, [self._catalogued()])
            row = rows.fetchone()
        if not row:
            self._whole()
            raise errors.Missing(f"{self.name}: a tensor of {self.dtype_name} has no statistics")
        return dict(zip(rows.columns, row))

    def __repr__(self) -> str:
        return f"<tensor {self.name!r} {self.dtype_name}{list(self.shape)}>"

    def _repr_html_(self) -> str:
        return pictures.tensor(self)

    def __reduce__(self) -> Any:
        return _again, (self._owner, self.name)


def _again(owner: "Tensors", name: str) -> Tensor:
    return owner[name]
