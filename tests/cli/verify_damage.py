"""Damage each format in each way, silently: times and sizes stay where they can. A row of the table
says what `verify` found, without hashes and (where that differs) with hashes of an earlier day.

    verify_damage.py CKPTDB FIXTURES
"""
import glob, json, os, shutil, subprocess, sys

CKPTDB, FIXTURES = sys.argv[1:]


def run(catalog, *args):
    r = subprocess.run([CKPTDB, "-d", catalog, *args], capture_output=True, text=True)
    if r.returncode not in (0, 1):
        sys.exit("%s: %s" % (args, r.stderr))
    return r


def rows(catalog, sql):
    return json.loads(run(catalog, "--json", sql).stdout)


class Kept:
    """A file's bytes and times, and its folder's, to be put back."""

    def __init__(self, path):
        self.path = path
        self.times = {p: os.stat(p) for p in (path, os.path.dirname(path))}
        with open(path, "rb") as f:
            self.bytes = f.read()

    def set_times(self):
        for p, s in self.times.items():
            if os.path.exists(p):
                os.utime(p, ns=(s.st_atime_ns, s.st_mtime_ns))

    def write(self, bytes):
        with open(self.path, "r+b") as f:
            f.write(bytes)
            f.truncate()
        self.set_times()


def found(catalog, root):
    r = run(catalog, "--json", "verify")
    out = []
    for x in json.loads(r.stdout):
        file = os.path.relpath(x["file"], root) if x["file"] else "-"
        where = file if x["offset"] is None else "%s@%d" % (file, x["offset"])
        out.append("%s %s %s" % (x["code"], x["name"] if x["name"] is not None else "-", where))
    assert r.returncode == (1 if out else 0), r
    few = sorted(set(out))
    return "; ".join(few[:2]) + ("; and %d more" % (len(few) - 2) if len(few) > 2 else "") if few else "nothing"


def case(label, root, kind, damages):
    """damages: [(path, bytes after, or None: gone)]"""
    kept = [Kept(p) for p, _ in damages]
    for k, (path, after) in zip(kept, damages):
        if after is None:
            os.rename(path, root + ".away")
            k.set_times()
        else:
            k.write(after)
    plain, hashed = found("plain.db", root), found("hashed.db", root)
    for k, (path, after) in zip(kept, damages):
        if after is None:
            os.rename(root + ".away", path)
            k.set_times()
        else:
            k.write(k.bytes)
    print("%-13s %-9s %s" % (label, kind, plain))
    if hashed != plain:
        print("%-13s %-9s %s" % ("", "(hashed)", hashed))


def flipped(path, at, bit=0x10):
    with open(path, "rb") as f:
        b = bytearray(f.read())
    b[at] ^= bit
    return bytes(b)


def cut(path):
    with open(path, "rb") as f:
        return f.read()[:-5]


def data_place():
    """The middle of the largest stored run of a tensor."""
    found = rows("plain.db", "SELECT e.file, e.offset, e.stored FROM tensor t JOIN extent e ON e.tensor_id = t.id"
                 " WHERE e.file IS NOT NULL AND t.elements > 0 ORDER BY e.stored DESC, e.file, e.offset")
    for x in found:
        stored = os.path.getsize(x["file"]) if x["stored"] is None else x["stored"]
        if stored:
            return x["file"], (x["offset"] or 0) + stored // 2


def place_of(path, where):
    """An offset from the beginning or the end, or a distance from where some bytes first are."""
    if isinstance(where, tuple):
        with open(path, "rb") as f:
            return f.read().index(where[0]) + where[1]
    return where if where >= 0 else os.path.getsize(path) + where


CRC = (b"PK\1\2", 16)  # of the first entry of a zip's directory
SIZE = (b"PK\1\2", 20)

# Label, fixture; kinds of damage with the file and the byte whose bit is flipped; two files to swap; a
# file to lose. Each also gets a flipped bit in its data, and its data file cut short.
FORMATS = [
    ("safetensors", "real/safetensors/llama_tiny", [("header", "*-00001-*", 200), ("index", "*.index.json", 120)],
     ("*-00001-*", "*-00003-*"), "*-00002-*"),
    ("npy", "npy/y_dtype_little_f4.npy", [("header", "*.npy", 20)], None, None),
    ("npz", "npz/y_deflated.npz", [("header", "*.npz", 8), ("checksum", "*.npz", CRC), ("index", "*.npz", SIZE)], None, None),
    ("npz, bzip2", "npz/y_bzip2.npz", [("checksum", "*.npz", CRC)], None, None),
    ("npz, lzma", "npz/y_lzma.npz", [("checksum", "*.npz", CRC)], None, None),
    ("npz stored", "npz/y_stored.npz", [("header", "*.npz", 60), ("checksum", "*.npz", CRC), ("index", "*.npz", SIZE)], None, None),
    ("tf v2", "tf_bundle/y_two_shards", [("index", "*.index", 30), ("footer", "*.index", -3)],
     ("*-00000-of-*", "*-00001-of-*"), "*-00001-of-*"),
    ("tf v2 strings", "tf_bundle/y_strings", [], None, None),
    ("tf v1", "tf_v1/y_slices_in_two_files", [("index", "*-00000-of-*", 30), ("checksum", "*-00000-of-*", -60)],
     None, "*-00001-of-*"),
    ("torch", "torch/y_zip.pt", [("pickle", "*.pt", (b"storage", 0)), ("checksum", "*.pt", CRC), ("index", "*.pt", SIZE)], None, None),
    ("torch, legacy", "torch/y_legacy.pt", [("pickle", "*.pt", (b"Float", 0))], None, None),
    ("gguf", "gguf/y_blocks.gguf", [("header", "*.gguf", 40), ("magic", "*.gguf", 0)], None, None),
    ("gguf, split", "gguf/y_split", [], ("*-00002-*", "*-00003-*"), "*-00002-*"),
    ("onnx", "onnx/y_raw.onnx", [("header", "*.onnx", 4)], None, None),
    ("flax", "flax/y_three_chunks", [("header", "*", 3)], None, None),
    ("t5x", "t5x/y_two_arrays", [("header", "checkpoint", 40), ("metadata", "target.*/.zarray", (b"<f4", 2))], None, "target.v/0*"),
    ("zarr", "zarr/y_keys", [("metadata", "**/default_dot/rank1/zarr.json", (b"data_type", 14))], None, "**/default_dot/rank1/c.1"),
    ("zarr, shards", "zarr/y_sharded", [("checksum", "**/nested/c/**/*", -2)], None, "**/c/**/*"),
    ("ocdbt", "ocdbt/y_out_of_line", [("manifest", "manifest.ocdbt", 30), ("node", "d/*", 20)], None, "d/*"),
    ("orbax", "orbax/y_out_of_line", [("metadata", "**/_METADATA", 60), ("manifest", "**/manifest.ocdbt", 30)], None, "**/d/*"),
    ("hdf5, old", "hdf5/y_chunks_old.h5", [("names", "*.h5", (b"SNOD", 6)), ("tree", "*.h5", (b"TREE", 6)), ("fletcher", "*.h5", 8943)], None, None),
    ("hdf5, new", "hdf5/y_chunks_new.h5", [("superblock", "*.h5", 20), ("header", "*.h5", (b"OHDR", 8)), ("fletcher", "*.h5", 2082)], None, None),
    ("hdf5, plain", "hdf5/y_old.h5", [("names", "*.h5", (b"kernel", 0))], None, None),
    ("keras", "keras/y_stored.keras", [("config", "*.keras", (b"config", 12)), ("checksum", "*.keras", CRC)], None, None),
    ("keras, packed", "keras/y_deflated.keras", [("checksum", "*.keras", CRC)], None, None),
    ("dcp", "dcp/y_two", [("index", "**/.metadata", (b"__0", 0))], None, "**/*.distcp"),
]


def one_file(root, pattern):
    found = [p for p in sorted(glob.glob(os.path.join(root, "**", pattern), recursive=True, include_hidden=True) +
                               glob.glob(os.path.join(root, pattern), recursive=True, include_hidden=True))
             if os.path.isfile(p)]
    if not found:
        sys.exit("no %s below %s" % (pattern, root))
    return found[0]


def go_through(label, fixture, places, swap, lose):
    root = os.path.join(os.getcwd(), label.replace(",", "").replace(" ", "_"))
    source = os.path.join(FIXTURES, fixture)
    if os.path.isdir(source):
        shutil.copytree(source, root)
    else:
        os.mkdir(root)
        shutil.copy(source, root)
    for db in ("plain.db", "hashed.db"):
        if os.path.exists(db):
            os.remove(db)
        run(db, "import", root)
    run("hashed.db", "hash")
    if found("plain.db", root) != "nothing":
        print("%-13s %-9s %s" % (label, "good", found("plain.db", root)))
    path, at = data_place()
    case(label, root, "data", [(path, flipped(path, at))])
    for kind, pattern, where in places:
        p = one_file(root, pattern)
        case(label, root, kind, [(p, flipped(p, place_of(p, where)))])
    case(label, root, "cut", [(path, cut(path))])
    if swap:
        a, b = (one_file(root, p) for p in swap)
        case(label, root, "swapped", [(a, open(b, "rb").read()), (b, open(a, "rb").read())])
    if lose:
        case(label, root, "gone", [(one_file(root, lose), None)])
    shutil.rmtree(root)


for f in FORMATS:
    go_through(*f)
