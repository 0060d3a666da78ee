"""Safetensors files for benchmarks: realistic headers, sparse data."""
import json
import os
import struct


def names(layers, prefix="model"):
    parts = ["self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight",
             "self_attn.o_proj.weight", "mlp.gate_proj.weight", "mlp.up_proj.weight",
             "mlp.down_proj.weight", "input_layernorm.weight", "post_attention_layernorm.weight"]
    out = [f"{prefix}.embed_tokens.weight", f"{prefix}.norm.weight", "lm_head.weight"]
    for layer in range(layers):
        out += [f"{prefix}.layers.{layer}.{part}" for part in parts]
    return out


def header(tensor_names, metadata=None, width=64):
    head, at = {}, 0
    if metadata:
        head["__metadata__"] = metadata
    for i, name in enumerate(tensor_names):
        shape = [width, width] if i % 3 else [width]
        size = 4 * width * (width if i % 3 else 1)
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return text, at


def write(path, text, size):
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)))
        f.write(text)
        f.truncate(8 + len(text) + size)


def many(folder, count, make):
    """`make(i)` gives (header text, data size) of file i; a hundred files a folder."""
    for i in range(count):
        below = folder / f"run{i // 100:04d}"
        if i % 100 == 0:
            os.makedirs(below, exist_ok=True)
        write(below / f"step{i:06d}.safetensors", *make(i))
