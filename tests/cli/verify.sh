# The command: what it prints, what it remembers, how it ends.
F=$TESTS/fixtures
mkdir runs && cp -r "$F"/tf_bundle/y_two_shards runs/tf && cp "$F"/npz/y_stored.npz "$F"/gguf/y_one.gguf "$F"/torch/y_zip.pt runs
"$CKPTDB_BIN" import runs
echo '-- all is well'
"$CKPTDB_BIN" verify
echo "status $?"
"$CKPTDB_BIN" --json verify --quick
"$CKPTDB_BIN" "SELECT checkpoint, quick, findings FROM verification ORDER BY 1"
echo '-- a file that was written to; one that is gone'
printf x | dd of=runs/y_one.gguf bs=1 seek=$(($(stat -c %s runs/y_one.gguf) - 2)) conv=notrunc status=none
touch -d '2001-01-01' runs/y_one.gguf
mv runs/y_stored.npz away
"$CKPTDB_BIN" verify
echo "status $?"
"$CKPTDB_BIN" verify 'tf/*'
echo "status $?"
"$CKPTDB_BIN" "SELECT checkpoint, file, code FROM damage ORDER BY 1, 2"
echo '-- imported anew, it is forgotten'
mv away runs/y_stored.npz
"$CKPTDB_BIN" import runs 2>&1 | tail -n 1
"$CKPTDB_BIN" "SELECT checkpoint, code FROM damage"
"$CKPTDB_BIN" verify
echo "status $?"
echo '-- a manifest'
"$CKPTDB_BIN" hash y_stored.npz --manifest m.txt && "$CKPTDB_BIN" verify y_stored.npz --manifest m.txt
echo "status $?"
sed -i '1s/^./f/; 2d; $a0000000000000000000000000000000000000000000000000000000000000000  more' m.txt
"$CKPTDB_BIN" verify y_stored.npz --manifest m.txt
echo "status $?"
"$CKPTDB_BIN" verify --manifest m.txt
echo "status $?"
echo nonsense >bad.txt && "$CKPTDB_BIN" verify y_stored.npz --manifest bad.txt
echo "status $?"
"$CKPTDB_BIN" verify nothing
echo "status $?"
echo '-- what was verified before an interruption is not verified again'
sqlite3 "$CKPTDB" "UPDATE _verifications SET open = 1 WHERE id IN (SELECT id FROM checkpoint WHERE name LIKE '%npz'); DELETE FROM _damages"
"$CKPTDB_BIN" verify
"$CKPTDB_BIN" verify
echo "status $?"
echo '-- a format of another program'
sqlite3 "$CKPTDB" "UPDATE _checkpoints SET format = 'later' WHERE path LIKE '%zip.pt'"
"$CKPTDB_BIN" verify y_zip.pt y_one.gguf
echo "status $?"
echo '-- a manifest of a checkpoint that is one array, whose name is empty; none without reading data'
cp -r "$F"/zarr/y_root_array root && "$CKPTDB_BIN" import root 2>/dev/null
"$CKPTDB_BIN" hash root --manifest - | cut -c 65- | cat -A
"$CKPTDB_BIN" hash root --manifest r.txt && "$CKPTDB_BIN" verify root --manifest r.txt
echo "status $?"
"$CKPTDB_BIN" verify root --manifest r.txt --quick
echo "status $?"
"$CKPTDB_BIN" --json hash root --sha256
echo "status $?"
echo '-- an array of any size without a chunk: nobody waits for its fill, and the rest goes on'
mkdir void && cp "$TESTS/fixtures/hdf5/n_declared-size_nothing.h5" void/a.h5 && cp "$TESTS/fixtures/npz/y_stored.npz" void/b.npz
"$CKPTDB_BIN" -d void.db import void 2>/dev/null
for command in verify hash stats; do
    timeout 400 "$CKPTDB_BIN" -d void.db $command 2>&1 | cut -f 1-4
    echo "$command: status ${PIPESTATUS[0]}"
done
echo '-- headers that are not as they were: facts of any length, what was not warned of, a chunk of a version that is none'
mkdir facts && cd facts && python3 - <<'EOF'
import json, struct
for n in 1022, 1023, 1024, 1025, 70000:
    head = json.dumps({"__metadata__": {"k": "x" * n}, "w": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}).encode()
    with open("f%d.safetensors" % n, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head + b"1")
import os
os.mkdir("set")
shards = ["m-0000%d-of-00003.safetensors" % (k + 1) for k in range(3)]
for k, shard in enumerate(shards):
    head = json.dumps({"__metadata__": {"format": "pt"}, "w%d" % k: {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}).encode()
    with open("set/" + shard, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head + b"1")
with open("set/m.safetensors.index.json", "w") as f:
    json.dump({"weight_map": {"w%d" % k: shard for k, shard in enumerate(shards)}}, f)
EOF
cp -r "$TESTS/fixtures/real/torch/dcp_hf/data/hf" "$TESTS/fixtures/dcp/y_two" "$TESTS/fixtures/zarr/y_filters" .
"$CKPTDB_BIN" -d ../facts.db import . && "$CKPTDB_BIN" -d ../facts.db verify
echo '{"model_type":"t5"}' >set/config.json # states more, and damages nothing
"$CKPTDB_BIN" -d ../facts.db verify
rm set/config.json
python3 - <<'EOF'
import os
def damage(path, old, new):
    s, d = os.stat(path), open(path, "rb").read()
    assert old in d
    with open(path, "r+b") as f:
        f.write(d.replace(old, new, 1))
    os.utime(path, ns=(s.st_atime_ns, s.st_mtime_ns))
for n in 1022, 1023, 1024, 1025, 70000:
    damage("f%d.safetensors" % n, b"xxxxx", b"xxxxy")
damage("set/m-00002-of-00003.safetensors", b"format", b"fgrmat")
damage("hf/shard-00001-model-00001-of-00002.safetensors", b"DCP_SHARDING", b"DCP_SHARDIOG")
first = open("y_filters/chain/2", "rb").read(4)
damage("y_filters/chain/2", first, bytes([first[0] ^ 1]) + first[1:])
damage("y_two/.metadata", b"ChunkStorageMetadata", b"ChunkStorageMetadat_")
EOF
"$CKPTDB_BIN" -d ../facts.db verify
cd ..
echo '-- a damaged member of an archive is told once, also if a tensor of two pieces has several'
mkdir once && cp -r "$TESTS/fixtures/dcp/y_two" once/dcp && cp "$TESTS"/fixtures/npz/y_{stored,deflated}.npz "$TESTS/fixtures/torch/y_two_types.pt" once
"$CKPTDB_BIN" -d once.db import once
cat >flip.py <<'EOF'
import os, sys, zipfile
for path in sys.argv[1:]:
    s = os.stat(path)
    for m in zipfile.ZipFile(path).infolist():
        if m.filename.endswith(".pkl") or m.compress_size < 3:
            continue
        with open(path, "r+b") as f:
            f.seek(m.header_offset + 26)
            head = f.read(4)
            f.seek(m.header_offset + 30 + head[0] + 256 * head[1] + head[2] + 256 * head[3] + m.compress_size - 3)
            byte = f.read(1)[0]
            f.seek(-1, 1)
            f.write(bytes([byte ^ 1]))
    os.utime(path, ns=(s.st_atime_ns, s.st_mtime_ns))
EOF
python3 flip.py once/*.npz once/*.pt once/dcp/__1_0.distcp
"$CKPTDB_BIN" -d once.db verify
python3 flip.py once/dcp/__0_0.distcp
"$CKPTDB_BIN" -d once.db verify dcp
echo '-- a damaged member is told of a tensor whose elements cannot be read, too'
mkdir unread && python3 - <<'EOF'
import struct, zipfile
def npy(descr, data):
    head = ("{'descr': '%s', 'fortran_order': False, 'shape': (4,), }" % descr).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + data
with zipfile.ZipFile("unread/u.npz", "w") as z:
    for name, descr, width in ("wide", "<f16", 16), ("plain", "<f4", 4):
        z.writestr(zipfile.ZipInfo(name + ".npy"), npy(descr, bytes(4 * width)))
EOF
"$CKPTDB_BIN" -d unread.db import unread && python3 flip.py unread/u.npz && "$CKPTDB_BIN" -d unread.db verify
echo '-- more findings than are kept: how many'
mkdir many && python3 - <<'EOF'
from make_safetensors import save
for name, count in ("over", 10003), ("full", 10000):
    save("many/%s.safetensors" % name, [("t%05d" % i, "U8", [1], b"1") for i in range(count)])
EOF
"$CKPTDB_BIN" -d many.db import many && "$CKPTDB_BIN" -d many.db hash >/dev/null
python3 - <<'EOF'
import os
for name, count in ("over", 10003), ("full", 10000):
    path = "many/%s.safetensors" % name
    s = os.stat(path)
    with open(path, "r+b") as f:
        f.seek(-count, 2)
        f.write(b"2" * count)
    os.utime(path, ns=(s.st_atime_ns, s.st_mtime_ns))
EOF
"$CKPTDB_BIN" -d many.db verify | grep -v 'not those that were hashed'
"$CKPTDB_BIN" -d many.db --list "SELECT checkpoint, code, count(*), max(name) FROM damage GROUP BY 1, 2"
echo '-- the status alone'
for name in over full; do
    "$CKPTDB_BIN" -d many.db verify --quick --quiet $name.safetensors; echo "status $?"
    "$CKPTDB_BIN" -d many.db verify --quiet $name.safetensors; echo "status $?"
done
"$CKPTDB_BIN" -d many.db verify --quiet --json over.safetensors; echo "status $?"
echo '-- a checksum that is the one of no bytes stands for none: of a whole tensor, of a part, of strings, and of no bytes'
mkdir nosum && cd nosum && python3 - <<'EOF'
from make_tf import Bundle, FLOAT, STRING, slice_key, strings
b = Bundle().put("w", FLOAT, [2], bytes(8), crc=0).put("fine", FLOAT, [2], bytes(8)).put("none", FLOAT, [0], b"")
b.put(slice_key("cut", [(0, 1)]), FLOAT, [1], bytes(4), crc=0).put(slice_key("cut", [(1, 1)]), FLOAT, [1], bytes(4))
b.sliced("cut", FLOAT, [2], [[(0, 1)], [(1, 1)]]).put("s", STRING, [1], strings([b"a"])[0], crc=0)
for name, data in b.files().items():
    with open(name, "wb") as f:
        f.write(data)
EOF
"$CKPTDB_BIN" -d ../nosum.db import .
"$CKPTDB_BIN" -d ../nosum.db verify | cut -f 2-
