# Rows of the views of maps, of 500 random rule sets (map_rows.py N shows the rows of one line).
python3 "$TESTS/cli/map_rows.py"
