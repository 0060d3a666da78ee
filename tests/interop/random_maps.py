"""Thousands of random cases, answered by the original functions in Python and by ckptdb.

random_maps.py CKPTDB [--seed S] [--count N] [--kind KIND] [--case K]

Each case has its own generator of random numbers, of the seed, its kind and its number: a
difference is shown with what runs this one case again.
"""
import argparse
import importlib
import os
import random
import sys
import tempfile
import time

from maps.catalog import Catalog

KINDS = {
    "assignment": 4000, "translation": 4000, "states": 2000, "orbax": 3000, "kauldron": 2000,
    "t5_restore": 3000, "adafactor": 3000, "optax_chains": 300, "regexes": 4000, "key_mapping": 500
}


def compare(program, kind, seed, numbers):
    """How many cases of a kind agree, and how many differ."""
    make = importlib.import_module("maps." + kind).Case
    with tempfile.TemporaryDirectory() as folder:
        home = Catalog(program, folder)
        cases = [make(random.Random(f"{seed} {kind} {k}"), home) for k in numbers]
        home.make()
        answers = home.answers([case.question(home) for case in cases])
    passed = 0
    for k, case, answer in zip(numbers, cases, answers):
        wanted = case.wanted()
        found = answer if isinstance(answer, str) else case.found(answer, wanted)
        passed += wanted == found
        if wanted != found:
            print(f"--kind {kind} --seed {seed} --case {k}")
            for key, value in vars(case).items():
                print(f"    {key}: {value!r}")
            print(f"  original: {wanted}\n  ckptdb:   {found}")
    return passed, len(cases) - passed


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("--seed", default=os.environ.get("CKPTDB_SEED", "1"))
    arguments.add_argument("--count", type=float, default=1, help="times the usual number of cases")
    arguments.add_argument("--kind", choices=KINDS)
    arguments.add_argument("--case", type=int)
    given = arguments.parse_args()
    passed = failed = 0
    for kind in [given.kind] if given.kind else KINDS:
        numbers = [given.case] if given.case is not None else range(int(KINDS[kind] * given.count))
        start = time.monotonic()
        good, bad = compare(os.path.abspath(given.program), kind, given.seed, numbers)
        print(f"{kind}: {good} passed, {bad} failed ({time.monotonic() - start:.0f} s)")
        passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
