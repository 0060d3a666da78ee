#!/usr/bin/env python3
"""Import test data of other projects and compare the outcome with a table of verdicts.

    run.py CKPTDB TABLE FOLDER PART...

A line of TABLE: folder, verdict (indexed, issues, refused), tensors, issue codes joined by ',' ("-" for
none); fields are separated by white space. '#' begins a comment, which argues for the line below it;
folders are relative to FOLDER; its PARTs are imported. What the import finds and the table does
not have is an error, too. The last line is "N passed, N failed".
"""
import os
import sqlite3
import subprocess
import sys
import tempfile


def read_table(path):
    with open(path, encoding="utf-8") as table:
        lines = [line.split("#")[0].split() for line in table]
    return {line[0]: (line[1], int(line[2]), line[3]) for line in lines if line}


def outcomes(program, folder, parts):
    with tempfile.TemporaryDirectory() as work:
        catalog = os.path.join(work, "catalog.db")
        done = subprocess.run([program, "-d", catalog, "import", *parts], cwd=folder, capture_output=True, timeout=600)
        if done.returncode not in (0, 1):
            raise SystemExit(f"import ends with status {done.returncode}: {done.stderr.decode()[-400:]}")
        db = sqlite3.connect(f"file:{catalog}?mode=ro", uri=True)
        rows = db.execute("SELECT id, path, tensors FROM checkpoint").fetchall()
        issues = db.execute("SELECT checkpoint_id, path, severity, code FROM issue").fetchall()
        db.close()
    found = {}
    for number, path, tensors in rows:
        codes = sorted({code for owner, _, _, code in issues if owner == number})
        bad = any(owner == number and severity == "error" for owner, _, severity, _ in issues)
        found[os.path.relpath(path, folder)] = ("issues" if bad else "indexed", tensors, ",".join(codes) or "-")
    for owner, path, _, code in issues:
        if owner is None:
            found[os.path.relpath(path, folder)] = ("refused", 0, code)
    return found


def main():
    program, table, folder = os.path.abspath(sys.argv[1]), sys.argv[2], os.path.realpath(sys.argv[3])
    want, have = read_table(table), outcomes(program, folder, sys.argv[4:])
    passed = failed = 0
    for name in sorted(want.keys() | have.keys()):
        if want.get(name) == have.get(name):
            passed += 1
            continue
        failed += 1
        print(f"FAIL {name}: {have.get(name, 'nothing')}, not {want.get(name, 'in the table')}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0 or not passed


if __name__ == "__main__":
    sys.exit(main())
