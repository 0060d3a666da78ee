# Several at once: one makes the catalog, all fill it, nothing is there twice.
for i in 1 2 3 4; do
    mkdir -p "r$i"
    cp "$TESTS/fixtures/safetensors/y_dtypes.safetensors" "r$i/a.safetensors"
    cp "$TESTS"/fixtures/npy/y_*.npy "r$i"
done
for i in 1 2 3 4; do
    "$CKPTDB_BIN" import "r$i" r1 2>"err$i" || cat "err$i" &
done
wait
"$CKPTDB_BIN" import . 2>&1 | sed 's/[0-9][0-9]* unchanged/all unchanged/'
"$CKPTDB_BIN" 'SELECT count(*) = count(DISTINCT path), count(DISTINCT run) FROM checkpoint;
    SELECT count(*) = count(DISTINCT logical) FROM _layouts;
    SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> '"'ok'"
echo '-- who waits for another writer is told so, and Ctrl-C ends it'
mkfifo hold
"$CKPTDB_BIN" -f - <hold >held & # it has the catalog for itself until its input ends
exec 5>hold
echo "BEGIN IMMEDIATE; SELECT 'mine';" >&5
until_there mine held
waits() {
    : >out # or what the last one said is taken for this one's, which is not there yet
    "$CKPTDB_BIN" "$@" >out 2>&1 &
    until_there waiting out
    kill -INT $!
    begin=$(date +%s)
    wait $!
    echo "$*: status $?$([ $(($(date +%s) - begin)) -lt 8 ] && echo ', soon')"
    grep waiting out
}
waits forget 1
waits hash --again
waits verify
waits "DELETE FROM ruleset WHERE name = 'x'"
echo '-- and so is who cannot even open the catalog'
echo "COMMIT; BEGIN EXCLUSIVE; SELECT 'alone';" >&5
until_there alone held
waits ls
waits import r1
waits verify
waits 'SELECT 1'
exec 5>&-
wait
