# --json of commands: lists are lists, and what only reports is one object.
mkdir good bad
cat >good/a.json <<'END'
{"ckptdb": "names", "tensors": {"w": {"dtype": "float32", "shape": [2, 3]}, "s": {"dtype": "float32", "shape": []}}}
END
printf 'no tensors' >bad/b.safetensors
try import --json --dry-run .
try import --json .
try import --json . 2>/dev/null
try --csv import good
try --jsonl import good
try --json tensors a.json
echo '-- in SQL a list is the text that it is'
try --json "SELECT name, shape FROM tensor WHERE name = 'w'"
echo '-- a map'
printf '{"dialect": "convert", "rules": [["w", "v", {"ops": [["transpose"]]}]]}' >m.json
try map load m m.json
try --json map show m
try --json map run m a.json
try --json map check m a.json
try map
echo '-- moved, and forgotten'
mv good moved
try --json relocate good moved --dry-run
try --json relocate good moved
try --json forget a.json --dry-run
try --json forget a.json
echo '-- stored twice'
python3 - <<'END'
import struct
text = b'{"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"y":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}'
open("t.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + b"abcdabcd")
END
try import t.safetensors
try --json dedup
echo '-- an object a line'
"$CKPTDB_BIN" --jsonl map show t5_to_t5x | wc -l
"$CKPTDB_BIN" --jsonl map infer t.safetensors t.safetensors | wc -l
