# Strings go where the format has them, from wherever they are, and come back as they were.
export STATUS=always
python3 - <<'P'
import io, struct, zipfile
def npy(descr, shape, data):
    head = ("{'descr': '%s', 'fortran_order': False, 'shape': %r, }" % (descr, shape)).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head + data
def text(width, *words):
    return b"".join(w.encode("utf-32-le").ljust(4 * width, b"\0") for w in words)
with zipfile.ZipFile("s.npz", "w") as z:
    z.writestr("g/words.npy", npy("<U5", (2, 2), text(5, "a", "", "grün", "five5")))
    z.writestr("g/w.npy", npy("<f4", (2,), struct.pack("<2f", 1, 2)))
    z.writestr("one.npy", npy("<U300", (), text(300, "long" * 75)))
    z.writestr("none.npy", npy("<U3", (0, 4), b""))
    z.writestr("many.npy", npy("|S7", (40000,), b"".join(b"%07d" % i for i in range(40000))))
with zipfile.ZipFile("odd.npz", "w") as z:
    z.writestr("raw.npy", npy("|S2", (2,), b"\xff\0ab"))
P
look() {
    "$CKPTDB_BIN" import "$1" >/dev/null 2>&1
    "$CKPTDB_BIN" --list "SELECT name, dtype, shape, elements, (SELECT group_concat(value, '~') FROM tensor_values(t.id)
        WHERE position IN (0, 1, 2, 3, 39999)) FROM tensor t WHERE checkpoint_id = checkpoint_id('$2') ORDER BY name" | cut -c1-60
    "$CKPTDB_BIN" verify "$2" 2>&1
}
try import s.npz odd.npz
look s.npz s.npz >want
cat want
for to in "tf --format tf" "s.h5" "s.zarr" "parts --format tf --shard-size 1KB"; do
    # shellcheck disable=SC2086 # options
    try export s.npz $to
    look "$(ls -d "${to%% *}" "${to%% *}.index" 2>/dev/null)" "${to%% *}" | diff want - && echo same
done
echo '--- and on'
try export s.h5 on --format tf
look on.index on | diff want - && echo same
try export on on.zarr
look on.zarr on.zarr | diff want - && echo same
try export on.zarr on.h5
look on.h5 on.h5 | diff want - && echo same
try export s.zarr x --format tf --dry-run --names words
echo '--- what cannot be'
try export odd.npz odd.h5
try export odd.npz odd.zarr
try export odd.npz odd --format tf
look odd.index odd
try export s.npz s.safetensors
try export s.npz s3 --format zarr3
try export s.npz s.npz.npz
ls -A
