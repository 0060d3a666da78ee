# Naming a rule set that is not of the view, or does not exist, is an error, not "no rows". Where a query goes
# through all rule sets, sets of other views have no rows.
echo '{"ckptdb": "names", "tensors": {"encoder/final_layer_norm/scale": {"dtype": "float32", "shape": [4]}, "w": {"dtype": "float32", "shape": [2]}}}' >m.json
"$CKPTDB_BIN" import m.json 2>/dev/null
echo '{"dialect": "kauldron", "rules": [["a", "w"]]}' >k.json
"$CKPTDB_BIN" map load filled k.json
ask() {
    echo "$ $1"
    "$CKPTDB_BIN" --list "$1"
}
while read -r each; do ask "$each"; done <<'Q'
SELECT count(*) FROM translation WHERE ruleset = 't5_to_t5x'
SELECT count(*) FROM translation WHERE ruleset = 'llama_hf_to_gguf'
SELECT count(*) FROM translation WHERE ruleset = 'filled'
SELECT count(*) FROM translation WHERE ruleset = 't5_to_t5z'
SELECT count(*) FROM translation WHERE ruleset = ''
SELECT count(*) FROM translation WHERE ruleset = (SELECT 'llama_hf_to_gguf')
SELECT count(*) FROM translation WHERE ruleset = NULL
SELECT count(*) FROM conversion WHERE ruleset = 't5_to_t5x'
SELECT count(*) FROM conversion WHERE ruleset = 'llama_hf_to_guf'
SELECT count(*) FROM assignment WHERE ruleset = 't5_to_t5x'
SELECT count(*) FROM assignment WHERE ruleset = 'filed'
SELECT count(*) FROM restore WHERE ruleset = 'llama_hf_to_gguf'
SELECT count(*) FROM restore WHERE ruleset = 'filled' AND checkpoint_id = 1
SELECT count(*) FROM restore WHERE ruleset = 'nosuch'
SELECT count(*) FROM conversion_counts('t5_to_t5x')
SELECT count(*) FROM checkpoint c JOIN translation t ON t.checkpoint_id = c.id AND t.ruleset = 'llama_hf_to_gguf'
SELECT count(*) FROM checkpoint c LEFT JOIN conversion t ON t.checkpoint_id = c.id AND t.ruleset = 't5_to_t5x'
SELECT count(*) FROM ruleset r JOIN translation t ON t.ruleset = r.name WHERE r.name = 'llama_hf_to_gguf'
SELECT count(*) FROM ruleset r JOIN translation t ON t.ruleset = r.name
SELECT count(*) = (SELECT count(*) FROM ruleset r JOIN translation t ON t.ruleset = r.name) FROM translation
SELECT count(*) = (SELECT 2 * count(*) FROM ruleset WHERE dialect = 'convert') FROM ruleset r JOIN conversion t ON t.ruleset = r.name
SELECT count(*) FROM ruleset r LEFT JOIN translation t ON t.ruleset = r.name WHERE t.ruleset IS NULL AND r.dialect = 't5x-translator'
SELECT count(*) > 0 FROM translation t LEFT JOIN ruleset r ON t.ruleset = r.name
SELECT count(*) > 0 FROM ruleset r FULL JOIN translation t ON t.ruleset = r.name
SELECT count(*) > 0 FROM checkpoint c, ruleset r JOIN translation t ON t.checkpoint_id = c.id AND t.ruleset = r.name
SELECT count(*) > 0 FROM translation a JOIN translation b ON a.ruleset = b.ruleset AND a.ord = b.ord
SELECT count(*) > 0 FROM (SELECT DISTINCT name FROM ruleset LIMIT 40) r JOIN translation t ON t.ruleset = r.name
SELECT count(*) > 0 FROM ruleset r JOIN conversion_counts(r.name)
SELECT r.name FROM ruleset r WHERE EXISTS (SELECT 1 FROM assignment a WHERE a.ruleset = r.name)
SELECT max((SELECT count(*) FROM translation t WHERE t.ruleset = r.name)) FROM ruleset r
SELECT count(*) FROM translation WHERE ruleset IN ('llama_hf_to_gguf', 't5_to_t5x')
SELECT count(*) FROM translation WHERE ruleset IN (SELECT name FROM ruleset) AND ruleset = 't5_to_t5x'
SELECT DISTINCT ruleset FROM translation WHERE ruleset GLOB 't5_to*'
SELECT DISTINCT ruleset FROM translation WHERE checkpoint_id = 1 AND (ruleset = 't5_to_t5x' OR ruleset = 't5x_to_t5')
SELECT sum(status = 'only_b') FROM diff(1, 1, 'llama_hf_to_gguf')
Q
echo '-- a parameter'
cat >parameter.sql <<'Q'
.parameter set :set 't5_to_t5x'
SELECT count(*) FROM translation WHERE ruleset = :set;
.parameter set :set 'filled'
SELECT count(*) FROM translation WHERE ruleset = :set;
Q
bash "$TESTS/plain_sqlite.sh" "$CKPTDB" '.read parameter.sql' 2>&1
echo '-- commands'
"$CKPTDB_BIN" get m.json nosuch --map llama_hf_to_gguf
"$CKPTDB_BIN" diff m.json m.json --map llama_hf_to_gguf
"$CKPTDB_BIN" map why m.json w --map llama_hf_to_gguf | head -n 3
