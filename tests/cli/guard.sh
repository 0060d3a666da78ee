# Storage is not for SQL to write: through the program, and what is said of a catalog that another program wrote to.
mkdir models
cp "$TESTS/fixtures/real/safetensors/tied/data/tied.safetensors" models/a.safetensors
cp models/a.safetensors models/b.safetensors
"$CKPTDB_BIN" import models
"$CKPTDB_BIN" hash >/dev/null
before=$(sqlite3 "$CKPTDB" .dump | grep -v 'INTO _page_sums' | sha256sum)
try() { # STATEMENT...
    for each; do
        echo "$ $each"
        "$CKPTDB_BIN" -c "$each" 2>&1
        status=$?
        [ $status = 0 ] || echo "status $status"
    done
}
echo '--- refused'
try 'DELETE FROM _checkpoints' 'DELETE FROM checkpoint' 'DELETE FROM main.Checkpoint WHERE id = 1' \
    "UPDATE _labels SET name = 'x'" "INSERT INTO _layouts(id) VALUES (7)" 'REPLACE INTO _looked VALUES (1)' \
    'WITH x AS (SELECT 1) DELETE FROM _files' 'DELETE FROM _labels RETURNING id' \
    "INSERT INTO _issues(path, severity, code, message) VALUES ('', '', '', '') ON CONFLICT DO NOTHING" \
    'UPDATE tensor SET name = 1' "INSERT INTO checkpoint(name) VALUES ('x')" \
    'DROP VIEW checkpoint' 'DROP TABLE rule' 'DROP TABLE known_class' 'DROP TABLE _labels' 'DROP TRIGGER _rule_updated' 'DROP INDEX _labels_by_name' \
    'ALTER TABLE _labels ADD COLUMN x' 'ALTER TABLE rule RENAME TO mine' 'ALTER TABLE ruleset DROP COLUMN shipped' \
    'CREATE TABLE _mine(x)' 'CREATE VIEW _mine AS SELECT 1' 'CREATE TEMP TABLE _labels(id, name)' 'CREATE TEMP VIEW _x AS SELECT 1' \
    'CREATE TABLE IF NOT EXISTS _labels(x)' 'CREATE VIRTUAL TABLE _x USING fts5(a)' 'CREATE INDEX mine ON _labels(state)' \
    'CREATE INDEX _mine ON rule(pattern)' 'CREATE TRIGGER mine AFTER DELETE ON _labels BEGIN SELECT 1; END' \
    'CREATE TRIGGER mine INSTEAD OF DELETE ON tensor BEGIN SELECT 1; END' \
    'CREATE TEMP TRIGGER mine AFTER DELETE ON _labels BEGIN SELECT 1; END' \
    'PRAGMA writable_schema = ON' 'PRAGMA Main.user_version = 3' 'PRAGMA application_id(3)' 'PRAGMA schema_version = 3' \
    'EXPLAIN DELETE FROM _labels' 'BEGIN; DELETE FROM _labels; COMMIT' \
    'CREATE TABLE mine AS SELECT 1; CREATE TRIGGER t AFTER INSERT ON mine BEGIN DELETE FROM _labels; END; INSERT INTO mine VALUES (2)'
"$CKPTDB_BIN" 'DROP TRIGGER t; DROP TABLE mine'
printf 'SELECT 1;\nDELETE\nFROM _files;\n' | "$CKPTDB_BIN" -f - 2>&1
echo "status $?"
try ".read $(echo 'UPDATE _files SET size = 0' >write.sql; echo write.sql)"
"$CKPTDB_BIN" export --sql 'DELETE FROM _labels RETURNING id AS tensor_id, name AS new_name' out.npz 2>&1
[ "$before" = "$(sqlite3 "$CKPTDB" .dump | grep -v 'INTO _page_sums' | sha256sum)" ] && echo 'the catalog is as it was'
echo '--- in another program'
sqlite3 "$CKPTDB" 'DELETE FROM checkpoint' 2>&1
echo '--- not refused'
sqlite3 other.db 'CREATE TABLE x(a)'
try "INSERT INTO ruleset(name, dialect) VALUES ('own', 't5x-translator'); INSERT INTO rule(ruleset, ord, pattern) VALUES ('own', 1, 'x')" \
    "UPDATE rule SET pattern = 'y' WHERE ruleset = 'own'; UPDATE ruleset SET name = 'owned' WHERE name = 'own'" \
    "SELECT ruleset, pattern FROM rule WHERE ruleset = 'owned'; DELETE FROM ruleset WHERE name = 'owned'" \
    "INSERT INTO optimizer VALUES ('mine', '{}'); DELETE FROM optimizer WHERE name = 'mine'" \
    "INSERT INTO known_class VALUES (1, 'safe', 3); UPDATE known_class SET why = 4 WHERE name = 1; SELECT * FROM known_class WHERE why = 4" \
    'CREATE TABLE mine AS SELECT name, nbytes FROM tensor; CREATE INDEX mine_by_name ON mine(name); ALTER TABLE mine RENAME TO my' \
    'CREATE TRIGGER my_trigger AFTER DELETE ON my BEGIN UPDATE my SET nbytes = 0; END; DELETE FROM my WHERE rowid = 1; SELECT count(*) FROM my' \
    'CREATE VIEW my_view AS SELECT * FROM checkpoint; SELECT count(*) FROM my_view; DROP VIEW my_view' \
    'CREATE VIRTUAL TABLE words USING fts5(name); INSERT INTO words SELECT name FROM tensor; SELECT count(*) FROM words; DROP TABLE words' \
    'CREATE TEMP TABLE t(x); INSERT INTO t VALUES (1); CREATE TEMP VIEW v AS SELECT * FROM t; SELECT * FROM v; DROP VIEW v; DROP TABLE t' \
    "ATTACH 'other.db' AS other; CREATE TABLE other._x(a); INSERT INTO other._x VALUES (7); PRAGMA other.user_version = 7; SELECT * FROM other._x" \
    'PRAGMA user_version; PRAGMA integrity_check; ANALYZE; REINDEX' 'DROP TABLE my; DELETE FROM known_class WHERE name = 1; VACUUM' \
    'BEGIN; SAVEPOINT s; RELEASE s; COMMIT'
echo '--- views and triggers that are gone, or others, are made anew where the catalog is written'
sqlite3 "$CKPTDB" "DROP VIEW checkpoint; DROP TRIGGER _rule_updated; DROP VIEW node; CREATE VIEW node AS SELECT 7 AS seven"
"$CKPTDB_BIN" ls
echo "status $?"
"$CKPTDB_BIN" import models
"$CKPTDB_BIN" ls --columns name,tensors
"$CKPTDB_BIN" 'SELECT count(*) FROM node'
try 'PRAGMA integrity_check'
for text in "SELECT name FROM checkpoint" "SELECT name FROM sqlite_schema WHERE name = '_rule_updated'"; do "$CKPTDB_BIN" "$text"; done
sqlite3 "$CKPTDB" "DROP VIEW checkpoint; CREATE TABLE checkpoint(x)"
"$CKPTDB_BIN" -c 'SELECT 1'
echo "status $?"
sqlite3 "$CKPTDB" 'DROP TABLE checkpoint'
"$CKPTDB_BIN" -c 'SELECT count(*) FROM checkpoint'
echo '--- what cannot be mended is said'
cp "$CKPTDB" damaged.db
sqlite3 damaged.db 'DROP TABLE _labels'
for command in ls 'import models' '-c SELECT'; do
    # shellcheck disable=SC2086
    "$CKPTDB_BIN" -d damaged.db $command
    echo "status $?"
done
for what in 'DELETE FROM _checkpoints' 'DELETE FROM _checkpoints; DELETE FROM _labels' 'DELETE FROM _layouts' 'DELETE FROM _metas' 'DELETE FROM _passed'; do
    echo "-- $what"
    cp "$CKPTDB" damaged.db
    sqlite3 damaged.db "$what"
    cp models/a.safetensors models/c.safetensors
    "$CKPTDB_BIN" -d damaged.db import models
    echo "status $?"
    "$CKPTDB_BIN" -d damaged.db forget '*' 2>&1 | tail -1
done
