"""Odd names: an export refuses them before the first byte, saying what helps, or its file is imported with the same
names and values. Prints what differs, and for each format why it refused.

export_names.py [SEED [ROUNDS]]
"""
import collections
import json
import os
import random
import re
import subprocess
import sys

import make_safetensors

r = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 24)
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 30
SLOW = int(os.environ["SLOW"]) # above 1: one set in SLOW
EXPORTS = {"safetensors": "safetensors", "torch": "pt", "dcp": "dcp", "gguf": "gguf", "npz": "npz", "npy": "npy", "zarr": "zarr",
           "zarr3": "z3.zarr", "hdf5": "h5", "flax": "msgpack", "t5x": "t5x", "orbax": "orbax", "tf": "index"}
OWN = [".zarray", ".zgroup", ".zattrs", ".zmetadata", "zarr.json", "_METADATA", "_CHECKPOINT_METADATA", "_sharding",
       "array_metadatas", "checkpoint", "version", "data.pkl", "archive", "byteorder", "data", "manifest.ocdbt", "d", "0", "c",
       "0.0", "c.0", "target", "optimizer", "flax_mutables", "state", "step", "params", "__metadata__", "__version__", "w.npy",
       ".metadata", "__0_0.distcp", "_CHECKPOINTABLE_OBJECT_GRAPH", "general.architecture", "driver", "__len__", "_TENSORS",
       "layers.0.w", "layer{0}", "value", "weight:0", "part_0", "w.index", "__msgpack_chunked_array__", "top_level_model_weights"]
ODD = ["", "/", "//", "a/", "/a", "a//b", ".", "..", "a/.", "./a", "a/..", "../a", "...", "a/.b", ".b/a", "a.", " ", " a", "a ", "\t",
       "a\nb", "a\r", "\x01", "\x1b[31m", "\x7f", "a\x1fb", "\u0085", "\u2028", "\ufeffa", "\ufffe", "\U0001f600", "u\u0308", "\u00fc", "\\",
       "a\\b", "a\\", "'", '"', "'\"", "a'b", "%s", "%00", "a%2Fb", "$HOME", "`a`", "*", "?", "[0]", "{}", "a,b", "a:b", "a;b", "a=b", "|",
       "<a>", "~", "-", "--a", "CON", "nul", "A", "a", "a/A", "A/b", "a/b", "a.b", "a-b", "a/b/c", "a/b.c", "a.b/c", "a-b/c", "a+", "a0",
       "x" * 63, "x" * 64, "y" * 65, "z" * 255, "z" * 256, "\u00fc" * 31 + "x", "\u00fc" * 32, "\u00fc" * 127, "\u00fc" * 128,
       "q" * 1024, "a/" * 511 + "bb", "a/" * 119 + "b", "a/" * 120 + "b", "/".join(["k" * 200] * 5), "n" * 32, "n" * 31, "0" * 40000]
NOT_UTF8 = [b"\xff", b"a\xc3", b"\xed\xa0\x80", b"a/\xc0\xaf"]


def ckptdb(*words):
    return subprocess.run([os.environ["CKPTDB_BIN"], *words], capture_output=True, encoding="utf-8", errors="replace", check=False)


def rows(sql):
    done = ckptdb("--list", f"SELECT json_array({sql}")
    return [json.loads(line) for line in done.stdout.split("\n") if line] if not done.returncode else sys.exit(done.stderr)


def literal(name):
    return f"CAST(x'{(name if isinstance(name, bytes) else name.encode()).hex()}' AS TEXT)"


def odd_names():
    """Sets of names, one set an export: each alone, each beside others, pairs that meet in some way."""
    yield from ([name] for name in ODD + OWN + NOT_UTF8[:1])
    yield from ([name, "w", "c/d"] for name in r.sample(ODD, 12) + r.sample(OWN, 12) + NOT_UTF8[1:])
    yield from ([name, name + "/w"] for name in r.sample(OWN, 8))
    yield from (["a", "a/b"], ["a", "a"], ["a/b", "a/b/c", "a/b.c"], ["a", "A"], ["a/b", "A/b"], ["a/b", "a.b"], ["x", "x.npy"], ["a/b", "a-b", "a"])
    for _ in range(ROUNDS):
        parts = [r.choice(ODD[:-6] + OWN) for _ in range(4)]
        names = {r.choice(["/", ".", "//", ""]).join(r.sample(parts, r.randint(1, 3))) for _ in range(r.randint(1, 6))}
        yield sorted(names)


def main():
    made, refused = {}, collections.defaultdict(collections.Counter)
    make_safetensors.save("m.safetensors", {f"t{k}": ("I8", [k % 7 + 1], bytes([k] * (k % 7 + 1))) for k in range(8)})
    ckptdb("import", "m.safetensors")
    ids = dict(rows("name, id) FROM tensor"))
    for k, names in list(enumerate(odd_names()))[SLOW // 2::SLOW]:
        sql = " UNION ALL ".join(f"SELECT {ids[f't{i}']} AS tensor_id, {literal(name)} AS new_name" for i, name in enumerate(names))
        for export, suffix in EXPORTS.items():
            folder = f"out/{export}/{k}"
            os.makedirs(folder)
            if export == "npy" and len(names) > 1:
                continue
            options = ["--option", "ocdbt=false"] if export == "orbax" and k % 2 else []
            done = ckptdb("export", "--sql", sql, f"{folder}/x.{suffix}", "--format", export, "--no-sync", "--no-meta", *options)
            if done.returncode == 0:
                made[export, k] = names
                continue
            if os.listdir(folder):
                print("left behind:", export, names, os.listdir(folder))
            if done.returncode != 1 or not re.search("--(names|rename|map|where)", done.stderr):
                print("no way out:", export, [name[:40] for name in names], done.returncode, done.stderr[-300:])
            for line in done.stderr.split("\n"):
                cause = re.sub(r"^.*: (\(int8\) )?", "", line)  # without what differs from name to name
                refused[export][re.sub(r"(below|\bas|all is|like|the name) .*?(?=, which is|;| \(--rename| for itself)|^\S+ and \S+(?= are)", r"\1 ...", cause)] += 1
    ckptdb("import", "out")
    held = collections.defaultdict(dict)
    for path, name, digest in rows("path, name, tensor_sha256(id)) FROM tensor WHERE path LIKE '%/out/%'"):
        export, k = re.search(r"/out/(\w+)/(\d+)/", path + "/").groups()
        held[export, int(k)][name] = digest
    wanted = [digest for _, digest in sorted(rows("name, tensor_sha256(id)) FROM tensor WHERE path LIKE '%m.safetensors'"))]
    for (export, k), names in made.items():
        want = {"x" if export == "npy" else name: wanted[i] for i, name in enumerate(names)}
        have = held[export, k]
        if export == "t5x" and want != have:
            have = {name.removeprefix("target/"): digest for name, digest in have.items() if name != "state/step"}
        if want != have:
            print("differs:", export, k, [name[:40] for name in names], "has", [name[:40] for name in have])
    for export in EXPORTS if SLOW == 1 else []:
        print(f"{export}: {sum(of == export for of, _ in made)} sets of names written, refused:")
        for why, count in refused[export].items():
            if why and why != "nothing was written":
                print(f"    {why} ({count})")


main()
