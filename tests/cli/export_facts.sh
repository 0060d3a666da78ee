# Which facts of its source an export carries: not what only the source's format can mean, nor what
# describes its file; what counts is counted anew.
export STATUS=always
facts() { # FILE: of a safetensors export
    python3 - "$1" <<'END'
import json, struct, sys
raw = open(sys.argv[1], "rb").read()
for key, value in sorted(json.loads(raw[8:8 + struct.unpack("<Q", raw[:8])[0]])["__metadata__"].items()):
    print(key, value if key != "ckptdb_source" else value.rsplit("/", 1)[-1])
END
}
python3 - <<'END'
import json
from make_safetensors import save
w = bytes(range(64))
for i in range(2):
    save(f"model-0000{i + 1}-of-00002.safetensors", {f"layers.{i}.w": ("F32", [4, 4], w), f"layers.{i}.b": ("BF16", [4], w[:8])})
json.dump({"metadata": {"total_size": 144, "total_parameters": 40, "note": "mine", "config.bin": "x"},
           "weight_map": {f"layers.{i}.{n}": f"model-0000{i + 1}-of-00002.safetensors" for i in range(2) for n in "wb"}},
          open("model.safetensors.index.json", "w"))
json.dump({"hidden_size": 4}, open("config.json", "w"))
END
try import .
echo '--- a part, the whole, another dtype, another format'
try export model.safetensors.index.json part.safetensors --names '\.0\.'
facts part.safetensors
try export model.safetensors.index.json whole.safetensors
facts whole.safetensors
try export model.safetensors.index.json half.safetensors --dtype float16
facts half.safetensors
try export model.safetensors.index.json part.zarr --names 'w$'
cat part.zarr/.zattrs; echo
try export model.safetensors.index.json none.safetensors --no-meta
facts none.safetensors
echo '--- GGUF: no vocabulary, no architecture; Keras: no layers; DeepSpeed: no shapes by name'
real=$TESTS/fixtures/real
try import "$real/gguf/kv_types/data/kv.gguf" "$real/gguf/split" "$real/hdf5/keras2_legacy/data/model.h5" "$real/torch/deepspeed/data/stage2"
"$CKPTDB_BIN" --list "SELECT key FROM metadata WHERE checkpoint_id = checkpoint_id('kv.gguf') EXCEPT SELECT key FROM carried('kv.gguf')"
try export tiny-00001-of-00003.gguf tiny.safetensors --dtype float32
facts tiny.safetensors
"$CKPTDB_BIN" --list "SELECT c.name, key FROM checkpoint c JOIN carried(c.id) WHERE format IN ('gguf', 'hdf5', 'deepspeed') AND c.name <> 'kv.gguf'"
"$CKPTDB_BIN" --list "SELECT count(*) FROM metadata WHERE checkpoint_id = checkpoint_id('model.h5')"
