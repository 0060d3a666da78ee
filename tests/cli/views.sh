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
echo "-- columns"
for view in checkpoint tensor largest by_dtype by_module metadata issue disk content _place _linked _repeated duplicate waste; do
    echo "$view: $("$CKPTDB_BIN" "SELECT group_concat(name, ', ') FROM pragma_table_info('$view')")"
done
echo "-- rows of leaf that go through a coroutine, which takes three times as long"
"$CKPTDB_BIN" "EXPLAIN QUERY PLAN SELECT place, name FROM leaf WHERE checkpoint_id = 1" | grep -c CO-ROUTINE
exit 0
