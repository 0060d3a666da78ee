-- 10_views.sql - the public views that need nothing but SQLite 3.40.
--
-- A tensor's id is checkpoint << 24 | ord. The two conditions that join layout_tensors
-- both ways (by range for one checkpoint, by shift for one name) are both needed.

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
       json_array_length(t.shape) AS rank,
       t.elements,
       t.nbytes,
       iif(c.placed, p.stored, t.stored) AS stored,
       CASE iif(c.placed, p.storage, t.storage)
         WHEN 1 THEN 'range' WHEN 2 THEN 'pieces' WHEN 3 THEN 'chunks'
         WHEN 4 THEN 'inline' ELSE 'none' END AS storage,
       f.path AS file,
       iif(iif(c.placed, p.storage, t.storage) = 1,
           iif(c.placed, p.start, t.start) + f.base, NULL) AS offset
FROM checkpoints c
JOIN layout_tensors t
  ON t.id BETWEEN c.layout << 24 AND (c.layout << 24) + 16777215
 AND c.layout = t.id >> 24
JOIN names n ON n.id = t.name
LEFT JOIN placements p ON p.id = (c.id << 24) + (t.id & 16777215)
LEFT JOIN files f ON f.id = (c.id << 24) + iif(c.placed, p.file, t.file);

CREATE VIEW file AS
SELECT id, id >> 24 AS checkpoint_id, path, size, mtime_ns, inode, device, role
FROM files;

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
JOIN names n ON n.id = m.name;

CREATE VIEW largest AS
SELECT c.id AS checkpoint_id, n.name, t.dtype, t.shape, t.nbytes
FROM checkpoints c
JOIN layout_tensors t
  ON t.id BETWEEN c.layout << 24 AND (c.layout << 24) + 16777215
 AND c.layout = t.id >> 24
JOIN names n ON n.id = t.name
ORDER BY t.nbytes DESC, n.name, c.id;
