#!/usr/bin/env python3
"""The public views of a catalog as flat tables: same names, same columns, an index on every column.

    make_flat.py CATALOG FLAT

Reads the views as a SQLite program without our extension does."""
import pathlib
import sqlite3
import sys

VIEWS = ("checkpoint tensor metadata file issue node by_dtype by_module by_folded_module by_name largest disk "
         "ruleset rule content duplicate waste damage verification stats").split()
KEYED = ("checkpoint", "tensor", "file", "issue")  # views whose `id` is one row
INTEGERS = set("id checkpoint_id tensor_id ord rank elements nbytes stored offset step layout tensors parameters files "
               "size mtime_ns inode device depth checkpoints bytes copies wasted".split())
UNTYPED = {"value", "min", "max", "mean", "std", "l2"}


def open_catalog(catalog):
    return sqlite3.connect(f"file:{pathlib.Path(catalog).absolute()}?mode=ro", uri=True)


def columns(db, view):
    return [row[1] for row in db.execute(f"PRAGMA table_info({view})")]


def views_of(db):
    there = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type IN ('view', 'table')")}
    return [view for view in VIEWS if view in there]


def declared(view, column):
    kind = "" if column in UNTYPED else " INTEGER" if column in INTEGERS else " TEXT"
    return f'"{column}"{kind}' + (" PRIMARY KEY" if column == "id" and view in KEYED else "")


def make_flat(catalog, flat):
    pathlib.Path(flat).unlink(missing_ok=True)
    db = sqlite3.connect(flat, isolation_level=None)
    db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-400000;")
    db.execute("ATTACH ? AS c", (f"file:{pathlib.Path(catalog).absolute()}?mode=ro",))
    for view in views_of(open_catalog(catalog)):
        names = columns(open_catalog(catalog), view)
        db.execute(f"CREATE TABLE {view}({', '.join(declared(view, name) for name in names)})")
        order = " ORDER BY checkpoint_id, ord" if view == "tensor" else ""
        db.execute(f"INSERT INTO {view} SELECT * FROM c.{view}{order}")
        for name in names:
            if not (name == "id" and view in KEYED):
                db.execute(f'CREATE INDEX {view}_{name} ON {view}("{name}")')
    db.execute("DETACH c")
    db.execute("ANALYZE")
    db.close()


if __name__ == "__main__":
    make_flat(*sys.argv[1:3])
