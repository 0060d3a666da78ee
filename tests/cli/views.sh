# Views name the checkpoint their rows are of; `disk` counts each file once.
cp -r "$TESTS/fixtures/real/gguf/quantised/data/quantised.gguf" a.gguf
ln a.gguf b.gguf
mkdir below && cp "$TESTS/fixtures/real/gguf/kv_types/data/kv.gguf" below/kv.gguf && printf 'GGUF\3\0\0\0' >below/cut.gguf
"$CKPTDB_BIN" import . 2>/dev/null
for view in largest by_dtype by_module by_folded_module metadata issue; do
    echo "-- $view"
    "$CKPTDB_BIN" "SELECT checkpoint, count(*) FROM $view GROUP BY checkpoint ORDER BY 1"
done
echo '-- disk'
"$CKPTDB_BIN" "SELECT run, folder, files, bytes FROM disk ORDER BY folder"
echo '-- `largest` has its order by itself: rows, and those that are larger than the one before'
for where in "checkpoint_id = 1" "checkpoint_id IN (2, 1)" "name GLOB '*q[458]*'" "name GLOB '*q[458]*' OR dtype = 'tq2_0'" \
    "name IN ('norm.weight', 'blk.q4_0.weight', 'q8_3d') AND checkpoint_id > 0" "checkpoint = 'a.gguf' OR checkpoint_id = 2"; do
    "$CKPTDB_BIN" "SELECT count(*), sum(nbytes > before) FROM (SELECT nbytes, lag(nbytes) OVER () AS before FROM largest WHERE $where)"
done
"$CKPTDB_BIN" "SELECT c.name, (SELECT nbytes FROM largest l WHERE l.checkpoint_id = c.id LIMIT 1) = max(t.nbytes) FROM checkpoint c JOIN tensor t ON t.checkpoint_id = c.id GROUP BY c.id;
    SELECT nbytes = (SELECT max(nbytes) FROM tensor) FROM (SELECT DISTINCT dtype, nbytes FROM largest LIMIT 1)"
echo '-- in every view `checkpoint` is the name, and in `tensor` and `checkpoint` `path` the path'
for view in tensor largest by_dtype by_module by_folded_module metadata; do
    "$CKPTDB_BIN" "SELECT count(*) > 0, sum(n.id IS NULL) FROM $view v LEFT JOIN checkpoint n ON n.name = v.checkpoint AND n.id = v.checkpoint_id"
done
"$CKPTDB_BIN" "SELECT count(*) = count(c.id) FROM tensor t LEFT JOIN checkpoint c ON c.path = t.path AND c.id = t.checkpoint_id;
    SELECT checkpoint, count(*) FROM tensor JOIN by_dtype USING (checkpoint) GROUP BY 1;
    SELECT name FROM tensors_of(1) WHERE checkpoint = 'a.gguf' AND path = '$PWD/a.gguf' LIMIT 1"
echo '-- runs: what stands before @, also where a name has a longer form, and after another run has come'
mkdir -p x/run/checkpoint-{1,2} && for step in 1 2; do cp "$TESTS"/fixtures/safetensors/y_dtypes.safetensors x/run/checkpoint-$step/model.safetensors; done
cp x/run/checkpoint-1/model.safetensors x/run/checkpoint-1/other.safetensors
"$CKPTDB_BIN" import x 2>/dev/null
runs() { "$CKPTDB_BIN" "SELECT name, run, replace(run_path, '$PWD', ''), step FROM checkpoint WHERE step IS NOT NULL; SELECT run, count(*) FROM disk GROUP BY run"; }
runs
cp -r x y
"$CKPTDB_BIN" import y 2>/dev/null
"$CKPTDB_BIN" hash >/dev/null
runs
"$CKPTDB_BIN" "SELECT run, count(*) FROM waste GROUP BY 1; SELECT count(*) FROM waste w JOIN checkpoint c USING (run) WHERE c.id = w.checkpoint_id"
"$CKPTDB_BIN" forget 'x/*' 2>/dev/null
runs
"$CKPTDB_BIN" relocate y other/z
runs
echo "-- columns"
for view in checkpoint tensor 'tensors_of' largest by_dtype by_module metadata issue disk content _place _linked _repeated duplicate waste; do
    echo "$view: $("$CKPTDB_BIN" "SELECT group_concat(name, ', ') FROM pragma_table_info('$view')")"
done
echo "-- rows of leaf that go through a coroutine, which takes three times as long"
"$CKPTDB_BIN" "EXPLAIN QUERY PLAN SELECT place, name FROM leaf WHERE checkpoint_id = 1" | grep -c CO-ROUTINE
exit 0
