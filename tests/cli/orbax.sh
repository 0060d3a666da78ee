# Orbax: steps with several items, facts of a step, saves that are not finished, one item by name.
fixtures=$TESTS/fixtures/orbax
for step in 5 10; do
    mkdir -p run/ckpt_$step/{about,metrics,descriptor}
    cp -r "$fixtures/y_zarr2" run/ckpt_$step/state
    cp -r "$fixtures/y_strings" run/ckpt_$step/extra
    echo '{"lr": 0.5, "note": "a NaN in a text"}' >run/ckpt_$step/about/metadata
    echo '{"loss": NaN, "low": -Infinity, "n": [1, NaN]}' >run/ckpt_$step/metrics/metrics
    echo 'uuid: "x"' >run/ckpt_$step/descriptor/descriptor.pbtxt
    echo "{\"metrics\": {}, \"custom_metadata\": {\"at\": $step}, \"init_timestamp_nsecs\": 1}" \
        >run/ckpt_$step/_CHECKPOINT_METADATA
done
mkdir run/_SNAPSHOTS-12
cp -r run/ckpt_10 run/_SNAPSHOTS-12
cp -r run/ckpt_10 run/ckpt_11.orbax-checkpoint-tmp-3
mkdir -p plain named/checkpoint_0007
cp -r "$fixtures/y_zarr3/." named/checkpoint_0007
cp -r "$fixtures/y_bare_leaf" plain/9
try() {
    echo "$ ckptdb $*"
    "$CKPTDB_BIN" "$@"
    status=$?
    [ $status = 0 ] || echo "status $status"
}
try import .
try "SELECT path, format, run, step, item, tensors, files FROM checkpoint ORDER BY path"
try "SELECT key, value FROM metadata WHERE checkpoint_id = (SELECT id FROM checkpoint
     WHERE path LIKE '%/ckpt_5/state') ORDER BY key"
try tensors run@latest
try tensors run@latest/extra
try tensors run@5/state
try tensors run@5/nosuch
try tensors ckpt_10/state '^params/w'
try tensors named@7
try tensors plain@latest
echo "--- nothing is read again until something changes"
try import .
echo "{}" >run/ckpt_5/state/_sharding
rm run/ckpt_5/state/_METADATA
try import .
try tensors ckpt_5/state
echo "--- a tree too large to be one"
truncate -s 1T run/ckpt_10/state/_METADATA
try import .
echo "--- arrays that Pax has padded"
mkdir -p pax/checkpoint_00000100/metadata
cp -r "$fixtures/y_zarr2" pax/checkpoint_00000100/state
cat >pax/checkpoint_00000100/metadata/metadata <<'END'
{"version": 1.1, "train_state_metadata": {
  "step": {"_array_metadata_tag": "_array_metadata", "dtype": "uint32", "unpadded_shape": []},
  "params": {"w": {"dtype": "float32", "is_optax_masked_node": false, "unpadded_shape": [2, 2]},
             "b": {"dtype": "int32", "unpadded_shape": [3]}},
  "opt_states": [{"m": [{"unpadded_shape": [9]}]}, null]}}
END
try import pax
try "SELECT m.key, m.value FROM metadata m JOIN checkpoint c ON c.id = m.checkpoint_id
     WHERE c.path LIKE '%/pax/%'"
echo "--- what lies inside means the item"
for name in _METADATA manifest.ocdbt d "$(ls -d run/ckpt_5/extra/d/*)"; do
    rm -f "$CKPTDB"
    "$CKPTDB_BIN" import "run/ckpt_5/extra/${name#run/ckpt_5/extra/}"
    "$CKPTDB_BIN" "SELECT path FROM checkpoint"
done
