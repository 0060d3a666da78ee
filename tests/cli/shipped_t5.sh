# T5 to T5X and back: the names of the golden cases, and checkpoints that Mesh TensorFlow wrote.
"$CKPTDB_BIN" import . >/dev/null 2>&1 # makes the catalog
{
    echo 'CREATE TEMP TABLE golden(id, name, t5x);'
    python3 -c '
import json, sys
for line in open(sys.argv[1]):
    case = json.loads(line)
    if "out" in case:
        print("INSERT INTO golden VALUES (%s);" % ", ".join(
            "'"'"'" + case[k].replace("'"'"'", "'"''"'") + "'"'"'" for k in ("id", "in", "out")))
' "$TESTS/golden/t5_importer.jsonl"
    cat <<'SQL'
.mode list
SELECT 'there, back and there again differs from there: '
    || count(*) FILTER (WHERE rule_replace('t5_to_t5x', rule_replace('t5x_to_t5', t5x)) IS NOT t5x)
    || ' of ' || count(*) FROM golden;
SELECT 'names that are spelt otherwise than T5 does:';
SELECT id, json_quote(name), rule_replace('t5x_to_t5', t5x) FROM golden
    WHERE rule_replace('t5x_to_t5', t5x) IS NOT name;
SELECT 'with rms_norm:';
SELECT 1 WHERE map_set('norm', 'rms_norm');
SELECT id, rule_replace(rule_bound('t5x_to_t5', NULL), t5x) AS t5 FROM golden
    WHERE name GLOB '*_norm/*' AND t5 IS name;
SELECT 'a decoder alone:';
SELECT 1 WHERE map_set('decoder', 'transformer');
SELECT id, rule_replace(rule_bound('t5x_to_t5', NULL), t5x) AS t5 FROM golden
    WHERE name GLOB 'transformer/*' AND t5 IS name;
SELECT 'not T5X''s:';
SELECT rule_status('t5x_to_t5', value), value, rule_error('t5x_to_t5', value) FROM json_each('[
    "target/encoder/layers_0/mlp/wi/kernel/v", "state/param_states/encoder/layers_0/mlp/wi/kernel",
    "state/param_states/encoder/layers_0/mlp/wi/kernel/m", "target/encoder/layers_0/mlp/wi/bias",
    "target/encoder/decoder_norm/scale", "target/encoder/layers_0/pre_self_attention_layer_norm/scale",
    "target/decoder/layers_0/pre_cross_attention_layer_norm/scale", "encoder/encoder_norm/scale"]');
SQL
} >golden.sql
"$CKPTDB_BIN" -f golden.sql
rm "$CKPTDB"

list() { # PATH's end
    "$CKPTDB_BIN" --list "SELECT name, dtype, shape, tensor_sha256(id) FROM tensor
        WHERE path LIKE '%$1' ORDER BY name"
}
back() { # CHECKPOINT [--set KEY=VALUE]: to T5X with the zeros that T5X adds, and back without them
    "$CKPTDB_BIN" export "$1" t5x.safetensors --map t5_to_t5x --force
    "$CKPTDB_BIN" import t5x.safetensors 2>/dev/null
    "$CKPTDB_BIN" export t5x.safetensors t5.safetensors --map t5x_to_t5 --force "${@:2}" \
        --where "NOT (name GLOB 'state/*' AND shape = '[1]')"
    "$CKPTDB_BIN" import t5.safetensors 2>/dev/null
    list "/$1" >before
    list /t5.safetensors | diff before - && echo "$1: the same $(wc -l <before) tensors"
}
for case in tf/t5_mesh tf/t5_mesh_v1_1 t5x/mtf_tiny_t5; do
    "$CKPTDB_BIN" import "$TESTS/fixtures/real/$case/data" >/dev/null 2>&1
done
echo '--- T5 1.0'
back model.ckpt-1000000
echo '--- T5 1.1, which has rms_norm'
back model.ckpt-20 --set norm=rms_norm
echo '--- a checkpoint whose second data file is lost: its names'
"$CKPTDB_BIN" --list "SELECT 1 WHERE map_set('norm', 'rms_norm')" "SELECT count(*), count(*) FILTER (WHERE rule_replace(rule_bound('t5x_to_t5', NULL),
        rule_replace('t5_to_t5x', name)) = name) FROM tensor WHERE path LIKE '%/model.ckpt-0'"
echo '--- without --where, the zeros are told by their shape'
"$CKPTDB_BIN" --list "SELECT 1 WHERE map_set('norm', 'rms_norm')" "SELECT status, count(*), count(*) FILTER (WHERE shape = '[1]') FROM conversion
    WHERE ruleset = 't5x_to_t5' AND checkpoint_id = (SELECT id FROM checkpoint
        WHERE path LIKE '%/t5x.safetensors') GROUP BY 1"
