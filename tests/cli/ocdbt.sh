# OCDBT without Orbax, and pytrees of JAX: steps, files inside, values from other databases, damage.
fixtures=$TESTS/fixtures
mkdir -p run
cp -r "$fixtures/jax_pytree/y_processes" run/step_7
cp -r "$fixtures/jax_pytree/y_json" run/step_8
cp -r "$fixtures/ocdbt/y_two_databases" run/checkpoint-9
cp -r "$fixtures/ocdbt/y_numbered" store
try import .
try "SELECT path, format, run, step, tensors, files FROM checkpoint ORDER BY path"
try tensors run@8
try "SELECT name, kind FROM node"
try get step_7 b/0
try get checkpoint-9 w
echo "--- a file inside is the whole"
try -d other.db import store/manifest.0000000000000002 run/step_7/array_store
try -d other.db "SELECT path, format FROM checkpoint ORDER BY path"
echo "--- nothing is read again until something changes"
try import .
cp -r "$fixtures/ocdbt/n_corrupt_newest_manifest/." store
try import .
echo "--- values that are gone: in the database that is referred to"
rm -r run/checkpoint-9/part/d
try import .
try get checkpoint-9 w
echo "--- a folder that was refused and is no longer a store: no trace remains"
mkdir -p left/run
printf '\x0c\xdb\x3a\x2a' >left/manifest.ocdbt
cp "$fixtures/real/tf/saver_run/data/"*0.index left/run
try -d left.db import left
rm left/manifest.ocdbt
try -d left.db import left
try -d left.db "SELECT path, code FROM issue WHERE code <> 'missing-shard'"
echo "--- attributes are facts, in both versions"
mkdir facts
cp -r "$fixtures/ocdbt/y_attributes" "$fixtures/ocdbt/n_corrupt_attributes" facts
try -d facts.db import facts
try -d facts.db "SELECT key, value FROM metadata ORDER BY key"
echo "--- attributes that cannot be read, which the arrays do not need: cut short; their file is gone"
mkdir apart
cp -r "$fixtures/ocdbt/y_attributes_apart" apart/cut
cp -r "$fixtures/ocdbt/y_attributes_apart" apart/gone
attributes=$(basename "$(grep -l '"unit"' apart/cut/d/*)")
: >"apart/cut/d/$attributes"
rm "apart/gone/d/$attributes"
try -d apart.db import apart
try -d apart.db "SELECT name, tensors, state FROM checkpoint ORDER BY name"
try -d apart.db verify
