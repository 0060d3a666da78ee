#!/usr/bin/env python3
"""The reference for import: what a careful user writes with the standard library alone.

    reference_import.py CATALOG FOLDER

Reads every .safetensors header with `json` and puts a row a tensor into one flat table, in one
transaction, without an index and without a journal.
"""
import json
import os
import sqlite3
import struct
import sys


def rows(folder):
    checkpoint = 0
    for path, _, files in os.walk(folder):
        for name in sorted(files):
            if not name.endswith(".safetensors"):
                continue
            checkpoint += 1
            with open(os.path.join(path, name), "rb") as f:
                length = struct.unpack("<Q", f.read(8))[0]
                header = json.loads(f.read(length))
            header.pop("__metadata__", None)
            for tensor, about in header.items():
                begin, end = about["data_offsets"]
                yield (checkpoint, tensor, about["dtype"], json.dumps(about["shape"]),
                       8 + length + begin, end - begin)


db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA journal_mode=OFF")
db.execute("CREATE TABLE tensor(checkpoint, name, dtype, shape, offset, nbytes)")
with db:
    db.executemany("INSERT INTO tensor VALUES (?, ?, ?, ?, ?, ?)", rows(sys.argv[2]))
print(db.execute("SELECT count(*), sum(nbytes) FROM tensor").fetchone())
