"""A plugin of Datasette, found where both are installed: catalogs have all views and functions that read no
file, and say what their views are. `{"plugins": {"ckptdb": {"read": true}}}` in its metadata adds the functions that
read the checkpoints' files, for servers whose visitors may read them."""
from __future__ import annotations

import functools
import json
import os
import warnings
from typing import Any, Dict, Optional

from datasette import hookimpl

from .program import extension


@functools.lru_cache(maxsize=None)
def is_catalog(path: Optional[str]) -> bool:
    """By the application id in the file's header."""
    if not path:
        return False
    try:
        with open(path, "rb") as file:
            return file.read(72)[68:] == b"ckpt"
    except OSError:
        return False


@functools.lru_cache(maxsize=None)
def described() -> Dict[str, Any]:
    """Datasette's metadata for a catalog; the file itself is for a catalog called catalog.db."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "datasette.json"), encoding="utf-8") as file:
        return dict(json.load(file)["databases"]["catalog"])


@hookimpl
def prepare_connection(conn: Any, database: str, datasette: Any) -> None:
    if database not in datasette.databases or not is_catalog(datasette.databases[database].path):
        return
    if conn.execute("SELECT 1 FROM pragma_function_list WHERE name = 'regexp_match'").fetchone():
        return # datasette --load-extension
    if not hasattr(conn, "enable_load_extension"):
        warnings.warn("this Python's sqlite3 loads no extensions: pip install pysqlite3-binary, which Datasette then uses")
        return
    entry = "" if (datasette.plugin_config("ckptdb") or {}).get("read") else "noread_"
    conn.enable_load_extension(True)
    try:
        conn.execute("SELECT load_extension(?, ?)", [extension(), f"sqlite3_ckptdb_{entry}init"])
    finally:
        conn.enable_load_extension(False)


@hookimpl(optionalhook=True)
def get_metadata(datasette: Any) -> Dict[str, Any]:
    return {"databases": {name: described() for name, database in list(datasette.databases.items())
                          if is_catalog(database.path)}}
