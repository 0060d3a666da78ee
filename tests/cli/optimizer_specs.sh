# Specs of optimizers that are refused, axes, dtypes, and what infer makes of a state.
ckptdb=$CKPTDB_BIN
. "$TESTS/cli/optimizer.bash"

names P.json a/kernel:256,128 a/bias:128:bfloat16 s:
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
wrong '{"chain": []}'
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
