# merge: the fixtures of all formats as three catalogs, merged, are the rows of one that imported them all; merged again
# nothing changes; killed at any time the catalog is as before or as after.
python3 "$TESTS/cli/merge_rows.py"
