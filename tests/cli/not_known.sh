# What was not worked out yet is not taken for absent: not_known() says for which checkpoints statistics, hashes
# and damage are known; the shell says it on a terminal (tests/pty).
"$CKPTDB_BIN" import "$TESTS/fixtures/real/safetensors/llama_tiny" "$TESTS/fixtures/real/tf/t5_mesh" 2>/dev/null
# Neither of these has numbers to know something of.
echo '{"ckptdb": "names", "tensors": {"w": {"dtype": "float32", "shape": [2]}}}' >model.json
"$CKPTDB_BIN" import model.json "$TESTS/fixtures/real/onnx/strings" 2>/dev/null
ask() {
    for each in 'SELECT name FROM stats WHERE nans' 'select * from checkpoint c Join Stats s on s.checkpoint_id = c.id' \
        "SELECT name FROM tensor WHERE hash = 'x'" 'SELECT * FROM duplicate' 'SELECT sum(nbytes) FROM waste' \
        'SELECT * FROM damage' 'SELECT * FROM checkpoint' 'SELECT stats FROM t'; do
        "$CKPTDB_BIN" --list "SELECT said FROM not_known('${each//\'/\'\'}', NULL)"
    done
}
echo '-- nothing is known'
ask
echo '-- of one'
"$CKPTDB_BIN" stats model.safetensors.index.json >/dev/null
"$CKPTDB_BIN" verify model.safetensors.index.json
ask
echo '-- of all'
for each in stats hash verify; do "$CKPTDB_BIN" $each >/dev/null; done
ask
echo '-- of the tensors that a statement asks about'
of() {
    "$CKPTDB_BIN" --list "SELECT said FROM not_known('SELECT hash FROM stats JOIN damage', (SELECT json_group_array(t.id) FROM tensor t $1))"
}
"$CKPTDB_BIN" import --force "$TESTS/fixtures/real/tf/t5_mesh" 2>/dev/null
"$CKPTDB_BIN" forget data@1000500 2>/dev/null; "$CKPTDB_BIN" import "$TESTS/fixtures/real/tf/t5_mesh" 2>/dev/null
"$CKPTDB_BIN" stats data@1000500 '^encoder/block_000.*/[kq]$' >/dev/null
of "WHERE name REGEXP '^encoder/block_000.*/[kqv]$'"
of "WHERE checkpoint = 'model.safetensors.index.json'"
