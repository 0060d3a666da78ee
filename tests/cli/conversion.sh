#!/usr/bin/env bash
# Rules of dialect convert: what the views say, and that export, get and the functions do it.
run() { printf '$ ckptdb %s\n' "$*"; "$CKPTDB_BIN" -d c.db "$@" 2>&1; rc=$?; [ $rc = 0 ] || echo "status $rc"; }

# A file whose elements are their own numbers.
python3 - <<'P'
import json, struct
tensors = {'enc/layers/w': [2, 3, 4], 'head': [2, 3], 'attn/qkv': [6, 2], 'h.0.b': [2], 'h.1.b': [2],
           'h.0.m.0': [1, 2], 'h.0.m.1': [2, 2], 'emb': [2, 2], 'bad': [5], 'drop/me': [1], 'kept': [1]}
header, at, data = {}, 0, b''
for name, shape in tensors.items():
    n = 1
    for d in shape:
        n *= d
    header[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': [at, at + 4 * n]}
    data += struct.pack('<%df' % n, *range(at // 4, at // 4 + n))
    at += 4 * n
text = json.dumps(header).encode()
open('m.safetensors', 'wb').write(struct.pack('<Q', len(text)) + text + data)
P
cat > c.json <<'J'
{"dialect": "convert", "options": {"unmatched": "keep", "tables": {"at": {"x": "1"}}}, "rules": [
  ["enc/layers/(.*)", "enc/layers_\\g<n>/\\1", {"compute": [["n", "part"]], "ops": [["unstack", 1, 10]]}],
  ["head", "head.T", {"ops": [["transpose"], ["cast", "bfloat16"]]}],
  ["attn/qkv", "attn/\\g<p>", {"compute": [["p", "part"]], "ops": [["split", 0, [4, 1, 1], ["q", "k", "v"]], ["transpose"]]}],
  ["h\\.(\\d+)\\.b", "b", {"ops": [["stack", -1, "\\1"]]}],
  ["h\\.0\\.m\\.(\\d+)", "m", {"ops": [["concat", 0, "\\1"], ["reshape", [-1]]]}],
  ["emb", "\\g<l>.weight", {"compute": [["l", "part"]], "ops": [["copies", ["embed", "lm_head"]], ["scale", 0.5]]}],
  ["drop/.*", null],
  ["bad", "good", {"ops": [["reshape", [2, -1]]]}]]}
J
run import m.safetensors
run map load c c.json
run map run c 1 --markdown
run export 1 out.safetensors --map c
run -c "UPDATE rule SET ops = '[[\"flatten\",0,0]]' WHERE ruleset = 'c' AND ord = 8"
run export 1 out.safetensors --map c --no-sync
run import out.safetensors
for name in enc/layers_11/w head.T attn/q b m embed.weight good kept; do run get out.safetensors $name --format json; done
echo '-- get --map and the functions give what export wrote'
run "SELECT count(*), sum(tensor_sha256(coalesce(c.recipe, c.tensor_id), t.dtype) = tensor_sha256(t.id)) FROM conversion c JOIN tensor t ON t.checkpoint_id = 2 AND t.name = c.new_name WHERE c.ruleset = 'c' AND c.checkpoint_id = 1 AND c.part = 0"
run get m.safetensors head.T --map c --slice '1:, ::-1'
for dtype in '' '--dtype float32'; do "$CKPTDB_BIN" -d c.db get m.safetensors head.T --map c $dtype --format raw -o - | od -An -v -tx1; done # as it is cast
run get m.safetensors head --map c
run get m.safetensors head.T --map cc
run "SELECT group_concat(value) FROM tensor_values((SELECT recipe FROM conversion WHERE ruleset = 'c' AND checkpoint_id = 1 AND new_name = 'm' AND part = 0), 2, 3)"
run export --sql "SELECT recipe AS tensor_id, new_name FROM conversion WHERE ruleset = 'c' AND checkpoint_id = 1 AND new_name = 'attn/k'" k.npz --no-sync
echo '-- what does not go together'
try() { # RULES
    printf '{"dialect": "convert", "rules": [%s, [".*", null]]}' "$1" >t.json
    "$CKPTDB_BIN" -d c.db map load t t.json
    "$CKPTDB_BIN" -d c.db "SELECT old_name, new_name, status, error FROM conversion WHERE ruleset = 't' AND checkpoint_id = 1 AND status <> 'dropped' ORDER BY ord, new_name"
    echo
}
try '["h\\.(.)\\.b", "b"]'
try '["(h\\.0\\.b|head)", "b", {"compute": [["k", "if", "", "1", "0"]], "ops": [["stack", 0, "\\g<k>"]]}]'
try '["h\\.1\\.b", "b", {"ops": [["stack", 0, 1]]}]'
try '["(h\\.0\\.b)|head", "b", {"compute": [["k", "if", "\\1", "1", "0"]], "ops": [["stack", 0, "\\g<k>"]]}]'
try '["h\\.(.)\\.b", "b", {"ops": [["stack", 0, "\\1"], ["transpose"]]}]'
try '["h\\.(.)\\.b", "b", {"ops": [["stack", 2, "\\1"]]}]'
try '["h\\.(0)\\.b", "b", {"ops": [["stack", 0, "\\1"]]}], ["h\\.(1)\\.b", "b", {"ops": [["concat", 0, "\\1"]]}]'
try '["h\\.(.)\\.b", "b", {"ops": [["stack", 0, "x\\1"]]}]'
try '["attn/qkv", "x", {"ops": [["split", 0, 4]]}]'
try '["attn/qkv", "x", {"ops": [["split", 0, [1, 2]]]}]'
try '["attn/qkv", "x", {"ops": [["unstack", 2]]}]'
try '["attn/qkv", "x", {"ops": [["split", 0, 2]]}]'
cat >wide.json <<'J'
{"ckptdb": "names", "tensors": {"w": {"dtype": "float32", "shape": [9000000000000, 2]}, "x": {"dtype": "string", "shape": [2]},
 "y": {"dtype": "int4", "shape": [2]}, "z": {"dtype": null, "shape": null}}}
J
run import wide.json
cat >wide_rules.json <<'J'
{"dialect": "convert", "rules": [["(w)", "\\1", {"ops": [["unstack", 0]]}], ["(.)", "\\1", {"ops": [["transpose"]]}]]}
J
run map load wide wide_rules.json
run "SELECT old_name, error FROM conversion WHERE ruleset = 'wide' AND checkpoint_id = 3 ORDER BY ord"
run forget wide.json
echo '-- the same operations where one tensor has one name'
cat > tr.json <<'J'
{"dialect": "t5x-translator", "rules": [["head", "H", {"ops": [["transpose"], ["scale", "2"]]}], ["bad", "B", {"ops": [["reshape", [2, 2]]]}],
 ["emb", "E", {"ops": [["unstack", 0]]}], [".*", null]]}
J
run map load tr tr.json
run "SELECT old_name, new_name, shape, status, error FROM translation WHERE ruleset = 'tr' AND checkpoint_id = 1 AND status <> 'dropped' ORDER BY ord, new_name"
run export 1 tr.npz --map tr --where "name = 'head'" --no-sync
run get tr.npz H 2>/dev/null
run import tr.npz
run get tr.npz H
echo '-- out of a compressed array, and many into one'
python3 - <<'P'
import hashlib, io, struct, zipfile
shape, values = (40, 9, 1000), list(range(360000))
head = repr({'descr': '<f4', 'fortran_order': False, 'shape': shape})
head += ' ' * (-(len(head) + 11) % 64) + '\n'
npy = b'\x93NUMPY\1\0' + struct.pack('<H', len(head)) + head.encode() + struct.pack('<360000f', *values)
with zipfile.ZipFile('z.npz', 'w', zipfile.ZIP_DEFLATED) as z:
    z.writestr('w.npy', npy)
with open('answers', 'w') as out:
    for k in range(9):
        rows = b''.join(struct.pack('<1000f', *values[i * 9000 + k * 1000:][:1000]) for i in range(40))
        out.write('w_%d|%s\n' % (k, hashlib.sha256(rows).hexdigest()))
    turned = b''.join(struct.pack('<40f', *values[j::9000]) for j in range(9000))
    out.write('whole|%s\n' % hashlib.sha256(npy[-1440000:]).hexdigest())
P
cat > z.json <<'J'
{"dialect": "convert", "rules": [["w", "w_\\g<n>", {"compute": [["n", "part"]], "ops": [["unstack", 1]]}]]}
J
cat > zz.json <<'J'
{"dialect": "convert", "rules": [["w_(.)", "whole", {"ops": [["stack", 1, "\\1"]]}]]}
J
run import z.npz
run map load z z.json
run map load zz zz.json
run export z.npz parts.npz --map z --no-sync
run import parts.npz
run export parts.npz back.safetensors --map zz --no-sync
run import back.safetensors
"$CKPTDB_BIN" -d c.db --list "SELECT name, tensor_sha256(id) FROM tensor WHERE path REGEXP '/(parts|back)\.' ORDER BY 1 DESC" | LC_ALL=C sort | diff - <(LC_ALL=C sort answers) && echo same
echo "-- all sets together, and each checkpoint by itself, are what each set is"
{
    echo "CREATE TEMP TABLE alone AS SELECT * FROM conversion WHERE 0;"
    echo "CREATE TEMP TABLE restored AS SELECT * FROM restore WHERE 0;"
    for set in $("$CKPTDB_BIN" -d c.db --list "SELECT name FROM ruleset WHERE dialect_is(dialect, 'conversion') ORDER BY name"); do
        echo "INSERT INTO alone SELECT * FROM conversion WHERE ruleset = '$set';"
    done
    for set in $("$CKPTDB_BIN" -d c.db --list "SELECT name FROM ruleset WHERE dialect_is(dialect, 'translation') ORDER BY name"); do
        for id in $("$CKPTDB_BIN" -d c.db --list "SELECT id FROM checkpoint WHERE id <= 3"); do
            echo "INSERT INTO restored SELECT * FROM restore WHERE ruleset = '$set' AND checkpoint_id = 1 AND target_id = $id AND strict;"
        done
    done
    cat <<'Q'
SELECT count(DISTINCT ruleset) > 5, count(DISTINCT checkpoint_id) > 5, count(*) > 100 FROM alone;
SELECT count(*) FROM (SELECT * FROM conversion EXCEPT SELECT * FROM alone);
SELECT count(*) FROM (SELECT * FROM alone EXCEPT SELECT * FROM conversion);
SELECT (SELECT count(*) FROM alone) - count(*) FROM conversion;
SELECT (SELECT count(*) FROM alone) - count(*) FROM checkpoint c CROSS JOIN conversion x ON x.checkpoint_id = c.id;
SELECT count(*) FROM (SELECT x.* FROM checkpoint c CROSS JOIN conversion x ON x.checkpoint_id = c.id EXCEPT SELECT * FROM alone);
SELECT count(*) > 10, count(DISTINCT target_id) FROM restored;
SELECT count(*) FROM (SELECT * FROM restore WHERE checkpoint_id = 1 AND target_id <= 3 AND strict EXCEPT SELECT * FROM restored);
SELECT count(*) FROM (SELECT * FROM restored EXCEPT SELECT * FROM restore WHERE checkpoint_id = 1 AND target_id <= 3 AND strict);
Q
} >together.sql
"$CKPTDB_BIN" -d c.db --list -f together.sql
echo '-- counts of the same set from two arms of an OR; one arm has it from another table'
cat >counted.json <<'Q'
{"ckptdb": "names", "tensors": {"a": {"dtype": "uint8", "shape": [1]}, "a2": {"dtype": "uint8", "shape": [1]}, "b": {"dtype": "uint8", "shape": [1]}}}
Q
"$CKPTDB_BIN" -d counted.db import counted.json
echo '{"dialect": "convert", "rules": [["b", "x"]]}' >cc.json
"$CKPTDB_BIN" -d counted.db map load cc cc.json
"$CKPTDB_BIN" -d counted.db --list "SELECT c.status, c.rows FROM ruleset r CROSS JOIN conversion_counts c WHERE r.name = 'cc'
    AND ((c.ruleset = r.name AND c.source = 1 AND c.status = 'unmatched') OR (c.ruleset = 'cc' AND c.source = 1 AND c.status = 'ok')) ORDER BY 1"
echo '-- a rule that drops one part of a tensor, or fails for it'
echo '{"ckptdb": "names", "tensors": {"h.0.qkv": {"dtype": "float32", "shape": [6, 2]}}}' >fused.json
"$CKPTDB_BIN" -d parts.db import fused.json
part() { # TABLE STEPS
    echo "{\"dialect\": \"convert\", \"options\": {\"tables\": {\"t\": $1}}, \"rules\": [[\"(h.0).qkv\", \"\\\\1.\\\\g<n>\",
        {\"compute\": [[\"p\", \"part\"], $2], \"ops\": [[\"split\", 0, [2, 2, 2], [\"q\", \"k\", \"v\"]]]}]]}" >part.json
    "$CKPTDB_BIN" -d parts.db map load part part.json
    "$CKPTDB_BIN" -d parts.db map run part fused.json
    echo "status $?"
    "$CKPTDB_BIN" -d parts.db "SELECT status, rows FROM conversion_counts('part') ORDER BY 1"
}
part '{"": "", "q": "query", "k": "key"}' '["n", "table", "t", "\\g<p>"]'
part '{"v": "yes"}' '["d", "table", "t", "\\g<p>", ""], ["x", "drop", "\\g<d>"], ["n", "if", "\\g<p>", "\\g<p>", ""]'
echo '-- what is added to narrow elements is rounded by the cast alone'
safetensors small.safetensors '{"w": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}, "i": {"dtype": "I32", "shape": [1], "data_offsets": [8, 12]}}' \
    '\x80\x3f\x00\x80\x80\x3a\xc0\xbf\x01\x00\x00\x00'
cat >add.json <<'J'
{"dialect": "convert", "options": {"unmatched": "keep"}, "rules": [["w", "\\g<p>", {"compute": [["p", "part"]],
  "ops": [["copies", ["plain", "turned"]], ["transpose"], ["add", 1]]}]]}
J
run import small.safetensors
run map load add add.json
run map run add small.safetensors
run export small.safetensors added.safetensors --map add --no-sync
run import added.safetensors
run get added.safetensors turned --format json
run get small.safetensors turned --map add --slice '1:, ::-1'
run "UPDATE rule SET ops = '[[\"cast\", \"bfloat16\"], [\"add\", 1], [\"add\", -1]]', replacement = 'w' WHERE ruleset = 'add'"
run get small.safetensors w --map add --format json
run "UPDATE rule SET pattern = 'i', replacement = 'j', ops = '[[\"add\", 1]]' WHERE ruleset = 'add'"
run map run add small.safetensors
