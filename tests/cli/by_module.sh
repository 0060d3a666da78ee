# by_module: the program's table has the rows of the view, also of layouts without packed sums, and tells damage.
mkdir m && cp -r "$TESTS/fixtures/real/safetensors/llama_tiny/data" m/llama && chmod -R u+w m
cp "$TESTS"/fixtures/safetensors/y_dtypes.safetensors m/
"$CKPTDB_BIN" import m 2>/dev/null
other() { python3 -c 'import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute(sys.argv[2]); db.commit()' "$CKPTDB" "$1"; }
alike() {
    "$CKPTDB_BIN" --readonly "SELECT count(*) > 10, sum(depth), sum(tensors), sum(nbytes) FROM by_module;
        SELECT count(*) FROM (SELECT * FROM by_module EXCEPT SELECT * FROM main.by_module);
        SELECT count(*) FROM (SELECT * FROM main.by_module EXCEPT SELECT * FROM by_module)"
}
alike
"$CKPTDB_BIN" "SELECT module, nbytes FROM by_module ORDER BY nbytes DESC, module LIMIT 3; SELECT DISTINCT depth FROM by_module ORDER BY depth DESC"
echo '-- without the sums'
other 'DELETE FROM _layout_module_sums'
alike
echo '-- without their table'
other 'DROP TABLE _layout_module_sums'
alike
echo '-- damaged'
"$CKPTDB_BIN" forget '*' 2>/dev/null
"$CKPTDB_BIN" import m 2>/dev/null
other "UPDATE _layout_module_sums SET sums = x'00000000'"
"$CKPTDB_BIN" "SELECT * FROM by_module"
echo "$?"
