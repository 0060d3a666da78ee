-- 1_checkpoints.sql - which checkpoints of the attached catalog `source` are here, in the temporary tables of 0_tables.sql.
--
-- merge_path(path) is a path as it is here, merge_moved(path) whether --relocate moved it, and
-- merge_device(path, device) the device here: devices of another machine (--host) have numbers of their own. merge_fresh()
-- counts 1, 2, ... in each catalog. merge_places(): some paths differ here.
DELETE FROM merge_checkpoint;
DELETE FROM merge_first;

-- The checkpoints, with ids in the same order as there. If two get one path, the later import counts.
INSERT INTO merge_checkpoint(id, path, here, fresh, known, taken, same, imported)
SELECT c.id, c.path, t.id, iif(t.id IS NULL, (SELECT coalesce(max(id), 0) FROM main._checkpoints) + merge_fresh(), NULL),
       t.id IS NOT NULL, t.id IS NULL OR c.imported > t.imported, 0, c.imported
FROM (SELECT id, imported, merge_path(path) AS path FROM source._checkpoints) c
LEFT JOIN main._checkpoints t ON t.path = c.path;
DELETE FROM merge_checkpoint
WHERE merge_places()
  AND id NOT IN (SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY path ORDER BY imported DESC, id) AS n
                                 FROM merge_checkpoint) WHERE n = 1);

-- Files that were moved between the two imports: the first file tells which checkpoint they may be, if that
-- is not there under its own path, too (then it is a link).
INSERT INTO merge_first
SELECT f.inode, f.size, f.mtime_ns, merge_device(f.path, f.device) AS device, m.id
FROM merge_checkpoint m JOIN source._files f ON f.id = ID_FIRST(m.id)
WHERE NOT m.known AND f.inode IS NOT NULL;

-- The first files here are read once for all catalogs, and again if another program wrote meanwhile; what is merged is
-- added (6_rows.sql). A row that is out of date does no harm: it leads to a file that has changed by now.
DELETE FROM merge_read WHERE version <> (SELECT data_version FROM pragma_data_version);
INSERT OR IGNORE INTO merge_inode
SELECT f.inode, t.id
FROM (SELECT 1 FROM merge_first WHERE NOT EXISTS (SELECT 1 FROM merge_read) LIMIT 1)
CROSS JOIN main._checkpoints t
CROSS JOIN main._files f ON f.id = ID_FIRST(t.id)
WHERE f.inode IS NOT NULL
ORDER BY f.inode, t.id;
INSERT INTO merge_read
SELECT data_version FROM pragma_data_version
WHERE EXISTS (SELECT 1 FROM merge_first) AND NOT EXISTS (SELECT 1 FROM merge_read);
