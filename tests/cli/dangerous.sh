# What loading a pickle in Python would run or change is said, and the tensors beside it are listed all the same.
fixtures=$TESTS/fixtures
mkdir all plain
cp "$fixtures"/torch/n_dangerous-call_* "$fixtures"/torch/n_unknown-global_{nested,legacy_{keys,magic,sys}}* \
    "$fixtures"/torch/n_bad-pickle_{state,items,not,nested}* "$fixtures"/torch/n_limit_nested* "$fixtures"/torch/y_{surrogate,items}* all
"$CKPTDB_BIN" import all >/dev/null 2>&1
echo "status $?"
echo '--- tensors that stand beside it'
"$CKPTDB_BIN" 'SELECT tensors, count(*) FROM checkpoint GROUP BY 1'
"$CKPTDB_BIN" "SELECT c.name, severity, code, offset, substr(message, 1, 95) FROM checkpoint c LEFT JOIN issue i ON i.checkpoint_id = c.id ORDER BY 1, 2, 4"
echo '--- plain pickles without tensors: what would run something is no checkpoint, and has its rows'
python3 - <<'PY'
import os, pickle, random
class Run:
    def __reduce__(self): return os.system, ("true",)
for protocol in range(6):
    with open(f"plain/run{protocol}.pkl", "wb") as f: pickle.dump({"a": [1, 2], "b": Run()}, f, protocol)
def put(name, data): open("plain/" + name, "wb").write(data)
put("no_suffix", b"cos\nsystem\n(S'true'\ntR.")
put("cut_short.bin", b"\x80\x02cos\nsystem\n(U\x04truetR")
put("far", b"\x80\x02](" + b"K\1K\2" * 40000 + b"ecos\nsystem\n)R.")
put("popped.dat", b"I1\n0cos\nsystem\n)R0N.")
put("class.pkl", b"\x80\x02ccollections\nOrderedDict\n}U\1aNsb.")
inner = pickle.dumps(Run(), 2)
put("nested.p", b"\x80\x02](" + b"K\1" * 5000 + b"ectorch.storage\n_load_from_bytes\nB" + len(inner).to_bytes(4, "little") + inner + b"\x85R.")
# and what would not:
with open("plain/fine.pkl", "wb") as f: pickle.dump({"a": random.Random(1).getstate()}, f)
put("words.bin", b"cos\nsystem\nis no call: a text\n")
put("cat.txt", b"cat\nposix\nsystem\nsubprocess\n")
put("junk.pkl", bytes(range(256)))
PY
for round in first second; do
    "$CKPTDB_BIN" import plain >/dev/null 2>&1
    echo "status $?"
    "$CKPTDB_BIN" "SELECT replace(path, rtrim(path, replace(path, '/', '')), ''), severity, code, offset, substr(message, 1, 40) FROM issue WHERE path GLOB '*/plain/*' ORDER BY 1, 2, 3, 4" >$round
done
cat first
cmp first second
"$CKPTDB_BIN" "SELECT count(*) FROM checkpoint WHERE path GLOB '*/plain/*'"
echo '--- a class that a user calls safe'
"$CKPTDB_BIN" "UPDATE known_class SET verdict = 'safe' WHERE name IN ('os.*', 'posix.*', 'nt.*')"
"$CKPTDB_BIN" import plain 2>&1 | tail -3
echo '--- metadata of a distributed checkpoint'
mkdir dcp
cp -r "$fixtures"/dcp/{n_truncated_metadata_empty,n_bad-metadata_none,n_missing-metadata_w,n_corrupt_path*} dcp
cp "$fixtures"/torch/y_zip.pt dcp/n_missing-metadata_w/model.pt
mkdir dcp/lone && cp dcp/n_missing-metadata_w/*.distcp dcp/lone
"$CKPTDB_BIN" import dcp 2>&1 | sed "s|$PWD||"
"$CKPTDB_BIN" "SELECT checkpoint, name, storage FROM tensor WHERE path GLOB '*/dcp/*'"
