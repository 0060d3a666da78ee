"""Runs of checkpoints, as safetensors files, for the statements in statements.sql."""
import json
import os
import random
import struct

DTYPES = {"F32": 4, "BF16": 2, "F16": 2, "F64": 8, "I32": 4, "I8": 1, "F8_E4M3": 1, "BOOL": 1}
FAMILIES = {  # where the layers are, and the matrices of one: (name, dimensions in units of the width)
    "model.layers": ["self_attn.q_proj.weight 1 1", "self_attn.k_proj.weight 1 1", "self_attn.o_proj.weight 1 1",
                     "mlp.gate_proj.weight 4 1", "mlp.up_proj.weight 4 1", "mlp.down_proj.weight 1 4",
                     "input_layernorm.weight 1", "post_attention_layernorm.weight 1"],
    "transformer.h": ["attn.c_attn.weight 1 3", "attn.c_attn.bias 3", "attn.c_proj.weight 1 1", "attn.c_proj.bias 1",
                      "mlp.c_fc.weight 1 4", "mlp.c_fc.bias 4", "mlp.c_proj.weight 4 1", "mlp.c_proj.bias 1",
                      "ln_1.weight 1", "ln_1.bias 1"],
    "encoder.block": ["layer.0.SelfAttention.q.weight 1 1", "layer.0.SelfAttention.v.weight 1 1",
                      "layer.0.layer_norm.weight 1", "layer.1.DenseReluDense.wi.weight 2 1",
                      "layer.1.DenseReluDense.wo.weight 1 2", "layer.1.layer_norm.weight 1"],
}
WIDTHS = [64, 96, 128]


def layout(number, tensors):
    """The tensors of run `number`; no other run has the same: [(name, dtype, shape)]."""
    family = list(FAMILIES)[number % len(FAMILIES)]
    width = WIDTHS[number // len(FAMILIES) % len(WIDTHS)]
    dtype = ["F32", "BF16", "F16"][number // 2 % 3]
    found = [(family.split(".", maxsplit=1)[0] + ".embed_tokens.weight", dtype, [1000, width]),
             ("lm_head.weight", dtype, [1000, width]), (f"run{number:04d}.marker", "I32", []),
             ("position_ids", "I8" if number % 7 else "F8_E4M3", [1, 16 + number % 4]), ("step", "F64", [1])]
    if number % 11 == 0:
        found.append(("vision.patch.weight", "F32", [8, 3, 2, 2]))
    for layer in range(tensors):
        for part in FAMILIES[family]:
            name, *units = part.split()
            bare = "norm" in name or "ln_" in name
            found.append((f"{family}.{layer}.{name}", "F32" if bare else dtype, [int(unit) * width for unit in units]))
    return found[:tensors]


def save(path, tensors, metadata, fill):
    head, at, parts = ({"__metadata__": metadata} if metadata else {}), 0, []
    for name, dtype, shape in tensors:
        size = DTYPES[dtype]
        for dimension in shape:
            size *= dimension
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
        if fill is not None:
            parts.append(random.Random(f"{fill} {name}").randbytes(size))
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(parts))
        f.truncate(8 + len(text) + at)


def write(folder, runs, steps, tensors, filled=()):
    """Runs of `steps` steps (100, 200 ...), one folder a run. The files of runs in `filled` have bytes, two steps
    the same ones; the others are holes. Run 9 of ten is sharded, run 3 of a hundred lists its tensors in another
    order at each step, run 6 of fifty ends in a checkpoint that has one tensor more."""
    for number in range(runs):
        for step in range(1, steps + 1):
            below = folder / f"run{number:04d}" / f"checkpoint-{step * 100}"
            os.makedirs(below, exist_ok=True)
            listed = layout(number, tensors)
            if number % 50 == 6 and step == steps:
                listed.append(("value_head.weight", "F32", [64]))
            if number % 100 == 3:
                random.Random(step).shuffle(listed)
            facts = {"format": "pt", "lr": f"0.000{number % 5 + 1}", "seed": str(number % 10), "step": str(step * 100)}
            fill = step // 2 if number in filled else None
            if number % 10 != 9:
                save(below / "model.safetensors", listed, facts, fill)
                continue
            half, index = len(listed) // 2, {}
            for i, part in enumerate((listed[:half], listed[half:]), 1):
                file = f"model-{i:05d}-of-00002.safetensors"
                save(below / file, part, facts, fill)
                index.update((name, file) for name, _, _ in part)
            (below / "model.safetensors.index.json").write_text(
                json.dumps({"metadata": {"lr": facts["lr"]}, "weight_map": index}))
