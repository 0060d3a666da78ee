# tensor_bytes, tensor_sha256, tensor_hash, tensor_values, extent, and the functions of dtypes and ids.
sql() {
    echo "$ $*"
    "$CKPTDB_BIN" --csv --headers "$@" || echo "status $?"
}
make_npy fortran.npy '>f4' '(2, 3)F' '>f' 0.5 1.5 -2 3 0.1 nan
make_npy words.npy '<U3' '(2, 2)' text a '' bcd größe
make_npy latin.npy '|S3' '(2,)' bytes ok $'\xff'
make_npy scalar.npy '<f2' '()' '<e' 3.25
make_npy empty.npy '<i4' '(0, 3)' '<i'
make_npy complex.npy '<c8' '(3,)' '<f' 0.1 -2 nan 0.5 1e30 -inf
make_npy raw.npy '|V3' '(2,)' '<B' 1 2 3 250 251 252
make_npy large.npy '<u8' '(2,)' '<Q' 18446744073709551615 1
make_npy dates.npy '<M8[s]' '(2,)' '<q' 1709208000 -9223372036854775808
"$CKPTDB_BIN" import . >/dev/null 2>&1
id() { # FILE: its first tensor
    "$CKPTDB_BIN" "SELECT id FROM tensor WHERE path LIKE '%/$1' AND ord = 0"
}
for name in fortran words latin scalar empty complex raw large dates; do
    sql "SELECT dtype, shape, position, idx, CASE typeof(value) WHEN 'blob' THEN hex(value) ELSE value END AS value, typeof(value) FROM tensor t, tensor_values(t.id) WHERE t.name = '$name' ORDER BY position LIMIT 7"
    sql "SELECT hex(tensor_bytes(id)) AS bytes, tensor_sha256(id) AS sha FROM tensor WHERE name = '$name'"
done
one=$(id fortran.npy)
# The bytes are C order, little-endian: what sha256sum says of the raw form.
[ "$("$CKPTDB_BIN" get fortran.npy fortran --format raw | sha256sum | cut -d' ' -f1)" = "$("$CKPTDB_BIN" "SELECT tensor_sha256($one)")" ] && echo 'same sha256'
# One tensor's hash is what a sweep over its checkpoint finds, at the sizes of blocks, too.
for bytes in 0 1 1048575 1048576 1048577 2097152; do
    { printf '\x93NUMPY\x01\x00\x76\x00'; printf "%-117s\n" "{'descr': '|u1', 'fortran_order': False, 'shape': ($bytes,), }"
      seq 1000000 | head -c "$bytes"; } >"size_$bytes.npy"
done
mkdir sized && mv size_*.npy sized
"$CKPTDB_BIN" -d hashed.db import sized >/dev/null 2>&1
"$CKPTDB_BIN" -d hashed.db --csv "SELECT id, tensor_hash(id) AS hash FROM tensor ORDER BY id" >alone.csv
"$CKPTDB_BIN" -d hashed.db hash >/dev/null 2>&1
"$CKPTDB_BIN" -d hashed.db --csv "SELECT id, hash FROM tensor ORDER BY id" | cmp - alone.csv && echo "same hashes: $(wc -l <alone.csv)"
sql "SELECT count(*), min(position), max(position) FROM tensor_values($one, 2)"
sql "SELECT position, idx FROM tensor_values($one, 2, 3)"
sql "SELECT count(*) FROM tensor_values($one, 1000000)"
sql "SELECT count(*) FROM tensor_values($one, 0, 0)"
sql "SELECT count(*) FROM tensor_values(NULL)"
sql "SELECT position FROM tensor_values($one) ORDER BY position DESC LIMIT 1"
sql "SELECT * FROM tensor_values($one, -1)"
sql "SELECT * FROM tensor_values"
sql "SELECT tensor_bytes(NULL), tensor_sha256(NULL, 'float32'), length(tensor_bytes($one, NULL))"
sql "SELECT length(tensor_bytes($one)), length(tensor_bytes($one, 'float64')), length(tensor_bytes($one, 'float16'))"
sql "SELECT tensor_bytes($one, 'float7')"
sql "SELECT tensor_bytes($one, 'string')"
sql "SELECT tensor_bytes(99)"
sql "SELECT count(*) FROM tensor_values(99)"
sql "SELECT tensor_bytes($(id words.npy))"
sql -c "SELECT tensor_checkpoint($one) = checkpoint_id, tensor_name($one) = name FROM tensor WHERE checkpoint_id = tensor_checkpoint($one)"
sql "SELECT tensor_name(99), tensor_name(NULL), tensor_checkpoint(NULL)"
sql "SELECT dtype_bits('float32'), dtype_bits('int4'), dtype_bits('string'), dtype_bits('q4_0'), dtype_bits('void24'), dtype_bits('nonsense'), dtype_bits(NULL)"
sql "SELECT shape_elements('[2,3]'), shape_elements('[]'), shape_elements('[0, 7]'), shape_elements(NULL)"
sql "SELECT shape_elements('2,3')"
sql "SELECT shape_elements('[9223372036854775807,2]')"
sql "SELECT ordinal, file LIKE '%/fortran.npy' AS file, offset, stored, codec, origin, shape FROM extent WHERE tensor_id = $one"
sql "SELECT t.name, count(e.ordinal) FROM tensor t LEFT JOIN extent e ON e.tensor_id = t.id WHERE t.path LIKE '%.npy' GROUP BY t.name ORDER BY 1"
sql "SELECT count(*) FROM extent WHERE tensor_id = 99"
sql "SELECT count(*) FROM extent"
sql "SELECT name, (SELECT count(*) FROM tensor_values(id)) AS n FROM tensor ORDER BY 1"

# What reads files is for the person at the keyboard: not in views of a catalog.
sql -c "CREATE VIEW hashes AS SELECT tensor_sha256(id) FROM tensor" -c "SELECT * FROM hashes"
sql -c "CREATE VIEW many AS SELECT * FROM tensor_values($one)" -c "SELECT * FROM many"

# Changed since: an error, not other numbers.
printf '\0' >>fortran.npy
sql "SELECT tensor_sha256($one)"
sql "SELECT * FROM tensor_values($one)"
rm fortran.npy
sql "SELECT tensor_bytes($one)"

# Names only: nothing to read, which is not an error.
echo '{"ckptdb": "names", "tensors": {"a": {"dtype": "float32", "shape": [2]}}}' >names.json
"$CKPTDB_BIN" import names.json >/dev/null
sql "SELECT tensor_bytes(id), tensor_sha256(id), (SELECT count(*) FROM tensor_values(id)) FROM tensor WHERE name = 'a'"
"$CKPTDB_BIN" get names.json a || echo "status $?"
