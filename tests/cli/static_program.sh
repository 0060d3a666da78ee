# The program without shared libraries (`make static`), in a folder that is its whole system: it reads what the
# other reads, with all codecs.
static=$(dirname "$(readlink -f "$CKPTDB_BIN")")/../static/ckptdb
[ "$(basename "$(dirname "$(readlink -f "$CKPTDB_BIN")")")" = release ] || { echo "SKIP: it is no sanitizer's"; exit 77; }
[ -x "$static" ] || { echo "SKIP: there is no build/static/ckptdb (make static)"; exit 77; }
readelf -ld "$static" | grep -E 'INTERP|NEEDED'

python3 - <<'PY'
# What NumPy, TensorFlow and Orbax do not write: zarr 2 with each of blosc's codecs, and the others.
import bz2, ctypes, json, lzma, os, struct, zlib
data = b"".join(struct.pack("<f", i // 8) for i in range(4096))
blosc = ctypes.CDLL("libblosc.so.1")
def packed(name):
    out = ctypes.create_string_buffer(len(data) + 64)
    size = blosc.blosc_compress_ctx(5, 1, ctypes.c_size_t(4), ctypes.c_size_t(len(data)), data, out, ctypes.c_size_t(len(out)), name.encode(), ctypes.c_size_t(0), 1)
    return out.raw[:size]
codecs = {f"blosc_{n}": ({"id": "blosc", "cname": n, "clevel": 5, "shuffle": 1}, packed(n)) for n in ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")}
codecs["bz2"] = {"id": "bz2", "level": 1}, bz2.compress(data)
codecs["lzma"] = {"id": "lzma", "format": 1, "check": -1, "preset": None, "filters": None}, lzma.compress(data)
codecs["zlib"] = {"id": "zlib", "level": 1}, zlib.compress(data)
os.makedirs("dir/codecs.zarr")
open("dir/codecs.zarr/.zgroup", "w").write('{"zarr_format": 2}')
for name, (compressor, chunk) in codecs.items():
    os.makedirs(f"dir/codecs.zarr/{name}")
    json.dump({"zarr_format": 2, "shape": [4096], "chunks": [4096], "dtype": "<f4", "compressor": compressor, "fill_value": 0,
               "order": "C", "filters": None}, open(f"dir/codecs.zarr/{name}/.zarray", "w"))
    open(f"dir/codecs.zarr/{name}/0", "wb").write(chunk)
PY
cp -r "$TESTS"/fixtures/real/{orbax,hdf5,jax,tf} dir
cp "$static" dir/program
# With nothing around it, where a user may have a root; else as it is.
alone=(unshare -rR "$PWD/dir" /program)
"${alone[@]}" --version >/dev/null 2>&1 || alone=(env -i -C dir ./program)
sums='SELECT name, tensor_sha256(id) AS sha256 FROM tensor WHERE dtype <> '"'string'"' ORDER BY path, ord'
both=(-d :memory: --list -c '.import .' -c "$sums")
"${alone[@]}" "${both[@]}" >ours 2>/dev/null
(cd dir && "$CKPTDB_BIN" "${both[@]}" >../other 2>/dev/null)
cmp other ours && wc -l <ours
grep -E '^(blosc|bz2|lzma|zlib)' ours | cut -d'|' -f2 | sort | uniq -c
