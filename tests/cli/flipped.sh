# A catalog with one flipped bit among a layout's tensors: no command prints other rows than before as if nothing were.
python3 "$TESTS/cli/flipped.py" "$TESTS/fixtures/real"
