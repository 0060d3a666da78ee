# A catalog with one flipped byte: no command prints other rows than before as if nothing were.
python3 "$TESTS/cli/flipped.py" "$TESTS/fixtures/real"
