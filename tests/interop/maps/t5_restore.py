"""T5X's importer of T5 checkpoints beside the views `translation` and `restore`."""
import json

from maps import catalog, trees, words
from originals import t5_importer
from originals.t5_importer import Value

TOWERS = ["encoder", "decoder", "transformer"]
NUMBERS = ["000", "000", "001", "002", "0", "1", "011", "٣", "00"]
SLOTS = ["", "", "", "_slot_v", "_slot_vr", "_slot_vc", "_slot_v", "_slot_m", "s", "é"]
NAMES = [
    "global_step", "shared/embedding{s}", "{t}/embedding{s}",
    "{t}/block_{n}/layer_{l}/SelfAttention/{m}{s}",
    "{t}/block_{n}/layer_000/SelfAttention/relative_attention_bias{s}",
    "{t}/block_{n}/layer_{l}/EncDecAttention/{m}{s}",
    "{t}/block_{n}/layer_000/SelfAttention/relative_attention_bias{s}",
    "{t}/block_{n}/layer_{l}/DenseReluDense/{w}/kernel{s}",
    "{t}/block_{n}/layer_{l}/{r}_norm/scale{s}", "{t}/{r}_norm/scale{s}", "{t}/logits/kernel{s}"
]


def name(rng, odd):
    slot = rng.choice(SLOTS[:7]) if rng.random() > odd else rng.choice(SLOTS)
    text = rng.choice(NAMES).format(t=rng.choice(TOWERS), n=rng.choice(NUMBERS),
                                    l=rng.choice(NUMBERS[:4] if rng.random() > odd else NUMBERS),
                                    m=rng.choice("qkvo"), s=slot,
                                    w=rng.choice(["wi", "wi_0", "wi_1", "wo", "wi_00"]),
                                    r=rng.choice(["layer", "rms", "final_layer", "rms"]))
    if rng.random() < odd / 2:
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(["", "\n", "x", "0", "/", "\u0661"
                                       ]) + text[at + rng.randint(0, 1):]
    return text + ("\n" if rng.random() < odd / 4 else "")


class Case:
    def __init__(self, rng, home):
        odd = rng.choice([0, 0, 0, 0.1, 0.3])
        names = []
        while not names or rng.random() < 0.85:
            names.append(name(rng, odd))
            if rng.random() < 0.3: # a parameter and its slots
                names += [names[-1] + slot for slot in SLOTS[3:6] if rng.random() < 0.6]
        self.values = {
            n: Value(n, rng.choice(trees.DTYPES), rng.choice([(), (2, ), (2, 3), (1, ), (4, 2)]))
            for n in names if "\0" not in n
        }
        if odd == 0: # names that translate
            self.values = {n: v for n, v in self.values.items() if self.one(n)[0] == "ok"}
        self.model, self.strict = self.models(rng), rng.random() < 0.6
        self.source = home.checkpoint(
            {n: trees.LazyArray(0, v.dtype, list(v.shape))
             for n, v in self.values.items()})
        self.target = self.model and home.checkpoint(
            {n: trees.LazyArray(0, "float32", list(shape))
             for n, shape in self.model.items()})

    def models(self, rng):
        """Nothing, or a model that the result fits more or less."""
        if rng.random() < 0.5:
            return None
        try:
            state = t5_importer.restore(self.values)
        except (ValueError, LookupError):
            return None
        model = {n: v.shape for n, v in state.items() if rng.random() < 0.97}
        if model and rng.random() < 0.3:
            model[rng.choice(list(model))] = (7, )
        if rng.random() < 0.3:
            model[words.name(rng, 0)] = (1, )
        return model

    def question(self, home):
        ours = f"ruleset = 't5_to_t5x' AND checkpoint_id = {home.ids[self.source]}"
        translation = catalog.rows_of("old_name, status, new_name, error, dtype",
                                      f"translation WHERE {ours}")
        target = ("target_id IS NULL" if not self.model else
                  f"target_id = {home.ids[self.target]} AND strict = {int(self.strict)}")
        restore = catalog.rows_of("name, old_name, origin, dtype, json(shape), status, error",
                                  f"restore WHERE {ours} AND {target}")
        return f"SELECT json_array(({translation}), ({restore}))"

    def one(self, old):
        try:
            new, = t5_importer.translate({old: self.values[old]}).items()
        except (KeyError, IndexError, ValueError) as error:
            if str(error).startswith("Unmapped"):
                return ["unmatched", None, None, self.values[old].dtype]
            return ["error", None, trees.said(error), self.values[old].dtype]
        return ["ok", new[0], None, new[1].dtype]

    def wanted(self):
        each = {old: self.one(old) for old in self.values}
        answer = {"each": sorted([old, *one] for old, one in each.items())}
        try:
            state = t5_importer.restore(self.values, self.model or None, self.strict)
        except (KeyError, IndexError, ValueError) as error:
            answer["error"] = trees.said(error)
        else:
            answer["state"] = [[new, value.source, value.dtype,
                                list(value.shape)] for new, value in state.items()]
        return answer

    def found(self, answer, _wanted):
        translation, restore = answer
        found = {"each": sorted(translation)}
        errors = [error for *_, error in restore if error]
        if errors:
            found["error"] = errors[0]
        else:
            found["state"] = [[
                new, old, dtype,
                json.loads(shape) if isinstance(shape, str) else shape
            ] for new, old, _, dtype, shape, status, _ in restore if status == "ok"]
        return found
