# optimizer infer on states that are not T5X's: Flax TrainState and Orbax, NNX, Optax's alone, PyTorch; and none.
ckptdb=$CKPTDB_BIN
. "$TESTS/cli/optimizer.bash"

# moments PREFIX SLOT... : the slots of two parameters
params=('enc/kernel:64,32' 'enc/bias:32')
moments() {
    local prefix=$1 slot p
    shift
    for slot; do for p in "${params[@]}"; do echo "$prefix/$slot/$p"; done; done
}
adam() { echo "$1/count::int32"; moments "$1" mu nu; }
model() { for p in "${params[@]}"; do echo "$1/$p"; done; }
# infer TITLE NAMES...: the first line for each place. NAMES are one or several, a line each.
infer() {
    local title=$1 lines
    shift
    mapfile -t lines < <(printf '%s\n' "$@")
    names "$title.json" "${lines[@]}"
    ranked "$title"
}
ranked() {
    local title=$1
    echo "-- $title"
    "$ckptdb" optimizer infer "$title.json" >all 2>&1
    local status=$?
    # The best of each place, and all that fit as well; sums and the first difference left out.
    awk -F'\t' 'NF < 10 { print; next } !($11 in best) { best[$11] = $3 } $3 == best[$11] { print $1, $2, $3, $11 }' all | head -n 6
    echo "status $status"
}
mapfile -t m < <(model params)
infer flax step::int32 "${m[@]}" "$(adam opt_state/0)" opt_state/2/count::int32
infer momentum step::int32 "${m[@]}" "$(moments opt_state/0 trace)"
infer counters step::int32 "${m[@]}" opt_state/1/count::int32
infer chain "${m[@]}" "$(adam opt_state/1/0)" opt_state/1/2/count::int32
infer named "${m[@]}" "$(adam opt_state/main/0)" opt_state/main/2/count::int32
infer inside train_state/params/enc/kernel:64,32 train_state/params/enc/bias:32 "$(adam train_state/opt_state/0)" \
    train_state/opt_state/2/count::int32
infer steps "${m[@]}" opt_state/mini_step::int32 opt_state/gradient_step::int32 "$(moments opt_state acc_grads)" \
    opt_state/inner_opt_state/0/count::int32 "$(moments opt_state/inner_opt_state/0 mu)"
infer injected "${m[@]}" opt_state/count::int32 opt_state/hyperparams/learning_rate: "$(moments opt_state/inner_state/0 trace)"
infer labels "${m[@]}" opt_state/inner_states/a/inner_state/0/{count::int32,{mu,nu}/enc/kernel:64\,32} \
    opt_state/inner_states/b/inner_state/0/trace/enc/bias:32
infer variables params/params/enc/kernel:64,32 params/params/enc/bias:32 opt_state/0/count::int32 \
    opt_state/0/{mu,nu}/params/enc/kernel:64,32 opt_state/0/{mu,nu}/params/enc/bias:32 opt_state/2/count::int32
infer nnx model/enc/{kernel/value:64\,32,bias/value:32} optimizer/step/value::int32 optimizer/opt_state/0/count/value::int32 \
    optimizer/opt_state/0/{mu,nu}/enc/{kernel/value:64\,32,bias/value:32} optimizer/opt_state/2/count/value::int32
infer alone "$(adam 0)" 2/count::int32
infer kauldron "${m[@]}" "$(adam opt_state/0)" opt_state/2/count::int32 collections/stats/mean:32
echo '-- chains of bare transformations, by number and by name, and one alone'
infer hand_made "${m[@]}" "$(adam opt_state/1)" opt_state/3/count::int32 "$(moments opt_state/4 trace)"
infer hand_named "${m[@]}" "$(adam opt_state/main)" "$(moments opt_state/rms nu)" opt_state/rms/count::int32
infer hand_bare "${m[@]}" "$(moments opt_state grad_acc)" opt_state/count::int32
infer hand_scalars "${m[@]}" opt_state/1/count::int32 "$(moments opt_state/1 mu)" opt_state/1/nu/enc/{kernel:,bias:} \
    "$(moments opt_state/3 trace)"
infer hand_vectors "${m[@]}" opt_state/0/mu/enc/{kernel/{0:64,1:32},bias/0:32} "$(moments opt_state/0 nu)" \
    opt_state/1/found_nan/enc/{kernel::bool,bias::bool}
infer hand_beside "${m[@]}" "$(adam opt_state/0/inner_state/0)" "$(moments opt_state/1 trace)" opt_state/2/count::int32
infer hand_t5x target/enc/kernel:64,32 target/enc/bias:32 state/step::int32 "$(adam state/param_states/0)" \
    "$(moments state/param_states/2 trace)"
infer hand_alone "$(adam 1)" "$(moments 2 trace)"
names torn.json "${m[@]}" "$(adam opt_state/1)" opt_state/2/nobodys::int32
"$ckptdb" --list "SELECT count(*) FROM infer_optimizer($(id torn)) WHERE optimizer GLOB 'optax.chain*'"
"$ckptdb" --list "SELECT spec FROM infer_optimizer($(id hand_made)) WHERE fits"
"$ckptdb" --list "SELECT spec FROM infer_optimizer($(id hand_named)) WHERE fits"
echo '-- shapes that differ, and what is missing'
names off.json "${m[@]}" opt_state/0/count::int32 opt_state/0/mu/enc/{kernel:64\,31,bias:32} opt_state/0/nu/enc/kernel:64,32
"$ckptdb" --list "SELECT missing, unexpected, shape, first, place FROM infer_optimizer($(id off)) WHERE optimizer = 'optax.adam'"
torch() { # PREFIX SLOT...: two parameters
    local prefix=$1 slot
    shift
    for slot; do printf '%s\n' "${prefix}0.$slot:4,4" "${prefix}1.$slot:4"; done
}
infer torch_adamw model.a.weight:4,4 model.a.bias:4 "$(torch optimizer.state. exp_avg exp_avg_sq)" optimizer.state.{0,1}.step:
infer torch_amsgrad "$(torch state. exp_avg exp_avg_sq max_exp_avg_sq step)"
infer torch_sgd "$(torch state. momentum_buffer)"
infer torch_lion "$(torch optimizer.state. exp_avg)"
infer torch_by_name "$(torch optim.state.layers. exp_avg exp_avg_sq)"
infer transformers_adafactor state.0.exp_avg_sq_row:4 state.0.exp_avg_sq_col:4 state.1.exp_avg_sq:4 state.{0,1}.step:
infer bitsandbytes state.0.{state1:64\,64,state2:64\,64,qmap1:256,qmap2:256,absmax1:2,absmax2:2} state.1.{state1:4,state2:4}
infer t5x_no_target enc/kernel:64,32 state/step::int32 state/param_states/0/{mu,nu}/enc/kernel:64,32 state/param_states/0/count::int32
echo '-- empty states and masked parameters, which Orbax saves as null'
tree() { # TITLE PARAMS STATE: JSON
    echo "{\"ckptdb\": \"names\", \"tree\": {${2:+\"params\": $2, \"opt_state\":} $3}}" >"$1.json"
    [ -n "$2" ] || echo "{\"ckptdb\": \"names\", \"tree\": $3}" >"$1.json"
    "$ckptdb" import "$1.json" 2>/dev/null
    ranked "$1"
}
w='{"kernel": "float32[64,32]", "bias": "float32[32]"}' k='{"kernel": "float32[64,32]", "bias": null}' c='"int32[]"'
adam="{\"count\": $c, \"mu\": $w, \"nu\": $w}" half="{\"count\": $c, \"mu\": $k, \"nu\": $k}"
tree null_adamw "$w" "[$adam, null, null]"
tree null_clip_adamw "$w" "[null, [$adam, null, {\"count\": $c}]]"
tree null_alone "" "{\"0\": null, \"1\": {\"0\": $adam, \"1\": null}}"
tree null_masked "$w" "{\"inner_state\": [$half, null]}"
tree null_labels "$w" "{\"inner_states\": {\"k\": {\"inner_state\": [$half, null, null]}, \"b\": {\"inner_state\": null}}}"
tree null_labels_alone "" "{\"inner_states\": {\"k\": {\"inner_state\": [$half, null, null]}, \"b\": {\"inner_state\": null}}}"
tree null_sgd "$w" "[null, null]"
tree null_in_moments "$w" "[$half, null]"
echo '-- none'
infer model "${m[@]}" step::int32
infer t5x target/enc/kernel:64,32
infer t5x_step_alone state/step::int32
infer t5x_no_params state/step::int32 state/param_states/enc/kernel/m:64,32
infer counter_alone step::int32 opt_state/0/count::int32
infer torch_model model.layers.0.state_proj.weight:4,4
"$ckptdb" --list "SELECT count(*) FROM infer_optimizer($(id model))"
echo '-- delete'
spec mine '{"adafactor": {}}'
"$ckptdb" optimizer delete mine; echo "status $?"
"$ckptdb" optimizer delete mine; echo "status $?"
"$ckptdb" --readonly optimizer delete mine; echo "status $?"
"$ckptdb" optimizer list
echo '-- many labels; a chain with more links than are looked at: reported for that checkpoint, not left out; and a state with as many folders of parameters'
for labels in 256 257 1500; do
    mapfile -t many < <(for ((i = 0; i < labels; i++)); do
        echo "params/p$i:4"; echo "opt_state/inner_states/l$i/inner_state/0/trace/p$i:4"; done)
    names "labels$labels.json" "${many[@]}"
    "$ckptdb" --list "SELECT count(DISTINCT place) FROM infer_optimizer((SELECT id FROM checkpoint WHERE name LIKE '%labels$labels.json')) WHERE fits" 2>&1
done
mapfile -t many < <(for ((i = 0; i < 300; i++)); do echo "params/p$i:4"; echo "opt_state/trace/p$i:4"; done)
names wide.json "${many[@]}"
"$ckptdb" --list "SELECT count(DISTINCT place), count(*) > 0 FROM infer_optimizer((SELECT id FROM checkpoint WHERE name LIKE '%wide.json')) WHERE fits"
mapfile -t many < <(for ((i = 0; i < 257; i++)); do echo "params/p$i:4"; echo "opt_state/$i/0/trace/p$i:4"; done)
names chain_opt_state.json "${many[@]}"
mapfile -t many < <(for ((i = 0; i < 257; i++)); do echo "$i/0/trace/p$i:4"; done)
names chain_.json "${many[@]}"
"$ckptdb" --list "SELECT DISTINCT path, fits, differences, error, place, first FROM (SELECT id, replace(path, rtrim(path, replace(path, '/', '')), '') AS path FROM checkpoint) c, infer_optimizer(c.id) WHERE first LIKE '%more than%'"
