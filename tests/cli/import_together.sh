# Imports that start together on a catalog that is not there yet: each waits for its turn.
for i in 1 2 3 4; do
    mkdir $i
    for j in 1 2 3 4 5 6 7 8; do
        echo '{"ckptdb": "names", "tensors": {"a'$i'": {"dtype": "float32", "shape": ['$j']},
              "all": {"dtype": "int8", "shape": [2]}}}' >$i/$j.json
    done
done
for i in 1 2 3 4; do
    "$CKPTDB_BIN" import $i 2>said$i || echo "import $i: status $?" &
done
wait
sort said?
"$CKPTDB_BIN" 'SELECT count(*), count(DISTINCT path), sum(tensors) FROM checkpoint'
"$CKPTDB_BIN" 'SELECT count(DISTINCT name) FROM _layout_tensors; PRAGMA integrity_check'
echo "--- somebody else writes"
python3 - "$CKPTDB" "$CKPTDB_BIN" <<'EOF'
import signal, sqlite3, subprocess, sys, time
catalog, program = sys.argv[1:]
other = sqlite3.connect(catalog, isolation_level=None)
other.execute("BEGIN IMMEDIATE")
waiting = subprocess.Popen([program, "import", "1"], stderr=subprocess.PIPE, text=True)
print(waiting.stderr.readline(), end="")
waiting.send_signal(signal.SIGINT)
print(waiting.stderr.read(), "status", waiting.wait(), sep="")
waiting = subprocess.Popen([program, "import", "1"], stderr=subprocess.PIPE, text=True)
print(waiting.stderr.readline(), end="")
other.execute("COMMIT")
print(waiting.stderr.read(), "status", waiting.wait(), sep="")
EOF
