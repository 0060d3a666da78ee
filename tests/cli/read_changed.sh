# Values that the catalog itself holds (small ones of OCDBT, strings of Orbax, chunks that are
# nothing but fill) come only while the files that they were read from are as they were.
fixtures=$TESTS/fixtures
cp -r "$fixtures/jax_pytree/y_flat" inline
cp -r "$fixtures/orbax/y_strings" strings
cp -r "$fixtures/orbax/y_all_zero_elided" zeros
export TZ=UTC
ckptdb() { "$CKPTDB_BIN" "$@" 2>&1 | sed -E "s|[0-9a-f]{32}|HASH|g"; }
every_way() { # CHECKPOINT
    local where="path = '$PWD/$1' AND nbytes IS NOT NULL"
    case $1 in strings) where="path = '$PWD/$1' AND dtype = 'string'" ;; esac
    name=$("$CKPTDB_BIN" "SELECT name FROM tensor WHERE $where LIMIT 1")
    ckptdb get "$1" "$name" | cut -c 1-160
    ckptdb -c "SELECT length(tensor_sha256(id)) FROM tensor WHERE $where LIMIT 1"
    ckptdb -c "SELECT count(*) > 0 FROM tensor t JOIN tensor_values(t.id) WHERE $where AND name = '$name'"
    case $1 in inline | zeros) ckptdb export "$1" "$1.safetensors" --force --names "^$name\$" ;; esac
}
"$CKPTDB_BIN" import . >/dev/null 2>&1
for each in inline strings zeros; do
    echo "--- $each"
    every_way $each
    for file in $(find $each -name manifest.ocdbt -o -name _strings.json -o -path '*/d/*' | sort); do
        cp -p "$file" kept
        touch -d @1 "$file"
        echo "--- $each: another ${file##*/}" | sed -E "s|[0-9a-f]{32}|HASH|g"
        every_way $each
        # As it was, but for the file's number: written again, and dated back.
        touch -r kept "$file"
        every_way $each | head -n 1
    done
done
echo "--- saved again"
rm -r inline
cp -r "$fixtures/jax_pytree/y_json" inline
every_way inline
"$CKPTDB_BIN" import inline
every_way inline
rm -r inline
echo "--- gone"
every_way inline
echo "--- chunks in directories of the array's: one is added, one is replaced"
mkdir -p nested.zarr/c/{0,1}
echo '{"zarr_format":3,"node_type":"array","shape":[4,2],"data_type":"int16","fill_value":9,
 "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,1]}},"chunk_key_encoding":{"name":"default"},
 "codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}' >nested.zarr/zarr.json
printf '\1\0\2\0' | tee nested.zarr/c/0/0 >nested.zarr/c/1/1
nested() { # CHUNK TIME
    touch -d "@$2" nested.zarr/c/*
    "$CKPTDB_BIN" -d nested.db import nested.zarr
    "$CKPTDB_BIN" -d nested.db get nested.zarr
    printf '\3\0\4\0' >"nested.zarr/c/$1.new" && mv "nested.zarr/c/$1.new" "nested.zarr/c/$1"
    "$CKPTDB_BIN" -d nested.db get nested.zarr
    echo "status $?"
    "$CKPTDB_BIN" -d nested.db hash nested.zarr 2>&1
}
nested 0/1 1000000000
nested 1/1 1000000001
