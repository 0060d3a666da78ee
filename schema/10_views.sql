-- 10_views.sql - the public views that need nothing but SQLite 3.40.
--
-- A tensor's id is ID_FIRST(checkpoint) + ord (README.md, "Tables").
-- No JSON functions here: SQLite 3.40 refuses them in views where trusted_schema is off.

CREATE VIEW checkpoint AS
SELECT c.id, n.name, c.path, c.format, c.run, c.step, c.item, n.state, c.layout,
       l.tensors, l.parameters, l.nbytes, c.stored, c.files,
       strftime('%Y-%m-%d %H:%M:%S', c.mtime_ns / 1000000000, 'unixepoch') AS mtime,
       strftime('%Y-%m-%d %H:%M:%S', c.imported, 'unixepoch') AS imported,
       (SELECT h.hash FROM checkpoint_hashes h WHERE h.id = c.id) AS hash
FROM checkpoints c
JOIN layouts l ON l.id = c.layout
JOIN labels n ON n.id = c.id;

-- Each tensor of each checkpoint: its columns in the layout, its position there (ord), its id, and
-- the checkpoint's first id, from which its files are numbered. The views below are built on this
-- one. Both conditions of the join are needed: the range finds the tensors of a checkpoint;
-- ID_OWNER finds the checkpoints of a tensor that was found by its name.
CREATE VIEW checkpoint_tensors AS
SELECT c.id AS checkpoint_id, c.path, c.placed, ID_FIRST(c.id) AS first_id,
       ID_FIRST(c.id) + ID_ORD(t.id) AS tensor_id, ID_ORD(t.id) AS ord, t.name,
       t.dtype, t.shape, t.elements, t.nbytes, t.module, t.storage, t.file, t.start, t.stored
FROM checkpoints c
JOIN layout_tensors t
  ON t.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
 AND c.layout = ID_OWNER(t.id);

-- Columns that few queries use (where the bytes are stored) come from scalar subqueries, not from
-- outer joins, so that an aggregate over the view does not compute them.
CREATE VIEW tensor AS
SELECT t.tensor_id AS id, t.checkpoint_id, t.path AS checkpoint, t.ord, t.name, t.dtype, t.shape,
       iif(t.shape = '[]', 0, length(t.shape) - length(replace(t.shape, ',', '')) + 1)
         AS rank,
       t.elements,
       t.nbytes,
       iif(t.placed, (SELECT p.stored FROM placements p WHERE p.id = t.tensor_id), t.stored)
         AS stored,
       CASE iif(t.placed, (SELECT p.storage FROM placements p WHERE p.id = t.tensor_id),
                t.storage)
         WHEN 1 THEN 'range' WHEN 2 THEN 'pieces' WHEN 3 THEN 'chunks'
         WHEN 4 THEN 'inline' ELSE 'none' END AS storage,
       (SELECT f.path FROM files f
        WHERE f.id = t.first_id + iif(t.placed,
            (SELECT p.file FROM placements p WHERE p.id = t.tensor_id), t.file)) AS file,
       iif(t.placed,
           (SELECT p.start + f.base FROM placements p
            JOIN files f ON f.id = t.first_id + p.file
            WHERE p.id = t.tensor_id AND p.storage = 1),
           iif(t.storage = 1,
               t.start + (SELECT f.base FROM files f WHERE f.id = t.first_id + t.file),
               NULL)) AS offset,
       (SELECT h.hash FROM tensor_hashes x JOIN content_hashes h ON h.id = x.hash
        WHERE x.id = t.tensor_id) AS hash
FROM checkpoint_tensors t;

CREATE VIEW file AS
SELECT f.id, c.id AS checkpoint_id, f.path, f.size, f.mtime_ns, f.inode, f.device, f.role
FROM checkpoints c
JOIN files f
  ON f.id BETWEEN ID_FIRST(c.id) AND ID_LAST(c.id)
 AND c.id = ID_OWNER(f.id);

-- (LEFT JOIN labels: SQLite omits an outer join if the query does not use its columns.)
CREATE VIEW metadata AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint, m.key,
       coalesce(m.value, (SELECT t.text FROM long_facts f JOIN long_texts t ON t.id = f.text
                          WHERE f.id = m.id)) AS value
FROM checkpoints c
JOIN meta_facts m ON m.id BETWEEN ID_FIRST(c.meta) AND ID_LAST(c.meta)
LEFT JOIN labels l ON l.id = c.id;

CREATE VIEW node AS
SELECT c.id AS checkpoint_id, x.name, x.kind
FROM checkpoints c
JOIN layout_nodes x
  ON x.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
 AND c.layout = ID_OWNER(x.id);

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
  ON d.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
 AND c.layout = ID_OWNER(d.id)
LEFT JOIN labels l ON l.id = c.id;

-- Most modules of a single tensor have no row in layout_modules: the second half derives them from
-- the tensor's row. (Thanks to the casts, columns of both halves have the same affinity, which
-- SQLite requires for moving a WHERE into each of them.)
CREATE VIEW by_module AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint,
       substr(n.name, 1, m.length) AS module, m.depth, m.tensors, m.parameters, m.nbytes
FROM checkpoints c
JOIN layout_modules m
  ON m.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
 AND c.layout = ID_OWNER(m.id)
JOIN layout_tensors n ON n.id = ID_FIRST(c.layout) + m.tensor
LEFT JOIN labels l ON l.id = c.id
UNION ALL
SELECT t.checkpoint_id,
       l.name,
       substr(t.name, 1, t.module),
       CAST(t.module + 1 - length(replace(substr(t.name, 1, t.module),
                                          substr(t.name, t.module + 1, 1), '')) AS INTEGER),
       CAST(1 AS INTEGER),
       CAST(iif(t.dtype IN ('string', 'variant', 'resource'), 0, coalesce(t.elements, 0))
            AS INTEGER),
       CAST(coalesce(t.nbytes, 0) AS INTEGER)
FROM checkpoint_tensors t
LEFT JOIN labels l ON l.id = t.checkpoint_id
WHERE t.module;

-- Each distinct tensor of the catalog, and how many checkpoints have it: a query over all
-- tensors, such as sum(nbytes * checkpoints), reads each layout once.
CREATE VIEW by_name AS
SELECT t.name, t.dtype, t.shape, t.elements, t.nbytes, l.checkpoints
FROM (SELECT layout, count(*) AS checkpoints FROM checkpoints GROUP BY layout) l
JOIN layout_tensors t
  ON t.id BETWEEN ID_FIRST(l.layout) AND ID_LAST(l.layout);

-- Sorted by an index, so that a LIMIT stops early.
CREATE VIEW largest AS
SELECT t.checkpoint_id, l.name AS checkpoint, t.name, t.dtype, t.shape, t.nbytes
FROM checkpoint_tensors t
LEFT JOIN labels l ON l.id = t.checkpoint_id
ORDER BY t.nbytes DESC;

-- Disk usage by run and folder. A file with several names counts once, in the first folder; files
-- of chunks are not listed in `files`, so they are not counted.
CREATE VIEW disk AS
SELECT run, folder, count(*) AS files, sum(size) AS bytes
FROM (SELECT c.run AS run,
             rtrim(rtrim(f.path, replace(f.path, '/', '')), '/') AS folder,
             f.size AS size,
             min(f.path)
      FROM files f
      JOIN checkpoints c ON c.id = ID_OWNER(f.id)
      WHERE f.size IS NOT NULL AND f.role NOT IN ('directory', 'chunks')
      GROUP BY f.device, f.inode)
GROUP BY run, folder;
