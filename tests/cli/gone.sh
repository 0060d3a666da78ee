# A checkpoint that an import no longer finds stays, with the state `gone` and an issue `gone`, until it is found again.
one=$TESTS/fixtures/real/safetensors/dtypes/data/six_bit.safetensors
mkdir -p runs/{a,b,t5} elsewhere
for each in runs/a/model.safetensors runs/b/model.safetensors; do cp "$one" $each; done
cp "$TESTS"/fixtures/real/safetensors/llama_tiny/data/* runs/t5
show() {
    "$CKPTDB_BIN" --list "SELECT name, state FROM checkpoint ORDER BY path"
    "$CKPTDB_BIN" --list "SELECT checkpoint, path, severity, code FROM issue ORDER BY path"
}
run() {
    echo "$ $*"
    "$CKPTDB_BIN" "$@" 2>&1
    echo "status $?"
}
run import runs
show
echo '-- gone, and found there again'
mv runs/a elsewhere
run import runs
show
"$CKPTDB_BIN" ls a --columns name,state
run import runs/b
show | head -n 1
mv elsewhere/a runs
run import runs
show
echo '-- the file alone; changed when it is back; looked for by its own name'
mv runs/a/model.safetensors elsewhere
run import runs
show
"$CKPTDB_BIN" "SELECT id FROM checkpoint WHERE state = 'gone'" >id
sed 's/six/sex/' elsewhere/model.safetensors >runs/a/model.safetensors
run import runs/a/model.safetensors
show
"$CKPTDB_BIN" "SELECT id FROM checkpoint WHERE name = 'a/model.safetensors'" | cmp - id
echo '-- moved, and followed'
mv runs/b elsewhere
run import runs
run relocate runs/b elsewhere/b
show
mv elsewhere/b runs
run import elsewhere
run relocate elsewhere/b nowhere/b
show
run relocate nowhere/b runs/b
show
echo '-- one shard of several is missing: that is incomplete'
shard=$(basename "$(ls -d runs/t5/*-00002-of-*)")
mv "runs/t5/$shard" elsewhere
run import runs | sed 's/: .*//'
show | cut -c 1-100
mv "elsewhere/$shard" runs/t5
run import runs
show
echo '-- exports fail where the file is not there, and not because it was not'
rm runs/a/model.safetensors
run import runs
run export a/model.safetensors out.npz
cp -p runs/b/model.safetensors runs/a/model.safetensors
echo '-- pruned'
rm -r runs/b
run import runs
show
run import --prune runs
show
