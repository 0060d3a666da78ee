"""Checkpoints, as mappings of names to tensors: as they are, and as a map makes them."""
from __future__ import annotations

import os
from typing import (TYPE_CHECKING, Any, Dict, ItemsView, Iterator, List, Mapping, Optional, Sequence, Tuple, Union,
                    ValuesView)

from . import calls, errors, exports, pictures
from ._native import ffi, lib
from .listing import Kind, Listing, look_up
from .tensor import Tensor, shape_of

if TYPE_CHECKING:
    from .catalog import Catalog, Named


class Items(ItemsView[str, Tensor]):
    """Names and tensors, without looking each name up."""

    _mapping: "Tensors"

    def __iter__(self) -> Iterator[Tuple[str, Tensor]]:
        held = self._mapping._held()
        return zip(held.names, held.tensors())


class Values(ValuesView[Tensor]):
    """Tensors, without looking each name up."""

    _mapping: "Tensors"

    def __iter__(self) -> Iterator[Tensor]:
        return self._mapping._held().tensors()


class Tensors(Mapping[str, Tensor]):
    """Tensors by name: the base of Checkpoint and Mapped."""

    catalog: "Catalog"
    id: int
    _listing: Optional[Listing] = None

    def _list(self) -> Listing:
        raise NotImplementedError

    def _open(self, name: str, id: Optional[int]) -> Any:
        """The library's tensor of this name."""
        raise NotImplementedError

    def _held(self) -> Listing:
        if self._listing is None:
            self._listing = self._list()
        return self._listing

    def __getitem__(self, name: str) -> Tensor:
        held = self._held()
        at = held.places.get(name)
        if at is None:
            import difflib
            near = difflib.get_close_matches(str(name), held.names, 3)
            raise errors.Missing(f"{self!r} has no tensor {name!r}" + (f"; near it: {', '.join(near)}" if near else ""))
        return Tensor(held, held.kinds[at], at)

    def __len__(self) -> int:
        return len(self._held().names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._held().names)

    def __contains__(self, name: object) -> bool:
        return name in self._held().places

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def items(self) -> "Items":
        return Items(self)

    def values(self) -> "Values":
        return Values(self)

    def _separator(self) -> str:
        raise NotImplementedError

    def tree(self) -> Dict[str, Any]:
        """The tensors as nested dicts, as their names say."""
        own = self._separator()
        separator = own if own and any(own in name for name in self) else "/"
        root: Dict[str, Any] = {}
        for name, tensor in self.items():
            *folders, leaf = name.split(separator)
            at = root
            for i, folder in enumerate(folders):
                step = at.setdefault(folder, {})
                if not isinstance(step, dict): # a tensor has this name: what is below it keeps the rest of its name
                    leaf = separator.join([*folders[i:], leaf])
                    break
                at = step
            if isinstance(at.get(leaf), dict):
                leaf = name
            at[leaf] = tensor
        return root

    def _repr_html_(self) -> str:
        return pictures.tree(self)


COLUMNS = ("name", "path", "format", "step", "run", "item", "state", "tensors", "parameters", "nbytes", "hash")


class Checkpoint(Tensors):
    """A checkpoint of a catalog: a mapping of names to tensors, in the file's own order.

    Attributes
    ----------
    id : int
    name, path, format : str
    step : int or None
    run, item, state : str or None
    parameters, nbytes : int
    """

    def __init__(self, catalog: "Catalog", id: int) -> None:
        self.catalog, self.id = catalog, int(id)
        self._row: Optional[Dict[str, Any]] = None

    def __getattr__(self, name: str) -> Any:
        if name not in COLUMNS:
            raise AttributeError(name)
        if self._row is None:
            row = self.catalog.sql(f"SELECT {', '.join(COLUMNS)} FROM checkpoint WHERE id = ?", [self.id]).fetchone()
            if row is None:
                raise errors.Missing(f"the catalog has no checkpoint {self.id} any more")
            self._row = dict(zip(COLUMNS, row))
        return self._row[name]

    def _list(self) -> Listing:
        with self.catalog._using() as db: # not of this object: a cycle would hold memory and files until it is collected
            return look_up(Checkpoint(self.catalog, self.id), db)

    def _open(self, name: str, id: Optional[int]) -> Any:
        made = ffi.new("ckptdb_tensor **")
        with self.catalog._using() as db:
            calls.call(lib.ckptdb_tensor_open, db, id, made)
        if errors.text(lib.ckptdb_tensor_info(made[0]).name) != name.partition("\0")[0]:
            lib.ckptdb_tensor_close(made[0])
            raise errors.Changed(f"{name}: the checkpoint was indexed anew: take it from the catalog again", self.path)
        return made[0]

    def _separator(self) -> str:
        return self.catalog._separator(self.format)

    @property
    def metadata(self) -> Dict[str, Any]:
        """The file's facts about itself."""
        return dict(self.catalog.sql("SELECT key, value FROM metadata WHERE checkpoint_id = ?", [self.id]))

    @property
    def issues(self) -> List[calls.Issue]:
        """Its problems."""
        rows = self.catalog.sql("SELECT severity, code, path, message, offset, checkpoint FROM issue"
                                " WHERE checkpoint_id = ?", [self.id])
        return [calls.Issue(*row) for row in rows]

    def mapped(self, map: str, target: Optional["Named"] = None, **settings: Any) -> "Mapped":
        """The tensors as a rule set makes them, still lazy.

        Parameters
        ----------
        map : str
            The name of a rule set (`catalog.maps`).
        target : optional
            The checkpoint whose names an assigning map fills.
        settings
            Numbers that the map needs and the checkpoint does not state, such as num_attention_heads=32.
        """
        return Mapped(self, map, None if target is None else self.catalog._id(target), settings)

    def export(self, path: Union[str, "os.PathLike[str]"], names: Optional[str] = None, dtype: Any = None,
               **options: Any) -> exports.Exported:
        """Write tensors to a new file; see `Exported` for what comes back.

        Parameters
        ----------
        path : str or path-like
            Its suffix decides the format, unless `format` is given.
        names : str, optional
            Only tensors whose name this regular expression matches.
        dtype : optional
            Convert to it; a floating-point one leaves integers alone.
        options
            format, where, force, partial, dry_run, shard_size, metadata (a dict), no_metadata, no_sync, threads,
            rename (a dict, or pairs, of regular expressions and templates), merge (a list of adapters, or of
            (adapter, factor)), progress; any other is an option of the format.
        """
        return exports.export(self, path, names, dtype, None, 0, {}, options)

    def __repr__(self) -> str:
        return f"<checkpoint {self.name!r} {self.format}, {self.tensors} tensors>"

    def __reduce__(self) -> Any:
        if self.catalog._opened is not None:
            from .catalog import open_file
            return open_file, (self.catalog._opened,)
        return Checkpoint, (self.catalog, self.id)


class Mapped(Tensors):
    """A checkpoint after a map: the same mapping, under other names."""

    def __init__(self, source: Checkpoint, map: str, target: Optional[int], settings: Mapping[str, Any]) -> None:
        self.source, self.map, self.target, self.settings = source, map, target, dict(settings)
        self.catalog, self.id = source.catalog, source.id
        row = self.catalog.sql("SELECT dialect FROM ruleset WHERE name = ?", [map]).fetchone()
        if row is None:
            raise errors.Missing(f"there is no map {map!r}; there are: {', '.join(self.catalog.maps)}")
        self._assigns = lib.ckptdb_dialect(calls.c_text(row[0])) == lib.CKPTDB_ASSIGNS
        if self._assigns and target is None:
            raise errors.Argument(f"{map} fills the names of a model: say which, target=…")
        self._held()

    def _list(self) -> Listing:
        with self.catalog._using() as db, exports.set_numbers(db, self.map, self.settings):
            name = calls.c_text(self.map)
            options = calls.new("ckptdb_map_options", map=name, checkpoint=self.id, target=self.target or 0,
                                each=lib.python_mapped, context=self.catalog._watch.handle)
            calls.call(lib.ckptdb_map, db, options)
            rows = list(self.catalog._watch.items)
        self._old: Dict[str, Optional[str]] = {}
        return self._taken(rows)

    def _taken(self, rows: Sequence[Tuple[Any, ...]]) -> Listing:
        found: Dict[str, Kind] = {}
        for old, new, status, dtype, shape, error in rows:
            if status == "error":
                raise errors.Unsupported(f"{self.map}: {old or new}: {error}")
            if new is None or status not in ("ok", "mapped", "kept"):
                continue
            if new in found:
                raise errors.Unsupported(f"{self.map}: {self._old[new]} and {old} both become {new}")
            self._old[new] = old
            found[new] = Kind(dtype, shape_of(shape), -1, "mapped")
        return Listing(self, list(found), list(found.values()))

    def _open(self, name: str, id: Optional[int]) -> Any:
        made, old = ffi.new("ckptdb_tensor **"), ffi.new("int64_t *")
        with self.catalog._using() as db, exports.set_numbers(db, self.map, self.settings):
            if self._assigns:
                calls.call(lib.ckptdb_find_tensor, db, self.id, calls.c_text(self._old[name]), old)
                calls.call(lib.ckptdb_tensor_open, db, old[0], made)
            else:
                calls.call(lib.ckptdb_tensor_open_mapped, db, calls.c_text(self.map), self.id, calls.c_text(name), made)
        return made[0]

    def _separator(self) -> str:
        return "/" if any("/" in name for name in self) else "."

    def export(self, path: Union[str, "os.PathLike[str]"], names: Optional[str] = None, dtype: Any = None,
               **options: Any) -> exports.Exported:
        """Write them to a new file, as Checkpoint.export() does; `names` are matched with the old names."""
        return exports.export(self.source, path, names, dtype, self.map, self.target or 0, self.settings, options)

    def __repr__(self) -> str:
        return f"<checkpoint {self.source.name!r} by {self.map}, {len(self)} tensors>"

    def __reduce__(self) -> Any:
        return Mapped, (self.source, self.map, self.target, self.settings)
