"""Exceptions: one class for each status of the library."""
from __future__ import annotations

from typing import Any, Dict, Iterable, Optional, Type

from ._native import ffi, lib


class Error(Exception):
    """Something failed; `source` names the file, `offset` the byte in it, where these are known."""

    def __init__(self, message: str = "", source: Optional[str] = None, offset: Optional[int] = None) -> None:
        super().__init__(message)
        self.source, self.offset = source, offset

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.source, self.offset)


class Corrupt(Error):
    """Bytes contradict their format."""


class Unsupported(Error):
    """Legal, but not something that is read or written here."""


class Limit(Error):
    """More than the library accepts; the message names the limit."""


class Missing(Error, KeyError):
    """There is no such file, checkpoint, tensor or map."""


class Changed(Error):
    """A file is not the one that was indexed: index it again."""


class Checksum(Error):
    """Data does not have its recorded checksum."""


class Value(Error, ValueError):
    """A value does not fit the requested dtype."""


class IO(Error, OSError):
    """The system refused to read or write."""


class Busy(Error):
    """Another program is writing the catalog."""


class Memory(Error, MemoryError):
    """There is no memory."""


class Argument(Error, ValueError):
    """The request makes no sense."""


class Interrupted(Error):
    """The work was stopped."""


BY_STATUS: Dict[int, Type[Error]] = {
    lib.CKPTDB_CORRUPT: Corrupt, lib.CKPTDB_UNSUPPORTED: Unsupported, lib.CKPTDB_LIMIT: Limit,
    lib.CKPTDB_MISSING: Missing, lib.CKPTDB_CHANGED: Changed, lib.CKPTDB_CHECKSUM: Checksum,
    lib.CKPTDB_VALUE: Value, lib.CKPTDB_IO: IO, lib.CKPTDB_BUSY: Busy, lib.CKPTDB_MEMORY: Memory,
    lib.CKPTDB_ARGUMENT: Argument, lib.CKPTDB_INTERRUPTED: Interrupted,
}


def text(pointer: Any) -> Optional[str]:
    """A C string as str: paths may hold any bytes, as os.fsdecode() has them. None for NULL."""
    return str(ffi.string(pointer).decode("utf-8", "surrogateescape")) if pointer else None


def of_struct(err: Any, said: Iterable[str] = ()) -> Error:
    """The exception for a struct ckptdb_error; `said`: the reasons that came before it."""
    line = ffi.new("char[2048]")
    lib.ckptdb_error_text(err, line, 2048)
    offset = None if err.offset == lib.CKPTDB_NO_OFFSET else err.offset
    message = "\n".join([text(line) or "", *said])
    return BY_STATUS.get(err.status, Error)(message, text(err.source) or None, offset)
