# A codec's library that cannot be loaded: what needs it is tried again once it can, none is taken for
# damaged, and nothing that was not read is called the same or verified.
mkdir broken && : >broken/libzstd.so.1 && : >broken/libzstd.so
cp -r "$TESTS/fixtures/real/orbax/composite/data/exp" exp
without() {
    echo "$ $*"
    LD_LIBRARY_PATH=$PWD/broken "$CKPTDB_BIN" "$@" 2>&1 | sed -E 's|(file too short).*|\1|' | sort -u
    echo "status ${PIPESTATUS[0]}"
}
without import exp | grep -v manifest
"$CKPTDB_BIN" "SELECT DISTINCT code FROM issue"
echo '-- it is there'
"$CKPTDB_BIN" import exp 2>&1
"$CKPTDB_BIN" "SELECT count(*) FROM issue"
"$CKPTDB_BIN" "SELECT c.name, count(dtype) FROM checkpoint c JOIN tensor t ON t.checkpoint_id = c.id GROUP BY c.id"
echo '-- and gone again'
without verify exp@5:params | cut -f 1,4-
without verify exp@5:params --quick | cut -f 1,4-
without diff exp@5:params exp@10:params --values
without hash exp@5:params
"$CKPTDB_BIN" hash exp@5:params
without hash exp@5:params --again
without stats exp@5:params
without "SELECT tensor_sha256(id) FROM tensor WHERE path LIKE '%005/params'"
without get exp@5:params Dense_0/bias
# Both tensors fail, on two threads: the first is reported.
without export exp@5:params out.npz
