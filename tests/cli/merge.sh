# merge: what of two catalogs is one, paths of other places and machines, sets that differ, and catalogs that are none.
merge() { echo "$ merge $*"; "$CKPTDB_BIN" merge "$@" 2>&1 | sed "s/page [0-9]* is/page N is/; s/(\*\*\*.*)/(WHY)/"; [ "${PIPESTATUS[0]}" = 0 ] || echo "status ${PIPESTATUS[0]}"; }
on() { "$CKPTDB_BIN" -d "$@"; }
dump() { sqlite3 "$1" .dump | grep -v _page_sums | sort | sha256sum; }
later() { sqlite3 "$1" "UPDATE _checkpoints SET imported = imported + $2"; }
mkdir x y
safetensors x/a.safetensors '{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}' '\1\0\0\0\2\0\0\0'
safetensors x/b.safetensors '{"v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}' '\1\0\0\0\3\0\0\0'
on one.db import x 2>/dev/null
cp one.db two.db
echo '--- the same path: hashes come, as the files are the same; into a catalog that is not there yet'
on two.db hash a.safetensors
merge one.db
merge two.db
"$CKPTDB_BIN" "SELECT name, hash IS NOT NULL FROM checkpoint ORDER BY 1"
echo '--- the later import counts, whichever comes first; its hashes only'
safetensors x/a.safetensors '{"new":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}' '\5\0\0\0\2\0\0\0'
on two.db import x 2>/dev/null
later two.db 10
on two.db stats a.safetensors >/dev/null
for order in 'one.db two.db' 'two.db one.db'; do
    rm -f m.db
    # shellcheck disable=SC2086
    on m.db merge $order
    on m.db "SELECT c.name, t.name, c.hash FROM checkpoint c JOIN tensor t ON t.checkpoint_id = c.id ORDER BY 1; SELECT name, l2 FROM stats"
    on m.db 'SELECT count(*) FROM _layouts WHERE id NOT IN (SELECT layout FROM _checkpoints); PRAGMA integrity_check; PRAGMA foreign_key_check'
done
merge two.db
merge one.db two.db one.db
"$CKPTDB_BIN" "SELECT c.name, t.name, c.hash FROM checkpoint c JOIN tensor t ON t.checkpoint_id = c.id ORDER BY 1"
echo '--- moved between the imports: the same files under another path; but not a second link to one'
on moved.db import x 2>/dev/null
on moved.db hash b.safetensors
mv x/b.safetensors y/moved.safetensors
on later.db import y 2>/dev/null
later later.db 20
rm -f m.db
on m.db merge moved.db later.db
on m.db "SELECT name, hash IS NOT NULL FROM checkpoint ORDER BY 1"
before=$(dump m.db)
on m.db merge later.db moved.db later.db
[ "$before" = "$(dump m.db)" ] && echo 'as it was'
ln y/moved.safetensors y/link.safetensors
on links.db import y 2>/dev/null
rm -f m.db
on m.db merge later.db links.db
on m.db "SELECT name FROM checkpoint ORDER BY 1"
echo '--- hashes known on one side, statistics on the other; a checkpoint that one side has forgotten'
on left.db import y 2>/dev/null
cp left.db right.db
on left.db hash >/dev/null 2>&1
on right.db stats moved.safetensors >/dev/null
on right.db forget link.safetensors 2>/dev/null
for order in 'left.db right.db' 'right.db left.db'; do
    rm -f m.db
    # shellcheck disable=SC2086
    on m.db merge $order
    on m.db "SELECT c.name, c.hash IS NOT NULL, s.l2 FROM checkpoint c LEFT JOIN stats s ON s.checkpoint_id = c.id ORDER BY 1"
done
on m.db forget link.safetensors 2>/dev/null
on m.db merge right.db
on m.db merge left.db
echo '--- relocated: what has the size and time there is the same file'
cp -a y z
rm -f m.db
on links.db hash moved.safetensors
on m.db merge links.db --relocate "$PWD/y=z"
on m.db "SELECT path, hash IS NOT NULL FROM checkpoint ORDER BY 1"
on m.db get moved.safetensors v
on m.db import z
before=$(dump m.db)
on m.db merge links.db --relocate "$PWD/y=z"
[ "$before" = "$(dump m.db)" ] && echo 'as it was'
for wrong in x =x x= ''; do on m.db merge links.db --relocate "$wrong"; echo "status $?"; done
echo '--- two machines with the same path, and the same numbers of inodes and devices'
rm -f m.db
on m.db merge one.db --host gpu01 --relocate "$PWD/x/a.safetensors=/shared/a.safetensors"
on m.db merge one.db --host gpu02 --relocate "$PWD/x/a.safetensors=/shared/a.safetensors"
on m.db merge one.db --host gpu02 --relocate "$PWD/x/a.safetensors=/shared/a.safetensors"
on m.db "SELECT name, path FROM checkpoint ORDER BY 2; SELECT count(DISTINCT device) FROM file; SELECT run, folder, files FROM disk ORDER BY 2"
on m.db get gpu01"$PWD"/x/b.safetensors v 2>&1 | sed 's/ (.*//'
cp -a y/moved.safetensors x/b.safetensors
on m.db relocate "file://gpu01$PWD/x" x
on m.db relocate "file://gpu02$PWD/x/" /mnt/gpu02
on m.db "SELECT path FROM checkpoint ORDER BY 1"
for host in '' a/b 'a b'; do on m.db merge one.db --host "$host"; echo "status $?"; done
echo '--- rule sets, optimizers and known classes of a user'
on one.db "INSERT INTO ruleset VALUES ('mine', 't5x-translator', '{}', 0), ('other', 'kauldron', '{}', 0);
  INSERT INTO rule VALUES ('mine', 0, 'a', 'b', NULL, NULL), ('other', 0, 'a', 'b', NULL, NULL);
  INSERT INTO optimizer VALUES ('adam', '{\"optax\": {\"opt\": \"adam\"}}'); INSERT INTO known_class VALUES ('lib.A', 'safe', 'ours'), ('lib.B', 'safe', '')"
mkdir g
cp one.db g/one.db
on g/one.db "UPDATE rule SET replacement = 'c' WHERE ruleset = 'mine'; UPDATE optimizer SET spec = '{\"optax\": {\"opt\": \"sgd\"}}';
  UPDATE known_class SET verdict = 'dangerous' WHERE name = 'lib.B'; UPDATE rule SET replacement = 'changed' WHERE ruleset = 'strip_prefixes'"
rm -f m.db
on m.db merge one.db g/one.db two.db; echo "status $?"
on m.db merge g/one.db --keep-both
on m.db "UPDATE rule SET replacement = 'd' WHERE ruleset = 'mine@one'"
on m.db merge g/one.db --keep-both
before=$(dump m.db)
on m.db merge g/one.db --keep-both 2>/dev/null
[ "$before" = "$(dump m.db)" ] && echo 'as it was'
on m.db "SELECT name, dialect, (SELECT group_concat(replacement) FROM rule WHERE ruleset = name) FROM ruleset WHERE NOT shipped AND name NOT GLOB 'strip*' ORDER BY 1;
  SELECT name FROM ruleset WHERE name GLOB 'strip*'; SELECT * FROM optimizer; SELECT * FROM known_class WHERE name GLOB 'lib.*'"
echo '--- older versions'
sed "s#WORK#$PWD#g" "$TESTS/catalogs/v8.sql" | sqlite3 v8.db
cp v8.db v7.db
sqlite3 v7.db 'PRAGMA user_version = 7'
cp one.db v99.db
sqlite3 v99.db 'PRAGMA user_version = 99'
cp one.db view.db
sqlite3 view.db 'DROP VIEW issue; DROP TABLE _layout_columns'
sha256sum ./v*.db one.db >sums
rm -f m.db
on m.db merge v8.db v7.db v99.db view.db; echo "status $?"
on m.db 'SELECT count(*), sum(tensors) FROM checkpoint; SELECT count(*) FROM content; SELECT name FROM ruleset WHERE NOT shipped; PRAGMA integrity_check'
sha256sum --quiet -c sums
cp one.db views.db
sqlite3 views.db 'DROP VIEW issue; DROP TRIGGER _content_changed'
echo '--- other views need no copy'
for db in view.db views.db; do TMPDIR=/dev/null merge $db; done
echo '--- what is no catalog, or damaged'
head -c 50000 /dev/zero >zeros.db
echo text >text.db
: >empty.db
sqlite3 foreign.db 'CREATE TABLE t(x)'
mkfifo pipe.db
cp one.db flipped.db
cp one.db torn.db
python3 - <<'END'
import sqlite3
for name in "flipped.db", "torn.db":
    page = sqlite3.connect(name).execute("SELECT rootpage FROM sqlite_schema WHERE name = '_files'").fetchone()[0]
    if name == "torn.db":  # by a program that does not sum pages
        sqlite3.connect(name).executescript("CREATE TABLE t(x)")
    with open(name, "r+b") as f:
        f.seek(page * 16384 - 40)
        f.write(b"\0" * 30)
db = sqlite3.connect("torn.db")
END
cp one.db halves.db
sqlite3 halves.db 'PRAGMA foreign_keys = OFF; DELETE FROM _layouts'
cp one.db fewer.db
sqlite3 fewer.db 'DELETE FROM _layout_tensors WHERE id >> 24 = 2'
rm -f m.db
on m.db merge none.db; echo "status $?"
ls m.db
merge zeros.db text.db empty.db foreign.db pipe.db x none.db flipped.db halves.db fewer.db "$CKPTDB" one.db
on m.db merge fewer.db; echo "status $?"
on torn.db 'SELECT 1' >/dev/null
merge torn.db 2>&1 | sed 's/:.*//' | tail -1
"$CKPTDB_BIN" 'PRAGMA integrity_check'
echo '--- being written: WAL, also one that nobody has open, or that cannot be written; a lock; what a killed program left'
cp one.db wal.db
sqlite3 wal.db 'PRAGMA journal_mode = WAL' >/dev/null
python3 - <<'END'
import os, shutil, sqlite3, subprocess, time
program = os.environ["CKPTDB_BIN"]
def merge(name):
    here = sorted(os.listdir("."))
    if os.path.exists("t.db"):
        os.unlink("t.db")
    before = [open(name + s, "rb").read() for s in ("", "-wal", "-journal") if os.path.exists(name + s)]
    done = subprocess.run([program, "-d", "t.db", "merge", name], capture_output=True, text=True)
    left = [n for n in os.listdir(".") if n not in here and n != "t.db"]
    if before != [open(name + s, "rb").read() for s in ("", "-wal", "-journal") if os.path.exists(name + s)]:
        print("it was written")
    count = sqlite3.connect("t.db").execute("SELECT count(*), max(imported) FROM _checkpoints").fetchone()
    print(name, done.returncode, done.stderr.splitlines()[-1], count[0], left)
    return count[1]
merge("wal.db")
live = sqlite3.connect("wal.db")
live.execute("UPDATE _checkpoints SET imported = 77")
live.commit()
live.execute("UPDATE _checkpoints SET imported = 78")
print(merge("wal.db"))
for suffix in "", "-wal":  # as a killed program leaves them
    shutil.copy("wal.db" + suffix, "left.db" + suffix)
live.rollback()
print(merge("left.db"))
shutil.copy("one.db", "hot.db")
hot = sqlite3.connect("hot.db", isolation_level=None)
hot.executescript("PRAGMA cache_size = 1; BEGIN; UPDATE _checkpoints SET imported = 99; UPDATE known_class SET why = why || printf('%01000d', 0)")
shutil.copy("hot.db", "hot2.db")
shutil.copy("hot.db-journal", "hot2.db-journal")
print(merge("hot2.db") > 99)
END
mkfifo hold
on wal.db -f - <hold >held &
exec 5>hold
echo "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE; SELECT 'mine';" >&5
until_there mine held
"$CKPTDB_BIN" merge wal.db one.db >out 2>&1 &
until_there waiting out
kill -INT $!
wait $!
echo "status $?"
exec 5>&-
wait
cat out
echo '--- what another program adds to the target between two catalogs is found, though moved since'
on z.db import z 2>/dev/null
rm -f m.db
on wal.db -f - <hold >held &
exec 5>hold
echo "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE; SELECT 'mine';" >&5
until_there mine held
on m.db merge z.db wal.db later.db >out 2>&1 &
until_there waiting out
on m.db merge moved.db
echo 'ROLLBACK;' >&5
exec 5>&-
wait
tail -1 out
on m.db "SELECT name, hash IS NOT NULL FROM checkpoint ORDER BY 1"
echo '--- read-only, and as JSON'
"$CKPTDB_BIN" --readonly merge one.db; echo "status $?"
"$CKPTDB_BIN" merge --json one.db none.db; echo "status $?"
"$CKPTDB_BIN" -c BEGIN -c '.merge one.db'; echo "status $?"
printf '%s\n' .tmp*
