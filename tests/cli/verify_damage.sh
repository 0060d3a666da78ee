# Every format, every kind of damage, with times put back: what verify says, without and (where
# that differs) with hashes in the catalog. "nothing" is what the format cannot tell.
exec python3 "$TESTS/cli/verify_damage.py" "$CKPTDB_BIN" "$TESTS/fixtures"
