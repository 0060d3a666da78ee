# Optax's optimizers as T5X's OptaxWrapper stores them: every row of every optimizer and combinator.
# tests/interop/optax_states.py compares the same with Optax.
ckptdb=$CKPTDB_BIN
# names FILE NAME:SHAPE[:DTYPE]...: a names-only checkpoint, catalogued.
names() {
    local file=$1 sep='' each
    shift
    {
        printf '{"ckptdb": "names", "tensors": {'
        for each in "$@"; do
            IFS=: read -r name shape dtype <<<"$each"
            printf '%s"%s": {"dtype": "%s", "shape": [%s]}' "$sep" "$name" "${dtype:-float32}" "$shape"
            sep=', '
        done
        printf '}}'
    } >"$file"
    "$ckptdb" import "$file" >/dev/null 2>&1
}
# spec NAME JSON
spec() { "$ckptdb" optimizer load "$1" - <<<"$2"; }
id() { echo "(SELECT id FROM checkpoint WHERE path LIKE '%/$1.json')"; }
# state OPTIMIZER CHECKPOINT: all rows.
state() {
    "$ckptdb" --list "SELECT ifnull(name, '-'), coalesce(error, dtype || shape, 'null') || ifnull(' ' || axes, '')
        FROM optimizer_state WHERE optimizer = '$1' AND checkpoint_id = $(id "$2")"
}

names P.json a/kernel:256,128 a/bias:128:bfloat16 s:
lr='"learning_rate": 0.1' schedule='"learning_rate": {"$schedule": "cosine"}'
# t LABEL TX: the rows, each as NAME|DTYPE[SHAPE].
t() {
    echo "-- $1"
    spec t "{\"optax\": $2}" && state t P | sed 's|^state/param_states/||'
}
for opt in sgd adam amsgrad lamb lion adadelta adan novograd sign_sgd optimistic_gradient_descent adagrad \
    rmsprop fromage lars noisy_sgd adamw adabelief adafactor signum optimistic_adam_v2; do
    t "$opt" "{\"opt\": \"$opt\", \"args\": {$schedule}}"
done
for opt in rprop sm3; do t "$opt" "{\"opt\": \"$opt\", \"args\": {$lr}}"; done
# Those that keep what another keeps.
rows() {
    spec t "{\"optax\": {\"opt\": \"$1\", \"args\": {$schedule}}}" &&
        "$ckptdb" "SELECT group_concat(name || dtype || shape) FROM optimizer_state WHERE checkpoint_id = 1"
}
for opt in radam yogi nadam adamax; do [ "$(rows $opt)" = "$(rows adam)" ] || echo "$opt is not adam"; done
for opt in nadamw adamaxw; do [ "$(rows $opt)" = "$(rows adamw)" ] || echo "$opt is not adamw"; done
t 'momentum, in bfloat16' "{\"opt\": \"sgd\", \"args\": {$lr, \"momentum\": 0.9, \"accumulator_dtype\": \"bfloat16\"}}"
t 'mu_dtype' "{\"opt\": \"adam\", \"args\": {$lr, \"mu_dtype\": \"bfloat16\"}}"
t 'rmsprop, all' "{\"opt\": \"rmsprop\", \"args\": {$lr, \"centered\": true, \"momentum\": 0.9, \"bias_correction\": true}}"
t 'decay by a schedule, masked' "{\"opt\": \"adamw\", \"args\": {$lr, \"weight_decay\": {\"\$schedule\": 1}, \"mask\": {\"\$mask\": {\"contains\": \"kernel\"}}}}"
t 'adabelief with decay' "{\"opt\": \"adabelief\", \"args\": {$schedule, \"weight_decay\": 0.1}}"
t 'adafactor, all' "{\"opt\": \"adafactor\", \"args\": {$schedule, \"momentum\": 0.9, \"clipping_threshold\": null}}"
t 'bare' '{"transform": "trace", "args": {"decay": 0.9}}'
t 'schedule' '{"transform": "scale_by_schedule", "args": {"step_size_fn": {"$schedule": 1}}}'
t 'ema' '{"transform": "ema", "args": {"decay": 0.9}}'
adam="{\"opt\": \"adam\", \"args\": {$lr}}" clip='{"transform": "clip", "args": {"max_delta": 1}}'
t 'chain' "{\"chain\": [$clip, {\"chain\": [$clip, $adam]}]}"
t 'named chain' "{\"named_chain\": [[\"clip\", $clip], [\"main\", $adam]]}"
t 'masked' "{\"masked\": $adam, \"mask\": {\"endswith\": \"bias\"}}"
t 'masked out' "{\"masked\": $adam, \"mask\": {\"contains\": \"nothing\"}}"
t 'multi_transform' "{\"multi_transform\": [[true, $adam], [false, {\"transform\": \"trace\"}]], \"filter\": {\"startswith\": \"/a\"}}"
t 'inject_hyperparams' "{\"inject_hyperparams\": \"adamw\", \"args\": {$schedule}}"
t 'multi_steps' "{\"multi_steps\": $adam, \"every_k_schedule\": 4}"
t 'apply_if_finite' "{\"apply_if_finite\": $adam, \"max_consecutive_errors\": 5}"
echo '-- errors'
wrong() { spec wrong "{\"optax\": $1}"; }
wrong '{"opt": "adamz"}'
wrong '{"opt": "scale_by_adam"}'
wrong '{"transform": "scale_by_magic"}'
wrong '{"opt": "adam", "args": {"momentum": 0.9}}'
wrong '{"opt": "adam", "arguments": {}}'
wrong '{"opt": "adam", "args": []}'
wrong '{"opt": "adam", "args": {"learning_rate": {"schedule": 1}}}'
wrong '{"opt": "adamw", "args": {"mask": {"$mask": {"has": "x"}}}}'
wrong '{"opt": 1}'
wrong '{"chain": {}}'
wrong '{"chain": [1]}'
wrong '{"named_chain": ["a"]}'
wrong '{"masked": {"opt": "adam"}}'
wrong '{"multi_transform": [["a", {"opt": "adam"}], ["b", {"opt": "adam"}]]}'
wrong '{"inject_hyperparams": "nothing"}'
wrong '{"sam": {"opt": "adam"}}'
wrong '{}'
echo '-- axes'
spec axes '{"optax": {"opt": "adam"}, "axes": {"a/kernel": ["embed", "mlp"], "a/bias": ["mlp"]}}'
state axes P
spec axes '{"optax": {"opt": "adan"}, "axes": {"a/kernel": ["embed", "mlp"]}}'
echo '-- half precision'
names H.json a:2:bfloat16 b:3:float16
spec half '{"optax": {"inject_hyperparams": "adam"}}'
state half H | tail -n 1
echo '-- infer'
names saved.json target/w:4,3 state/step::int32 state/param_states/0/count::int32 state/param_states/0/mu/w:4,3 \
    state/param_states/0/nu/w:4,3 state/param_states/1/count::int32
"$ckptdb" optimizer infer saved.json | head -n 12
