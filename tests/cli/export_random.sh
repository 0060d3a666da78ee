# Tensors of every dtype, random shapes and layouts: exported, imported, compared.
sampled python3 "$TESTS/cli/export_random.py"
