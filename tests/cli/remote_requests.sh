# How many requests a file takes that is larger than what one brings: a torch zip, whose members' headers lie all over
# it, GGUF, ONNX with external data; and small HDF5. Rows and hashes as of the same files here.
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
port=''
serve www || exit
at=http://127.0.0.1:$port

relative() { sed -e "s|$PWD/www||g; s|$at||g"; }
for file in zip.pt quantised.gguf one.onnx m_legacy.h5; do
    "$CKPTDB_BIN" -d here.db import "www/$file" 2>&1 | relative
    "$CKPTDB_BIN" -d there.db import "$at/$file" 2>&1 | relative
    cut -d ' ' -f 2 log | sort | uniq -c | sed 's/^ */requests: /'
    rm log
done
for what in "name, format, state, tensors, parameters, nbytes, stored, files, path FROM checkpoint" \
    "path, ord, name, dtype, shape, elements, nbytes, stored, storage, offset, file FROM tensor" \
    "checkpoint, key, value FROM metadata" "role, size, path FROM file" "code, severity, offset, path FROM issue"; do
    diff <("$CKPTDB_BIN" -d here.db --csv "SELECT $what" | relative | sort) \
        <("$CKPTDB_BIN" -d there.db --csv "SELECT $what" | relative | sort) && echo "same ${what##* }"
done
diff <("$CKPTDB_BIN" -d here.db hash) <("$CKPTDB_BIN" -d there.db hash) && echo 'same hashes'
