#!/usr/bin/env python3
"""Write random Llama and Mixtral models twice, with PyTorch under Hugging Face's names and with gguf under
llama.cpp's (names by gguf's own table, rows of q and k in llama.cpp's order), and compare what the shipped
maps make of each with the other: names, dtypes, shapes and values.

    gguf_maps.py CKPTDB [SEED]

The seed is printed; one that failed can be given again. The last line is "N passed, N failed".
"""
import json
import os
import random
import subprocess
import sys
import tempfile

import gguf
import numpy as np
import torch
from safetensors.torch import save_file

CKPTDB = os.path.abspath(sys.argv[1])
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("CKPTDB_SEED") or random.randrange(1 << 32))
MODELS = 24
rng = np.random.default_rng(SEED)


def pick(things):
    return things[int(rng.integers(len(things)))]


class Model:
    """Sizes, and the tensors by Hugging Face's names."""

    def __init__(self):
        self.kv = int(rng.integers(1, 4))
        self.heads = self.kv * int(rng.integers(1, 4))
        self.size = 2 * int(rng.integers(1, 5))
        self.hidden = 32 * int(rng.integers(1, 3)) if rng.random() < 0.5 else self.heads * self.size
        self.blocks = self.hidden % 32 == 0  # some can be quantised
        self.wide, self.vocab, self.layers = 32 * int(rng.integers(1, 3)), int(rng.integers(3, 20)), int(rng.integers(1, 4))
        self.experts = int(rng.integers(2, 5)) if rng.random() < 0.3 else 0
        self.bias, self.tied = rng.random() < 0.3, rng.random() < 0.3
        self.dtype = pick([torch.float32, torch.float16, torch.bfloat16])
        self.tensors = dict(self.make())

    def random(self, *shape):
        """Numbers that all dtypes hold, and Q8_0 too: halves of small integers."""
        return torch.from_numpy(rng.integers(-127, 128, shape).astype(np.float32) / 2).to(self.dtype)

    def make(self):
        yield "model.embed_tokens.weight", self.random(self.vocab, self.hidden)
        yield "model.norm.weight", self.random(self.hidden)
        if not self.tied:
            yield "lm_head.weight", self.random(self.vocab, self.hidden)
        for i in range(self.layers):
            at = f"model.layers.{i}."
            for name, rows in (("q", self.heads), ("k", self.kv), ("v", self.kv)):
                yield f"{at}self_attn.{name}_proj.weight", self.random(rows * self.size, self.hidden)
                if self.bias:
                    yield f"{at}self_attn.{name}_proj.bias", self.random(rows * self.size)
            yield f"{at}self_attn.o_proj.weight", self.random(self.hidden, self.heads * self.size)
            yield f"{at}input_layernorm.weight", self.random(self.hidden)
            yield f"{at}post_attention_layernorm.weight", self.random(self.hidden)
            if self.experts:
                yield f"{at}block_sparse_moe.gate.weight", self.random(self.experts, self.hidden)
            for e in range(self.experts):
                for name, shape in (("w1", (self.wide, self.hidden)), ("w2", (self.hidden, self.wide)), ("w3", (self.wide, self.hidden))):
                    yield f"{at}block_sparse_moe.experts.{e}.{name}.weight", self.random(*shape)
            if not self.experts:
                for name, shape in (("gate", (self.wide, self.hidden)), ("up", (self.wide, self.hidden)), ("down", (self.hidden, self.wide))):
                    yield f"{at}mlp.{name}_proj.weight", self.random(*shape)

    def config(self):
        told = {"num_attention_heads": self.heads, "num_key_value_heads": self.kv, "hidden_size": self.hidden}
        if self.heads * self.size != self.hidden:
            told["head_dim"] = self.size
        return told

    # --- as Hugging Face ------------------------------------------------------------------
    def save(self, folder):
        os.makedirs(folder)
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump(self.config(), f)
        form = pick(["zip", "legacy", "sharded", "safetensors"])
        if form == "safetensors":
            save_file(self.tensors, f"{folder}/model.safetensors")
        elif form == "sharded":
            names, files = list(self.tensors), 3
            where = {n: f"pytorch_model-{i % files + 1:05}-of-{files:05}.bin" for i, n in enumerate(names)}
            for file in set(where.values()):
                torch.save({n: self.tensors[n] for n in names if where[n] == file}, f"{folder}/{file}")
            with open(f"{folder}/pytorch_model.bin.index.json", "w", encoding="utf-8") as f:
                json.dump({"metadata": {"total_size": sum(t.nbytes for t in self.tensors.values())}, "weight_map": where}, f)
        else:
            torch.save(self.tensors, f"{folder}/pytorch_model.bin", _use_new_zipfile_serialization=form == "zip")

    # --- as llama.cpp ---------------------------------------------------------------------
    def permuted(self, name, a):
        """The rows of q and k, as llama.cpp's conversion has them."""
        heads = {"q": self.heads, "k": self.kv}.get(name.split("self_attn.")[-1][0]) if "self_attn." in name else None
        if not heads:
            return a
        return a.reshape(heads, 2, a.shape[0] // heads // 2, *a.shape[1:]).swapaxes(1, 2).reshape(a.shape)

    def converted(self):
        """(name, array of float32) in llama.cpp's terms; experts are one tensor."""
        table = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, self.layers)
        experts = {}
        for name, t in self.tensors.items():
            a = t.float().numpy()
            if ".experts." in name:
                at, e, w = name.rsplit(".", 3)[0], int(name.split(".")[-3]), name.split(".")[-2]
                experts.setdefault(f"{at}.{w}.weight", {})[e] = a
                continue
            yield table.get_name(name, try_suffixes=(".weight", ".bias")), self.permuted(name, a)
        for name, parts in experts.items():
            yield table.get_name(name, try_suffixes=(".weight",)), np.stack([parts[e] for e in range(self.experts)])

    def write(self, folder, quantised):
        """The dtype of each tensor that is written."""
        os.makedirs(folder)
        writer = gguf.GGUFWriter(f"{folder}/m.gguf", "llama", split_max_tensors=pick([0, 0, 5]))
        writer.add_head_count(self.heads)
        writer.add_head_count_kv(self.kv)
        writer.add_embedding_length(self.hidden)
        if self.heads * self.size != self.hidden:
            writer.add_key_length(self.size)
        kinds, narrow = {}, {torch.float32: None, torch.float16: np.float16, torch.bfloat16: "bf16"}[self.dtype]
        for name, a in self.converted():
            small = a.ndim == 1 or "ffn_gate_inp" in name
            if quantised and not small and a.shape[-1] % 32 == 0:
                scales = np.full((*a.shape[:-1], a.shape[-1] // 32, 1), 0.5, np.float16).view(np.uint8)
                q = (a * 2).astype(np.int8).reshape(*a.shape[:-1], -1, 32).view(np.uint8)
                writer.add_tensor(name, np.concatenate([scales, q], -1).reshape(*a.shape[:-1], -1), raw_dtype=gguf.GGMLQuantizationType.Q8_0)
                kinds[name] = "q8_0"
            elif small or narrow is None:
                writer.add_tensor(name, a)
                kinds[name] = "float32"
            elif narrow == "bf16":
                writer.add_tensor(name, gguf.quants.quantize(a, gguf.GGMLQuantizationType.BF16), raw_dtype=gguf.GGMLQuantizationType.BF16)
                kinds[name] = "bfloat16"
            else:
                writer.add_tensor(name, a.astype(narrow))
                kinds[name] = "float16"
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return kinds


# --- ckptdb's results -------------------------------------------------------------------------
def run(*args):
    done = subprocess.run([CKPTDB, *args], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{' '.join(args)}: {done.stderr[-600:]}"
    return done.stdout


def checkpoint_in(folder):
    rows = json.loads(run("--json", "-c", f"SELECT path FROM checkpoint WHERE path GLOB '{folder}/*'"))
    assert len(rows) == 1, rows
    return rows[0]["path"]


def exported(folder, ruleset, want):
    """`want`: name -> (array, dtype or None). Through a file, as float32, and by the view's word."""
    path = checkpoint_in(folder)
    out = f"{folder}.npz"
    run("export", path, out, "--map", ruleset, "--dtype", "float32", "--force")
    with np.load(out) as archive:
        assert sorted(archive.files) == sorted(want), f"{sorted(set(archive.files) ^ set(want))}"
        for name, (a, _) in want.items():
            assert np.array_equal(archive[name], a), f"{name}: {archive[name].shape}, {a.shape}"
    rows = json.loads(run("--json", "-c", "SELECT new_name, dtype, shape FROM conversion JOIN checkpoint c ON c.id = checkpoint_id WHERE "
                          f"ruleset = '{ruleset}' AND c.path = '{path}' AND status = 'ok'"))
    for row in rows:
        a, dtype = want[row["new_name"]]
        shape = json.loads(row["shape"]) if isinstance(row["shape"], str) else row["shape"]
        assert shape == list(a.shape), f"{row}: {a.shape}"
        assert dtype is None or row["dtype"] == dtype, f"{row}: {dtype}"


def check(m, folder):
    m.save(f"{folder}/hf")
    kinds = m.write(f"{folder}/gguf", False)
    many = m.write(f"{folder}/q8", True)
    run("import", folder)
    cpp = dict(m.converted())
    exported(f"{folder}/hf", "llama_hf_to_gguf", {n: (a, kinds[n]) for n, a in cpp.items()})
    hugging = {n: (t.float().numpy(), None) for n, t in m.tensors.items()}
    exported(f"{folder}/gguf", "llama_gguf_to_hf", hugging)
    exported(f"{folder}/q8", "llama_gguf_to_hf", hugging)
    return sum(kind == "q8_0" for kind in many.values())


def main():
    print(f"seed {SEED}")
    passed = failed = quantised = 0
    with tempfile.TemporaryDirectory() as root:
        root = os.path.realpath(root)
        os.environ["CKPTDB"] = root + "/catalog.db"
        for i in range(MODELS):
            m = Model()
            try:
                quantised += check(m, f"{root}/{i}")
                passed += 1
            except Exception as error:  # noqa: BLE001: any trouble is this model's
                failed += 1
                print(f"FAIL {i} {m.config()}: {type(error).__name__}: {str(error)[:600]}")
    print(f"{quantised} quantised tensors")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
