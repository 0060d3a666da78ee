# Exports under the names that maps make.
export STATUS=always
# safetensors FILE DTYPE BYTES DATA NAME...: that many scalars, in printf's spelling of DATA.
safetensors() {
    local file=$1 dtype=$2 bytes=$3 data=$4 header='{' at=0 name
    shift 4
    for name; do
        [ $at = 0 ] || header+=,
        header+="\"$name\":{\"dtype\":\"$dtype\",\"shape\":[],\"data_offsets\":[$at,$((at + bytes))]}"
        at=$((at + bytes))
    done
    header+='}'
    while [ $((${#header} % 8)) != 0 ]; do header+=' '; done
    { printf "\\x$(printf %02x $((${#header} % 256)))\\x$(printf %02x $((${#header} / 256)))"
      printf '\0\0\0\0\0\0%s' "$header"
      for name; do printf "$data"; done; } >"$file"
}
look() {
    "$CKPTDB_BIN" import "$1" >/dev/null 2>&1
    "$CKPTDB_BIN" --list "SELECT name, dtype, shape FROM tensor
        WHERE path = '$PWD/$1' ORDER BY name"
    "$CKPTDB_BIN" --list "SELECT key, value FROM metadata m JOIN checkpoint c
        ON c.id = m.checkpoint_id WHERE c.path = '$PWD/$1' ORDER BY key"
}

echo '--- a shipped translation, with its cast'
safetensors t5.safetensors I64 8 '\7\0\0\0\0\0\0\0' global_step shared/embedding \
    encoder/block_000/layer_000/SelfAttention/q decoder/block_001/layer_002/DenseReluDense/wi/kernel
try import t5.safetensors
try export t5.safetensors t5x.safetensors --map t5_to_t5x
look t5x.safetensors
try export t5.safetensors enc.npz --map t5_to_t5x --names '^encoder'
look enc.npz
try export t5.safetensors t.npz --map t5_to_t5x --where "name GLOB '*step'" --dry-run
try export t5.safetensors t.npz --map t5_to_t5x --target t5.safetensors

echo '--- what a translation refuses'
"$CKPTDB_BIN" -f - <<'SQL'
INSERT INTO ruleset(name, dialect) VALUES ('mine', 't5x-translator'), ('fill', 't5x-assignment');
INSERT INTO rule(ruleset, ord, pattern, replacement) VALUES
  ('mine', 1, 'a/(.*)', 'x/\1'), ('mine', 2, 'b/(.*)', 'x/\1'), ('mine', 3, 'c/.*', NULL),
  ('mine', 4, 'd/(.*)', '\9'),
  ('fill', 1, 'model/(.*)', 'a/\1'), ('fill', 2, 'head/.*', NULL), ('fill', 3, 'none/.*', 'q');
SQL
safetensors old.safetensors F32 4 '\0\0\0\0' a/k a/l b/k c/k d/k e/k
try import old.safetensors
try export old.safetensors old.npz --map mine
try export old.safetensors old.npz --map mine --names '^[abc]'
try export old.safetensors old.npz --map mine --names '^[ac]/'
look old.npz

echo '--- an assignment'
cat >new.json <<'JSON'
{"ckptdb": "names", "tensors": {"model/k": {"dtype": "float32", "shape": []}, "b/k": null,
 "head/w": {"dtype": "float32", "shape": [3]}, "nowhere": {"dtype": null, "shape": null}}}
JSON
sed -i 's/"b\/k": null/"b\/k": {"dtype": null, "shape": null}/' new.json
try import new.json
try export old.safetensors new.npz --map fill
try export old.safetensors new.npz --map fill --target new.json
"$CKPTDB_BIN" "DELETE FROM rule WHERE ruleset = 'fill' AND ord = 3"
try export old.safetensors new.npz --map fill --target new.json
look new.npz
echo '--- all that the T5 importer gives, with the slots that the checkpoint lacks'
"$CKPTDB_BIN" import "$TESTS/fixtures/real/tf/t5_mesh" >/dev/null 2>&1
"$CKPTDB_BIN" export model.ckpt-1000000 whole.safetensors --map t5_to_t5x
"$CKPTDB_BIN" import whole.safetensors >/dev/null 2>&1
"$CKPTDB_BIN" --list "SELECT count(*), sum(name LIKE 'target/%'), sum(shape = '[1]' AND name LIKE 'state/%') FROM tensor
    WHERE path LIKE '%/whole.safetensors'" \
    "SELECT count(*) FROM restore WHERE ruleset = 't5_to_t5x' AND target_id IS NULL
        AND checkpoint_id = (SELECT id FROM checkpoint WHERE path LIKE '%/t5_mesh/%' ORDER BY path LIMIT 1)" \
    "SELECT count(*) FROM (SELECT name, dtype, shape FROM tensor WHERE path LIKE '%/whole.safetensors'
        EXCEPT SELECT name, dtype, shape FROM restore WHERE ruleset = 't5_to_t5x' AND target_id IS NULL
        AND checkpoint_id = (SELECT id FROM checkpoint WHERE path LIKE '%/t5_mesh/%' ORDER BY path LIMIT 1))"
"$CKPTDB_BIN" get whole.safetensors state/param_states/token_embedder/embedding/m
"$CKPTDB_BIN" export model.ckpt-1000000 again.safetensors --map t5_to_t5x --target whole.safetensors
cmp whole.safetensors again.safetensors && echo the same onto itself
echo '--- a row that is dropped is not written, so its shape does not matter'
head='{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[3],"data_offsets":[2,5]}}'
printf "\\$(printf %o ${#head})\0\0\0\0\0\0\0%s12345" "$head" >undone.safetensors
"$CKPTDB_BIN" import undone.safetensors
echo '{"dialect": "t5x-assignment", "rules": [["a", "b"]]}' >undone.json
"$CKPTDB_BIN" map load undone undone.json
"$CKPTDB_BIN" map run undone undone.safetensors --target undone.safetensors
"$CKPTDB_BIN" export undone.safetensors undone.npz --map undone --target undone.safetensors
echo "status $?"
echo '--- parts that one rule joins in different ways'
head='{"x.0.0":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"x.1.1":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}'
printf "\\$(printf %o ${#head})\0\0\0\0\0\0\0%s1234" "$head" >joined.safetensors
"$CKPTDB_BIN" import joined.safetensors
echo '{"dialect": "convert", "rules": [["x\\.(\\d)\\.(\\d)", "x", {"ops": [["stack", 0, "\\1"], ["reshape", ["\\2", -1]]]}]]}' >joined.json
"$CKPTDB_BIN" map load joined joined.json
"$CKPTDB_BIN" map run joined joined.safetensors
echo "status $?"
echo '--- of what a map joins, all parts or none are chosen'
head='{"l.0.w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"l.1.w":{"dtype":"U8","shape":[2],"data_offsets":[2,4]},"l.2.w":{"dtype":"U8","shape":[2],"data_offsets":[4,6]},"b":{"dtype":"U8","shape":[2],"data_offsets":[6,8]},"qk":{"dtype":"U8","shape":[2],"data_offsets":[8,10]}}'
{ printf "\\x$(printf %02x $((${#head} % 256)))\\x$(printf %02x $((${#head} / 256)))\0\0\0\0\0\0"; printf '%s0123456789' "$head"; } >parts.safetensors
"$CKPTDB_BIN" import parts.safetensors
cat >parts.json <<'JSON'
{"dialect": "convert", "rules": [["l\\.(\\d)\\.w", "w", {"ops": [["stack", 0, "\\1"]]}], ["b", "bias"],
 ["qk", "\\g<p>", {"compute": [["p", "part"]], "ops": [["split", 0, [1, 1], ["q", "k"]]]}]]}
JSON
"$CKPTDB_BIN" map load parts parts.json
"$CKPTDB_BIN" map run parts parts.safetensors
for chosen in 'l\.[012]' 'l\.[12]' 'l\.[01]' 'l\.0' '[bq]' 'l\.|b'; do
    try export parts.safetensors parts.npz --map parts --names "$chosen" --force
done
try export parts.safetensors parts.npz --map parts --where "name <> 'l.2.w' AND name <> 'qk'" --force
try export parts.safetensors parts.npz --map parts --names b --where "nbytes > 2" --force
