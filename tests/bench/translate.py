#!/usr/bin/env python3
"""Names of T5 checkpoints, and the loop that translates them in Python.

    translate.py names OUT.json [COUNT]       COUNT (1,000,000) distinct names in one file
    translate.py run FOLDER [CHECKPOINTS]     CHECKPOINTS (645) files of the same 1,551 names
    translate.py reference FILE.txt...        translate all; prints count and summed length

The files are names-only checkpoints, with a list of the names as plain lines beside each,
so that the reference need not read JSON. The loop is T5X's CheckpointTranslator's with its
nine T5 rules: the first rule whose re.match(pattern + '$') hits, a function called with its
groups. What to compare it with, over a catalog of the same files:

    SELECT count(new_name), sum(length(new_name)) FROM translation WHERE ruleset = 't5_to_t5x'
"""

import itertools
import json
import os
import re
import sys

# --- names ---------------------------------------------------------------------------------

# What a block of each tower holds, and in which layer; `scale` is a vector, the rest matrices.
BLOCKS = {
    "encoder": [
        (0, ["SelfAttention/" + m for m in "qkvo"] + ["layer_norm/scale"]),
        (1, ["layer_norm/scale"] + ["DenseReluDense/%s/kernel" % m for m in ("wi_0", "wi_1", "wo")]),
    ],
    "decoder": [
        (0, ["SelfAttention/" + m for m in "qkvo"] + ["layer_norm/scale"]),
        (1, ["EncDecAttention/" + m for m in "qkvo"] + ["layer_norm/scale"]),
        (2, ["layer_norm/scale"] + ["DenseReluDense/%s/kernel" % m for m in ("wi_0", "wi_1", "wo")]),
    ],
}
ONCE = [
    "shared/embedding",
    "decoder/logits/kernel",
    "encoder/final_layer_norm/scale",
    "decoder/final_layer_norm/scale",
    "encoder/block_000/layer_000/SelfAttention/relative_attention_bias",
    "decoder/block_000/layer_000/SelfAttention/relative_attention_bias",
]


def with_slots(name):
    factored = not name.endswith(("scale", "bias"))
    return [name + slot for slot in (["", "_slot_vr", "_slot_vc"] if factored else ["", "_slot_v"])]


def t5_names():
    """Block by block, without end."""
    yield "global_step"
    for name in ONCE:
        yield from with_slots(name)
    for block in itertools.count():
        for tower, layers in BLOCKS.items():
            for layer, parts in layers:
                for part in parts:
                    yield from with_slots(f"{tower}/block_{block:03d}/layer_{layer:03d}/{part}")


def write_names(path, count):
    leaf = {"dtype": "float32", "shape": [128]}
    tensors = {name: leaf for name in itertools.islice(t5_names(), count)}
    with open(path, "w") as out:
        json.dump({"ckptdb": "names", "tensors": tensors}, out)
    with open(os.path.splitext(path)[0] + ".txt", "w") as out:
        out.writelines(name + "\n" for name in tensors)


def write_run(folder, checkpoints):
    for step in range(checkpoints):
        place = os.path.join(folder, f"step_{step}")
        os.makedirs(place, exist_ok=True)
        write_names(os.path.join(place, "names.json"), 1551)


# --- the loop ------------------------------------------------------------------------------

SLOTS = {"_slot_vc": "v_col", "_slot_vr": "v_row", "_slot_v": "v"}
MATRICES = {"q": "query", "k": "key", "v": "value", "o": "out"}
ATTENTION = {"SelfAttention": "self_attention", "EncDecAttention": "encoder_decoder_attention"}
NORMS = {
    "transformer": ["pre_self_attention_layer_norm", "pre_mlp_layer_norm"],
    "encoder": ["pre_attention_layer_norm", "pre_mlp_layer_norm"],
    "decoder": [
        "pre_self_attention_layer_norm",
        "pre_cross_attention_layer_norm",
        "pre_mlp_layer_norm",
    ],
}


def place(slot, tower=None):
    """How the new name begins and ends, and the name of the tower."""
    suffix = "/" + SLOTS[slot] if slot else ""
    root = "state/param_states" if slot else "target"
    return root, suffix, "decoder" if tower == "transformer" else tower


def step(_, key, value):
    return "state/step", value


def shared(_, key, value, slot):
    root, suffix, _ = place(slot)
    return f"{root}/token_embedder/embedding{suffix}", value


def embedding(_, key, value, tower, slot):
    root, suffix, tower = place(slot, tower)
    return f"{root}/{tower}/token_embedder/embedding{suffix}", value


def relpos(_, key, value, tower, block, slot):
    root, suffix, tower = place(slot, tower)
    return f"{root}/{tower}/layers_{int(block)}/relpos_bias/rel_embedding{suffix}", value


def attention(_, key, value, tower, block, kind, matrix, slot):
    root, suffix, tower = place(slot, tower)
    kind = "attention" if tower == "encoder" else ATTENTION[kind]
    return f"{root}/{tower}/layers_{int(block)}/{kind}/{MATRICES[matrix]}/kernel{suffix}", value


def dense(_, key, value, tower, block, io, number, slot):
    root, suffix, tower = place(slot, tower)
    io = f"{io}_{number}" if number else io
    return f"{root}/{tower}/layers_{int(block)}/mlp/{io}/kernel{suffix}", value


def norm(_, key, value, tower, block, layer, slot):
    root, suffix, new_tower = place(slot, tower)
    name = NORMS[tower][int(layer)]
    return f"{root}/{new_tower}/layers_{int(block)}/{name}/scale{suffix}", value


def final_norm(_, key, value, tower, slot):
    root, suffix, tower = place(slot, tower)
    return f"{root}/{tower}/{tower}_norm/scale{suffix}", value


def logits(_, key, value, slot):
    root, suffix, _ = place(slot)
    return f"{root}/decoder/logits_dense/kernel{suffix}", value


TOWER = "(encoder|decoder|transformer)"
BLOCK = TOWER + r"/block_(\d+)/layer_"
RULES = [
    (re.compile(pattern + "$"), function)
    for pattern, function in [
        ("global_step", step),
        (r"shared/embedding(\w*)", shared),
        (TOWER + r"/embedding(\w*)", embedding),
        (BLOCK + r"000/SelfAttention/relative_attention_bias(\w*)", relpos),
        (BLOCK + r"\d+/(SelfAttention|EncDecAttention)/(q|k|v|o)(\w*)", attention),
        (BLOCK + r"\d+/DenseReluDense/(wi|wo)(?:_(\d+))?/kernel(\w*)", dense),
        (BLOCK + r"(\d+)/(?:layer|rms)_norm/scale(\w*)", norm),
        (TOWER + r"/(?:final_layer|rms)_norm/scale(\w*)", final_norm),
        (r"(?:decoder|transformer)/logits/kernel(\w*)", logits),
    ]
]


def translate(state, **options):
    out, unmapped = {}, {}
    for key, value in state.items():
        for pattern, function in RULES:
            match = pattern.match(key)
            if match:
                new_key, new_value = function(options, key, value, *match.groups())
                if new_key is not None:
                    out[new_key] = new_value
                break
        else:
            unmapped[key] = value
    if unmapped:
        raise ValueError(f"Unmapped tensor keys exist: {unmapped}")
    return out


def reference(paths):
    count = length = 0
    for path in paths:
        with open(path) as f:
            out = translate(dict.fromkeys(f.read().splitlines()))
        count += len(out)
        length += sum(map(len, out))
    print(count, length)


def main(verb=None, *args):
    if verb == "names" and args:
        write_names(args[0], int(args[1]) if len(args) > 1 else 1_000_000)
    elif verb == "run" and args:
        write_run(args[0], int(args[1]) if len(args) > 1 else 645)
    elif verb == "reference" and args:
        reference(args)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
