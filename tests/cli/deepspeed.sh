# Folders of several ranks: DeepSpeed's parts put together, or not; Megatron's ranks and what is beside its shards.
fixtures=$TESTS/fixtures
mkdir run
cp -r "$fixtures/deepspeed/y_stage2" run/global_step7
cp -r "$fixtures/deepspeed/y_stage3" run/global_step9
echo global_step9 >run/latest
try import run
try "SELECT name, format, run, step, tensors, state FROM checkpoint"
try "SELECT t.name, dtype, shape, storage, (SELECT count(*) FROM extent e WHERE e.tensor_id = t.id) AS pieces
    FROM tensor t WHERE checkpoint_id = 1"
try "SELECT c.name, key, value FROM metadata JOIN checkpoint c ON c.id = checkpoint_id WHERE key IN ('ds_version', 'global_steps') ORDER BY c.name, key"
try get run@7 zero.c.exp_avg
try get run@9 zero.c.exp_avg
try get run@9 zero.a.fp32 --slice '1:, 2:4'
echo "--- a rank that is changed, missing, not fetched"
touch -d @1000000000 run/global_step7/zero_pp_rank_1_mp_rank_00_optim_states.pt
try get run@7 zero.s.fp32
try get run@7 zero.c.fp32
try get run@7 module.b
rm run/global_step7/zero_pp_rank_1_mp_rank_00_optim_states.pt
echo 'version https://git-lfs.github.com/spec/v1' >run/global_step9/zero_pp_rank_0_mp_rank_00_optim_states.pt
try import run
try "SELECT name, state, tensors FROM checkpoint"
try "SELECT storage, count(*) FROM tensor GROUP BY storage"
try export run@7 out.npz
echo "--- Megatron"
mkdir -p gpt/iter_0000100/mp_rank_0{0,1}
for rank in 0 1; do cp "$fixtures/torch/y_big_endian.pt" gpt/iter_0000100/mp_rank_0$rank/model_optim_rng.pt; done
cp -r "$fixtures/dcp/y_two" gpt/iter_0000200
mkdir gpt/mp_rank_00
cp "$fixtures/torch/y_big_endian.pt" gpt/mp_rank_00/model_optim_rng.pt
cp "$fixtures/torch/y_big_endian.pt" gpt/iter_0000200/common.pt
echo '{"sharded_backend": "torch_dist", "sharded_backend_version": 1}' >gpt/iter_0000200/metadata.json
try import gpt
try "SELECT name, format, step, item FROM checkpoint WHERE path LIKE '%/gpt/%'"
try "SELECT name, shape FROM tensor WHERE name LIKE 'common.%'"
try "SELECT key, value FROM metadata WHERE key LIKE 'metadata.json%'"
echo "--- parameters of an impossible shape, the first of all among them: the others are there"
mkdir global_step3
python3 - <<'PY'
import pickle
def save(name, value):
    with open(f"global_step3/{name}", "wb") as f:
        for part in (0x1950a86a20f9469cfc6c, 1001, {"little_endian": True}, value, []):
            pickle.dump(part, f, 2)
shapes = {f"p{i}": (2**62, 2**62) if i % 8 == 0 else (2, 3) for i in range(300)}
save("mp_rank_00_model_states.pt", {"param_shapes": [shapes]})
save("zero_pp_rank_0_mp_rank_00_optim_states.pt", {"optimizer_state_dict": {"zero_stage": 2, "partition_count": 1}})
PY
"$CKPTDB_BIN" import global_step3 2>/dev/null
try "SELECT code, count(*) FROM issue WHERE path LIKE '%/global_step3%' GROUP BY code"
echo "--- more slots than any optimizer has"
mkdir global_step4
python3 - "$fixtures" <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from make_torch import Raw, op, saved, tensor
slots = {f"s{i}": Raw(op(tensor()) + b"q\1") if i == 0 else Raw(b"h\1") for i in range(100)}
open("global_step4/mp_rank_00_model_states.pt", "wb").write(saved({"param_shapes": [{"p": (2,)}]}))
open("global_step4/zero_pp_rank_0_mp_rank_00_optim_states.pt", "wb").write(saved({"optimizer_state_dict": {
    "zero_stage": 2, "partition_count": 1, "base_optimizer_state": {0: slots}}}))
PY
try import global_step4
try "SELECT tensors FROM checkpoint WHERE path LIKE '%/global_step4'"
echo "--- tensors in no known place, and model states that are not the same in all ranks of stage 3"
mkdir global_step5
python3 - <<'PY'
from make_torch import saved, storage, tensor
def save(name, value):
    open(f"global_step5/{name}", "wb").write(saved(value))
def model(rank, **more):
    save(f"zero_pp_rank_{rank}_mp_rank_00_model_states.pt", {
        "module": {"w": tensor((0,)), "copied": tensor(), **more}, "param_shapes": [{"w": (2, 2)}]})
def optim(rank, **more):
    save(f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt", {"optimizer_state_dict": {
        "zero_stage": 3, "partition_count": 2, "fp32_flat_groups": [tensor()], "scale": tensor((), ()),
        "one": tensor((1,)), "optimizer_state_dict": {"state": {0: {"step": tensor((), ()), **more}}}}})
model(0, other=tensor(), kind=tensor())
model(1, other=tensor((1, 2), (2, 1)), kind=tensor(where=storage(kind="Int")), alone=tensor())
optim(0)
optim(1, exp_avg_row=tensor((1, 2), (2, 1)))
PY
try import global_step5
try "SELECT t.name, t.shape, t.storage FROM tensor t JOIN checkpoint c ON c.id = checkpoint_id WHERE c.path LIKE '%/global_step5'"
echo "--- tied parameters, which the flat runs have once; two ranks of tensor parallelism in stage 3"
mkdir global_step11 global_step12
python3 - <<'PY'
from make_torch import saved, storage, tensor
def save(folder, name, value):
    open(f"{folder}/{name}", "wb").write(saved(value, data={"0": bytes(range(24)), "1": bytes(range(24, 48))}))
six = tensor((6,), where=storage(numel=6))
shapes = [{"w": (2, 2), "v": (2,)}]
save("global_step11", "mp_rank_00_model_states.pt", {
    "module": {}, "param_shapes": shapes, "shared_params": {"tied": "w", "again": "w", "lost": "gone"}})
save("global_step11", "zero_pp_rank_0_mp_rank_00_optim_states.pt", {"optimizer_state_dict": {
    "zero_stage": 2, "partition_count": 1, "single_partition_of_fp32_groups": [six],
    "base_optimizer_state": {"state": {0: {"exp_avg": six}}}}})
for mp in 0, 1:
    save("global_step12", f"zero_pp_rank_0_mp_rank_0{mp}_model_states.pt", {
        "module": {"w": tensor((0,)), "copied": tensor(where=storage(str(mp)))}, "param_shapes": shapes,
        "shared_params": {"tied": "v", "cold": "ice"}, "frozen_param_shapes": {"ice": (2,)},
        "frozen_param_fragments": {"ice": tensor(where=storage(str(mp)))}})
    save("global_step12", f"zero_pp_rank_0_mp_rank_0{mp}_optim_states.pt", {"optimizer_state_dict": {
        "zero_stage": 3, "partition_count": 1, "fp32_flat_groups": [tensor((6,), where=storage(str(mp), numel=6))]}})
PY
for step in 11 12; do
    try import global_step$step
    try "SELECT t.name, t.shape, t.storage, hex(tensor_bytes(t.id)) FROM tensor t JOIN checkpoint c ON c.id = checkpoint_id
         WHERE c.path LIKE '%/global_step$step'"
done
