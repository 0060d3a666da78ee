# What maps take from each checkpoint's own metadata, --set, and what contradicts.
model() { # FOLDER [SED EXPRESSION]: the small Llama, its config.json edited; '' leaves that out
    cp -r "$TESTS/fixtures/real/safetensors/llama_tiny/data" "$1"
    if [ -n "${2-}" ]; then sed -i "$2" "$1/config.json"; else rm -f "$1/config.json"; fi
    "$CKPTDB_BIN" import "$1" 2>/dev/null
}
first() { # FOLDER [OPTION]...: one value that the number of heads moves
    "$CKPTDB_BIN" get "$1/model.safetensors.index.json" blk.0.attn_k.weight --map llama_hf_to_gguf \
        --slice '1, :2' "${@:2}" 2>&1 | grep -v '  *blk'
    echo "status ${PIPESTATUS[0]}"
}
echo '-- two models with other heads in one catalog: each its own'
model four 's/^$//'
model two 's/"num_attention_heads": 4/"num_attention_heads": 2/; s/"num_key_value_heads": 2/"num_key_value_heads": 1/; s/"head_dim": 12/"head_dim": 24/'
model none
model all 's/"num_attention_heads": 4/"num_attention_heads": 2/; s/"num_key_value_heads": 2,/"x": 1,/; s/"head_dim": 12/"head_dim": null/'
model text 's/"num_attention_heads": 4/"num_attention_heads": "4"/'
model list 's/"num_attention_heads": 4/"num_attention_heads": [4, 4]/'
model odd 's/"num_attention_heads": 4/"num_attention_heads": 5/; s/"head_dim": 12/"head_dim": null/'
first four
first two
python3 - <<'P'
import struct, pathlib
# K of a head's halves interleaved: row 1 is row head_dim/2 of the original.
data = pathlib.Path('four/model-00001-of-00003.safetensors').read_bytes()
for part in sorted(pathlib.Path('four').glob('*.safetensors')):
    import json
    raw = part.read_bytes()
    n, = struct.unpack('<Q', raw[:8])
    head = json.loads(raw[8:8 + n])
    t = head.get('model.layers.0.self_attn.k_proj.weight')
    if t:
        k = raw[8 + n + t['data_offsets'][0]:]
        for heads in (2, 1):
            row = t['shape'][0] // heads // 2 * t['shape'][1]
            print(*('%.4g' % struct.unpack('<f', b'\0\0' + k[2 * (row + i):2 * (row + i) + 2]) for i in range(2)))
P
echo '-- exported both: what the files hold differs'
for each in four two; do
    "$CKPTDB_BIN" export $each/model.safetensors.index.json $each.gguf.safetensors --map llama_hf_to_gguf
    "$CKPTDB_BIN" import $each.gguf.safetensors 2>/dev/null
done
"$CKPTDB_BIN" "SELECT count(DISTINCT tensor_sha256(id)) FROM tensor WHERE path LIKE '%.gguf.safetensors' AND name = 'blk.0.attn_k.weight'"
echo '-- no config.json: an error by name, until somebody says it'
first none
first none --set num_attention_heads=4
first none --set num_key_value_heads=2
"$CKPTDB_BIN" map run llama_hf_to_gguf none/model.safetensors.index.json | grep -c 'KeyError: num_.*--set num_.*=N says it'
"$CKPTDB_BIN" export none/model.safetensors.index.json none.safetensors --map llama_hf_to_gguf 2>&1 | head -n 1
"$CKPTDB_BIN" export none/model.safetensors.index.json none.safetensors --map llama_hf_to_gguf \
    --set num_attention_heads=4 --set=num_key_value_heads=2
"$CKPTDB_BIN" map check llama_hf_to_gguf none/model.safetensors.index.json --set num_attention_heads=4 --set num_key_value_heads=2 | cut -f 1,2 | grep -c error
echo '-- it holds for one command'
printf '.map run llama_hf_to_gguf none/model.safetensors.index.json --set num_attention_heads=4 --set num_key_value_heads=2\n.map run llama_hf_to_gguf none/model.safetensors.index.json\n' |
    "$CKPTDB_BIN" | cut -f 2 | sort | uniq -c | sed 's/^ *//'
echo '-- a config.json without num_key_value_heads has as many of those'
"$CKPTDB_BIN" "SELECT rule_bound('llama_hf_to_gguf', id) ->> '\$.settings[1][2]' FROM checkpoint WHERE path LIKE '%/all/%'"
first all
echo '-- --set goes before config.json; what then does not fit is refused'
first four --set num_attention_heads=2 --set num_key_value_heads=1 --set head_dim=24
first four --set num_attention_heads=2 --set num_key_value_heads=1
first four --set num_key_value_heads=4
first none --set num_key_value_heads=7
echo '-- what is not a number'
for each in text list odd; do
    echo "$each"
    "$CKPTDB_BIN" map run llama_hf_to_gguf $each/model.safetensors.index.json | grep q_proj | cut -f 2,10 | head -n 1
done
first four --set num_attention_heads=many
first four --set num_attention_heads=
echo '-- usage'
first four --set num_attention_heads
first four --set =4
first four --set num_attention_heads=4 --set num_attention_heads=8
first four --set heads=4
"$CKPTDB_BIN" map run strip_prefixes four/model.safetensors.index.json --set heads=4
"$CKPTDB_BIN" get four/model.safetensors.index.json model.norm.weight --set num_attention_heads=4
"$CKPTDB_BIN" map list --set num_attention_heads=4
echo '-- two keys that differ'
"$CKPTDB_BIN" "INSERT INTO ruleset(name, dialect, options) VALUES ('two_keys', 'convert', '{\"settings\":
    {\"heads\": {\"number\": true, \"from\": [\"config.json:num_attention_heads\", \"config.json:num_key_value_heads\"]}}}')" \
    "INSERT INTO rule(ruleset, ord, pattern, replacement, compute) VALUES ('two_keys', 1, '.*', '\\g<n>', '[[\"n\", \"setting\", \"heads\"]]')" \
    "SELECT error FROM conversion WHERE ruleset = 'two_keys' AND checkpoint_id = (SELECT id FROM checkpoint WHERE path LIKE '%/four/%') LIMIT 1"
echo '-- config.json is another one since, or gone'
sed -i 's/"num_attention_heads": 4/"num_attention_heads": 2 /' four/config.json
first four
rm two/config.json
first two
"$CKPTDB_BIN" export two/model.safetensors.index.json two.safetensors --map llama_hf_to_gguf
echo '-- T5: what model_type and tie_word_embeddings say'
mkdir umt5 && echo '{"model_type": "umt5", "tie_word_embeddings": true}' >umt5/config.json
cp "$TESTS"/fixtures/real/safetensors/llama_tiny/data/model-00001-of-00003.safetensors umt5/model.safetensors
"$CKPTDB_BIN" import umt5 2>/dev/null
for id in "(SELECT id FROM checkpoint WHERE path LIKE '%/umt5/%')" NULL; do
    "$CKPTDB_BIN" "WITH s(s) AS MATERIALIZED (SELECT rule_bound('hf_t5_to_t5x', $id)) SELECT value, rule_status(s, value), rule_replace(s, value)
        FROM s, json_each('[\"lm_head.weight\", \"decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight\", \"decoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight\"]')"
done
