# What a GGUF export tells llama.cpp of a model of Hugging Face, and what it says that it cannot.
dump() { python3 "$TESTS/fixtures/dump_gguf.py" "$@" | cut -c 1-160; }
python3 - <<'PY'
import json
import os
import struct
from make_safetensors import save


def folder(name, config, tokenizer=None, tokenizer_config=None, tensors=("w",)):
    os.makedirs(name)
    save(f"{name}/model.safetensors", {t: ("BF16", [4, 4], bytes(32)) for t in tensors}, {"format": "pt"})
    for file, content in (("config.json", config), ("tokenizer.json", tokenizer), ("tokenizer_config.json", tokenizer_config)):
        if content is not None:
            with open(f"{name}/{file}", "w", encoding="utf-8") as f:
                f.write(content if isinstance(content, str) else json.dumps(content))


def added(*tokens):
    return [{"id": i, "content": t, "special": s} for i, t, s in tokens]


LLAMA = {"model_type": "llama", "vocab_size": 10, "max_position_embeddings": 2048, "hidden_size": 64, "num_hidden_layers": 2,
         "intermediate_size": 128, "num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "rope_theta": 10000.0}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False}
LLAMA_3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN_2 = LLAMA_3.replace("{1,3}", "")


def split(regex):
    return {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": regex}}, {**BYTE_LEVEL, "use_regex": False}]}


SPM = {"added_tokens": added((0, "<unk>", True), (1, "<s>", True), (2, "</s>", True), (8, "<tool>", False)),
       "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "merges": ["\u2581 a"],
                 "vocab": {"<unk>": 0, "<s>": 1, "</s>": 2, "<0x00>": 3, "\u2581": 4, "a": 5, "\u2581a": 6}}}
BPE = {"added_tokens": added((5, "<|end|>", True)), "pre_tokenizer": split(LLAMA_3),
       "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "\u0120": 2, "ab": 3, "\u0120ab": 4}, "merges": [["a", "b"], ["\u0120", "ab"]]}}
folder("Llama-2", {**LLAMA, "_name_or_path": "meta/Llama-2-tiny", "rope_scaling": {"type": "linear", "factor": 2.0}}, SPM,
       {"bos_token": "<s>", "eos_token": {"content": "</s>"}, "add_bos_token": True, "add_eos_token": False, "chat_template": "{{ x }}"})
folder("Llama-3", {**LLAMA, "eos_token_id": [5, 3], "bos_token_id": 0, "vocab_size": 6, "head_dim": 32,
                   "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}}, BPE)
folder("mixtral", {**LLAMA, "model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2}, None)
folder("qwen2", {**LLAMA, "model_type": "qwen2", "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}},
       {**BPE, "pre_tokenizer": split(QWEN_2), "model": {**BPE["model"], "merges": ["a b", "\u0120 ab"]}})
folder("gemma", {**LLAMA, "model_type": "gemma", "head_dim": 256, "vocab_size": 7}, SPM, "{not json")
folder("gemma2", {**LLAMA, "model_type": "gemma2", "head_dim": 256, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0,
                  "sliding_window": 4096})
folder("gpt2", {"model_type": "gpt2", "n_ctx": 1024, "n_embd": 16, "n_layer": 2, "n_head": 2, "layer_norm_epsilon": 1e-5, "n_inner": None},
       {**BPE, "pre_tokenizer": BYTE_LEVEL})
folder("bert", {"model_type": "bert", "max_position_embeddings": 512, "hidden_size": 16, "num_hidden_layers": 1, "intermediate_size": 32,
                "num_attention_heads": 2, "layer_norm_eps": 1e-12, "type_vocab_size": 2, "vocab_size": 6},
       {"added_tokens": added((0, "[PAD]", True), (1, "[CLS]", True), (5, "[SEP]", True)),
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[PAD]": 0, "[CLS]": 1, "[UNK]": 2, "the": 3, "##s": 4}}},
       {"cls_token": "[CLS]", "pad_token": "[PAD]", "sep_token": {"content": "[SEP]"}})
folder("t5", {"model_type": "t5", "d_model": 16, "d_ff": 32, "d_kv": 8, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 2, "n_positions": 512,
              "layer_norm_epsilon": 1e-6, "relative_attention_num_buckets": 32, "decoder_start_token_id": 0, "vocab_size": 6,
              "eos_token_id": 1, "pad_token_id": 0},
       {"added_tokens": added((0, "<pad>", True), (1, "</s>", True), (4, "<extra_id_0>", True)),
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": "AAH/gEE="}]},
        "model": {"type": "Unigram", "unk_id": 2, "vocab": [["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0], ["\u2581a", -2.5], ["<extra_id_0>", 0.0]]}},
       {"unk_token": "<unk>"})
def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def pieces(*rows, rest=b""):
    """SentencePiece's model: text, score, type of each."""
    out = b""
    for text, score, kind in rows:
        message = b"\n" + varint(len(text.encode())) + text.encode() + b"\x15" + struct.pack("<f", score) + (b"" if kind == 1 else b"\x18" + varint(kind))
        out += b"\n" + varint(len(message)) + message
    return out + rest


PIECES = [("<unk>", 0, 2), ("<s>", 0, 3), ("</s>", 0, 3), ("<0x00>", 0, 6), ("\u2581", -3.5, 1), ("a", -1e9, 4), ("\u2581a", -0.25, 1)]
for name, tokenizer, model, settings in (
        ("scores", SPM, pieces(*PIECES, rest=b"\x12\x02\x08\x01"), None),
        ("alone", None, pieces(*PIECES), None),
        ("others", SPM, pieces(*PIECES[:4], ("b", -1, 1)), None), ("damaged", SPM, pieces(*PIECES)[:-3], None), ("nan", SPM, pieces(("<unk>", float("nan"), 2)), None)):
    folder(name, LLAMA, tokenizer, settings)
    with open(f"{name}/tokenizer.model", "wb") as f:
        f.write(model)
# Without a tokenizer.json; what is added is in either file.
for name, config, model, file, more in (
        ("pieces", {**LLAMA, "bos_token_id": 1}, pieces(*PIECES[:6], ("<|tool|>", 0, 1), ("\u2581\u2581", 0, 4)), "tokenizer.model", {"<tool>": 8}),
        ("pieces_t5", {"model_type": "t5", "vocab_size": 7, "eos_token_id": 1, "pad_token_id": 0},
         pieces(("<pad>", 0, 3), ("</s>", 0, 3), ("<unk>", 0, 2), ("\u2581a", -2.5, 1), rest=b"\x1a\x0a\x0a\x02no\x12\x04\x00\xff\x80A"), "spiece.model",
         {"<extra_id_0>": 4})):
    folder(name, config, None, {"unk_token": "<unk>", "add_prefix_space": False, "added_tokens_decoder": {
        "7": {"content": "\u2581\u2581", "special": False}, "x": {"content": "y"}, "6": {"content": "<|tool|>", "special": True}}
        if name == "pieces" else {}})
    with open(f"{name}/{file}", "wb") as f:
        f.write(model)
    with open(f"{name}/added_tokens.json", "w") as f:
        json.dump(more, f)
folder("unknown", {"model_type": "falcon", "hidden_size": 4}, SPM)
folder("bare", {"model_type": "llama"}, "[1,", None, ["blk.0.attn_q.weight"])
for n, vocab in enumerate([{"a": 10**12}, {"a": -1}, {"a": 0.5, "b": 0}, {}, {"a": 4194304}]):
    folder(f"odd{n}", {**LLAMA, "vocab_size": 10**15}, {"model": {"type": "BPE", "byte_fallback": True, "vocab": vocab, "merges": []}})
PY
"$CKPTDB_BIN" import . >/dev/null 2>&1
for model in Llama-2 Llama-3 mixtral qwen2 gemma gemma2 gpt2 bert t5 unknown bare; do
    try export $model/model.safetensors $model.gguf && dump $model.gguf
done
echo '--- the scores of SentencePiece'
for model in scores alone others damaged nan pieces pieces_t5; do
    try export $model/model.safetensors $model.gguf && dump $model.gguf | grep tokenizer
done
echo '--- what a person states is not missing; nor is it looked for without metadata'
try export mixtral/model.safetensors stated.gguf --meta tokenizer.ggml.model=none --meta 'tokenizer.ggml.tokens=["a"]' --meta llama.block_count=3 \
    --meta 'tokenizer.ggml.token_type=[1]' --rename 'w=output.weight'
dump stated.gguf | grep -E 'tokenizer|block_count'
try export mixtral/model.safetensors none.gguf --no-meta && dump none.gguf
echo '--- from several files, with quantities of another dtype'
try export Llama-2/model.safetensors f16.gguf --dtype float16 --rename 'w=token_embd.weight' && dump f16.gguf | grep -E 'file_type|F16'
echo '--- vocabularies that are none'
for n in 0 1 2 3 4; do
    try export odd$n/model.safetensors odd$n.gguf --dry-run 2>&1 | grep 'looks for keys'
done
echo '--- a charsmap that is none is told; what a person states counts'
sed -i 's/AAH.gEE=/AAH_gEE=/' t5/tokenizer.json
try export t5/model.safetensors t5.gguf --rename w=token_embd.weight --force
try export t5/model.safetensors t5.gguf --rename w=token_embd.weight --meta 'tokenizer.ggml.precompiled_charsmap:u8[]=[1,2]' --force &&
    dump t5.gguf | grep charsmap
echo '--- positions stretched as in Llama 3: a tensor, where layers are called as llama.cpp does'
try export Llama-3/model.safetensors rope.gguf --rename w=blk.0.attn_q.weight && dump rope.gguf | grep -E 'tensors|F' && "$CKPTDB_BIN" import rope.gguf
"$CKPTDB_BIN" get ./rope.gguf rope_freqs.weight
python3 -c '
from make_safetensors import save
save("Llama-3/model.safetensors", {"w": ("F32", [4, 4], bytes(64)), "v": ("F32", [4, 4], bytes(64))})'
"$CKPTDB_BIN" import Llama-3 2>/dev/null
try export Llama-3/model.safetensors two.gguf --rename '[vw]=blk.\g<0>' --shard-size 64 && dump two-*.gguf | grep -E 'tensors|F'
