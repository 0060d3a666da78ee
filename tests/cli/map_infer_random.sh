# map infer on random rules: 50 checkpoints and what random rules turn them into (prefixes, words, layers
# counted otherwise or padded, wrappers, tensors dropped, turned around, cast, stacked, fused). The set
# inferred makes of each name what the rules made; of a deeper model of the same kind, too, where they count
# layers as they are. Contents say which is which, so all must be found.
cat >make.py <<'END'
import random, struct, sys
from make_safetensors import save
WORDS = "attn mlp norm query key value out gate up down wi wo proj dense bias kernel weight scale embed head ln self cross".split()
def case(seed, layers):
    r = random.Random(seed)          # the same kind of model at any depth
    values = random.Random(seed * 1000 + layers)
    sep, to = r.choice("./"), r.choice("./")
    pad = r.choice([0, 0, 3])
    leaves = {}
    for module in r.sample(WORDS, 5):
        for leaf in r.sample(WORDS, r.randint(1, 3)):
            leaves[(module, leaf)] = r.choice([[2], [3, 4], [4, 2, 3], [6, 6]])
    word = {w: r.choice([w, w + "x", w[:1] + "_0" + w[1:], w.title()]) for w in WORDS}
    top, new_top = r.choice(["layers", "block", "h"]), r.choice(["blk", "layers_", "encoder" + to + "layer"])
    prefix, new_prefix = r.choice(["", "module" + sep, "model" + sep]), r.choice(["", "target" + to])
    first = r.choice([0, 0, 1])
    ops = {k: r.choice(["", "", "", "turn", "drop", "stack"]) for k in leaves}
    a, b, pairs = {}, {}, []
    def tensor(shape):
        n = 1
        for s in shape: n *= s
        return [values.uniform(-1, 1) for _ in range(n)]
    raw = lambda x: struct.pack("<%df" % len(x), *x)
    def add(old, new, shape, op):
        x = tensor(shape)
        a[old] = ("F32", shape, raw(x))
        if op == "drop":
            return pairs.append((old, None))
        if op == "turn" and len(shape) == 2:
            x = [x[i * shape[1] + j] for j in range(shape[1]) for i in range(shape[0])]
            shape = shape[::-1]
        b[new] = ("F32", shape, raw(x))
        pairs.append((old, new))
    for (module, leaf), shape in leaves.items():
        whole = b""
        for i in range(layers):
            old = f"{prefix}{top}{sep}{i:0{pad}d}{sep}{module}{sep}{leaf}" if pad else f"{prefix}{top}{sep}{i}{sep}{module}{sep}{leaf}"
            new = f"{new_prefix}{new_top}{to}{i + first}{to}{word[module]}{to}{word[leaf]}"
            if ops[module, leaf] == "stack":
                x = raw(tensor(shape))
                whole += x
                a[old] = ("F32", shape, x)
                pairs.append((old, f"{new_prefix}all{to}{word[module]}{to}{word[leaf]}"))
            else:
                add(old, new, shape, ops[module, leaf])
        if whole:
            b[f"{new_prefix}all{to}{word[module]}{to}{word[leaf]}"] = ("F32", [layers] + shape, whole)
    add(prefix + "embed" + sep + "weight", new_prefix + "tok" + to + "embedding", [5, 4], "")
    add(prefix + "final" + sep + "norm", new_prefix + word["norm"], [7], "")
    return a, b, pairs, first == 0
for seed in range(int(sys.argv[1]), int(sys.argv[2])):
    for layers, tag in ((3, ""), (5, "deep_")):
        a, b, pairs, counts = case(seed, layers)
        if tag and not counts:
            continue
        save(f"{tag}a{seed}.safetensors", a)
        if not tag:
            save(f"b{seed}.safetensors", b)
        with open(f"{tag}want{seed}", "w") as f:
            for old, new in sorted(pairs):
                f.write(f"{old}|{new or ''}\n")
END
python3 make.py "${1:-0}" "${2:-50}"
"$CKPTDB_BIN" import . >/dev/null
run() { # CHECKPOINT RULESET: old|new of each tensor
    local view=conversion
    [ "$("$CKPTDB_BIN" --list "SELECT dialect FROM ruleset WHERE name = '$2'")" = convert ] || view=translation
    "$CKPTDB_BIN" --list "SELECT old_name, new_name FROM $view WHERE ruleset = '$2' AND status IN ('ok', 'dropped')
        AND checkpoint_id = (SELECT id FROM checkpoint WHERE name = '$1')" | LC_ALL=C sort
}
bad=0 deep=0 rules=0 tensors=0
for ((i = ${1:-0}; i < ${2:-50}; i++)); do
    "$CKPTDB_BIN" map infer a$i.safetensors b$i.safetensors --name r$i >/dev/null 2>log
    run a$i.safetensors r$i >got
    LC_ALL=C sort want$i | diff - got >difference || { bad=$((bad + 1)); echo "case $i"; head -n 5 difference; }
    tensors=$((tensors + $(wc -l <want$i)))
    rules=$((rules + $("$CKPTDB_BIN" --list "SELECT count(*) FROM rule WHERE ruleset = 'r$i'")))
    [ -e deep_want$i ] || continue
    run deep_a$i.safetensors r$i >got
    LC_ALL=C sort deep_want$i | diff - got >difference || { bad=$((bad + 1)); echo "case $i, deeper"; head -n 5 difference; }
    deep=$((deep + 1))
done
echo "$bad of 50 wrong; $deep were tried on deeper models too; $rules rules for $tensors tensors"
