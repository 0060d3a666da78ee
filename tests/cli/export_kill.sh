# A kill at any moment of an export to any format leaves nothing under a final name that is not complete.
python3 "$TESTS/cli/export_kill.py" 4
