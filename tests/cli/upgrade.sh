# Catalogs of older programs (tests/catalogs: what `.dump` of sqlite3 gave of a file with rows in every
# table), and what an older program indexed.
mkdir models
cp "$TESTS/fixtures/real/safetensors/tied/data/tied.safetensors" models/tied.safetensors
cp models/tied.safetensors models/again.safetensors
"$CKPTDB_BIN" -d fresh.db import models 2>/dev/null
schema="SELECT type, name, iif(type = 'table', '', sql) FROM sqlite_schema
  WHERE name NOT LIKE 'sqlite_%' AND name NOT GLOB 'mine*' ORDER BY 1, 2"
"$CKPTDB_BIN" -d fresh.db "$schema" >fresh
old() { # VERSION
    rm -f old.db
    sed "s#WORK#$PWD#g" "$TESTS/catalogs/v8.sql" | sqlite3 old.db
    sqlite3 old.db "UPDATE checkpoints SET run = '$PWD/run', step = 3 WHERE id = 5; PRAGMA user_version = $1; CREATE VIEW mine_of_ours AS SELECT name FROM checkpoint;
        CREATE VIEW mine_of_storage AS SELECT count(*) FROM labels; CREATE TABLE mine(x); INSERT INTO mine VALUES (7)"
}
rows() { # of every table, whatever it is called
    for table in $(sqlite3 old.db "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY ltrim(name, '_')"); do
        echo "${table#_}: $(sqlite3 old.db "SELECT * FROM $table" | sha256sum | cut -c 1-16) $(sqlite3 old.db "SELECT count(*) FROM $table")"
    done
}
echo '--- version 8, only read'
old 8
rows | grep -v -E '^(labels|rule|ruleset):' >before
grep -c ' 0$' before
"$CKPTDB_BIN" -d old.db --readonly ls
echo "status $?"
bash "$TESTS/plain_sqlite.sh" old.db "SELECT regexp('a', 'a')"
echo "status $?"
echo '--- opened for writing: the same rows, and the schema of a new one'
"$CKPTDB_BIN" -d old.db "SELECT name, state, tensors, nbytes, hash, run FROM checkpoint;
  SELECT checkpoint_id, name, dtype, shape, offset FROM tensor WHERE checkpoint_id IN (1, 5) ORDER BY 1, 2;
  SELECT count(*), count(DISTINCT hash) FROM content; SELECT count(*), sum(wasted) FROM duplicate;
  SELECT count(*), sum(elements) FROM stats; SELECT name, findings FROM verification JOIN checkpoint c ON c.id = checkpoint_id ORDER BY name;
  SELECT value FROM metadata WHERE key = 'split.tensors.count'; SELECT code FROM issue ORDER BY 1;
  SELECT name FROM ruleset WHERE NOT shipped; SELECT count(*) FROM rule WHERE ruleset = 'own'; SELECT name FROM optimizer;
  SELECT count(*) FROM translation WHERE ruleset = 'own'; SELECT tensors, nbytes FROM shared; PRAGMA user_version"
rows | grep -v -E '^(labels|layout_alike|layout_kinds|page_sums|rule|ruleset):' | diff before -
"$CKPTDB_BIN" -d old.db 'PRAGMA integrity_check; PRAGMA foreign_key_check'
"$CKPTDB_BIN" -d old.db "$schema" | diff fresh - && echo 'the schema of a new one'
"$CKPTDB_BIN" -d old.db "SELECT * FROM mine; SELECT count(*) FROM mine_of_ours" "SELECT * FROM mine_of_storage"
bash "$TESTS/plain_sqlite.sh" old.db "SELECT tensor_name(1 << 24)" "SELECT name, shape FROM tensors_of(1)" "SELECT name_a, name_b FROM diff(1, 5)"
echo '--- of a version before that: import anew, and take the maps along'
old 7
"$CKPTDB_BIN" -d old.db ls
echo "status $?"
"$CKPTDB_BIN" -d old.db import models
echo "status $?"
bash "$TESTS/plain_sqlite.sh" old.db "SELECT regexp('a', 'a')"
echo "status $?"
"$CKPTDB_BIN" -d new.db import models 2>/dev/null
"$CKPTDB_BIN" -d new.db "ATTACH 'old.db' AS old; INSERT INTO ruleset SELECT * FROM old.ruleset WHERE NOT shipped;
  INSERT INTO rule SELECT * FROM old.rule WHERE ruleset IN (SELECT name FROM old.ruleset WHERE NOT shipped);
  INSERT INTO optimizer SELECT * FROM old.optimizer"
"$CKPTDB_BIN" -d new.db "SELECT name, dialect, shipped FROM ruleset WHERE NOT shipped; SELECT ord, pattern, replacement FROM rule WHERE ruleset = 'own'; SELECT * FROM optimizer"
echo '--- what another program indexed is read anew; what was computed of the same tensors stays'
"$CKPTDB_BIN" import models
"$CKPTDB_BIN" hash >/dev/null
"$CKPTDB_BIN" stats tied.safetensors >/dev/null
sqlite3 "$CKPTDB" "UPDATE _looked SET looker = 'another'"
"$CKPTDB_BIN" import models
"$CKPTDB_BIN" 'SELECT count(hash), (SELECT count(*) FROM stats), (SELECT count(*) FROM _outdated) FROM checkpoint'
sqlite3 "$CKPTDB" "UPDATE _looked SET looker = 'another'; UPDATE _files SET base = base + 4 WHERE path LIKE '%again%'"
mkdir other
"$CKPTDB_BIN" import other
"$CKPTDB_BIN" import --dry-run models
"$CKPTDB_BIN" import models
"$CKPTDB_BIN" 'SELECT name, hash IS NOT NULL FROM checkpoint; SELECT count(*) FROM _outdated'
"$CKPTDB_BIN" import models
"$CKPTDB_BIN" hash | awk '{ print $1 }' | uniq -c | awk '{ print $1 }'
echo '--- one that can no longer be read: tried again by every import'
sqlite3 "$CKPTDB" "UPDATE _looked SET looker = 'another'"
head -c 60 models/tied.safetensors >models/again.safetensors
"$CKPTDB_BIN" import models 2>&1 | tail -1
"$CKPTDB_BIN" 'SELECT name, state, hash IS NOT NULL FROM checkpoint; SELECT count(*) FROM _outdated'
cp models/tied.safetensors models/again.safetensors
"$CKPTDB_BIN" import models
"$CKPTDB_BIN" 'SELECT name, state FROM checkpoint; SELECT count(*) FROM _outdated'
echo '--- of a newer one'
sqlite3 "$CKPTDB" 'PRAGMA user_version = 999'
"$CKPTDB_BIN" ls
echo "status $?"
echo '--- where this has changed and the version has not, old catalogs keep what was: count CATALOG_VERSION up'
echo "$("$CKPTDB_BIN" -d fresh.db 'PRAGMA user_version') $(cksum <fresh)"
