# Files of web servers: rows, hashes and exports as of the same files here, how many requests that takes, and servers
# that lie.
real=$TESTS/fixtures/real
mkdir www
cp "$real"/safetensors/llama_tiny/data/* www/
python3 - <<'END'
import struct
# A header of less than 256 KiB whose data is a megabyte, and a torch-like archive's shape: an index at the end.
import json, zipfile, io
names = {f"layer.{i}.weight": {"dtype": "F32", "shape": [64], "data_offsets": [i * 256, i * 256 + 256]} for i in range(2200)}
head = json.dumps(names).encode()
head += b" " * (-len(head) % 8)
assert 150000 < len(head) < 262144
with open("www/wide.safetensors", "wb") as f:
    f.write(struct.pack("<Q", len(head)) + head + bytes(i % 251 for i in range(2200 * 256)))
npy = b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (1048576,), }".ljust(117) + b"\n"
with open("www/long.npy", "wb") as f:
    f.write(npy + bytes(4 << 20))
with zipfile.ZipFile("www/pair.npz", "w") as z:
    z.writestr("a.npy", npy + bytes(4 << 20))
    z.writestr("b.npy", npy.replace(b"1048576", b"1      ") + bytes(4))
END
port='' other=''
serve www || exit
at=http://127.0.0.1:$port
export CKPTDB_TIMEOUT=30 # of a machine that is busy with other tests; less where a server is to be given up
plain() { sed -e "s/$port/PORT/g; s/$other/OTHER/g"; }
asked() { sed -e "s/$port/PORT/g" log | sort | uniq -c | sed 's/^ *//'; rm -f log; }

echo '--- a set with its index: a request a file, and what describes it'
try import "$at/model.safetensors.index.json" 2>&1 | plain
asked
"$CKPTDB_BIN" -d here.db import www/model.safetensors.index.json
for query in "SELECT name, format, state, tensors, parameters, nbytes, stored, files FROM checkpoint" \
    "SELECT ord, name, dtype, shape, elements, nbytes, stored, storage, offset FROM tensor" \
    "SELECT key, value FROM metadata" "SELECT role, size FROM file"; do
    cmp <("$CKPTDB_BIN" --csv "$query") <("$CKPTDB_BIN" -d here.db --csv "$query") && echo same
done
cmp <("$CKPTDB_BIN" hash) <("$CKPTDB_BIN" -d here.db hash) && echo 'same hash'
"$CKPTDB_BIN" export 1 out.safetensors --no-meta 2>/dev/null
"$CKPTDB_BIN" -d here.db export 1 here.safetensors --no-meta 2>/dev/null
cmp out.safetensors here.safetensors && echo 'same export'
rm log
echo '--- again: nothing new; a change is found'
try import "$at/model.safetensors.index.json" 2>&1 | plain
rm log
touch www/model-00002-of-00003.safetensors
try import "$at/model.safetensors.index.json" 2>&1 | plain
rm log

echo '--- at most two requests a file; only the bytes that are asked for'
for file in wide.safetensors long.npy pair.npz; do
    try import "$at/$file" 2>&1 | plain
    asked
done
try get long.npy --slice 1000:1002 2>&1
asked
try tree "$at/pair.npz" | plain

echo '--- servers that are slow, busy or broken for a while'
for mode in busy broken shortonce elsewhere; do
    try -d :memory: import "$at/$mode/wide.safetensors" 2>&1 | plain
done
asked
echo '--- and that lie, or do not end'
export CKPTDB_TIMEOUT=2
for mode in norange shifted short less endless drip circle tofile packed headers down; do
    STATUS=always try -d :memory: import "$at/$mode/wide.safetensors" 2>&1 | plain
done
rm log
export CKPTDB_TIMEOUT=30
echo '--- reading: many requests at once, whatever the number of cores'
python3 - <<'END'
import json, struct
head = json.dumps({f"t{i:02}": {"dtype": "F32", "shape": [16384], "data_offsets": [i << 16, (i + 1) << 16]} for i in range(80)}).encode()
for name in "abcd":
    with open(f"www/{name}.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head)
        for i in range(80):
            f.write(struct.pack("<f", i) * 16384)
END
for file in a b c d; do
    "$CKPTDB_BIN" -d $file.db import "$at/crowd/$file.safetensors" 2>&1 | plain
done
"$CKPTDB_BIN" -d a.db hash 2>&1 | plain
"$CKPTDB_BIN" -d b.db stats --columns name,mean 2>&1 | tail -n 2 | plain
"$CKPTDB_BIN" -d c.db verify 2>&1 | plain
"$CKPTDB_BIN" -d d.db export d.safetensors d.out.safetensors --no-meta 2>/dev/null && echo exported
for ((i = 10; i < 30; i++)); do
    make_npy www/small$i.npy '<f4' '(5,)' f $i 1 2 3 4
    small+=("$at/crowd/small$i.npy")
done
"$CKPTDB_BIN" -d small.db import "${small[@]}" 2>&1 | plain
rm log
touch www/busy
"$CKPTDB_BIN" -d small.db hash 2>&1 | tail -n 2 | plain
wc -l <log # one for each, although they are looked at before they are read
rm -f log www/busy
echo '--- who asks'
try -d :memory: import "$at/private/wide.safetensors" 2>&1 | plain
printf 'machine 127.0.0.1 login ann password geheim\n' >"$HOME/.netrc"
try -d :memory: import "$at/private/wide.safetensors" 2>&1 | plain
rm "$HOME/.netrc"
asked
echo '--- what is no path'
try import "http://ann:geheim@127.0.0.1:$port/wide.safetensors" 2>&1 | plain
try import "$at/wide.safetensors?key=geheim" 2>&1 | plain
try import "$at/" 2>&1 | plain
try import "$at/nothing.safetensors" 2>&1 | plain
"$CKPTDB_BIN" --offline import "$at/wide.safetensors" 2>&1 | plain
try import --offline "$at/wide.safetensors" 2>&1 | plain
CKPTDB_OFFLINE=1 try import "$at/wide.safetensors" 2>&1 | plain
echo '--- gone'
rm www/long.npy
try import "$at/pair.npz" "$at/wide.safetensors" 2>&1 | plain
try get long.npy --slice 1 2>&1 | plain
