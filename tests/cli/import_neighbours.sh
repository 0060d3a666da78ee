# Checkpoints side by side and inside each other: nothing is swallowed without a word.
imported() { echo "$ import $*"; "$CKPTDB_BIN" import "$@"; echo "status $?"; }
list() {
    "$CKPTDB_BIN" --list "SELECT replace(c.path, '$PWD/', '') AS path, c.format, group_concat('<' || t.name || '>', ' ')
        FROM checkpoint c JOIN tensor t ON t.checkpoint_id = c.id GROUP BY c.id ORDER BY c.path"
}
fresh() { echo "--- $1"; rm -rf "$CKPTDB" here; mkdir here; }
array() { # PATH
    mkdir -p "$1"
    printf '{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<i2","order":"C","compressor":null,"filters":null,"fill_value":0}' >"$1/.zarray"
    printf '\1\0\2\0' >"$1/0"
}
header='{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
safetensors() { # FILE
    mkdir -p "$(dirname "$1")"
    printf '\066\0\0\0\0\0\0\0%s\1\2\3\4' "$header" >"$1"
}
item() { # PATH: of Orbax
    array "$1/params.w"
    printf '{"tree_metadata":{"x":{"key_metadata":[{"key":"params","key_type":2},{"key":"w","key_type":2}],"value_metadata":{"value_type":"np.ndarray"}}}}' >"$1/_METADATA"
}

fresh 'nine arrays, and then other things: each is what it is'
for i in 0 1 2 3 4 5 6 7 8; do array here/a$i; done
item here/item
safetensors here/run/model.safetensors
cp -r "$TESTS/fixtures/tf_bundle/y_few_bits" here/tf
imported here
list
imported here/item

fresh 'arrays alone; a lone one; groups in a plain folder'
array here/side/a
array here/side/b
array here/lone/only
array here/groups/g/w
printf '{"zarr_format":2}' >here/groups/g/.zgroup
mkdir -p here/three/g here/three/h/w
printf '{"attributes":{"shape":["data_type"]},"zarr_format":3,"consolidated_metadata":{"metadata":{"w":{"data_type":"int8","node_type":"array"}}},"node_type":"group"}' |
    tee here/three/g/zarr.json >here/three/h/zarr.json
printf '{"shape":[2],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"fill_value":0,"codecs":[{"name":"bytes"}],"attributes":{},"zarr_format":3,"node_type":"array"}' >here/three/h/w/zarr.json
cp -r here/three/h/w here/three/g/w
imported here
list

fresh 'inside a store: said, and imported by its own path'
array here/store/w
printf '{"zarr_format":2}' >here/store/.zgroup
item here/store/deep/item
safetensors here/store/x.safetensors
safetensors here/store/deep/y.safetensors
imported here
imported here/store/deep/item here/store/x.safetensors
list
imported here --prune
rm here/store/x.safetensors
imported here --prune
list

fresh 'inside items of Orbax, with arrays in folders and in a database, and of JAX: said'
item here/run
item here/run/10/default
item here/run/20/default
safetensors here/run/hf/model.safetensors
ln -s ../run/10 here/run/link
cp -r "$TESTS/fixtures/ocdbt/y_zarr2" here/base
cp -r "$TESTS/fixtures/jax_pytree/y_processes" here/tree
for in in base tree; do
    item here/$in/10/default
    array here/$in/more/a
    ln -s ../run/10 here/$in/link
done
mv here/base/d here/data && ln -s ../data here/base/d
imported here

fresh 'copies that were not finished: what is added below them is noticed'
tree='{"__jax_pytreedef_repr":{"name":"builtins.dict","node_aux_data":["a"],"node_type":"node","children":[{"node_type":"leaf","leaf_id":0}]},"__jax_leaf_ids":["Array[[2], int16] -> 0"]}'
mkdir -p here/item/deep here/tree/array_store here/older/leaf_data
array here/item/deep/a
echo '{"tree_metadata":{"x":{"key_metadata":[{"key":"deep/b","key_type":2}],"value_metadata":{"value_type":"np.ndarray"}}}}' >here/item/_METADATA
echo "$tree" | tee here/tree/pytreedef.json >here/older/pytreedef.json
printf '\202\244step\5\241a\262//GDAPlaceholder:a' >here/checkpoint_5
imported here
list
array here/item/deep/b
array here/tree/array_store/0
array here/older/leaf_data/array_store.tensorstore/0
array here/checkpoint_5_gda/a
imported here
list
array here/checkpoint_5_gda/more
imported here

fresh 'one prefix in both versions of TensorFlow'
cp "$TESTS"/fixtures/tf_bundle/y_few_bits/* here
imported here
cp "$TESTS/fixtures/tf_v1/y_vector" here/m
imported here --prune
imported here
list
imported here/m
rm here/m
imported here
cp "$TESTS/fixtures/tf_v1/y_vector" here/m
rm "$CKPTDB" here/m.index
imported here
list
cp "$TESTS"/fixtures/tf_bundle/y_few_bits/* here
imported here
list

fresh 'a file that is loaded in place of an index'
cp "$TESTS"/fixtures/safetensors_index/y_two/* here
imported here
safetensors here/model.safetensors
imported here
imported here
imported here/model.safetensors.index.json
rm here/model.safetensors
imported here --prune
printf '{"weight_map":{"w":"model.safetensors"}}' >here/model.safetensors.index.json
safetensors here/model.safetensors
rm here/model-*
imported here

fresh 'chunks that are not files'
array here/side/a
array here/side/b
array here/side/c
array here/side/d
rm here/side/[abc]/0
ln -s nowhere here/side/a/0
mkdir here/side/b/0
mkdir here/side/d/1 && touch here/side/d/notes
imported here
for name in a b c d; do
    "$CKPTDB_BIN" get side "$name" 2>&1
    echo "status $?"
done

fresh 'folders below one whose files are its own'
cp -r "$TESTS/fixtures/dcp/y_two" here/dcp
mkdir -p here/dcp/older/5
safetensors here/dcp/older/model.safetensors
safetensors here/dcp/older/5/model.safetensors
cp -r "$TESTS/fixtures/dcp/y_two" here/dcp/older/inner
imported here
imported here/dcp/older/5
rm -r here/dcp/older/inner
imported here --prune
echo '--- numbers that Python writes and JSON has no words for'
mkdir python
python3 - <<'EOF'
import json, struct
head = json.dumps({"w": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}).encode()
for shard in "m-00001-of-00001.safetensors", "alone.safetensors":
    with open("python/" + shard, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head + b"1")
facts = {"model_type": "falcon_mamba", "limits": {"low": 0.0, "time_step_limit": [0.0, float("inf")]},
         "top": float("inf"), "floor": float("-inf"), "loss": float("nan"), "after": 3}
json.dump(facts, open("python/config.json", "w"))
json.dump({"metadata": {"total_size": 1, "loss": float("nan")}, "weight_map": {"w": shard for shard in ["m-00001-of-00001.safetensors"]}},
          open("python/m.safetensors.index.json", "w"))
EOF
"$CKPTDB_BIN" -d python.db import python
"$CKPTDB_BIN" -d python.db --list "SELECT checkpoint, key, value, typeof(value) FROM metadata ORDER BY 1, 2" "SELECT message FROM issue"

fresh 'what was passed over is said no longer once it is imported by its own path, also where the store changes later'
array here/one/w
printf '{"zarr_format":2}' >here/one/.zgroup
safetensors here/one/x.safetensors
array here/other/w
printf '{"zarr_format":2}' >here/other/.zgroup
item here/other/item
passed() { "$CKPTDB_BIN" --list "SELECT replace(path, '$PWD/', ''), checkpoint FROM issue WHERE code = 'passed-over'"; }
imported here
passed
imported here/one/x.safetensors here/other/item
passed
array here/one/v
imported here
passed

fresh 'a step of Orbax: checkpoints beside its items are checkpoints, and what lies in an item is counted there'
cp -r "$TESTS/fixtures/real/orbax/composite/data/exp/step_000005" here/ && chmod -R u+w here
safetensors here/step_000005/x.safetensors
safetensors here/step_000005/sub/y.safetensors
safetensors here/step_000005/params/deep/u.safetensors
safetensors here/step_000005/params/deep/v.safetensors
imported here
"$CKPTDB_BIN" --list "SELECT name, format, tensors FROM checkpoint ORDER BY name"
