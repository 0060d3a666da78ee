# Models of Hugging Face as GGUF and back: the same tensors, by content; and what the names are on the way.
python3 - <<'PY'
import json
import os
import random
import struct
from make_safetensors import save

r = random.Random(1)


def folder(name, tensors, **config):
    """Numbers that bfloat16 holds, also with 1 more."""
    os.makedirs(name)
    raw = {t: b"".join(struct.pack("<f", r.randint(-127, 127) / 4096)[2:] for _ in range(rows * cols)) for t, (rows, cols) in tensors.items()}
    save(f"{name}/model.safetensors", {t: ("BF16", [n for n in shape if n != 1], raw[t]) for t, shape in tensors.items()})
    json.dump(config, open(f"{name}/config.json", "w"))


def norm(name, bias=False):
    return {f"{name}.weight": (8, 1)} | ({f"{name}.bias": (8, 1)} if bias else {})


def linear(name, rows, cols, bias=False):
    return {f"{name}.weight": (rows, cols)} | ({f"{name}.bias": (rows, 1)} if bias else {})


def decoder(qkv_bias=False, head=True, mlp=None):
    out = {"model.embed_tokens.weight": (5, 8)} | norm("model.norm") | ({"lm_head.weight": (5, 8)} if head else {})
    for i in range(2):
        at = f"model.layers.{i}"
        out |= norm(f"{at}.input_layernorm") | norm(f"{at}.post_attention_layernorm")
        out |= linear(f"{at}.self_attn.q_proj", 8, 8, qkv_bias) | linear(f"{at}.self_attn.k_proj", 4, 8, qkv_bias)
        out |= linear(f"{at}.self_attn.v_proj", 4, 8, qkv_bias) | linear(f"{at}.self_attn.o_proj", 8, 8)
        for name, rows, cols in mlp or [("mlp.gate_proj", 16, 8), ("mlp.up_proj", 16, 8), ("mlp.down_proj", 8, 16)]:
            out |= linear(f"{at}.{name}", rows, cols)
    return out


SIZES = {"hidden_size": 8, "num_attention_heads": 2, "num_key_value_heads": 1}
folder("llama", decoder(), model_type="llama", **SIZES)
folder("mixtral", decoder(mlp=[("block_sparse_moe.gate", 3, 8)] + [
    (f"block_sparse_moe.experts.{e}.{w}", rows, cols) for e in range(3) for w, rows, cols in (("w1", 16, 8), ("w2", 8, 16), ("w3", 16, 8))]),
    model_type="mixtral", **SIZES)
folder("qwen2", decoder(qkv_bias=True), model_type="qwen2", **SIZES)
folder("gemma", decoder(head=False), model_type="gemma", **SIZES)
gpt2 = {"wte.weight": (5, 8), "wpe.weight": (6, 8)} | norm("ln_f", True)
for i in range(2):
    gpt2 |= norm(f"h.{i}.ln_1", True) | norm(f"h.{i}.ln_2", True) | {f"h.{i}.attn.bias": (3, 3)}
    for name, rows, cols in (("attn.c_attn", 8, 24), ("attn.c_proj", 8, 8), ("mlp.c_fc", 8, 32), ("mlp.c_proj", 32, 8)):
        gpt2 |= {f"h.{i}.{name}.weight": (rows, cols), f"h.{i}.{name}.bias": (cols, 1)}
folder("gpt2", {"transformer." + t: shape for t, shape in gpt2.items()}, model_type="gpt2")
folder("gpt2_bare", gpt2, model_type="gpt2")
bert = {f"embeddings.{t}_embeddings.weight": (n, 8) for t, n in (("word", 5), ("token_type", 2), ("position", 6))} | norm("embeddings.LayerNorm", True)
for i in range(2):
    at = f"encoder.layer.{i}"
    for name, rows, cols in (("attention.self.query", 8, 8), ("attention.self.key", 8, 8), ("attention.self.value", 8, 8),
                             ("attention.output.dense", 8, 8), ("intermediate.dense", 16, 8), ("output.dense", 8, 16)):
        bert |= linear(f"{at}.{name}", rows, cols, True)
    bert |= norm(f"{at}.attention.output.LayerNorm", True) | norm(f"{at}.output.LayerNorm", True)
folder("bert", bert | linear("pooler.dense", 8, 8, True), model_type="bert")
old = {"bert." + t.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): s for t, s in bert.items()}
folder("bert_old", old | {"cls.seq_relationship.bias": (2, 1), "bert.pooler.dense.weight": (8, 8)}, model_type="bert")
PY
"$CKPTDB_BIN" import . 2>&1
hashes() { # CHECKPOINT: the content of its tensors; GPT-2's and BERT's as the models at the end name them
    "$CKPTDB_BIN" --list "SELECT name, dtype, shape, tensor_sha256(id) FROM tensor WHERE path = '$PWD/$1' AND name NOT GLOB '*.attn.bias'
        AND name NOT GLOB 'cls*'" |
        sed -e 's/^h\./transformer.h./; s/^\(w[tp]e\|ln_f\)\./transformer.\1./; s/^bert\.//; s/gamma|/weight|/; s/beta|/bias|/' | sort
}
for model in llama mixtral qwen2 gemma gpt2 gpt2_bare bert bert_old; do
    map=${model%_*}; [ $model != mixtral ] || map=llama
    "$CKPTDB_BIN" export $model/model.safetensors $model.gguf --map ${map}_hf_to_gguf 2>&1 | grep -v 'looks for keys'
    "$CKPTDB_BIN" import $model.gguf 2>/dev/null
    "$CKPTDB_BIN" --list "SELECT name, dtype, shape FROM tensor WHERE path = '$PWD/$model.gguf' AND name NOT GLOB 'blk.1*'"
    "$CKPTDB_BIN" export ./$model.gguf $model.back.safetensors --map ${map}_gguf_to_hf --dtype bfloat16 2>&1 | grep -v TIME
    "$CKPTDB_BIN" import $model.back.safetensors 2>/dev/null
    diff <(hashes $model/model.safetensors) <(hashes $model.back.safetensors) && echo "$model: $(hashes $model.back.safetensors | wc -l) tensors are the same"
done
echo '--- in llama.cpp, norms of Gemma have 1 more, in float32'
"$CKPTDB_BIN" get gemma/model.safetensors model.norm.weight --dtype float32
"$CKPTDB_BIN" get gemma/model.safetensors model.norm.weight --map gemma_hf_to_gguf 2>/dev/null || "$CKPTDB_BIN" get ./gemma.gguf output_norm.weight
