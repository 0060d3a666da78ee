# Files of torch.save: what pickles share and repeat, and what tensors carry with them.
export PYTHONPATH=$TESTS/fixtures PYTHONDONTWRITEBYTECODE=1
list() {
    rm -f "$CKPTDB"
    "$CKPTDB_BIN" import here/"$1" 2>&1
    echo "status $?"
    "$CKPTDB_BIN" "SELECT name, dtype, shape, storage, substr(hex(tensor_bytes(id)), 1, 16) AS bytes FROM tensor"
}
mkdir here
echo "--- of a repeated key the newer value stays, in the place of the older one, however many there are"
python3 - <<'PY'
import struct
from make_torch import Raw, op, saved, storage, tensor
def repeats(others):
    pairs = [("w", tensor()), *((f"f{i}", i) for i in range(others)), ("w", tensor(where=storage("1"))), (7, tensor()),
             ("8", 3), (7, tensor(where=storage("1"))), ("7", 4)]
    return saved(Raw(b"}(" + b"".join(op(k) + op(v) for k, v in pairs) + b"u"),
                 data={"0": struct.pack("<2f", 1, 2), "1": struct.pack("<2f", 3, 4)})
open("here/few.pt", "wb").write(repeats(1))
open("here/many.pt", "wb").write(repeats(100))
PY
list few.pt
list many.pt
echo "--- parameters with a state that has tensors"
python3 - <<'PY'
from make_torch import Call, Name, saved, storage, tensor
def parameter(data, state):
    return Call("torch._utils._rebuild_parameter_with_state", data, True, Call("collections.OrderedDict"), state)
typed = Call("torch._tensor._rebuild_from_type_v2", Name("torch._utils._rebuild_tensor_v2"), Name("torch.Tensor"),
             (storage(), 0, (2,), (1,)), {"inner": tensor()})
class_of = Call("torch._tensor._rebuild_from_type_v2", Name("torch._utils._rebuild_parameter"),
                Name("torch.nn.parameter.Parameter"), (parameter(tensor(), {"deep": tensor()}), True, {}), {"on": tensor()})
open("here/state.pt", "wb").write(saved({
    "a": parameter(tensor(), {"scale": tensor(), "note": "text"}), "b": parameter(tensor(), ({"x": tensor()}, {"y": tensor()})),
    "c": parameter(typed, {"outer": tensor()}), "d": parameter(tensor(), {}), "e": class_of}))
PY
list state.pt
echo "--- modules that share their parts: what each has is counted, whether it gives a tensor or not"
python3 - <<'PY'
from make_torch import Member, archive, op
def module(state):
    return op_class + b")\x81" + state + b"b"
op_class = b"ctorch.nn.modules.linear\nLinear\n"
shared = b"}q\1(" + op("_parameters") + b"}(" + b"".join(op(i) + b"N" for i in range(1000)) + b"u" + op("_modules") + b"}u"
def of_modules(first):
    return module(b"}(" + op("_parameters") + b"}" + op("_modules") + b"}(" +
                  b"".join(op(i) + module(first if i == 0 else b"h\1") for i in range(1000)) + b"uu")
def saved(name, body):
    open(f"here/{name}", "wb").write(archive([Member("a/data.pkl", b"\x80\2" + body + b"."), Member("a/version", b"3\n")]))
saved("modules.pt", of_modules(shared))
texts = lambda c: b"".join(op(f"{c}{i}") + (b"N" if c == "b" else b"") for i in range(40000))
saved("buffers.pt", module(b"}(" + op("_parameters") + b"}" + op("_modules") + b"}" + op("_buffers") + b"}(" + texts("b") + b"u" +
                           op("_non_persistent_buffers_set") + b"](" + texts("c") + b"eu"))
PY
list modules.pt
(ulimit -t $((5 * SLOW)) && list buffers.pt)
echo "--- one text that many arrays share: decoded once, and kept in the catalog only so often"
python3 - <<'PY'
from make_torch import Call, Name, op, saved
dtype = Call("numpy.dtype", "u1", False, True, state=(3, "|", None, None, None, -1, -1, 0))
def arrays(text, count):
    first = (op(Call("numpy.core.multiarray._reconstruct", Name("numpy.ndarray"), (0,), b"b")) + b"(" + op(1) + op((1 << 22,)) +
             op(dtype) + op(False) + op(Name("_codecs.encode")) + b"(" + text + op("latin1") + b"tRtb")
    return saved(pickle=b"\x80\2}(" + op("a") + first + b"q\1" + b"".join(op(f"a{i}") + b"h\1" for i in range(count)) + b"u.")
open("here/escaped.pt", "wb").write(arrays(b"V" + b"a" * (1 << 22) + b"\n", 300))
open("here/plain.pt", "wb").write(arrays(op("\xe9" * (1 << 22)), 400))
PY
for f in escaped plain; do
    rm -f "$CKPTDB"
    python3 - here/$f.pt <<'PY'
import os, resource, subprocess, sys
limit = (1 << 20) * (5 if int(os.environ["SLOW"]) == 40 else 1) # ThreadSanitizer shadows each byte with four
run = subprocess.run([os.environ["CKPTDB_BIN"], "import", sys.argv[1]], stderr=subprocess.PIPE, text=True)
print("\n".join(run.stderr.splitlines()[-2:]))
print("within 1 GB:", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < limit)
PY
    "$CKPTDB_BIN" "SELECT storage, count(*) FROM tensor GROUP BY storage"
done
echo "--- quantised tensors: what makes numbers of the integers, which no cast takes for numbers"
python3 - <<'PY'
import struct
from make_torch import Call, Name, saved, storage, tensor
def quantised(*quantiser):
    return Call("torch._utils._rebuild_qtensor", storage("1", "QInt8", 4), 0, (2, 2), (2, 1), quantiser, False,
                Call("collections.OrderedDict"))
open("here/quantised.pt", "wb").write(saved({
    "a": quantised(Name("torch.per_tensor_affine"), 0.5, 3),
    "b": quantised(Name("torch.per_channel_affine"), tensor(), tensor(), 0), "c": tensor()},
    data={"0": struct.pack("<2f", 1, 2), "1": bytes([1, 2, 3, 255])}))
PY
list quantised.pt
export STATUS=always
try "SELECT key, value FROM metadata"
try get quantised.pt a --dtype float32
try get quantised.pt a --dtype int32
try get quantised.pt a
try export quantised.pt a.npz --names '^a$' --dtype float32
try export quantised.pt a.npz --names '^[ac]$' --dtype float16
try "SELECT hex(tensor_bytes(id, 'float32')) FROM tensor WHERE name = 'a'"
try "SELECT value FROM tensor_values((SELECT id FROM tensor WHERE name = 'a'))"
try stats quantised.pt '^a$' --csv
echo "--- distributed checkpoints whose objects share a name, an item, or a state of many fields"
python3 - <<'PY'
import os
from make_torch import CHECKPOINT, Call, Raw, chunk, described, index, info, metadata, op, saved, tensor
def put(folder, body, **files):
    os.makedirs(f"here/{folder}")
    for name, data in {".metadata": body, **files}.items():
        open(f"here/{folder}/{name}", "wb").write(data)
def shared(value):
    return [Raw(op(value) + b"q\1")] + [Raw(b"h\1")] * 999
long = shared("n" * 100000)
put("names", metadata({"w": described((2,), [chunk((0,), (2,))])},
                      [(index(long[i], (i,)), info("__0_0.distcp", 0, 1)) for i in range(300)]))
def of_object(count):  # whose own key is the last that is made
    first, *more = shared("o" * 100000)
    return metadata(Raw(b"}(" + first + op(Call(CHECKPOINT + "metadata.BytesStorageMetadata", new=True)) + b"u"),
                    [(index(more[i], (i,)), info("__0_0.distcp", 0, 1)) for i in range(count)])
put("object", of_object(next(n for n in range(999) if (16 << 20) + 16 * len(of_object(n)) < 100000 * (n + 1))))
item = saved({f"k{i}": i for i in range(3000)}, root="archive")
put("items", metadata({f"o{i}": Call(CHECKPOINT + "metadata.BytesStorageMetadata", new=True) for i in range(1000)},
                      [(index(f"o{i}", None), info("__0_0.distcp", 0, len(item))) for i in range(1000)]), **{"__0_0.distcp": item})
state = op({**{f"f{i}": None for i in range(100)}, "size": (2,)}) + b"q\1"
tensors = {f"t{i}": Raw(op(Call(CHECKPOINT + "metadata.TensorStorageMetadata", new=True)) + (state if i == 0 else b"h\1") + b"b")
           for i in range(3)}
put("fields", metadata(tensors, []))
PY
for f in names object items fields; do
    rm -f "$CKPTDB"
    "$CKPTDB_BIN" import here/$f 2>&1 | cut -c 1-200 | grep -v '"t[01]": the metadata gives no'
done
