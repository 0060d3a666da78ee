# A folder or a pipe where the file of a checkpoint was: every reading fails, none takes it for absent.
F=$TESTS/fixtures
cp "$F"/npz/y_stored.npz a.npz && cp a.npz b.npz && cp -r "$F"/orbax/y_files zarr
"$CKPTDB_BIN" import . 2>&1
run() {
    echo "$ $*"
    "$CKPTDB_BIN" "$@" 2>&1 | sed 's/([0-9]* bytes now/(N bytes now/'
    echo "status ${PIPESTATUS[0]}"
}
every_way() {
    run diff a.npz b.npz --values
    run diff b.npz a.npz --values
    run diff a.npz b.npz --bytes
    run "SELECT count(tensor_sha256(id)) FROM tensor WHERE path LIKE '%/a.npz'"
    run "SELECT count(*) FROM tensor t JOIN tensor_values(t.id) WHERE path LIKE '%/a.npz'"
    run get a.npz w
    run hash a.npz
    run stats a.npz
    run export a.npz out.npz
}
rm a.npz && mkdir a.npz
every_way
rmdir a.npz && mkfifo a.npz
every_way
echo '-- a chunk'
chunk=zarr/params.w/0.0
touch -r zarr/params.w stamp && rm "$chunk" && mkdir "$chunk" && touch -r stamp zarr/params.w
run diff zarr zarr --values --all
run hash zarr
echo '-- shards of sets: without them a set is not complete'
mkdir sets && cp -r "$F"/safetensors_index/y_two sets/st && cp -r "$F"/real/tf/v2_sharded3/data sets/tf
for shard in sets/st/*-00002-of-*.safetensors sets/tf/*.data-00001-of-*; do
    rm "$shard" && mkdir "$shard"
done
run import sets
run "SELECT name, state FROM checkpoint WHERE path LIKE '%/sets/%'"
