# Exports to zarr: groups of version 2 and 3, and that they are read back.
export STATUS=always
# safetensors FILE HEADER DATA: a file with this header and data, in printf's spelling.
same() { # FOLDER: its tensors, and whether they equal model.safetensors
    "$CKPTDB_BIN" import "$1" || echo "status $?"
    "$CKPTDB_BIN" --list "SELECT t.name, t.dtype, t.shape, tensor_sha256(t.id) = tensor_sha256(s.id) AS same
        FROM tensor t LEFT JOIN tensor s ON s.name = t.name AND s.path = '$PWD/model.safetensors'
        WHERE t.path = '$PWD/$1' ORDER BY t.name"
}
names() { # FILE NAME...: a checkpoint of one byte a name
    local file=$1 header='' at=0
    shift
    for name in "$@"; do
        header+="${header:+,}\"$name\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[$at,$((++at))]}"
    done
    safetensors "$file" "{$header}" "$(printf '%*s' $# '')"
    "$CKPTDB_BIN" import "$file" >/dev/null
}

safetensors model.safetensors '{"__metadata__":{"who":"me"},"enc/w":{"dtype":"F32","shape":[5,2],"data_offsets":[0,40]},"enc/deep/b":{"dtype":"BF16","shape":[2],"data_offsets":[40,44]},"none":{"dtype":"F16","shape":[0,3],"data_offsets":[44,44]},"step":{"dtype":"I32","shape":[],"data_offsets":[44,48]}}' \
    '\0\0\200\77\0\0\0\100\0\0\100\100\0\0\200\100\0\0\240\100\0\0\300\100\0\0\340\100\0\0\0\101\0\0\20\101\0\0\40\101\1\2\3\4\7\0\0\0'
try import model.safetensors

echo '--- version 2'
try export model.safetensors two.zarr --where "dtype <> 'bfloat16'" --option chunk=16 --option codec=none --no-meta
(cd two.zarr && find . -type f | LC_ALL=C sort && cat .zmetadata && echo && od -An -tx1 enc/w/2.0)
same two.zarr
echo '--- version 3'
try export model.safetensors three.zarr --format zarr3 --where "dtype <> 'bfloat16'" --option chunk=16 --meta 'why=a "test"'
(cd three.zarr && find . -type f | LC_ALL=C sort && cat enc/w/zarr.json zarr.json && echo)
same three.zarr
"$CKPTDB_BIN" "SELECT key, value FROM metadata JOIN checkpoint c ON c.id = checkpoint_id WHERE c.path LIKE '%three.zarr'"
for codec in zstd gzip blosc none; do
    for format in zarr zarr3; do
        try export model.safetensors "$format-$codec.zarr" --format $format --option codec=$codec --option chunk=8 --no-sync
        same "$format-$codec.zarr"
    done
done

echo '--- the root is an array'
names root.safetensors w
try export --sql "SELECT id AS tensor_id, '' AS new_name FROM tensor WHERE path LIKE '%/root.safetensors'" root.zarr
(cd root.zarr && find . -type f | LC_ALL=C sort)
try export --sql "SELECT id AS tensor_id, '' AS new_name FROM tensor WHERE path LIKE '%/root.safetensors'" root3.zarr --format zarr3
same root.zarr
same root3.zarr

echo '--- names that are none'
names odd.safetensors /a a//b a/ ../up .hidden 'back\\slash' x x/y x-y __private zarr.json "$(printf 'n%.0s' {1..256})"
try export odd.safetensors odd.zarr
try export odd.safetensors odd.zarr --format zarr3 --names '^(_|z|x)'
try export odd.safetensors odd.zarr --names '^(x-y|x/y|_)'

echo '--- options'
try export model.safetensors x.zarr --option codec=lzma
try export model.safetensors x.zarr --option level=99
try export model.safetensors x.zarr --option chunk=2GiB
try export model.safetensors x.zarr --option chunk
try export model.safetensors x.zarr --option size=1
try export model.safetensors x.npz --option codec=none
try export model.safetensors x.npz --meta a=b
try export model.safetensors x.zarr --shard-size 1MB
try export --jsonl --dry-run model.safetensors x.zarr --names step

echo '--- what is there already'
try export model.safetensors two.zarr
try export model.safetensors two.zarr/ --force --names step --no-meta
(cd two.zarr && find . -type f | LC_ALL=C sort)
mkdir folder.zarr
echo precious >folder.zarr/file
try export model.safetensors folder.zarr --force
cat folder.zarr/file
echo precious >plain.zarr
try export model.safetensors plain.zarr --force
try export three.zarr three.zarr --force
mkdir -p outer.zarr
echo '{"zarr_format":2}' >outer.zarr/.zgroup
cp model.safetensors outer.zarr/inner.safetensors
"$CKPTDB_BIN" import outer.zarr/inner.safetensors
try export outer.zarr/inner.safetensors outer.zarr --force
ls outer.zarr
mkdir -p .tmp-ckptdb-0123456789abcdef01234567/left/over
try export model.safetensors last.zarr --no-sync
# shellcheck disable=SC2010 # the names are this test's own
ls -A | grep -i 'tmp\|^x'
echo '--- where it comes from'
"$CKPTDB_BIN" hash model.safetensors >/dev/null
try export model.safetensors hashed.zarr --format zarr3 --names step --no-sync
grep -o '"attributes":{"[^}]*}' hashed.zarr/zarr.json | head -n 1
echo '--- formats'
"$CKPTDB_BIN" --jsonl formats | grep '"written":"yes"'
