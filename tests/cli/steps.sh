# Steps of a run, and a tensor with a checksum.
cp -r "$TESTS/fixtures/real/tf/t5_mesh/data" run
"$CKPTDB_BIN" import run 2>/dev/null
"$CKPTDB_BIN" "SELECT path, run, run_path, step FROM checkpoint"
try tensors run@latest '^global' --csv
try show run@1000000 global_step --json
try show "$PWD/run/@1000500" shared/embedding | tr -s ' -'
try tensors run@17
try tensors run@last
try tensors nosuch@latest
try tensors model.ckpt-1000500 '^global' --csv
try tensors model.ckpt
echo "--- a run that is copied is two"
cp -r run other
mkdir a b
mv run other a
cp -r a/run b/run
"$CKPTDB_BIN" import a b 2>/dev/null
try tensors run@latest
