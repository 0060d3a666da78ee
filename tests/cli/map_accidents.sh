# What goes wrong with maps elsewhere, as users tell it: each accident is flagged by map check, or cannot
# happen. The numbers refer to a list of public reports. Of the others, 27 (TensorFlow's names) is in
# export_map, 37 in shipped_t5, 39 (shards) in the tests of export; 43 and 45 do not concern maps.
state() { names "$1.json" "${@:2}"; } # FILE NAME[:SHAPE[:DTYPE]]...
real() { # FILE NAME SHAPE DTYPE HEX...: a safetensors file
    python3 - "$@" <<'PY'
import json, struct, sys
file, rest = sys.argv[1], sys.argv[2:]
head, data = {}, b''
for name, shape, dtype, hexa in zip(*[iter(rest)] * 4):
    new = bytes.fromhex(hexa)
    head[name] = {'dtype': dtype, 'shape': json.loads(shape), 'data_offsets': [len(data), len(data) + len(new)]}
    data += new
text = json.dumps(head).encode()
open(file, 'wb').write(struct.pack('<Q', len(text)) + text + data)
PY
    "$CKPTDB_BIN" import "$1" >/dev/null 2>&1
}
map() { "$CKPTDB_BIN" map load "$1" - <<<"$2"; } # NAME JSON
unchecked() { # NAME JSON: rules that map load refuses, as somebody's own INSERT makes them
    "$CKPTDB_BIN" map load "$1" - <<<"$2"
    sed 's/'"'"'/&&/g' <<<"$2" | { read -r -d '' json; "$CKPTDB_BIN" "INSERT INTO ruleset(name, dialect) VALUES ('$1', 't5x-translator');
        INSERT INTO rule(ruleset, ord, pattern, replacement, compute) SELECT '$1', key + 1, value ->> 0, value ->> 1, value -> '\$[2].compute'
        FROM json_each('$json', '\$.rules')"; }
}
check() {
    "$CKPTDB_BIN" --list map check "$@" 2>&1 | cut -d '|' -f 1-6
    echo "status ${PIPESTATUS[0]}"
}
run() { "$CKPTDB_BIN" --list map run "$@" 2>&1 | cut -d '|' -f 1-3; }
title() { printf '\n== %s\n' "$*"; }

title '25: prefixes of wrappers, alone and nested: one was taken off, the other is still there'
state ddp module.fc.weight:2,2 module._orig_mod.fc2.weight:2,2 _orig_mod.module.fc3.weight:2,2 module.module.fc4.weight:2
map strip '{"dialect": "t5x-translator", "rules": [["module\\.(.*)", "\\1"], ["(.*)", "\\1"]]}'
check strip ddp.json
map strip_all '{"dialect": "t5x-translator", "rules": [["(?:module\\.|_orig_mod\\.)*(.*)", "\\1"]]}'
check strip_all ddp.json

title '26: rewrite, remove and merge by pattern: what would be merged is two tensors for one name'
real hook.safetensors backbone.w '[2]' BF16 00000000 neck.w '[1]' BF16 0000 ema_backbone.w '[2]' BF16 803f803f
map hook '{"dialect": "t5x-translator", "rules": [["neck\\..*", null], ["(?:ema_)?backbone\\.(.*)", "encoder.\\1"]]}'
check hook hook.safetensors
"$CKPTDB_BIN" export hook.safetensors out.safetensors --map hook
echo "status $?"

title '28: one tensor to several names: an assignment map does it and says so; a translator cannot'
state dense mlp/w:2,2
state experts expert_0/w:2,2 expert_1/w:2,2
map upcycle '{"dialect": "t5x-assignment", "rules": [["expert_\\d/(.*)", "mlp/\\1"]]}'
check upcycle dense.json --target experts.json

title '29: the mapping that was applied, and why'
run upcycle dense.json --target experts.json
"$CKPTDB_BIN" --list map why dense.json expert_1/w --target experts.json | cut -d '|' -f 1-3,8-10

title '30: a prefix put in front of names that have it, or not taken from names that have it twice'
state sd model.diffusion_model.out.w:2 model.diffusion_model.model.diffusion_model.in.w:2
map prefix '{"dialect": "t5x-translator", "rules": [["(.*)", "model.diffusion_model.\\1"]]}'
check prefix sd.json
map unprefix '{"dialect": "t5x-translator", "rules": [["model\\.diffusion_model\\.(.*)", "\\1"]]}'
check unprefix sd.json

title '31: there and back, and keys are missing'
state sd21 unet.in.w:2 unet.ids:77 te.w:2
map there '{"dialect": "t5x-translator", "rules": [[".*\\.ids", null], ["unet\\.(.*)", "u.\\1"], ["te\\.(.*)", "t.\\1"]]}'
check there sd21.json
"$CKPTDB_BIN" --list "SELECT pattern, replacement, error FROM map_inverse('there', (SELECT id FROM checkpoint WHERE path LIKE '%/sd21.json'))"

title '32: a reverse rename that is not anchored, run on what has it already'
state speech encoder.encoder.layers.0.w:2 decoder.encoder_attn.w:2 encoder.norm.w:2
map reverse '{"encoder": "encoder.encoder"}'
check reverse speech.json
run reverse speech.json

title '33: loaded well, saved under wrong names: the way back is made of what the map did'
state hf m.0.w:2 m.1.w:2 head:2
map load '{"dialect": "t5x-translator", "rules": [["m\\.(\\d+)\\.w", "layers/\\1/kernel"], ["head", "lm_head"]]}'
state loaded layers/0/kernel:2 layers/1/kernel:2 lm_head:2
"$CKPTDB_BIN" "INSERT INTO ruleset(name, dialect) VALUES ('save', 't5x-translator')" "INSERT INTO rule(ruleset, ord, pattern, replacement)
    SELECT 'save', ord, pattern, replacement FROM map_inverse('load', (SELECT id FROM checkpoint WHERE path LIKE '%/hf.json')) WHERE error IS NULL"
run save loaded.json

title '34: a regex reversed by taking its groups out leaves \1 dangling, also where no name came yet'
unchecked dangling '{"dialect": "t5x-translator", "rules": [["m\\.\\d+\\.w", "layers/\\1/kernel"], ["x\\.(\\d)", "\\2"],
  ["y(", "y"], ["z\\.(\\w)", "\\g<k>\\g<n>\\g<q>", {"compute": [["n", "int", "\\1"], ["k", "name"]]}], ["head", "\\g<0>"]]}'
check dangling hf.json

title '35: a suffix that nobody mapped: told by name, or left behind by a rule that keeps the rest'
state quant l.0.mlp.weight:2,2 l.0.mlp.weight_scale_inv:1 l.1.mlp.weight:2,2 l.1.mlp.weight_scale_inv:1 l.1.mlp.SCB:1 l.0.norm:2
map gguf '{"dialect": "t5x-translator", "rules": [["l\\.(\\d+)\\.mlp\\.weight", "blk.\\1.ffn.weight"], ["l\\.(\\d+)\\.norm", "blk.\\1.norm"]]}'
check gguf quant.json
map gguf_keep '{"dialect": "t5x-translator", "rules": [["l\\.(\\d+)\\.mlp\\.weight", "blk.\\1.ffn.weight"], ["l\\.(\\d+)\\.norm", "blk.\\1.norm"], ["(.*)", "\\1"]]}'
check gguf_keep quant.json

title '36: the order of rules counts: the longer one comes too late'
map order '{"^model": "transformer", "^model\\.layers": "transformer.h"}'
state ordered model.layers.0.w:2 model.norm.w:2
check order ordered.json

title '38: layers scanned along axis 1, taken along axis 0'
map unscan0 '{"dialect": "convert", "rules": [["layers/(.*)", "layers_\\g<n>/\\1", {"compute": [["n", "part"]], "ops": [["unstack", 0]]}]]}'
map unscan1 '{"dialect": "convert", "rules": [["layers/(.*)", "layers_\\g<n>/\\1", {"compute": [["n", "part"]], "ops": [["unstack", 1]]}]]}'
state scanned layers/wi:8,2,4 layers/scale:8,2
state apart layers_0/wi:8,4 layers_1/wi:8,4 layers_0/scale:8 layers_1/scale:8
check unscan0 scanned.json --target apart.json
check unscan1 scanned.json --target apart.json

title '40: fused q, k, v: names and shapes are right in any order'
map fuse '{"dialect": "convert", "rules": [["(.*)/q", "\\1/qkv", {"ops": [["concat", 0, 0]]}], ["(.*)/k", "\\1/qkv", {"ops": [["concat", 0, 2]]}],
  ["(.*)/v", "\\1/qkv", {"ops": [["concat", 0, 1]]}]]}'
state qkv a/q:8,4 a/k:2,4 a/v:2,4
state fused a/qkv:12,4
check fuse qkv.json --target fused.json
map cut '{"dialect": "convert", "rules": [["(.*)/qkv", "\\1/\\g<n>", {"compute": [["n", "part"]], "ops": [["split", 0, 3, ["q", "k", "v"]]]}]]}'
check cut fused.json
title '40: q and k change places'
map swap '{"dialect": "t5x-translator", "rules": [["(.*)_q\\.w", "\\1_k.w"], ["(.*)_k\\.w", "\\1_q.w"], ["(.*)", "\\1"]]}'
state swapped l.0.attn_q.w:4,4 l.0.attn_k.w:4,4 l.1.attn_q.w:4,4 l.1.attn_k.w:4,4 l.1.attn_v.w:4,4
check swap swapped.json

title '41: a square matrix: nobody sees whether it is transposed'
state torch wi.weight:2,4 wo.weight:4,4 b.bias:4
state flax wi/kernel:4,2 wo/kernel:4,4 b/bias:4
map plain '{"dialect": "convert", "rules": [["(w.)\\.weight", "\\1/kernel"], ["(b)\\.(bias)", "\\1/\\2"]]}'
check plain torch.json --target flax.json
map some '{"dialect": "convert", "rules": [["wi\\.weight", "wi/kernel", {"ops": [["transpose"]]}], ["wo\\.weight", "wo/kernel"], ["(b)\\.(bias)", "\\1/\\2"]]}'
check some torch.json --target flax.json
map turn '{"dialect": "convert", "rules": [["(w.)\\.weight", "\\1/kernel", {"ops": [["transpose"]]}], ["(b)\\.(bias)", "\\1/\\2"]]}'
check turn torch.json --target flax.json # wi shows that it is right
check turn torch.json
state all_square wi.weight:4,4 wo.weight:4,4
check turn all_square.json

title '42: transposed, and transposed again: nothing in a name tells'
map twice '{"dialect": "convert", "rules": [["(.*)/conv", "\\g<0>", {"ops": [["permute", [0, 2, 1]]]}]]}'
state conv a/conv:2,3,4
state converted a/conv:2,4,3
check twice conv.json
check twice converted.json --target converted.json

title '44: bfloat16 and fp8 keep their bits'
real low.safetensors a '[2]' BF16 c07f0180 b '[3]' F8_E4M3 7f80ff c '[2]' F8_E5M2 7cff
map low '{"dialect": "t5x-translator", "rules": [["(.*)", "new/\\1"]]}'
"$CKPTDB_BIN" export low.safetensors low_new.safetensors --map low && "$CKPTDB_BIN" import low_new.safetensors 2>/dev/null
"$CKPTDB_BIN" --list "SELECT name, dtype, hex(tensor_bytes(id)) FROM tensor WHERE path LIKE '%/low%' ORDER BY checkpoint, name"
"$CKPTDB_BIN" export low.safetensors low.npz --map low && "$CKPTDB_BIN" import low.npz 2>/dev/null
"$CKPTDB_BIN" --list "SELECT name, dtype, hex(tensor_bytes(id)) FROM tensor WHERE path LIKE '%/low.npz' ORDER BY name"

echo '== nothing is transposed: all matrices are named, not the square ones alone; a model that has them so is believed'
names torch.json a.weight:2,4 b.weight:3,3 c.bias:3
names flax.json a/kernel:2,4 b/kernel:3,3 c/bias:3
names turned.json a/kernel:4,2 b/kernel:3,3 c/bias:3
echo '{"dialect": "convert", "rules": [["(.*)\\.weight", "\\1/kernel"], ["(.*)\\.bias", "\\1/bias"]]}' >only.json
"$CKPTDB_BIN" map load only only.json
for target in '' '--target flax.json' '--target turned.json'; do
    echo "-- $target"
    "$CKPTDB_BIN" --list map check only torch.json $target
    "$CKPTDB_BIN" --list map check only torch.json $target --names
done
