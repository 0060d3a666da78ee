# Optimizers' states as rows: T5X's Adafactor (cases F), MultiOptimizer (M), verify-state, infer.
ckptdb=$CKPTDB_BIN
. "$TESTS/cli/optimizer.bash"
# f ID SHAPE ARGS [AXES]: one parameter, in one line. All in one process, which prepares the query once.
f() {
    echo "{\"ckptdb\": \"names\", \"tensors\": {\"p\": {\"dtype\": \"float32\", \"shape\": [$2]}}}" >"$1.json"
    echo "{\"adafactor\": {$3}${4:+, \"axes\": {\"p\": [$4]\}}}" >"$1.spec"
    cat >>script <<S
.optimizer load $1 $1.spec
SELECT '$1 ' || group_concat(coalesce(error, iif(dtype = 'float32', '', dtype) || shape), ' ')
    FROM optimizer_state WHERE optimizer = '$1' AND checkpoint_id = $(id "$1") AND name IS NOT 'state/step';
S
}
rule() { echo "\"factor_map\": [[\"p\", $1]]"; }

f F1 '' ''
f F2 128 ''
f F3 24,16 '"min_dim_size_to_factor": 8'
f F4 24,16 '"min_dim_size_to_factor": 32'
f F5 24,16 '"min_dim_size_to_factor": 32, "beta1": 0.1'
f F6 32128,512 ''
f F7 512,512 ''
f F8 127,4096 ''
f F9 128,128 ''
f F10a 512,128 '"beta1": 0.9'
f F10b 512,128 '"beta1": 0.0'
f F11 4,512,512 '"factored": false'
f F12 24,4,16 ''
f F13 24,4,16 "$(rule '["COLUMN", "BATCH", "ROW"]')"
f F14 24,4,16 "$(rule '["ROW", "BATCH", "COLUMN"]')"
f F15 24,4,16 "$(rule '["COLUMN", "ROW", "ROW"]')"
f F16 24,4,16 "$(rule '["COLUMN", "COLUMN", "ROW"]')"
f F17a 24,4,16 "$(rule '["NONE", "NONE", "NONE"]')"
f F17b 24,4,16 "$(rule '["BATCH", "BATCH", "BATCH"]')"
f F17c 24,4,16 "$(rule '["BATCH", "NONE", "NONE"]')"
f F18 24,4,16 "$(rule '["ROW", "NONE", "NONE"]')"
f F19a 24,16 "$(rule '["ROW", "COLUMN"]'), \"min_dim_size_to_factor\": 8"
f F19b 24,16 "$(rule '["COLUMN", "ROW"]'), \"min_dim_size_to_factor\": 8"
f F20 12,512 "$(rule '["BATCH", "NONE"]')"
standard='"logical_factor_rules": "standard"'
f F21 12,512,2048 "$standard" '"layers", "embed", "mlp"'
f F22 12,512 "$standard" '"layers", "embed"'
f F23 512,8,64 "$standard" '"embed", "heads", "kv"'
f F24 8,64,512 "$standard" '"heads", "kv", "embed"'
f F25 12,8,32 "$standard" '"layers", "heads", "relpos_buckets"'
f F26 4,5,6 "$standard" '"layers", "embed", "mlp"'
f F27 4,5,6 "$standard" '"embed", "mlp", "relpos_buckets"'
f F28 4,5 "$standard" '"foo", "embed"'
f F29a 64,64 '"min_dim_size_to_factor": 32'
f F29b 31,64 '"min_dim_size_to_factor": 32'
f F30 8,32 "$(rule '"heuristic"')"
# Beyond the table: rules that do not fit, that nothing matches, null; axes of the state.
f R1 256,256 "$(rule '["ROW"]')"
f R2 256,256 '"factor_map": [["q", null]]'
f R3 256,256 '"factor_map": [["q", null], ["", null]]'
f R4 256,256 '"dtype_momentum": "bfloat16", "beta1": 0.9'
f R5 256,256 "$(rule '["NONE", "NONE"]')"
f R6 4,5,6 '"logical_factor_rules": {"a": "row", "b": "Col", "c": "unfactorized"}' '"a", "b", "b"'
f R7 4,5,6 "$standard" '"embed", "mlp"'
f R9 4,5 '"logical_factor_rules": {"a": "Across"}'
f R10 4,5 '"logical_factor_rules": {"a": "Across"}' '"a", "a"'
f R8 4,5 "$standard, \"factored\": false" '"foo", "embed"'
"$ckptdb" import [FR][0-9]*.json >/dev/null 2>&1
"$ckptdb" --list -f script
names other.json q:4,4
spec axes '{"adafactor": {"logical_factor_rules": "standard", "beta1": 0.9}, "axes": {"q": ["embed", "mlp"]}}'
state axes other
state axes F1
spec momentum '{"adafactor": {"dtype_momentum": "bfloat16"}}'
state momentum other
echo '-- axes are looked up before parameters are'
names two.json a:2,2,2 b:2,2
spec axes '{"adafactor": {"logical_factor_rules": "standard"}, "axes": {"a": ["embed"], "b": ["embed", "foo"]}}'
state axes two

names quotes.json 'a/\"q\"':2 b:2
spec twice "{\"multi\": [$(for _ in 1 2; do echo '{"filter": {"contains": "q"}, "optimizer": {"adafactor": {}}}'; done | paste -sd,)]}"
state twice quotes
echo '-- what no Adafactor takes'
spec wrong '{"adafactor": {"beta3": 1}}'
spec wrong '{"adafactor": {"factored": false, "factor_map": [["a", null]]}}'
spec wrong '{"adafactor": {"factor_map": [["a", ["ROW", "ACROSS"]]]}}'
spec wrong '{"adafactor": {"logical_factor_rules": "usual"}}'
spec wrong '{"adamw": {}}'
spec wrong '{"adafactor": []}'
spec wrong '{"adafactor": {}, "optax": {}}'
spec wrong '[]'
spec wrong '{'
spec wrong '{"multi": [{"filter": {"has": "x"}, "optimizer": {"adafactor": {}}}]}'
spec wrong '{"multi": [{"optimizer": {"adafactor": {}}}]}'
spec wrong '{"multi": [{"filter": {"contains": "x"}, "optimizer": {"optax": {"opt": "adam"}}}]}'
spec wrong '{"multi": [{"filter": {"contains": "x"}, "optimizer": {"optax": {"opt": "adamz"}}}]}'
spec wrong '{"multi": [{"filter": {"search": "("}, "optimizer": {"adafactor": {}}}]}'
"$ckptdb" optimizer show wrong; echo "status $?"

# MultiOptimizer.
names M.json target/enc/kernel:256,256 target/enc/bias:256 target/dec/kernel:4,4
part() { echo "{\"filter\": $1, \"optimizer\": {\"adafactor\": {${2:-}}}}"; }
m() { # ID PART...
    local name=$1 parts
    shift
    parts=$(IFS=,; echo "$*")
    spec "$name" "{\"multi\": [$parts]}"
    echo "-- $name"
    state "$name" M
}
m M1 "$(part '{"contains": "kernel"}')"
m M2 "$(part '{"contains": "kernel"}')" "$(part '{"contains": "bias"}' '"beta1": 0.9')"
m M3 "$(part '{"contains": "kernel"}')" "$(part '{"startswith": "/enc"}')"
m M4 "$(part '{"contains": "nothing"}')"
m M5 "$(part '{"startswith": "enc"}')"
m M6 "$(part '{"not": {"endswith": "/bias"}}' '"factor_map": [["q", null]]')" "$(part '{"search": "b.as$"}')"
echo '-- no parameters'
names none.json
state F1 none

echo '-- verify-state'
names saved.json target/enc/w:64,32 target/enc/b:32 target/dec/w:16,8 state/step::int32 \
    state/param_states/enc/w/v_row:32 state/param_states/enc/w/v_col:64 state/param_states/enc/w/v:1 \
    state/param_states/enc/w/m:64,32 state/param_states/enc/b/v_row:1 state/param_states/enc/b/v_col:1 \
    state/param_states/enc/b/v:32 state/param_states/enc/b/m:32 state/param_states/dec/w/v_row:1 \
    state/param_states/dec/w/v_col:1 state/param_states/dec/w/v:16,8 state/param_states/dec/w/m:16,8
spec plain '{"adafactor": {}}'
spec right '{"adafactor": {"min_dim_size_to_factor": 20, "beta1": 0.9}}'
spec half '{"multi": [{"filter": {"contains": "enc"}, "optimizer": {"adafactor": {"min_dim_size_to_factor": 20, "beta1": 0.9}}}]}'
"$ckptdb" optimizer verify-state plain saved.json; echo "status $?"
"$ckptdb" optimizer verify-state right saved.json; echo "status $?"
"$ckptdb" optimizer verify-state half saved.json; echo "status $?"
cat >null.json <<'END'
{"ckptdb": "names", "tree": {"target": {"a": "float32[4]", "b": "bfloat16[2]", "c": "float32[2]"}, "state": {"step": "int64[]",
 "more": "?", "param_states": {"a": null, "b": {"v_row": "float32[1]", "v_col": "float32[1]", "v": "bfloat16[2]"},
 "c": {"v_row": "float32[1]", "v_col": "float32[1]", "v": "float32[2]", "m": "float32[1]"}}}}}
END
"$ckptdb" import null.json >/dev/null 2>&1
"$ckptdb" optimizer verify-state plain null.json; echo "status $?"
echo '-- infer'
"$ckptdb" "DELETE FROM optimizer WHERE name NOT IN ('plain', 'right', 'half')"
"$ckptdb" optimizer infer saved.json | head -n 8
echo '-- commands'
"$ckptdb" optimizer verify-state nobody saved.json; echo "status $?"
"$ckptdb" optimizer verify-state plain nowhere.json; echo "status $?"
"$ckptdb" optimizer; echo "status $?"
"$ckptdb" optimizer infer; echo "status $?"
"$ckptdb" optimizer mend x; echo "status $?"
"$ckptdb" optimizer load x nowhere.txt; echo "status $?"
"$ckptdb" optimizer show right
"$ckptdb" optimizer list
"$ckptdb" --list "SELECT optimizer, count(*), count(error) FROM optimizer_state WHERE checkpoint_id = $(id M) GROUP BY 1"
"$ckptdb" "SELECT count(*) FROM optimizer_params(1) WHERE turn > 0"
