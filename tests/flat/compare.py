#!/usr/bin/env python3
"""Whether statements about the public views have the rows of the same statements about flat tables.

    compare.py CKPTDB [--random N] [--seed S] [--only REGEX] [--patience SECONDS] [--catalog FILE] [--show]

Asked are the statements of statements.sql and N random ones: of the program, and of another SQLite program that has
loaded our extension. The views as such are also read by a SQLite program without it. --show prints every statement."""
import argparse
import collections
import json
import math
import os
import pathlib
import re
import select
import sqlite3
import subprocess
import sys
import tempfile
import time

import small
from make_flat import columns, make_flat, open_catalog, views_of
from statements import Random, Statement, fixed

HERE = pathlib.Path(__file__).resolve().parent
MARK = "end of these rows"
MOST_STEPS = 3000  # thousands of SQLite's virtual instructions: flat tables that take more are not asked


def plain(value):
    """A value, so that equal ones of one type are equal. Sums of reals depend on their order; JSON has no infinity."""
    if isinstance(value, float):
        return f"real {value:.11g}" if math.isfinite(value) else None
    return value if value is None else f"{type(value).__name__} {value}"


def regexp(pattern, text):
    return None if pattern is None or text is None else re.search(str(pattern), str(text)) is not None


class Flat:
    """The flat tables; also any catalog, as a program without our extension sees it."""

    def __init__(self, db):
        self.db = db
        self.db.text_factory = lambda raw: raw.decode("utf-8", "replace")
        self.db.create_function("regexp", 2, regexp, deterministic=True)
        self.steps = 0
        self.db.set_progress_handler(self.step, 1000)

    def step(self):
        self.steps += 1
        return self.steps > MOST_STEPS

    def ask(self, statement):
        """Its rows and columns, or an error's text."""
        self.steps = 0
        try:
            found = self.db.execute(statement.sql)
            return [tuple(map(plain, row)) for row in found], [column[0] for column in found.description]
        except sqlite3.OperationalError as error:
            return str(error)


def rows_of(text):
    """From JSON, whose objects may have a key twice."""
    rows = json.loads(text, object_pairs_hook=lambda pairs: pairs, strict=False)
    return [tuple(plain(value) for _, value in row) for row in rows], [key for key, _ in rows[0]] if rows else None


class Program:
    """One process that is asked everything; after an error, or out of patience, another one."""

    def __init__(self, ckptdb, catalog, patience):
        self.command = [ckptdb, "-d", str(catalog), "--readonly", "--json", "-f", "-"]
        self.patience, self.process = patience, None

    def start(self):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def ask(self, statement):
        if not self.process:
            self.start()
        os.write(self.process.stdin.fileno(), f"{statement.sql}\nSELECT '{MARK}' AS mark;\n".encode())
        end, out, until = f'[{{"mark":"{MARK}"}}]\n'.encode(), bytearray(), time.monotonic() + self.patience
        while not out.endswith(end):
            if not select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))[0]:
                self.stop()
                return f"no end within {self.patience:g} s"
            got = os.read(self.process.stdout.fileno(), 1 << 20)
            if not got:
                self.process.wait()
                self.errors.seek(0)
                said = self.errors.read().decode(errors="replace").strip()
                status, self.process = self.process.returncode, None
                return f"status {status}: {said[:400]}"
            out += got
        return rows_of(out[:-len(end)].decode("utf-8", "replace"))


def extension(ckptdb, catalog, asked, patience):
    """What another program answers that has loaded our extension: one process for all, answers in order."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        for statement in asked:
            script.write(f"{statement.sql}\nSELECT '{MARK}' AS mark;\n")
        script.flush()
        try:
            done = subprocess.run(["bash", str(HERE.parent / "plain_sqlite.sh"), "-json", str(catalog), f".read {script.name}"],
                                  capture_output=True, timeout=patience * 20, check=False,
                                  env={**os.environ, "CKPTDB_BIN": os.path.abspath(ckptdb)})
        except subprocess.TimeoutExpired as late:
            done = subprocess.CompletedProcess([], -1, late.stdout or b"", b"no end")
    parts = done.stdout.decode("utf-8", "replace").split(f'[{{"mark":"{MARK}"}}]\n')
    answers = [rows_of(part or "[]") for part in parts[:-1]]
    return answers if len(answers) == len(asked) else answers + [f"no answer, as all after it: {done.stderr[-300:]!r}"]


def differs(statement, ours, flat):
    """How they differ, in a line or two; None if they do not."""
    if isinstance(ours, str):
        return ours
    (rows, names), (expected, flat_names) = ours, flat
    if statement.how == "counted":
        return None if len(rows) == len(expected) else f"{len(rows)} rows instead of {len(expected)}"
    if names and names != flat_names:
        return f"columns {names} instead of {flat_names}"
    if rows == expected if statement.how == "ordered" else collections.Counter(rows) == collections.Counter(expected):
        return None
    more = list((collections.Counter(rows) - collections.Counter(expected)).elements())
    less = list((collections.Counter(expected) - collections.Counter(rows)).elements())
    return (f"{len(rows)} rows instead of {len(expected)}"
            + (f"; {len(more)} too many, such as {more[0]}" if more else "")
            + (f"; {len(less)} missing, such as {less[0]}" if less else "") + ("" if more or less else "; in another order"))


class Net:
    def __init__(self, args):
        self.args, self.failed, self.same = args, 0, collections.Counter()

    def check(self, side, statement, ours, flat):
        how = differs(statement, ours, flat)
        if how is None:
            self.same[side] += 1
        else:
            self.failed += 1
            print(f"{side}: {statement.title}: {how}\n    {statement.sql}")

    def leave(self, statement, why):
        """Statements that the flat tables cannot answer: a random one that is too much for them, or whose sum overflows."""
        soon = re.fullmatch(r"no such column: .*(path|run_path)", why)  # columns that `tensor` and `checkpoint` will have
        if not soon and not (statement.title.startswith("random") and why in ("interrupted", "integer overflow")):
            self.failed += 1
        elif not self.args.show:
            return
        print(f"not asked: {statement.title}: {why}\n    {statement.sql}")

    def views(self, program, plain_side):
        """Whole views: as the program has them, and as another program without our extension has."""
        for view in views_of(plain_side.db):
            whole = Statement(f"view {view}", f"SELECT * FROM {view};")
            listed = plain_side.ask(whole)
            self.check("program", whole, program.ask(whole), listed)
            named = Statement(f"columns of {view}", f"SELECT name FROM pragma_table_info('{view}') ORDER BY cid;", how="ordered")
            self.check("program", named, program.ask(named), plain_side.ask(named))

    def run(self, catalog, flat_file):
        flat = Flat(sqlite3.connect(flat_file))
        plain_side = Flat(open_catalog(catalog))
        program = Program(self.args.ckptdb, catalog, self.args.patience)
        if not self.args.only:
            self.views(program, plain_side)
        asked = fixed(flat.db)
        random = Random(flat.db, self.args.seed)
        asked += [random.statement(f"random {self.args.seed}.{i}") for i in range(self.args.random)]
        expected = []
        for statement in asked:
            answer = flat.ask(statement) if re.search(self.args.only, statement.title) else "not asked for"
            if isinstance(answer, str):
                if answer != "not asked for":
                    self.leave(statement, answer)
                continue
            if self.args.show:
                print(f"{len(answer[0])} rows: {statement.sql}", flush=True)
            ours = program.ask(statement)
            self.check("program", statement, ours, answer)
            if not isinstance(ours, str):
                expected.append((statement, answer))
        others = extension(self.args.ckptdb, catalog, [statement for statement, _ in expected], self.args.patience)
        for (statement, answer), ours in zip(expected, others):
            self.check("extension", statement, ours, answer)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ckptdb")
    parser.add_argument("--random", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--patience", type=float, default=60)
    parser.add_argument("--catalog", help="an own one, instead of the small one that is made here")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    net = Net(args)
    with tempfile.TemporaryDirectory() as work:
        catalog = args.catalog
        if not catalog:
            catalog = pathlib.Path(work) / "catalog.db"
            small.build(args.ckptdb, HERE.parent / "fixtures", pathlib.Path(work) / "files", catalog)
        make_flat(catalog, pathlib.Path(work) / "flat.db")
        net.run(catalog, str(pathlib.Path(work) / "flat.db"))
    print(f"{net.failed} statements differ")
    if args.show:
        print(*(f"{side}: {count} alike" for side, count in net.same.items()), sep="\n")
    return 1 if net.failed else 0


if __name__ == "__main__":
    sys.exit(main())
