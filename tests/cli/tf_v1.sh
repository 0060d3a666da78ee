# TensorFlow's first format: what every well-formed case holds, and how one asks for one.
export CKPTDB=$PWD/catalog.db
cases=$TESTS/fixtures/tf_v1
mkdir here
cp -r "$cases"/y_* here
"$CKPTDB_BIN" import here
"$CKPTDB_BIN" --csv -c "
SELECT substr(t.path, instr(t.path, '/here/') + 8) AS checkpoint, t.name, dtype, t.shape, storage, e.codec,
       (SELECT json_group_array(value) FROM tensor_values(t.id)) AS values_
FROM tensor t LEFT JOIN extent e ON e.tensor_id = t.id AND e.ordinal = 0
ORDER BY t.path, t.name"
echo '--- pieces'
"$CKPTDB_BIN" --csv -c "
SELECT t.name, e.ordinal, e.codec, e.origin, e.shape FROM tensor t JOIN extent e ON e.tensor_id = t.id
WHERE t.path LIKE '%/y_slices_raw_and_snappy' ORDER BY t.name, e.ordinal"
echo '--- steps, runs and files'
"$CKPTDB_BIN" --csv -c "
SELECT substr(path, instr(path, '/here/') + 8) AS path, step, substr(run_path, instr(run_path, '/here/') + 8) AS run, files
FROM checkpoint WHERE step IS NOT NULL ORDER BY path"

ask() { # PATH...: imported into a catalog of its own
    rm -f one.db
    echo "--- import $*"
    "$CKPTDB_BIN" -d one.db import "$@"
    echo "status $?"
    "$CKPTDB_BIN" -d one.db --csv -c "SELECT replace(path, '$PWD/', '') AS path, tensors FROM checkpoint"
}
ask here/y_two_files/export
ask here/y_two_files/export-00001-of-00002
ask here/y_two_files/expor
mkdir run
cp here/y_vector run/model.ckpt-6
cp here/y_vector run/model.ckpt-7
echo '[1]' >run/other.json
printf 'model_checkpoint_path: "model.ckpt-7"\n' >run/checkpoint
ask run/checkpoint
ask run/model.ckpt-6
echo '--- a file that comes later'
mkdir late
cp here/y_two_files/export-00000-of-00002 late
"$CKPTDB_BIN" -d late.db import late
cp here/y_two_files/export-00001-of-00002 late
"$CKPTDB_BIN" -d late.db import late
"$CKPTDB_BIN" -d late.db import late
"$CKPTDB_BIN" -d late.db --csv -c "SELECT name FROM tensor ORDER BY ord"
