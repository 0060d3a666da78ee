# Whether all of a checkpoint is there: complete, incomplete, damaged. A copy of what is not whole is
# made only when asked for; a tensor of another shape than the model's is none of it.
. "$TESTS/cli/names.bash"
fixtures=$TESTS/fixtures
mkdir set
cp "$fixtures"/real/safetensors/missing_shard/data/* set
cp "$fixtures/ocdbt/n_corrupt_node" node -r
cp -r "$fixtures/ocdbt/y_raw" whole
cp -r "$fixtures/orbax/n_missing-chunk_of_zeros" chunk
"$CKPTDB_BIN" import . >/dev/null 2>&1
try() {
    echo "$ ckptdb $*"
    "$CKPTDB_BIN" "$@"
    status=$?
    [ $status = 0 ] || echo "status $status"
}
try "SELECT name, state FROM checkpoint ORDER BY name"
try export set/model.safetensors.index.json out.safetensors
try export node out.npz
try export chunk out.npz
ls
try export set/model.safetensors.index.json out.safetensors --partial
try export node node.npz --partial
try export chunk chunk.npz --partial
try export whole whole.npz
echo "--- whole again"
cp "$fixtures/real/safetensors/sharded5/data/model-00003-of-00005.safetensors" set
"$CKPTDB_BIN" import set
try "SELECT state FROM checkpoint WHERE path LIKE '%/set/%'"
truncate -s 1000 set/model-00004-of-00005.safetensors
"$CKPTDB_BIN" import set 2>/dev/null
try "SELECT state FROM checkpoint WHERE path LIKE '%/set/%'"
rm set/model-00004-of-00005.safetensors
echo '{' >set/model.safetensors.index.json
"$CKPTDB_BIN" import set 2>/dev/null
try "SELECT state FROM checkpoint WHERE path LIKE '%/set/%'"
echo "--- another shape than the model's"
name=$("$CKPTDB_BIN" "SELECT name FROM tensor WHERE checkpoint LIKE '%/whole' LIMIT 1")
shape=$("$CKPTDB_BIN" "SELECT trim(shape, '[]') FROM tensor WHERE checkpoint LIKE '%/whole' LIMIT 1")
names same.json "$name:$shape"
names other.json "$name:7,7"
for dialect in orbax kauldron t5x-assignment; do
    echo "{\"dialect\": \"$dialect\", \"rules\": [[\"$name\", \"$name\"]]}" >map.json
    "$CKPTDB_BIN" map load "$dialect" map.json
    try export whole "$dialect.npz" --map "$dialect" --target other.json
    try export whole "$dialect.npz" --map "$dialect" --target same.json
done
ls
