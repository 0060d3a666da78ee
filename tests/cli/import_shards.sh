# A sharded set: which files are its own, and what it says when they do not fit together.
cases=$TESTS/fixtures/safetensors_index
rows() { "$CKPTDB_BIN" --list "SELECT name, dtype, shape, file, offset FROM tensor ORDER BY id"; }
try() { # CASE
    echo "--- $1"
    rm -rf case "$CKPTDB"
    mkdir case
    cp "$cases/$1"/* case/
    "$CKPTDB_BIN" import case
    echo "status $?"
    "$CKPTDB_BIN" --list "SELECT path, format, tensors, files FROM checkpoint"
}
try y_two
rows
echo "--- a file of its own beside the set"
cp case/model-00001-of-00002.safetensors case/model.safetensors
"$CKPTDB_BIN" import case
"$CKPTDB_BIN" --list "SELECT path, format FROM checkpoint"
try y_variant
try n_missing-shard_second
rows
try n_extra-shard_third
try n_not-in-shard_a
try n_not-in-index_b
try n_duplicate-name_two_shards
try n_total-size_off_by_one
try n_truncated_second
rows
try n_bad-shard-name_up
try n_bad-index_cut
"$CKPTDB_BIN" --list "SELECT severity, code FROM issue"
echo '--- what shards state otherwise than the index or each other'
rm -rf case "$CKPTDB"
mkdir case
shard() { # FILE METADATA NAME
    header="{\"__metadata__\":$2,\"$3\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}"
    printf "\\$(printf %o ${#header})\0\0\0\0\0\0\0%sx" "$header" >"case/$1"
}
shard model-00001-of-00002.safetensors '{"format":"pt","part":"1"}' a
shard model-00002-of-00002.safetensors '{"format":"pt","part":"2","kind":"y"}' b
printf '{"metadata":{"total_size":2,"kind":"x"},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}' \
    >case/model.safetensors.index.json
"$CKPTDB_BIN" import case
"$CKPTDB_BIN" --list "SELECT key, value FROM metadata"
echo '--- tied weights, which total_size has once, or twice, but not less and not more'
for total in 8 16 7 17; do
    rm -rf case "$CKPTDB"
    mkdir case
    python3 - "$TESTS/fixtures" $total <<'PY'
import json, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from make_torch import Raw, op, saved, tensor
name = "pytorch_model-00001-of-00001.bin"
open(f"case/{name}", "wb").write(saved({"a": Raw(op(tensor()) + b"q\1"), "b": Raw(b"h\1")}))
json.dump({"metadata": {"total_size": int(sys.argv[2])}, "weight_map": {"a": name, "b": name}},
          open("case/pytorch_model.bin.index.json", "w"))
PY
    "$CKPTDB_BIN" import case
done
echo '--- a file that is loaded in place of the shards'
cp case/pytorch_model-00001-of-00001.bin case/pytorch_model.bin
"$CKPTDB_BIN" import case
echo '--- a shard that is missing is missing in every import; once it is there, all is'
rm -rf case "$CKPTDB"
cp -r "$TESTS/fixtures/real/torch/dcp_two/data/sharded" case
chmod -R u+w case
mv case/__1_0.distcp away
for _ in 1 2 3; do
    "$CKPTDB_BIN" import case
    echo "status $?"
done
mv away case/__1_0.distcp
"$CKPTDB_BIN" import case
"$CKPTDB_BIN" "SELECT count(*) FROM issue"
