"""Spark's filters as conditions of SQL that keep exactly the rows which Spark would keep."""
from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from .views import quoted

Condition = Tuple[str, List[Any]] # SQL, and the values of its ?
MOST = 1000 # values of one In: SQLite binds 32,766
COMPARED = {"EqualTo": "=", "EqualNullSafe": "IS", "GreaterThan": ">", "GreaterThanOrEqual": ">=", "LessThan": "<",
            "LessThanOrEqual": "<="}


def condition(filter: Any, kinds: Mapping[str, str]) -> Optional[Condition]:
    """A filter of pyspark.sql.datasource over columns of these kinds (views.Column); None: Spark has to apply it.

    Texts must compare in SQL as they do in Spark, where bytes that are not UTF-8
    are U+FFFD: a value with that character is left to Spark, and an order is pushed for ASCII only.
    """
    name = type(filter).__name__
    if name == "Not":
        inner = condition(filter.child, kinds)
        return inner and (f"NOT ({inner[0]})", inner[1])
    column = filter.attribute[0].lower()
    if len(filter.attribute) != 1 or column not in kinds:
        return None
    sql, kind = quoted(column), kinds[column]
    if name in ("IsNull", "IsNotNull"):
        return f"{sql} IS {'NOT ' if name == 'IsNotNull' else ''}NULL", []
    if name in COMPARED:
        order = name not in ("EqualTo", "EqualNullSafe")
        return (f"{sql} {COMPARED[name]} ?", [filter.value]) if comparable(filter.value, kind, order) else None
    if name == "In":
        values = list(filter.value)
        if not 0 < len(values) <= MOST or not all(comparable(v, kind, False) for v in values):
            return None
        return f"{sql} IN ({', '.join('?' * len(values))})", values
    if name in TEXTUAL and kind == "TEXT" and comparable(filter.value, kind, False):
        return TEXTUAL[name](sql, filter.value)
    return None


def comparable(value: Any, kind: str, order: bool) -> bool:
    """Whether SQLite compares a value with a column of this kind as Spark does."""
    if isinstance(value, bool):
        return False
    if kind == "INTEGER":
        return isinstance(value, int) and -(1 << 63) <= value < 1 << 63
    if kind == "REAL":
        return isinstance(value, float) and not math.isnan(value)
    return kind == "TEXT" and isinstance(value, str) and "\ufffd" not in value and "\0" not in value and \
        (not order or value.isascii())


def following(text: str) -> Optional[str]:
    """The first text after all texts with this prefix; None: there is none.

    >>> following("ab"), following("a\\U0010ffff"), following("\\ud7ff") == "\\ue000", following("")
    ('ac', 'b', True, None)
    """
    cut = text.rstrip("\U0010ffff")
    if not cut:
        return None
    last = ord(cut[-1]) + 1
    return cut[:-1] + chr(0xE000 if last == 0xD800 else last)


def begins(column: str, value: str) -> Condition:
    """A range, which an index can find."""
    end = following(value)
    return f"{column} >= ?" + (f" AND {column} < ?" if end else ""), [value] + ([end] if end else [])


def ends(column: str, value: str) -> Condition:
    """By bytes: SQL's functions see a text only up to a NUL. (substr() of no bytes is NULL.)"""
    if not value:
        return contains(column, value)
    return (f"CASE WHEN {column} = '' THEN 0 ELSE substr(CAST({column} AS BLOB), ?) = CAST(? AS BLOB) END",
            [-len(value.encode()), value])


def contains(column: str, value: str) -> Condition:
    return f"instr({column}, ?) > 0", [value]


TEXTUAL: Dict[str, Callable[[str, str], Condition]] = {"StringStartsWith": begins, "StringEndsWith": ends,
                                                       "StringContains": contains}
