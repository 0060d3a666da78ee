#!/usr/bin/env python3
"""Random tiny models of transformers under other names and back: save_pretrained, export by a shipped map,
import, export by its inverse, from_pretrained. All of the state and the logits have to be equal to the last
bit. What is between is held against the libraries that know it: the names in GGUF files are those that gguf's
own table gives to the model, and where transformers can read such files by itself, its logits are the same.

    logits.py CKPTDB [SEED]

The last line is "N passed, N failed".
"""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import warnings

os.environ |= {"HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"}
import gguf
import torch
import transformers
from safetensors.torch import load_file
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

warnings.filterwarnings("ignore")
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
CKPTDB = os.path.abspath(sys.argv[1])
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("CKPTDB_SEED") or random.randrange(1 << 32))
LAYERS, VOCAB, HEADS, KV, HEAD, EXPERTS = 2, 40, 4, 2, 8, 3
LLAMA_LIKE = dict(vocab_size=VOCAB, hidden_size=16, intermediate_size=24, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                  num_key_value_heads=KV, max_position_embeddings=32, pad_token_id=0, bos_token_id=1, eos_token_id=2)
T5_LIKE = dict(vocab_size=VOCAB, d_model=16, d_kv=HEAD, d_ff=24, num_layers=LAYERS, num_heads=HEADS, decoder_start_token_id=0)
BERT_LIKE = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=LAYERS, num_attention_heads=HEADS)


def of(name, config, **options):
    """A class of transformers, and its configuration; which configuration class is told by the class."""
    kind = getattr(transformers, name)
    return kind, kind.config_class(**config, **options)


# --- ways there and back: steps of (rule set, what is written, options) ---------------------------------
def by_gguf(arch, *back, between=(), heads=False):
    meta = [f"general.architecture={arch}", f"general.name=tiny {arch}"]
    if heads:
        meta += [f"{arch}.attention.head_count:u32={HEADS}", f"{arch}.attention.head_count_kv:u32={KV}", f"{arch}.attention.key_length:u32={HEAD}"]
    family = {"qwen3": "qwen2", "gemma2": "gemma", "gemma3": "gemma", "clip": "vit"}.get(arch, arch)
    return [*between, (f"{family}_hf_to_gguf", "gguf", [f"--meta={m}" for m in meta]), (f"{family}_gguf_to_hf", "hf", list(back))]


STACK, UNSTACK = ("mixtral_stack", "hf", []), ("mixtral_unstack", "hf", [])
T5X = [("hf_t5_to_t5x", "t5x", []), ("t5x_to_hf_t5", "hf", [])]
TF = [("bert_hf_to_tf", "tf", []), ("bert_tf_to_hf", "hf", [])]
UNGATED, GATED = "--set=is_gated_act=false", "--set=is_gated_act=true"

# The model, the architecture in gguf's tables (None: has none), whether transformers reads its GGUF files, ways.
MODELS = [
    (of("LlamaForCausalLM", LLAMA_LIKE, head_dim=HEAD), "llama", True, [by_gguf("llama", heads=True)]),
    (of("LlamaForCausalLM", LLAMA_LIKE, head_dim=HEAD, attention_bias=True, mlp_bias=True, tie_word_embeddings=True), "llama", False,
     [by_gguf("llama", heads=True)]),
    (of("MistralForCausalLM", LLAMA_LIKE, head_dim=HEAD), "llama", False, [by_gguf("llama", heads=True)]),
    (of("MixtralForCausalLM", LLAMA_LIKE, head_dim=HEAD, num_local_experts=EXPERTS), "llama", False,
     [by_gguf("llama", heads=True), by_gguf("llama", heads=True, between=[STACK]), [STACK], [STACK, UNSTACK]]),
    (of("Qwen2ForCausalLM", LLAMA_LIKE), "qwen2", True, [by_gguf("qwen2")]),
    (of("Qwen3ForCausalLM", LLAMA_LIKE, head_dim=HEAD, tie_word_embeddings=True), "qwen3", True, [by_gguf("qwen3")]),
    (of("GemmaForCausalLM", LLAMA_LIKE, head_dim=HEAD), "gemma", False, [by_gguf("gemma")]),
    (of("Gemma2ForCausalLM", LLAMA_LIKE, head_dim=HEAD), "gemma2", True, [by_gguf("gemma2")]),
    (of("Gemma3ForCausalLM", LLAMA_LIKE, head_dim=HEAD), "gemma3", True, [by_gguf("gemma3")]),
    (of("GPT2LMHeadModel", dict(vocab_size=VOCAB, n_embd=16, n_head=HEADS, n_layer=LAYERS, n_positions=32, bos_token_id=1, eos_token_id=2)),
     "gpt2", True, [by_gguf("gpt2"), by_gguf("gpt2", "--set=prefix=")]),
    (of("T5ForConditionalGeneration", T5_LIKE), "t5", False, [by_gguf("t5", UNGATED), T5X]),
    (of("T5ForConditionalGeneration", T5_LIKE, feed_forward_proj="gated-gelu", tie_word_embeddings=False), "t5", True,
     [by_gguf("t5", GATED), T5X]),
    (of("UMT5ForConditionalGeneration", T5_LIKE), "t5", False, [by_gguf("t5", GATED), T5X]),
    (of("BertForSequenceClassification", BERT_LIKE, vocab_size=VOCAB, max_position_embeddings=32, num_labels=3), "bert", False,
     [by_gguf("bert"), TF]),
    (of("BertModel", BERT_LIKE, vocab_size=VOCAB, max_position_embeddings=32), "bert", False, [by_gguf("bert", "--set=prefix="), by_gguf("bert")]),
    (of("BertForPreTraining", BERT_LIKE, vocab_size=VOCAB, max_position_embeddings=32), None, False, [TF]),
    (of("BertForQuestionAnswering", BERT_LIKE, vocab_size=VOCAB, max_position_embeddings=32), None, False, [TF]),
    (of("ViTForImageClassification", BERT_LIKE, image_size=8, patch_size=4, num_labels=3), None, False, [by_gguf("clip")]),
    (of("ViTModel", BERT_LIKE, image_size=8, patch_size=4), None, False, [by_gguf("clip", "--set=prefix=")]),
]


def random_model(kind, config, dtype, folder):
    """A model as it is loaded from `folder`, where it is saved. Every tensor is of numbers that are exact when
    1 is added in float32: norms of all ones would hide a swap."""
    model = kind(config).to(dtype)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randint(-300, 301, p.shape).to(torch.float32) / 512)
    model.save_pretrained(folder)
    return loaded(kind, folder, dtype)


def loaded(kind, folder, dtype):
    model, info = kind.from_pretrained(folder, dtype=dtype, output_loading_info=True)
    assert not any(info[k] for k in ("missing_keys", "unexpected_keys", "mismatched_keys")), f"{info}"
    return model.eval()


def outputs(model):
    torch.manual_seed(SEED)
    ids = torch.randint(1, VOCAB, (2, 9))
    dtype = next(model.parameters()).dtype
    with torch.no_grad():
        if model.config.model_type == "vit":
            out = model(torch.randn(2, 3, 8, 8).to(dtype))
        elif "t5" in model.config.model_type:
            out = model(input_ids=ids, decoder_input_ids=ids[:, :5])
        else:
            out = model(ids)
    return [t for t in out.to_tuple() if isinstance(t, torch.Tensor)]


def same_outputs(model, want):
    got = outputs(model)
    return len(got) == len(want) and all(torch.equal(a, b) for a, b in zip(got, want))


def run(*args):
    done = subprocess.run([CKPTDB, *map(str, args)], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, args))}: {done.stderr[-600:]}"


def written(folder, source, step, number, narrow):
    """A step's result for `source`: a path that ckptdb reads. `narrow`: to bfloat16 again, on the way back."""
    ruleset, form, options = step
    at = pathlib.Path(folder, str(number))
    at.mkdir()
    out = {"gguf": at / "model.gguf", "hf": at / "model.safetensors", "t5x": at / "checkpoint_1", "tf": at / "model.ckpt"}[form]
    args = ["--format", form] if form in ("t5x", "tf") else []
    run("export", source, out, "--no-sync", "--map", ruleset, *args, *options, *(["--dtype", "bfloat16"] if narrow and form == "hf" else []))
    run("import", at)
    return out


def gguf_names(path, saved, arch):
    """The names in the file are those that gguf's table has for the saved ones, but for experts, which the
    table knows stacked, and for BERT's pooler, which llama.cpp leaves out, and its classifier."""
    table = gguf.get_tensor_name_map({v: k for k, v in gguf.MODEL_ARCH_NAMES.items()}[arch], LAYERS)
    known, unknown = set(), set()
    for name in saved:
        found = table.get_name(name.removeprefix("bert."), try_suffixes=(".weight", ".bias"))
        (known if found else unknown).add(found or name)
    assert all(".experts." in n or "pooler.dense" in n for n in unknown), f"gguf has no names for {unknown}"
    names = {t.name for t in gguf.GGUFReader(path).tensors}
    odd = {n for n in names ^ known if "_exps." not in n and n.split(".")[0] != "cls"}
    assert not odd, f"names of GGUF: {odd}"


def read_by_transformers(path, model, want, source):
    """Its own way from GGUF: the tensors by the names of the state."""
    tensors = load_gguf_checkpoint(path, return_tensors=True, model_to_load=model)["tensors"]
    other = loaded(type(model), source, model.dtype)
    with torch.no_grad():
        for p in other.parameters():
            p.zero_()
    other.load_state_dict(tensors, strict=False)
    other.tie_weights()
    assert same_outputs(other, want), "transformers reads other numbers from the GGUF file"


def there_and_back(folder, kind, config, arch, readable, way, dtype):
    source = pathlib.Path(folder, "source")
    model = random_model(kind, config, dtype, source)
    want = outputs(model)
    run("import", source)
    made = source / "model.safetensors"
    saved = load_file(made)
    for number, step in enumerate(way):
        made = written(folder, made, step, number, dtype == torch.bfloat16)
        if step[1] == "gguf" and arch:
            gguf_names(made, saved, arch)
            if readable:
                read_by_transformers(made, model, want, source)
        if step[1] == "hf":
            shutil.copy(source / "config.json", made.parent)
            run("import", made.parent)
    back = loaded(kind, made.parent, dtype)
    had, has = model.state_dict(), back.state_dict()
    assert had.keys() == has.keys()
    other = [n for n in had if had[n].dtype != has[n].dtype or not torch.equal(had[n], has[n])]
    assert not other, f"other values: {other}"
    assert same_outputs(back, want), "other logits"


def main():
    print(f"seed {SEED}")
    torch.manual_seed(SEED)
    passed = failed = 0
    for (kind, config), arch, readable, ways in MODELS:
        for dtype in torch.float32, torch.bfloat16:
            for way in ways:
                with tempfile.TemporaryDirectory() as folder:
                    os.environ["CKPTDB"] = f"{folder}/catalog.db"
                    try:
                        there_and_back(os.path.realpath(folder), kind, config, arch, readable, way, dtype)
                        passed += 1
                    except Exception as error:  # noqa: BLE001: any trouble is this model's
                        failed += 1
                        print(f"FAIL {kind.__name__} {dtype} {[s[0] for s in way]}: {type(error).__name__}: {str(error)[:900]}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
