# diff --tree: modules that differ alike are one line; and whether a checkpoint loads into a skeleton.
python3 - <<'END'
import json, struct
from make_safetensors import save
def f32(tensors): return [(name, "F32", shape, struct.pack("<%df" % len(x), *x)) for name, shape, x in tensors]
def model(change, old=True):
    out = [("embed.weight", [2, 2], [1, 2, 3, 4])]
    for i in range(12):
        for m in ("attn.q", "attn.k", "mlp.up", "mlp.down"):
            v = [i + 1, 2, 3, 4]
            if change and m.startswith("attn"):
                v[1] += 0.5 if i != 7 else 1.5
            out.append((f"layers.{i}.{m}.weight", [2, 2], v))
        if not change:
            out.append((f"layers.{i}.old.norm", [2], [1, i]))
        else:
            out.append((f"layers.{i}.lora.a", [1], [i]))
    out.append(("head.weight", [2, 3] if change else [3, 2], list(range(6))))
    out.append(("final" if change else "norm", [3], [7, 8, 9]))
    return out
save("base.safetensors", f32(model(False)))
save("tuned.safetensors", f32(model(True)))
def skeleton(path, names): json.dump({"ckptdb": "names", "tensors": names}, open(path, "w"))
entry = lambda t: {"dtype": "float32", "shape": t[1]}
good = {t[0]: entry(t) for t in model(False)}
skeleton("good.json", good)
skeleton("unknown.json", {n: {"dtype": None, "shape": None} for n in good})
bad = dict(good)
for i in range(5): del bad[f"layers.{i}.old.norm"]
bad["embed.weight"] = {"dtype": "float32", "shape": [4, 2]}
bad["extra.bias"] = {"dtype": "float32", "shape": [4]}
bad["extra.scale"] = {"dtype": "float32", "shape": [4]}
skeleton("bad.json", bad)
END
"$CKPTDB_BIN" import . >/dev/null
run() { echo "\$ ckptdb diff $*"; "$CKPTDB_BIN" diff "$@"; echo "status $?"; }
run base.safetensors tuned.safetensors --tree
run base.safetensors tuned.safetensors --tree --bytes
run base.safetensors tuned.safetensors --tree --values
run base.safetensors base.safetensors --tree
echo '-- what changed most is first: from nothing, much, little; what did not is last'
python3 - <<'END'
import struct
from make_safetensors import save
def f32(*tensors): return [(name, "F32", [len(x)], struct.pack("<%df" % len(x), *x)) for name, x in tensors]
save("before.safetensors", f32(("embed", [1, 2]), ("block.0.w", [1, 1]), ("block.0.b", [1, 3]), ("block.1.w", [1, 1]), ("block.1.b", [1, 3]), ("other.b", [1, 2, 3]), ("other.w", [0, 0])))
save("after.safetensors", f32(("embed", [1, 2]), ("block.0.w", [1, 1.01]), ("block.0.b", [1, 3]), ("block.1.w", [2, 1]), ("block.1.b", [1, 4]), ("other.b", [1, 2, 3]), ("other.w", [0, 1])))
END
"$CKPTDB_BIN" import before.safetensors after.safetensors >/dev/null
run before.safetensors after.safetensors --tree --values --all
run before.safetensors after.safetensors --tree --bytes
echo '-- does it load?'
run base.safetensors good.json --tree
run good.json base.safetensors
run base.safetensors unknown.json
run base.safetensors bad.json --tree
run good.json bad.json --tree
"$CKPTDB_BIN" --json diff base.safetensors bad.json
