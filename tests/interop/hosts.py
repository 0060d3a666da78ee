"""A catalog in other hosts of SQLite: its views without anything of ours, and with the extension where a host
loads it. hosts.py CKPTDB; hosts that are not installed are said so."""
import importlib.util
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import urllib.parse

CKPTDB = os.path.abspath(sys.argv[1])
EXTENSION = os.path.join(os.path.dirname(os.path.realpath(CKPTDB)), "ckptdb")
REAL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "real")
LOADS = hasattr(sqlite3.Connection, "enable_load_extension") # not every Python has it
PLAIN = "SELECT count(*) AS n, sum(nbytes) AS bytes FROM tensor"
OURS = "SELECT tensor_sha256(id) AS sha FROM tensor WHERE storage = 'range' ORDER BY id LIMIT 1"


# Where run.sh has npm put it.
NODE = {"NODE_PATH": os.path.join(os.path.dirname(os.path.realpath(CKPTDB)), "..", "interop", "node", "node_modules"), **os.environ}


def installed(name, module):
    if module:
        return importlib.util.find_spec(module)
    if name == HOSTS[0][0]:
        return shutil.which("sqlite3")
    return name != HOSTS[-1][0] or shutil.which("node") and subprocess.run(
        ["node", "-e", "new (require('better-sqlite3'))(':memory:')"], env=NODE, capture_output=True).returncode == 0


def program(path):
    ask = lambda *words: subprocess.run(["sqlite3", "-csv", path, *words], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, ask(PLAIN).split(","))), ask(f".load {EXTENSION}", OURS).strip()


def python(path):
    db = sqlite3.connect(path)
    plain = db.execute(PLAIN).fetchone()
    if not LOADS:
        return plain, None
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    return plain, db.execute(OURS).fetchone()[0]


def with_apsw(path):
    import apsw
    db = apsw.Connection(path)
    plain = next(db.execute(PLAIN))
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    return plain, next(db.execute(OURS))[0]


def with_pandas(path):
    import pandas
    db = sqlite3.connect(path)
    plain = tuple(map(int, pandas.read_sql(PLAIN, db).iloc[0]))
    if not LOADS:
        return plain, None
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    return plain, pandas.read_sql(OURS, db)["sha"][0]


def with_sqlite_utils(path):
    ask = lambda *words: subprocess.run([sys.executable, "-m", "sqlite_utils", "query", path, *words, "--csv", "--no-headers"],
                                        capture_output=True, text=True, check=True).stdout.strip()
    return tuple(map(int, ask(PLAIN).split(","))), LOADS and ask(OURS, "--load-extension", EXTENSION)


def with_duckdb(path):
    """DuckDB's scanner reads tables, and not views: no functions of ours."""
    import duckdb
    import duckdb_extension_sqlite_scanner as scanner
    held = pathlib.Path(scanner.__file__).parent.rglob("sqlite_scanner.duckdb_extension")
    db = duckdb.connect()
    db.execute(f"LOAD '{next(held)}'")
    return db.execute("SELECT count(*), sum(t.nbytes)::BIGINT FROM sqlite_scan(?1, '_checkpoints') c"
                      " JOIN sqlite_scan(?1, '_layout_tensors') t ON t.id >> 24 = c.layout", [path]).fetchone(), None


def with_datasette(path):
    """A server that answers one request: its functions are those that read no file, for its visitors are strangers."""
    at, name = os.path.dirname(path), pathlib.Path(path).stem

    def ask(sql, *words):
        told = subprocess.run([sys.executable, "-m", "datasette", path, *words, "--get",
                               f"/{name}.json?" + urllib.parse.urlencode({"sql": sql})], capture_output=True, text=True, cwd=at)
        return json.loads(told.stdout)["rows"][0]
    return tuple(ask(PLAIN)), LOADS and ask(OURS, "--load-extension", f"{EXTENSION}.so:sqlite3_ckptdb_init")[0]


def with_node(path):
    ask = """const db = new (require('better-sqlite3'))(process.argv[1], {readonly: true});
        const plain = db.prepare(process.argv[3]).raw().get();
        db.loadExtension(process.argv[2]);
        console.log(JSON.stringify([plain, db.prepare(process.argv[4]).pluck().get()]));"""
    told = subprocess.run(["node", "-e", ask, path, EXTENSION, PLAIN, OURS], capture_output=True, text=True, check=True, env=NODE)
    plain, ours = json.loads(told.stdout)
    return tuple(plain), ours


HOSTS = [("sqlite3, the program", program, None), ("Python's sqlite3", python, None), ("apsw", with_apsw, "apsw"),
         ("pandas", with_pandas, "pandas"), ("sqlite-utils", with_sqlite_utils, "sqlite_utils"),
         ("Datasette", with_datasette, "datasette"), ("DuckDB", with_duckdb, "duckdb_extension_sqlite_scanner"),
         ("Node's better-sqlite3", with_node, None)]


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as at:
        path = os.path.join(at, "catalog.db")
        subprocess.run([CKPTDB, "-d", path, "import", os.path.join(REAL, "safetensors"), os.path.join(REAL, "orbax")],
                       capture_output=True, check=False) # 1: a part of one has an issue
        ask = lambda sql: subprocess.run([CKPTDB, "-d", path, "--csv", sql], capture_output=True, text=True,
                                         check=True).stdout.splitlines()[-1]
        want = tuple(map(int, ask(PLAIN).split(","))), ask(OURS)
        for name, work, module in HOSTS:
            if not installed(name, module):
                print(f"{name}: not installed")
                continue
            try:
                plain, ours = work(path)
                good = plain == want[0] and ours in (want[1], None, False)
            except Exception as error: # whatever a host raises is its failure
                good, plain = False, error
            print(f"{name}: {'as ckptdb says' if good else f'FAIL {plain!r}, want {want}'}")
            passed, failed = passed + good, failed + (not good)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
