#!/usr/bin/env python3
"""Let several ranks of PyTorch save random state as distributed checkpoints, and compare every tensor with
what they hold together: name, dtype, shape and value. Tensors cut along one dimension or two, unevenly
too, replicated, strided, empty; FSDP's modules with their optimizer; every way to store them.

    dcp_values.py CKPTDB [SEED]

The seed is printed; one that failed can be given again. The last line is "N passed, N failed".
"""
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.checkpoint.filesystem import SerializationFormat
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

warnings.filterwarnings("ignore")
CASES = 8  # of each form
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
          torch.uint8, torch.bool, torch.float8_e4m3fn]
SAFE = [d for d in DTYPES if d != torch.bool]
FLOATS = [d for d in SAFE if d.is_floating_point]  # what PyTorch joins


# --- what the ranks save ----------------------------------------------------------------------
class State:
    """Random tensors, the same on every rank, and what they are."""

    def __init__(self, seed, meshes):
        self.rng, self.meshes, self.want = np.random.default_rng(seed), meshes, {}

    def pick(self, things):
        return things[int(self.rng.integers(len(things)))]

    def whole(self, dtypes):
        least = 1 if dtypes is FLOATS else 0  # PyTorch 2.14 joins scalars as zeros
        dims = [int(n) for n in self.rng.integers(0 if self.rng.random() < 0.1 else 1, 9, self.rng.integers(least, 4))]
        dtype = self.pick(dtypes)
        count = int(np.prod(dims))
        raw = torch.from_numpy(self.rng.integers(0, 2 if dtype == torch.bool else 120, count * dtype.itemsize, np.uint8))
        t = raw.view(dtype).reshape(dims) if count else torch.zeros(dims, dtype=dtype)
        if len(dims) >= 2 and dtypes is DTYPES and self.rng.random() < 0.3:
            t = t.transpose(0, 1)
        return t

    def placed(self, t):
        mesh = self.pick(self.meshes)
        one = lambda: Shard(int(self.rng.integers(t.dim()))) if t.dim() and self.rng.random() < 0.8 else Replicate()
        return distribute_tensor(t, mesh, [one() for _ in range(mesh.ndim)], src_data_rank=None)

    def tensor(self, name, dtypes):
        t = self.whole(dtypes)
        self.tell(name, t)
        return self.placed(t) if self.rng.random() < 0.8 and t.numel() else t

    def tell(self, name, t):
        t = t.full_tensor() if isinstance(t, DTensor) else t
        raw = t.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""
        self.want[name] = str(t.dtype)[6:], list(t.shape), hashlib.sha256(raw).hexdigest()

    def flat(self, dtypes):
        return {f"w{i}": self.tensor(f"w{i}", dtypes) for i in range(int(self.rng.integers(1, 9)))}

    def nested(self, dtypes):
        made = {"model": {}, "list": [], "step": int(self.rng.integers(99)), "text": "é", "nothing": None}
        for i in range(int(self.rng.integers(1, 9))):
            made["model"][f"a.b/{i}"] = self.tensor(f"model.a.b/{i}", dtypes)
        for i in range(int(self.rng.integers(1, 4))):
            made["list"].append(self.tensor(f"list.{i}", dtypes))
        return made


def trained(state, mesh):
    """A module that FSDP has cut, after two steps of its optimizer."""
    torch.manual_seed(int(state.rng.integers(1 << 30)))
    sizes = [int(n) for n in state.rng.integers(1, 9, 3)]
    model = torch.nn.Sequential(torch.nn.Linear(sizes[0], sizes[1]), torch.nn.LayerNorm(sizes[1]), torch.nn.Linear(sizes[1], sizes[2]))
    fully_shard(model, mesh=mesh)
    optimizer = state.pick([torch.optim.AdamW, torch.optim.Adam, torch.optim.RMSprop])(model.parameters())
    for _ in range(2):
        model(torch.randn(4, sizes[0])).sum().backward()
        optimizer.step()
    weights, slots = get_state_dict(model, optimizer)
    for name, t in weights.items():
        state.tell(f"model.{name}", t)
    for name, group in slots["state"].items():
        for slot, t in group.items():
            if isinstance(t, torch.Tensor):
                state.tell(f"optimizer.state.{name}.{slot}", t)
    return {"model": weights, "optimizer": slots}


def save(form, state, folder, mesh):
    if form == "plain":
        writer = dcp.FileSystemWriter(folder, single_file_per_rank=bool(state.rng.integers(2)), thread_count=int(state.rng.integers(1, 4)))
        dcp.save(state.nested(DTYPES), storage_writer=writer)
    elif form == "fsdp":
        dcp.save(trained(state, mesh), checkpoint_id=folder)
    elif form == "images":
        dcp.save(state.flat(SAFE), storage_writer=dcp.FileSystemWriter(folder, serialization_format=SerializationFormat.SAFETENSORS))
    else:
        made = state.flat(FLOATS if form == "joined" else SAFE)
        files = int(state.rng.integers(1, 4))
        index = {name: int(state.rng.integers(1, files + 1)) for name in made}
        writer = dcp.HuggingFaceStorageWriter(folder, fqn_to_index_mapping=index if files > 1 else None, save_distributed=True,
                                              enable_consolidation=form == "joined")
        dcp.save(made, storage_writer=writer)


FORMS = ["plain", "fsdp", "images", "hugging", "joined"]


def rank_main(rank, world, seed, root):
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    dist.init_process_group("gloo", init_method=f"file://{root}/meet{world}", rank=rank, world_size=world)
    flat = init_device_mesh("cpu", (world,))
    meshes = [flat] + ([init_device_mesh("cpu", (2, world // 2))] if world % 2 == 0 else [])
    wanted = {}
    for form in FORMS:
        for i in range(CASES):
            state = State([seed, world, FORMS.index(form), i], meshes)
            folder = f"{root}/{world}/{form}{i}"
            try:
                save(form, state, folder, flat)
                wanted[folder] = state.want
            except (Exception, dcp.CheckpointException) as error:  # noqa: BLE001: not written, not ours to read
                if rank == 0:
                    print(f"{form}{i}: PyTorch does not write it: {type(error).__name__} {str(error).strip().splitlines()[-1]}"[:160])
            dist.barrier()
    if rank == 0:
        with open(f"{root}/want{world}.json", "w", encoding="utf-8") as f:
            json.dump(wanted, f)
    dist.barrier()
    dist.destroy_process_group()


# --- what ckptdb says -------------------------------------------------------------------------
def rows_of(ckptdb, root):
    catalog = f"{root}/catalog.db"
    subprocess.run([ckptdb, "-d", catalog, "import", root], capture_output=True, check=False)
    query = "SELECT path, name, dtype, shape, tensor_sha256(id) AS sha FROM tensor"
    done = subprocess.run([ckptdb, "-d", catalog, "--json", "-c", query], capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr[-2000:])
    found = {}
    for row in json.loads(done.stdout or "[]"):
        shape = json.loads(row["shape"]) if isinstance(row["shape"], str) else row["shape"]
        found.setdefault(row["path"], {})[row["name"]] = [row["dtype"], shape, row["sha"]]
    issues = subprocess.run([ckptdb, "-d", catalog, "-c", "SELECT path, code, message FROM issue"], capture_output=True, text=True,
                            check=False)
    print(issues.stdout[:1500].rstrip())
    return found


def main():
    ckptdb = os.path.abspath(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("CKPTDB_SEED") or random.randrange(1 << 32))
    print(f"seed {seed}", flush=True)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as root:
        root, wanted = os.path.realpath(root), {}
        for world in (1, 3, 4):
            mp.spawn(rank_main, (world, seed, root), nprocs=world)
            with open(f"{root}/want{world}.json", encoding="utf-8") as f:
                wanted.update(json.load(f))
            os.remove(f"{root}/want{world}.json")
        found = rows_of(ckptdb, root)
        for folder, want in wanted.items():
            joined = {}
            for checkpoint, rows in found.items():
                if checkpoint == folder or os.path.dirname(checkpoint) == folder and not checkpoint.endswith("/sharded"):
                    joined.update(rows)
            for have in [joined] + ([found[folder + "/sharded"]] if folder + "/sharded" in found else []):
                wrong = [n for n in sorted(want.keys() | have.keys()) if want.get(n) != have.get(n)]
                passed += len(want) - len(wrong)
                failed += len(wrong)
                for name in wrong[:5]:
                    print(f"FAIL {folder}: {name!r}: {have.get(name)}, not {want.get(name)}"[:300])
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
