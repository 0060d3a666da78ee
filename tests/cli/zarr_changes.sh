# What changes in zarr folders after an import, and names and metadata that lead astray.
array() { # FOLDER: three float32
    mkdir -p "$1" && printf '\0\0\0\0\0\0\200\77\0\0\0\100' >"$1/0"
    echo '{"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": "<f4", "compressor": null, "fill_value": 0,
        "order": "C", "filters": null}' >"$1/.zarray"
}
rows() { "$CKPTDB_BIN" "$1"; }
echo '-- an array with the name of a folder of Orbax'
for n in ocdbt.process_0 w; do array g.zarr/$n; done && echo '{"zarr_format": 2}' >g.zarr/.zgroup
try import g.zarr
try tensors g.zarr
echo '-- attributes that are edited in place, of the root, a group, an array'
mkdir g.zarr/sub && echo '{"zarr_format": 2}' >g.zarr/sub/.zgroup && array g.zarr/sub/v
for at in g.zarr g.zarr/sub g.zarr/sub/v; do echo '{}' >$at/.zattrs; done
try import g.zarr
for at in g.zarr g.zarr/sub g.zarr/sub/v; do
    echo "{\"lr\": 3}" >$at/.zattrs && try import g.zarr
    rows "SELECT key, value FROM metadata"
done
echo "{\"lr\": 4}" >g.zarr/sub/.zattrs && try import g.zarr
rows "SELECT key, value FROM metadata"
try import g.zarr
echo '-- the same of version 3'
mkdir -p three/sub/a && for at in three three/sub; do echo '{"zarr_format": 3, "node_type": "group"}' >$at/zarr.json; done
printf '\1\2\3' >three/sub/a/0
echo '{"zarr_format": 3, "node_type": "array", "shape": [3], "data_type": "uint8", "fill_value": 0,
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3]}},
    "chunk_key_encoding": {"name": "v2"}, "codecs": [{"name": "bytes"}]}' >three/sub/a/zarr.json
try import three
echo '{"zarr_format": 3, "node_type": "group", "attributes": {"n": 1}}' >three/sub/zarr.json
try import three
rows "SELECT key, value FROM metadata WHERE key LIKE '%n'"
echo '-- metadata of both versions: the later is read'
array two && cp three/sub/a/zarr.json two && printf '\1\2\3' >two/0
try import two
try tensors two
echo '-- a folder that becomes a checkpoint has what was catalogued in it'
mkdir many && array many/a.zarr && array many/b.zarr
try import many
echo '{"zarr_format": 2}' >many/.zgroup
try import many
rows "SELECT replace(path, rtrim(path, replace(path, '/', '')), '') AS folder, state, tensors FROM checkpoint WHERE path LIKE '%many%' ORDER BY 1"
try import many --prune
rows "SELECT name, state, tensors FROM checkpoint WHERE path LIKE '%many%'"
