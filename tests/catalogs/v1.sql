PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE names (
  id    INTEGER PRIMARY KEY,
  name  TEXT NOT NULL
) STRICT;
INSERT INTO names VALUES(1,'body.bias');
INSERT INTO names VALUES(2,'body.weight');
INSERT INTO names VALUES(3,'emb.weight');
CREATE TABLE layouts (
  id          INTEGER PRIMARY KEY,
  logical     BLOB NOT NULL UNIQUE,
  placement   BLOB NOT NULL,
  tensors     INTEGER NOT NULL,
  parameters  INTEGER NOT NULL,
  nbytes      INTEGER NOT NULL,
  stored      INTEGER           -- NULL: not known without a look at every chunk
) STRICT;
INSERT INTO layouts VALUES(1,X'8314ec38066eaa871a47811ed6141296',X'a45ae733ecad2b3f976e2bb97dd8d762',3,108,432,432);
CREATE TABLE layout_tensors (
  id        INTEGER PRIMARY KEY,
  name      INTEGER NOT NULL,   -- names.id
  dtype     TEXT,               -- NULL: not known (names-only checkpoints)
  shape     TEXT,               -- JSON; NULL: not known
  elements  INTEGER,
  nbytes    INTEGER,            -- logical bytes; NULL: the dtype has no size
  module    INTEGER,            -- so many characters of the name are a module of it alone
  storage   INTEGER NOT NULL,   -- 0 none, 1 range, 2 pieces, 3 chunks, 4 inline
  file      INTEGER,            -- position in the checkpoint's files
  start     INTEGER,            -- of a range, relative to the file's base
  stored    INTEGER,
  codec     TEXT,               -- steps from stored bytes to elements (codec.h)
  strides   TEXT,               -- JSON, in elements; NULL: C order
  extents   BLOB                -- packed list (tensor.h); NULL for a range
) STRICT;
INSERT INTO layout_tensors VALUES(16777216,1,'float32','[6]',6,24,NULL,1,0,0,24,NULL,NULL,NULL);
INSERT INTO layout_tensors VALUES(16777217,2,'float32','[6,6]',36,144,NULL,1,0,24,144,NULL,NULL,NULL);
INSERT INTO layout_tensors VALUES(16777218,3,'float32','[11,6]',66,264,3,1,0,168,264,NULL,NULL,NULL);
CREATE TABLE layout_nodes (
  id      INTEGER PRIMARY KEY,
  name    INTEGER NOT NULL,     -- names.id
  kind    TEXT NOT NULL,        -- 'null', 'dict', 'list'
  before  INTEGER NOT NULL
) STRICT;
CREATE TABLE layout_modules (
  id          INTEGER PRIMARY KEY,
  name        INTEGER NOT NULL,   -- names.id
  length      INTEGER NOT NULL,
  depth       INTEGER NOT NULL,
  tensors     INTEGER NOT NULL,
  parameters  INTEGER NOT NULL,
  nbytes      INTEGER NOT NULL
) STRICT;
INSERT INTO layout_modules VALUES(16777216,1,4,1,2,42,168);
CREATE TABLE layout_dtypes (
  id          INTEGER PRIMARY KEY,
  dtype       TEXT,
  tensors     INTEGER NOT NULL,
  parameters  INTEGER NOT NULL,
  nbytes      INTEGER NOT NULL
) STRICT;
INSERT INTO layout_dtypes VALUES(16777216,'float32',3,108,432);
CREATE TABLE metas (
  id      INTEGER PRIMARY KEY,
  digest  BLOB NOT NULL UNIQUE
) STRICT;
INSERT INTO metas VALUES(1,X'de30a799508b07a43f1c6a7b945c55d6');
CREATE TABLE meta_facts (
  id     INTEGER PRIMARY KEY,   -- metas.id << 24 | k
  key    TEXT NOT NULL,
  value  ANY
) STRICT;
INSERT INTO meta_facts VALUES(16777216,'head.weight','emb.weight');
CREATE TABLE checkpoints (
  id         INTEGER PRIMARY KEY,
  path       TEXT NOT NULL UNIQUE,
  format     TEXT NOT NULL,
  run        TEXT,
  step       INTEGER,
  item       TEXT,
  layout     INTEGER NOT NULL REFERENCES layouts(id),
  meta       INTEGER REFERENCES metas(id),
  placed     INTEGER NOT NULL,  -- 1: its tensors lie as placements says
  stored     INTEGER,
  files      INTEGER NOT NULL,
  mtime_ns   INTEGER,           -- of its newest file
  imported   INTEGER NOT NULL   -- seconds since 1970
) STRICT;
INSERT INTO checkpoints VALUES(1,'WORK/models/again.safetensors','safetensors',NULL,NULL,NULL,1,1,0,432,1,1795377402662268407,1795377402);
INSERT INTO checkpoints VALUES(2,'WORK/models/tied.safetensors','safetensors',NULL,NULL,NULL,1,1,0,432,1,1795377402619799713,1795377402);
CREATE TABLE placements (
  id       INTEGER PRIMARY KEY,
  storage  INTEGER NOT NULL,
  file     INTEGER,
  start    INTEGER,
  stored   INTEGER,
  codec    TEXT,
  strides  TEXT,
  extents  BLOB
) STRICT;
CREATE TABLE checksums (
  id    INTEGER PRIMARY KEY REFERENCES checkpoints(id) ON DELETE CASCADE,
  kind  TEXT NOT NULL,          -- 'crc32c', 'crc32'
  sums  BLOB NOT NULL
) STRICT;
CREATE TABLE files (
  id        INTEGER PRIMARY KEY,
  path      TEXT NOT NULL,
  size      INTEGER,            -- NULL: missing when the checkpoint was indexed
  mtime_ns  INTEGER,
  inode     INTEGER,
  device    INTEGER,
  role      TEXT NOT NULL,      -- 'data', 'index', 'config', ...
  base      INTEGER NOT NULL    -- added to the offsets of tensors in this file
) STRICT;
INSERT INTO files VALUES(16777216,'WORK/models/again.safetensors',688,1795377402662268407,3188362,65024,'data',256);
INSERT INTO files VALUES(33554432,'WORK/models/tied.safetensors',688,1795377402619799713,3188361,65024,'data',256);
CREATE TABLE passed (
  path      TEXT PRIMARY KEY,
  size      INTEGER NOT NULL,
  mtime_ns  INTEGER NOT NULL,
  inode     INTEGER NOT NULL,
  device    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE issues (
  id          INTEGER PRIMARY KEY,
  checkpoint  INTEGER REFERENCES checkpoints(id) ON DELETE CASCADE,
  path        TEXT NOT NULL,
  offset      INTEGER,
  severity    TEXT NOT NULL CHECK (severity IN ('error', 'warning')),
  code        TEXT NOT NULL,
  message     TEXT NOT NULL
) STRICT;
CREATE TABLE ruleset (
  name     TEXT PRIMARY KEY,
  dialect  TEXT NOT NULL,
  options  TEXT NOT NULL DEFAULT '{}',   -- JSON, as are the columns so marked below
  shipped  INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO ruleset VALUES('own','t5x-translator','{}',0);
CREATE TABLE rule (
  ruleset      TEXT NOT NULL REFERENCES ruleset(name) ON DELETE CASCADE ON UPDATE CASCADE,
  ord          INTEGER NOT NULL,
  pattern      TEXT NOT NULL,
  replacement  TEXT,
  compute      TEXT,            -- JSON
  ops          TEXT,            -- JSON
  PRIMARY KEY (ruleset, ord)
) STRICT;
INSERT INTO rule VALUES('own',1,'target/(.*)','\1',NULL,NULL);
INSERT INTO rule VALUES('own',2,'layers_(\d+)/w','l\1/weight',NULL,NULL);
INSERT INTO rule VALUES('own',3,'layers_.*/n',NULL,NULL,NULL);
INSERT INTO rule VALUES('own',4,'(.*)','x/\1',NULL,NULL);
CREATE TABLE optimizer (
  name  TEXT PRIMARY KEY,
  spec  TEXT NOT NULL           -- JSON
) STRICT;
INSERT INTO optimizer VALUES('mine','{"adafactor":{}}');
CREATE INDEX issues_by_path ON issues(path);
CREATE VIEW checkpoint AS
SELECT c.id, c.path, c.format, c.run, c.step, c.item,
       l.tensors, l.parameters, l.nbytes, c.stored, c.files,
       strftime('%Y-%m-%d %H:%M:%S', c.mtime_ns / 1000000000, 'unixepoch') AS mtime,
       strftime('%Y-%m-%d %H:%M:%S', c.imported, 'unixepoch') AS imported
FROM checkpoints c JOIN layouts l ON l.id = c.layout;
CREATE VIEW tensor AS
SELECT (c.id << 24) + (t.id & 16777215) AS id,
       c.id AS checkpoint_id,
       c.path AS checkpoint,
       t.id & 16777215 AS ord,
       n.name,
       t.dtype,
       t.shape,
       iif(t.shape = '[]', 0, length(t.shape) - length(replace(t.shape, ',', '')) + 1)
         AS rank,
       t.elements,
       t.nbytes,
       iif(c.placed,
           (SELECT p.stored FROM placements p WHERE p.id = (c.id << 24) + (t.id & 16777215)),
           t.stored) AS stored,
       CASE iif(c.placed,
                (SELECT p.storage FROM placements p
                 WHERE p.id = (c.id << 24) + (t.id & 16777215)),
                t.storage)
         WHEN 1 THEN 'range' WHEN 2 THEN 'pieces' WHEN 3 THEN 'chunks'
         WHEN 4 THEN 'inline' ELSE 'none' END AS storage,
       (SELECT f.path FROM files f
        WHERE f.id = (c.id << 24) + iif(c.placed,
            (SELECT p.file FROM placements p WHERE p.id = (c.id << 24) + (t.id & 16777215)),
            t.file)) AS file,
       iif(c.placed,
           (SELECT p.start + f.base FROM placements p
            JOIN files f ON f.id = (c.id << 24) + p.file
            WHERE p.id = (c.id << 24) + (t.id & 16777215) AND p.storage = 1),
           iif(t.storage = 1,
               t.start + (SELECT f.base FROM files f WHERE f.id = (c.id << 24) + t.file),
               NULL)) AS offset
FROM checkpoints c
JOIN layout_tensors t
  ON t.id BETWEEN c.layout << 24 AND (c.layout << 24) + 16777215
 AND c.layout = t.id >> 24
JOIN names n ON n.id = t.name;
CREATE VIEW file AS
SELECT f.id, c.id AS checkpoint_id, f.path, f.size, f.mtime_ns, f.inode, f.device, f.role
FROM checkpoints c
JOIN files f
  ON f.id BETWEEN c.id << 24 AND (c.id << 24) + 16777215
 AND c.id = f.id >> 24;
CREATE VIEW metadata AS
SELECT c.id AS checkpoint_id, m.key, m.value
FROM checkpoints c
JOIN meta_facts m ON m.id BETWEEN c.meta << 24 AND (c.meta << 24) + 16777215;
CREATE VIEW node AS
SELECT c.id AS checkpoint_id, n.name, x.kind
FROM checkpoints c
JOIN layout_nodes x
  ON x.id BETWEEN c.layout << 24 AND (c.layout << 24) + 16777215
 AND c.layout = x.id >> 24
JOIN names n ON n.id = x.name;
CREATE VIEW issue AS
SELECT id, checkpoint AS checkpoint_id, path, offset, severity, code, message
FROM issues;
CREATE VIEW by_dtype AS
SELECT c.id AS checkpoint_id, d.dtype, d.tensors, d.parameters, d.nbytes
FROM checkpoints c
JOIN layout_dtypes d
  ON d.id BETWEEN c.layout << 24 AND (c.layout << 24) + 16777215
 AND c.layout = d.id >> 24;
CREATE VIEW by_module AS
SELECT c.id AS checkpoint_id, substr(n.name, 1, m.length) AS module, m.depth,
       m.tensors, m.parameters, m.nbytes
FROM checkpoints c
JOIN layout_modules m
  ON m.id BETWEEN c.layout << 24 AND (c.layout << 24) + 16777215
 AND c.layout = m.id >> 24
JOIN names n ON n.id = m.name
UNION ALL
SELECT c.id,
       substr(n.name, 1, t.module),
       CAST(t.module + 1 - length(replace(substr(n.name, 1, t.module),
                                          substr(n.name, t.module + 1, 1), '')) AS INTEGER),
       CAST(1 AS INTEGER),
       CAST(iif(t.dtype IN ('string', 'variant', 'resource'), 0, coalesce(t.elements, 0))
            AS INTEGER),
       CAST(coalesce(t.nbytes, 0) AS INTEGER)
FROM checkpoints c
JOIN layout_tensors t
  ON t.id BETWEEN c.layout << 24 AND (c.layout << 24) + 16777215
 AND c.layout = t.id >> 24
JOIN names n ON n.id = t.name
WHERE t.module;
CREATE VIEW by_name AS
SELECT n.name, t.dtype, t.shape, t.elements, t.nbytes, l.checkpoints
FROM (SELECT layout, count(*) AS checkpoints FROM checkpoints GROUP BY layout) l
JOIN layout_tensors t
  ON t.id BETWEEN l.layout << 24 AND (l.layout << 24) + 16777215
JOIN names n ON n.id = t.name;
CREATE VIEW largest AS
SELECT c.id AS checkpoint_id, n.name, t.dtype, t.shape, t.nbytes
FROM checkpoints c
JOIN layout_tensors t
  ON t.id BETWEEN c.layout << 24 AND (c.layout << 24) + 16777215
 AND c.layout = t.id >> 24
JOIN names n ON n.id = t.name
ORDER BY t.nbytes DESC;
CREATE VIEW extent AS
SELECT tensor_id, ordinal, file, "offset", stored, codec, origin, shape
FROM tensor_extents;
CREATE VIEW leaf AS
SELECT c.id AS checkpoint_id,
       ((t.id & 16777215) << 25) + (1 << 24) AS place,
       n.name,
       (c.id << 24) + (t.id & 16777215) AS tensor_id,
       t.dtype,
       t.shape
FROM checkpoints c
JOIN layout_tensors t
  ON t.id BETWEEN c.layout << 24 AND (c.layout << 24) + 16777215
 AND c.layout = t.id >> 24
JOIN names n ON n.id = t.name
UNION ALL
SELECT c.id, (x.before << 25) + (x.id & 16777215), n.name, NULL, CAST(NULL AS TEXT),
       CAST(NULL AS TEXT)
FROM checkpoints c
JOIN layout_nodes x
  ON x.id BETWEEN c.layout << 24 AND (c.layout << 24) + 16777215
 AND c.layout = x.id >> 24
JOIN names n ON n.id = x.name
WHERE +x.kind = 'null';
CREATE TRIGGER ruleset_checked BEFORE INSERT ON ruleset WHEN NOT json_valid(new.options)
BEGIN
  SELECT RAISE(ABORT, 'ruleset.options: no valid JSON');
END;
CREATE TRIGGER ruleset_rechecked BEFORE UPDATE OF options ON ruleset
WHEN NOT json_valid(new.options)
BEGIN
  SELECT RAISE(ABORT, 'ruleset.options: no valid JSON');
END;
CREATE TRIGGER rule_checked BEFORE INSERT ON rule
WHEN NOT json_valid(coalesce(new.compute, '[]')) OR NOT json_valid(coalesce(new.ops, '[]'))
BEGIN
  SELECT RAISE(ABORT, 'rule.compute, rule.ops: no valid JSON');
END;
CREATE TRIGGER rule_rechecked BEFORE UPDATE OF compute, ops ON rule
WHEN NOT json_valid(coalesce(new.compute, '[]')) OR NOT json_valid(coalesce(new.ops, '[]'))
BEGIN
  SELECT RAISE(ABORT, 'rule.compute, rule.ops: no valid JSON');
END;
CREATE TRIGGER optimizer_checked BEFORE INSERT ON optimizer WHEN NOT json_valid(new.spec)
BEGIN
  SELECT RAISE(ABORT, 'optimizer.spec: no valid JSON');
END;
CREATE TRIGGER optimizer_rechecked BEFORE UPDATE OF spec ON optimizer
WHEN NOT json_valid(new.spec)
BEGIN
  SELECT RAISE(ABORT, 'optimizer.spec: no valid JSON');
END;
CREATE TRIGGER ruleset_deleted AFTER DELETE ON ruleset BEGIN
  DELETE FROM rule WHERE ruleset = old.name;
END;
CREATE TRIGGER ruleset_renamed AFTER UPDATE OF name ON ruleset BEGIN
  UPDATE rule SET ruleset = new.name WHERE ruleset = old.name;
END;
CREATE TRIGGER ruleset_edited AFTER UPDATE OF dialect, options ON ruleset BEGIN
  UPDATE ruleset SET shipped = 0 WHERE name = new.name;
END;
CREATE TRIGGER rule_inserted AFTER INSERT ON rule BEGIN
  UPDATE ruleset SET shipped = 0 WHERE name = new.ruleset AND shipped;
END;
CREATE TRIGGER rule_updated AFTER UPDATE ON rule BEGIN
  UPDATE ruleset SET shipped = 0 WHERE name IN (old.ruleset, new.ruleset) AND shipped;
END;
CREATE TRIGGER rule_deleted AFTER DELETE ON rule BEGIN
  UPDATE ruleset SET shipped = 0 WHERE name = old.ruleset AND shipped;
END;
CREATE VIEW translation AS
SELECT r.name AS ruleset,
       x.checkpoint_id,
       x.ord,
       iif(x.is_tensor, (x.checkpoint_id << 24) + x.ord, NULL) AS tensor_id,
       x.old_name,
       x.new_name,
       x.dtype,
       x.shape,
       x.ops,
       x.rule,
       x.status,
       x.error,
       CASE WHEN x.status = 'ok' AND NOT x.wins
            THEN 'hidden by a later name that becomes the same' END AS note,
       x.wins
FROM ruleset r
JOIN translation_rows(r.name) x
WHERE r.dialect = 't5x-translator';
CREATE VIEW conversion AS
SELECT r.name AS ruleset,
       c.id AS checkpoint_id,
       (x.place >> 25) AS ord,
       x.new_name,
       x.old_name,
       x.tensor_id,
       x.dtype,
       x.shape,
       x.part,
       x.parts,
       x.ops,
       x.recipe,
       x.rule,
       x.status,
       x.error,
       x.note
FROM ruleset r
JOIN checkpoints c
JOIN conversion_rows(r.name, c.id) x
WHERE r.dialect = 'convert';
CREATE VIEW assignment AS
SELECT r.name AS ruleset,
       s.id AS source_id,
       t.id AS target_id,
       x.new_name,
       x.old_name,
       x.tensor_id,
       x.dtype,
       x.shape,
       x.rule,
       x.status,
       x.error,
       x.note
FROM ruleset r
JOIN checkpoints s
JOIN checkpoints t
JOIN assignment_rows(r.name, s.id, t.id) x
WHERE r.dialect IN ('t5x-assignment', 'orbax', 'kauldron');
CREATE VIEW restore AS
SELECT r.name AS ruleset,
       c.id AS checkpoint_id,
       m.target_id,
       m.strict,
       x.ord,
       x.name,
       x.old_name,
       x.tensor_id,
       x.origin,
       x.dtype,
       x.shape,
       x.status,
       x.error,
       x.note
FROM ruleset r
JOIN checkpoints c
JOIN (SELECT NULL AS target_id, 1 AS strict
      UNION ALL SELECT id, 1 FROM checkpoints
      UNION ALL SELECT id, 0 FROM checkpoints) m
JOIN restore_rows(r.name, c.id, ifnull(m.target_id, 0), m.strict) x
WHERE r.dialect = 't5x-translator';
CREATE VIEW optimizer_state AS
SELECT o.name AS optimizer,
       c.id AS checkpoint_id,
       x.name,
       x.shape,
       x.dtype,
       x.axes,
       x.error
FROM optimizer o
JOIN checkpoints c
JOIN optimizer_state_rows(o.spec, c.id) x;
CREATE UNIQUE INDEX names_by_name ON names(name);
CREATE INDEX layout_tensors_by_name ON layout_tensors(name);
CREATE INDEX layout_tensors_by_size ON layout_tensors(nbytes);
CREATE INDEX checkpoints_by_layout ON checkpoints(layout);
CREATE INDEX checkpoints_by_run ON checkpoints(run, step);
CREATE INDEX issues_by_checkpoint ON issues(checkpoint);
COMMIT;
PRAGMA user_version=1; PRAGMA application_id=1667985524;
