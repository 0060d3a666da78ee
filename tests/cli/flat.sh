# Statements over the public views have the rows of the same ones over flat tables. (tests/flat/compare.py asks 2,000
# random ones by itself.)
command -v sqlite3 >/dev/null || { echo "SKIP: there is no sqlite3"; exit 77; }
python3 "$TESTS/flat/compare.py" "$CKPTDB_BIN" --random $((SLOW == 1 ? 300 : 50)) --patience $((60 * SLOW))
