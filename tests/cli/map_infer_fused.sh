# map infer of other weights: what was fused or split is guessed as contents say it where the weights are the same.
cat >trial.py <<'END'
import json, os, random, struct, subprocess
from make_safetensors import save
def save32(path, tensors): save(path, {name: ("F32", *t) for name, t in tensors.items()})
def transposed(shape, raw):
    rows, cols = shape
    x = struct.unpack(f"<{rows * cols}f", raw)
    return [cols, rows], struct.pack(f"<{rows * cols}f", *(x[i * cols + j] for j in range(cols) for i in range(rows)))
def models(seed, weights):
    """A model with its parts apart, and one with them together."""
    r, w = random.Random(seed), random.Random(weights)
    d, kv, layers, first = 8, r.choice([8, 4, 2]), r.choice([1, 3, 11]), r.choice([0, 1])
    attn = r.choice([("q", "k", "v"), ("q_proj", "k_proj", "v_proj"), ("query", "key", "value"), ("wq", "wk", "wv")])
    mlp = r.choice([("gate", "up"), ("gate_proj", "up_proj"), ("w1", "w3"), ("wi_0", "wi_1")])
    one = r.choice(["qkv", "Wqkv", "query_key_value", "qkv_proj", "c_attn", "in_proj"])
    two = r.choice(["gate_up", "gate_up_proj", "w13", "in"]) if mlp[0][0] == "g" else r.choice(["w13", "fused", "wi"])
    turned, biased, decoder = r.random() < 0.3 and kv < 8, r.random() < 0.5, r.random() < 0.3
    a, b = {}, {}
    def tensor(shape):
        n = 1
        for s in shape: n *= s
        return shape, struct.pack(f"<{n}f", *(w.uniform(-1, 1) for _ in range(n)))
    def fuse(old, new, names, sizes, fused, tail, rest):
        parts = [tensor([n] + rest) for n in sizes]
        for name, t in zip(names, parts): a[f"{old}.{name}.{tail}"] = t
        whole = [sum(sizes)] + rest, b"".join(raw for _, raw in parts)
        b[f"{new}.{fused}.{tail}"] = transposed(*whole) if turned and rest else whole
    for i in range(layers):
        for module, short in [("self_attn", "attn"), ("cross_attn", "cross")][:1 + decoder]:
            old, new = f"model.layers.{i}.{module}", f"h.{i + first}.{short}"
            fuse(old, new, attn, [d, kv, kv], one, "weight", [d])
            if biased: fuse(old, new, attn, [d, kv, kv], one, "bias", [])
            a[f"{old}.out.weight"] = b[f"{new}.out.weight"] = tensor([d, d])
        old, new = f"model.layers.{i}.mlp", f"h.{i + first}.mlp"
        fuse(old, new, mlp, [5 * d, 5 * d], two, "weight", [d])
        a[f"{old}.down.weight"] = b[f"{new}.down.weight"] = tensor([d, 5 * d])
        a[f"model.layers.{i}.norm.weight"] = b[f"h.{i + first}.norm.weight"] = tensor([d + 1])
    a["model.embed.weight"] = b["embed.weight"] = tensor([31, d])
    return a, b
def rows(sql):
    return json.loads(subprocess.run([os.environ["CKPTDB_BIN"], "--json", sql], capture_output=True, text=True).stdout)
for seed in range(30):
    a, b = models(seed, 100 + seed)
    save32(f"a{seed}.safetensors", a), save32(f"b{seed}.safetensors", b), save32(f"c{seed}.safetensors", models(seed, 200 + seed)[1])
for args in (["import", "."], ["hash"]): subprocess.run([os.environ["CKPTDB_BIN"], *args], capture_output=True, check=True)
ids = {r["name"].split(".")[0]: r["id"] for r in rows("SELECT id, name FROM checkpoint")}
counts = {}
for seed in range(30):
    for x, y in (("a", "b"), ("b", "a")):
        a, b, c, d = (ids[f"{side}{seed}"] for side in (x, y, "c" if x == "b" else x, "c" if y == "b" else y))
        pairs = "SELECT old_name, new_name, part, ops FROM infer_pairs(%d, %d) ORDER BY 1, 2"
        sure, guess = rows(pairs % (a, b)), rows(pairs % (c, d))
        if sure != guess:
            print("seed", seed, x, *[r for r in sure if r not in guess][:8], "guessed", *[r for r in guess if r not in sure][:8], sep="\n")
            counts["different"] = counts.get("different", 0) + 1
        for r in rows("SELECT how, count(*) AS n FROM infer_pairs(%d, %d) WHERE ops REGEXP 'concat|split' GROUP BY 1" % (c, d)):
            counts[r["how"]] = counts.get(r["how"], 0) + r["n"]
print(counts)
END
python3 trial.py
