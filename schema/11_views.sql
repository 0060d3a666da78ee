-- 11_views.sql - more public views that need nothing but SQLite (10_views.sql). `verify` indexes once more
-- into a scratch catalog, which has neither these nor what follows.

CREATE VIEW checkpoint AS
SELECT c.id, n.name, c.path, c.format, n.run, c.run AS run_path, c.step, c.item,
       iif(EXISTS (SELECT 1 FROM _issues i WHERE i.checkpoint = c.id AND i.code = 'gone'), 'gone', n.state) AS state,
       coalesce((SELECT a.first FROM _layout_alike a WHERE a.id = c.layout), c.layout) AS layout,
       l.tensors, l.parameters, l.nbytes, c.stored, c.files,
       strftime('%Y-%m-%d %H:%M:%S', c.mtime_ns / 1000000000, 'unixepoch') AS mtime,
       strftime('%Y-%m-%d %H:%M:%S', c.imported, 'unixepoch') AS imported,
       (SELECT h.hash FROM _checkpoint_hashes h WHERE h.id = c.id) AS hash
FROM _checkpoints c
JOIN _layouts l ON l.id = c.layout
JOIN _labels n ON n.id = c.id;

CREATE VIEW file AS
SELECT f.id, c.id AS checkpoint_id, f.path, f.size, f.mtime_ns, f.inode, f.device, f.role
FROM _checkpoints c
JOIN _files f
  ON f.id BETWEEN ID_FIRST(c.id) AND ID_LAST(c.id)
 AND c.id = ID_OWNER(f.id);

-- NOT INDEXED here and below: see metadata (10_views.sql).
CREATE VIEW node AS
SELECT c.id AS checkpoint_id, x.name, x.kind
FROM _checkpoints c
JOIN _layout_nodes x NOT INDEXED
  ON x.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
 AND c.layout = ID_OWNER(x.id);

CREATE VIEW issue AS
SELECT i.id, i.checkpoint AS checkpoint_id, l.name AS checkpoint, i.path, i.offset,
       i.severity, i.code, i.message
FROM _issues i
LEFT JOIN _labels l ON l.id = i.checkpoint;

CREATE VIEW by_dtype AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint, d.dtype, d.tensors, d.parameters,
       d.nbytes
FROM _checkpoints c
JOIN _layout_dtypes d NOT INDEXED
  ON d.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
 AND c.layout = ID_OWNER(d.id)
LEFT JOIN _labels l ON l.id = c.id;

-- Most modules of a single tensor have no row in _layout_modules: the second half derives them from
-- the tensor's row. (Thanks to the casts, columns of both halves have the same affinity, which
-- SQLite requires for moving a WHERE into each half.)
CREATE VIEW by_module AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint,
       substr(n.name, 1, m.length) AS module, m.depth, m.tensors, m.parameters, m.nbytes
FROM _checkpoints c
JOIN _layout_modules m NOT INDEXED
  ON m.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
 AND c.layout = ID_OWNER(m.id)
JOIN _layout_tensors n ON n.id = ID_FIRST(ID_OWNER(m.id)) + m.tensor
LEFT JOIN _labels l ON l.id = c.id
UNION ALL
SELECT t.checkpoint_id,
       t.checkpoint,
       substr(t.name, 1, t.module),
       CAST(t.module + 1 - length(replace(substr(t.name, 1, t.module),
                                          substr(t.name, t.module + 1, 1), '')) AS INTEGER),
       CAST(1 AS INTEGER),
       CAST(iif(t.dtype IN ('string', 'variant', 'resource'), 0, coalesce(t.elements, 0))
            AS INTEGER),
       CAST(coalesce(t.nbytes, 0) AS INTEGER)
FROM _checkpoint_tensors t
WHERE t.module;

-- Each tensor of each layout, and how many checkpoints have this layout: a query over all
-- tensors, such as sum(nbytes * checkpoints), reads each layout once. ID_OWNER finds the layouts of tensors that a join found
-- by name.
CREATE VIEW by_name AS
SELECT t.name, t.dtype, t.shape, t.elements, t.nbytes, l.checkpoints
FROM (SELECT layout, count(*) AS checkpoints FROM _checkpoints GROUP BY layout) l
JOIN _layout_tensors t
  ON t.id BETWEEN ID_FIRST(l.layout) AND ID_LAST(l.layout)
 AND l.layout = ID_OWNER(t.id);

-- In connections of the program the table `tensor` answers it (sql_cover_views()), so that a LIMIT stops
-- early.
CREATE VIEW largest AS
SELECT t.checkpoint_id, t.checkpoint, t.name, t.dtype, t.shape, t.nbytes
FROM _checkpoint_tensors t
ORDER BY t.nbytes DESC;

-- Disk usage by run and folder. A file with several names counts once, in the first folder; files
-- of chunks are not listed in `_files`, so they are not counted.
CREATE VIEW disk AS
SELECT run, folder, count(*) AS files, sum(size) AS bytes
FROM (SELECT n.run AS run,
             rtrim(rtrim(f.path, replace(f.path, '/', '')), '/') AS folder,
             f.size AS size,
             min(f.path)
      FROM _files f
      JOIN _labels n ON n.id = ID_OWNER(f.id)
      WHERE f.size IS NOT NULL AND f.role NOT IN ('directory', 'chunks')
      GROUP BY f.device, f.inode)
GROUP BY run, folder;
