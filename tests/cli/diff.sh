# diff: names, dtypes, shapes, contents, distances; under a map.
python3 - <<'EOF'
import json, struct
from make_safetensors import save
def f(*x): return struct.pack("<%df" % len(x), *x)
nan = float("nan")
save("a.safetensors", [("same", "F32", [2], f(1, 2)), ("value", "F32", [3], f(1, 2, 2)), ("dtype", "F32", [2], f(1, 2)),
    ("shape", "F32", [2, 3], f(*range(6))), ("gone", "F32", [1], f(9)), ("moved", "F32", [2], f(5, 6)), ("nan", "F32", [3], f(nan, nan, 1))])
save("b.safetensors", [("same", "F32", [2], f(1, 2)), ("value", "F32", [3], f(1, 2, 4)), ("dtype", "F64", [2], struct.pack("<2d", 1, 2)),
    ("shape", "F32", [3, 2], f(*range(6))), ("new", "F32", [1], f(8)), ("moved.to", "F32", [2], f(5, 6)), ("nan", "F32", [3], f(nan, 1, 1))])
save("c.safetensors", [("m." + n, "F32", [2], f(1, 2)) for n in ("same", "other")])
json.dump({"dialect": "t5x-translator", "rules": [["(same)", r"m.\1"], ["value", None], ["(.*)", r"\1"]]}, open("map.json", "w"))
EOF
"$CKPTDB_BIN" import . >/dev/null
"$CKPTDB_BIN" diff a.safetensors b.safetensors; echo "status $?"
echo '-- contents'
"$CKPTDB_BIN" diff a.safetensors b.safetensors --bytes; echo "status $?"
echo '-- how far apart'
"$CKPTDB_BIN" --json diff a.safetensors b.safetensors --values; echo "status $?"
echo '-- all'
"$CKPTDB_BIN" "SELECT status, name_a, name_b FROM diff((SELECT id FROM checkpoint WHERE path LIKE '%/a.safetensors'), (SELECT id FROM checkpoint WHERE path LIKE '%/b.safetensors'))"
echo '-- with itself'
"$CKPTDB_BIN" diff a.safetensors a.safetensors; echo "status $?"
echo '-- renamed first: what the map drops has no row'
"$CKPTDB_BIN" map load m map.json
"$CKPTDB_BIN" diff a.safetensors c.safetensors --map m --all; echo "status $?"
echo '-- rearranged first, or cast: no hash speaks of what the map makes'
python3 - <<'END'
import json, struct
from make_safetensors import save
def f(*x): return struct.pack("<%df" % len(x), *x)
save("old.safetensors", [("square", "F32", [2, 2], f(1, 2, 3, 4)), ("wrong", "F32", [2, 2], f(1, 2, 3, 4)), ("short", "F32", [2], f(1, 0.1)), ("plain", "F32", [1], f(1))])
save("new.safetensors", [("SQUARE", "F32", [2, 2], f(1, 3, 2, 4)), ("WRONG", "F32", [2, 2], f(1, 2, 3, 4)), ("SHORT", "F16", [2], struct.pack("<2e", 1, 0.1)), ("PLAIN", "F32", [1], f(1))])
turn = {"ops": [["transpose"]]}
json.dump({"dialect": "t5x-translator", "rules": [["square", "SQUARE", turn], ["wrong", "WRONG", turn], ["short", "SHORT", {"ops": [["cast", "float16"]]}], ["plain", "PLAIN"]]}, open("turn.json", "w"))
json.dump({"dialect": "convert", "rules": [["square", "SQUARE", turn], ["wrong", "WRONG", turn], ["short", "SHORT", {"ops": [["cast", "float16"]]}], ["plain", "PLAIN"]]}, open("make.json", "w"))
END
"$CKPTDB_BIN" import old.safetensors new.safetensors
for m in turn make; do
    "$CKPTDB_BIN" map load $m $m.json
    "$CKPTDB_BIN" diff old.safetensors new.safetensors --map $m --all
    "$CKPTDB_BIN" diff old.safetensors new.safetensors --map $m --all --bytes; echo "status $?"
    "$CKPTDB_BIN" diff old.safetensors new.safetensors --map $m --all --values
done
echo '-- compared after the cast, which is reported as lossy; blocks end inside it'
python3 - <<'END'
import json, random, struct
from make_safetensors import save
r = random.Random(1)
x = [r.uniform(-1, 1) for _ in range(300001)]
x[262143:262145] = [1e9, 1e-9]
x32 = struct.pack("<300001f", *x)
def half(v): return struct.pack("<e", v) if abs(v) < 65520 else struct.pack("<e", float("inf"))
y = struct.unpack("<300001f", x32)
save("wide.safetensors", [("many", "F32", [300001], x32), ("few", "F32", [3], struct.pack("<3f", 1, 2, -3e38)), ("count", "I64", [2], struct.pack("<2q", 7, 300))])
save("narrow.safetensors", [("many", "F16", [300001], b"".join(map(half, y))), ("few", "F16", [3], struct.pack("<3e", 1, 2.5, float("-inf"))), ("count", "I32", [2], struct.pack("<2i", 7, 300))])
for name, to in ("cast", "int32"), ("short", "int8"):
    json.dump({"dialect": "convert", "rules": [["count", "count", {"ops": [["cast", to]]}], ["(.*)", r"\1", {"ops": [["cast", "float16"]]}]]}, open(name + ".json", "w"))
END
"$CKPTDB_BIN" import wide.safetensors narrow.safetensors
for m in cast short; do
    "$CKPTDB_BIN" map load $m $m.json
    "$CKPTDB_BIN" diff wide.safetensors narrow.safetensors --map $m --all --bytes; echo "status $?"
done
"$CKPTDB_BIN" diff wide.safetensors narrow.safetensors --map cast --all --values
"$CKPTDB_BIN" "SELECT tensor_distance(a.id, b.id) ->> '$.unequal', tensor_distance(a.id, b.id, 'float16') ->> '$.lost' FROM tensor a JOIN tensor b USING (name)
    WHERE a.path LIKE '%/wide.safetensors' AND b.path LIKE '%/narrow.safetensors' AND name IN ('many', 'few') ORDER BY 1"
for to in float12 complex64 int16 int4; do
    "$CKPTDB_BIN" "SELECT '$to', tensor_distance(id, id, '$to') ->> '$.unequal' FROM tensor WHERE name = 'count' AND dtype = 'int64'"
done
echo '-- integers that float64 does not tell apart'
python3 - <<'END'
import json, struct
for name, i, u in ("big_a", 2**53, 2**64 - 1), ("big_b", 2**53 + 1, 0):
    text = json.dumps({"i": {"dtype": "I64", "shape": [2], "data_offsets": [0, 16]}, "u": {"dtype": "U64", "shape": [1], "data_offsets": [16, 24]}}).encode()
    open(name + ".safetensors", "wb").write(struct.pack("<Q", len(text)) + text + struct.pack("<2qQ", i, -7, u))
END
"$CKPTDB_BIN" import big_a.safetensors big_b.safetensors
"$CKPTDB_BIN" diff big_a.safetensors big_b.safetensors --values; echo "status $?"
echo '-- numbers whose squares float64 does not have; signed and unsigned integers'
python3 - <<'END'
import struct
from make_safetensors import save
def reals(name, *x): return (name, "F64", [len(x)], struct.pack("<%dd" % len(x), *x))
inf = float("inf")
save("far_a.safetensors", [reals("large", 1e200, 2e200), reals("small", 1e-200, 2e-200), reals("least", 5e-324, 1e-323),
                           reals("mixed", 1e-200, 1, 1e200), reals("infinite", inf, 1, 2),
                           ("iu", "I64", [4], struct.pack("<4q", 2**63 - 1, -2**63, -1, 5)), ("ui", "U64", [3], struct.pack("<3Q", 2**53 + 1, 2**64 - 1, 7)),
                           ("narrow", "I64", [2], struct.pack("<2q", 2**53 + 1, -1))])
save("far_b.safetensors", [reals("large", 1e200, 1e200), reals("small", 1e-200, 1e-200), reals("least", 5e-324, 5e-324),
                           reals("mixed", 2e-200, 2, 2e200), reals("infinite", inf, 1, 3),
                           ("iu", "U64", [4], struct.pack("<4Q", 2**63, 2**64 - 1, 2**64 - 1, 5)), ("ui", "I64", [3], struct.pack("<3q", 2**53, -1, 7)),
                           ("narrow", "I32", [2], struct.pack("<2i", 2**31 - 1, -1))])
END
"$CKPTDB_BIN" import far_a.safetensors far_b.safetensors
"$CKPTDB_BIN" --list "SELECT name, tensor_distance(a.id, b.id) -> '$.max_abs', tensor_distance(a.id, b.id) -> '$.rel_l2', tensor_distance(a.id, b.id) -> '$.cosine',
    tensor_distance(a.id, b.id) -> '$.unequal' FROM tensor a JOIN tensor b USING (name)
    WHERE a.path LIKE '%/far_a.safetensors' AND b.path LIKE '%/far_b.safetensors' ORDER BY a.ord"
echo '-- trouble is 2'
"$CKPTDB_BIN" diff a.safetensors none; echo "status $?"
"$CKPTDB_BIN" diff a.safetensors b.safetensors --map none; echo "status $?"
echo '-- values without hashes tell, too'
rm "$CKPTDB"; "$CKPTDB_BIN" import a.safetensors b.safetensors >/dev/null
"$CKPTDB_BIN" diff a.safetensors b.safetensors --values --all
cp a.safetensors d.safetensors; "$CKPTDB_BIN" import d.safetensors; "$CKPTDB_BIN" diff a.safetensors d.safetensors --values; echo "status $?"
echo '-- the status alone'
for options in '' --bytes --values --all --tree --json; do
  "$CKPTDB_BIN" diff a.safetensors b.safetensors --quiet $options; echo "status $?"
  "$CKPTDB_BIN" diff a.safetensors d.safetensors --quiet $options; echo "status $?"
done 2>&1
"$CKPTDB_BIN" diff a.safetensors none --quiet; echo "status $?"
echo '-- a picture is not JSON'
"$CKPTDB_BIN" diff 1 1 --tree --json
echo "status $?"
echo '-- what is not in the catalog is no side, and NULL is no rule set'
"$CKPTDB_BIN" map load assigns - <<<'{"dialect": "t5x-assignment", "rules": [["(.*)", "\\1"]]}'
for arguments in '1, 99' '99, 2' '98, 99' "'nosuch.safetensors', 1" "1, 2, 'none'" "1, 2, 'assigns'" '1, 2, NULL' '1, 2' '1, NULL'; do
  "$CKPTDB_BIN" --keep-going -c "SELECT group_concat(DISTINCT status), count(*) FROM diff($arguments)" \
    -c "SELECT group_concat(DISTINCT status), count(*) FROM diff($arguments) WHERE different = 1"
done
echo '-- numbers without a distance are compared by their bytes'
complex() { # FILE LAST: the bytes of its last number
    head='{"c":{"dtype":"C64","shape":[1],"data_offsets":[0,8]},"d":{"dtype":"C64","shape":[1],"data_offsets":[8,16]}}'
    printf "\\$(printf %o ${#head})\0\0\0\0\0\0\0%s\0\0\200\77\0\0\200\77\0\0\200\77\0\0$2\100" "$head" >"$1"
}
complex c1.safetensors '\0' && complex c2.safetensors '\100'
"$CKPTDB_BIN" -d complex.db import c1.safetensors c2.safetensors
"$CKPTDB_BIN" -d complex.db diff c1.safetensors c2.safetensors --values --all
echo "status $?"
echo '-- renamed first, too; results of a map are not said to be the same'
echo '{"dialect": "convert", "rules": [["(.)", "\\1", {"ops": []}]]}' >idle.json
echo '{"dialect": "convert", "rules": [["(.)", "\\1", {"ops": [["transpose"]]}]]}' >turned.json
for m in idle turned; do
    "$CKPTDB_BIN" -d complex.db map load $m $m.json
    for other in c1 c2; do "$CKPTDB_BIN" -d complex.db diff c1.safetensors $other.safetensors --values --map $m --all; echo "status $?"; done
done
"$CKPTDB_BIN" -d complex.db diff c1.safetensors c1.safetensors --values --rename 'd=d' --quiet; echo "status $?"
"$CKPTDB_BIN" -d complex.db diff c1.safetensors c2.safetensors --values --rename 'd=d' --quiet; echo "status $?"
echo '-- quantised integers are compared as they are stored, with integers only'
quantised=$TESTS/fixtures/real/torch/quantized/data
python3 - "$quantised" <<'END'
import json, sys, zipfile
from make_safetensors import save
for name in "zip", "four_bit":
    with zipfile.ZipFile(f"{sys.argv[1]}/{name}.pt") as old, zipfile.ZipFile(f"{name}2.pt", "w") as new:
        for member in old.namelist():
            data = bytearray(old.read(member))
            if "/data/" in member:
                data[0] ^= 1
            new.writestr(member, bytes(data))
save("floats.safetensors", [("qint8", "F32", [4, 6], bytes(96))])
for name, ops in ("identity", []), ("to_int32", [["cast", "int32"]]), ("to_float32", [["cast", "float32"]]):
    json.dump({"dialect": "convert", "rules": [["(.*)", r"\1", {"ops": ops}]]}, open(name + ".json", "w"))
END
q() { "$CKPTDB_BIN" -d quantised.db "$@"; }
q import "$quantised"/{zip,four_bit}.pt zip2.pt four_bit2.pt floats.safetensors
for m in identity to_int32 to_float32; do q map load $m $m.json; done
for name in zip four_bit; do
    for options in '' '--map identity' '--map to_int32'; do
        q diff "$quantised/$name.pt" ${name}2.pt --values $options; echo "status $?"
    done
done
q export zip2.pt ints.safetensors --dtype int32 --names '^qint8$' && q import ints.safetensors
q diff "$quantised/zip.pt" ints.safetensors --values | grep qint8
q diff zip2.pt ints.safetensors --values --all --map to_int32 | grep -w qint8
q diff zip2.pt floats.safetensors --values | grep -w dtype
q diff zip2.pt floats.safetensors --values --all --map to_float32 | grep -w qint8
echo '-- a grown vocabulary: the rows that both have are compared, and it says how many'
python3 - <<'END'
import json, struct
from make_safetensors import save
def f(*x): return struct.pack("<%df" % len(x), *x)
def half(*x): return struct.pack("<%de" % len(x), *x)
rows = [float(i % 7) for i in range(70000 * 2)]  # more than a piece
tuned = list(rows); tuned[7] += 0.5
save("base.safetensors", [("emb", "F32", [70000, 2], f(*rows)), ("head", "F32", [3], f(1, 2, 3)), ("turned", "F32", [2, 3], f(*range(6))),
    ("wide", "F32", [2, 3], f(*range(6))), ("none", "F32", [0, 2], b""), ("h", "F32", [2, 2], f(1, 2, 3, 4)), ("w", "F32", [2], f(1, 2))])
save("tuned.safetensors", [("emb", "F32", [70003, 2], f(*tuned, *range(6))), ("head", "F32", [2], f(1, 2)), ("turned", "F32", [3, 2], f(*range(6))),
    ("wide", "F32", [2, 4], f(*range(8))), ("none", "F32", [1, 2], f(0, 0)), ("h", "F16", [3, 2], half(1, 2, 3, 4, 5, 6)), ("w", "F32", [2], f(1, 3))])
END
"$CKPTDB_BIN" import base.safetensors tuned.safetensors
"$CKPTDB_BIN" --jsonl diff base.safetensors tuned.safetensors --values; echo "status $?"
"$CKPTDB_BIN" diff base.safetensors tuned.safetensors --values --tree; echo "status $?"
"$CKPTDB_BIN" diff base.safetensors tuned.safetensors; echo "status $?"
echo '-- names'
"$CKPTDB_BIN" diff base.safetensors tuned.safetensors --values --names '^(emb|w)$' --header; echo "status $?"
"$CKPTDB_BIN" diff base.safetensors tuned.safetensors --names 'hea' --bytes; echo "status $?"
"$CKPTDB_BIN" diff base.safetensors tuned.safetensors --names 'w$' --values --rename '^w$=other'; echo "status $?"
"$CKPTDB_BIN" diff base.safetensors base.safetensors --names 'emb' --all; echo "status $?"
"$CKPTDB_BIN" diff base.safetensors tuned.safetensors --names nosuch; echo "status $?"
"$CKPTDB_BIN" diff base.safetensors tuned.safetensors --names '('; echo "status $?"
"$CKPTDB_BIN" "SELECT tensor_distance(a.id, b.id) FROM tensor a JOIN tensor b USING (name) WHERE name = 'wide' AND a.checkpoint = 'base.safetensors' AND b.checkpoint = 'tuned.safetensors'"
