# The commands that look: ls, tensors, tree, show; and the ones that tidy: forget, relocate.
mkdir -p models/a models/b runs/x/step_10 runs/x/step_20
names() { # FILE LAYERS
    {
        printf '{"ckptdb": "names", "tensors": {"embed": {"dtype": "float32", "shape": [10, 4]}'
        for i in $(seq 0 $(($2 - 1))); do
            printf ', "layers.%s.attn.q": {"dtype": "bfloat16", "shape": [4, 4]}' "$i"
            printf ', "layers.%s.norm": {"dtype": "float32", "shape": [4]}' "$i"
        done
        printf ', "odd": {"dtype": null, "shape": null}}}'
    } >"$1"
}
names models/a/model.json 3
names models/b/model.json 2
names models/b/other.json 1
"$CKPTDB_BIN" import models 2>/dev/null

echo "--- ls"
try ls
try ls 'models/b'
try ls '*.json' --json
try ls 'mod' --json
echo "--- how a checkpoint is called"
first=$("$CKPTDB_BIN" "SELECT id FROM checkpoint WHERE path GLOB '*/a/model.json'")
try tensors "$first"
try tensors a/model.json --csv
try tensors "$PWD/models/b/other.json" --json
try tensors ./models/b/other.json --json
try tensors other.json --json
try tensors model.json
try tensors l/model.json
try tensors 4711
try tensors modle.json
try tensors b/
try tensors x@latest
echo "--- tensors by a regular expression"
try tensors other.json 'layers\.0|odd'
try tensors other.json '^norm'
try tensors other.json '('
echo "--- tree"
try tree a/model.json
try tree a/model.json --depth 1 --csv
try tree a/model.json --json
try tree a/model.json --depth 0
echo "--- show"
try show other.json layers.0.attn.q
try show other.json layers.0.attn.q --json
try show other.json odd --json
try show other.json layers.0.attn.k
try show other.json ''
echo "--- relocate"
try relocate models elsewhere --dry-run
try relocate models elsewhere
try relocate models elsewhere
try ls --json
try relocate elsewhere/a elsewhere/b
try ls '*/a/*' --json
echo "--- forget"
try forget other.json --dry-run
try forget other.json
try forget other.json
try 'SELECT count(*), (SELECT count(*) FROM _layouts), (SELECT count(*) FROM _layout_tensors) FROM checkpoint'
try --readonly forget a/model.json
echo "--- help"
try help ls
try ls --help
try '.help once'
echo "--- relocate: copied with its times, and a link left in the old place"
mkdir old && cp -p models/*.safetensors old/ 2>/dev/null || cp -p "$TESTS"/fixtures/real/safetensors/tied/data/tied.safetensors old/
"$CKPTDB_BIN" -d moved.db import old 2>&1
cp -pr old new && rm -r old && ln -s new old
"$CKPTDB_BIN" -d moved.db relocate old new
"$CKPTDB_BIN" -d moved.db import new
echo "status $?"
echo '--- every command word shows how it is used'
"$CKPTDB_BIN" help | sed -n '2,/^In the shell/s/^  \([a-z]*\) .*/\1/p' | while read -r word; do
    "$CKPTDB_BIN" help "$word" | grep -qE "^  (ckptdb )?$word( |\$)|^  ckptdb .*$word" || echo "no example: $word"
done
echo "--- relocate: into a folder that is known, and what is in both"
mkdir -p both/old both/new
for d in old new; do
    cp models/a/model.json both/$d/of_$d.json
    echo "in $d" >both/$d/notes
    : >both/$d/empty.npy
done
before=$CKPTDB
export CKPTDB=both.db
"$CKPTDB_BIN" import both
mv both/old/of_old.json both/new
try relocate both/old ./gone/../both/./new/
try 'SELECT path FROM checkpoint UNION ALL SELECT path FROM _passed UNION ALL SELECT path FROM issue'
"$CKPTDB_BIN" import both
cp both/new/of_old.json both/old
"$CKPTDB_BIN" import both
try relocate both/old both/new
try relocate both/new/ both/not/../yet//there/.
try 'SELECT path FROM checkpoint'
try relocate '' both/new
try relocate both/old ''
export CKPTDB=$before
echo "--- relocate: into a folder inside, and back out: names collide on the way"
mkdir -p inside/x/sub/sub && for d in x x/sub x/sub/sub; do names inside/$d/names.json 1; done
"$CKPTDB_BIN" -d inside.db import inside 2>&1
"$CKPTDB_BIN" -d inside.db relocate inside/x inside/x/sub
"$CKPTDB_BIN" -d inside.db -c 'SELECT path FROM checkpoint UNION ALL SELECT path FROM file'
"$CKPTDB_BIN" -d inside.db relocate inside/x/sub inside/x
"$CKPTDB_BIN" -d inside.db -c 'SELECT path FROM checkpoint UNION ALL SELECT path FROM file'
echo "--- relocate: to the root and from there; what verify found moves along"
mkdir place && names place/names.json 1
"$CKPTDB_BIN" -d root.db import place 2>/dev/null
echo x >place/names.json && "$CKPTDB_BIN" -d root.db verify >/dev/null 2>&1
paths() {
    "$CKPTDB_BIN" -d root.db "SELECT path FROM checkpoint UNION ALL SELECT path FROM file UNION ALL SELECT DISTINCT file FROM damage"
}
paths
"$CKPTDB_BIN" -d root.db relocate "$PWD/place" /
echo "status $?" && paths
"$CKPTDB_BIN" -d root.db relocate / "$PWD/place"
echo "status $?" && paths
"$CKPTDB_BIN" -d root.db relocate "$PWD/place/names.json" /
echo "status $?" && paths
echo "--- relocate: to a place that does not exist at all, and with '..' at the end"
mkdir place/sub && names place/names.json 1 && names place/sub/names.json 2
"$CKPTDB_BIN" -d far.db import place
far() { # OLD NEW
    echo "$ relocate $*"
    "$CKPTDB_BIN" -d far.db relocate "$@"
    echo "status $?"
    "$CKPTDB_BIN" -d far.db "SELECT path FROM checkpoint UNION ALL SELECT path FROM file"
}
far "$PWD/place" /not-there
far /not-there/sub/.. /not-there/x
far /not-there/x /not-there/y/..
far /not-there/.. "$PWD/place"
far gone/.. /..
far /.. "$PWD"
echo "--- relocate: into a folder inside and to itself: what is below the old place moves on"
mkdir -p deep/sub && names deep/names.json 1
for d in deep deep/sub; do
    echo "in $d" >$d/notes
    : >$d/empty.npy
done
"$CKPTDB_BIN" -d deep.db import deep
kept() {
    "$CKPTDB_BIN" -d deep.db "SELECT path FROM _passed UNION ALL SELECT path FROM issue"
}
kept
"$CKPTDB_BIN" -d deep.db relocate deep deep/sub
kept
"$CKPTDB_BIN" -d deep.db relocate deep deep
kept
