# How a checkpoint may be named: id, name, path, tail of a path, folder that holds one, steps of runs,
# globs; ls.
one=$TESTS/fixtures/real/safetensors/dtypes/data/six_bit.safetensors
put() { for each; do mkdir -p "$(dirname "$each")" && cp "$one" "$each" && touch -d 2024-05-06T07:08:09Z "$each"; done; }
put runs/gpt-small/checkpoint-{9,10,100,200}/model.safetensors runs/other/checkpoint-3/model.safetensors
put models/bert/model.safetensors models/pair/{a,b}.safetensors
put hub/models--org--repo/snapshots/0123456789abcdef0123456789abcdef01234567/model.safetensors
for item in params opt; do
    mkdir -p orbax/3 && cp -r "$TESTS/fixtures/orbax/y_zarr2" orbax/3/$item
    echo '{}' >orbax/3/_CHECKPOINT_METADATA
done
"$CKPTDB_BIN" import . 2>&1
what() {
    echo "$ $1"
    "$CKPTDB_BIN" --json show "$1" "$(first "$1")" 2>/dev/null | grep -o '"path":"[^"]*"' ||
        "$CKPTDB_BIN" tensors "$1" 2>&1 | sed -E 's/id [0-9]+/id N/'
}
first() { "$CKPTDB_BIN" tensors "$1" 2>/dev/null | head -n 1 | cut -f 1; }
for each in gpt-small@9 gpt-small@latest gpt-small@9999 gpt-small@50 gpt-small runs runs/gpt-small/ \
    other ./runs/other models/bert bert pair models/pair/a.safetensors ./models/bert/model.safetensors \
    org/repo org/repo@0123456 orbax@3 orbax@3:opt orbax@latest/params orbax@3:nosuch hub nosuch \
    checkpoint-9 "$PWD/models/bert" model.safetensors ''; do
    what "$each"
done
echo "--- ls"
"$CKPTDB_BIN" ls | grep -v orbax | cut -f 2-8
"$CKPTDB_BIN" ls --columns id,name --sort id 'gpt-small@*'
"$CKPTDB_BIN" --json ls --columns name,nbytes --sort 'nbytes desc' 'models/*'
"$CKPTDB_BIN" ls --columns name,nosuch
"$CKPTDB_BIN" ls --sort 'name; DROP TABLE names'
for each in gpt-small@latest orbax@latest orbax@3:opt gpt-small@11 'nothing*' 'mod[e]l' nosuch gpt-smal; do
    "$CKPTDB_BIN" ls --columns name "$each"
    echo "status $?"
done
"$CKPTDB_BIN" --json ls nosuch
echo "--- a run where one checkpoint is wanted"
"$CKPTDB_BIN" --csv tensors runs/gpt-small
"$CKPTDB_BIN" diff gpt-small ./runs/other --all
"$CKPTDB_BIN" tensors orbax
put runs/gpt-small/final.safetensors
"$CKPTDB_BIN" import runs/gpt-small/final.safetensors 2>/dev/null
for each in gpt-small runs/gpt-small ./runs/gpt-small "$PWD/runs/gpt-small/" runs/other; do "$CKPTDB_BIN" --csv tensors "$each" | head -n 1; done
"$CKPTDB_BIN" forget runs/gpt-small
"$CKPTDB_BIN" forget final.safetensors 2>&1
echo "--- forget"
forget() { "$CKPTDB_BIN" forget "$@" 2>&1; echo "status $?"; }
forget 'gpt-small@1*' other --dry-run
forget nosuch 'models/*'
forget 'nothing*'
forget gpt-small
forget 'gpt-small@1*' models/bert
"$CKPTDB_BIN" "SELECT name FROM checkpoint ORDER BY id"
echo "--- paths that lead there, names that look like globs"
ln -s runs link
put 'odd/br[a]cket/model.safetensors' 'odd/both[a]/one.safetensors' 'odd/both[a]/two.safetensors' odd/botha/model.safetensors
"$CKPTDB_BIN" import . 2>&1
for each in link/other "$PWD/link/other" "$PWD/link/other/checkpoint-3/model.safetensors" link/other@3 \
    ./runs/gpt-small@latest ./link/gpt-small@latest link/gpt-small@7 nosuch/here; do
    what "$each"
done
(cd runs/gpt-small/checkpoint-9 && what . && what ./model.safetensors && what model.safetensors && "$CKPTDB_BIN" ls . --columns name)
"$CKPTDB_BIN" ls link/other --columns ' name , step' --sort 'step  desc , name'
"$CKPTDB_BIN" ls 'br[a]cket' --columns name
forget --dry-run 'br[a]cket'
forget --dry-run 'both[a]'
forget --dry-run 'both[a]/*'
forget --dry-run 'nosuch/*'
echo "--- several files of a step"
put trainer/checkpoint-{1,2}/{model,optimizer}.safetensors trainer/checkpoint-3/model.safetensors
"$CKPTDB_BIN" import trainer 2>&1
for each in trainer@1 trainer@1:model.safetensors trainer@latest:optimizer.safetensors \
    trainer@latest/model.safetensors trainer@1:safetensors trainer@1:nosuch trainer@latest:nosuch; do
    what "$each"
done
echo "--- the end of a name"
put hub/models--Qwen--tiny/snapshots/{0123456789,9876543210}abcdef0123456789abcdef01234567/model.safetensors
mkdir -p hub/models--Qwen--tiny/refs
printf 9876543210abcdef0123456789abcdef01234567 >hub/models--Qwen--tiny/refs/main
"$CKPTDB_BIN" import hub 2>&1
for each in tiny tiny@0123456 repo Qwen; do what "$each"; done
echo "--- what import refused"
echo '{}' >refused.safetensors
: >empty.npy
"$CKPTDB_BIN" import refused.safetensors empty.npy 2>&1
for each in refused.safetensors ./empty.npy "$PWD/empty.npy" fused.safetensors; do "$CKPTDB_BIN" tensors "$each"; done
echo "--- a file of a set is the set, and need not be catalogued"
mkdir set && cp "$TESTS"/fixtures/tf_bundle/y_two_shards/model* set && "$CKPTDB_BIN" -d file.db import set
for each in set/model.ckpt-1000.index ./set/model.ckpt-1000.data-00001-of-00002 model.ckpt-1000.index; do
    "$CKPTDB_BIN" -d file.db ls --columns name,path "$each"
    "$CKPTDB_BIN" -d :memory: tensors "$each" | cut -f 2-4
done
