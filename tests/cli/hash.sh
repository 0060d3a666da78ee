# Content hashes: one for the same values in every container; kept until a file changes.
python3 - <<'EOF'
import struct, random
from make_safetensors import save
block = 1 << 20
r = random.Random(7)
sizes = [0, 1, block - 1, block, block + 1, 2 * block, 33 * block, 65 * block + 3]
save("edges.safetensors", [("t%d" % n, "U8", [n], r.randbytes(n)) for n in sizes])
save("a.safetensors", [("w", "F32", [2, 3], struct.pack("<6f", *range(6))), ("tied", "F32", [2, 3], struct.pack("<6f", *range(6)))])
save("b.safetensors", [("x", "F32", [6], struct.pack("<6f", *range(6)))])
EOF
python3 "$TESTS/fixtures/make_npy.py" c.npy '>f4' '(2, 3)' '>f' 0 1 2 3 4 5
python3 "$TESTS/fixtures/make_npy.py" d.npy '<f4' '(2, 3)F' '<f' 0 3 1 4 2 5
"$CKPTDB_BIN" import .
"$CKPTDB_BIN" hash | cut -f 1,3
echo "status $?"
echo '-- the edges of blocks'
"$CKPTDB_BIN" "SELECT name, hash FROM tensor WHERE path LIKE '%edges%'"
echo '-- the same values, wherever they are'
"$CKPTDB_BIN" "SELECT name, dtype, shape FROM tensor t JOIN content c ON t.checkpoint_id = c.checkpoint_id AND t.id = c.tensor_id
  WHERE c.hash = (SELECT hash FROM tensor WHERE name = 'x') ORDER BY name"
"$CKPTDB_BIN" "EXPLAIN QUERY PLAN SELECT tensor_id FROM main.content WHERE hash = 'x'" | grep -c SCAN
echo '-- one thread, several: one hash'
cp "$CKPTDB" again.db
"$CKPTDB_BIN" -d again.db hash --again --jobs 1 >/dev/null
"$CKPTDB_BIN" "ATTACH 'again.db' AS other; SELECT count(*) FROM (SELECT id, hash FROM _tensor_hashes EXCEPT SELECT id, hash FROM other._tensor_hashes)"
echo '-- what is wrong is reported, what changed loses its hash'
printf X | dd of=b.safetensors bs=1 seek=85 conv=notrunc status=none
"$CKPTDB_BIN" hash b.safetensors --again
echo "status $?"
"$CKPTDB_BIN" import b.safetensors
"$CKPTDB_BIN" "SELECT count(*), count(hash) FROM tensor WHERE path LIKE '%/b.safetensors'"
"$CKPTDB_BIN" forget a.safetensors
"$CKPTDB_BIN" "SELECT count(*) FROM content WHERE hash = '$("$CKPTDB_BIN" "SELECT hash FROM tensor WHERE name = 'c'")'"
echo '-- manifests have the form of sha256sum'
"$CKPTDB_BIN" hash c.npy --sha256
python3 -c "
import hashlib, struct
print(hashlib.sha256(struct.pack('<6f', *range(6))).hexdigest())"
"$CKPTDB_BIN" hash c.npy --manifest m.txt && cat m.txt
"$CKPTDB_BIN" hash --sha256
echo "status $?"
echo '-- what becomes unreadable has no hash any more'
mkdir later && cp "$TESTS/fixtures/npz/y_stored.npz" later/l.npz && "$CKPTDB_BIN" import later
"$CKPTDB_BIN" hash l.npz | cut -f 2-
truncate -s -500 later/l.npz
"$CKPTDB_BIN" import later
"$CKPTDB_BIN" "SELECT name, state, hash FROM checkpoint WHERE name = 'l.npz'"
"$CKPTDB_BIN" "SELECT count(hash) FROM tensor WHERE path LIKE '%/l.npz'"
echo '-- a disk that is away for a while costs nothing that is known of its files'
mkdir disk && cp "$TESTS/fixtures/npz/y_stored.npz" disk/d.npz && "$CKPTDB_BIN" import disk
"$CKPTDB_BIN" hash d.npz | cut -f 2-
"$CKPTDB_BIN" stats d.npz >/dev/null
mv disk away
for command in hash stats dedup; do
    "$CKPTDB_BIN" $command d.npz 2>&1 | cut -c 1-90
done
mv away disk
"$CKPTDB_BIN" "SELECT count(*), count(t.hash), (SELECT count(*) FROM stats WHERE checkpoint_id = c.id) FROM tensor t JOIN checkpoint c ON c.id = t.checkpoint_id WHERE c.name = 'd.npz'"
echo '-- --jobs is a number, as elsewhere'
for command in hash stats verify 'import .'; do "$CKPTDB_BIN" $command --jobs ' 5'; "$CKPTDB_BIN" $command --jobs +5; "$CKPTDB_BIN" $command --jobs 1025; echo "status $?"; done
