# `layout` is equal where names, dtypes and shapes are, in whatever order the files have them.
python3 - <<'PY'
import json, random, struct
def write(file, tensors):
    offset, head = 0, {}
    for name, dtype, shape in tensors:
        size = 1
        for n in shape:
            size *= n
        size *= {"F32": 4, "F16": 2}[dtype]
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(head).encode()
    open(file + ".safetensors", "wb").write(struct.pack("<Q", len(text)) + text + bytes(offset))
base = [("layers.%d.%s" % (i, k), "F32", [2, 3]) for i in range(12) for k in ("w", "b", "norm.scale")]
base += [("a", "F32", [1]), ("ab", "F16", [2]), ("é", "F32", [1]), ("", "F32", [1]), ("layers.1", "F16", [3])]
write("sorted", sorted(base))
write("as_is", base)
write("back", base[::-1])
for i in range(3):
    random.Random(i).shuffle(base)
    write("shuffled%d" % i, base)
write("shape", [(n, d, [3, 2]) if n == "layers.3.w" else (n, d, s) for n, d, s in base])
write("dtype", [(n, "F16", s) if n == "layers.3.w" else (n, d, s) for n, d, s in base])
write("name", [("layers.3.x", d, s) if n == "layers.3.w" else (n, d, s) for n, d, s in base])
write("swapped", [({"layers.3.w": "ab", "ab": "layers.3.w"}.get(n, n), d, s) for n, d, s in base])
write("less", base[1:])
many = [("t.%d" % i, "F32", [1]) for i in range(1025)]
write("many", many)
write("many_back", many[::-1])
def names(file, tree):
    json.dump({"ckptdb": "names", "tree": tree}, open(file + ".json", "w"))
names("tree", {"x": "float32[2]", "n": None, "y": "?", "e": {}})
names("tree_back", {"e": {}, "y": "?", "n": None, "x": "float32[2]"})
names("tree_other_leaf", {"e": [], "y": "?", "n": None, "x": "float32[2]"})
names("tree_without", {"y": "?", "n": None, "x": "float32[2]"})
PY
# Which are alike, whatever their numbers.
alike() { "$CKPTDB_BIN" "$@" --list "SELECT group_concat(name, ' ') FROM (SELECT layout, name FROM checkpoint ORDER BY name) GROUP BY layout ORDER BY 1"; }
"$CKPTDB_BIN" import . 2>&1
alike >all
cat all
echo '-- in another order of import, one by one'
ls -r *.safetensors *.json | while read -r each; do "$CKPTDB_BIN" -d other.db import "$each" 2>/dev/null; done
alike -d other.db | cmp - all
echo '-- when the first one is gone'
first=$("$CKPTDB_BIN" --list "SELECT name FROM checkpoint WHERE id = (SELECT min(id) FROM checkpoint WHERE name GLOB '[sb]*[0-9k].safetensors')")
for each in as_is.safetensors "$first" many_back.safetensors; do "$CKPTDB_BIN" forget "$each" 2>/dev/null; done
alike
cp shape.safetensors new.safetensors
sed 's/layers.5.w/layers.5.z/' name.safetensors >newer.safetensors
"$CKPTDB_BIN" import . 2>&1
"$CKPTDB_BIN" --list "SELECT group_concat(name, ' ') FROM (SELECT layout, name FROM checkpoint ORDER BY name) GROUP BY layout ORDER BY 1" |
    diff - <(sed 's/name.safetensors$/&\nnewer.safetensors/; s/^shape/new.safetensors &/' all | LC_ALL=C sort) && echo same
echo '-- the order is of the file all the same'
"$CKPTDB_BIN" --list "SELECT group_concat(name) FROM (SELECT name FROM tensor WHERE checkpoint_id = checkpoint_id('back.safetensors') ORDER BY ord LIMIT 4)"
"$CKPTDB_BIN" --list "SELECT status, count(*) FROM diff('back.safetensors', 'sorted.safetensors') GROUP BY 1"
