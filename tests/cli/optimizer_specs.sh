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
# States whose axes have another structure, with what the original says (jax 0.10.2).
axes='"axes": {"a/kernel": ["embed", "mlp"], "a/bias": ["mlp"]}'
judge() { # LABEL TX [ELSE]
    echo "-- $1"
    echo "{\"optax\": $2${3-, $axes}}" >judge.spec
    "$ckptdb" optimizer delete judge >/dev/null 2>&1
    "$ckptdb" optimizer load judge judge.spec
    state judge P | grep -v '^state/step'
}
zero='{"transform": "zero_nans"}' sm3='{"transform": "scale_by_sm3"}' trace='{"transform": "trace"}'
steps="{\"multi_steps\": $trace}" none='"mask": {"contains": "nothing"}' kernel='"mask": {"contains": "kernel"}'
judge 'zero_nans' "$zero"
judge 'zero_nans masked to nothing' "{\"masked\": $zero, $none}"
judge 'zero_nans in a named chain' "{\"chain\": [{\"named_chain\": [[\"n\", $zero]]}]}"
judge 'sm3' "$sm3"
judge 'sm3 masked to nothing' "{\"masked\": $sm3, $none}"
judge 'sm3 masked to a scalar' "{\"masked\": $sm3, \"mask\": {\"endswith\": \"s\"}}"
judge 'sm3 in a named chain' "{\"named_chain\": [[\"n\", $sm3]]}"
judge 'multi_steps masked' "{\"masked\": $steps, $kernel}"
judge 'multi_steps masked, nothing left out' "{\"masked\": $steps, \"mask\": {\"not\": {\"contains\": \"nothing\"}}}"
judge 'multi_steps for a label' "{\"multi_transform\": [[\"a\", $steps], [\"b\", $trace]], \"filter\": {\"contains\": \"kernel\"}}"
judge 'multi_steps masked in a named chain' "{\"named_chain\": [[\"n\", {\"masked\": $steps, $kernel}]]}"
inner="{\"named_chain\": [[\"n\", $trace]]}"
judge 'a named chain for a label' "{\"multi_transform\": [[\"a\", $inner], [\"b\", $trace]], \"filter\": {\"contains\": \"kernel\"}}" ''
judge 'a named chain in one' "{\"named_chain\": [[\"m\", $inner]]}" ''
judge 'a named chain in a tuple in one' "{\"named_chain\": [[\"m\", {\"chain\": [$inner]}]]}" ''
echo '-- half precision'
names H.json a:2:bfloat16 b:3:float16
spec half '{"optax": {"inject_hyperparams": "adam"}}'
state half H | tail -n 1
echo '-- infer'
names saved.json target/w:4,3 state/step::int32 state/param_states/0/count::int32 state/param_states/0/mu/w:4,3 \
    state/param_states/0/nu/w:4,3 state/param_states/1/count::int32
"$ckptdb" optimizer infer saved.json | head -n 12
echo '-- axes of 50,000 parameters: each is found, and not by comparing all'
python3 - <<'PY'
import json
names = [f"l{i // 50}/w{i % 50}" for i in range(50000)]
json.dump({"ckptdb": "names", "tensors": {n: {"dtype": "float32", "shape": [2, 3]} for n in names}}, open("many.json", "w"))
json.dump({"axes": {n: ["embed", "mlp"] for n in names[:-1]}, "adafactor": {}}, open("axes.spec", "w"))
json.dump({"axes": {n: ["embed", "mlp"] for n in names[:-1]}, "optax": {"opt": "adamw"}}, open("axes_optax.spec", "w"))
PY
"$CKPTDB_BIN" import many.json >/dev/null 2>&1
for spec in axes axes_optax; do
    "$CKPTDB_BIN" optimizer load $spec $spec.spec
    (ulimit -t $((8 * SLOW)) && "$CKPTDB_BIN" "SELECT count(*), count(axes), count(error) FROM optimizer_state
        WHERE optimizer = '$spec' AND checkpoint_id = (SELECT id FROM checkpoint WHERE name = 'many.json')")
done
