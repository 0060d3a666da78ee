# Nothing is said of files that are good, but where a value cannot be read: text that is no Unicode.
"$CKPTDB_BIN" import "$TESTS"/fixtures/*/y_* 2>/dev/null
"$CKPTDB_BIN" "SELECT count(*) > 280 FROM checkpoint"
"$CKPTDB_BIN" verify | cut -f 2,4-
"$CKPTDB_BIN" "SELECT count(*) = (SELECT count(*) FROM checkpoint) FROM verification"
