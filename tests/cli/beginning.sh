# Several at once on a catalog that is not there: one makes it, and no other takes it for a foreign file
# while it is empty.
mkdir -p r1 r2
cp "$TESTS/fixtures/safetensors/y_dtypes.safetensors" r1/a.safetensors
cp "$TESTS/fixtures/safetensors/y_dtypes.safetensors" r2/b.safetensors
export CKPTDB=$PWD/c.db
asks() { # from the moment on in which there is a file
    until [ -e c.db ]; do :; done
    "$CKPTDB_BIN" "$@" >"said.$1" 2>&1 || cat "said.$1"
}
for _ in $(seq 25); do
    rm -f c.db c.db-*
    asks ls &
    asks 'SELECT count(*) FROM checkpoint' &
    "$CKPTDB_BIN" import r1 2>err1 || cat err1 &
    "$CKPTDB_BIN" import r2 2>err2 || cat err2 &
    wait
    "$CKPTDB_BIN" 'SELECT count(*) FROM checkpoint'
done | sort | uniq -c | sed 's/^ *//'
echo '-- there and locked, but not filled: both wait until it is'
rm -f c.db
mkfifo hold
python3 -c '
import sqlite3
db = sqlite3.connect("c.db", isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
open("hold").read()' >held &
until_there held held
"$CKPTDB_BIN" ls >said.ls 2>&1 &
first=$!
"$CKPTDB_BIN" import r1 >said.import 2>&1 &
until_there waiting said.ls
until_there waiting said.import
: >hold
wait $first
echo "ls: status $?"
wait
grep -h waiting said.ls said.import
echo '-- and what is none is left as it is'
for sql in 'CREATE TABLE mine(x)' 'PRAGMA user_version=3' 'PRAGMA application_id=7'; do
    rm -f c.db
    python3 - "$sql" <<'PY'
import sqlite3, sys
with sqlite3.connect("c.db") as db:
    db.execute(sys.argv[1])
PY
    "$CKPTDB_BIN" ls
    "$CKPTDB_BIN" import r1
done 2>&1 | sed "s:$PWD/::"
rm -f c.db
touch c.db
"$CKPTDB_BIN" ls 2>&1 | sed "s:$PWD/::"
ls -s c.db
