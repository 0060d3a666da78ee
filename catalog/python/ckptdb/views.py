"""The views and table functions of a catalog as tables of typed columns."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple

from . import errors

if TYPE_CHECKING:
    import pyarrow

    from .catalog import Catalog

# Columns whose type SQLite does not know, because an expression makes them. Any other such column may hold
# anything: it is shown as text, and Spark compares it.
INTEGERS = frozenset("""
    a alpha_id b base base_tensor bytes checkpoint_id checkpoints content_nbytes contents copies count differences files
    findings id layout magnitude nbytes nbytes_a nbytes_b ord other_id other_tensors parts parameters place rank rule strict
    target_id tensor_a tensor_b tensor_id tensors wasted wins""".split())
REALS = frozenset("alpha change scale".split())
TEXTS = frozenset("""
    axes base_name checkpoint component dtype dtype_a dtype_b error finding folder groups hash hash_a hash_b imported kind mtime
    name name_a name_b new_name note old_name optimizer origin other path recipe ruleset run severity shape
    shape_a shape_b state status tensor_ids verified""".split())
OTHERS = {("infer_optimizer", "shape"): "INTEGER", ("infer_optimizer", "dtype"): "INTEGER", ("optimizer_candidate", "place"): "",
          ("optax_slot", "shape"): "", ("optax_slot", "dtype"): "", ("torch_state", "rank"): "", ("leaf", "place"): "INTEGER"}


class Column(NamedTuple):
    """A column; `kind` is INTEGER, REAL, TEXT, BLOB, or '': values of any kind, shown as text. The argument of a table
    function is a hidden column."""

    name: str
    kind: str
    hidden: bool


def columns(catalog: "Catalog", view: str) -> List[Column]:
    """The columns of a view or table function, its arguments behind them.

    >>> import ckptdb
    >>> db = ckptdb.open(":memory:")
    >>> [c.name + " " + c.kind for c in columns(db, "by_dtype")][2:5]
    ['dtype TEXT', 'tensors INTEGER', 'parameters INTEGER']
    >>> [c.name for c in columns(db, "diff") if c.hidden][:3]
    ['a', 'b', 'ruleset']
    """
    found = catalog.sql("SELECT name, type, hidden FROM pragma_table_xinfo(?)", [view]).fetchall()
    if not found or view.startswith("_"):
        raise errors.Missing(f"there is no view or table function {view!r}")
    return [Column(name, kind_of(view, name, declared), hidden == 1) for name, declared, hidden in found]


def kind_of(view: str, name: str, declared: str) -> str:
    for known in ("INTEGER", "REAL", "TEXT", "BLOB"):
        if declared.upper().startswith(known[:3]):
            return known
    if (view, name) in OTHERS:
        return OTHERS[view, name]
    return "INTEGER" if name in INTEGERS else "REAL" if name in REALS else "TEXT" if name in TEXTS else ""


def names(catalog: "Catalog") -> List[str]:
    """The public views, and the tables that are public.

    >>> import ckptdb
    >>> {"checkpoint", "tensor", "ruleset"} <= set(names(ckptdb.open(":memory:")))
    True
    """
    return [row[0] for row in catalog.sql("SELECT name FROM main.sqlite_master WHERE name NOT GLOB '_*' AND (type = 'view'"
                                          " OR name IN ('ruleset', 'rule', 'optimizer', 'known_class')) ORDER BY name")]


def quoted(name: str) -> str:
    """A name for SQL.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def shown(value: Any) -> Any:
    """A value of a column of any kind as text; bytes that are not UTF-8 become U+FFFD.

    >>> [shown(v) for v in (None, 3, 0.1, "a", "caf\\udce9")]
    [None, '3', '0.1', 'a', 'caf\\ufffd']
    """
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if isinstance(value, str) else \
        None if value is None else repr(value)


def schema(listed: List[Column]) -> "pyarrow.Schema":
    """The types of columns in Arrow."""
    import pyarrow as pa
    types: Dict[str, Any] = {"INTEGER": pa.int64(), "REAL": pa.float64(), "BLOB": pa.binary()}
    return pa.schema([(c.name, types.get(c.kind, pa.string())) for c in listed])
