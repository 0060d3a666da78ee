# Whether a whole checkpoint is there: complete, incomplete, damaged. A partial copy is made only when
# asked for; a tensor of another shape than the model's does not count.
fixtures=$TESTS/fixtures
mkdir set
cp "$fixtures"/real/safetensors/missing_shard/data/* set
cp "$fixtures/ocdbt/n_corrupt_node" node -r
cp -r "$fixtures/ocdbt/y_raw" whole
cp -r "$fixtures/orbax/n_missing-chunk_of_zeros" chunk
"$CKPTDB_BIN" import . >/dev/null 2>&1
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
echo "--- not fetched by git-lfs, more than this program takes, not to be named"
cp "$fixtures"/real/safetensors/sharded5/data/* set
pointer='version https://git-lfs.github.com/spec/v1
oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393
size 12345'
echo "$pointer" >set/model-00002-of-00005.safetensors
mkdir tf
cp "$fixtures"/real/tf/v2_sharded3/data/* tf
for file in tf/*.data-00001-of-00003; do echo "$pointer" >"$file"; done
printf '\0\302\353\013\0\0\0\0' >set/model-00004-of-00005.safetensors # a header of 200,000,000 bytes
truncate -s 200000100 set/model-00004-of-00005.safetensors
cp -r "$fixtures/orbax/n_name-nul_in_leaf" nul
"$CKPTDB_BIN" import set tf nul
try "SELECT name, state FROM checkpoint WHERE path GLOB '*/set/*' OR path GLOB '*/tf/*' OR path GLOB '*/nul' ORDER BY name"
try "SELECT code, count(*) FROM issue WHERE path GLOB '*/set/*' OR path GLOB '*/tf/*' GROUP BY code"
rm -r tf nul
"$CKPTDB_BIN" import --prune . 2>/dev/null

echo "--- another shape than the model's"
name=$("$CKPTDB_BIN" "SELECT name FROM tensor WHERE path LIKE '%/whole' LIMIT 1")
shape=$("$CKPTDB_BIN" "SELECT trim(shape, '[]') FROM tensor WHERE path LIKE '%/whole' LIMIT 1")
names same.json "$name:$shape"
names other.json "$name:7,7"
for dialect in orbax kauldron t5x-assignment; do
    echo "{\"dialect\": \"$dialect\", \"rules\": [[\"$name\", \"$name\"]]}" >map.json
    "$CKPTDB_BIN" map load "$dialect" map.json
    try export whole "$dialect.npz" --map "$dialect" --target other.json
    try export whole "$dialect.npz" --map "$dialect" --target same.json
done
echo '{"dialect": "t5x-translator", "options": {"restore": true}, "rules": [["(.*)", "\\1"]]}' >map.json
"$CKPTDB_BIN" map load same map.json
names more.json "$name:$shape" target/more:3
for target in other same more; do
    try export whole t5-$target.npz --map same --target $target.json
done
ls
echo '--- an empty dict under a name that another joined name also spells: the leaf counts, whichever comes first'
echo '{"ckptdb": "names", "tree": {"a/b": {}, "a": {"b": "?", "c": {}}, "d": {"e": {}}, "d/e": "?"}}' >spelled.json
"$CKPTDB_BIN" import spelled.json
"$CKPTDB_BIN" --list "SELECT f.* FROM checkpoint c, flatten(c.id) f WHERE c.name = 'spelled.json'"
