# --readonly, and a catalog that cannot be written: what needs no writing is done all the same.
F=$TESTS/fixtures
cp "$F"/npz/y_stored.npz a.npz && cp a.npz b.npz
"$CKPTDB_BIN" import .
run() {
    echo "$ $*"
    "$CKPTDB_BIN" --readonly "$@" 2>&1
    echo "status $?"
}
echo '-- nothing is hashed yet'
run diff a.npz b.npz
run diff a.npz b.npz --bytes
run diff a.npz b.npz --values
run hash a.npz
run hash a.npz --sha256
run map infer a.npz b.npz
run map infer a.npz b.npz --name mine
run dedup
echo '-- all is hashed'
"$CKPTDB_BIN" hash >/dev/null
before=$(sha256sum "$CKPTDB")
run diff a.npz b.npz --bytes
run hash a.npz
run map infer a.npz b.npz
run dedup --by checkpoint
echo '-- what writes'
run forget a.npz
run forget a.npz --dry-run
run verify
run stats a.npz
run import .
run import . --dry-run
run relocate "$PWD" /elsewhere
[ "$before" = "$(sha256sum "$CKPTDB")" ] && echo 'the catalog is as it was'
