# snapshot: one state of the catalog, compact, whatever others write; a name that is complete or absent.
mkdir models
for i in $(seq 40); do names "models/m$i.json" "a.$i:2" "b.$i:3,4" "c:$i"; done
"$CKPTDB_BIN" -c "INSERT INTO ruleset VALUES ('own', 't5x-translator', '{}', 0); INSERT INTO rule VALUES ('own', 0, 'a', 'b', NULL, NULL)" -c 'CREATE TABLE mine(x)' -c 'INSERT INTO mine VALUES (7)'
dump() { sqlite3 "$1" .dump | grep -v -e _page_sums -e '^CREATE INDEX' | sort | sha256sum; }
summed() { # whether the sums of its pages hold
    python3 -c "
import sqlite3, struct, sys
count = open(sys.argv[1], 'rb').read(28)[24:]
print(struct.unpack('<I', sqlite3.connect(sys.argv[1]).execute('SELECT substr(sums, 1, 4) FROM _page_sums').fetchone()[0]) == struct.unpack('>I', count))" "$1"
}
try snapshot copy.db
[ "$(dump "$CKPTDB")" = "$(dump copy.db)" ] && echo 'the same rows'
summed copy.db
"$CKPTDB_BIN" -d copy.db 'SELECT count(*), sum(tensors) FROM checkpoint' 'PRAGMA integrity_check' 'SELECT x FROM mine' 'PRAGMA journal_mode'
echo '--- compact, and over what is there only if told so'
"$CKPTDB_BIN" forget 'models/m[123]*' 2>/dev/null
try snapshot copy.db
try snapshot copy.db --force
"$CKPTDB_BIN" -d copy.db 'SELECT count(*) FROM checkpoint; PRAGMA freelist_count'
echo '--- not over itself, a folder, what is no file name, what another program writes'
ln -s "$CKPTDB" link.db
touch half.db-journal
for out in "$CKPTDB" link.db models models/ '' none/copy.db half.db; do try snapshot --force "$out"; done
try snapshot
"$CKPTDB_BIN" -d absent.db snapshot new.db; echo "status $?"
head -c 200000 /dev/zero >foreign.db
"$CKPTDB_BIN" -d foreign.db snapshot new.db 2>&1 | sed 's/: .*//'
printf '%s\n' .tmp* ./*.db*
rm half.db-journal
echo '--- from memory, and read-only'
try -d :memory: -c '.import models' -c '.snapshot memory.db'
try -d memory.db 'SELECT count(*) FROM checkpoint'
chmod 444 memory.db
try -d memory.db --readonly snapshot of_memory.db
try -d of_memory.db 'SELECT count(*) FROM checkpoint'
echo '--- a transaction that is open; damaged pages'
try -c BEGIN -c '.snapshot new.db'
python3 - of_memory.db <<'END'
import sqlite3, sys
page = sqlite3.connect(sys.argv[1]).execute("SELECT rootpage FROM sqlite_schema WHERE name = '_layout_tensors'").fetchone()[0]
with open(sys.argv[1], "r+b") as f:
    f.seek(page * 16384 - 100)
    byte = f.read(1)
    f.seek(-1, 1)
    f.write(bytes([byte[0] ^ 1]))
END
"$CKPTDB_BIN" -d of_memory.db snapshot new.db 2>&1 | sed 's/page [0-9]* /page N /'
ls new.db
echo '--- while others import, and killed'
python3 - <<'END'
import os, random, shutil, signal, sqlite3, subprocess, time
program, rng = os.environ["CKPTDB_BIN"], random.Random(5)
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
for i in range(3000):
    with open(f"models/n{i}.json", "w") as f:
        f.write('{"ckptdb": "names", "tensors": {"n%d": {"dtype": "float32", "shape": [%d]}}}' % (i, i))
writer = subprocess.Popen([program, "import", "models"], **quiet)
bad = taken = 0
while writer.poll() is None or not taken:
    bad += subprocess.run([program, "snapshot", "--force", "live.db"], **quiet).returncode
    db = sqlite3.connect("live.db")
    bad += db.execute("PRAGMA integrity_check").fetchone()[0] != "ok"
    bad += db.execute("SELECT count(*) FROM _checkpoints c LEFT JOIN _layout_tensors t ON t.id = c.layout << 24 WHERE t.id IS NULL").fetchone()[0]
    taken += 1
begun = time.monotonic()
subprocess.run([program, "snapshot", "--force", "live.db"], **quiet)
took = time.monotonic() - begun
os.remove("live.db")
with open("copy.db", "rb") as f:
    before = f.read()
for i in range(12):  # over nothing, and over another catalog
    if i % 2:
        shutil.copy("copy.db", "live.db")
    p = subprocess.Popen([program, "snapshot", "live.db", "--force"], **quiet)
    time.sleep(rng.uniform(0, took))
    p.send_signal(signal.SIGKILL)
    p.wait()
    bad += i % 2 and not os.path.exists("live.db")
    if os.path.exists("live.db"):
        with open("live.db", "rb") as f:
            bad += not (i % 2 and f.read() == before) and \
                sqlite3.connect("live.db").execute("SELECT count(*) FROM _checkpoints").fetchone()[0] != 3040
        os.remove("live.db")
subprocess.run([program, "snapshot", "live.db"], **quiet)
print("bad:", bad, " left:", [n for n in os.listdir(".") if n.startswith(".tmp")])
END
