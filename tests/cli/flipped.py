"""Flip a byte of a catalog, CKPTDB_FLIPS times (4,500 take ten minutes); each command must print what it printed before, or
refuse. Then other programs write the catalog, whose pages are summed anew."""
import os
import random
import re
import shutil
import sqlite3
import struct
import subprocess
import sys

BINARY, REAL = os.environ["CKPTDB_BIN"], sys.argv[1]
FLIPS = int(os.environ.get("CKPTDB_FLIPS", "90" if os.environ["SLOW"] == "1" else "30"))
COMMANDS = [line.split() for line in """\
ls
tensors llama
tensors placed.npz
tree t5@1000000
diff llama again --all
map run t5_to_t5x t5@1000000
map run mine llama
map check llama_hf_to_gguf llama
export llama out.npz --names norm --force
get llama model.norm.weight
get t5@1000000 encoder/block_000/layer_000/layer_norm/scale
verify""".splitlines()]
OWN = """INSERT INTO ruleset(name, dialect) VALUES ('mine', 't5x-translator');
INSERT INTO rule(ruleset, ord, pattern, replacement) VALUES ('mine', 1, '(.*)norm(.*)', '\\1NORM\\2'), ('mine', 2, '.*q_proj.*', NULL)"""


def run(*args):
    done = subprocess.run([BINARY, "-d", *args], capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def make():
    for name, path in {"llama": "safetensors/llama_tiny", "again": "safetensors/llama_tiny", "t5": "tf/t5_mesh"}.items():
        shutil.copytree(os.path.join(REAL, path, "data"), name)
    run("good.db", "import", ".")
    run("good.db", "export", "llama", "placed.npz", "--names", "norm")
    run("good.db", "import", ".")
    run("good.db", OWN)
    run("good.db", "hash")
    run("good.db", "stats", "llama", "norm")


def pages_of(path):
    """The offsets of the bytes that are not zero, by the owner of their page."""
    good, places = read(path), {}
    size = int(run(path, "PRAGMA page_size")[1])
    owner = dict(line.split("\t") for line in run(path, "--tsv", "SELECT pageno, name FROM dbstat")[1].decode().split("\n") if line)
    for at, byte in enumerate(good):
        if byte:
            places.setdefault(owner.get(str(at // size + 1)), []).append(at)
    return good, list(places.values())


def flip_many(rng):
    good, places = pages_of("good.db")
    every = [at for group in places for at in group]
    before = [run("good.db", "--readonly", *command) for command in COMMANDS]
    same, told, silent = 0, 0, 0
    for k in range(FLIPS):
        at = rng.choice(every if k % 2 else rng.choice(places))
        bad = bytearray(good)
        bad[at] = rng.choice([n for n in range(256) if n != good[at]])
        write("bad.db", bad)
        for command, (status, rows, _) in zip(COMMANDS, before):
            now, now_rows, why = run("bad.db", "--readonly", *command)
            if (now, now_rows) == (status, rows):
                same += 1
            elif now and "import the same paths" in why:
                told += 1
            else:
                silent += 1
                print(f"byte {at} is {bad[at]}: {' '.join(command)}: status {now}, other rows; {why.strip()}")
    print(f"{silent} silent;", "many refused" if told * 12 > same else f"only {told} of {same + told} refused")
    if FLIPS > 1000:
        print(f"{FLIPS} flips of {len(good)} bytes: {same} right, {told} refused", file=sys.stderr)


def flip_rule(path):
    """Whether a flipped byte in a rule is reported, and whether the map is unchanged."""
    data = read(path)
    write("bad.db", data.replace(b"NORM", b"norm"))
    status, _, why = run("bad.db", "--readonly", "map", "run", "mine", "llama")
    return "told" if status and "page" in why else "not told"


def sums_hold(path):
    """Whether the table has the counter of the header."""
    with sqlite3.connect(path) as db:
        (sums,) = db.execute("SELECT sums FROM _page_sums").fetchone()
    db.close()
    return struct.unpack_from("<I", sums)[0] == struct.unpack_from(">I", read(path), 24)[0]


def vouched(path):
    """Whether the row says that pages are as the program wrote them."""
    with sqlite3.connect(path) as db:
        (vouched,) = db.execute("SELECT length(sums) % 4 AND substr(sums, -1) = x'01' FROM _page_sums").fetchone()
    db.close()
    return "vouched for" if vouched else "not vouched for"


def flip_before_another(path):
    """Sums taken from a flipped name do not show the flip: its layout's sums do."""
    write("bad.db", read(path).replace(b"model.norm.weight", b"model.norn.weight"))
    with sqlite3.connect("bad.db") as other:
        other.execute("CREATE TABLE notes(text)")
    other.close()
    run("bad.db", "SELECT 1")
    status, _, why = run("bad.db", "--readonly", "map", "run", "mine", "llama")
    return "sums hold," if sums_hold("bad.db") else "sums do not hold,", vouched("bad.db"), status, re.sub(r".*?(the catalog is \S+).*", r"\1", why.strip())


def main():
    make()
    print("imported twice, and written:", vouched("good.db"))
    print("flipped before another program wrote:", *flip_before_another("good.db"))
    flip_many(random.Random(int(os.environ.get("CKPTDB_SEED", "7"))))
    print("a rule:", flip_rule("good.db"))
    other = sqlite3.connect("good.db")
    other.execute("UPDATE rule SET replacement = '\\1NORM_\\2' WHERE ruleset = 'mine' AND ord = 1")
    other.execute("CREATE TABLE notes(text)")
    other.commit()
    other.close()
    print("another program wrote; the map:", run("good.db", "--readonly", "map", "run", "mine", "llama")[1].count(b"NORM_"), "names,",
          "sums hold" if sums_hold("good.db") else "sums do not hold;", "a rule:", flip_rule("good.db"))
    run("good.db", "SELECT 1")
    print("opened for writing:", "sums hold;" if sums_hold("good.db") else "sums do not hold;", "a rule:", flip_rule("good.db"))
    for mode in "wal", "delete":
        run("good.db", f"PRAGMA journal_mode={mode}")
        run("good.db", "INSERT INTO notes VALUES (zeroblob(1000000))")
        print(mode, run("good.db", "--readonly", "map", "run", "mine", "llama")[1].count(b"NORM_"), "names")
    print("then:", "sums hold;" if sums_hold("good.db") else "sums do not hold;", "a rule:", flip_rule("good.db"))
    run("good.db", "import", ".")
    run("good.db", "DELETE FROM notes", "VACUUM")
    print("imported, vacuumed:", "sums hold;" if sums_hold("good.db") else "sums do not hold;", "a rule:", flip_rule("good.db"))
    write("bad.db", read("good.db").replace(b"NORM", b"norm"))
    print(re.sub(r"page \d+", "page N", run("bad.db", "map", "run", "mine", "llama")[2].split(" (")[0].replace(os.getcwd() + "/", "")))
    run("bad.db", "INSERT INTO notes VALUES (1)")
    print("written once more:", run("bad.db", "--readonly", "map", "run", "mine", "llama")[0])


main()
