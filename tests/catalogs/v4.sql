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
INSERT INTO checkpoints VALUES(1,'WORK/models/again.safetensors','safetensors',NULL,NULL,NULL,1,1,0,432,1,1795377402662268407,1795377403);
INSERT INTO checkpoints VALUES(2,'WORK/models/tied.safetensors','safetensors',NULL,NULL,NULL,1,1,0,432,1,1795377402619799713,1795377403);
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
CREATE TABLE labels (
  id     INTEGER PRIMARY KEY,   -- checkpoints.id
  name   TEXT NOT NULL,
  state  TEXT                   -- 'complete', 'incomplete', 'damaged'; NULL: an older
                                -- program indexed it, the next import will tell
) STRICT;
INSERT INTO labels VALUES(1,'again.safetensors','complete');
INSERT INTO labels VALUES(2,'tied.safetensors','complete');
CREATE TABLE content_hashes (
  id    INTEGER PRIMARY KEY,
  hash  TEXT NOT NULL UNIQUE      -- 32 hex digits
) STRICT;
INSERT INTO content_hashes VALUES(1,'5cfbd59496772872d3c7d17997200d48');
INSERT INTO content_hashes VALUES(2,'bc1ff6db4de801ec78a70272c53bef4d');
INSERT INTO content_hashes VALUES(3,'4d176acd8dfc9f8d2e646068fa6f13b2');
CREATE TABLE tensor_hashes (
  id    INTEGER PRIMARY KEY,      -- tensor.id
  hash  INTEGER NOT NULL          -- content_hashes.id
) STRICT;
INSERT INTO tensor_hashes VALUES(16777216,1);
INSERT INTO tensor_hashes VALUES(16777217,2);
INSERT INTO tensor_hashes VALUES(16777218,3);
INSERT INTO tensor_hashes VALUES(33554432,1);
INSERT INTO tensor_hashes VALUES(33554433,2);
INSERT INTO tensor_hashes VALUES(33554434,3);
CREATE TABLE checkpoint_hashes (
  id    INTEGER PRIMARY KEY,      -- checkpoints.id
  hash  TEXT NOT NULL
) STRICT;
INSERT INTO checkpoint_hashes VALUES(1,'d76f088cf381f6c89a5613c3c233c728');
INSERT INTO checkpoint_hashes VALUES(2,'d76f088cf381f6c89a5613c3c233c728');
CREATE TABLE verifications (
  id     INTEGER PRIMARY KEY,     -- checkpoints.id
  at     INTEGER NOT NULL,        -- seconds since 1970
  quick  INTEGER NOT NULL,        -- 1: headers and indexes only
  open   INTEGER NOT NULL         -- 1: of a run that was interrupted, which goes on after these
) STRICT;
INSERT INTO verifications VALUES(1,1795377403,0,0);
INSERT INTO verifications VALUES(2,1795377403,0,0);
CREATE TABLE damages (
  checkpoint  INTEGER NOT NULL,   -- checkpoints.id
  name        TEXT,               -- of a tensor; NULL: of all, or of none
  file        TEXT,
  offset      INTEGER,
  code        TEXT NOT NULL,
  message     TEXT NOT NULL
) STRICT;
CREATE TABLE long_texts (
  id      INTEGER PRIMARY KEY,
  digest  BLOB NOT NULL UNIQUE,
  text    TEXT NOT NULL
) STRICT;
CREATE TABLE long_facts (
  id    INTEGER PRIMARY KEY,      -- meta_facts.id, whose own value is NULL
  text  INTEGER NOT NULL REFERENCES long_texts(id)
) STRICT;
CREATE TABLE statistics (
  id          INTEGER PRIMARY KEY,
  hash        INTEGER,            -- content_hashes.id, where it was known
  dtype       TEXT NOT NULL,
  elements    INTEGER NOT NULL,
  finite      INTEGER NOT NULL,   -- the rest are NaN and infinities
  zeros       INTEGER NOT NULL,
  nans        INTEGER NOT NULL,
  infs        INTEGER NOT NULL,
  subnormals  INTEGER NOT NULL,
  min         REAL,               -- of the finite ones, as all below; NULL: there is none
  max         REAL,
  mean        REAL,
  std         REAL,               -- divided by their number
  l2          REAL,
  histogram   TEXT                -- JSON: {"edges":[…],"counts":[…]}
) STRICT;
INSERT INTO statistics VALUES(1,1,'float32',6,6,0,0,0,0,-0.40049454569816589355,0.3828067481517791748,-0.088287029415369033813,0.27543433426189628532,0.70848573190975805413,'{"edges":[-0.4004945456981659,-0.25,0.0,0.25,0.3828067481517792],"counts":[2,2,1,1]}');
INSERT INTO statistics VALUES(2,2,'float32',36,36,0,0,0,0,-0.36848261952400207519,0.40371263027191162109,-0.041001749121480524085,0.23866541813843869523,1.4529706496911072299,'{"edges":[-0.3684826195240021,-0.34375,-0.3125,-0.28125,-0.25,-0.21875,-0.1875,-0.15625,-0.125,-0.09375,-0.0625,-0.03125,0.0,0.03125,0.0625,0.09375,0.125,0.15625,0.1875,0.21875,0.25,0.28125,0.3125,0.34375,0.375,0.4037126302719116],"counts":[4,1,2,4,0,1,2,4,1,0,0,0,1,2,2,1,1,3,1,2,0,0,1,2,1]}');
INSERT INTO statistics VALUES(3,3,'float32',66,66,0,0,0,0,-1.8875719308853149414,2.4363970756530761718,0.12368392481496839896,0.91338914620286737466,7.4881313699402527461,'{"edges":[-1.887571930885315,-1.75,-1.5,-1.25,-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,1.5,1.75,2.0,2.25,2.436397075653076],"counts":[1,3,0,3,5,2,9,6,8,8,8,4,3,1,1,1,1,2]}');
CREATE TABLE tensor_statistics (
  id          INTEGER PRIMARY KEY,  -- tensor.id
  statistics  INTEGER NOT NULL      -- statistics.id
) STRICT;
INSERT INTO tensor_statistics VALUES(16777216,1);
INSERT INTO tensor_statistics VALUES(16777217,2);
INSERT INTO tensor_statistics VALUES(16777218,3);
CREATE TABLE layout_folds (
  id          INTEGER PRIMARY KEY,
  module      TEXT NOT NULL,
  depth       INTEGER NOT NULL,   -- components
  tensors     INTEGER NOT NULL,   -- of all that it stands for
  parameters  INTEGER NOT NULL,
  nbytes      INTEGER NOT NULL
) STRICT;
INSERT INTO layout_folds VALUES(16777216,'body',1,2,42,168);
INSERT INTO layout_folds VALUES(16777217,'emb',1,1,66,264);
CREATE TABLE looked (looker TEXT NOT NULL) STRICT;
INSERT INTO looked VALUES('0.1.0 safetensors safetensors-sharded npy npz torch pickle torch-sharded hdf5 hdf5-sharded keras keras-sharded gguf onnx dcp dcp-hf deepspeed names t5x flax flax-sharded tf_state tf_bundle tf_v1 zarr orbax jax_pytree ocdbt -TFLite -TensorRT -Tensorizer -CoreML -OpenVINO -OpenVINO -OpenVINO -GGML -GGML -GGML -GGML -PyTorch preview -ExecuTorch -ONNX Runtime -DDUF -fastText -MXNet -TVM -ncnn -NeMo -NeMo');
CREATE TABLE unread (
  path  TEXT PRIMARY KEY REFERENCES passed(path) ON DELETE CASCADE,
  kind  TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX issues_by_path ON issues(path);
CREATE UNIQUE INDEX labels_by_name ON labels(name);
CREATE INDEX tensor_hashes_by_hash ON tensor_hashes(hash);
CREATE INDEX checkpoint_hashes_by_hash ON checkpoint_hashes(hash);
CREATE INDEX damages_by_checkpoint ON damages(checkpoint);
CREATE UNIQUE INDEX statistics_by_content ON statistics(hash, dtype);
CREATE INDEX tensor_statistics_by_row ON tensor_statistics(statistics);
CREATE VIEW checkpoint AS
SELECT c.id, n.name, c.path, c.format, c.run, c.step, c.item, n.state, c.layout,
       l.tensors, l.parameters, l.nbytes, c.stored, c.files,
       strftime('%Y-%m-%d %H:%M:%S', c.mtime_ns / 1000000000, 'unixepoch') AS mtime,
       strftime('%Y-%m-%d %H:%M:%S', c.imported, 'unixepoch') AS imported,
       (SELECT h.hash FROM checkpoint_hashes h WHERE h.id = c.id) AS hash
FROM checkpoints c
JOIN layouts l ON l.id = c.layout
JOIN labels n ON n.id = c.id;
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
               NULL)) AS offset,
       (SELECT h.hash FROM tensor_hashes x JOIN content_hashes h ON h.id = x.hash
        WHERE x.id = (c.id << 24) + (t.id & 16777215)) AS hash
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
SELECT c.id AS checkpoint_id, l.name AS checkpoint, m.key,
       coalesce(m.value, (SELECT t.text FROM long_facts f JOIN long_texts t ON t.id = f.text
                          WHERE f.id = m.id)) AS value
FROM checkpoints c
JOIN meta_facts m ON m.id BETWEEN c.meta << 24 AND (c.meta << 24) + 16777215
LEFT JOIN labels l ON l.id = c.id;
CREATE VIEW node AS
SELECT c.id AS checkpoint_id, n.name, x.kind
FROM checkpoints c
JOIN layout_nodes x
  ON x.id BETWEEN c.layout << 24 AND (c.layout << 24) + 16777215
 AND c.layout = x.id >> 24
JOIN names n ON n.id = x.name;
CREATE VIEW issue AS
SELECT i.id, i.checkpoint AS checkpoint_id, l.name AS checkpoint, i.path, i.offset,
       i.severity, i.code, i.message
FROM issues i
LEFT JOIN labels l ON l.id = i.checkpoint;
CREATE VIEW by_dtype AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint, d.dtype, d.tensors, d.parameters,
       d.nbytes
FROM checkpoints c
JOIN layout_dtypes d
  ON d.id BETWEEN c.layout << 24 AND (c.layout << 24) + 16777215
 AND c.layout = d.id >> 24
LEFT JOIN labels l ON l.id = c.id;
CREATE VIEW by_module AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint,
       substr(n.name, 1, m.length) AS module, m.depth, m.tensors, m.parameters, m.nbytes
FROM checkpoints c
JOIN layout_modules m
  ON m.id BETWEEN c.layout << 24 AND (c.layout << 24) + 16777215
 AND c.layout = m.id >> 24
JOIN names n ON n.id = m.name
LEFT JOIN labels l ON l.id = c.id
UNION ALL
SELECT c.id,
       l.name,
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
LEFT JOIN labels l ON l.id = c.id
WHERE t.module;
CREATE VIEW by_name AS
SELECT n.name, t.dtype, t.shape, t.elements, t.nbytes, l.checkpoints
FROM (SELECT layout, count(*) AS checkpoints FROM checkpoints GROUP BY layout) l
JOIN layout_tensors t
  ON t.id BETWEEN l.layout << 24 AND (l.layout << 24) + 16777215
JOIN names n ON n.id = t.name;
CREATE VIEW largest AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint, n.name, t.dtype, t.shape, t.nbytes
FROM checkpoints c
JOIN layout_tensors t
  ON t.id BETWEEN c.layout << 24 AND (c.layout << 24) + 16777215
 AND c.layout = t.id >> 24
JOIN names n ON n.id = t.name
LEFT JOIN labels l ON l.id = c.id
ORDER BY t.nbytes DESC;
CREATE VIEW disk AS
SELECT run, folder, count(*) AS files, sum(size) AS bytes
FROM (SELECT c.run AS run,
             rtrim(rtrim(f.path, replace(f.path, '/', '')), '/') AS folder,
             f.size AS size,
             min(f.path)
      FROM files f
      JOIN checkpoints c ON c.id = f.id >> 24
      WHERE f.size IS NOT NULL AND f.role NOT IN ('directory', 'chunks')
      GROUP BY f.device, f.inode)
GROUP BY run, folder;
CREATE VIEW extent AS
SELECT tensor_id, ordinal, file, "offset", stored, codec, origin, shape, strides
FROM "tensor_extents (of ckptdb.so: load this extension first)";
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
CREATE VIEW content AS
SELECT h.hash, x.id AS tensor_id, x.id >> 24 AS checkpoint_id
FROM content_hashes h JOIN tensor_hashes x ON x.hash = h.id;
CREATE VIEW place AS
WITH numbered AS (
  SELECT id, base, iif(inode IS NULL, NULL, dense_rank() OVER (ORDER BY device, inode)) AS number
  FROM files
), store AS MATERIALIZED (
  SELECT id, base, number, iif(number >> 22, NULL, (number << 40) + base) AS place FROM numbered
)
SELECT x.hash AS content, t.dtype, t.shape, t.nbytes, x.id AS tensor_id, c.id AS checkpoint_id,
       CASE WHEN c.placed AND p.id IS NULL THEN 'tensor ' || x.id
            WHEN NOT c.placed AND t.storage <> 1 THEN -(f.number << 24) - (t.id & 16777215)
            WHEN f.place IS NULL OR coalesce(p.start, t.start) + f.base >> 40
            THEN f.number || ':' || (coalesce(p.start, t.start) + f.base)
            ELSE f.place + coalesce(p.start, t.start) END AS place
FROM tensor_hashes x
JOIN checkpoints c ON c.id = x.id >> 24
JOIN layout_tensors t ON t.id = (c.layout << 24) + (x.id & 16777215)
LEFT JOIN placements p ON p.id = iif(c.placed, x.id, NULL) AND p.storage = 1
LEFT JOIN store f ON f.id = (c.id << 24) + coalesce(p.file, t.file, 0);
CREATE VIEW copy AS
SELECT content, dtype, shape, nbytes, tensor_id, checkpoint_id, place
FROM place
WHERE content IN (SELECT hash FROM tensor_hashes GROUP BY hash HAVING count(*) > 1);
CREATE VIEW duplicate AS
WITH linked AS MATERIALIZED (
  SELECT DISTINCT f.id >> 24
  FROM files f LEFT JOIN (SELECT device, inode FROM files GROUP BY device, inode HAVING count(*) > 1) l
    ON l.device = f.device AND l.inode = f.inode
  WHERE l.inode IS NOT NULL OR f.inode IS NULL
), -- (CROSS: in the order of the index, which GROUP BY then need not sort.)
same_bytes AS MATERIALIZED (
  SELECT x.hash AS content, count(*) AS copies, group_concat(x.id) AS tensors, max(c.id IN linked) AS linked,
         min((c.layout << 24) + (x.id & 16777215)) AS first, max((c.layout << 24) + (x.id & 16777215)) AS last
  FROM tensor_hashes x CROSS JOIN checkpoints c ON c.id = x.id >> 24
  WHERE x.hash IN (SELECT hash FROM tensor_hashes GROUP BY hash HAVING count(*) > 1)
  GROUP BY x.hash
), counted AS (
  SELECT content, dtype, shape, nbytes, copies, tensors
  FROM same_bytes JOIN layout_tensors ON id = first
  WHERE first = last AND NOT linked
  UNION ALL
  SELECT content, dtype, shape, nbytes, count(DISTINCT place), group_concat(tensor_id)
  FROM place
  WHERE content IN (SELECT content FROM same_bytes WHERE first <> last OR linked)
  GROUP BY content, dtype, shape
)
SELECT (SELECT h.hash FROM content_hashes h WHERE h.id = d.content) AS hash, d.dtype, d.shape, d.nbytes,
       d.copies, (d.copies - 1) * d.nbytes AS wasted, '[' || d.tensors || ']' AS tensor_ids
FROM counted d
WHERE d.copies > 1
;
CREATE VIEW waste AS
WITH place AS (
  SELECT content, dtype, shape, nbytes, min(tensor_id) AS first
  FROM copy GROUP BY content, dtype, shape, place
), numbered AS (
  SELECT first >> 24 AS checkpoint_id, nbytes,
         row_number() OVER (PARTITION BY content, dtype, shape ORDER BY first) AS turn
  FROM place
)
SELECT n.checkpoint_id, l.name AS checkpoint, c.run, count(*) AS tensors, sum(n.nbytes) AS nbytes
FROM numbered n
JOIN checkpoints c ON c.id = n.checkpoint_id
JOIN labels l ON l.id = n.checkpoint_id
WHERE n.turn > 1
GROUP BY n.checkpoint_id;
CREATE VIEW damage AS
SELECT d.checkpoint AS checkpoint_id, l.name AS checkpoint, d.name, d.file, d.offset, d.code,
       d.message
FROM damages d
LEFT JOIN labels l ON l.id = d.checkpoint;
CREATE VIEW verification AS
SELECT v.id AS checkpoint_id, l.name AS checkpoint,
       strftime('%Y-%m-%d %H:%M:%S', v.at, 'unixepoch') AS verified, v.quick,
       (SELECT count(*) FROM damages d WHERE d.checkpoint = v.id) AS findings
FROM verifications v
LEFT JOIN labels l ON l.id = v.id;
CREATE VIEW stats AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint, x.id AS tensor_id, n.name, t.dtype, t.shape,
       s.elements, s.min, s.max, s.mean, s.std, s.l2, s.zeros, s.nans, s.infs, s.subnormals,
       s.histogram
FROM checkpoints c
JOIN tensor_statistics x
  ON x.id BETWEEN c.id << 24 AND (c.id << 24) + 16777215
 AND c.id = x.id >> 24
JOIN statistics s ON s.id = x.statistics
JOIN layout_tensors t ON t.id = (c.layout << 24) + (x.id & 16777215)
JOIN names n ON n.id = t.name
LEFT JOIN labels l ON l.id = c.id;
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
CREATE TRIGGER content_changed AFTER UPDATE OF imported ON checkpoints
BEGIN
  DELETE FROM tensor_hashes WHERE id BETWEEN old.id << 24 AND (old.id << 24) + 16777215;
  DELETE FROM checkpoint_hashes WHERE id = old.id;
  DELETE FROM tensor_statistics WHERE id BETWEEN old.id << 24 AND (old.id << 24) + 16777215;
  DELETE FROM damages WHERE checkpoint = old.id;
  DELETE FROM verifications WHERE id = old.id;
END;
CREATE TRIGGER content_forgotten AFTER DELETE ON checkpoints
BEGIN
  DELETE FROM tensor_hashes WHERE id BETWEEN old.id << 24 AND (old.id << 24) + 16777215;
  DELETE FROM checkpoint_hashes WHERE id = old.id;
  DELETE FROM tensor_statistics WHERE id BETWEEN old.id << 24 AND (old.id << 24) + 16777215;
  DELETE FROM damages WHERE checkpoint = old.id;
  DELETE FROM verifications WHERE id = old.id;
END;
CREATE VIEW by_folded_module AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint, f.module, f.depth, f.tensors,
       f.parameters, f.nbytes
FROM checkpoints c
JOIN layout_folds f
  ON f.id BETWEEN c.layout << 24 AND (c.layout << 24) + 16777215
 AND c.layout = f.id >> 24
LEFT JOIN labels l ON l.id = c.id;
CREATE TRIGGER statistics_left AFTER DELETE ON tensor_statistics
BEGIN
  DELETE FROM statistics WHERE id = old.statistics
  AND NOT EXISTS (SELECT 1 FROM tensor_statistics x WHERE x.statistics = old.statistics);
END;
CREATE TRIGGER statistics_replaced AFTER UPDATE OF statistics ON tensor_statistics
BEGIN
  DELETE FROM statistics WHERE id = old.statistics AND old.statistics <> new.statistics
  AND NOT EXISTS (SELECT 1 FROM tensor_statistics x WHERE x.statistics = old.statistics);
END;
CREATE TRIGGER statistics_shared AFTER INSERT ON tensor_hashes
WHEN EXISTS (SELECT 1 FROM tensor_statistics x WHERE x.id = new.id)
BEGIN
  DELETE FROM tensor_statistics WHERE id = new.id
  AND EXISTS (SELECT 1 FROM statistics s WHERE s.id = tensor_statistics.statistics AND s.hash <> new.hash);
  UPDATE tensor_statistics SET statistics = known.id
  FROM (SELECT s.id FROM tensor_statistics x
        JOIN statistics own ON own.id = x.statistics
        JOIN statistics s ON s.hash = new.hash AND s.dtype = own.dtype
        WHERE x.id = new.id AND own.hash IS NULL) AS known
  WHERE tensor_statistics.id = new.id;
  UPDATE statistics SET hash = new.hash
  WHERE hash IS NULL AND id = (SELECT x.statistics FROM tensor_statistics x WHERE x.id = new.id);
END;
CREATE VIEW translation AS
SELECT r.name AS ruleset,
       x.checkpoint_id,
       x.ord,
       x.tensor_id,
       x.old_name,
       x.new_name,
       x.dtype,
       x.shape,
       x.rule,
       x.status,
       x.error,
       x.note,
       x.wins,
       x.ops
FROM ruleset r
JOIN "translation_rows (of ckptdb.so: load this extension first)" x ON x.ruleset = r.name;
CREATE VIEW conversion AS
SELECT r.name AS ruleset,
       x.checkpoint_id,
       x.ord,
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
JOIN "conversion_rows (of ckptdb.so: load this extension first)" x ON x.ruleset = r.name;
CREATE VIEW assignment AS
SELECT r.name AS ruleset,
       x.source_id,
       x.target_id,
       x.new_name,
       x.old_name,
       x.tensor_id,
       x.dtype,
       x.shape,
       x.ops,
       x.rule,
       x.status,
       x.error,
       x.note
FROM ruleset r
JOIN "assignment_rows (of ckptdb.so: load this extension first)" x ON x.ruleset = r.name;
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
       x.note,
       x.ops
FROM ruleset r
JOIN checkpoints c
JOIN (SELECT NULL AS target_id, 1 AS strict
      UNION ALL SELECT id, 1 FROM checkpoints
      UNION ALL SELECT id, 0 FROM checkpoints) m
JOIN "restore_rows (of ckptdb.so: load this extension first)"(r.name, c.id, ifnull(m.target_id, 0), m.strict) x;
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
JOIN "optimizer_state_rows (of ckptdb.so: load this extension first)"(o.spec, c.id) x;
CREATE VIEW optax_function(name, kind, chain, arguments) AS VALUES
    ('adabelief', 'optimizer', 'scale_by_belief, add_decayed_weights if weight_decay given, scale_by_learning_rate', '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-16, "eps_root": 1e-16, "nesterov": false, "weight_decay": null, "mask": null}'),
    ('adadelta', 'optimizer', 'add_decayed_weights(mask=weight_decay_mask), scale_by_adadelta, scale_by_learning_rate', '{"learning_rate": null, "rho": 0.9, "eps": 1e-06, "weight_decay": 0.0, "weight_decay_mask": null}'),
    ('adafactor', 'optimizer', 'scale_by_factored_rms, clip_by_block_rms if clipping_threshold given, scale_by_learning_rate if learning_rate given, scale_by_param_block_rms if multiply_by_parameter_scale true, ema(accumulator_dtype=dtype_momentum) if momentum given, add_decayed_weights(weight_decay=weight_decay_rate mask=weight_decay_mask) if weight_decay_rate given, scale', '{"learning_rate": null, "min_dim_size_to_factor": 128, "decay_rate": 0.8, "decay_offset": 0, "multiply_by_parameter_scale": true, "clipping_threshold": 1.0, "momentum": null, "dtype_momentum": "float32", "weight_decay_rate": null, "eps": 1e-30, "factored": true, "weight_decay_mask": null}'),
    ('adagrad', 'optimizer', 'scale_by_rss, scale_by_learning_rate', '{"learning_rate": 0.0, "initial_accumulator_value": 0.1, "eps": 1e-07}'),
    ('adam', 'optimizer', 'scale_by_adam, scale_by_learning_rate', '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-08, "eps_root": 0.0, "mu_dtype": null, "nesterov": false}'),
    ('adamw', 'optimizer', 'scale_by_adam, add_decayed_weights, scale_by_learning_rate', '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-08, "eps_root": 0.0, "mu_dtype": null, "weight_decay": 0.0001, "mask": null, "nesterov": false}'),
    ('adan', 'optimizer', 'scale_by_adan, add_decayed_weights, scale_by_learning_rate', '{"learning_rate": 0.0, "b1": 0.98, "b2": 0.92, "b3": 0.99, "eps": 1e-08, "eps_root": 1e-08, "weight_decay": 0.0, "mask": null}'),
    ('lion', 'optimizer', 'scale_by_lion, add_decayed_weights, scale_by_learning_rate', '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.99, "mu_dtype": null, "weight_decay": 0.001, "mask": null}'),
    ('amsgrad', 'optimizer', 'scale_by_amsgrad, scale_by_learning_rate', '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-08, "eps_root": 0.0, "mu_dtype": null, "bias_correction_mu": true, "bias_correction_nu": true}'),
    ('fromage', 'optimizer', 'scale_by_trust_ratio, scale_by_learning_rate, add_decayed_weights(weight_decay=learning_rate)', '{"learning_rate": 0.0, "min_norm": 1e-06}'),
    ('lars', 'optimizer', 'add_decayed_weights(mask=weight_decay_mask), scale_by_trust_ratio, scale_by_learning_rate, trace', '{"learning_rate": 0.0, "weight_decay": 0.0, "weight_decay_mask": true, "trust_coefficient": 0.001, "eps": 0.0, "trust_ratio_mask": true, "momentum": 0.9, "nesterov": false}'),
    ('lamb', 'optimizer', 'scale_by_adam, add_decayed_weights, scale_by_trust_ratio, scale_by_learning_rate', '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-06, "eps_root": 0.0, "weight_decay": 0.0, "mask": null}'),
    ('noisy_sgd', 'optimizer', 'add_noise, scale_by_learning_rate', '{"learning_rate": 0.0, "eta": 0.01, "gamma": 0.55, "key": null, "seed": null}'),
    ('sign_sgd', 'optimizer', 'scale_by_sign, scale_by_learning_rate', '{"learning_rate": 0.0}'),
    ('signum', 'optimizer', 'ema, scale_by_sign, scale_by_learning_rate', '{"learning_rate": 0.0, "beta": 0.9, "accumulator_dtype": null}'),
    ('novograd', 'optimizer', 'scale_by_novograd, scale_by_learning_rate', '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.25, "eps": 1e-06, "eps_root": 0.0, "weight_decay": 0.0}'),
    ('optimistic_gradient_descent', 'optimizer', 'scale_by_optimistic_gradient, scale_by_learning_rate', '{"learning_rate": 0.0, "alpha": 1.0, "beta": 1.0}'),
    ('optimistic_adam_v2', 'optimizer', 'scale_by_adam, scale_by_optimistic_gradient, scale_by_learning_rate', '{"learning_rate": 0.0, "alpha": 1.0, "beta": 1.0, "b1": 0.9, "b2": 0.999, "eps": 1e-08, "eps_root": 0.0, "mu_dtype": null, "nesterov": true}'),
    ('radam', 'optimizer', 'scale_by_radam, scale_by_learning_rate', '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-08, "eps_root": 0.0, "threshold": 5.0, "nesterov": false}'),
    ('rmsprop', 'optimizer', 'scale_by_rms if centered false, scale_by_stddev if centered true, scale_by_learning_rate, trace if momentum given', '{"learning_rate": 0.0, "decay": 0.9, "eps": 1e-08, "initial_scale": 0.0, "eps_in_sqrt": true, "centered": false, "momentum": null, "nesterov": false, "bias_correction": false}'),
    ('sgd', 'optimizer', 'trace if momentum given, identity if momentum null, scale_by_learning_rate', '{"learning_rate": 0.0, "momentum": null, "nesterov": false, "accumulator_dtype": null}'),
    ('sm3', 'optimizer', 'scale_by_sm3, scale', '{"learning_rate": 0.0, "momentum": 0.9}'),
    ('yogi', 'optimizer', 'scale_by_yogi, scale_by_learning_rate', '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 0.001}'),
    ('adamax', 'optimizer', 'scale_by_adamax, scale_by_learning_rate', '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-08}'),
    ('adamaxw', 'optimizer', 'scale_by_adamax, add_decayed_weights, scale_by_learning_rate', '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-08, "weight_decay": 0.0001, "mask": null}'),
    ('nadam', 'optimizer', 'scale_by_adam, scale_by_learning_rate', '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-08, "eps_root": 0.0, "mu_dtype": null, "nesterov": true}'),
    ('nadamw', 'optimizer', 'scale_by_adam, add_decayed_weights, scale_by_learning_rate', '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-08, "eps_root": 0.0, "mu_dtype": null, "weight_decay": 0.0001, "mask": null, "nesterov": true}'),
    ('rprop', 'optimizer', 'scale_by_rprop, scale', '{"learning_rate": 0.0, "eta_minus": 0.5, "eta_plus": 1.2, "min_step_size": 1e-06, "max_step_size": 50.0}'),
    ('polyak_sgd', 'optimizer', 'sgd(learning_rate=scaling), scale_by_polyak', '{"max_learning_rate": 1.0, "scaling": 1.0, "f_min": 0.0, "eps": 0.0, "variant": "sps"}'),
    ('identity', 'transformation', NULL, '{}'),
    ('set_to_zero', 'transformation', NULL, '{}'),
    ('scale', 'transformation', NULL, '{"step_size": 0.0}'),
    ('scale_by_adam', 'transformation', NULL, '{"b1": 0.9, "b2": 0.999, "eps": 1e-08, "eps_root": 0.0, "mu_dtype": null, "nesterov": false}'),
    ('scale_by_adamax', 'transformation', NULL, '{"b1": 0.9, "b2": 0.999, "eps": 1e-08}'),
    ('scale_by_amsgrad', 'transformation', NULL, '{"b1": 0.9, "b2": 0.999, "eps": 1e-08, "eps_root": 0.0, "mu_dtype": null, "bias_correction_mu": true, "bias_correction_nu": true}'),
    ('scale_by_belief', 'transformation', NULL, '{"b1": 0.9, "b2": 0.999, "eps": 1e-16, "eps_root": 1e-16, "nesterov": false}'),
    ('scale_by_yogi', 'transformation', NULL, '{"b1": 0.9, "b2": 0.999, "eps": 0.001, "eps_root": 0.0, "initial_accumulator_value": 1e-06}'),
    ('scale_by_radam', 'transformation', NULL, '{"b1": 0.9, "b2": 0.999, "eps": 1e-08, "eps_root": 0.0, "threshold": 5.0, "nesterov": false}'),
    ('scale_by_novograd', 'transformation', NULL, '{"b1": 0.9, "b2": 0.25, "eps": 1e-08, "eps_root": 0.0, "weight_decay": 0.0, "mu_dtype": null}'),
    ('scale_by_lion', 'transformation', NULL, '{"b1": 0.9, "b2": 0.99, "mu_dtype": null, "mode": "hard", "smooth_beta": 1.0}'),
    ('scale_by_adan', 'transformation', NULL, '{"b1": 0.98, "b2": 0.92, "b3": 0.99, "eps": 1e-08, "eps_root": 0.0}'),
    ('scale_by_adadelta', 'transformation', NULL, '{"rho": 0.9, "eps": 1e-06}'),
    ('scale_by_rss', 'transformation', NULL, '{"initial_accumulator_value": 0.1, "eps": 1e-07}'),
    ('scale_by_rms', 'transformation', NULL, '{"decay": 0.9, "eps": 1e-08, "initial_scale": 0.0, "eps_in_sqrt": true, "bias_correction": false}'),
    ('scale_by_stddev', 'transformation', NULL, '{"decay": 0.9, "eps": 1e-08, "initial_scale": 0.0, "eps_in_sqrt": true, "bias_correction": false}'),
    ('scale_by_rprop', 'transformation', NULL, '{"learning_rate": 0.0, "eta_minus": 0.5, "eta_plus": 1.2, "min_step_size": 1e-06, "max_step_size": 50.0}'),
    ('scale_by_sm3', 'transformation', NULL, '{"b1": 0.9, "b2": 1.0, "eps": 1e-08}'),
    ('scale_by_sign', 'transformation', NULL, '{}'),
    ('scale_by_optimistic_gradient', 'transformation', NULL, '{"alpha": 1.0, "beta": 1.0}'),
    ('scale_by_trust_ratio', 'transformation', NULL, '{"min_norm": 0.0, "trust_coefficient": 1.0, "eps": 0.0}'),
    ('scale_by_learning_rate', 'transformation', NULL, '{"learning_rate": null, "flip_sign": true}'),
    ('scale_by_schedule', 'transformation', NULL, '{"step_size_fn": 0.0}'),
    ('scale_by_param_block_norm', 'transformation', NULL, '{"min_scale": 0.001}'),
    ('scale_by_param_block_rms', 'transformation', NULL, '{"min_scale": 0.001}'),
    ('scale_by_polyak', 'transformation', NULL, '{"f_min": 0.0, "max_learning_rate": 1.0, "eps": 0.0, "variant": "sps"}'),
    ('scale_by_factored_rms', 'transformation', NULL, '{"factored": true, "decay_rate": 0.8, "step_offset": 0, "min_dim_size_to_factor": 128, "epsilon": 1e-30, "decay_rate_fn": null}'),
    ('add_decayed_weights', 'transformation', NULL, '{"weight_decay": 0.0, "mask": null}'),
    ('add_noise', 'transformation', NULL, '{"eta": 0.0, "gamma": 0.0, "key": null, "seed": null}'),
    ('trace', 'transformation', NULL, '{"decay": 0.0, "nesterov": false, "accumulator_dtype": null}'),
    ('ema', 'transformation', NULL, '{"decay": 0.0, "debias": true, "accumulator_dtype": null}'),
    ('apply_every', 'transformation', NULL, '{"k": 1}'),
    ('centralize', 'transformation', NULL, '{}'),
    ('clip', 'transformation', NULL, '{"max_delta": 0.0}'),
    ('clip_by_global_norm', 'transformation', NULL, '{"max_norm": 0.0}'),
    ('clip_by_block_rms', 'transformation', NULL, '{"threshold": 0.0}'),
    ('adaptive_grad_clip', 'transformation', NULL, '{"clipping": 0.0, "eps": 0.001, "axis": null}'),
    ('zero_nans', 'transformation', NULL, '{}'),
    ('keep_params_nonnegative', 'transformation', NULL, '{}'),
    ('normalize_by_update_norm', 'transformation', NULL, '{"scale_factor": 1.0, "eps": 1e-06}');
CREATE VIEW optax_slot(transformation, slot, scope, shape, dtype, "when") AS VALUES
    ('scale_by_adam', 'count', 'one', '[]', 'int32', NULL),
    ('scale_by_adam', 'mu', 'param', 'same', '@mu_dtype', NULL),
    ('scale_by_adam', 'nu', 'param', 'same', '@', NULL),
    ('scale_by_adamax', 'count', 'one', '[]', 'int32', NULL),
    ('scale_by_adamax', 'mu', 'param', 'same', '@', NULL),
    ('scale_by_adamax', 'nu', 'param', 'same', '@', NULL),
    ('scale_by_amsgrad', 'count', 'one', '[]', 'int32', NULL),
    ('scale_by_amsgrad', 'mu', 'param', 'same', '@mu_dtype', NULL),
    ('scale_by_amsgrad', 'nu', 'param', 'same', '@', NULL),
    ('scale_by_amsgrad', 'nu_max', 'param', 'same', '@', NULL),
    ('scale_by_belief', 'count', 'one', '[]', 'int32', NULL),
    ('scale_by_belief', 'mu', 'param', 'same', '@', NULL),
    ('scale_by_belief', 'nu', 'param', 'same', '@', NULL),
    ('scale_by_yogi', 'count', 'one', '[]', 'int32', NULL),
    ('scale_by_yogi', 'mu', 'param', 'same', '@', NULL),
    ('scale_by_yogi', 'nu', 'param', 'same', '@', NULL),
    ('scale_by_radam', 'count', 'one', '[]', 'int32', NULL),
    ('scale_by_radam', 'mu', 'param', 'same', '@', NULL),
    ('scale_by_radam', 'nu', 'param', 'same', '@', NULL),
    ('scale_by_novograd', 'count', 'one', '[]', 'int32', NULL),
    ('scale_by_novograd', 'mu', 'param', 'same', '@mu_dtype', NULL),
    ('scale_by_novograd', 'nu', 'param', '[]', '@', NULL),
    ('scale_by_lion', 'count', 'one', '[]', 'int32', NULL),
    ('scale_by_lion', 'mu', 'param', 'same', '@mu_dtype', NULL),
    ('scale_by_adan', 'm', 'param', 'same', '@', NULL),
    ('scale_by_adan', 'v', 'param', 'same', '@', NULL),
    ('scale_by_adan', 'n', 'param', 'same', '@', NULL),
    ('scale_by_adan', 'g', 'param', 'same', '@', NULL),
    ('scale_by_adan', 't', 'one', '[]', 'int32', NULL),
    ('scale_by_adadelta', 'e_g', 'param', 'same', '@', NULL),
    ('scale_by_adadelta', 'e_x', 'param', 'same', '@', NULL),
    ('scale_by_rss', 'sum_of_squares', 'param', 'same', '@', NULL),
    ('scale_by_rms', 'count', 'one', '[]', 'int32', 'bias_correction true'),
    ('scale_by_rms', 'nu', 'param', 'same', '@', NULL),
    ('scale_by_stddev', 'count', 'one', '[]', 'int32', 'bias_correction true'),
    ('scale_by_stddev', 'mu', 'param', 'same', '@', NULL),
    ('scale_by_stddev', 'nu', 'param', 'same', '@', NULL),
    ('scale_by_rprop', 'step_sizes', 'param', 'same', '@', NULL),
    ('scale_by_rprop', 'prev_updates', 'param', 'same', '@', NULL),
    ('scale_by_sm3', 'mu', 'param', 'dimensions', '@', NULL),
    ('scale_by_sm3', 'nu', 'param', 'same', '@', NULL),
    ('scale_by_optimistic_gradient', 'is_initial_step', 'one', '[]', 'bool', NULL),
    ('scale_by_optimistic_gradient', 'previous_gradient', 'param', 'same', '@', NULL),
    ('scale_by_factored_rms', 'count', 'one', '[]', 'int32', NULL),
    ('scale_by_factored_rms', 'v_row', 'param', 'rows', '@', NULL),
    ('scale_by_factored_rms', 'v_col', 'param', 'columns', '@', NULL),
    ('scale_by_factored_rms', 'v', 'param', 'unfactored', '@', NULL),
    ('scale_by_learning_rate', 'count', 'one', '[]', 'int32', 'learning_rate schedule'),
    ('scale_by_schedule', 'count', 'one', '[]', 'int32', NULL),
    ('add_decayed_weights', 'count', 'one', '[]', 'int32', 'weight_decay schedule and mask null'),
    ('add_decayed_weights', 'inner_state/count', 'one', '[]', 'int32', 'weight_decay schedule and mask given'),
    ('add_noise', 'count', 'one', '[]', 'int32', NULL),
    ('add_noise', 'rng_key', 'one', '[]', 'key<fry>', NULL),
    ('trace', 'trace', 'param', 'same', '@accumulator_dtype', NULL),
    ('ema', 'count', 'one', '[]', 'int32', NULL),
    ('ema', 'ema', 'param', 'same', '@accumulator_dtype', NULL),
    ('apply_every', 'count', 'one', '[]', 'int32', NULL),
    ('apply_every', 'grad_acc', 'param', 'same', '@', NULL),
    ('zero_nans', 'found_nan', 'param', '[]', 'bool', NULL),
    ('multi_steps', 'mini_step', 'one', '[]', 'int32', NULL),
    ('multi_steps', 'gradient_step', 'one', '[]', 'int32', NULL),
    ('multi_steps', 'acc_grads', 'param', 'same', 'float32', NULL),
    ('apply_if_finite', 'notfinite_count', 'one', '[]', 'int32', NULL),
    ('apply_if_finite', 'last_finite', 'one', '[]', 'bool', NULL),
    ('apply_if_finite', 'total_notfinite', 'one', '[]', 'int32', NULL),
    ('inject_hyperparams', 'count', 'one', '[]', 'int32', NULL);
CREATE VIEW optax_unregistered(transformation, state, "when") AS VALUES
    ('inject_hyperparams', 'InjectStatefulHyperparamsState', NULL),
    ('scale_by_rms', 'ScaleByRmsWithCountState', 'bias_correction true'),
    ('scale_by_stddev', 'ScaleByRStdDevWithCountState', 'bias_correction true'),
    ('scale_by_amsgrad', 'ScaleByAmsgradState', NULL),
    ('scale_by_adadelta', 'ScaleByAdaDeltaState', NULL),
    ('scale_by_adan', 'ScaleByAdanState', NULL),
    ('scale_by_novograd', 'ScaleByNovogradState', NULL),
    ('scale_by_rprop', 'ScaleByRpropState', NULL),
    ('scale_by_optimistic_gradient', 'ScaleByOptimisticGradientState', NULL),
    ('scale_by_factored_rms', 'FactoredState', NULL);
CREATE VIEW adafactor_argument(name) AS VALUES
    ('learning_rate'), ('factored'), ('multiply_by_parameter_scale'), ('beta1'), ('decay_rate'),
    ('step_offset'), ('clipping_threshold'), ('weight_decay_rate'), ('min_dim_size_to_factor'),
    ('epsilon1'), ('epsilon2'), ('dtype_momentum'), ('factor_map'), ('logical_factor_rules'),
    ('weight_decay_rate_lr_exponent'), ('global_norm_clip_threshold'), ('max_parameter_scale'),
    ('skip_nan_updates');
CREATE VIEW adafactor_axis(axis, word) AS VALUES
    ('vocab', 'column'), ('mlp', 'column'), ('heads', 'column'), ('kv', 'column'), ('joined_kv', 'column'), ('q_wi_fused', 'column'), ('o_wo_fused', 'column'), ('multiquery_heads', 'column'),
    ('kv_fused', 'column'), ('mlp_activations', 'column'), ('embed', 'row'), ('relpos_buckets', 'none'), ('layer_norm_scale', 'none'), ('layers', 'batch'), ('stack', 'batch');
CREATE VIEW optimizer_candidate(optimizer, spec) AS VALUES
    ('adafactor', '{"adafactor": {}}'),
    ('adafactor, beta1', '{"adafactor": {"beta1": 0.9}}'),
    ('adafactor, factored false', '{"adafactor": {"factored": false}}'),
    ('adafactor, factored false, beta1', '{"adafactor": {"factored": false, "beta1": 0.9}}'),
    ('optax.sgd', '{"optax": {"opt": "sgd", "args": {"learning_rate": 0.1}}}'),
    ('optax.sgd with a schedule', '{"optax": {"opt": "sgd", "args": {"learning_rate": {"$schedule": 1}}}}'),
    ('optax.sgd with momentum', '{"optax": {"opt": "sgd", "args": {"learning_rate": 0.1, "momentum": 0.9}}}'),
    ('optax.sgd with momentum, a schedule', '{"optax": {"opt": "sgd", "args": {"learning_rate": {"$schedule": 1}, "momentum": 0.9}}}'),
    ('optax.adam', '{"optax": {"opt": "adam", "args": {"learning_rate": 0.1}}}'),
    ('optax.adam with a schedule', '{"optax": {"opt": "adam", "args": {"learning_rate": {"$schedule": 1}}}}'),
    ('optax.adamw', '{"optax": {"opt": "adamw", "args": {"learning_rate": 0.1}}}'),
    ('optax.adamw with a schedule', '{"optax": {"opt": "adamw", "args": {"learning_rate": {"$schedule": 1}}}}'),
    ('optax.amsgrad', '{"optax": {"opt": "amsgrad", "args": {"learning_rate": 0.1}}}'),
    ('optax.amsgrad with a schedule', '{"optax": {"opt": "amsgrad", "args": {"learning_rate": {"$schedule": 1}}}}'),
    ('optax.adabelief', '{"optax": {"opt": "adabelief", "args": {"learning_rate": 0.1}}}'),
    ('optax.adabelief with a schedule', '{"optax": {"opt": "adabelief", "args": {"learning_rate": {"$schedule": 1}}}}'),
    ('optax.lamb', '{"optax": {"opt": "lamb", "args": {"learning_rate": 0.1}}}'),
    ('optax.lamb with a schedule', '{"optax": {"opt": "lamb", "args": {"learning_rate": {"$schedule": 1}}}}'),
    ('optax.lion', '{"optax": {"opt": "lion", "args": {"learning_rate": 0.1}}}'),
    ('optax.lion with a schedule', '{"optax": {"opt": "lion", "args": {"learning_rate": {"$schedule": 1}}}}'),
    ('optax.adadelta', '{"optax": {"opt": "adadelta", "args": {"learning_rate": 0.1}}}'),
    ('optax.adadelta with a schedule', '{"optax": {"opt": "adadelta", "args": {"learning_rate": {"$schedule": 1}}}}'),
    ('optax.adan', '{"optax": {"opt": "adan", "args": {"learning_rate": 0.1}}}'),
    ('optax.adan with a schedule', '{"optax": {"opt": "adan", "args": {"learning_rate": {"$schedule": 1}}}}'),
    ('optax.novograd', '{"optax": {"opt": "novograd", "args": {"learning_rate": 0.1}}}'),
    ('optax.novograd with a schedule', '{"optax": {"opt": "novograd", "args": {"learning_rate": {"$schedule": 1}}}}'),
    ('optax.optimistic_gradient_descent', '{"optax": {"opt": "optimistic_gradient_descent", "args": {"learning_rate": 0.1}}}'),
    ('optax.optimistic_gradient_descent with a schedule', '{"optax": {"opt": "optimistic_gradient_descent", "args": {"learning_rate": {"$schedule": 1}}}}'),
    ('optax.rprop', '{"optax": {"opt": "rprop", "args": {"learning_rate": 0.1}}}'),
    ('optax.sm3', '{"optax": {"opt": "sm3", "args": {"learning_rate": 0.1}}}'),
    ('optax.adagrad', '{"optax": {"opt": "adagrad", "args": {"learning_rate": 0.1}}}'),
    ('optax.adagrad with a schedule', '{"optax": {"opt": "adagrad", "args": {"learning_rate": {"$schedule": 1}}}}'),
    ('optax.rmsprop', '{"optax": {"opt": "rmsprop", "args": {"learning_rate": 0.1}}}'),
    ('optax.rmsprop with a schedule', '{"optax": {"opt": "rmsprop", "args": {"learning_rate": {"$schedule": 1}}}}'),
    ('optax.rmsprop with momentum', '{"optax": {"opt": "rmsprop", "args": {"learning_rate": 0.1, "momentum": 0.9}}}'),
    ('optax.rmsprop with momentum, a schedule', '{"optax": {"opt": "rmsprop", "args": {"learning_rate": {"$schedule": 1}, "momentum": 0.9}}}'),
    ('optax.rmsprop, centered', '{"optax": {"opt": "rmsprop", "args": {"learning_rate": 0.1, "centered": true}}}'),
    ('optax.rmsprop, centered, with momentum', '{"optax": {"opt": "rmsprop", "args": {"learning_rate": 0.1, "centered": true, "momentum": 0.9}}}'),
    ('optax.fromage', '{"optax": {"opt": "fromage", "args": {"learning_rate": 0.1}}}'),
    ('optax.fromage with a schedule', '{"optax": {"opt": "fromage", "args": {"learning_rate": {"$schedule": 1}}}}'),
    ('optax.lars', '{"optax": {"opt": "lars", "args": {"learning_rate": 0.1}}}'),
    ('optax.lars with a schedule', '{"optax": {"opt": "lars", "args": {"learning_rate": {"$schedule": 1}}}}'),
    ('optax.noisy_sgd', '{"optax": {"opt": "noisy_sgd", "args": {"learning_rate": 0.1}}}'),
    ('optax.noisy_sgd with a schedule', '{"optax": {"opt": "noisy_sgd", "args": {"learning_rate": {"$schedule": 1}}}}'),
    ('optax.adafactor', '{"optax": {"opt": "adafactor", "args": {"learning_rate": 0.1}}}'),
    ('optax.adafactor with a schedule', '{"optax": {"opt": "adafactor", "args": {"learning_rate": {"$schedule": 1}}}}'),
    ('optax.adafactor with momentum', '{"optax": {"opt": "adafactor", "args": {"learning_rate": 0.1, "momentum": 0.9}}}'),
    ('optax.signum', '{"optax": {"opt": "signum", "args": {"learning_rate": 0.1}}}'),
    ('optax.signum with a schedule', '{"optax": {"opt": "signum", "args": {"learning_rate": {"$schedule": 1}}}}');
CREATE VIEW torch_state(optimizer, slots, more, rank) AS VALUES
    ('torch.Adam, AdamW, RAdam', '["exp_avg", "exp_avg_sq"]', '["step"]', NULL),
    ('torch.Adam, AdamW with amsgrad', '["exp_avg", "exp_avg_sq", "max_exp_avg_sq"]', '["step"]', NULL),
    ('torch.NAdam', '["exp_avg", "exp_avg_sq", "mu_product"]', '["step"]', NULL),
    ('torch.Adamax', '["exp_avg", "exp_inf"]', '["step"]', NULL),
    ('torch.SGD with momentum, Muon', '["momentum_buffer"]', '[]', NULL),
    ('torch.Adagrad', '["sum"]', '["step"]', NULL),
    ('torch.Adadelta', '["square_avg", "acc_delta"]', '["step"]', NULL),
    ('torch.RMSprop', '["square_avg"]', '["step"]', NULL),
    ('torch.RMSprop with momentum', '["square_avg", "momentum_buffer"]', '["step"]', NULL),
    ('torch.RMSprop, centered', '["square_avg", "grad_avg"]', '["step"]', NULL),
    ('torch.RMSprop, centered, with momentum', '["square_avg", "grad_avg", "momentum_buffer"]', '["step"]', NULL),
    ('torch.Rprop', '["prev", "step_size"]', '["step"]', NULL),
    ('torch.ASGD', '["ax"]', '["eta", "mu", "step"]', NULL),
    ('torch.Adafactor', '["row_var", "col_var"]', '["step"]', NULL),
    ('torch.Adafactor', '["variance"]', '["step"]', 1),
    ('transformers.Adafactor', '["exp_avg_sq_row", "exp_avg_sq_col"]', '["step", "RMS"]', NULL),
    ('transformers.Adafactor', '["exp_avg_sq"]', '["step", "RMS"]', 1),
    ('transformers.Adafactor with beta1', '["exp_avg_sq_row", "exp_avg_sq_col", "exp_avg"]', '["step", "RMS"]', NULL),
    ('transformers.Adafactor with beta1', '["exp_avg_sq", "exp_avg"]', '["step", "RMS"]', 1),
    ('Lion', '["exp_avg"]', '["step"]', NULL),
    ('bitsandbytes.Adam8bit, AdamW8bit', '["state1", "state2", "qmap1", "qmap2", "absmax1", "absmax2"]', '["step", "new_max1", "new_max2"]', NULL),
    ('bitsandbytes.Adam8bit, AdamW8bit', '["state1", "state2"]', '["step"]', NULL),
    ('bitsandbytes.LAMB8bit', '["state1", "state2", "qmap1", "qmap2", "absmax1", "absmax2", "unorm_vec"]', '["step", "new_max1", "new_max2"]', NULL),
    ('bitsandbytes.LAMB8bit', '["state1", "state2", "unorm_vec"]', '["step"]', NULL),
    ('bitsandbytes.Lion8bit, SGD8bit, RMSprop8bit, Adagrad8bit', '["state1", "qmap1", "absmax1"]', '["step", "new_max1"]', NULL),
    ('bitsandbytes.Lion8bit, SGD8bit, RMSprop8bit, Adagrad8bit', '["state1"]', '["step"]', NULL);
CREATE UNIQUE INDEX names_by_name ON names(name);
CREATE INDEX layout_tensors_by_name ON layout_tensors(name);
CREATE INDEX layout_tensors_by_size ON layout_tensors(nbytes);
CREATE INDEX checkpoints_by_layout ON checkpoints(layout);
CREATE INDEX checkpoints_by_run ON checkpoints(run, step);
CREATE INDEX issues_by_checkpoint ON issues(checkpoint);
COMMIT;
PRAGMA user_version=4; PRAGMA application_id=1667985524;
