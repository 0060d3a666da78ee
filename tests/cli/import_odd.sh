# What else lies in folders of checkpoints, and what the import says about it.
export STATUS=always
header='{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
put() { # FILE
    mkdir -p "$(dirname "$1")"
    printf '\066\0\0\0\0\0\0\0%s\1\2\3\4' "$header" >"$1"
}
echo "--- a dry run makes no catalog; a folder is only made for the default one"
put one/a.safetensors
try import --dry-run one
try ls
try -d no/such/folder/c.db import one
(unset CKPTDB && XDG_DATA_HOME=$PWD/data try import one)
find data no 2>/dev/null

echo "--- links that lead nowhere, pipes, pages"
mkdir odd
ln -s nowhere odd/gone.safetensors
ln -s nowhere odd/gone.txt
ln -s loop.npy odd/loop.npy
mkfifo odd/pipe.safetensors odd/pipe
printf '<!DOCTYPE html>\n' >odd/weights.bin
printf '<!DOCTYPE html>\n' >odd/readme.html
printf '<?xml version="1.0"?><Error/>' >odd/drawing.svg
printf '<?xml version="1.0"?><Error/>' >odd/answer.npz
printf 'hello' >odd/notes.txt
: >odd/marker
try import odd
try import odd/pipe
try import odd/gone.safetensors
try import odd/notes.txt
try import odd/marker
try import odd
echo "--- all is well again"
rm odd/*
try import odd
try --json 'SELECT * FROM issue'

echo "--- the cache of the Hugging Face hub"
put hub/models--x/blobs/0a
mkdir -p hub/models--x/snapshots/r hub/models--x/.no_exist/r
ln -s ../../blobs/0a hub/models--x/snapshots/r/model.safetensors
: >hub/models--x/.no_exist/r/adapter_model.safetensors
try import hub
try import hub/models--x/blobs/0a
try import --prune hub

echo "--- a shard by its name answers for its set"
mkdir set
put set/model-00001-of-00002.safetensors
echo '{"weight_map": {"w": "model-00001-of-00002.safetensors",
 "x": "model-00002-of-00002.safetensors"}}' >set/model.safetensors.index.json
try import set/model-00001-of-00002.safetensors

echo "--- linked directories: not entered is not gone"
put real/b.safetensors
mkdir links
ln -s ../real links/there
try import --follow links
try import --prune links
rm real/b.safetensors
try import --prune links
try ls
echo "--- a folder that a link leads to and the walk comes to has its own path, followed or not"
mkdir -p ways/z/deep
put ways/z/w.safetensors
ln -s z ways/a
ln -s ../../z ways/z/deep/again
ln -s .. ways/z/deep/up
for _ in 1 2; do "$CKPTDB_BIN" -d ways.db import ways; "$CKPTDB_BIN" -d ways.db import --follow ways; done
"$CKPTDB_BIN" -d ways.db --list "SELECT path FROM checkpoint"
echo "--- one that a smaller import catalogued by the link, and one that no walk comes to"
mkdir -p further/real/.git/ck further/a further/b
ln -s ../b further/a/link
ln -s real/.git/ck further/lk
put further/b/m.safetensors
put further/real/.git/ck/w.safetensors
"$CKPTDB_BIN" -d further.db import --follow further/a
"$CKPTDB_BIN" -d further.db import --follow further
"$CKPTDB_BIN" -d further.db import --follow --prune further
"$CKPTDB_BIN" -d further.db --list "SELECT path FROM checkpoint"
echo "--- empty files: a model.bin of OpenVINO without weights, and weights that are none"
mkdir bins
: >bins/model.bin
: >bins/pytorch_model.bin
try import bins
echo "--- all that is wrong with a refused file, each time it is imported"
mkdir cut
python3 - "$TESTS/fixtures/onnx/y_external/m.onnx" <<'PY'
import sys
open("cut/m.onnx", "wb").write(open(sys.argv[1], "rb").read() + b"\x3a\x7f\x01")
PY
try import cut
try import cut
echo "--- a name that is no UTF-8"
mkdir bytes
printf x >$'bytes/\377.npy'
try import bytes
echo "--- what was deleted is a line a folder, and what was refused is counted again"
mkdir -p gone/run/a gone/run/b gone/other
for f in gone/run/a/m gone/run/b/m gone/other/m gone/kept; do
    cp "$TESTS/fixtures/safetensors/y_dtypes.safetensors" $f.safetensors
done
head -c 20 gone/kept.safetensors >gone/cut.safetensors
rm -f "$CKPTDB"
"$CKPTDB_BIN" import gone
rm -r gone/run/a gone/run/b gone/other/m.safetensors
"$CKPTDB_BIN" import gone
"$CKPTDB_BIN" import --prune gone
echo "--- of many files that are alike, one line"
mkdir pointers
for i in 1 2 3 4 5; do
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 12345\n' $i >pointers/model-$i.safetensors
done
: >pointers/empty.npy
: >pointers/other.npy
: >pointers/pytorch_model.bin
: >pointers/.lock
"$CKPTDB_BIN" import pointers
"$CKPTDB_BIN" "SELECT count(*) FROM issue WHERE path GLOB '*/pointers/*'"
echo "--- tensors that a tensor has as attributes; the last one has itself"
rm -rf "$CKPTDB" here
mkdir here
python3 - <<'PY'
from make_torch import Call, Name, Raw, op, saved, storage, tensor
def typed(state, function="torch._tensor._rebuild_from_type_v2"):
    return Call(function, Name("torch._utils._rebuild_tensor_v2"), Name("torch.Tensor"), (storage(), 0, (2,), (1,)), state)
own = op(typed({}))[:-3]
own = own[:own.rindex(b"}")]
tensors = {"plain": typed({"note": "text"}), "old": typed({"scale": tensor()}, "torch._tensor._rebuild_from_type"),
           "slots": typed(({"a": tensor(), "n": 3}, {"b": tensor((1,))})),
           "parameter": Call("torch._utils._rebuild_parameter", typed({"extra": typed({"inner": tensor()})}), True, {}),
           "own": Raw(b"}q\1" + b"0" + own + b"h\1tR" + b"q\2" + b"0h\1" + op("self") + b"h\2s" + b"0h\2")}
open("here/attributes.pt", "wb").write(saved(tensors))
PY
"$CKPTDB_BIN" import here
"$CKPTDB_BIN" "SELECT name, shape, storage FROM tensor"

echo "--- TensorFlow's list of checkpoints that lie elsewhere"
mkdir -p elsewhere
echo 'model_checkpoint_path: "/gone/model.ckpt-1"' >elsewhere/checkpoint
try import elsewhere/checkpoint
try import elsewhere
echo "--- a dry run says what an import would refuse, and why"
rm -rf dry && put dry/good.safetensors && mkdir -p dry/run/checkpoint-5
head -c 12 dry/good.safetensors >dry/cut.safetensors
echo 'no' >dry/other.safetensors
put dry/run/checkpoint-5/model.safetensors
echo '{"ckptdb": "names", "tensors": {}}' >dry/run/checkpoint-5/empty.json
cp dry/good.safetensors dry/last.npy
wouldbe() { "$CKPTDB_BIN" -d dry.db import dry --dry-run | sed "s|$PWD/||"; }
wouldbe
"$CKPTDB_BIN" -d dry.db import dry 2>&1 | tail -1
echo '-- again, and when one is mended'
wouldbe
put dry/cut.safetensors
wouldbe
"$CKPTDB_BIN" -d dry.db --json import dry --dry-run 2>/dev/null | sed "s|$PWD/||g"

echo "--- a catalog in a folder that is imported: who opens and closes its file loses SQLite's locks of it"
put own/a.safetensors
try -d own/c.db import own
try -d own/c.db "SELECT count(*) FROM _passed WHERE path LIKE '%c.db%'"
try -d own/c.db import own/c.db
