"""Calls of the library: arguments for C, errors as exceptions, signals and progress during long work."""
from __future__ import annotations

import os
import threading
from typing import Any, Callable, Iterable, List, Optional, Tuple

from . import errors
from ._native import ffi, lib

Progress = Callable[[str, int, int], Any]
_raised = threading.local() # what a callback raised on this thread; whose progress callable runs on it


def c_text(value: Any) -> Any:
    """A str, bytes or path for a `const char *`; None stays NULL."""
    if value is None:
        return ffi.NULL
    raw = os.fsencode(value)
    if b"\0" in raw:
        raise errors.Argument(f"{value!r}: a name cannot hold a NUL")
    return ffi.new("char[]", raw)


def c_texts(values: Iterable[Any]) -> Tuple[Any, int, List[Any]]:
    """Several texts: an array that ends in NULL, how many, and the objects that must live as long as the array."""
    texts = [c_text(v) for v in values]
    return ffi.new("char *[]", [*texts, ffi.NULL]), len(texts), texts


def new(struct: str, **fields: Any) -> Any:
    """A struct of options, which begins with its size."""
    made = ffi.new(f"struct {struct} *")
    made.size = ffi.sizeof(made[0])
    for name, value in fields.items():
        try:
            setattr(made, name, value)
        except OverflowError:
            raise errors.Argument(f"{name}: {value} is out of range") from None
    return made


def telling(watch: "Watch") -> bool:
    """Whether this thread is in the progress callable of these calls."""
    return getattr(_raised, "telling", None) is watch


def stoppable() -> None:
    """Let a signal end a wait of this thread."""
    _raised.stoppable = True
    lib.native_stoppable(lib.python_signals)


def raised() -> None:
    """Raise the exception of a callback of the last call."""
    caught = getattr(_raised, "error", None)
    if caught is not None:
        _raised.error = None
        stoppable()
        raise caught


def call(function: Any, *args: Any, said: Iterable[str] = ()) -> None:
    """Call a function whose last argument is an error, and raise that."""
    if not hasattr(_raised, "stoppable"):
        stoppable()
    err = ffi.new("struct ckptdb_error *")
    status = function(*args, err)
    raised()
    if status:
        raise errors.of_struct(err, said)


def _callback(result: Any = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function that C calls by its name. Its exception is raised by the call, which `result` ends."""
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        made: Callable[..., Any] = ffi.def_extern(onerror=_keep, error=result)(function)
        return made
    return decorate


def _keep(kind: Any, value: BaseException, traceback: Any) -> None:
    _raised.error = value


class Watch:
    """State during the calls of one catalog: lines said, the progress callable."""

    def __init__(self) -> None:
        self.said: List[str] = []
        self.tell: Optional[Progress] = None
        self.caught: Optional[BaseException] = None # what `tell` raised
        self.items: List[Any] = [] # what callbacks of this call were given
        self.handle = ffi.new_handle(self)
        self.call = ffi.new("struct native_call *", {"signals": lib.python_signals, "handle": self.handle})
        self.struct = new("ckptdb_watch", context=self.call, stop=ffi.addressof(lib, "native_stop"),
                          progress=ffi.addressof(lib, "native_progress"), say=ffi.addressof(lib, "native_say"))

    def begin(self, progress: Optional[Progress] = None) -> None:
        self.said.clear()
        self.items = []
        self.tell, self.caught = progress, None
        self.call.progress = lib.python_progress if progress else ffi.NULL
        self.call.say = lib.python_say
        lib.native_call_begin(self.call)


@_callback(True)
def python_signals() -> bool:
    """Does nothing: its mere call lets Python's signal handlers run, whose exceptions end the call."""
    return False


@_callback(False)
def python_progress(handle: Any, doing: Any, done: int, total: int) -> bool:
    watch = ffi.from_handle(handle)
    if not watch.tell:
        return True
    _raised.telling = watch
    try:
        watch.tell(errors.text(doing), done, total)
        return True
    except BaseException as error: # this may be a thread of the library: the calling thread raises it
        watch.caught = error
        return False
    finally:
        _raised.telling = None


@_callback()
def python_say(handle: Any, line: Any) -> None:
    ffi.from_handle(handle).said.append(errors.text(line))


@_callback()
def python_issue(handle: Any, issue: Any) -> None:
    text = errors.text
    ffi.from_handle(handle).items.append(Issue(
        text(issue.severity) or "", text(issue.code) or "", text(issue.path), text(issue.message) or "",
        None if issue.offset < 0 else issue.offset, text(issue.checkpoint)))


@_callback(False)
def python_mapped(handle: Any, row: Any) -> bool:
    text = errors.text
    ffi.from_handle(handle).items.append((text(row.old_name), text(row.new_name), text(row.status), text(row.dtype),
                                          text(row.shape), text(row.error)))
    return True


@_callback(False)
def python_string(handle: Any, index: int, at: Any, length: int) -> bool:
    ffi.from_handle(handle).append(ffi.buffer(at, length)[:] if length else b"")
    return True


@_callback(False)
def python_pair(handle: Any, pair: Any) -> bool:
    text = errors.text
    ffi.from_handle(handle).append((text(pair.how), text(pair.old_name), text(pair.new_name)))
    return True


@_callback(False)
def python_format(handle: Any, one: Any) -> bool:
    ffi.from_handle(handle)[errors.text(one.name)] = one.separator.decode("latin-1").strip("\0")
    return True


class Issue:
    """A problem with what was indexed: a row of the view `issue`."""

    __slots__ = ("severity", "code", "path", "message", "offset", "checkpoint")

    def __init__(self, severity: str, code: str, path: Optional[str], message: str, offset: Optional[int],
                 checkpoint: Optional[str]) -> None:
        self.severity, self.code, self.path, self.message = severity, code, path, message
        self.offset, self.checkpoint = offset, checkpoint

    def __repr__(self) -> str:
        at = "" if self.offset is None else f" (at byte {self.offset})"
        return f"<{self.severity} {self.code}: {self.path}: {self.message}{at}>"


def separators() -> "dict[str, str]":
    """For each format the separator in its names: '/' or '.'; '' if it has none."""
    found: "dict[str, str]" = {}
    lib.ckptdb_formats(lib.python_format, ffi.new_handle(found))
    return found
