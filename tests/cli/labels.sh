# What checkpoints are called: the shortest name each, through import, forget and relocate.
one=$TESTS/fixtures/real/safetensors/dtypes/data/six_bit.safetensors
put() { for each; do mkdir -p "$(dirname "$each")" && cp "$one" "$each"; done; }
a=0123456789abcdef0123456789abcdef01234567
b=89abcdef0123456789abcdef0123456789abcdef
put hub/models--org--repo/snapshots/{$a,$b}/model.safetensors hub/models--solo/snapshots/$a/model.safetensors
put hub/models--org--parts/snapshots/$a/{unet,vae}/model.safetensors
mkdir -p hub/models--org--repo/refs hub/models--org--parts/refs
printf '%s' $b >hub/models--org--repo/refs/main
echo $a >hub/models--org--parts/refs/main
put x/gpt/checkpoint-{9,10,100}/model.safetensors y/gpt/checkpoint-9/model.safetensors
put only/checkpoint-1/{model,other}.safetensors
put plain/model.safetensors deep/plain/model.safetensors single.safetensors 17/5/7.safetensors
cp -r "$TESTS/fixtures/orbax/y_zarr2" 5
for item in params opt; do
    mkdir -p orbax/3 && cp -r "$TESTS/fixtures/orbax/y_zarr2" orbax/3/$item
    echo '{}' >orbax/3/_CHECKPOINT_METADATA
done
mkdir -p orbax/4 && cp -r "$TESTS/fixtures/orbax/y_zarr2" orbax/4/params && echo '{}' >orbax/4/_CHECKPOINT_METADATA
"$CKPTDB_BIN" import . 2>&1
"$CKPTDB_BIN" "SELECT name, substr(path, length('$PWD') + 2) FROM checkpoint ORDER BY path"
"$CKPTDB_BIN" "SELECT count(*) - count(DISTINCT name) FROM checkpoint"
echo "--- one of two is forgotten, another comes back, all move"
"$CKPTDB_BIN" forget y/gpt@9 2>/dev/null
"$CKPTDB_BIN" forget deep/plain/model.safetensors 2>/dev/null
"$CKPTDB_BIN" "SELECT name FROM checkpoint WHERE path GLOB '*/x/gpt/*' OR path GLOB '*/plain/*' ORDER BY step"
"$CKPTDB_BIN" import y
mv x z
"$CKPTDB_BIN" relocate x z
"$CKPTDB_BIN" "SELECT name FROM checkpoint WHERE path GLOB '*/z/gpt/*' OR path GLOB '*/y/*' ORDER BY path"
echo "--- each by its name, and each once"
"$CKPTDB_BIN" "SELECT name FROM checkpoint" | while read -r name; do
    "$CKPTDB_BIN" tensors "$name" >/dev/null || echo "not found: $name"
done
