# What a file that was cut short still holds: whole tensors, with their values; the others are named.
cut_file() { # FILE: a catalog of the file, whole and cut
    rm -rf cut && mkdir cut && cp "$TESTS/fixtures/cut/$1" "cut/whole.${1##*.}"
    python3 -c "
import sys
data, suffix = open(sys.argv[1], 'rb').read(), sys.argv[1].rsplit('.', 1)[1]
for n in range(1, len(data), 7):
    open(f'cut/{n:06}.{suffix}', 'wb').write(data[:n])" "$TESTS/fixtures/cut/$1"
    rm -f cut.db && "$CKPTDB_BIN" -d cut.db import --salvage cut >/dev/null 2>&1
}
for file in zip.pt flat.pt odd.pt legacy.pt one.safetensors one.gguf stored.npz stream.npz deflated.npz; do
    echo "-- $file, cut at every seventh byte"
    cut_file $file
    "$CKPTDB_BIN" -d cut.db "
        CREATE TEMP TABLE whole AS SELECT name, dtype, shape, tensor_sha256(id) AS sha,
            (SELECT max(offset + stored) FROM extent e WHERE e.tensor_id = t.id) AS ends
            FROM tensor t WHERE path LIKE '%/whole.%';
        CREATE TEMP TABLE part AS SELECT id, state, CAST(substr(path, instr(path, '/cut/') + 5, 6) AS INTEGER) AS size
            FROM checkpoint WHERE path NOT LIKE '%/whole.%';
        CREATE TEMP TABLE row AS SELECT p.size, t.name, t.dtype, t.shape, t.storage <> 'none' AS held,
            CASE WHEN t.storage <> 'none' THEN tensor_sha256(t.id) END AS sha
            FROM part p JOIN tensor t ON t.checkpoint_id = p.id;
        SELECT 'sizes of ' || count(*) || ' from ' || min(size) || ', not damaged: ' || sum(state <> 'damaged') FROM part;
        SELECT 'tensors without data ' || sum(NOT held) || ', read ' || sum(held) FROM row;
        SELECT 'with another value, dtype or shape: ' || count(*) FROM row r LEFT JOIN whole w USING (name)
            WHERE (r.dtype, r.shape) IS NOT (w.dtype, w.shape) OR held AND r.sha IS NOT w.sha;
        SELECT 'whole before the cut, and not read: ' || count(*) FROM part p JOIN whole w ON w.ends <= p.size
            LEFT JOIN row r ON r.size = p.size AND r.name = w.name WHERE r.held IS NOT 1;
        SELECT 'issues of a file: at most ' || max(n) FROM (SELECT count(*) AS n FROM issue GROUP BY path);"
done
echo '-- without --salvage a file is refused; of what no catalog holds, commands take what is left'
head -c 2700 "$TESTS/fixtures/cut/zip.pt" >m.pt
try -d plain.db import m.pt
try -d plain.db tensors m.pt
try -d plain.db get m.pt c
STATUS=always try -d plain.db export m.pt rescued.safetensors --partial
try tensors ./rescued.safetensors
echo '-- an archive inside a tensor, whose directory is there, is not this one'
head -c 3300 "$TESTS/fixtures/cut/nested.pt" >n.pt
try -d :memory: tensors n.pt
echo '-- what people do with it'
head -c 2700 "$TESTS/fixtures/cut/zip.pt" >m.pt
try import m.pt
try import --salvage m.pt
try ls
try tensors m.pt
try get m.pt c
try get m.pt z
try export m.pt out.safetensors
STATUS=always try export m.pt out.safetensors --partial
try import out.safetensors
try diff m.pt out.safetensors
try verify m.pt
"$CKPTDB_BIN" "SELECT code, offset, message FROM issue WHERE path LIKE '%/m.pt'"
echo '-- cut after the import'
cp "$TESTS/fixtures/cut/zip.pt" later.pt && "$CKPTDB_BIN" import later.pt && "$CKPTDB_BIN" hash later.pt >/dev/null
truncate -s 2700 later.pt
try verify later.pt
try import later.pt
try import --salvage later.pt
"$CKPTDB_BIN" "SELECT count(*), count(hash), sum(storage = 'none') FROM tensor WHERE path LIKE '%/later.pt'"
cp "$TESTS/fixtures/cut/zip.pt" later.pt
try import later.pt
"$CKPTDB_BIN" "SELECT state FROM checkpoint WHERE path LIKE '%/later.pt'"
echo '-- ten thousand tensors behind the end: one issue'
python3 -c "
import json, struct
h = json.dumps({f't{i}': {'dtype': 'U8', 'shape': [10], 'data_offsets': [10 * i, 10 * i + 10]} for i in range(10000)})
open('many.safetensors', 'wb').write(struct.pack('<Q', len(h)) + h.encode() + bytes(range(100)))"
try import --salvage many.safetensors
"$CKPTDB_BIN" "SELECT count(*), sum(storage = 'none') FROM tensor WHERE path LIKE '%/many.safetensors'"
echo '-- archives that lie'
python3 - <<'P'
import struct
npy = b'\x93NUMPY\1\0\x46\0' + b"{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }".ljust(69) + b'\n' + b'abcd'
def local(name, flags=0, stored=0, size=0, method=0):
    return struct.pack('<IHHHHHIIIHH', 0x04034b50, 20, flags, method, 0, 0, 0, stored, size, len(name), 0) + name
def write(name, data):
    open(name, 'wb').write(data)
n = len(npy)
whole = local(b'a.npy', 0, n, n) + npy
write('size_past_end.npz', whole + local(b'b.npy', 0, 0xfffffff0, 0xfffffff0) + npy)
write('size_too_small.npz', local(b'a.npy', 0, 20, 20) + npy + whole)
write('sizes_unset.npz', whole + local(b'b.npy') + npy)  # the writer was stopped
write('descriptor_of_others.npz', whole + local(b'b.npy', 8) + npy + struct.pack('<IIII', 0x08074b50, 0, 9, 9) + whole)
write('descriptors_only.npz', local(b'b.npy', 8) + b'PK\7\10' * 500000)
write('same_name.npz', whole * 2)
write('deflated_size.npz', whole + local(b'b.npy', 0, 50, 4000000000, 8) + npy)
write('headers.npz', b''.join(local(b'%d' % i) for i in range(400000)))
P
for file in *past_end.npz *too_small.npz *unset.npz *others.npz *only.npz same_name.npz deflated_size.npz headers.npz; do
    ([ "$SLOW" != 1 ] || ulimit -v 1048576; ulimit -t $((10 * SLOW)); "$CKPTDB_BIN" import --salvage $file 2>&1 | cut -c 1-220 | tail -3)
    "$CKPTDB_BIN" "SELECT name, shape, storage, hex(CASE WHEN storage <> 'none' THEN tensor_bytes(id) END)
        FROM tensor WHERE path LIKE '%/$file'"
done
