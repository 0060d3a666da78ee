# One checkpoint of 250,000 tensors is merged: every row is as it was, and again nothing changes. (Too long for a sanitizer.)
[ "$SLOW" = 1 ] || { echo "SKIP: too long for a sanitizer"; exit 77; }
python3 - <<'END'
import json
head = json.dumps({f"layer.{i}.weight": {"dtype": ["F32", "BF16"][i % 2], "shape": [0, i % 977], "data_offsets": [0, 0]}
                   for i in range(250000)}).encode()
with open("large.safetensors", "wb") as f:
    f.write(len(head).to_bytes(8, "little") + head)
END
"$CKPTDB_BIN" -d large.db import large.safetensors
try merge large.db
rows() { "$CKPTDB_BIN" -d "$1" --csv 'SELECT count(*) FROM tensor; SELECT name, dtype, shape, file, offset FROM tensor' | sha256sum; }
[ "$(rows large.db)" = "$(rows "$CKPTDB")" ] && echo 'the same rows'
before=$(sha256sum "$CKPTDB")
try merge large.db
[ "$(sha256sum "$CKPTDB")" = "$before" ] && echo 'as it was'
"$CKPTDB_BIN" 'SELECT count(*), count(DISTINCT name) FROM tensor'
