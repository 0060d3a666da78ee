# A map between two checkpoints of 40,000 tensors that have no name in common, and questions about
# one checkpoint of a catalog that has 8 million tensors: neither takes minutes, or lists them all.
python3 - <<'PY'
import json
def tree(n, top): return {top: {f"l{i}": {f"w{k}": "float32[2,3]" for k in range(50)} for i in range(n // 50)}}
for name, n in (("a", 40000), ("b", 40000), ("small", 2000)):
    json.dump({"ckptdb": "names", "tree": tree(n, name)}, open(name + ".json", "w"))
json.dump({"ckptdb": "names", "tree": {"one": "float32[2]"}}, open("one.json", "w"))
json.dump({"dialect": "t5x-translator", "rules": [["(a|small)/(.*)", "c/\\2"]]}, open("m.map", "w"))
PY
"$CKPTDB_BIN" import a.json b.json small.json one.json
"$CKPTDB_BIN" map load m m.map
(ulimit -t $((10 * SLOW)) && "$CKPTDB_BIN" "SELECT status, count(*) FROM diff(1, 2, 'm') GROUP BY status" "SELECT status, count(*) FROM diff(1, 2) GROUP BY status")
sqlite3 "$CKPTDB" "WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < 4000) INSERT INTO _checkpoints(path, format, layout, placed, files, imported)
               SELECT '/x/' || i, format, layout, placed, files, imported FROM _checkpoints, k WHERE path LIKE '%small.json'" "SELECT count(*) FROM _checkpoints"
(ulimit -t $((2 * SLOW)) && "$CKPTDB_BIN" map why small.json small/l0/w3 --map m | grep -v _id && "$CKPTDB_BIN" get one.json 2>&1 | sed 's/.*: one/one/')
