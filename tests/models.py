#!/usr/bin/env python3
"""Write the models of the shipped rule sets' tests, as one library has them and as another.

    models.py

writes CASE.safetensors, of few numbers, all different, and CASE.want: a line for each tensor, sorted:
name, dtype, shape, sha256. And big/CASE.json, a names-only checkpoint of a published model's sizes,
with big/CASE.want. What becomes of a value is said here by its index alone: element (i, j) of this is
element (j, i) there; the rule sets say it by operations on whole tensors.
"""
import hashlib
import itertools
import json
import math
import pathlib
import struct

SAFETENSORS = {"float32": "F32", "bfloat16": "BF16", "int64": "I64", "int32": "I32"}
PACKED = {"float32": "<f", "bfloat16": "<H", "int64": "<q", "int32": "<i"}


class Tensor:
    """Values by their index; each is its bytes."""

    def __init__(self, dtype, shape, at):
        self.dtype, self.shape, self.at = dtype, tuple(shape), at

    def data(self):
        return b"".join(self.at(*i) for i in itertools.product(*map(range, self.shape)))


class Numbers:
    """New tensors of a model; every value is unique in the model."""

    def __init__(self):
        self.next = 1

    def __call__(self, *shape, dtype="float32"):
        first = self.next
        self.next += math.prod(shape)

        def at(*index):
            n = first
            for axis, i in enumerate(index):
                n += i * math.prod(shape[axis + 1:])
            if dtype == "bfloat16":
                assert n < 0x7E00  # bits of a finite number
                n += 0x100
            return struct.pack(PACKED[dtype], n)
        return Tensor(dtype, shape, at)


def moved(tensor, shape, index):
    """Of this shape, with value `index(i, ...)` of the tensor at (i, ...)."""
    return Tensor(tensor.dtype, shape, lambda *i: tensor.at(*index(*i)))


def turned(tensor):
    return moved(tensor, tensor.shape[::-1], lambda i, j: (j, i))


def widened(tensor):
    """bfloat16 as float32."""
    assert tensor.dtype == "bfloat16"
    return Tensor("float32", tensor.shape, lambda *i: b"\0\0" + tensor.at(*i))


def stacked(tensors, axis):
    shape = list(tensors[0].shape)
    shape.insert(axis, len(tensors))
    return Tensor(tensors[0].dtype, shape,
                  lambda *i: tensors[i[axis]].at(*i[:axis], *i[axis + 1:]))


# --- T5 -----------------------------------------------------------------------------------

def hf_t5(new, vocab, embed, heads, kv, mlp, layers, gated=True, bias_each=False):
    inner = heads * kv
    model = {"shared.weight": new(vocab, embed)}
    for tower in "encoder", "decoder":
        for n in range(layers):
            block = f"{tower}.block.{n}.layer"
            attentions = ["0.SelfAttention"] + ["1.EncDecAttention"] * (tower == "decoder")
            for attention in attentions:
                for matrix in "qkv":
                    model[f"{block}.{attention}.{matrix}.weight"] = new(inner, embed)
                model[f"{block}.{attention}.o.weight"] = new(embed, inner)
                model[f"{block}.{attention[0]}.layer_norm.weight"] = new(embed)
            if n == 0 or bias_each:
                model[f"{block}.0.SelfAttention.relative_attention_bias.weight"] = new(32, heads)
            last = len(attentions)
            for wi in ["wi_0", "wi_1"] if gated else ["wi"]:
                model[f"{block}.{last}.DenseReluDense.{wi}.weight"] = new(mlp, embed)
            model[f"{block}.{last}.DenseReluDense.wo.weight"] = new(embed, mlp)
            model[f"{block}.{last}.layer_norm.weight"] = new(embed)
        model[f"{tower}.final_layer_norm.weight"] = new(embed)
    if gated:
        model["lm_head.weight"] = new(vocab, embed)
    return model


T5X_LAYER = {
    "encoder.0.SelfAttention": "attention", "decoder.0.SelfAttention": "self_attention",
    "decoder.1.EncDecAttention": "encoder_decoder_attention",
    "encoder.1.DenseReluDense": "mlp", "decoder.2.DenseReluDense": "mlp",
    "encoder.0.layer_norm": "pre_attention_layer_norm/scale",
    "decoder.0.layer_norm": "pre_self_attention_layer_norm/scale",
    "decoder.1.layer_norm": "pre_cross_attention_layer_norm/scale",
    "encoder.1.layer_norm": "pre_mlp_layer_norm/scale", "decoder.2.layer_norm": "pre_mlp_layer_norm/scale",
}
T5X_MATRIX = {"q": "query", "k": "key", "v": "value", "o": "out"}


def t5x_kernel(weight, matrix, heads):
    """heads 0: joined."""
    if not heads or matrix not in T5X_MATRIX:
        return turned(weight)
    if matrix == "o":
        embed, kv = weight.shape[0], weight.shape[1] // heads
        return moved(weight, (heads, kv, embed), lambda h, k, e: (e, h * kv + k))
    embed, kv = weight.shape[1], weight.shape[0] // heads
    return moved(weight, (embed, heads, kv), lambda e, h, k: (h * kv + k, e))


def t5x_layer(tower, path, weight, heads, bias):
    """What is in a layer, under its name there."""
    module, _, matrix = path.rpartition(".")
    if matrix == "relative_attention_bias":
        return f"{bias}/rel_embedding", turned(weight)
    if matrix == "layer_norm":
        return T5X_LAYER[f"{tower}.{path}"], weight
    name = f"{T5X_LAYER[f'{tower}.{module}']}/{T5X_MATRIX.get(matrix, matrix)}/kernel"
    return name, t5x_kernel(weight, matrix, heads)


def t5x(hf, heads=0, bias_each=False, bias="relpos_bias"):
    model = {"target/token_embedder/embedding": hf["shared.weight"]}
    for name, weight in hf.items():
        word = name.split(".")
        if name == "lm_head.weight":
            model["target/decoder/logits_dense/kernel"] = turned(weight)
        elif word[1] == "final_layer_norm":
            model[f"target/{word[0]}/{word[0]}_norm/scale"] = weight
        elif word[1] == "block":
            inner, tensor = t5x_layer(word[0], ".".join(word[4:-1]), weight, heads, bias)
            shared = inner == "relpos_bias/rel_embedding" and not bias_each
            layer = "" if shared else f"layers_{word[2]}/"
            model[f"target/{word[0]}/{layer}{inner}"] = tensor
    return model


# --- scanned layers -------------------------------------------------------------------------

def scanned(model, axis=lambda name: 1):
    """Tensors of layers_N as one, on the axis for its name."""
    result, rows = {}, {}
    for name, tensor in model.items():
        before, found, rest = name.partition("/layers_")
        if found:
            inner = rest.partition("/")[2]
            rows.setdefault(f"{before}/layers/{inner}", []).append(tensor)
        else:
            result[name] = tensor
    return result | {name: stacked(tensors, axis(name)) for name, tensors in rows.items()}


def flaxformer(model):
    """Scanned layers under the name of their stack."""
    return {name.replace("encoder/layers/", "encoder/encoder/").replace("decoder/layers/", "decoder/decoder/"):
            tensor for name, tensor in model.items()}


ROW_FIRST = ("query", "key", "value", "wi", "wi_0", "wi_1")  # kernels that begin with embed


def adafactor(new, model):
    """The slots of a scalable model's parameters that Adafactor uses: not layer by layer."""
    slots = {}
    for name, tensor in model.items():
        path = name.replace("target/", "state/param_states/", 1)
        shape = tensor.shape
        kind = name.split("/")[-2]
        if len(shape) > 1 and kind in ROW_FIRST:
            slots[f"{path}/v_row"], slots[f"{path}/v_col"] = new(*shape[:1]), new(*shape[1:])
        elif len(shape) > 1 and kind in ("out", "wo"):
            slots[f"{path}/v_row"], slots[f"{path}/v_col"] = new(*shape[-1:]), new(*shape[:-1])
        elif "/layers_" in name:
            slots[f"{path}/v"] = new(*shape)
    return slots


def adafactor_axis(name):
    """Where the layers are: v_row keeps embed, v_col lacks it."""
    kind, slot = name.split("/")[-3], name.split("/")[-1]
    embed_first = kind in ROW_FIRST
    if slot == "v_row":
        return 1 if embed_first else 0
    return 0 if slot == "v_col" and embed_first else 1


def unused_slots(new, model):
    """What T5X keeps for slots not in use: one element, for all layers together or for each."""
    slots = {}
    for name in model:
        if "/layers" not in name:
            continue
        path = name.replace("target/", "state/param_states/", 1)
        used = "v" if name.endswith("/kernel") else "v_row v_col"
        for slot in ["m", *used.split()]:
            slots[f"{path}/{slot}"] = new(1)
    return slots


# --- Llama ----------------------------------------------------------------------------------

def hf_llama(new, vocab, embed, heads, kv_heads, head, mlp, layers, tied=False, bias=False, experts=0):
    def make(*shape):
        return new(*shape, dtype="bfloat16")
    model = {"model.embed_tokens.weight": make(vocab, embed), "model.norm.weight": make(embed)}
    if not tied:
        model["lm_head.weight"] = make(vocab, embed)
    for n in range(layers):
        layer = f"model.layers.{n}"
        for part, out, into in (("q", heads * head, embed), ("k", kv_heads * head, embed),
                                ("v", kv_heads * head, embed), ("o", embed, heads * head)):
            model[f"{layer}.self_attn.{part}_proj.weight"] = make(out, into)
            if bias:
                model[f"{layer}.self_attn.{part}_proj.bias"] = make(out)
        if experts:
            model[f"{layer}.block_sparse_moe.gate.weight"] = make(experts, embed)
        for e in range(experts):
            expert = f"{layer}.block_sparse_moe.experts.{e}"
            model[f"{expert}.w1.weight"], model[f"{expert}.w3.weight"] = make(mlp, embed), make(mlp, embed)
            model[f"{expert}.w2.weight"] = make(embed, mlp)
        if not experts:
            for part in "gate", "up":
                model[f"{layer}.mlp.{part}_proj.weight"] = make(mlp, embed)
            model[f"{layer}.mlp.down_proj.weight"] = make(embed, mlp)
        for norm in "input", "post_attention":
            model[f"{layer}.{norm}_layernorm.weight"] = make(embed)
    return model


GGUF = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm", "block_sparse_moe.gate": "ffn_gate_inp",
    "w1": "ffn_gate_exps", "w2": "ffn_down_exps", "w3": "ffn_up_exps",
}


def rotated(weight, heads):
    """Row 2i + half of a head is row half * d/2 + i of Hugging Face's."""
    d = weight.shape[0] // heads
    return moved(weight, weight.shape, lambda row, *rest: (
        row // d * d + row % d % 2 * (d // 2) + row % d // 2, *rest))


def gguf(hf, heads, kv_heads, wide=True):
    """wide: norms, biases and routers in float32."""
    model, experts = {}, {}
    for name, tensor in hf.items():
        module, _, suffix = name.rpartition(".")
        before = ""
        if module.startswith("model.layers."):
            _, _, n, module = module.split(".", 3)
            before = f"blk.{n}."
        if module.startswith("block_sparse_moe.experts."):
            experts.setdefault(f"{before}{GGUF[module.split('.')[-1]]}.weight", []).append(tensor)
            continue
        if module[-6:] in ("q_proj", "k_proj"):
            tensor = rotated(tensor, heads if module[-6] == "q" else kv_heads)
        if wide and (len(tensor.shape) == 1 or module.endswith("moe.gate")):
            tensor = widened(tensor)
        model[f"{before}{GGUF[module]}.{suffix}"] = tensor
    return model | {name: stacked(each, 0) for name, each in experts.items()}


# --- BERT -----------------------------------------------------------------------------------

def tf_bert(new, vocab, width, inner, positions, layers):
    """As the published checkpoints have it, with what a fine-tuned one has beside it."""
    model = {"global_step": new(dtype="int64")}

    def dense(name, into, out):
        model[f"{name}/kernel"], model[f"{name}/bias"] = new(into, out), new(out)
        for slot in "adam_m", "adam_v":
            model[f"{name}/kernel/{slot}"] = new(into, out)

    def norm(name):
        model[f"{name}/gamma"], model[f"{name}/beta"] = new(width), new(width)
    for name, rows in ("word", vocab), ("position", positions), ("token_type", 2):
        model[f"bert/embeddings/{name}_embeddings"] = new(rows, width)
    norm("bert/embeddings/LayerNorm")
    for n in range(layers):
        layer = f"bert/encoder/layer_{n}"
        for part in "query", "key", "value":
            dense(f"{layer}/attention/self/{part}", width, width)
        dense(f"{layer}/attention/output/dense", width, width)
        norm(f"{layer}/attention/output/LayerNorm")
        dense(f"{layer}/intermediate/dense", width, inner)
        dense(f"{layer}/output/dense", inner, width)
        norm(f"{layer}/output/LayerNorm")
    dense("bert/pooler/dense", width, width)
    dense("cls/predictions/transform/dense", width, width)
    norm("cls/predictions/transform/LayerNorm")
    model["cls/predictions/output_bias"] = new(vocab)
    for head in "cls/seq_relationship/", "cls/squad/", "":
        model[f"{head}output_weights"], model[f"{head}output_bias"] = new(2, width), new(2)
    return model


HF_HEAD = {
    "cls/predictions/output_bias": "cls.predictions.bias",
    "cls/seq_relationship/output_weights": "cls.seq_relationship.weight",
    "cls/seq_relationship/output_bias": "cls.seq_relationship.bias",
    "cls/squad/output_weights": "qa_outputs.weight", "cls/squad/output_bias": "qa_outputs.bias",
    "output_weights": "classifier.weight", "output_bias": "classifier.bias",
}


def hf_bert(tf):
    model = {}
    for name, tensor in tf.items():
        module, _, last = name.rpartition("/")
        module = module.replace("layer_", "layer/").replace("/", ".")
        if last == "kernel":
            model[f"{module}.weight"] = turned(tensor)
        elif last in ("gamma", "beta", "bias"):
            model[f"{module}.{'weight' if last == 'gamma' else 'bias'}"] = tensor
        elif last.endswith("_embeddings"):
            model[f"{module}.{last}.weight"] = tensor
        elif name in HF_HEAD:
            model[HF_HEAD[name]] = tensor
    return model


# --- MaxText ----------------------------------------------------------------------------------

def maxtext(new, vocab, embed, heads, kv_heads, head, mlp, layers):
    """Llama, with Adam's moments."""
    model = {}
    for root in "params/params", "opt_state/0/mu/params", "opt_state/0/nu/params":
        model[f"{root}/token_embedder/embedding"] = new(vocab, embed)
        model[f"{root}/decoder/decoder_norm/scale"] = new(embed)
        model[f"{root}/decoder/logits_dense/kernel"] = new(embed, vocab)
        for n in range(layers):
            layer = f"{root}/decoder/layers_{n}"
            for part, of in ("query", heads), ("key", kv_heads), ("value", kv_heads):
                model[f"{layer}/self_attention/{part}/kernel"] = new(embed, of, head)
            model[f"{layer}/self_attention/out/kernel"] = new(heads, head, embed)
            for part in "wi_0", "wi_1":
                model[f"{layer}/mlp/{part}/kernel"] = new(embed, mlp)
            model[f"{layer}/mlp/wo/kernel"] = new(mlp, embed)
            for norm in "pre", "post":
                model[f"{layer}/{norm}_self_attention_layer_norm/scale"] = new(embed)
    model["opt_state/0/count"], model["step"] = new(dtype="int32"), new(dtype="int32")
    return model


# --- files ------------------------------------------------------------------------------------

def write(case, model, big=False):
    lines = []
    for name, tensor in sorted(model.items()):
        digest = "" if big else "|" + hashlib.sha256(tensor.data()).hexdigest()
        lines.append(f"{name}|{tensor.dtype}|{json.dumps(tensor.shape, separators=(',', ':'))}{digest}\n")
    folder = pathlib.Path("big") if big else pathlib.Path()
    folder.mkdir(exist_ok=True)
    (folder / f"{case}.want").write_text("".join(lines))
    if big:
        names = {name: {"dtype": t.dtype, "shape": t.shape} for name, t in model.items()}
        (folder / f"{case}.json").write_text(json.dumps({"ckptdb": "names", "tensors": names}))
        return
    header, data = {}, b""
    for name, tensor in model.items():
        begin = len(data)
        data += tensor.data()
        header[name] = {"dtype": SAFETENSORS[tensor.dtype], "shape": tensor.shape,
                        "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / f"{case}.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def t5_cases():
    tiny = dict(vocab=5, embed=4, heads=2, kv=3, mlp=6, layers=2)
    first = hf_t5(Numbers(), gated=False, **tiny)
    write("t5_1_0.hf", first)
    write("t5_1_0.t5x", t5x(first))
    gated = hf_t5(Numbers(), **tiny)
    write("t5_1_1.hf", gated)
    write("t5_1_1.t5x", t5x(gated))
    write("t5_1_1.t5x_heads", t5x(gated, heads=2))
    small = hf_t5(Numbers(), vocab=32128, embed=512, heads=6, kv=64, mlp=1024, layers=8)
    write("t5_1_1_small.hf", small, big=True)
    write("t5_1_1_small.t5x", t5x(small), big=True)


def scalable_cases():
    """Every layer has its bias. 11 layers: 10 does not come right after 1."""
    new = Numbers()
    umt5 = hf_t5(new, vocab=5, embed=4, heads=2, kv=3, mlp=6, layers=11, bias_each=True)
    layers = t5x(umt5, heads=2, bias_each=True)
    write("umt5.hf", umt5)
    write("umt5.t5x", layers)
    write("umt5.t5x_joined", t5x(umt5, bias_each=True))
    write("umt5.scanned", scanned(layers))
    write("umt5.scanned_posemb", scanned(t5x(umt5, heads=2, bias_each=True, bias="relative_posemb")))
    write("umt5.flaxformer", flaxformer(scanned(layers)))
    slots = adafactor(new, layers)
    rest = {"state/step": new(dtype="int32"), "state/param_states/token_embedder/embedding/v": new(1)}
    whole = scanned(layers) | scanned(slots, adafactor_axis) | rest
    write("umt5_train.t5x", layers | slots | rest)
    write("umt5_train.t5x_unused", layers | slots | rest | unused_slots(new, layers))
    write("umt5_train.scanned", whole)
    write("umt5_train.scanned_unused", whole | unused_slots(new, scanned(layers)))
    small = hf_t5(Numbers(), vocab=256384, embed=512, heads=6, kv=64, mlp=1024, layers=8, bias_each=True)
    write("umt5_small.hf", small, big=True)
    write("umt5_small.flaxformer", flaxformer(scanned(t5x(small, heads=6, bias_each=True))), big=True)


def llama_cases():
    tiny = dict(vocab=7, embed=6, heads=4, kv_heads=2, head=6, mlp=5, layers=2)
    for case, more in ("llama", {}), ("llama_bias", {"bias": True, "tied": True}), ("mixtral", {"experts": 11}):
        hf = hf_llama(Numbers(), **tiny, **more)
        write(f"{case}.hf", hf)
        write(f"{case}.gguf", gguf(hf, 4, 2))
        write(f"{case}.gguf_narrow", gguf(hf, 4, 2, wide=False))
    for case, more in (("llama_2_7b", dict(vocab=32000, embed=4096, heads=32, kv_heads=32, mlp=11008)),
                       ("llama_3_8b", dict(vocab=128256, embed=4096, heads=32, kv_heads=8, mlp=14336))):
        hf = hf_llama(Numbers(), head=128, layers=32, **more)
        write(f"{case}.hf", hf, big=True)
        write(f"{case}.gguf", gguf(hf, more["heads"], more["kv_heads"]), big=True)
        write(f"{case}.gguf_narrow", gguf(hf, more["heads"], more["kv_heads"], wide=False), big=True)


def bert_cases():
    tiny = tf_bert(Numbers(), vocab=9, width=4, inner=6, positions=8, layers=11)
    write("bert.tf", tiny)
    write("bert.hf", hf_bert(tiny))
    base = tf_bert(Numbers(), vocab=30522, width=768, inner=3072, positions=512, layers=12)
    write("bert_base.tf", base, big=True)
    write("bert_base.hf", hf_bert(base), big=True)


def maxtext_cases():
    tiny = maxtext(Numbers(), vocab=7, embed=6, heads=4, kv_heads=2, head=3, mlp=5, layers=11)
    write("maxtext.layers", tiny)
    write("maxtext.scanned", scanned(tiny))
    whole = maxtext(Numbers(), vocab=32000, embed=4096, heads=32, kv_heads=32, head=128, mlp=11008, layers=32)
    write("maxtext_7b.layers", whole, big=True)
    write("maxtext_7b.scanned", scanned(whole), big=True)


if __name__ == "__main__":
    t5_cases()
    scalable_cases()
    llama_cases()
    bert_cases()
    maxtext_cases()
