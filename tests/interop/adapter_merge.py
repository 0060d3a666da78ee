#!/usr/bin/env python3
"""Let peft make adapters of random models in 20 configurations, and compare `export --merge` with its
merge_and_unload(), in float32 and rounded once to the base's dtype: equal to the bit, but for convolutions,
norms (DoRA) and tiny matrices, which PyTorch sums up in orders of their own. `diff BASE ADAPTER` must say
the norm of each change.

    adapter_merge.py CKPTDB [SEED]
    adapter_merge.py --write FOLDER      the cases of tests/fixtures/adapter, of the configurations in FIXTURES

The last line is "N passed, N failed".
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from torch import nn

warnings.filterwarnings("ignore")
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
ULPS = 8  # of the largest number of a tensor, where PyTorch's order of sums is not known
SIZE = 8 if "--write" in sys.argv else 32  # of the models


def llama(kind=transformers.LlamaForCausalLM, **config):
    return kind(transformers.LlamaConfig(
        vocab_size=SIZE + 2, hidden_size=SIZE, intermediate_size=SIZE + 4, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, pad_token_id=0, bos_token_id=1, eos_token_id=2, num_labels=3, **config))


def tied():
    return llama(tie_word_embeddings=True)


def biased():
    return llama(attention_bias=True)


def classifier():
    return llama(transformers.LlamaForSequenceClassification)


def gpt2():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=SIZE + 2, n_positions=6, n_embd=SIZE, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=2))


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Conv2d(3, 8, 3)
        self.narrow = nn.Conv2d(8, 6, 1)
        self.line = nn.Conv1d(4, 5, 3)
        self.linear = nn.Linear(10, 7)
        self.table = nn.Embedding(11, 10)

    def forward(self, x):
        return x


ATTENTION = ["q_proj", "v_proj"]
# name: (the model, its dtype, what LoraConfig is given besides r 4, lora_alpha 8)
CASES = {
    "linear": (llama, torch.float32, dict(target_modules=ATTENTION)),
    "linear_bfloat16": (llama, torch.bfloat16, dict(target_modules=ATTENTION)),
    "linear_float16": (llama, torch.float16, dict(target_modules=ATTENTION)),
    "all_linear": (llama, torch.float32, dict(target_modules="all-linear", r=20, lora_alpha=5)),
    "rslora": (llama, torch.bfloat16, dict(target_modules=ATTENTION, use_rslora=True)),
    "dora": (llama, torch.float32, dict(target_modules=ATTENTION + ["down_proj"], use_dora=True)),
    "dora_float16": (llama, torch.float16, dict(target_modules=ATTENTION, use_dora=True, use_rslora=True)),
    "patterns": (llama, torch.bfloat16, dict(
        target_modules=ATTENTION + ["o_proj"], use_rslora=True,
        rank_pattern={"layers.1.self_attn.q_proj": 2, "o_proj": 3},
        alpha_pattern={"v_proj": 16, "^model.layers.0.self_attn.q_proj": 3})),
    "layers": (llama, torch.float32, dict(target_modules=ATTENTION, layers_to_transform=[1])),
    "embedding": (llama, torch.float32, dict(target_modules=ATTENTION + ["embed_tokens"])),
    "dora_embedding": (llama, torch.float32, dict(target_modules=["q_proj", "embed_tokens"], use_dora=True)),
    "tied": (tied, torch.float32, dict(target_modules=ATTENTION + ["embed_tokens"])),
    "tied_head": (tied, torch.float32, dict(target_modules=ATTENTION + ["lm_head"])),
    "saved": (llama, torch.float32, dict(target_modules=ATTENTION, modules_to_save=["lm_head", "norm"])),
    "classifier": (classifier, torch.float32, dict(target_modules=ATTENTION, task_type="SEQ_CLS")),
    "biases": (biased, torch.float32, dict(target_modules=ATTENTION, bias="all")),
    "lora_bias": (biased, torch.float32, dict(target_modules=ATTENTION, lora_bias=True)),
    "fan_in": (gpt2, torch.float32, dict(target_modules=["c_attn", "c_proj", "wte"], fan_in_fan_out=True)),
    "dora_fan_in": (gpt2, torch.float32, dict(target_modules=["c_attn", "c_proj"], fan_in_fan_out=True, use_dora=True)),
    "convolutions": (Convolutions, torch.float32, dict(target_modules=["wide", "narrow", "line", "linear", "table"])),
}
FIXTURES = ["patterns", "dora_fan_in", "tied_head", "classifier", "biases", "convolutions", "dora_embedding"]
INEXACT = ("dora", "convolutions")


def stir(model):
    """What training changes: else every B is zero."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "lora_" in name or "modules_to_save" in name or name.endswith("bias"):
                p.add_(torch.randn(p.shape) * 0.1)
            if "magnitude" in name:
                p.abs_()


def save_model(model, folder):
    os.makedirs(folder, exist_ok=True)
    if hasattr(model, "save_pretrained"):
        model.save_pretrained(folder)
    else:
        save_file(model.state_dict(), f"{folder}/model.safetensors")


def make(name, folder):
    """folder/NAME/{base,adapter,merged.safetensors}"""
    builder, dtype, config = CASES[name]
    where = f"{folder}/{name}"
    model = builder().to(dtype)
    base = {k: v.clone() for k, v in model.state_dict().items()}
    save_model(model, f"{where}/base")
    adapted = get_peft_model(model, LoraConfig(**{"r": 4, "lora_alpha": 8, **config}))
    stir(adapted)
    adapted.peft_config["default"].base_model_name_or_path = f"{name}/base"
    adapted.save_pretrained(f"{where}/adapter")
    os.remove(f"{where}/adapter/README.md")
    plain = builder().to(dtype)
    plain.load_state_dict(base)
    merged = PeftModel.from_pretrained(plain.float(), f"{where}/adapter").merge_and_unload()
    state = {k: v.detach().to(dtype).contiguous().clone() for k, v in merged.state_dict().items()}
    if builder is tied or builder is gpt2:
        del state["lm_head.weight"]  # is the embedding, as in the base's file
    if name == "classifier":  # as the model that such adapters are trained on mostly is: without this head
        stored = load_file(f"{where}/base/model.safetensors")
        del stored["score.weight"]
        save_file(stored, f"{where}/base/model.safetensors", metadata={"format": "pt"})
    save_file(state, f"{where}/merged.safetensors", metadata={"format": "pt"})


def run(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True)


def wrong(name, got, want):
    """Why the two are not the same; None."""
    if set(got) != set(want):
        return f"names: {sorted(set(got) ^ set(want))}"
    for key, value in want.items():
        if got[key].dtype != value.dtype or got[key].shape != value.shape:
            return f"{key}: {got[key].dtype} {list(got[key].shape)}"
        a, b = got[key].double(), value.double()
        most = b.abs().max() * torch.finfo(value.dtype).eps * ULPS if name.startswith(INEXACT) else 0
        if ((a - b).abs() > most).any():
            return f"{key}: {(a != b).sum()} of {a.numel()} differ, by {(a - b).abs().max():.3g}"
    return None


def check(program, folder, name):
    """Why the case fails; None."""
    catalog, where, out = f"{folder}/catalog.db", f"{folder}/{name}", f"{folder}/{name}.safetensors"
    base, adapter = f"{where}/base/model.safetensors", f"{where}/adapter/adapter_model.safetensors"
    done = run(program, "-d", catalog, "export", base, out, "--merge", adapter)
    if done.returncode:
        return done.stderr.strip()
    before, want = load_file(base), load_file(f"{where}/merged.safetensors")
    why = wrong(name, load_file(out), want)
    if why:
        return why
    told = run(program, "-d", catalog, "--json", "diff", base, adapter)
    rows = {r["name"]: r for r in json.loads(told.stdout or "[]") if r["status"] == "value"}
    for key, value in before.items():
        delta = (want[key].double() - value.double()).norm().item()
        said = rows[key]["delta_l2"] if key in rows else 0
        eps = torch.finfo(value.dtype).eps * want[key].double().norm().item()
        if abs(said - delta) > eps + 1e-6 * delta:
            return f"{key}: diff says {said}, the norm of the change is {delta}"
    return None


def main():
    if sys.argv[1] == "--write":
        torch.manual_seed(1)
        for name in FIXTURES:
            shutil.rmtree(f"{sys.argv[2]}/{name}", ignore_errors=True)
            make(name, sys.argv[2])
            if os.path.exists(f"{sys.argv[2]}/{name}/base/generation_config.json"):
                os.remove(f"{sys.argv[2]}/{name}/base/generation_config.json")
        return 0
    program = os.path.abspath(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("CKPTDB_SEED") or random.randrange(1 << 32))
    print("seed", seed)
    torch.manual_seed(seed)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in CASES:
            make(name, folder)
        run(program, "-d", f"{folder}/catalog.db", "import", folder)
        for name in CASES:
            why = check(program, folder, name)
            passed, failed = passed + (not why), failed + bool(why)
            if why:
                print(f"{name}: {why}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
