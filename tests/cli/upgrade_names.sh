# Until version 7 a catalog had tensor names as numbers of a table of names: such a one is read as it is,
# and made anew by the first command that writes.
F=$TESTS/fixtures
# Two that are large enough for digests of their blocks.
large() { # FILE, the first number that is left out
    seq 1500 | awk -v out="$2" 'BEGIN { printf "{\"ckptdb\": \"names\", \"tensors\": {" }
        $1 != out { printf "%s\"layers.%d.%d\": {\"dtype\": \"int8\", \"shape\": [%d]}", comma, $1 / 9, $1, $1 % 5; comma = ", " }
        END { print "}}" }' >"$1"
}
large large_a.json 0
large large_b.json 777
"$CKPTDB_BIN" import large_a.json large_b.json >/dev/null 2>&1 # their ids are 1 and 2, wherever they lie
"$CKPTDB_BIN" import "$F/real" "$F/safetensors" >/dev/null 2>&1
blocks() { "$CKPTDB_BIN" -d "$1" "SELECT id, length(blocks) / 20 BETWEEN 12 AND 48, hex(blocks) FROM layout_blocks ORDER BY id"; }
blocks "$CKPTDB" | cut -f 2
blocks "$CKPTDB" >blocks.txt
old_form() {
    "$CKPTDB_BIN" -d "$1" -f - <<'END2'
PRAGMA legacy_alter_table = ON;
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
INSERT INTO names(name) SELECT DISTINCT name FROM (SELECT name FROM layout_tensors UNION ALL SELECT name FROM layout_nodes);
CREATE UNIQUE INDEX names_by_name ON names(name);
DROP TABLE layout_blocks;
DROP INDEX layout_tensors_by_name;
DROP INDEX layout_tensors_by_size;
ALTER TABLE layout_tensors RENAME TO t;
CREATE TABLE layout_tensors (id INTEGER PRIMARY KEY, name INTEGER NOT NULL, dtype TEXT, shape TEXT, elements INTEGER,
  nbytes INTEGER, module INTEGER, storage INTEGER NOT NULL, file INTEGER, start INTEGER, stored INTEGER, codec TEXT,
  strides TEXT, extents BLOB) STRICT;
INSERT INTO layout_tensors SELECT t.id, n.id, dtype, shape, elements, nbytes, module, storage, file, start, stored,
  codec, strides, extents FROM t JOIN names n USING (name);
ALTER TABLE layout_nodes RENAME TO x;
CREATE TABLE layout_nodes (id INTEGER PRIMARY KEY, name INTEGER NOT NULL, kind TEXT NOT NULL, before INTEGER NOT NULL) STRICT;
INSERT INTO layout_nodes SELECT x.id, n.id, kind, before FROM x JOIN names n USING (name);
ALTER TABLE layout_modules RENAME TO m;
CREATE TABLE layout_modules (id INTEGER PRIMARY KEY, name INTEGER NOT NULL, length INTEGER NOT NULL, depth INTEGER NOT NULL,
  tensors INTEGER NOT NULL, parameters INTEGER NOT NULL, nbytes INTEGER NOT NULL) STRICT;
INSERT INTO layout_modules SELECT m.id, n.id, length, depth, tensors, m.parameters, m.nbytes FROM m
  JOIN t ON t.id = (m.id >> 24 << 24) + m.tensor JOIN names n USING (name);
DROP TABLE t;
DROP TABLE x;
DROP TABLE m;
CREATE INDEX layout_tensors_by_name ON layout_tensors(name);
CREATE INDEX layout_tensors_by_size ON layout_tensors(nbytes);
PRAGMA user_version = 6;
END2
}
# Every view with names or modules in it, all rows.
views() {
    for view in tensor node leaf by_module by_name by_dtype by_folded_module; do
        "$CKPTDB_BIN" "$@" --csv "SELECT * FROM $view" | sort >"$view.rows"
        [ -s "$view.rows" ] || echo "$view is empty"
        cat "$view.rows"
    done
    "$CKPTDB_BIN" "$@" "SELECT checkpoint, name FROM tensor WHERE name = 'lm_head.weight' ORDER BY 1"
    "$CKPTDB_BIN" "$@" diff data@1000000 data@1000500 --all
    "$CKPTDB_BIN" "$@" diff llama_tiny data@1000500 --all
    "$CKPTDB_BIN" "$@" diff large_a.json large_b.json
    "$CKPTDB_BIN" "$@" tree llama_tiny
    "$CKPTDB_BIN" "$@" show data@1000000 global_step
    "$CKPTDB_BIN" "$@" map check t5_to_t5x data@1000000
}
views >new.txt 2>&1
cp "$CKPTDB" old.db
old_form old.db
"$CKPTDB_BIN" -d old.db --readonly "SELECT user_version, (SELECT count(*) > 100 FROM names) FROM pragma_user_version"
before=$(sha256sum old.db)
views -d old.db --readonly 2>&1 | cmp - new.txt && echo 'read only: the same'
"$CKPTDB_BIN" -d old.db --readonly verify --quick >quick.txt 2>&1
"$CKPTDB_BIN" --readonly verify --quick 2>&1 | cmp - quick.txt && wc -l <quick.txt
"$CKPTDB_BIN" -d old.db --readonly verify >quick.txt 2>&1
"$CKPTDB_BIN" --readonly verify 2>&1 | cmp - quick.txt && wc -l <quick.txt
[ "$before" = "$(sha256sum old.db)" ] && echo 'the catalog is as it was'
echo '-- by the functions of the extension'
extension() { # (the views in old.db are not of an old program: those are in upgrade.sh)
    bash "$TESTS/plain_sqlite.sh" -csv "$1" "SELECT * FROM diff(1, 2) ORDER BY 2, 3" \
        "SELECT count(*), sum(different) FROM (SELECT 1 AS different FROM diff(1, 2) WHERE different = 1)" "SELECT tensor_name(1 << 24)"
}
command -v sqlite3 >/dev/null || { echo "SKIP: there is no sqlite3"; exit 77; }
extension "$CKPTDB" >functions 2>&1
extension old.db 2>&1 | cmp - functions && head -2 functions
[ "$before" = "$(sha256sum old.db)" ] && echo 'the catalog is as it was'
echo '-- renewed; what a user made stays'
cp old.db bare.db
"$CKPTDB_BIN" -d old.db --readonly "SELECT name FROM sqlite_schema WHERE name LIKE 'names%'"
sqlite3 old.db "CREATE VIEW mine AS SELECT count(*) FROM names; CREATE VIEW other AS SELECT count(*) > 100 FROM layout_tensors"
mkdir empty
"$CKPTDB_BIN" -d old.db import empty
"$CKPTDB_BIN" -d old.db "SELECT user_version, (SELECT * FROM other) FROM pragma_user_version; PRAGMA integrity_check"
views -d old.db 2>&1 | cmp - new.txt && echo 'the same'
blocks old.db | cmp - blocks.txt && echo 'the digests of blocks are those of an import'
schema() { "$CKPTDB_BIN" -d "$1" "SELECT name, sql FROM sqlite_schema WHERE name NOT IN ('mine', 'other') ORDER BY 1"; }
schema "$CKPTDB" >new.sql
schema old.db | cmp - new.sql && echo 'the schema, too'
"$CKPTDB_BIN" -d old.db "SELECT * FROM mine"
echo '-- of a first import that was killed: without its indexes'
sqlite3 bare.db "DROP INDEX names_by_name; DROP INDEX layout_tensors_by_name; DROP INDEX layout_tensors_by_size;
    DROP INDEX checkpoints_by_layout; DROP INDEX checkpoints_by_run; DROP INDEX issues_by_checkpoint"
views -d bare.db --readonly 2>&1 | cmp - new.txt && echo 'read only: the same'
"$CKPTDB_BIN" -d bare.db import empty
views -d bare.db 2>&1 | cmp - new.txt && echo 'the same'
schema bare.db | cmp - new.sql && echo 'the schema, too'
