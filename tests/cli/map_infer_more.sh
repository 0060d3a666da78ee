# map infer: what it prints and writes; T5 and wrappers' prefixes; other weights; odd names.
id() { echo "(SELECT id FROM checkpoint WHERE path LIKE '%/$1')"; }
"$CKPTDB_BIN" import "$TESTS/fixtures/real/tf/t5_mesh" "$TESTS/fixtures/real/safetensors/llama_tiny" 2>/dev/null
echo '-- the nine rules of T5X, and back'
"$CKPTDB_BIN" export model.ckpt-1000000 t5x.safetensors --map t5_to_t5x --where 1 --no-sync 2>/dev/null
"$CKPTDB_BIN" import t5x.safetensors
"$CKPTDB_BIN" map infer model.ckpt-1000000 t5x.safetensors --name t5 2>&1 | grep -v missing,
"$CKPTDB_BIN" hash >/dev/null
"$CKPTDB_BIN" "SELECT count(*), sum(b.hash IS a.hash OR x.dtype IS NOT a.dtype) FROM translation x
    JOIN tensor a ON a.checkpoint_id = x.checkpoint_id AND a.name = x.old_name
    JOIN tensor b ON b.checkpoint_id = $(id t5x.safetensors) AND b.name = x.new_name AND b.dtype = x.dtype
    WHERE x.ruleset = 't5' AND x.checkpoint_id = $(id model.ckpt-1000000)"
echo '-- the other step has other weights, and the same names (but relpos_bias, which T5X moves later)'
"$CKPTDB_BIN" "SELECT count(*), sum(x.new_name IS t.new_name) FROM translation x
    JOIN translation t USING (checkpoint_id, old_name)
    WHERE x.ruleset = 't5' AND t.ruleset = 't5_to_t5x' AND checkpoint_id = $(id model.ckpt-1000500)"
try map infer model.ckpt-1000000 model.ckpt-1000500
echo '-- a file, and what is in it'
try map infer model.safetensors.index.json model.safetensors.index.json -o same.json
cat same.json
try map load same same.json
try --readonly map infer model.safetensors.index.json model.safetensors.index.json
try --readonly map infer model.safetensors.index.json model.safetensors.index.json --name x
try map infer model.safetensors.index.json none
echo '-- wrappers, and what neither has'
names() { # FILE NAME...: a skeleton; shapes count up, so that they tell which is which
    python3 -c 'import json, sys
json.dump({"ckptdb": "names", "tensors": {n: {"dtype": "float32", "shape": [i + 2]} for i, n in enumerate(sys.argv[2:])}}, open(sys.argv[1], "w"))' "$@"
    "$CKPTDB_BIN" import "$1" 2>/dev/null
}
names wrapped.json module._orig_mod.a.w module._orig_mod.b.w module._orig_mod.c.0.w module._orig_mod.c.1.w left.over
names bare.json a.w b.w c.0.w c.1.w
try map infer wrapped.json bare.json
try --json map infer wrapped.json bare.json
try "SELECT how, old_name, new_name FROM infer_pairs($(id wrapped.json), $(id bare.json))"
try "SELECT pattern, replacement FROM infer_rules($(id wrapped.json), $(id bare.json))"
try "SELECT * FROM infer_rules(1)"
try "SELECT new_name FROM infer_pairs($(id wrapped.json), $(id bare.json)) WHERE how = 'dropped' OR new_name = 'b.w'"
echo '-- odd names'
odd=('' $'a\nb' 'a\b' '(x)[1]*' x.1.y x.2.y x.٣.y é/0 % 'a%b' '\g<1>' '$' x $'x\n' z.0001 z.1 'q{0}' $'t\tu' 0 00 a/b/ a//b .)
names odd.json "${odd[@]}"
names other.json "${odd[@]/#/p/}"
"$CKPTDB_BIN" map infer odd.json other.json --name odd >/dev/null 2>&1
"$CKPTDB_BIN" "SELECT count(*), sum(x.status = 'ok'), sum(x.new_name IS p.new_name) FROM translation x
    JOIN infer_pairs($(id odd.json), $(id other.json)) p USING (old_name)
    WHERE ruleset = 'odd' AND checkpoint_id = $(id odd.json)"
echo '-- a name that no pattern can be'
python3 -c 'import json
for f, c in (("a", "x"), ("b", "y")): json.dump({"ckptdb": "names", "tensors": {c * 70000: {"dtype": "float32", "shape": [2]}}}, open(f"long_{f}.json", "w"))'
"$CKPTDB_BIN" import long_a.json long_b.json
try map infer long_a.json long_b.json
