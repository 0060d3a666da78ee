"""T5X's checkpoint_importer: the rules for T5's names, and what restore_from_t5_checkpoint does
after them. Values are Value: what of a LazyArray shows."""
import dataclasses
import re

from originals import t5x


@dataclasses.dataclass(frozen=True)
class Value:
    source: str | None # the name in the checkpoint; None: zeros
    dtype: str
    shape: tuple

    def __repr__(self):
        return f"LazyThreadPoolArray(shape={self.shape}, dtype={self.dtype})"


ZEROS = Value(None, "float32", (1, ))
SLOTS = {"_slot_vc": "/v_col", "_slot_vr": "/v_row", "_slot_v": "/v"}
TOWERS = {"encoder": "encoder", "decoder": "decoder", "transformer": "decoder"}
MATRICES = {"q": "query", "k": "key", "v": "value", "o": "out"}
NORMS = {
    "transformer": ["pre_self_attention_layer_norm", "pre_mlp_layer_norm"],
    "encoder": ["pre_attention_layer_norm", "pre_mlp_layer_norm"], "decoder": [
        "pre_self_attention_layer_norm", "pre_cross_attention_layer_norm", "pre_mlp_layer_norm"
    ]
}
TOWER = "(encoder|decoder|transformer)"


def place(slot):
    """Where a parameter or its slot goes, and the end of its name."""
    return ("state/param_states", SLOTS[slot]) if slot else ("target", "")


def shared_embedding(slot):
    root, end = place(slot)
    return f"{root}/token_embedder/embedding{end}"


def embedding(tower, slot):
    root, end = place(slot)
    return f"{root}/{TOWERS[tower]}/token_embedder/embedding{end}"


def relpos(tower, block, slot):
    root, end = place(slot)
    return f"{root}/{TOWERS[tower]}/layers_{int(block)}/relpos_bias/rel_embedding{end}"


def attention(tower, block, kind, matrix, slot):
    root, end = place(slot)
    tower = TOWERS[tower]
    name = ("attention" if tower == "encoder" else {
        "SelfAttention": "self_attention", "EncDecAttention": "encoder_decoder_attention"
    }[kind])
    return f"{root}/{tower}/layers_{int(block)}/{name}/{MATRICES[matrix]}/kernel{end}"


def mlp(tower, block, side, number, slot):
    root, end = place(slot)
    number = f"_{number}" if number else ""
    return f"{root}/{TOWERS[tower]}/layers_{int(block)}/mlp/{side}{number}/kernel{end}"


def layer_norm(tower, block, layer, slot):
    root, end = place(slot)
    norm = NORMS[tower][int(layer)]
    return f"{root}/{TOWERS[tower]}/layers_{int(block)}/{norm}/scale{end}"


def final_norm(tower, slot):
    root, end = place(slot)
    return f"{root}/{TOWERS[tower]}/{TOWERS[tower]}_norm/scale{end}"


def logits(slot):
    root, end = place(slot)
    return f"{root}/decoder/logits_dense/kernel{end}"


RULES = [
    ("global_step", lambda: "state/step"), (r"shared/embedding(\w*)", shared_embedding),
    (TOWER + r"/embedding(\w*)", embedding),
    (TOWER + r"/block_(\d+)/layer_000/SelfAttention/relative_attention_bias(\w*)", relpos),
    (TOWER + r"/block_(\d+)/layer_\d+/(SelfAttention|EncDecAttention)/(q|k|v|o)(\w*)", attention),
    (TOWER + r"/block_(\d+)/layer_\d+/DenseReluDense/(wi|wo)(?:_(\d+))?/kernel(\w*)", mlp),
    (TOWER + r"/block_(\d+)/layer_(\d+)/(?:layer|rms)_norm/scale(\w*)", layer_norm),
    (TOWER + r"/(?:final_layer|rms)_norm/scale(\w*)", final_norm),
    (r"(?:decoder|transformer)/logits/kernel(\w*)", logits),
]
TRANSLATOR = t5x.CheckpointTranslator([(pattern, lambda match, rule=rule: rule(*match.groups()))
                                       for pattern, rule in RULES])


def translate(flat):
    translated = TRANSLATOR.apply(flat)
    if "state/step" in translated:
        translated["state/step"] = dataclasses.replace(translated["state/step"], dtype="int32")
    return translated


def add_missing(state):
    added = {}
    for name in state:
        if name.startswith("target"):
            slots = "state/param_states" + name[len("target"):]
            added[slots + "/m"] = ZEROS
            if slots + "/v" in state:
                added[slots + "/v_row"] = added[slots + "/v_col"] = ZEROS
            elif slots + "/v_row" in state:
                added[slots + "/v"] = ZEROS
    return {**state, **added}


def correct_relpos(state):
    found = [re.search(r"layers_(\d+)/relpos_bias", name) for name in state]
    if max((int(match[1]) for match in found if match), default=0) > 0:
        return state
    return {re.sub(r"layers_\d+/relpos_bias", "relpos_bias", name): v for name, v in state.items()}


def update(model, state, strict):
    """model: shapes by name."""
    result = {}
    for name, value in state.items():
        if name not in model:
            if not strict:
                continue
            raise KeyError(name)
        if model[name] != value.shape:
            raise ValueError(f"Variable {name} has shape {value.shape} != {model[name]}")
        result[name] = value
    return result


def restore(flat, model=None, strict=True):
    state = correct_relpos(add_missing(translate(flat)))
    return state if model is None else update(model, state, strict)
