# Long facts: stored once whoever states them, whole in the view, gone with the last one.
put() { # FILE KEY=BYTES...
    python3 - "$@" <<'PY'
import json, struct, sys
facts = {k: "é" * (int(n) // 2) + "x" * (int(n) % 2) for k, n in (pair.split("=") for pair in sys.argv[2:])}
header = json.dumps({"__metadata__": facts, "w": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}},
                    ensure_ascii=False).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(header)) + header + b"1")
PY
}
put a.safetensors short=1023 edge=1024 over=1025 long=200000
put b.safetensors short=1023 edge=1024 other=1025 long=200000 more=3
put c.safetensors long=200000
try import .
try "SELECT name, key, length(CAST(value AS BLOB)), typeof(value), substr(value, 1, 2) FROM metadata m
    JOIN checkpoint c ON c.id = m.checkpoint_id ORDER BY 1, 2"
sizes="SELECT length(CAST(text AS BLOB)), (SELECT count(*) FROM _long_facts f WHERE f.text = t.id) FROM _long_texts t"
try "$sizes ORDER BY 1"
try "SELECT count(DISTINCT value) FROM metadata WHERE key = 'long'"
echo "--- as far as somebody states them"
put b.safetensors short=1023 edge=1030
try import .
try "$sizes ORDER BY 1"
rm a.safetensors c.safetensors
try import --prune .
try "$sizes ORDER BY 1"
try "SELECT key, length(CAST(value AS BLOB)) FROM metadata"
echo "--- a NUL, which would end a text in other programs, is shown escaped"
python3 - <<'PY'
import struct
header = b'{"__metadata__":{"nul":"a\\u0000b\\n","line":"a\\nb"},"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'
open("nul.safetensors", "wb").write(struct.pack("<Q", len(header)) + header + b"1")
PY
try import nul.safetensors
try --json "SELECT key, value, length(value) FROM metadata WHERE checkpoint = 'nul.safetensors'"
