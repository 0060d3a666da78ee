"""Exports."""
from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional

from . import calls, dtypes, errors
from ._native import ffi, lib

if TYPE_CHECKING:
    from .checkpoint import Checkpoint

FLAGS = ("partial", "force", "no_sync", "dry_run", "no_metadata")


class Exported:
    """The result of an export, or with dry_run of its plan.

    Attributes
    ----------
    path, format : str
    tensors, nbytes, files : int
    said : list of str
        Messages to the user: lossy conversions, tensors that were left out.
    """

    __slots__ = ("path", "format", "tensors", "nbytes", "files", "said")

    def __init__(self, path: str, done: Any, said: List[str]) -> None:
        self.path, self.said = path, said
        self.format: str = errors.text(done.format) or ""
        self.tensors, self.nbytes, self.files = int(done.tensors), int(done.nbytes), int(done.files)

    def __repr__(self) -> str:
        return f"<{self.path}: {self.format}, {self.tensors} tensors, {self.nbytes} bytes, {self.files} files>"


@contextlib.contextmanager
def set_numbers(db: Any, map: Optional[str], settings: Mapping[str, Any]) -> Iterator[None]:
    """Give a map numbers that the checkpoint does not state, for one call."""
    try:
        for key, value in settings.items():
            calls.call(lib.ckptdb_map_set, db, calls.c_text(map), calls.c_text(key), calls.c_text(str(value)))
        yield
    finally:
        if settings:
            lib.ckptdb_map_unset(db)


def pairs(given: Mapping[str, Any]) -> List[str]:
    """Options of a format as key, value, ...; a list gives a key several times."""
    flat: List[str] = []
    for key, value in given.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            flat += [key, str(one).lower() if isinstance(one, bool) else str(one)]
    return flat


def export(source: "Checkpoint", path: Any, names: Optional[str], dtype: Any, map: Optional[str], target: int,
           settings: Mapping[str, Any], options: Dict[str, Any]) -> Exported:
    out = os.path.expanduser(os.fspath(path))
    progress = options.pop("progress", None)
    texts = {"names": names, "where": options.pop("where", None), "map": map, "format": options.pop("format", None),
             "dtype": None if dtype is None else dtypes.name_of(dtype), "renames": None}
    renames = options.pop("rename", None)
    if renames:
        texts["renames"] = json.dumps([list(p) for p in (renames.items() if hasattr(renames, "items") else renames)])
    kept = {key: calls.c_text(text) for key, text in texts.items()}
    fields: Dict[str, Any] = {flag: bool(options.pop(flag, False)) for flag in FLAGS}
    fields.update(kept, checkpoint=source.id, target=target, threads=options.pop("threads", 0),
                  shard_size=size(options.pop("shard_size", 0)))
    merges = merged(source, options.pop("merge", None) or [])
    metadata = calls.c_texts(pairs(options.pop("metadata", None) or {}))
    format_options = calls.c_texts(pairs(options))
    done = ffi.new("struct ckptdb_exported *")
    with source.catalog._using(progress) as db, set_numbers(db, map, settings):
        made = calls.new("ckptdb_export_options", **fields, metadata=metadata[0], settings=format_options[0],
                         done=done, merges=merges, merge_count=len(merges))
        calls.call(lib.ckptdb_export, db, calls.c_text(out), made, said=source.catalog._watch.said)
        return Exported(out, done, list(source.catalog._watch.said))


def size(value: Any) -> int:
    """5_000_000 or "5MB" as bytes."""
    if isinstance(value, int):
        return value
    made = int(lib.ckptdb_size(calls.c_text(value)))
    if not made:
        raise errors.Argument(f"{value!r} is not a size such as 5GB or 500MiB")
    return made


def merged(source: "Checkpoint", given: Any) -> Any:
    """Adapters, each alone or with a factor."""
    list_ = [one if isinstance(one, tuple) else (one, 1.0)
             for one in (given if isinstance(given, list) else [given])]
    made = ffi.new("struct ckptdb_merge[]", len(list_))
    for i, (adapter, factor) in enumerate(list_):
        made[i].checkpoint, made[i].factor = source.catalog._id(adapter), factor
    return made
