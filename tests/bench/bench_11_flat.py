"""What people ask of the public views (tests/flat/statements.sql), against flat tables with an index on every column:
CPU of the whole process, user and system."""
import pathlib
import re
import resource
import sqlite3
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "flat"))
from make_flat import make_flat  # noqa: E402
from runs import write  # noqa: E402
from statements import fixed, titles  # noqa: E402

STEPS, TENSORS = 5, 500
PATIENCE = 20  # a statement is ended after N times the flat tables' time, and five seconds at least


def cpu_of(command, patience):
    """Seconds of CPU, and the output; None instead of an output if it had to be ended."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = None
    try:
        done = subprocess.run(command, capture_output=True, timeout=patience, check=False)
        output = done.stdout if done.returncode == 0 else b"failed: " + done.stderr[:300]
    except subprocess.TimeoutExpired:
        pass
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, output


def alike(statement, ours, flat):
    """`sqlite3` prints the same list as we do, except the last digits of reals, and the order if there
    is no total ORDER BY."""
    if statement.how == "counted":
        return ours.count(b"\n") == flat.count(b"\n")
    sides = [[re.sub(rb"(?<=[|\n])\d+\.\d+(e[+-]\d+)?(?=[|\n])", lambda real: b"%.11g" % float(real[0]), b"\n" + line + b"\n")
              for line in side.replace(b"\t", b"|").split(b"\n")] for side in (ours, flat)]
    return sides[0] == sides[1] if statement.how == "ordered" else sorted(sides[0]) == sorted(sides[1])


def pairs_of(bench, statement, catalog, flat):
    """Both sides' seconds in turn: at least three pairs, more if one is short."""
    ours = [bench.ckptdb, "-d", str(catalog), "--readonly", "--list", statement.sql]
    theirs = ["sqlite3", "-list", f"file:{flat}?mode=ro", statement.sql]
    found, spent = [], 0
    while len(found) < max(3, bench.pairs) or (spent < 0.5 and len(found) < 15):
        flat_seconds, expected = cpu_of(theirs, 600)
        seconds, output = cpu_of(ours, max(5, PATIENCE * flat_seconds))
        found.append((seconds, flat_seconds))
        spent += seconds + flat_seconds
        if expected is None or expected.startswith(b"failed"):
            raise SystemExit(f"{statement.sql}: the flat tables: {expected!r}")
        if output is None:
            return found, "no end"
        if output.startswith(b"failed"):
            return found, output.decode(errors="replace")
        if not alike(statement, output, expected):
            return found, f"differs: {output[:100]!r} {expected[:100]!r}"
        if spent > 4 and seconds > 5 * statement.limit * flat_seconds:
            break
    return found[1:] or found, None


def one(bench, title, runs):
    if not any(bench.wants(f"flat {title}: {name}") for name in titles()):
        return
    folder, catalog, flat = bench.root / "runs", bench.root / "catalog.db", bench.root / "flat.db"
    write(folder, bench.count(runs), STEPS, TENSORS, (0,))
    seconds, _ = bench.run([bench.ckptdb, "-d", str(catalog), "import", str(folder)])
    bench.run([bench.ckptdb, "-d", str(catalog), "hash", f"{folder}/run0000/*"])
    subprocess.run(["rm", "-rf", str(folder)], check=True)
    make_flat(catalog, flat)
    bench.say(f"flat {title}", f"imported in {seconds:.2f} s, {catalog.stat().st_size / 1e6:.0f} MB; "
              f"flat tables {flat.stat().st_size / 1e6:.0f} MB")
    tables = sqlite3.connect(flat)
    tables.create_function("regexp", 2, lambda pattern, text: None)  # to be prepared only
    for statement in fixed(tables):
        name = f"flat {title}: {statement.title}"
        if not bench.wants(name):
            continue
        try:
            tables.execute("EXPLAIN " + statement.sql)
        except sqlite3.OperationalError as error:
            bench.leave_out(name, str(error))
            continue
        found, wrong = pairs_of(bench, statement, catalog, flat)
        ratios = [ours / theirs for ours, theirs in found]
        ours, theirs = (statistics.median(side) * 1000 for side in zip(*found))
        bench.row(name, statistics.median(ratios), min(ratios), max(ratios), statement.limit,
                  f"CPU {ours:.1f} and {theirs:.1f} ms" + (f"; {wrong}" if wrong else ""))
        if wrong and name not in bench.missed:
            bench.missed.append(name)
    catalog.unlink()
    flat.unlink()


def run(bench):
    one(bench, "1 M", 400)
    if "flat 5 M" in bench.only.pattern:  # minutes, and 5 GB
        one(bench, "5 M", 2000)
