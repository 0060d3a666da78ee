# Pages for a browser: their rows are the views' rows, names are never markup, where the page goes.
python3 - <<'PY'
import os
from make_safetensors import save
hostile = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>", "]]>--><!--", "a\"b'c`${d}", "\u202egnp.exe",
           "é.日本.🦙", "new\nline\ttab", "", "__proto__", "constructor", "{0..3}", "a.b.{0..3}", "x" * 3000, "\\u003c", "&lt;b&gt;"]
save("hostile.safetensors", [(name, "F32", [1], b"\0\0\0\0") for name in hostile])
layer = lambda i, seed: [(f"layers.{i}.w", "F32", [2, 3], bytes([seed] * 24)), (f"layers.{i}.b", "BF16", [3], bytes(6))]
for step in (1, 2):
    os.makedirs(f"run/checkpoint-{step}")
    meta = {"format": "pt", "step": str(step), **({"only": "</script>"} if step == 2 else {})}
    save(f"run/checkpoint-{step}/model.safetensors", [t for i in range(3) for t in layer(i, step if i == 2 else 0)] +
         ([("head", "F32", [2], bytes(8))] if step == 1 else [("tail", "F16", [4], bytes(8))]), meta)
# More different shapes than a column remembers as words, twice, and others between them.
shapes = [[n, 0] + [10**9 + n] * 50 for n in range(9000)]
save("words.safetensors", [(f"{turn}{n:05}", "U8", shape, b"") for turn in "ab" for n, shape in enumerate(shapes)])
# A number that no float32 holds, beside others.
with open("odd.json", "w", encoding="utf-8") as f:
    f.write('{"ckptdb": "names", "tensors": {"a": {"dtype": "uint8", "shape": [16777217]}, "b": {"dtype": "uint8", "shape": [3]}}}')
save("many.safetensors", [(f"block.{i}.{k}", "U8", [i % 7], bytes(i % 7)) for i in range(1500) for k in "qkv"])
PY
"$CKPTDB_BIN" import . 2>&1
"$CKPTDB_BIN" stats run@2 layers >/dev/null 2>&1

echo '-- the rows are the same as in the views'
"$CKPTDB_BIN" view >catalog.html
"$CKPTDB_BIN" view many.safetensors >many.html
"$CKPTDB_BIN" view words.safetensors >words.html
"$CKPTDB_BIN" view odd.json >odd.html
"$CKPTDB_BIN" view hostile.safetensors >hostile.html
"$CKPTDB_BIN" view run@2 -o - >two.html
cat >compare.py <<'PY'
import json, struct, subprocess, os, sys
from view_page import read
def sql(text):
    return json.loads(subprocess.run([os.environ["CKPTDB_BIN"], "--json", text], capture_output=True, text=True).stdout)
def compare(what, page, columns, view):
    rows = [{k: row[k] for k in columns.split(", ")} for row in page]
    for row in rows:
        row.update({k: v or None for k, v in row.items() if k in ("run", "item", "checkpoint")})
    asked = sql(f"SELECT {columns} FROM {view}")
    for row in asked: # to seven digits
        row.update({k: struct.unpack("f", struct.pack("f", v))[0] for k, v in row.items() if k in ("mean", "std", "l2")})
    print(what, len(rows), "rows", "equal" if rows == asked else "differ")
pages = {name: read(open(name + ".html").read()) for name in ("catalog", "many", "words", "odd", "hostile", "two")}
compare("checkpoints", pages["catalog"]["checkpoint"], "id, name, path, format, run, step, state, tensors, parameters, nbytes, stored", "checkpoint ORDER BY id")
compare("disk", pages["catalog"]["disk"], "run, folder, files, bytes", "disk")
compare("issues", pages["catalog"]["issue"], "severity, code, checkpoint, path, message", "issue")
for name in ("many", "words", "odd", "hostile", "two"):
    c = pages[name]["checkpoint"][0]["id"]
    compare(name, pages[name]["tensor"], "name, dtype, shape, elements, nbytes, storage, file, offset", f"tensor WHERE checkpoint_id = {c}")
    tree = sql(f"SELECT sum(nbytes) AS n, count(*) AS t FROM tensor WHERE checkpoint_id = {c}")[0]
    tops = [m for m in pages[name]["tree"] if m["depth"] == 1]
    print(name, "tree", sum(m["nbytes"] for m in tops) == tree["n"], sum(m["tensors"] for m in tops) == tree["t"], len(pages[name]["tree"]), "rows",
          all(0 <= t["node"] < len(pages[name]["tree"]) for t in pages[name]["tensor"]))
compare("statistics", pages["two"]["stats"], "min, max, mean, std, l2, zeros, nans", f"stats WHERE checkpoint_id = {pages['two']['checkpoint'][0]['id']} ORDER BY tensor_id")
PY
python3 compare.py

echo '-- what a page holds, but its rows, is the same whatever the names are'
for page in hostile many; do sed 's/^[A-Za-z0-9+/=]*<.script>$/DATA/' $page.html | sha256sum | cut -c1-8; done | uniq | wc -l
grep -c 'onerror\|alert' hostile.html

echo '-- two'
page() { python3 "$TESTS/fixtures/view_page.py" "$1" | grep -v '"key": "catalog"' | sed 's/"imported".*/.../; s/"hash".*/.../'; }
"$CKPTDB_BIN" view run@1 run@2 >difference.html
page difference.html
echo '-- two, how far'
"$CKPTDB_BIN" view run@1 run@2 --values >difference.html
page difference.html | sed -n '/^difference/,/^issue/p'

echo '-- where it goes'
try view many.safetensors -o out.html
try view many.safetensors -o out.html
ls -l out.html | cut -c1-10
try view many.safetensors -o nowhere/out.html
try view -o out2.html
try view nothing-such
try view run@1 run@2 -o - --open
try view many.safetensors --values
try view a b c
try --json view many.safetensors
echo '-- a file that no catalog holds'
mkdir ../other
cp hostile.safetensors ../other/'a name:with|signs.safetensors'
mkdir bin
printf '#!/bin/sh\necho "opened $1"\n' >bin/xdg-open
chmod +x bin/xdg-open
PATH=$PWD/bin:$PATH try view '../other/a name:with|signs.safetensors' --open
PATH=$PWD/bin:$PATH try view --open
printf '#!/bin/sh\nexit 3\n' >bin/xdg-open
PATH=$PWD/bin:$PATH try view --open -o third.html
ls -- *.html
