# Zarr directories as people have them: stores, big_vision's and Levanter's folders, arrays named
# one by one, and what changes between two imports.
list() { "$CKPTDB_BIN" "SELECT id, replace(path, '$PWD/', '') AS path, step, tensors FROM checkpoint ORDER BY path"; }
imported() { echo "== import $*"; "$CKPTDB_BIN" import "$@"; echo "status $?"; }
array() { # PATH SHAPE CHUNKS REST
    mkdir -p "$1"
    printf '{"zarr_format":2,"shape":%s,"chunks":%s,"dtype":"<i2","order":"C","compressor":null,"filters":null,%s}' \
        "$2" "$3" "$4" >"$1/.zarray"
}
filled='"fill_value":7,"dimension_separator":"."'
nulled='"fill_value":null,"dimension_separator":"."'

mkdir -p store.zarr/model
printf '{"zarr_format":2}' | tee store.zarr/.zgroup >store.zarr/model/.zgroup
array store.zarr/model/w '[2,3]' '[1,3]' "$filled"
printf '\1\0\2\0\3\0' >store.zarr/model/w/0.0
array store.zarr/b '[2]' '[2]' "$nulled"
printf '\4\0\5\0' >store.zarr/b/0
for name in 'params~head~kernel' 'params~head~bias'; do
    array "vit-000000500/$name" '[2]' '[2]' "$nulled"
    printf '\1\0\2\0' >"vit-000000500/$name/0"
done
cp -r vit-000000500 vit-000001000-tmp
mkdir -p lev/step-30/model/layers
printf '{"step": 30, "timestamp": "2024-02-01T00:00:00"}' >lev/step-30/metadata.json
cp -r 'vit-000000500/params~head~bias' lev/step-30/model/layers/bias
cp -r 'vit-000000500/params~head~bias' single.zarr
cp -r 'vit-000000500/params~head~bias' strangers && touch strangers/00

imported .
list
"$CKPTDB_BIN" "SELECT checkpoint_id, name, dtype, shape FROM tensor"
"$CKPTDB_BIN" get vit-000000500 params/head/kernel
"$CKPTDB_BIN" get store.zarr model/w

echo "== nothing new"
imported store.zarr/model/w/.zarray store.zarr/model store.zarr/b/0 "vit-000000500/params~head~bias"
list

echo "== a chunk more, an array more, a chunk lost"
printf '\10\0\11\0\12\0' >store.zarr/model/w/1.0
imported store.zarr
"$CKPTDB_BIN" get store.zarr model/w
cp -r store.zarr/b store.zarr/model/deeper
rm store.zarr/b/0
imported store.zarr
"$CKPTDB_BIN" "SELECT name, dtype, shape FROM tensor WHERE path LIKE '%store.zarr'"
"$CKPTDB_BIN" get store.zarr b
echo "status $?"

echo "== gone"
rm -r single.zarr
imported . --prune
list
echo "--- metadata whose path is too long, and attributes that are too large: the rest is there, what is lost is said"
(
    root=$PWD/long
    array='{"zarr_format":2,"shape":[1],"chunks":[1],"dtype":"<f4","order":"C","compressor":null,"filters":null,
        "fill_value":0}'
    mkdir -p long/near && cd long && echo '{"zarr_format":2}' >.zgroup && echo "$array" >near/.zarray
    truncate -s 300000000 near/.zattrs
    deep=$(printf 'x%.0s' {1..200})
    dir=$root
    while [ ${#dir} -lt 3600 ]; do
        mkdir "$deep" && cd "$deep" || exit
        dir=$dir/$deep
    done
    last=$(printf 'y%.0s' $(seq $((4092 - ${#dir} - 1 - 201))))
    mkdir -p "$deep/$last" && cd "$deep" || exit
    echo "$array" >"$last/.zarray"
)
"$CKPTDB_BIN" -d long.db import long 2>&1 | sed -E 's/x{200}/X/g; s/y{50,}/Y/g'
"$CKPTDB_BIN" -d long.db 'SELECT length(name), shape, storage FROM tensor'
"$CKPTDB_BIN" -d long.db 'SELECT state FROM checkpoint'
rm -r long
echo "--- an array behind a link that the root's copies name: its own metadata count"
mkdir -p copies.zarr away
echo '{"zarr_format":2}' >copies.zarr/.zgroup
array='{"zarr_format":2,"shape":[2,2],"chunks":[2,2],"dtype":"|u1","order":"ORDER","compressor":null,"filters":null,"fill_value":0}'
echo "${array/ORDER/F}" >away/.zarray
printf '\1\2\3\4' >away/0.0
ln -s "$PWD/away" copies.zarr/l
echo "{\"zarr_consolidated_format\":1,\"metadata\":{\".zgroup\":{\"zarr_format\":2},\"l/.zarray\":${array/ORDER/C}}}" \
    >copies.zarr/.zmetadata
imported copies.zarr
"$CKPTDB_BIN" get copies.zarr l
echo "-- damaged, it is no array, as without a link"
echo '{"zarr_format":2,"shape":' >away/.zarray
imported copies.zarr
"$CKPTDB_BIN" get copies.zarr l || true
echo "--- a name may begin with a dot; a hidden directory that is no node is none of the store's"
mkdir -p dots.zarr/.hidden/.deep dots.zarr/.git/objects/a
echo '{"zarr_format":2}' | tee dots.zarr/.zgroup dots.zarr/.hidden/.zgroup >dots.zarr/.git/objects/a/.zgroup
for name in .a ..b .hidden/.deep .git/objects/a; do
    mkdir -p "dots.zarr/$name"
    echo '{"zarr_format":2,"shape":[1],"chunks":[1],"dtype":"|u1","order":"C","compressor":null,"filters":null,
        "fill_value":0}' >"dots.zarr/$name/.zarray"
    printf '\7' >"dots.zarr/$name/0"
done
"$CKPTDB_BIN" -d dots.db import dots.zarr
"$CKPTDB_BIN" -d dots.db tensors dots.zarr
echo '-- a scale of times is from 1 to 2147483647'
mkdir -p time/c
printf '\1\0\0\0\0\0\0\0' >time/c/0
for scale in 10 2147483647 0 -1 2.5 2147483648 '"3"' null; do
    printf '{"zarr_format": 3, "node_type": "array", "shape": [1], "data_type": {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": %s}},
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}}, "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}' "$scale" >time/zarr.json
    "$CKPTDB_BIN" -d time.db import time 2>&1 | grep -v new
    "$CKPTDB_BIN" -d time.db --list "SELECT '$scale', dtype, storage FROM tensor"
    rm time.db
done
# Each was decoded again for each row of strings: 8 s.
echo '-- a row of a thousand chunks of strings'
python3 - <<'EOF'
import json, os, struct
os.mkdir("texts")
json.dump({"zarr_format": 2, "shape": [1000, 1000], "chunks": [1000, 1], "dtype": "|O", "compressor": None,
           "filters": [{"id": "vlen-utf8"}], "order": "C", "fill_value": "none"}, open("texts/.zarray", "w"))
for c in range(1000):
    if c != 500:
        with open("texts/0.%d" % c, "wb") as f:
            f.write(struct.pack("<I", 1000) + b"".join(struct.pack("<I6s", 6, b"%03d%03d" % (r, c)) for r in range(1000)))
EOF
"$CKPTDB_BIN" -d texts.db import texts
(ulimit -t $((4 * SLOW)) && "$CKPTDB_BIN" -d texts.db get texts '' --format json) | python3 -c '
import json, sys
print(json.load(sys.stdin) == [["none" if c == 500 else "%03d%03d" % (r, c) for c in range(1000)] for r in range(1000)])'
rm -r texts
echo "-- a hidden folder that is another user's, beside arrays"
mkdir -p shared/z/a && echo '{"zarr_format":2}' >shared/z/.zgroup
echo '{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"|u1","compressor":null,"fill_value":0,"order":"C","filters":null}' \
    >shared/z/a/.zarray
printf ab >shared/z/a/0
mkdir -m 000 shared/z/.Trash-0
as_other() { "$@"; }
if [ "$(id -u)" = 0 ]; then # root may read all: another user looks
    chmod o+x "$PWD" "$PWD/.." "$PWD/../.." && chmod o+rwx shared && cp "$CKPTDB_BIN" shared/program
    as_other() { HOME=$PWD/shared setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
else
    cp "$CKPTDB_BIN" shared/program
fi
as_other shared/program -d shared/c.db import shared/z
cp -r shared/z/a shared/z/b
as_other shared/program -d shared/c.db import shared/z
as_other shared/program -d shared/c.db --list "SELECT name FROM tensor" "SELECT message FROM issue"
chmod 700 shared/z/.Trash-0
echo '-- in one zip archive: values by slices, sums that verify looks at, and a second import'
cp "$TESTS/fixtures/real/jax/zarr_zip/data/v3.zarr.zip" store.zarr.zip && chmod u+w store.zarr.zip
"$CKPTDB_BIN" -d zip.db import store.zarr.zip
"$CKPTDB_BIN" tree store.zarr.zip
"$CKPTDB_BIN" get store.zarr.zip sh --slice '3:5,::3'
"$CKPTDB_BIN" get store.zarr.zip model/w
"$CKPTDB_BIN" -d zip.db import store.zarr.zip
"$CKPTDB_BIN" -d zip.db verify || echo "status $?"
python3 - store.zarr.zip <<'EOF'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[data.index(b"\1\0\0\0\0\0\0\0\xfe\xff")] ^= 2
open(sys.argv[1], "wb").write(data)
EOF
"$CKPTDB_BIN" -d zip.db import store.zarr.zip
"$CKPTDB_BIN" -d zip.db verify || echo "status $?"
