# Optax's optimizers as T5X's OptaxWrapper stores them: every row of every optimizer and combinator.
# tests/interop/optax_states.py compares the same with Optax.
ckptdb=$CKPTDB_BIN
. "$TESTS/cli/optimizer.bash"

names P.json a/kernel:256,128 a/bias:128:bfloat16 s:
lr='"learning_rate": 0.1' schedule='"learning_rate": {"$schedule": "cosine"}'
# t LABEL TX: the rows, each as NAME|DTYPE[SHAPE]. All in one process, which prepares the query once.
count=0
t() {
    count=$((count + 1))
    echo "{\"optax\": $2}" >$count.tx
    cat >>script <<S
SELECT '-- $1';
.optimizer load t $count.tx
SELECT ifnull(name, '-'), coalesce(error, dtype || shape, 'null') || ifnull(' ' || axes, '')
    FROM optimizer_state WHERE optimizer = 't' AND checkpoint_id = 1;
S
}
for opt in sgd adam amsgrad lamb lion adadelta adan novograd sign_sgd optimistic_gradient_descent adagrad \
    rmsprop fromage lars noisy_sgd adamw adabelief adafactor signum optimistic_adam_v2; do
    t "$opt" "{\"opt\": \"$opt\", \"args\": {$schedule}}"
done
for opt in rprop sm3; do t "$opt" "{\"opt\": \"$opt\", \"args\": {$lr}}"; done
# Optimizers that keep what another keeps.
same() { # OPTIMIZER AS
    for opt in "$1" "$2"; do
        count=$((count + 1))
        echo "{\"optax\": {\"opt\": \"$opt\", \"args\": {$schedule}}}" >$count.tx
        echo ".optimizer load $opt $count.tx" >>script
    done
    cat >>script <<S
SELECT '$1 is not $2' FROM (SELECT group_concat(name || dtype || shape) AS a FROM optimizer_state
    WHERE checkpoint_id = 1 AND optimizer = '$1') JOIN (SELECT group_concat(name || dtype || shape) AS b FROM optimizer_state
    WHERE checkpoint_id = 1 AND optimizer = '$2') WHERE a IS NOT b;
S
}
for opt in radam yogi nadam adamax; do same $opt adam; done
for opt in nadamw adamaxw; do same $opt adamw; done
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
"$ckptdb" --list -f script 2>&1 | sed 's|^state/param_states/||'
