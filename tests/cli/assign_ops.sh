# Operations in rules that fill the names of a model, and in what T5X's importer restores.
python3 - <<'PY'
import json, struct
data = {'a': 0, 'b': 1, 'c/a': 2, 'c/e': 3}
head, body = {}, b''
for name, value in data.items():
    head[name] = {'dtype': 'F32', 'shape': [2, 1], 'data_offsets': [len(body), len(body) + 8]}
    body += struct.pack('<2f', value, value + 0.5)
text = json.dumps(head).encode()
open('original.safetensors', 'wb').write(struct.pack('<Q', len(text)) + text + body)
PY
echo '{"ckptdb": "names", "tensors": {"a": {"dtype": "float32", "shape": [2, 1]}}}' >a.json
echo '{"ckptdb": "names", "tensors": {"n/a": {"dtype": "float32", "shape": [1, 2]}}}' >n.json
"$CKPTDB_BIN" import . 2>/dev/null
try() { # NAME JSON TARGET?
    echo "-- $1"
    "$CKPTDB_BIN" map load "$1" - <<<"$2"
    "$CKPTDB_BIN" map run "$1" original.safetensors ${3:+--target "$3"} | cut -f 1-7
    "$CKPTDB_BIN" export original.safetensors "$1.safetensors" --map "$1" ${3:+--target "$3"} && "$CKPTDB_BIN" import . 2>/dev/null
    "$CKPTDB_BIN" --list "SELECT name, dtype, shape, (SELECT group_concat(value, ' ') FROM tensor_values(id)) FROM tensor
        WHERE path LIKE '%/$1.safetensors'"
}
# Orbax's case O14, a value function that multiplies by ten.
try O14 '{"dialect": "orbax", "transforms": {"a": {"original_key": "c/e", "value": [["scale", 10]]}}}' a.json
try overruled '{"dialect": "orbax", "rules": [["(a|z)", "c/e", {"ops": [["scale", 10]]}], ["a", "b"]]}' a.json
try t5x '{"dialect": "t5x-assignment", "rules": [["n/(a)", "c/\\1", {"ops": [["transpose"], ["cast", "bfloat16"]]}]]}' n.json
try divides '{"dialect": "t5x-assignment", "rules": [["n/a", "b", {"ops": [["unstack", 0]]}]]}' n.json
try impossible '{"dialect": "orbax", "rules": [["a", "b", {"ops": [["reshape", [3]]]}]]}' a.json
try kauldron '{"dialect": "kauldron", "rules": [["a", "b", {"ops": [["scale", 2]]}]]}' a.json
try restored '{"dialect": "t5x-translator", "options": {"restore": true}, "rules": [["c/(.)", "target/\\1", {"ops": [["reshape", [2]], ["scale", -1]]}], [".*", null]]}'
"$CKPTDB_BIN" --list "SELECT name, shape, ops, origin FROM restore WHERE ruleset = 'restored' AND target_id IS NULL
    AND checkpoint_id = (SELECT id FROM checkpoint WHERE path LIKE '%/original.safetensors')"
