# HDF5 and Keras files: what is odd about each, how tensors lie, what attributes become.
export STATUS=always
sql() {
    "$CKPTDB_BIN" --list "$1"
}
cp -r "$TESTS/fixtures/hdf5" odd
cp -r "$TESTS/fixtures/keras" archives
echo "--- every odd file, and why"
try import odd archives

echo "--- how chunks lie: every index, and filters"
sql "SELECT name, dtype, shape, storage, stored FROM tensor WHERE path LIKE '%/y_chunks_new.h5'"
sql "SELECT e.ordinal, e.offset, e.stored, e.codec, e.origin, e.shape
     FROM tensor t JOIN extent e ON e.tensor_id = t.id
     WHERE t.path LIKE '%/y_chunks_new.h5' AND t.name IN ('filled', 'two', 'growing')
     ORDER BY t.name, e.ordinal" | head -20
try get y_chunks_old.h5 filled
try get y_chunks_new.h5 two

echo "--- integers of fewer bits than their bytes: what the library reads, whatever the other bits hold"
for name in i12 i20be_at_3 u12_at_2 u5 i40 filled packed packed_at_3; do try get y_narrow.h5 $name; done

echo "--- a stored member's tensors are ranges of the archive, a deflated one's cuts"
sql "SELECT name, storage, offset, stored FROM tensor WHERE path LIKE '%/y_stored.keras'"
sql "SELECT name, storage, offset, stored FROM tensor WHERE path LIKE '%/y_deflated.keras'"
try get y_deflated.keras layers/dense/vars/0

echo "--- chunks in a deflated member, each cut out of what it inflates to"
sql "SELECT t.name, count(*), max(e.codec) FROM tensor t JOIN extent e ON e.tensor_id = t.id
     WHERE t.path LIKE '%/y_chunks_deflated.keras' GROUP BY t.name ORDER BY t.name"
try diff --values y_chunks.keras y_chunks_deflated.keras
try get y_chunks_deflated.keras filtered --slice 1:4,2:
try get y_chunks_deflated.keras texts

echo "--- opaque bytes that h5py made of another dtype have that"
try get y_opaque.h5 seconds
try get y_opaque.h5 big
try get y_opaque.h5 bytes
sql "SELECT name, dtype FROM tensor WHERE path LIKE '%/y_opaque.h5' ORDER BY name"

echo "--- weights as pickles have the names that an .h5 gives, in a deflated archive too"
sql "SELECT name, dtype, shape, storage FROM tensor WHERE path LIKE '%/y_npz.keras'"
try get y_npz.keras layers/dense/vars/0
try diff --values y_npz.keras y_npz_deflated.keras

echo "--- attributes and configuration are facts, empty groups are leaves"
sql "SELECT checkpoint, key, value FROM metadata WHERE checkpoint IN ('y_new.h5', 'y_text.h5', 'y_stored.keras') ORDER BY checkpoint, key"
sql "SELECT value FROM metadata WHERE checkpoint = 'y_dense_ordered.h5' ORDER BY key LIMIT 3"
sql "SELECT name, kind FROM node WHERE checkpoint_id = (SELECT id FROM checkpoint WHERE name = 'n_link_loop_to_root.h5')"
try tensors y_text.h5
try get y_text.h5 vlen

echo "--- a user block, also one that hides the signature"
sql "SELECT checkpoint, name, offset FROM tensor WHERE path LIKE '%user_block%' ORDER BY checkpoint, name"
echo "--- strings are kept in the catalog, and belong to the file that they were read from"
cp odd/y_text.h5 odd/again.h5
printf ' ' >>odd/again.h5
mv odd/again.h5 odd/y_text.h5
try get y_text.h5 vlen
try import odd/y_text.h5
try get y_text.h5 vlen
echo "--- files named like shards belong to the set, even if not in the index; files of another format do not"
cp -r "$TESTS/fixtures/hdf5_sharded/y_two" shards
cp shards/tf_model-00001-of-00002.h5 shards/tf_model-00003-of-00003.h5
for n in 1 2; do cp "$TESTS/fixtures/safetensors_index/y_two/model-0000$n-of-00002.safetensors" shards/tf_model-0000$n-of-00002.safetensors; done
try -d shards.db import shards
try -d shards.db "SELECT name, format, tensors FROM checkpoint ORDER BY name"

echo "--- a filter of the registry that is not undone says whose plugin undoes it; where a library is missing, who has it"
python3 - "$TESTS/fixtures/hdf5/n_unsupported_filter.h5" <<'END'
import sys
data = open(sys.argv[1], "rb").read()
at = data.index(bytes([0x4D, 0x01]) + bytes([8]))
for name, number in ("sz3", 32024), ("blosc2", 32026):
    open(name + ".h5", "wb").write(data[:at] + number.to_bytes(2, "little") + data[at + 2:])
END
try import sz3.h5
try hash blosc2.h5
