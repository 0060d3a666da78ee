# Exports: what is written, what is refused, and that nothing is left behind.
export STATUS=always
# safetensors FILE HEADER DATA: a file with this header and data, in printf's spelling.
look() { # FILE: its tensors, by the program itself
    "$CKPTDB_BIN" import "$1" >/dev/null 2>&1
    "$CKPTDB_BIN" --list "SELECT name, dtype, shape, substr(tensor_sha256(id), 1, 12) AS sha256
        FROM tensor WHERE path = '$PWD/$1' ORDER BY ord"
}

safetensors model.safetensors '{"decoder.w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"encoder.w":{"dtype":"F32","shape":[2],"data_offsets":[16,24]},"step":{"dtype":"I32","shape":[],"data_offsets":[24,28]}}' \
    '\0\0\200\77\0\0\0\100\0\0\100\100\0\0\200\100\0\0\0\77\0\0\200\76\7\0\0\0'
try import model.safetensors
look model.safetensors

echo '--- formats'
try export model.safetensors all.safetensors
look all.safetensors
try export model.safetensors all.npz --no-sync
look all.npz
try export model.safetensors one.npy --names '^enc'
look one.npy
try export model.safetensors bytes --format npz
try export model.safetensors bytes.bin
try export model.safetensors x.npz --format zip
head -c 8 all.safetensors | od -An -tu8
head -c 400 all.safetensors | tail -c +9 | grep -ao '^{.*}'

echo '--- what is selected'
try export model.safetensors x.npz --dry-run
try export model.safetensors x.npz --dry-run --names coder --where "shape = '[2]'" --jsonl
try export --jsonl --dry-run model.safetensors x.npz --names 'ste(?=p)'
try export model.safetensors x.npz --names nothing
try export model.safetensors x.npz --names '('
try export model.safetensors x.npz --where 'nmae = 1'
try export model.safetensors x.npz --where '1) OR (1'
try export model.safetensors x.npz --where '1; DROP TABLE names'
try export model.safetensors x.npz --where "name = 'step' -- that one"
try export model.safetensors x.npy

echo '--- names of your own'
try export --sql "SELECT id AS tensor_id, upper(name) AS new_name FROM tensor WHERE path LIKE '%/model.safetensors'" upper.safetensors
look upper.safetensors
try export --sql "SELECT id AS tensor_id, 'x' AS new_name, 'float16' AS dtype FROM tensor WHERE name = 'encoder.w' LIMIT 1" half.npy
look half.npy
try export --sql "SELECT id AS tensor_id, 'same' AS new_name FROM tensor WHERE name LIKE '%coder.w' ORDER BY id LIMIT 2" x2.npz
try export --sql "SELECT NULL AS tensor_id, 'a' AS new_name UNION ALL SELECT 1, NULL UNION ALL SELECT 'x', 'b' UNION ALL SELECT 1, 'c'" x2.npz
try export --sql 'SELECT id FROM tensor' x2.npz
try export --sql 'DELETE FROM ruleset' x2.npz
try export --sql 'SELECT 1; SELECT 2' x2.npz
try export --sql 'SELECT broken' x2.npz
try export --sql 'SELECT 1' x2.npz --names a
try export model.safetensors
try export --sql 'SELECT 1' model.safetensors x2.npz
try export model.safetensors x2.npz --target model.safetensors
try export model.safetensors x2.npz --map nonsense

echo '--- dtypes'
try export model.safetensors half.safetensors --dtype bfloat16
look half.safetensors
try export model.safetensors step.npy --names step --dtype float64
look step.npy
try export model.safetensors int.npz --dtype int8
try export model.safetensors int.npz --dtype flaot
safetensors wide.safetensors '{"w":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}}' '\0\0\0\0\0\0\0\0'
try import wide.safetensors
try export wide.safetensors x3.npz --dtype float32

echo '--- parts'
try export model.safetensors p.safetensors --shard-size 20
ls p*
cat p.safetensors.index.json
try export model.safetensors q.safetensors --shard-size 1KiB
ls q*
try export model.safetensors q.npz --shard-size 1KB
try export model.safetensors q.safetensors --shard-size none

echo '--- what is there already'
try export model.safetensors all.npz
try export model.safetensors all.npz --force --names step
look all.npz
try export model.safetensors model.safetensors --format npz --force
ln -s model.safetensors soft.npz
try export model.safetensors soft.npz --force
ln model.safetensors hard.npz
try export model.safetensors hard.npz --force
cp "$CKPTDB" before.db && ln -s "$CKPTDB" catalog.npz
try export model.safetensors catalog.npz --force
cmp "$CKPTDB" before.db; rm before.db catalog.npz
try export model.safetensors no/where.npz
mkdir dir.npz
try export model.safetensors dir.npz --force
try export model.safetensors /dev/null --format npz --force
(
    # ThreadSanitizer writes a file of its own before main() can ignore the signal.
    [[ $CKPTDB_BIN != */tsan/* ]] || trap '' XFSZ
    ulimit -f 0
    try export model.safetensors limit.npz
) 2>&1 | cat
# shellcheck disable=SC2010 # the names are this test's own
ls -A | grep -i 'tmp\|limit\|^x'

echo '--- a source that is another by now'
touch -d '2001-01-01' model.safetensors
try export model.safetensors late.npz
rm model.safetensors
try export model.safetensors late.npz
ls late* 2>/dev/null

echo '--- names only'
echo '{"ckptdb": "names", "tensors": {"a": {"dtype": "float32", "shape": [2]}}}' >skeleton.json
try import skeleton.json
try export skeleton.json s.npz

echo '--- what conversions lose'
# 1e38, 1e-30, infinity, NaN, 0, -1e38; 1, 2
safetensors wide2.safetensors '{"a":{"dtype":"F32","shape":[6],"data_offsets":[0,24]},"b":{"dtype":"F32","shape":[2],"data_offsets":[24,32]}}' \
    '\231\166\226\176\140\102\242\15\0\0\200\177\0\0\300\177\0\0\0\0\231\166\226\376\0\0\200\77\0\0\0\100'
try import wide2.safetensors
try export wide2.safetensors w.npz --dtype float16 --dry-run
try export wide2.safetensors w.npz --dtype float16
try export wide2.safetensors w8.zarr --dtype float8_e4m3fn --option chunk=1 --no-sync
try export wide2.safetensors wb.npz --dtype bfloat16
try export wide2.safetensors ww.npz --dtype float64
echo '--- no standard output'
"$CKPTDB_BIN" export 1 - --format npz 2>&1
echo "status $?"
"$CKPTDB_BIN" get 1 step -o '' 2>&1
echo "status $?"
echo '--- a name that no file can have is refused before the work'
long=$(printf 'x%.0s' $(seq 252))
mkdir short && cp "$TESTS/fixtures/npz/y_stored.npz" short/s.npz && "$CKPTDB_BIN" import short 2>/dev/null
for each in "export s.npz $long.npz" "get s.npz w -o $long.npy" "hash s.npz --manifest $long.txt"; do
    "$CKPTDB_BIN" $each 2>&1 | sed 's/xxxx*/X/'
done
