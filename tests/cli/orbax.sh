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
echo "--- random keys are items of their step; what the run says; items without what their step says"
mkdir -p keys/run/{metadata,ckpt_5/{rng,nprng,cfg},ckpt_7/default} keys/old/{metadata,3} keys/lone/{state,metadata} \
    keys/alone keys/apart keys/done
for kind in jax:rng np:nprng; do
    item=keys/run/ckpt_5/${kind#*:} key=${kind%:*}_random_key
    cp -r "$fixtures/y_zarr2" "$item/$key"
    mkdir "$item/${key}_metadata"
    echo '{"typed": true}' >"$item/${key}_metadata/metadata"
done
echo '{"lr": 0.1}' >keys/run/ckpt_5/cfg/metadata
echo '{"custom_metadata": {"at": 5}, "init_timestamp_nsecs": 1}' >keys/run/ckpt_5/_CHECKPOINT_METADATA
cp -r "$fixtures"/y_zarr2/* keys/run/ckpt_7/default
echo '{"internal_metadata": {}, "custom_metadata": {"model": "x", "n": {"a": 1}}}' >keys/run/metadata/_ROOT_METADATA
cp -r "$fixtures"/y_zarr2 keys/old/3/state
echo '{"model": "y"}' >keys/old/metadata/metadata
cp -r "$fixtures"/y_zarr2/* keys/lone/state
echo '{"note": 1}' >keys/lone/metadata/metadata
cp -r keys/run/ckpt_5/rng/* keys/alone
cp -r "$fixtures"/y_zarr2 keys/apart/a
cp -r "$fixtures"/y_zarr2 keys/apart/default
cp -r "$fixtures"/y_zarr2 keys/done/params
touch keys/done/commit_success.txt
rm -f "$CKPTDB"
try import keys
try "SELECT path, name, run, step, item FROM checkpoint"
try "SELECT replace(c.path, c.run_path, ''), m.key, m.value FROM metadata m JOIN checkpoint c ON c.id = m.checkpoint_id"
echo "--- a fact whose key is too long, and those after it, are missed aloud"
mkdir -p long/3
cp -r "$fixtures/y_zarr2" long/3/state
python3 -c 'print("{\"metrics\": {\"a\": 1}, \"" + "x" * 5000 + "\": 2, \"last\": 3}")' >long/3/_CHECKPOINT_METADATA
try import long
try "SELECT key, value FROM metadata WHERE checkpoint_id = (SELECT id FROM checkpoint WHERE path LIKE '%/long/3/state') AND key NOT LIKE '\_%' ESCAPE '\\'"
echo "--- names that begin with a dot or end in a slash: {'': {'w': ...}, 'b/': ...}"
cp -r "$fixtures/y_files" odd_names
mv odd_names/params.w odd_names/.w
mv odd_names/params.b odd_names/b
sed -i "s/\"key\": \"params\", \"key_type\": 2}, {\"key\": \"w\"/\"key\": \"\", \"key_type\": 2}, {\"key\": \"w\"/
    s|{\"key\": \"params\", \"key_type\": 2}, {\"key\": \"b\"|{\"key\": \"b/\"|" odd_names/_METADATA
try import odd_names
try tensors odd_names
echo "--- a folder that only its name makes a step, with more entries than a step has, holds no JSON items"
mkdir -p many/exp_1/cfg
echo '{"lr": 0.1}' >many/exp_1/cfg/metadata
for i in 1 2 3; do cp -r "$fixtures/y_zarr2" many/exp_1/m$i; done
rm -f "$CKPTDB"
try import many
try "SELECT count(*), max(key), max(value) FROM metadata WHERE key LIKE 'cfg%'"
mkdir many/exp_1/e{1..30}
rm -f "$CKPTDB"
try import many
try "SELECT count(*) FROM metadata WHERE key LIKE 'cfg%'"
echo '{}' >many/exp_1/_CHECKPOINT_METADATA
rm -f "$CKPTDB"
try import many
try "SELECT count(*), max(key), max(value) FROM metadata WHERE key LIKE 'cfg%'"
echo "--- a save without OCDBT over one with it: _METADATA says where the arrays are"
cp -r "$fixtures/y_zarr2" over
cp -r "$fixtures"/y_files/. over
try import over
try tensors over
try get over params/b
echo '--- the file that says of what step and item a folder is appears beside it; of a folder that has one itself, it says nothing'
rm -rf late; mkdir -p late
cp -r "$TESTS/fixtures/real/orbax/composite/data/exp/step_000005/params" late/mine
cp -r late/mine late/7
echo '{"metrics":{}}' >late/7/_CHECKPOINT_METADATA
what() { "$CKPTDB_BIN" -d late.db import late; "$CKPTDB_BIN" -d late.db --list "SELECT c.name, item, key, value FROM checkpoint c LEFT JOIN metadata m ON m.checkpoint_id = c.id AND key LIKE '%loss' ORDER BY c.id"; }
what
echo '{"metrics":{"loss":1}}' >late/_CHECKPOINT_METADATA
what
what
echo '{"metrics":{"loss":25}}' >late/_CHECKPOINT_METADATA
what
rm late/_CHECKPOINT_METADATA
what
echo '-- a random key whose metadata comes after a first import, and the others of its step after a second'
full=$TESTS/fixtures/real/orbax/composite/data/exp/step_000005
mkdir -p rngs/step_000005/rng && cp -r "$full/params" rngs/step_000005/rng/jax_random_key
try import rngs
mkdir rngs/step_000005/rng/jax_random_key_metadata
echo '{"implementation": "threefry2x32", "jax.random.key": "jax.random.key"}' >rngs/step_000005/rng/jax_random_key_metadata/metadata
for _ in 1 2; do
    try import rngs
    "$CKPTDB_BIN" "SELECT name, run, step, item FROM checkpoint WHERE path LIKE '%/rngs/%' ORDER BY name"
    cp -r "$full/_CHECKPOINT_METADATA" "$full/params" rngs/step_000005
done
echo '--- a tree that is one array: no keys, no folder'
for ocdbt in true false; do
    try export "$TESTS/fixtures/flax/y_root_is_an_array" $ocdbt.orbax --option ocdbt=$ocdbt --no-sync
    grep -o '"tree_metadata.*}},' $ocdbt.orbax/_METADATA
    "$CKPTDB_BIN" diff --bytes "$TESTS/fixtures/flax/y_root_is_an_array" ./$ocdbt.orbax
done
ls -A false.orbax
