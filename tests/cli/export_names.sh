# Odd names, in every format: written and read back, or refused with what helps.
sampled python3 "$TESTS/cli/export_names.py"
