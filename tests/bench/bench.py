#!/usr/bin/env python3
"""Ratios of ckptdb to named references, whole processes, on files generated here.

    bench.py CKPTDB [--only REGEX] [--pairs N] [--quick] [--dir DIR]

Every row is the median of wall(ckptdb) / wall(reference) over N pairs run A B A B, warm, after
one warm-up of each, with the outputs checked against each other where they can be. A goal is
printed beside its row; the exit status says whether any was missed. Needs Python 3, the
sqlite3 program, and some GB of disk. Rows whose reference is a library that is not installed are
left out, and named at the end: BENCH_PYTHON is a Python that has some (several: a ':' between).
"""
import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


class Bench:
    def __init__(self, args):
        self.ckptdb = os.path.abspath(args.ckptdb)
        self.pairs = 2 if args.quick else args.pairs
        self.scale = 0.1 if args.quick else 1.0
        self.only = re.compile(args.only)
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ckptdb-bench-", dir=args.dir))
        self.missed = []
        self.cpu = 0.0  # of the last run: user and system, seconds
        self.left = []
        self.python = {}

    def wants(self, name):
        return bool(self.only.search(name))

    def count(self, full):
        return max(1, int(full * self.scale))

    def run(self, command, status=0, **more):
        started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              shell=isinstance(command, str), **more)
        took, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if done.returncode != status:
            raise SystemExit(f"{command}: status {done.returncode}\n{done.stderr.decode()[-2000:]}")
        return took, done.stdout

    def python_with(self, module):
        """A Python that has a module: one of $BENCH_PYTHON, `make interop`'s, this one; or None."""
        for python in [*os.environ.get("BENCH_PYTHON", "").split(":"), os.environ.get("TORCH_PYTHON", ""),
                       str(HERE.parents[1] / "build/interop/bin/python"), sys.executable]:
            if module not in self.python and shutil.which(python) and subprocess.run(
                    [python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0:
                self.python[module] = python
        return self.python.get(module)

    def leave_out(self, name, why):
        self.left.append(name)
        self.say(name, f"left out: {why}")

    def compare(self, name, ours, reference, goal, before=None, same=None, note="", floor=0, status=0):
        """Run both in turn; `before(side)` readies each run; `same(a, b)` compares the outputs. `note` is a
        text, or gives one in the end. What takes `floor` seconds at most meets any goal. `status` is ours."""
        ratios, times, cpu, outputs = [], ([], []), ([], []), [None, None]
        for pair in range(self.pairs + 1):
            took = []
            for side, command in enumerate((ours, reference)):
                if before:
                    before(side)
                seconds, outputs[side] = self.run(command, 0 if side else status)
                took.append(seconds)
                cpu[side].append(self.cpu)
            if pair:
                ratios.append(took[0] / took[1])
                times[0].append(took[0])
                times[1].append(took[1])
        if same and not same(*outputs):
            raise SystemExit(f"{name}: the outputs differ: {outputs[0][:200]!r} {outputs[1][:200]!r}")
        self.row(name, statistics.median(ratios), min(ratios), max(ratios), goal,
                 f"{statistics.median(times[0]) * 1000:.1f} ms against "
                 f"{statistics.median(times[1]) * 1000:.1f} ms, CPU {statistics.median(cpu[0]) * 1000:.0f} and "
                 f"{statistics.median(cpu[1]) * 1000:.0f} ms{note() if callable(note) else note}",
                 statistics.median(times[0]) <= floor)

    def row(self, name, ratio, low, high, goal, note, enough=False):
        verdict = "" if goal is None else "ok" if ratio <= goal or enough else "MISSED"
        if verdict == "MISSED":
            self.missed.append(name)
        want = "-" if goal is None else f"{goal:g}"
        print(f"{name:<44} {ratio:7.3f}  ({low:.3f} to {high:.3f})  goal {want:<5} {verdict:<6} {note}",
              flush=True)

    def say(self, name, text):
        print(f"{name:<44} {text}", flush=True)

    def close(self):
        shutil.rmtree(self.root, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ckptdb")
    parser.add_argument("--only", default="")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the size, two pairs")
    parser.add_argument("--dir", default=None, help="where to put the files")
    args = parser.parse_args()
    bench = Bench(args)
    sys.path.insert(0, str(HERE))
    try:
        for script in sorted(HERE.glob("bench_*.py")):
            __import__(script.stem).run(bench)
    finally:
        bench.close()
    print(f"{len(bench.missed)} goals missed" + (": " + ", ".join(bench.missed) if bench.missed else ""))
    if bench.left:
        print(f"{len(bench.left)} rows left out, for want of their reference: " + ", ".join(bench.left))
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
