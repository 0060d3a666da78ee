"""maps_back.py - every shipped rule set that has an inverse is tried there and back: a small checkpoint is
exported by the one, imported, exported by the other, imported, and each tensor has to have the name, the
dtype, the shape and the content hash that it had. What is dropped on purpose is said.
"""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys

sys.path.insert(0, os.environ["TESTS"])
import models  # noqa: E402

CKPTDB = os.environ["CKPTDB_BIN"]
WIDTH, INNER, HEADS, KV, HEAD, VOCAB, LAYERS, EXPERTS = 8, 12, 4, 2, 4, 10, 2, 3

# Sets without an inverse, and why.
ALONE = {
    "strip_prefixes": "which wrappers there were is lost",
}


class Values:
    """Tensors of random numbers that bfloat16 holds, and that are still exact when 1 was added in float32."""

    def __init__(self, seed, dtype):
        self.random, self.default = random.Random(seed), dtype

    def __call__(self, *shape, dtype=None):
        dtype = dtype or self.default
        count, pack = 1, {"float32": "<f", "bfloat16": "<H", "int64": "<q", "int32": "<i"}[dtype]
        for n in shape:
            count *= n
        data = []
        for _ in range(count):
            bits = (self.random.getrandbits(1) << 15) | (self.random.randrange(119, 129) << 7) | self.random.getrandbits(7)
            value = self.random.randrange(1, 1000) if dtype[0] == "i" else bits if dtype[0] == "b" else \
                struct.unpack("<f", struct.pack("<I", bits << 16))[0]
            data.append(struct.pack(pack, value))

        def at(*index):
            n = 0
            for i, size in zip(index, shape):
                n = n * size + i
            return data[n]
        return models.Tensor(dtype, shape, at)


# --- models by Hugging Face's names -----------------------------------------------------------------
def shapes(new, table, layer, layers=LAYERS):
    """{N} in a layer's names is its number."""
    whole = dict(table)
    for n in range(layers):
        whole |= {name.replace("{N}", str(n)): shape for name, shape in layer.items()}
    return {name: new(*shape) for name, shape in whole.items()}


def both(name, out, into):
    return {f"{name}.weight": (out, into), f"{name}.bias": (out,)}


def norm(name):
    return {f"{name}.weight": (WIDTH,), f"{name}.bias": (WIDTH,)}


def decoder(new, norms, bias=(), tied=False):
    """Llama's layout. `norms`: of a layer."""
    outer = {"model.embed_tokens.weight": (VOCAB, WIDTH), "model.norm.weight": (WIDTH,)}
    if not tied:
        outer["lm_head.weight"] = (VOCAB, WIDTH)
    at = "model.layers.{N}."
    layer = {f"{at}self_attn.{m}_proj.weight": (rows * HEAD, WIDTH) for m, rows in (("q", HEADS), ("k", KV), ("v", KV))}
    layer |= {f"{at}self_attn.{m}_proj.bias": (rows * HEAD,) for m, rows in (("q", HEADS), ("k", KV), ("v", KV)) if m in bias}
    layer |= {f"{at}self_attn.o_proj.weight": (WIDTH, HEADS * HEAD), f"{at}mlp.down_proj.weight": (WIDTH, INNER)}
    layer |= {f"{at}mlp.{m}_proj.weight": (INNER, WIDTH) for m in ("gate", "up")}
    layer |= {f"{at}{n}.weight": (HEAD if "self_attn" in n else WIDTH,) for n in norms}
    return shapes(new, outer, layer)


TWO = ("input_layernorm", "post_attention_layernorm")
FOUR = (*TWO, "pre_feedforward_layernorm", "post_feedforward_layernorm")
QK = ("self_attn.q_norm", "self_attn.k_norm")


def gpt2(new, prefix):
    at = prefix + "h.{N}."
    # Conv1D: (in, out)
    layer = {k: s[::-1] for m, out, into in (("attn.c_attn", 3 * WIDTH, WIDTH), ("attn.c_proj", WIDTH, WIDTH),
                                             ("mlp.c_fc", INNER, WIDTH), ("mlp.c_proj", WIDTH, INNER))
             for k, s in both(at + m, out, into).items()}
    outer = {f"{prefix}wte.weight": (VOCAB, WIDTH), f"{prefix}wpe.weight": (6, WIDTH), **norm(f"{prefix}ln_f")}
    return shapes(new, outer, layer | norm(at + "ln_1") | norm(at + "ln_2"))


def encoder_layer(at, attention, output):
    layer = {k: s for m in ("query", "key", "value") for k, s in both(f"{at}{attention}.{m}", WIDTH, WIDTH).items()}
    return layer | both(at + output, WIDTH, WIDTH) | both(at + "intermediate.dense", INNER, WIDTH) | both(at + "output.dense", WIDTH, INNER)


def bert(new, prefix, heads):
    outer = {f"{prefix}embeddings.{m}_embeddings.weight": (rows, WIDTH) for m, rows in (("word", VOCAB), ("position", 6), ("token_type", 2))}
    outer |= norm(f"{prefix}embeddings.LayerNorm") | both(f"{prefix}pooler.dense", WIDTH, WIDTH)
    for head in heads:
        outer |= both(head, 3, WIDTH)
    at = prefix + "encoder.layer.{N}."
    layer = encoder_layer(at, "attention.self", "attention.output.dense")
    return shapes(new, outer, layer | norm(at + "attention.output.LayerNorm") | norm(at + "output.LayerNorm"))


def vit(new, prefix, heads):
    outer = {f"{prefix}embeddings.cls_token": (1, 1, WIDTH), f"{prefix}embeddings.position_embeddings": (1, 5, WIDTH),
             f"{prefix}embeddings.patch_embeddings.projection.weight": (WIDTH, 3, 2, 2),
             f"{prefix}embeddings.patch_embeddings.projection.bias": (WIDTH,), **norm(f"{prefix}layernorm")}
    for head in heads:
        outer |= both(head, 3 if head == "classifier" else WIDTH, WIDTH)
    at = prefix + "encoder.layer.{N}."
    layer = encoder_layer(at, "attention.attention", "attention.output.dense")
    return shapes(new, outer, layer | norm(at + "layernorm_before") | norm(at + "layernorm_after"))


def mixtral(new, stacked):
    model = models.hf_llama(new, vocab=VOCAB, embed=WIDTH, heads=HEADS, kv_heads=KV, head=HEAD, mlp=INNER, layers=LAYERS, experts=EXPERTS)
    if not stacked:
        return model
    for n in range(LAYERS):
        old, at = f"model.layers.{n}.block_sparse_moe.", f"model.layers.{n}.mlp."
        model = {k: t for k, t in model.items() if not k.startswith(old)}
        model |= {f"{at}gate.weight": new(EXPERTS, WIDTH), f"{at}experts.gate_up_proj": new(EXPERTS, 2 * INNER, WIDTH),
                  f"{at}experts.down_proj": new(EXPERTS, WIDTH, INNER)}
    return model


def hf_t5(new, **more):
    return models.hf_t5(new, vocab=VOCAB, embed=WIDTH, heads=HEADS, kv=HEAD, mlp=INNER, layers=LAYERS, **more)


def t5_mesh(new, name):
    """T5 in Mesh TensorFlow's form, with Adafactor's slots."""
    model = {"global_step": new(dtype="int64")}

    def matrix(path, *shape):
        model[path], model[f"{path}_slot_vr"], model[f"{path}_slot_vc"] = new(*shape), new(shape[0]), new(shape[1])

    def vector(path, size):
        model[path], model[f"{path}_slot_v"] = new(size), new(size)
    matrix("shared/embedding", VOCAB, WIDTH)
    for tower, sublayers in ("encoder", ("SelfAttention", "DenseReluDense")), ("decoder", ("SelfAttention", "EncDecAttention", "DenseReluDense")):
        for n in range(LAYERS):
            for i, kind in enumerate(sublayers):
                at = f"{tower}/block_{n:03}/layer_{i:03}/"
                if kind == "DenseReluDense":
                    matrix(f"{at}{kind}/wi_0/kernel", WIDTH, INNER)
                    matrix(f"{at}{kind}/wi_1/kernel", WIDTH, INNER)
                    matrix(f"{at}{kind}/wo/kernel", INNER, WIDTH)
                else:
                    for m in "qkvo":
                        matrix(f"{at}{kind}/{m}", *((WIDTH, HEADS * HEAD) if m != "o" else (HEADS * HEAD, WIDTH)))
                if kind == "SelfAttention" and n == 0:
                    matrix(f"{at}{kind}/relative_attention_bias", HEADS, 32)
                vector(f"{at}{name}/scale", WIDTH)
        vector(f"{tower}/{'rms_norm' if name == 'rms_norm' else 'final_layer_norm'}/scale", WIDTH)
    matrix("decoder/logits/kernel", WIDTH, VOCAB)
    return model


def scalable(new, layout):
    """T5X's scanned layers, with Adafactor's slots (none of the embedding)."""
    layers = models.t5x(hf_t5(new, bias_each=True), heads=HEADS, bias_each=True)
    slots = models.adafactor(new, layers)
    if layout == "layers":
        return layers | slots
    whole = models.scanned(layers) | models.scanned(slots, models.adafactor_axis)
    return models.flaxformer(whole) if layout == "flaxformer" else whole


def maxtext(new):
    return models.maxtext(new, vocab=VOCAB, embed=WIDTH, heads=HEADS, kv_heads=KV, head=HEAD, mlp=INNER, layers=LAYERS)


def bert_tf(new):
    """Without the optimizer's slots and counters, which Hugging Face has no place for."""
    model = models.tf_bert(new, vocab=VOCAB, width=WIDTH, inner=INNER, positions=6, layers=LAYERS)
    return {k: t for k, t in model.items() if "adam_" not in k and k != "global_step"}


def bert_hf(new):
    return models.hf_bert(bert_tf(new))


def resnet(new):
    """A block with running statistics."""
    at = "resnet.embedder.embedder."
    return {f"{at}convolution.weight": new(WIDTH, 3, 2, 4), "classifier.1.weight": new(3, WIDTH), "classifier.1.bias": new(3),
            **{f"{at}normalization.{m}": new(WIDTH) for m in ("weight", "bias", "running_mean", "running_var")}}


def flax(hf):
    """The tree of transformers' Flax model, written according to its modules: Dense and Conv, Embed, LayerNorm, BatchNorm."""
    tree, above = {}, "params/" if any("running_" in name for name in hf) else ""
    for name, t in hf.items():
        module, leaf = name.rpartition(".")[::2]
        path = module.replace(".", "/")
        if leaf.startswith("running_"):
            tree[f"batch_stats/{path}/{leaf.removeprefix('running_')}"] = t
        elif leaf != "weight":
            tree[above + name.replace(".", "/")] = t
        elif len(t.shape) == 4:
            height, width = t.shape[2:]
            tree[f"{above}{path}/kernel"] = models.moved(t, (height, width, t.shape[1], t.shape[0]), lambda h, w, i, o: (o, i, h, w))
        elif len(t.shape) == 1:
            tree[f"{above}{path}/scale"] = t
        elif module.rpartition(".")[2] in ("wte", "wpe", "shared", "embed_tokens", "relative_attention_bias") or "_embeddings" in module:
            tree[f"{above}{path}/embedding"] = t
        else:
            tree[f"{above}{path}/kernel"] = models.turned(t)
    return tree


LLAMA = {"model_type": "llama", "num_attention_heads": HEADS, "num_key_value_heads": KV, "hidden_size": WIDTH, "head_dim": HEAD}
LLAMA_META = ["general.architecture=llama", f"llama.attention.head_count:u32={HEADS}", f"llama.attention.head_count_kv:u32={KV}",
              f"llama.attention.key_length:u32={HEAD}"]
USED = "NOT (name GLOB 'state/*' AND shape = '[1]')"  # the zeros of slots not in use go
STACKED = {"intermediate_size": INNER, "num_local_experts": EXPERTS}

# Transformers' Flax models. GPT-2's Conv1D is (in, out), and its kernels are turned as others are.
FLAX = [
    ("BERT", lambda new: bert(new, "bert.", ["classifier"])),
    ("ViT", lambda new: vit(new, "vit.", ["classifier"])),
    ("GPT-2", lambda new: gpt2(new, "transformer.")),
    ("T5", lambda new: hf_t5(new)),
    ("Llama", lambda new: decoder(new, TWO)),
    ("ResNet", resnet),
]

# What is tried: the name, the sets there and back, the model, the dtype, and then by name: the config.json
# that lies beside both, --set of both ways, metadata of the GGUF file between.
TRIED = [
    ("Llama", "llama_hf_to_gguf", "llama_gguf_to_hf", lambda new: decoder(new, TWO), "float32",
     dict(config=LLAMA, meta=LLAMA_META)),
    ("Llama, biases, tied", "llama_hf_to_gguf", "llama_gguf_to_hf", lambda new: decoder(new, TWO, "qkv", tied=True), "bfloat16",
     dict(config=LLAMA, meta=LLAMA_META)),
    ("Mixtral", "llama_hf_to_gguf", "llama_gguf_to_hf", lambda new: mixtral(new, False), "bfloat16",
     dict(config=LLAMA, meta=LLAMA_META)),
    ("Mixtral, unstacked", "mixtral_stack", "mixtral_unstack", lambda new: mixtral(new, False), "bfloat16", dict(config=LLAMA | STACKED)),
    ("Mixtral, stacked", "mixtral_unstack", "mixtral_stack", lambda new: mixtral(new, True), "bfloat16",
     dict(set_there=[f"intermediate_size={INNER}"], set_back=[f"num_local_experts={EXPERTS}"])),
    ("Qwen2", "qwen2_hf_to_gguf", "qwen2_gguf_to_hf", lambda new: decoder(new, TWO, "qkv"), "bfloat16", {}),
    ("Qwen3, tied", "qwen2_hf_to_gguf", "qwen2_gguf_to_hf", lambda new: decoder(new, TWO + QK, tied=True), "float32", {}),
    ("Gemma", "gemma_hf_to_gguf", "gemma_gguf_to_hf", lambda new: decoder(new, TWO, tied=True), "bfloat16",
     dict(set_there=["model_type=gemma"], meta=["general.architecture=gemma"])),
    ("Gemma 2", "gemma_hf_to_gguf", "gemma_gguf_to_hf", lambda new: decoder(new, FOUR, tied=True), "float32",
     dict(set_there=["model_type=gemma2"], meta=["general.architecture=gemma2"])),
    ("Gemma 3", "gemma_hf_to_gguf", "gemma_gguf_to_hf", lambda new: decoder(new, FOUR + QK, tied=True), "bfloat16",
     dict(config={"model_type": "gemma3_text"}, meta=["general.architecture=gemma3"])),
    ("GPT-2", "gpt2_hf_to_gguf", "gpt2_gguf_to_hf", lambda new: gpt2(new, "transformer."), "float32", {}),
    ("GPT-2, as published", "gpt2_hf_to_gguf", "gpt2_gguf_to_hf", lambda new: gpt2(new, ""), "bfloat16", dict(set_back=["prefix="])),
    ("T5", "t5_hf_to_gguf", "t5_gguf_to_hf", lambda new: hf_t5(new, gated=False), "float32", dict(set_back=["is_gated_act=false"])),
    ("T5 1.1", "t5_hf_to_gguf", "t5_gguf_to_hf", hf_t5, "float32", dict(set_back=["is_gated_act=true"])),
    ("UMT5", "t5_hf_to_gguf", "t5_gguf_to_hf", lambda new: hf_t5(new, bias_each=True), "float32", dict(config={"is_gated_act": True})),
    ("BERT", "bert_hf_to_gguf", "bert_gguf_to_hf", lambda new: bert(new, "bert.", ["classifier"]), "float32", {}),
    ("BERT alone", "bert_hf_to_gguf", "bert_gguf_to_hf", lambda new: bert(new, "", []), "bfloat16", dict(set_back=["prefix="])),
    ("ViT", "vit_hf_to_gguf", "vit_gguf_to_hf", lambda new: vit(new, "vit.", ["classifier"]), "float32", {}),
    ("ViT alone", "vit_hf_to_gguf", "vit_gguf_to_hf", lambda new: vit(new, "", ["pooler.dense"]), "bfloat16", dict(set_back=["prefix="])),
    ("BERT of Google", "bert_tf_to_hf", "bert_hf_to_tf", bert_tf, "float32", {}),
    ("BERT", "bert_hf_to_tf", "bert_tf_to_hf", bert_hf, "bfloat16", {}),
    ("T5", "hf_t5_to_t5x", "t5x_to_hf_t5", lambda new: hf_t5(new, gated=False), "float32", {}),
    ("T5 1.1", "hf_t5_to_t5x", "t5x_to_hf_t5", hf_t5, "bfloat16", {}),
    ("UMT5", "hf_t5_to_t5x", "t5x_to_hf_t5", lambda new: hf_t5(new, bias_each=True), "float32", dict(config={"model_type": "umt5"})),
    ("T5X", "t5x_to_hf_t5", "hf_t5_to_t5x", lambda new: models.t5x(hf_t5(new)), "float32", {}),
    ("T5 1.0 of Mesh", "t5_to_t5x", "t5x_to_t5", lambda new: t5_mesh(new, "layer_norm"), "float32", dict(where=USED)),
    ("T5 1.1 of Mesh", "t5_to_t5x", "t5x_to_t5", lambda new: t5_mesh(new, "rms_norm"), "float32", dict(where=USED, set_back=["norm=rms_norm"])),
    ("T5X, scanned", "t5x_unscan", "t5x_scan", lambda new: scalable(new, "scanned"), "float32", {}),
    ("T5X, layers", "t5x_scan", "t5x_unscan", lambda new: scalable(new, "layers"), "float32", {}),
    ("T5X of Flaxformer", "t5x_unscan", "t5x_scan", lambda new: scalable(new, "flaxformer"), "float32",
     dict(set_back=["encoder_module=encoder", "decoder_module=decoder"])),
    ("MaxText, layers", "maxtext_scan", "maxtext_unscan", maxtext, "float32", {}),
    ("MaxText, scanned", "maxtext_unscan", "maxtext_scan", lambda new: models.scanned(maxtext(new)), "float32", {}),
]


# --- the program --------------------------------------------------------------------------------------
def run(*args):
    done = subprocess.run([CKPTDB, *map(str, args)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, args))}: {done.stderr.strip()}")
    return done.stdout


def contents(path):
    """{name: what is to be equal}"""
    run("import", path)
    run("hash", path)
    rows = run("--list", "SELECT name, dtype, shape, lower(hex(hash)) FROM tensor "
               f"WHERE path = '{path}' ORDER BY name").splitlines()
    return {name: rest for name, *rest in (row.split("|") for row in rows)}


def there_and_back(folder, there, back, make, dtype, config=None, meta=(), set_there=(), set_back=(), where=None):
    models.write(f"{folder}/model", make(Values(folder, dtype)))
    source, between, result = (pathlib.Path(folder, f"{name}").resolve()
                               for name in ("model.safetensors", "between.gguf" if "gguf" in there else "between.safetensors", "result.safetensors"))
    if config:
        pathlib.Path(folder, "config.json").write_text(json.dumps(config), encoding="utf-8")
    had = contents(source)
    run("export", source, between, "--no-sync", "--map", there, *(f"--set={s}" for s in set_there), *(f"--meta={m}" for m in meta))
    if config and meta:  # GGUF's metadata alone must do
        pathlib.Path(folder, "config.json").unlink()
    mid = contents(between)
    more = ["--dtype", dtype] if dtype != "float32" and "gguf" in there else []
    more += ["--where", where] if where else []
    run("export", between, result, "--no-sync", "--map", back, *(f"--set={s}" for s in set_back), *more)
    has = contents(result)
    lost, new = sorted(had.keys() - has.keys()), sorted(has.keys() - had.keys())
    other = [n for n in had if n in has and had[n] != has[n]]
    assert all(row[2] for row in had.values())
    print(f"{there} and {back}: {os.path.basename(folder)}: {len(had)} tensors, {len(mid)} between, "
          f"{len(had) - len(lost) - len(other)} equal")
    for what, names in ("lost", lost), ("new", new), ("other", other):
        if names:
            print(f"  {what}: {' '.join(names[:8])}")
            for n in names[:8] if what == "other" else ():
                print(f"    {had[n]} {has[n]}")


BACK = """INSERT INTO rule(ruleset, ord, pattern, replacement, ops) SELECT 'back', ord, pattern, replacement,
    CASE WHEN error GLOB '*transpose*' THEN '[["transpose"]]' WHEN error GLOB '*permute*' THEN '[["permute", [2, 3, 1, 0]]]' END
    FROM map_inverse('flax_to_hf', (SELECT id FROM checkpoint WHERE path = '%s'))"""


def from_flax(folder, make):
    """There: the tree's source. Back: by the inverse of the map, made for this tree alone, with operations that undo its turns."""
    os.makedirs(folder)
    hf = make(Values(folder, "float32"))
    models.write(f"{folder}/hf", hf)
    models.write(f"{folder}/in", flax(hf))
    tree, made, back = (str(pathlib.Path(folder, n).resolve()) for n in ("tree.msgpack", "made.safetensors", "back.msgpack"))
    run("export", f"{folder}/in.safetensors", tree, "--no-sync")
    had, want = contents(tree), contents(str(pathlib.Path(folder, "hf.safetensors").resolve()))
    run("export", tree, made, "--no-sync", "--map", "flax_to_hf")
    has = contents(made)
    run("DELETE FROM ruleset WHERE name = 'back'", "INSERT INTO ruleset(name, dialect) VALUES ('back', 'convert')", BACK % tree)
    run("export", made, back, "--no-sync", "--map", "back")
    again = contents(back)
    print(f"flax_to_hf and its inverse: {os.path.basename(folder)}: {len(had)} tensors, {sum(has.get(n) == row for n, row in want.items())} of "
          f"{len(has)} those of the PyTorch model, {sum(again.get(n) == row for n, row in had.items())} equal")


def main():
    for model, make in FLAX:
        from_flax(f"flax/{model}", make)
    for n, (model, there, back, make, dtype, options) in enumerate(TRIED):
        folder = f"{n}/{model}"
        os.makedirs(folder)
        try:
            there_and_back(folder, there, back, make, dtype, **options)
        except RuntimeError as error:
            print(f"{there}: {model}: {error}")
    tried = {"flax_to_hf"} | {name for _, there, back, *_ in TRIED for name in (there, back)}
    shipped = set(run("--list", "SELECT name FROM ruleset WHERE shipped <> 0").split())
    for name in sorted(shipped - tried):
        print(f"{name}: {ALONE.get(name, 'NOT TRIED')}")
    print(f"{len(shipped)} sets are shipped; tried, but not shipped: {sorted(tried - shipped)}")


main()
