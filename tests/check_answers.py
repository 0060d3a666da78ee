#!/usr/bin/env python3
"""Import files of the original libraries and compare with what these libraries read from them.

    check_answers.py CKPTDB FOLDER [REGEX]

FOLDER holds cases (fixtures/real/README.md); REGEX chooses among them by their path. The views are
read with Python's own sqlite3, as any other program would; only values come through ckptdb. Prints
what differs and, last, "N passed, N failed".
"""
import concurrent.futures
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

SHOWN = 8  # differences of one case


class Failure(Exception):
    pass


class Catalog:
    """A case's catalog: imported by the program, read in two ways."""

    def __init__(self, program, folder):
        self.program = program
        self.path = os.path.join(folder, "catalog.db")

    def run(self, arguments, text=None):
        return subprocess.run([self.program, "-d", self.path, *arguments], input=text, text=True,
                              encoding="utf-8", errors="replace", capture_output=True, timeout=300)

    def import_(self, data):
        done = self.run(["import", data])
        if done.returncode not in (0, 1):
            raise Failure(f"import ends with status {done.returncode}: {done.stderr.strip()[-400:]}")
        return done.returncode

    def view(self, sql):
        db = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        db.row_factory = sqlite3.Row
        try:
            return [dict(row) for row in db.execute(sql)]
        finally:
            db.close()

    def values(self, sql):
        """Rows of a statement that needs the program's functions."""
        done = self.run(["--jsonl", "-f", "-"], sql + ";\n")
        if done.returncode != 0:
            raise Failure(f"status {done.returncode}: {done.stderr.strip()[-400:]}")
        return [json.loads(line) for line in done.stdout.split("\n") if line]


class Answers:
    """expect.jsonl, by kind of line; paths as the catalog has them."""

    def __init__(self, case):
        self.data = os.path.realpath(case / "data")
        self.tensors, self.facts, self.steps, self.issues = {}, [], [], []
        for text in (case / "expect.jsonl").read_text(encoding="utf-8").split("\n"):
            if not text.strip():
                continue
            line = json.loads(text)
            path = os.path.normpath(os.path.join(self.data, line.get("checkpoint", ".")))
            if "name" in line:
                self.tensors[path, line["name"]] = line
            elif "meta" in line:
                self.facts.append((path, line["meta"], line["value"]))
            elif "step" in line:
                self.steps.append((path, line["step"]))
            elif "issue" in line:
                self.issues.append((path, line["issue"]))

    def short(self, path):
        return os.path.relpath(path, self.data)


def listed(catalog, ids, column):
    """{id: value} of an expression over `value`, for these tensors."""
    if not ids:
        return {}
    rows = catalog.values(f"SELECT value AS id, {column} AS answer FROM json_each('{json.dumps(ids)}')")
    return {row["id"]: row["answer"] for row in rows}


def strings_of(catalog, ids):
    found = {number: [] for number in ids}
    for number in ids:
        rows = catalog.values(f"SELECT hex(value) AS text FROM tensor_values({number}) ORDER BY position")
        found[number] = [row["text"].lower() for row in rows]
    return found


def compare_tensors(catalog, answers):
    rows = {(row["path"], row["name"]): row
            for row in catalog.view("SELECT id, path, name, dtype, shape FROM tensor")}
    for path, name in sorted(answers.tensors.keys() - rows.keys()):
        yield f"{answers.short(path)}: {name!r} is missing"
    for path, name in sorted(rows.keys() - answers.tensors.keys()):
        yield f"{answers.short(path)}: {name!r} should not be there"
    common = sorted(answers.tensors.keys() & rows.keys())

    def ids(key):
        return [rows[at]["id"] for at in common if answers.tensors[at].get(key) is not None]

    found = {
        "sha256": listed(catalog, ids("sha256"), "tensor_sha256(value)"),
        "f32_sha256": listed(catalog, ids("f32_sha256"), "tensor_sha256(value, 'float32')"),
        "strings": strings_of(catalog, ids("strings")),
    }
    for at in common:
        want, row = answers.tensors[at], rows[at]
        have = {"dtype": row["dtype"], "shape": json.loads(row["shape"])}
        have.update({key: answer.get(row["id"]) for key, answer in found.items()})
        for key in ("dtype", "shape", *found):
            if want.get(key) is not None and have[key] != want[key]:
                yield f"{answers.short(at[0])}: {at[1]!r}: {key} is {have[key]}, not {want[key]}"


def is_fact(want, have):
    """Facts: numbers by value, lists and objects as JSON, the rest by their text."""
    if want is None or isinstance(want, bool):
        return have in ({None: (None, "null"), True: ("true", 1), False: ("false", 0)}[want])
    if isinstance(want, (int, float)):
        try:
            return abs(float(have) - want) <= 1e-6 * abs(want)
        except (TypeError, ValueError):
            return False
    if isinstance(want, str):
        return str(have) == want
    try:
        return json.loads(have) == want
    except (TypeError, ValueError):
        return False


def compare_facts(catalog, answers):
    have = {}
    for row in catalog.view("SELECT c.path, m.key, m.value FROM metadata m "
                            "JOIN checkpoint c ON c.id = m.checkpoint_id"):
        have.setdefault((row["path"], row["key"]), []).append(row["value"])
    for path, key, want in answers.facts:
        values = have.get((path, key), [])
        if not any(is_fact(want, value) for value in values):
            yield f"{answers.short(path)}: {key} is {values}, not {want!r}"
    steps = {row["path"]: row["step"] for row in catalog.view("SELECT path, step FROM checkpoint")}
    for path, want in answers.steps:
        if steps.get(path) != want:
            yield f"{answers.short(path)}: step is {steps.get(path)}, not {want}"


def compare_issues(catalog, answers, status):
    issues = catalog.view("SELECT path, severity, message FROM issue")
    for path, what in answers.issues:
        folder = os.path.dirname(path)
        if not any((issue["path"] or "").startswith(folder) for issue in issues):
            yield f"{answers.short(path)}: nothing is reported, though: {what}"
    for issue in issues:
        if not answers.issues and issue["severity"] == "error":
            yield f"false alarm: {issue['path']}: {issue['message']}"
    if status != (1 if issues else 0):
        yield f"import ends with status {status} and {len(issues)} issues"


def run_case(program, case):
    answers = Answers(case)
    with tempfile.TemporaryDirectory(prefix="ckptdb-answers-") as folder:
        catalog = Catalog(program, folder)
        try:
            status = catalog.import_(answers.data)
            return [*compare_tensors(catalog, answers), *compare_facts(catalog, answers),
                    *compare_issues(catalog, answers, status)]
        except (Failure, sqlite3.Error, subprocess.TimeoutExpired, ValueError) as error:
            return [f"{type(error).__name__}: {error}"]


def main(program, folder, chosen=""):
    program = os.path.abspath(program)
    cases = sorted(path.parent for path in pathlib.Path(folder).rglob("expect.jsonl")
                   if re.search(chosen, str(path.parent)))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for case, problems in zip(cases, pool.map(lambda case: run_case(program, case), cases)):
            failed += bool(problems)
            if problems:
                print(f"FAIL {case}: {len(problems)} differences")
                for problem in problems[:SHOWN]:
                    print(f"    {problem}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
