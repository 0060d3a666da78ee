# Every shipped rule set that has an inverse, there and back: each tensor has its content again.
python3 "$TESTS/cli/maps_back.py"
