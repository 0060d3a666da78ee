# by_folded_module: modules that are alike are one row, as in `tree`; kept per layout and dropped with it.
python3 - <<'END'
import json
def names(path, tensors):
    json.dump({"ckptdb": "names", "tensors": {n: {"dtype": "float32", "shape": s} for n, s in tensors}}, open(path, "w"))
names("a.json", [(f"layers.{i}.{x}", [i // 4 + 1, 4]) for i in range(5) for x in ("attn.q", "attn.k", "mlp.0.w", "mlp.1.w")] + [("embed", [9, 4])])
names("b.json", [(f"enc/{i}/x/y", [2]) for i in (0, 1, 3)] + [("enc/odd", [2])])
END
"$CKPTDB_BIN" import a.json b.json
ask() { "$CKPTDB_BIN" --box "SELECT checkpoint, module, depth, tensors, parameters, nbytes FROM by_folded_module ORDER BY checkpoint_id, module"; }
ask
echo '-- a filter on one checkpoint reads the rows of its layout'
"$CKPTDB_BIN" "EXPLAIN QUERY PLAN SELECT module FROM main.by_folded_module WHERE checkpoint_id = 1"
"$CKPTDB_BIN" forget a.json b.json
"$CKPTDB_BIN" "SELECT count(*) FROM _layout_folds"
echo '-- two formats with other separators share a layout: its modules do not depend on which came first'
mkdir shared
echo '{"ckptdb": "names", "tensors": {"enc.l.0.w": {"dtype": "uint8", "shape": [1]}, "enc.l.1.w": {"dtype": "uint8", "shape": [1]}}}' >shared/names.json
head='{"enc.l.0.w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"enc.l.1.w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}'
printf "\\$(printf %o ${#head})\0\0\0\0\0\0\0%s12" "$head" >shared/model.safetensors
for order in "names.json model.safetensors" "model.safetensors names.json"; do
    rm -f shared.db
    for file in $order; do "$CKPTDB_BIN" -d shared.db import shared/$file; done
    "$CKPTDB_BIN" -d shared.db --list "SELECT checkpoint, group_concat(module, ' ') FROM (SELECT * FROM by_module ORDER BY checkpoint, module) GROUP BY 1"
done
