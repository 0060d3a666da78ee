# Checkpoints of names: both forms, what is not known, and leaves that are not tensors.
cat >flat.json <<'END'
{"ckptdb": "names", "tensors": {
  "encoder/kernel": {"dtype": "float32", "shape": [2, 3]},
  "encoder/bias": {"dtype": "bfloat16", "shape": null},
  "odd": {"dtype": "F99", "shape": []},
  "nothing": {}}}
END
cat >tree.json <<'END'
{"ckptdb": "names", "tree": {
  "params": {"kernel": "float32[2,3]", "bias": "?", "when": "datetime64[s][3]"},
  "opt_state": [null, {}, {"mu": ["int8[]", []]}]}}
END
echo '{"ckptdb": "names", "tree": {"a": 1}}' >bad.json
"$CKPTDB_BIN" import .
echo "status $?"
"$CKPTDB_BIN" --list "SELECT checkpoint, name, dtype, shape, elements, nbytes, storage FROM tensor ORDER BY id"
"$CKPTDB_BIN" --list "SELECT c.path, n.name, n.kind FROM node n JOIN checkpoint c ON c.id = n.checkpoint_id"
"$CKPTDB_BIN" "SELECT tensor_bytes(id) IS NULL FROM tensor WHERE name = 'params/kernel'"
