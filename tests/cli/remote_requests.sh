# How many requests a file takes that is larger than what one brings: a torch zip, whose members' headers lie all over
# it, GGUF, ONNX with external data, HDF5. Rows and hashes as of the same files here.
real=$TESTS/fixtures/real
mkdir www
cp "$real"/onnx/external/data/one.onnx* "$real/gguf/quantised/data/quantised.gguf" "$real/hdf5/keras3/data/m_legacy.h5" www/
truncate -s 3M www/one.onnx.data www/quantised.gguf
python3 - "$real/torch/dtypes/data/zip.pt" <<'END'
import sys, zipfile
# As PyTorch writes: data at multiples of 64 by a field of the local header, sizes and checksum behind it.
class Stream:
    def __init__(self, f):
        self.f, self.at = f, 0
    def write(self, b):
        self.f.write(b)
        self.at += len(b)
        return len(b)
    def flush(self):
        pass
with zipfile.ZipFile(sys.argv[1]) as small, open("www/zip.pt", "wb") as f:
    out = Stream(f)
    with zipfile.ZipFile(out, "w") as large:
        def add(name, data):
            info = zipfile.ZipInfo(name)
            pad = -(out.at + 30 + len(name) + 4) % 64
            info.extra = b"FB" + pad.to_bytes(2, "little") + b"Z" * pad
            large.writestr(info, data)
        for name in small.namelist():
            add(name, small.read(name))
            if "/data/" in name:
                add(name + "0000", bytes(300000))
END
python3 - <<'END'
# Groups and datasets of HDF5, each a MiB from the others, as a trainer leaves them; and the same within 4 MiB.
import struct
def message(kind, data):
    data += bytes(-len(data) % 8)
    return struct.pack("<HHB3x", kind, len(data), 0) + data
def header(*messages):
    return struct.pack("<BxHIIxxxx", 1, len(messages), 1, sum(map(len, messages))) + b"".join(messages)
def group(**links):
    return header(*(message(6, bytes([1, 0, len(n)]) + n.encode() + struct.pack("<Q", at)) for n, at in links.items()))
def tensor(at):
    return header(message(1, struct.pack("<BBB5xQ", 1, 1, 0, 4)), message(8, struct.pack("<BBQQ", 3, 1, at, 16)),
                  message(3, bytes.fromhex("11201f000400000000002000170800177f000000")))
for name, apart in ("far.h5", 1 << 20), ("near.h5", 50000):
    with open("www/" + name, "wb") as f:
        def put(at, data):
            f.seek(at)
            f.write(data)
        count, at = 24, lambda level, i: ((i * 3 + level) * 7 % 72 + 1) * apart
        put(0, b"\x89HDF\r\n\x1a\n" + struct.pack("<8B2HI4Q2QII16x", 0, 0, 0, 0, 0, 8, 8, 0, 4, 16, 0,
                                                 0, 2**64 - 1, 75 * apart, 2**64 - 1, 0, 96, 0, 0))
        put(96, group(**{f"dense_{i}": at(0, i) for i in range(count)}))
        for i in range(count):
            put(at(0, i), group(vars=at(1, i)))
            put(at(1, i), group(kernel=at(2, i)))
            put(at(2, i), tensor(at(2, i) + 1000))
            put(at(2, i) + 1000, struct.pack("<4f", i, 1, 2, 3))
        f.truncate(75 * apart)
END
python3 - <<'END'
# An npz, whose arrays' heads lie a MiB from each other.
import zipfile
head = b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (262144,), }".ljust(117) + b"\n"
with zipfile.ZipFile("www/far.npz", "w") as z:
    for i in range(20):
        z.writestr(f"a{i}.npy", head + bytes(1 << 20))
END
port=''
serve www || exit
at=http://127.0.0.1:$port

relative() { sed -e "s|$PWD/www||g; s|$at||g"; }
for file in zip.pt quantised.gguf one.onnx m_legacy.h5 near.h5 far.h5 far.npz; do
    "$CKPTDB_BIN" -d here.db import "www/$file" 2>&1 | relative
    "$CKPTDB_BIN" -d there.db import "$at/$file" 2>&1 | relative
    cut -d ' ' -f 2 log | sort | uniq -c | sed 's/^ */requests: /'
    [ ${file%.*} != far ] || awk -F '[=-]| ' '{ n += $5 - $4 + 1 } END { print n " bytes" }' log
    rm log
done
for what in "name, format, state, tensors, parameters, nbytes, stored, files, path FROM checkpoint" \
    "path, ord, name, dtype, shape, elements, nbytes, stored, storage, offset, file FROM tensor" \
    "checkpoint, key, value FROM metadata" "role, size, path FROM file" "code, severity, offset, path FROM issue"; do
    diff <("$CKPTDB_BIN" -d here.db --csv "SELECT $what" | relative | sort) \
        <("$CKPTDB_BIN" -d there.db --csv "SELECT $what" | relative | sort) && echo "same ${what##* }"
done
# Servers that lie once many parts of a file are requested: one import fails, and no more.
lying() {
    for mode in "${@:2}"; do
        "$CKPTDB_BIN" -d :memory: import "$at/then/$mode/$1" 2>&1 | relative | sed "s/ (at byte .*//"
    done
}
lying far.h5 norange shifted short endless circle tofile packed headers
CKPTDB_TIMEOUT=2 lying far.npz less drip
# One after the other, 72 would take long: 12 are requested at the same time, or none is there.
"$CKPTDB_BIN" -d :memory: import "$at/crowd/far.h5" 2>&1 | relative
diff <("$CKPTDB_BIN" -d here.db hash) <("$CKPTDB_BIN" -d there.db hash) && echo 'same hashes'
# A DCP folder, whose items are an archive each: the needed parts of all are requested together.
python3 -c 'import make_safetensors as m
m.save("far.safetensors", {f"l{k:02}": ("F32", [1 << 18], bytes(1 << 20)) for k in range(20)})'
"$CKPTDB_BIN" -d dcp.db import far.safetensors
"$CKPTDB_BIN" -d dcp.db export far.safetensors www/far.dcp --format dcp --no-sync >/dev/null 2>&1
rm log
"$CKPTDB_BIN" -d dcp.db import www/far.dcp
STORAGE_EMULATOR_HOST=127.0.0.1:$port "$CKPTDB_BIN" -d dcp.db import gs://bucket/far.dcp
bytes() { grep "$1" log | awk -F '[=-]| ' '{ n += $(NF - 1) - $(NF - 2) + 1 } END { print NR, "requests", n, "bytes" }'; }
bytes distcp
# A folder of arrays: what describes each, and no chunk.
for format in zarr zarr3; do
    "$CKPTDB_BIN" -d dcp.db export far.safetensors www/far.$format --format $format --no-sync >/dev/null 2>&1
    rm log
    STORAGE_EMULATOR_HOST=127.0.0.1:$port "$CKPTDB_BIN" -d dcp.db import gs://bucket/far.$format
    bytes "o/far.$format"
done
"$CKPTDB_BIN" -d dcp.db --csv "SELECT path LIKE 'gs:%' AS elsewhere, count(*), count(DISTINCT name), sum(offset), sum(stored) FROM tensor
    WHERE path LIKE '%.dcp%' GROUP BY 1"
