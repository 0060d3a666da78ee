# A checkpoint of Mesh TensorFlow: every name, dtype, shape and place, from an index in Snappy blocks.
cp "$TESTS"/fixtures/real/t5x/mtf_tiny_t5/data/* .
echo '--- as it is, without its second data file'
"$CKPTDB_BIN" import . 2>&1
echo "status $?"
"$CKPTDB_BIN" --csv -c 'SELECT format, step, tensors, files FROM checkpoint' \
    -c 'SELECT dtype, count(*) AS tensors, sum(tensor_sha256(id) IS NULL) AS lost FROM tensor GROUP BY 1' \
    -c 'SELECT severity, code, message FROM issue'
echo '--- with one of its size in its place'
truncate -s 13077504 model.ckpt-0.data-00001-of-00002
"$CKPTDB_BIN" import .
echo "status $?"
"$CKPTDB_BIN" --csv -c "SELECT name, dtype, shape, substr(file, -10, 1) AS shard, \"offset\", stored FROM tensor ORDER BY ord"
