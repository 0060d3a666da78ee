# diff --map where the map has errors: what cannot be made from A is only there, and B's tensor of the same name is
# only there; never alike, though its shape is not known.
python3 - <<'END'
from make_safetensors import save
w = bytes(range(24))
save("a.safetensors", {"l.0.w": ("BF16", [3, 2, 2], w), "l.1.w": ("BF16", [3, 2, 2], w), "v": ("F32", [2], w[:8])})
save("b.safetensors", {"all": ("BF16", [6, 4], w + w), "v": ("F32", [2], w[:8])})
END
"$CKPTDB_BIN" import a.safetensors b.safetensors
try() { # DIALECT RULES [OPTION]...
    echo "-- $1 $2"
    echo "{\"dialect\": \"$1\", \"rules\": $2}" >m.json
    "$CKPTDB_BIN" map load m m.json
    for how in '' --bytes --values; do
        "$CKPTDB_BIN" --list diff a.safetensors b.safetensors --map m $how --all 2>&1
        echo "status $?"
    done
}
try convert '[["l.(.).w", "all", {"ops": [["permute", [2, 0, 1]], ["reshape", [3, 4]], ["concat", 0, "\\1"]]}], ["v", "v"]]'
try convert '[["l.(.).w", "all", {"ops": [["reshape", [3, 5]], ["stack", 0, "\\1"]]}], ["v", "v"]]'
try t5x-translator '[["l.0.w", "all", {"ops": [["reshape", [5]]]}], ["l.1.w", null], ["v", "v"]]'
try t5x-translator '[["l.*", null], ["v", "v"]]'
