"""Rule sets, and maps that are inferred."""
from __future__ import annotations

import json
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from . import calls, errors
from ._native import ffi, lib

if TYPE_CHECKING:
    from .catalog import Catalog


class Maps(MutableMapping): # type: ignore[type-arg]
    """The rule sets of a catalog: each a dict of dialect, options and rules.

    >>> import ckptdb
    >>> db = ckptdb.open(":memory:")
    >>> db.maps["short"] = {"dialect": "t5x-translator", "rules": [["^encoder/(.*)", r"enc/\\1"], ["^step$", None]]}
    >>> db.maps["short"]["rules"]
    [['^encoder/(.*)', 'enc/\\\\1'], ['^step$', None]]
    >>> del db.maps["short"]
    >>> "short" in db.maps
    False
    """

    def __init__(self, catalog: "Catalog") -> None:
        self._catalog = catalog

    def __getitem__(self, name: str) -> Dict[str, Any]:
        return dict(json.loads(self.write(name, "json")))

    def write(self, name: str, form: str) -> str:
        """The text of a rule set in one of the forms that `map show --format` has: json, gin, …"""
        if name not in self:
            raise errors.Missing(f"there is no map {name!r}")
        text, length = ffi.new("char **"), ffi.new("size_t *")
        with self._catalog._using() as db:
            calls.call(lib.ckptdb_map_write, db, calls.c_text(name), calls.c_text(form), text, length)
        try:
            return bytes(ffi.buffer(text[0], length[0])).decode("utf-8", "surrogateescape")
        finally:
            lib.ckptdb_free(text[0])

    def __setitem__(self, name: str, rules: Union[Mapping[str, Any], str]) -> None:
        """Store a rule set: a dict, or the text of a map file in any form."""
        raw = (rules if isinstance(rules, str) else json.dumps(rules)).encode("utf-8", "surrogateescape")
        with self._catalog._using() as db:
            calls.call(lib.ckptdb_map_load, db, calls.c_text(name), raw, len(raw), calls.c_text(name),
                       said=self._catalog._watch.said)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise errors.Missing(f"there is no map {name!r}")
        self._catalog.sql("DELETE FROM ruleset WHERE name = ?", [name])

    def __contains__(self, name: object) -> bool:
        return self._catalog.sql("SELECT 1 FROM ruleset WHERE name = ?", [str(name)]).fetchone() is not None

    def __iter__(self) -> Iterator[str]:
        return (row[0] for row in self._catalog.sql("SELECT name FROM ruleset ORDER BY name").fetchall())

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        return f"<maps: {', '.join(self)}>"


class Inferred:
    """A map that turns the names of one checkpoint into another's.

    Attributes
    ----------
    dialect : str
    map : dict
        As `Catalog.maps` takes it.
    pairs : list of (how, old name, new name)
        how: content, name, guess; dropped, missing: only one side has it.
    """

    def __init__(self, catalog: "Catalog", a: int, b: int) -> None:
        made = ffi.new("ckptdb_inferred **")
        with catalog._using() as db:
            calls.call(lib.ckptdb_infer, db, a, b, made)
        self._catalog = catalog
        self._held = ffi.gc(made[0], lib.ckptdb_inferred_close)
        info = lib.ckptdb_inferred_info(self._held)
        self.dialect = errors.text(info.dialect) or ""
        self.map: Dict[str, Any] = json.loads(errors.text(info.map) or "{}")
        self.pairs: List[Tuple[str, Optional[str], Optional[str]]] = []
        lib.ckptdb_inferred_pairs(self._held, lib.python_pair, ffi.new_handle(self.pairs))

    def keep(self, name: str) -> None:
        """Store it as a rule set."""
        with self._catalog._using() as db:
            calls.call(lib.ckptdb_inferred_keep, db, self._held, calls.c_text(name))

    def __repr__(self) -> str:
        return f"<inferred {self.dialect}: {len(self.map.get('rules', []))} rules, {len(self.pairs)} names>"
