# A run of T5X: its steps are folders; what is in them, and what is not a checkpoint; what changes.
real=$TESTS/fixtures/real/jax
mkdir -p run/checkpoint_9000.tmp-1690000000
cp -r "$real/t5x_version2/data/checkpoint_7" "$real/t5x_no_zarray/data/checkpoint_3" run
cp -r "$real/t5x_inline/data/checkpoint_12" run
cp run/checkpoint_3/checkpoint run/checkpoint_9000.tmp-1690000000
cp "$real/t5x_inline/data/inline.checkpoint_13" "$real/flax_train_state/data/checkpoint_10" .
touch run/checkpoint_7/PINNED run/checkpoint_7/train_ds-000-of-001.data-00000-of-00001
printf 'not a table' >run/checkpoint_7/train_ds-000-of-001.index
columns="replace(path, '$PWD', ''), format, replace(run, '$PWD', ''), step, tensors, parameters, nbytes"
try import .
"$CKPTDB_BIN" "SELECT $columns FROM checkpoint"
try tensors run@7 --csv
try tensors run@latest --csv
try show run@7 target/enc/b --json
try get run@12 target/decoder/kernel --slice 0:2
try get run@3 target/m/i
"$CKPTDB_BIN" -c "SELECT key, value FROM metadata ORDER BY checkpoint_id, key" \
    -c "SELECT name, kind FROM node ORDER BY checkpoint_id, name LIMIT 8"
echo "--- again, and by what is in it"
try import .
try import run/checkpoint_7/target.enc.w
try import run/checkpoint_3/checkpoint
echo "--- a chunk is lost, then the folder of an array"
rm run/checkpoint_7/target.enc.w/1.1
try import run
try get run@7 target/enc/w
rm -r run/checkpoint_7/target.enc.b
try import run
"$CKPTDB_BIN" "SELECT name, dtype, shape, storage FROM tensor WHERE path LIKE '%_7'"
echo "--- folders of arrays that the tree does not name"
cp -r run/checkpoint_7/target.enc.w run/checkpoint_7/target.enc.spare
mkdir -p run/checkpoint_7/groups
cp -r run/checkpoint_7/target.enc.w run/checkpoint_7/groups/w
try import run
echo "--- a step is gone"
rm -r run/checkpoint_3
try import run
echo "--- the folder of an array behind a link: its own .zarray counts, as for TensorStore"
rm -f "$CKPTDB"
mkdir linked
cp -r run/checkpoint_12 "$real/t5x_version2/data/checkpoint_7" linked
mv linked/checkpoint_7/target.enc.w away
ln -s "$PWD/away" linked/checkpoint_7/target.enc.w
try import linked/checkpoint_7
try get linked/checkpoint_7 target/enc/w >before
sed -i 's/"order": *"C"/"order":"F"/' away/.zarray
try import linked/checkpoint_7
try get linked/checkpoint_7 target/enc/w >after
diff before after | head -n 8
