# flatten, name_tree, merge_state, intersect_state: two states against each other, as T5X does it.
state() { # ID TREE
    echo "{\"ckptdb\": \"names\", \"tree\": $2}" >"$1.json"
    "$CKPTDB_BIN" import "$1.json" >/dev/null 2>&1
    "$CKPTDB_BIN" --list "SELECT max(id) FROM checkpoint"
}
q() {
    echo "-- $1"
    "$CKPTDB_BIN" --list "SELECT * FROM $1" 2>&1 | sed -E 's/^([^|]*)\|[0-9]+\|/\1|id|/'
}
abc=$(state abc '{"a": {"b": "int32[]", "c": "int32[2]"}}')
abd=$(state abd '{"a": {"b": "int32[4]"}, "d": "int32[]"}')
leaf=$(state leaf '{"a": "int32[]"}')
deep=$(state deep '{"a": {"b": {"c": "int32[]"}}}')
nulls=$(state nulls '{"x": null, "y": {}, "z": {"k": null, "l": []}}')
empty=$(state empty '{}')
for s in $abc $nulls $empty; do
    q "flatten($s)"
    q "name_tree($s)"
done
q "merge_state($abc, $abd)"
q "merge_state($abc, $abd, 1)"
q "merge_state($abc, $leaf)"
q "merge_state($leaf, $abc)"
q "merge_state($leaf, $deep)"
q "merge_state($nulls, $abc)"
q "intersect_state($abc, $abd)"
q "intersect_state($abc, $leaf)"
q "intersect_state($leaf, $abc)"
within=$(state within '{"a/b/c": "?", "a": {"b": "int32[]", "d": "?"}, "a/d/e": "?", "a/d/f/g": "int32[2]", "h": null, "h/i": "?"}')
q "intersect_state($within, $within)"
q "merge_state($abc)"
for unknown in 'flatten(0)' 'name_tree(0)' "merge_state($abc, 0)" "intersect_state(0, $abc)" "map_inverse('none', $abc)" "map_inverse('t5_to_t5x', 0)"; do
    q "$unknown"
done
q "merge_state($abc, $abd, NULL)"
