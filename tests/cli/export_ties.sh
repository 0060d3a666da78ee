# Tensors of different files that lie at the same offset are not tied: each keeps its own bytes in every format.
python3 - <<'PY'
import json
from make_safetensors import save
weights = {}
for i in (1, 2, 3):
    shard = f"model-{i:05}-of-00003.safetensors"
    save(shard, {f"layer{i}.w": ("BF16", [4, 2], bytes([i] * 16)), f"layer{i}.b": ("F32", [2], bytes([i + 16] * 8))})
    weights |= {f"layer{i}.w": shard, f"layer{i}.b": shard}
with open("model.safetensors.index.json", "w") as f:
    json.dump({"metadata": {}, "weight_map": weights}, f)
PY
"$CKPTDB_BIN" import model.safetensors.index.json 2>/dev/null
for format in safetensors torch dcp zarr zarr3 hdf5 flax orbax tf; do
    try export model.safetensors.index.json $format.out --format $format --no-sync
    "$CKPTDB_BIN" diff --bytes ./model.safetensors.index.json ./$format.out >diff.txt 2>&1 || tail -n 3 diff.txt
done
try export model.safetensors.index.json f32.out --format torch --dtype float32 --no-sync
"$CKPTDB_BIN" get ./f32.out layer2.w --slice 0
"$CKPTDB_BIN" get ./model.safetensors.index.json layer2.w --slice 0
echo '--- a tied tensor has the checksum of its twin, not of empty data'
try export "$TESTS/fixtures/real/torch/tied/data/same_object.pth" tied --format tf --no-sync
"$CKPTDB_BIN" diff --bytes "$TESTS/fixtures/real/torch/tied/data/same_object.pth" ./tied
python3 -c '
index = open("tied.index", "rb").read()
sums = {index[at + 1:at + 5].hex() for at in range(len(index) - 4) if index[at:at + 1] == b"5"}
print("without a checksum" if "d8ea82a2" in sums else "checksums")'
