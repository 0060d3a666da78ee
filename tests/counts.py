"""counts.py [--write] - counts what makes the three houses heavy, and fails when a figure has risen.

tests/counts.txt has the most that each figure may be; --write lowers it to what is counted now. Circles
are found in the objects of the release build: two files of a folder that call each other, directly or
by others of the same folder.
"""
import collections
import os
import re
import subprocess
import sys

HOUSES = ("catalog", "importer", "shell")
# One file an entry, named by a .def file or found by its name.
REGISTRIES = {"catalog/data/codec", "catalog/export/format", "catalog/sql", "shell/command", "catalog/maps/form"}
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def sources():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.c", "*.h"],
                            cwd=TOP, capture_output=True, text=True, check=True).stdout.split()
    for path in listed:
        if path.split("/")[0] in HOUSES and os.path.exists(os.path.join(TOP, path)):
            with open(os.path.join(TOP, path), encoding="utf-8") as file:
                yield path, file.read()


def functions(text):
    """(name, is static, lines of the body) of each function, as clang-format writes them."""
    for head, body in re.findall(r"^(\w[^;{}=#]*?\))\n\{\n(.*?)^\}", text, re.M | re.S):
        name = re.search(r"(\w+)\(", head)
        if name:
            yield name.group(1), head.startswith("static"), body.count("\n")


def circles(files):
    """Sets of files of one folder that call each other."""
    gives, takes = {}, collections.defaultdict(set)
    objects = [p for p in files if p.endswith(".c")]
    for path in objects:
        nm = subprocess.run(["nm", "-g", f"{TOP}/build/release/core/{path[:-2]}.o"], capture_output=True, text=True)
        for line in nm.stdout.splitlines():
            kind, name = line.split()[-2:]
            if kind == "U":
                takes[path].add(name)
            elif kind == "T":  # what a table of entries names is no call
                gives[name] = path
    calls = {path: {gives[n] for n in takes[path] if n in gives and gives[n] != path
                    and os.path.dirname(gives[n]) == os.path.dirname(path)} for path in objects}

    def reached(start):
        seen, todo = set(), [start]
        while todo:
            for other in calls[todo.pop()] - seen:
                seen.add(other)
                todo.append(other)
        return seen
    reach = {path: reached(path) for path in objects}
    return {frozenset(q for q in reach[p] if p in reach[q]) for p in objects if p in reach[p]}


def count():
    files = dict(sources())
    code = {path: text for path, text in files.items() if path.endswith(".c")}
    folders = collections.Counter(os.path.dirname(p) for p in files)
    names = collections.defaultdict(set)
    for path in files:
        names[os.path.basename(path)[:-2]].add(os.path.dirname(path))
    every = [(path, *f) for path, text in code.items() for f in functions(text)]
    once = sum(static and lines <= 4 and len(re.findall(rf"\b{name}\b", files[path])) == 2
               and re.search(rf"\b{name}\(", files[path].split(f" {name}(", 1)[1] if f" {name}(" in files[path] else
                             files[path].split(f"*{name}(", 1)[1]) is not None
               for path, name, static, lines in every)
    text = "\n".join(code.values())
    found = circles(files)
    return {
        "lines": sum(t.count("\n") for t in files.values()),
        "functions": len(every),
        "longest function": max(f[3] for f in every),
        "small functions called once": once,
        "most files in a folder": max(n for f, n in folders.items() if f not in REGISTRIES),
        "basenames that occur twice": sum(len(dirs) > 1 for dirs in names.values()),
        "circles": len(found),
        "private headers": sum(p.endswith("_private.h") for p in files),
        "return err->status": len(re.findall(r"return [\w.>-]*err(?:->|\.)status;", text)),
        "returns for lack of memory": len(re.findall(r"return \w*no_memory\(|return error_memory", text)),
        "functions called no_memory": len({name for _, name, _, _ in every if name.endswith("no_memory")}),
        "return false": len(re.findall(r"return false;", text)),
    }, found


def main():
    path = f"{TOP}/tests/counts.txt"
    counted, found = count()
    with open(path, encoding="utf-8") as file:
        most = {name: int(n) for n, name in (line.split(None, 1) for line in file.read().splitlines())}
    risen = {name: n for name, n in counted.items() if n > most.get(name, -1)}
    if "--write" in sys.argv:
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(f"{n:7} {name}\n" for name, n in counted.items()))
        return 0
    for name, n in counted.items():
        print(f"{n:7} {name}" + (f": at most {most.get(name)} (tests/counts.txt)" if name in risen else ""))
    if "circles" in risen or "-v" in sys.argv:
        for circle in sorted(map(sorted, found)):
            print("        " + " ".join(circle))
    return 1 if risen else 0


if __name__ == "__main__":
    sys.exit(main())
