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
echo '-- what is computed is shown, and not kept'
"$CKPTDB_BIN" hash b.npz >/dev/null
run hash a.npz
run stats a.npz w
run verify
run verify a.npz --quick
"$CKPTDB_BIN" hash a.npz --manifest m.txt
sed 's/^./0/' m.txt >m2.txt
run verify a.npz --manifest m2.txt
"$CKPTDB_BIN" stats b.npz >/dev/null
printf '.hash a.npz\n.stats a.npz w\n.verify a.npz\nSELECT name, hash FROM checkpoint; SELECT checkpoint, count(*) FROM stats GROUP BY 1; SELECT count(*) FROM verification; SELECT name FROM temp.sqlite_schema WHERE sql NOT GLOB \x27CREATE VIRTUAL TABLE*\x27 AND name <> \x27largest\x27;\n' | "$CKPTDB_BIN" --readonly 2>&1
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
run import .
run import . --dry-run
run relocate "$PWD" /elsewhere
run relocate "$PWD" /elsewhere --dry-run
run map load mine m.txt
run map delete t5_to_t5x
run optimizer load mine m.txt
run optimizer delete mine
[ "$before" = "$(sha256sum "$CKPTDB")" ] && echo 'the catalog is as it was'
