# A tensor cut into more than 64 pieces, and put together again (a model of 128 experts): by rules, which map
# infer finds again, forwards and backwards; and what no split can be.
python3 - <<'END'
import json, random, struct
from make_safetensors import save
r = random.Random(7)
row = lambda n: struct.pack("<%df" % n, *(r.uniform(-1, 1) for _ in range(n)))
for count in (64, 65, 128, 257):
    parts = [row(6) for _ in range(count)]
    save(f"whole{count}.safetensors", {"experts.w": ("F32", [count * 2, 3], b"".join(parts))})
    save(f"parts{count}.safetensors", {f"expert.{i}.w": ("F32", [2, 3], p) for i, p in enumerate(parts)})
sizes = [1 + i % 3 for i in range(100)]
parts = [row(2 * n) for n in sizes]
save("whole_list.safetensors", {"experts.w": ("F32", [sum(sizes), 2], b"".join(parts))})
save("parts_list.safetensors", {f"expert.e{i}.w": ("F32", [n, 2], p) for i, (n, p) in enumerate(zip(sizes, parts))})
def rules(name, split, after=[]):
    with open(name, "w") as f:
        json.dump({"dialect": "convert", "rules": [["experts\\.w", "expert.\\g<n>.w", {"compute": [["n", "part"]], "ops": [split] + after}]]}, f)
for count in (64, 65, 128, 257): rules(f"cut{count}.json", ["split", 0, count])
rules("cut_list.json", ["split", 0, sizes, [f"e{i}" for i in range(100)]])
rules("short.json", ["split", 0, sizes[:-1]])
rules("word.json", ["split", 0, [1] * 70 + ["x"]])
rules("odd.json", ["split", 0, 127])
END
"$CKPTDB_BIN" import . >/dev/null
for n in 64 65 128 257 _list; do
    echo "-- $n"
    "$CKPTDB_BIN" map load cut cut$n.json
    "$CKPTDB_BIN" export whole$n.safetensors out$n.safetensors --map cut --no-sync 2>/dev/null
    "$CKPTDB_BIN" import out$n.safetensors 2>/dev/null
    "$CKPTDB_BIN" diff out$n.safetensors parts$n.safetensors --bytes
    "$CKPTDB_BIN" diff whole$n.safetensors parts$n.safetensors --map cut --bytes
    for pair in "whole$n parts$n" "parts$n whole$n"; do
        read -r a b <<<"$pair"
        "$CKPTDB_BIN" map infer $a.safetensors $b.safetensors --name found 2>&1 >/dev/null | grep -v 'map check: note, o'
        "$CKPTDB_BIN" diff $a.safetensors $b.safetensors --map found --bytes
    done
done
for bad in short word odd; do
    "$CKPTDB_BIN" map load bad $bad.json
    "$CKPTDB_BIN" --list map run bad whole128.safetensors 2>&1 | cut -c1-60,400-
    "$CKPTDB_BIN" --list "SELECT substr(error, -70) FROM conversion WHERE ruleset = 'bad' AND checkpoint_id = (SELECT id FROM checkpoint WHERE path LIKE '%/whole128.safetensors')"
done
