# --json of commands: lists are lists, and what only reports is one object.
run() { echo "\$ ckptdb $*"; "$CKPTDB_BIN" "$@"; local rc=$?; [ $rc = 0 ] || echo "status $rc"; }
mkdir good bad
cat >good/a.json <<'END'
{"ckptdb": "names", "tensors": {"w": {"dtype": "float32", "shape": [2, 3]}, "s": {"dtype": "float32", "shape": []}}}
END
printf 'no tensors' >bad/b.safetensors
run import --json --dry-run .
run import --json .
run import --json . 2>/dev/null
run --csv import good
run --jsonl import good
run --json tensors a.json
echo '-- in SQL a list is the text that it is'
run --json "SELECT name, shape FROM tensor WHERE name = 'w'"
echo '-- a map'
printf '{"dialect": "convert", "rules": [["w", "v", {"ops": [["transpose"]]}]]}' >m.json
run map load m m.json
run --json map show m
run --json map run m a.json
run --json map check m a.json
run map
echo '-- moved, and forgotten'
mv good moved
run --json relocate good moved --dry-run
run --json relocate good moved
run --json forget a.json --dry-run
run --json forget a.json
echo '-- stored twice'
python3 - <<'END'
import struct
text = b'{"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"y":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}'
open("t.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + b"abcdabcd")
END
run import t.safetensors
run --json dedup
echo '-- an object a line'
"$CKPTDB_BIN" --jsonl map show t5_to_t5x | wc -l
"$CKPTDB_BIN" --jsonl map infer t.safetensors t.safetensors | wc -l
