# Catalogs of older programs (tests/catalogs: what `.dump` of sqlite3 gave of two files, rule
# sets, optimizers and what was computed), and what an older program indexed.
mkdir models
cp "$TESTS/fixtures/real/safetensors/tied/data/tied.safetensors" models/tied.safetensors
cp models/tied.safetensors models/again.safetensors
"$CKPTDB_BIN" -d fresh.db import models 2>/dev/null
schema="SELECT type, name, iif(type = 'table', '', sql) FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY 1, 2"
"$CKPTDB_BIN" -d fresh.db "$schema" >fresh
answers="SELECT name, state, tensors, nbytes, hash FROM checkpoint;
  SELECT checkpoint_id, name, dtype, shape, offset FROM tensor ORDER BY 1, 2;
  SELECT count(*), count(DISTINCT hash) FROM content; SELECT count(*), sum(wasted) FROM duplicate;
  SELECT count(*), sum(elements) FROM stats; SELECT name, findings FROM verification JOIN checkpoint c ON c.id = checkpoint_id;
  SELECT name FROM ruleset WHERE NOT shipped; SELECT name FROM optimizer; SELECT count(*) FROM translation WHERE ruleset = 'own';
  SELECT tensors, nbytes FROM shared"
functions() { # in another program, with the extension
    bash "$TESTS/plain_sqlite.sh" old.db "SELECT tensor_name(1 << 24)" "SELECT name, shape FROM tensors_of(1)" "SELECT name_a, name_b FROM diff(1, 2)"
}
for version in 1 3 4; do
    echo "--- version $version"
    sed "s#WORK#$PWD#g" "$TESTS/catalogs/v$version.sql" | sqlite3 old.db
    functions >extension 2>&1
    "$CKPTDB_BIN" -d old.db --readonly "$answers" >unwritten
    "$CKPTDB_BIN" -d old.db 'CREATE VIEW mine AS SELECT 1; DROP VIEW mine' "$answers" >written
    cmp unwritten written && tail -n +3 unwritten
    [ $version = 1 ] || { functions | cmp - extension && cat extension; } # (had no hashes: they say so)
    "$CKPTDB_BIN" -d old.db 'PRAGMA integrity_check; PRAGMA foreign_key_check'
    "$CKPTDB_BIN" -d old.db "$schema" | diff fresh - && echo 'the schema of a new one'
    rm old.db
done
echo "--- a user's own view of a name that was ours"
sed "s#WORK#$PWD#g" "$TESTS/catalogs/v1.sql" | sqlite3 old.db
sqlite3 old.db 'CREATE VIEW copy AS SELECT 7'
"$CKPTDB_BIN" -d old.db 'SELECT * FROM copy'
echo '--- what another program indexed is read anew; what was computed of the same tensors stays'
"$CKPTDB_BIN" import models
"$CKPTDB_BIN" hash >/dev/null
"$CKPTDB_BIN" stats tied.safetensors >/dev/null
"$CKPTDB_BIN" "UPDATE looked SET looker = 'another'"
"$CKPTDB_BIN" import models
"$CKPTDB_BIN" 'SELECT count(hash), (SELECT count(*) FROM stats), (SELECT count(*) FROM outdated) FROM checkpoint'
"$CKPTDB_BIN" "UPDATE looked SET looker = 'another'; UPDATE files SET base = base + 4 WHERE path LIKE '%again%'"
mkdir other
"$CKPTDB_BIN" import other
"$CKPTDB_BIN" import --dry-run models
"$CKPTDB_BIN" import models
"$CKPTDB_BIN" 'SELECT name, hash IS NOT NULL FROM checkpoint; SELECT count(*) FROM outdated'
"$CKPTDB_BIN" import models
"$CKPTDB_BIN" hash | awk '{ print $1 }' | uniq -c | awk '{ print $1 }'
echo '--- one that can no longer be read: tried again by every import'
"$CKPTDB_BIN" "UPDATE looked SET looker = 'another'"
head -c 60 models/tied.safetensors >models/again.safetensors
"$CKPTDB_BIN" import models 2>&1 | tail -1
"$CKPTDB_BIN" 'SELECT name, state, hash IS NOT NULL FROM checkpoint; SELECT count(*) FROM outdated'
cp models/tied.safetensors models/again.safetensors
"$CKPTDB_BIN" import models
"$CKPTDB_BIN" 'SELECT name, state FROM checkpoint; SELECT count(*) FROM outdated'
echo '--- of a newer one'
"$CKPTDB_BIN" 'PRAGMA user_version = 999'
"$CKPTDB_BIN" ls
echo "status $?"
echo '--- where this has changed and the version has not, old catalogs keep what was: count CATALOG_VERSION up'
echo "$("$CKPTDB_BIN" -d fresh.db 'PRAGMA user_version') $(cksum <fresh)"
