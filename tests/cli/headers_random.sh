# Random headers, half damaged, and what a plain parser finds in them.
python3 "$TESTS/cli/headers_random.py"
