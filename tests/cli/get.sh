# get: every format, slices, conversions, and what it refuses.
get() {
    echo "$ get $*"
    "$CKPTDB_BIN" get "$@" || echo "status $?"
}
make_npy floats.npy '>f4' '(2, 3)' '>f' 1.5 -0.1 nan inf -inf 1e-20
make_npy cube.npy '<i8' '(2, 3, 4)' '<q' $(seq 0 23)
# shellcheck disable=SC2046 # one word a number is meant
make_npy bytes.npy '|u1' '(1200,)' '<B' $(for i in $(seq 0 1199); do echo $((i % 256)); done)
make_npy scalar.npy '<f2' '()' '<e' 3.25
make_npy none.npy '<i4' '(2, 0, 3)' '<i'
make_npy complex.npy '<c8' '(2,)' '<f' 1 -2 nan 0.5
make_npy flags.npy '|b1' '(3,)' '<B' 1 0 2
make_npy raw.npy '|V3' '(2,)' '<B' 1 2 3 250 251 252
make_npy large.npy '<u8' '(2,)' '<Q' 18446744073709551615 1
make_npy words.npy '<U5' '(2, 2)F' text one 'c,"d' größe ''
make_npy latin.npy '|S3' '(2,)' bytes ok $'\xff'
python3 - <<'PY' # a packed dtype: two elements a byte, rows of an odd length
import json
head = json.dumps({"p": {"dtype": "F4", "shape": [2, 5], "data_offsets": [0, 5]}}).encode()
data = bytes([0x10, 0x32, 0x54, 0x76, 0x98])
open("packed.safetensors", "wb").write(len(head).to_bytes(8, "little") + head + data)
one = {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}
two = {"p": one, "q": {**one, "data_offsets": [1, 2]}}
for name, tensors, data in (("two", two, b"ab"), ("none", {}, b"")):
    head = json.dumps(tensors).encode()
    open(f"{name}.safetensors", "wb").write(len(head).to_bytes(8, "little") + head + data)
PY
"$CKPTDB_BIN" import . >/dev/null 2>&1

for name in floats cube scalar none complex flags raw large words latin; do get $name.npy $name; done
"$CKPTDB_BIN" get bytes.npy bytes | tail -n 1
for format in json csv; do
    for name in floats cube scalar none complex flags raw large words; do get $name.npy $name --format $format; done
done

get cube.npy cube --slice '1, ::2, -1'
get cube.npy cube --slice '..., 1:3' --format json
get cube.npy cube --slice '::-1, 0, ::-3' --format csv
get cube.npy cube --slice '0:0'
get words.npy words --slice '-1' --format json
get cube.npy cube --slice '2'
get cube.npy cube --slice '0, 0, 0, 0'
get cube.npy cube --slice '::0'
get cube.npy cube --slice 'one'

get latin.npy latin --format json
get packed.safetensors p
get packed.safetensors p --slice '::-1, 1::3' --format json
get packed.safetensors p --dtype float16 --slice '1'
get packed.safetensors p --format raw --slice '1'
"$CKPTDB_BIN" get packed.safetensors p --format raw | od -An -tx1
get floats.npy floats --dtype float64 --slice '0, :2'
get floats.npy floats --dtype bfloat16 --slice '0, :2'
get cube.npy cube --dtype float16 --slice '0, 0'
get floats.npy floats --dtype int32
get bytes.npy bytes --dtype int8 --slice '100:130' --format csv
get words.npy words --dtype int8
get cube.npy cube --dtype float7

"$CKPTDB_BIN" get floats.npy floats --format raw | od -An -tx1
"$CKPTDB_BIN" get cube.npy cube --slice '0, 0' --dtype uint8 --format raw | od -An -tu1
"$CKPTDB_BIN" get floats.npy floats --format npy --dtype float64 | od -An -c | head -n 5
get words.npy words --format raw
get words.npy words --format npy
get large.npy large --format npy -o large2.npy
cmp large.npy large2.npy && echo same
echo "--- the suffix of FILE says the format; - is standard output; one tensor needs no name"
get large.npy -o bysuffix.npy
cmp large.npy bysuffix.npy && echo same
get large.npy large -o UPPER.NPY
cmp large.npy UPPER.NPY && echo same
for suffix in json csv txt raw out; do get cube.npy --slice '0, :2, :2' -o "part.$suffix"; done
head part.json part.csv part.txt
od -An -td8 part.raw
get large.npy --format json -o json.npy
cat json.npy
get large.npy -o x.safetensors
get large.npy -o x.npz
get large.npy -o x.bin
get large.npy -o x.d/large
get large.npy -o .large
mkdir -p x.d
get large.npy -o x.d/large
head -c 20 x.d/large; echo
get floats.npy -o -
"$CKPTDB_BIN" get large.npy --format npy -o - | cmp - large.npy && echo same
get "$PWD/two.safetensors"
get two.safetensors q
get none.safetensors
get large.npy --map t5_to_t5x
rm UPPER.NPY bysuffix.npy json.npy part.*
get large.npy large --format npy -o large2.npy
get large.npy large -o no/such/folder/x
get cube.npy cube --dtype int4 --format npy -o cube4.npy
get cube.npy cube --slice '..., 9' -o nothing
ls

get cube.npy nothing
get nothing.npy cube
get cube.npy cube --format xml
get cube.npy cube --format json --full
get cube.npy

echo ' ' >>cube.npy
get cube.npy cube
rm cube.npy
get cube.npy cube
echo "--- members of every method that NumPy reads"
"$CKPTDB_BIN" import "$TESTS"/fixtures/npz/y_{deflated,bzip2,lzma,lzma_unmarked}.npz
for method in deflated bzip2 lzma lzma_unmarked; do
    get "$TESTS/fixtures/npz/y_$method.npz" w
    [ $method = deflated ] || get "$TESTS/fixtures/npz/y_$method.npz" f
done
