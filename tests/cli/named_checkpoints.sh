# Functions take what commands take as CHECKPOINT; checkpoint_id() says which that is.
one=$TESTS/fixtures/real/safetensors/dtypes/data/six_bit.safetensors
for each in run/checkpoint-{9,10,100}/model.safetensors a/model.safetensors b/model.safetensors; do
    mkdir -p "$(dirname "$each")" && cp "$one" "$each"
done
echo '{"ckptdb": "names", "tree": {"params": {"w": "float32[2]", "none": null}}}' >tree.json
"$CKPTDB_BIN" import . 2>&1
ask() { "$CKPTDB_BIN" --list "$1"; echo "status $?"; }
same() { # the same rows by name and by id
    local by_name=${1//A@/"'run@9'"} by_id
    by_name=${by_name//B@/"'./tree.json'"}
    by_id=${1//A@/"(SELECT id FROM checkpoint WHERE step = 9)"}
    by_id=${by_id//B@/"(SELECT id FROM checkpoint WHERE format = 'names')"}
    diff <("$CKPTDB_BIN" --list "$by_name" 2>&1) <("$CKPTDB_BIN" --list "$by_id" 2>&1) >/dev/null && echo "same: $1" || echo "OTHER: $1"
}
echo '-- checkpoint_id'
for each in "'run@9'" "'run@latest'" "'run'" "'$PWD/a/model.safetensors'" "'./a'" "'tree.json'" NULL 1 "'1'" 99 "'99'" "''" "'model.safetensors'" \
    "'run@11'" "'tree.jsn'" "x''" 1.5 "'tree.json' || char(0) || 'z'"; do
    ask "SELECT (SELECT name FROM checkpoint WHERE id = checkpoint_id($each)), checkpoint_id($each) IS NULL"
done
echo '-- table functions'
for each in 'SELECT * FROM diff(A@, B@)' 'SELECT * FROM differing(A@, B@)' 'SELECT * FROM flatten(B@)' 'SELECT * FROM hashed(A@)' \
    'SELECT * FROM infer_optimizer(A@)' 'SELECT * FROM intersect_state(A@, B@)' 'SELECT * FROM merge_state(A@, B@)' \
    'SELECT * FROM name_tree(B@)' "SELECT * FROM map_why(A@, 'six.e2m3')" "SELECT * FROM map_why(B@, 'params/w', 't5_to_t5x', A@)" \
    "SELECT * FROM map_inverse('t5_to_t5x', A@)" 'SELECT * FROM optimizer_params(B@)' 'SELECT name, shape FROM tensors_of(A@)' \
    'SELECT * FROM unlike(A@, B@)' 'SELECT * FROM infer_pairs(A@, B@)' 'SELECT * FROM infer_rules(A@, B@)' \
    "SELECT * FROM translation_counts('t5_to_t5x', A@)" "SELECT * FROM conversion_counts('llama_hf_to_gguf', A@)"; do
    same "$each"
done
ask "SELECT status, name_a, name_b FROM diff('run@9', 'tree.json')"
ask "SELECT count(*) FROM checkpoint c JOIN tensors_of(c.name) t"
echo '-- what names none, or several'
for each in "diff('run@7', 1)" "diff(1, 'model.safetensors')" "flatten('tree')" "flatten('')" "infer_pairs('a', 'nosuch')" \
    "translation_counts('t5_to_t5x', 'nosuch')" "flatten(NULL)" "flatten(99)"; do
    ask "SELECT * FROM $each"
done
echo '-- a column holds ids'
ask "SELECT count(*) FROM translation WHERE ruleset = 't5_to_t5x' AND checkpoint_id = 'run@9'"
ask "SELECT count(*) FROM tensor WHERE checkpoint_id = checkpoint_id('tree.json')"
echo '-- another SQLite'
bash "$TESTS/plain_sqlite.sh" "$CKPTDB" "SELECT name FROM checkpoint WHERE id = checkpoint_id('run@latest')" "SELECT * FROM flatten('tree.json')" \
    "SELECT checkpoint_id('nosuch')" 2>&1
