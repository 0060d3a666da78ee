# Runs as trainers write them: a step's folder is a save of several items, of which one is the model;
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
for each in out-shakespeare@latest version_0@latest version_0@100:last sft-run@latest sft-run@30 sft-run@30:optimizer sft-run@10:rng_state sft-run@30:scheduler lora-run@latest; do
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
