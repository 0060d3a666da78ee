# Runs as trainers write them: a step's folder is a save of several items, and one is the model;
# files that hold no tensors are its facts; and files whose names count.
real=$TESTS/fixtures/real/torch/trainer/data
one=$TESTS/fixtures/real/safetensors/dtypes/data/six_bit.safetensors
put() { for each; do mkdir -p "$(dirname "$each")" && cp "$one" "$each"; done; }
import() { "$CKPTDB_BIN" import "$@" 2>&1 | tail -n 1; }
names() { "$CKPTDB_BIN" "SELECT name, item, run, step, tensors FROM checkpoint WHERE path GLOB '$PWD/$1' ORDER BY path"; }
issues() { "$CKPTDB_BIN" "SELECT substr(path, length('$PWD') + 2), code, count(*) FROM issue GROUP BY 1, 2"; }
cp -r "$real" runs && chmod -R u+w runs
import runs
names 'runs/*'
issues >before
import runs
issues | cmp - before && echo "the same issues"
first() { "$CKPTDB_BIN" tensors "$1" 2>&1 | head -n 1; }
"$CKPTDB_BIN" "SELECT name, item, run, step FROM checkpoint WHERE path GLOB '*version_0*' ORDER BY path"
for each in out-shakespeare@latest version_0@latest version_0@100:last sft-run@latest sft-run@30 sft-run@30:optimizer sft-run@10:rng_state sft-run@30:scheduler lora-run@latest runs/sft-run/checkpoint-30 ./runs/sft-run/checkpoint-30; do
    echo "$ $each: $(first "$each")"
done
try diff sft-run@10 sft-run@30
try "SELECT key, value FROM metadata WHERE checkpoint = 'sft-run@30' AND key IN ('trainer_state.json:global_step',
    'trainer_state.json:log_history.loss', 'trainer_state.json:log_history.step', 'training_args.bin:max_steps',
    'scheduler.pt:last_epoch', 'config.json:hidden_size') ORDER BY key"
echo "--- what describes a step changes, goes, and comes back"
touch -d @1000000000 runs/sft-run/checkpoint-30/trainer_state.json
import runs
issues | cmp - before && echo "the same issues"
mv runs/sft-run/checkpoint-30/scheduler.pt .
import runs
"$CKPTDB_BIN" "SELECT count(*) FROM metadata WHERE key GLOB 'scheduler.pt:*' AND checkpoint = 'sft-run@30'"
mv scheduler.pt runs/sft-run/checkpoint-30/
import runs
"$CKPTDB_BIN" "SELECT count(*) > 0 FROM metadata WHERE key GLOB 'scheduler.pt:*' AND checkpoint = 'sft-run@30'"
issues | cmp - before && echo "the same issues"
echo "--- one that holds tensors is a checkpoint; a log that is no list is said"
cp runs/sft-run/checkpoint-30/optimizer.pt runs/sft-run/checkpoint-10/scheduler.pt
echo '{"global_step": 10, "log_history": 3}' >runs/sft-run/checkpoint-10/trainer_state.json
import runs
names 'runs/sft-run/checkpoint-10/*'
issues | grep trainer_state
echo "--- which file of a step is the model depends on its neighbours"
put step/checkpoint-5/pytorch_model.safetensors step/checkpoint-5/head.safetensors
import step
names 'step/*'
put step/checkpoint-5/model.safetensors
import step
names 'step/*'
rm step/checkpoint-5/model.safetensors
import --prune step
names 'step/*'
echo "--- the same name in two forms: neither is taken for the other"
put two/checkpoint-5/model.safetensors
cp "$TESTS/fixtures/torch/y_big_endian.pt" two/checkpoint-5/model.pt
import two
names 'two/*'
echo "--- names that count"
put lt/version_0/checkpoints/{epoch=0-step=50,epoch=1-step=100}.safetensors gan/{gen,disc}_epoch_3.safetensors \
    det/model_{0001000,0002000,final}.safetensors nano/ckpt-300.safetensors odd/model-1.safetensors acc/checkpoints/checkpoint_0/model.safetensors
import lt gan det nano odd acc
for each in lt gan det nano odd acc; do names "$each/*"; done
put gan/gen_epoch_4.safetensors
rm gan/disc_epoch_3.safetensors
import --prune gan
names 'gan/*'
for each in version_0@latest lt/version_0@50 det@latest gan@4 gan@latest; do echo "$ $each: $(first "$each")"; done
echo "--- a log that is hostile"
for text in '{"log_history": [' '{"a\u0000b": 1}' '{"log_history": []}' '{"log_history": [1, {"loss": NaN, "deep": {"x": 1}}], "epoch": 2.5}' '[]'; do
    printf '%s' "$text" >det/trainer_state.json
    put det/model.safetensors
    import det
    "$CKPTDB_BIN" "SELECT key, value FROM metadata JOIN checkpoint c ON c.id = checkpoint_id WHERE c.path GLOB '*/det/*' AND key GLOB 'trainer*'"
    "$CKPTDB_BIN" "SELECT code, message FROM issue WHERE path GLOB '*/det/*'"
done
echo "--- the model of a step is a folder"
describe() { "$CKPTDB_BIN" "SELECT c.path GLOB '*$1', key, value FROM metadata JOIN checkpoint c ON c.id = checkpoint_id WHERE c.path GLOB '$PWD/fsdp/*'
    AND key IN ('trainer_state.json:global_step', 'scheduler.pt:last_epoch', 'training_args.bin:max_steps') ORDER BY 1, 2"; }
for each in pytorch_model_fsdp_0 optimizer_0; do
    mkdir -p "fsdp/checkpoint-30/$each" && cp "$TESTS"/fixtures/dcp/y_two/{.metadata,__0_0.distcp,__1_0.distcp} "fsdp/checkpoint-30/$each"
done
cp "$real"/sft-run/checkpoint-30/{trainer_state.json,training_args.bin} fsdp/checkpoint-30 && chmod -R u+w fsdp
import fsdp
names 'fsdp/*'
describe /pytorch_model_fsdp_0
echo "$ nothing changed: $(import fsdp)"
cp "$real/sft-run/checkpoint-30/scheduler.pt" fsdp/checkpoint-30
echo "$ a new one: $(import fsdp)"
describe /pytorch_model_fsdp_0
sed -i 's/"global_step": 30/"global_step": 31/' fsdp/checkpoint-30/trainer_state.json
echo "$ one changed: $(import fsdp/checkpoint-30/pytorch_model_fsdp_0)"
rm fsdp/checkpoint-30/scheduler.pt
echo "$ one gone: $(import fsdp)"
describe /pytorch_model_fsdp_0
cp fsdp/checkpoint-30/trainer_state.json fsdp/checkpoint-30/pytorch_model_fsdp_0
echo "$ one inside describes nothing: $(import fsdp)"
describe /pytorch_model_fsdp_0
rm fsdp/checkpoint-30/pytorch_model_fsdp_0/trainer_state.json
import fsdp
"$CKPTDB_BIN" verify fsdp@30 && echo verified
echo '{' >fsdp/checkpoint-30/trainer_state.json
import fsdp
"$CKPTDB_BIN" "SELECT substr(path, length('$PWD') + 2), code, message FROM issue WHERE path GLOB '$PWD/fsdp/*'"
mkdir -p zero/checkpoint-5
cp -r "$TESTS/fixtures/deepspeed/y_stage3" zero/checkpoint-5/global_step5
sed 's/"global_step": 30/"global_step": 5/' "$real/sft-run/checkpoint-30/trainer_state.json" >zero/checkpoint-5/trainer_state.json
import zero
names 'zero/*'
"$CKPTDB_BIN" "SELECT value FROM metadata JOIN checkpoint c ON c.id = checkpoint_id WHERE c.path GLOB '*/zero/*' AND key = 'trainer_state.json:global_step'"
echo "--- a name and a fact that say different steps: one warning; epochs are no steps"
cat >save.py <<'P'
import os, sys, make_torch
path, facts = sys.argv[1], [f.partition("=") for f in sys.argv[2:]]
os.makedirs(os.path.dirname(path), exist_ok=True)
value = {"w": make_torch.tensor(), **{k: int(v) for k, _, v in facts}}
open(path, "wb").write(make_torch.saved(value))
P
save() { python3 save.py "$@"; }
save says/ckpt-300.pt global_step=200 iter_num=7 step=300
save says/step-00500.pt step=400
save says/iter_0000100/model.pt iteration=90
save says/iter_0000100/mp_rank_00/model_optim_rng.pt iteration=80
save says/checkpoint-30/model.pt
save says/checkpoint-30/optimizer.pt step=3
sed 's/"global_step": 30/"global_step": 20/' "$real/sft-run/checkpoint-30/trainer_state.json" >says/checkpoint-30/trainer_state.json
save agrees/epoch_3.pt global_step=1200 epoch=3
save agrees/gen/epoch_3/model.pt global_step=1200
save agrees/lt/epoch=1-step=100.ckpt global_step=100 epoch=1
save agrees/lt/epoch=2-val_loss=0.25.ckpt global_step=150 epoch=2
save agrees/fair/checkpoint3.pt global_step=1200 epoch=2
save agrees/zero/step_1000.pt step=999
save agrees/ckpt.pt iter_num=250
differ() { "$CKPTDB_BIN" "SELECT path, severity, code, message FROM issue WHERE path GLOB '$PWD/says/*' OR path GLOB '$PWD/agrees/*' ORDER BY path"; }
import says agrees
differ | tee before
import says agrees
differ | cmp - before && echo "the same issues"
"$CKPTDB_BIN" "SELECT step FROM checkpoint WHERE path GLOB '$PWD/says/*' ORDER BY step"
sed -i 's/"global_step": 20/"global_step": 30/' says/checkpoint-30/trainer_state.json
import says
differ | diff before - | cut -d"$(printf '\t')" -f 1
echo "--- of an adapter's step only the weights are an adapter"
"$CKPTDB_BIN" --list "SELECT checkpoint, kind, count(*) FROM adapter GROUP BY 1, 2"
echo "--- model and optimizer in several files each, each set by its index"
mkdir -p sharded/checkpoint-7
for item in model optimizer; do
    for file in "$TESTS"/fixtures/safetensors_index/y_two/*; do
        name=$(basename "$file")
        sed "s/model-0/$item-0/g" "$file" >"sharded/checkpoint-7/${name/model/$item}"
    done
done
import sharded
names 'sharded/*'
for name in sharded@7 sharded@7:optimizer sharded@latest; do echo "$ $name: $(first $name)"; done
