"""ckptdb: an SQL catalog of machine-learning checkpoints, from Python.

>>> import ckptdb
>>> db = ckptdb.open(":memory:")
>>> db.sql("SELECT count(*) FROM tensor").fetchone()
(0,)
"""
from __future__ import annotations

from typing import Any as _Any

from ._native import lib as _lib
from .calls import Issue
from .catalog import Catalog, Report, load_file, open, open_file
from .checkpoint import Checkpoint, Mapped
from .errors import (IO, Argument, Busy, Changed, Checksum, Corrupt, Error, Interrupted, Limit, Memory, Missing,
                     Unsupported, Value, text as _text)
from .exports import Exported
from .maps import Inferred, Maps
from .program import extension
from .rows import Rows
from .tensor import Tensor

__version__: str = _text(_lib.ckptdb_version()) or ""
__all__ = ["Argument", "Busy", "Catalog", "Changed", "Checkpoint", "Checksum", "Corrupt", "Error", "Exported", "IO",
           "Inferred", "Interrupted", "Issue", "Limit", "Mapped", "Maps", "Memory", "Missing", "Report", "Rows",
           "Tensor", "Unsupported", "Value", "extension", "load_file", "open", "open_file"]


def __getattr__(name: str) -> _Any:
    """ckptdb.spark, which needs PySpark, is imported when it is first used."""
    if name == "spark":
        import importlib
        return importlib.import_module(".spark", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
