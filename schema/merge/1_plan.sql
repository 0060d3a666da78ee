-- 1_plan.sql - what merging the attached catalog `source` means, in the temporary tables of 0_tables.sql.
--
-- merge_path(path) is a path as it is called here, merge_moved(path) whether --relocate moved it, and
-- merge_device(path, device) the device here: those of another machine (--host) are numbers of their own.
DELETE FROM merge_checkpoint;
DELETE FROM merge_first;
DELETE FROM merge_layout;
DELETE FROM merge_meta;

-- The checkpoints. Of two that come to one path the later import counts.
INSERT INTO merge_checkpoint
SELECT c.id, c.path, t.id, t.id IS NOT NULL, t.id IS NULL OR c.imported > t.imported, 0
FROM (SELECT id, imported, merge_path(path) AS path FROM source._checkpoints) c
LEFT JOIN main._checkpoints t ON t.path = c.path
WHERE true ORDER BY c.imported DESC, c.id
ON CONFLICT(path) DO NOTHING;

-- Files that were moved between the two imports: the first file tells which checkpoint they may be, if that
-- is not there under its own path, too (then it is a link).
INSERT INTO merge_first
SELECT f.inode, f.size, f.mtime_ns, merge_device(f.path, f.device) AS device, m.id
FROM merge_checkpoint m JOIN source._files f ON f.id = ID_FIRST(m.id)
WHERE NOT m.known AND f.inode IS NOT NULL;

-- The first files here are read once for all catalogs, and again if another program wrote meanwhile; what is merged is
-- added (2_rows.sql). A row that is out of date does no harm: it leads to a file that is another by now.
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
UPDATE merge_checkpoint SET target = pair.target, known = 2
FROM (SELECT id, target, row_number() OVER (PARTITION BY id ORDER BY target) AS a,
             row_number() OVER (PARTITION BY target ORDER BY id) AS b
      FROM (SELECT s.id, t.id AS target
            FROM merge_first s
            CROSS JOIN merge_inode i ON i.inode = s.inode
            CROSS JOIN main._files f
              ON f.id = ID_FIRST(i.checkpoint)
                 AND f.inode = s.inode AND f.size = s.size AND f.mtime_ns = s.mtime_ns AND f.device = s.device
            CROSS JOIN main._checkpoints t ON t.id = i.checkpoint
            WHERE t.path NOT IN (SELECT path FROM merge_checkpoint))) AS pair
WHERE pair.id = merge_checkpoint.id AND pair.a = 1 AND pair.b = 1;

UPDATE merge_checkpoint SET same = 1
WHERE known
  AND EXISTS (SELECT 1 FROM source._checkpoints c JOIN source._layouts l ON l.id = c.layout,
                            main._checkpoints t JOIN main._layouts k ON k.id = t.layout
              WHERE c.id = merge_checkpoint.id AND t.id = merge_checkpoint.target
                AND c.format = t.format AND c.files = t.files AND l.logical = k.logical)
  AND NOT EXISTS
    (SELECT 1
     FROM source._files f
     LEFT JOIN main._files g ON g.id = ID_FIRST(merge_checkpoint.target) + ID_ORD(f.id)
     WHERE f.id BETWEEN ID_FIRST(merge_checkpoint.id) AND ID_LAST(merge_checkpoint.id)
       AND (g.id IS NULL OR g.size IS NOT f.size OR g.mtime_ns IS NOT f.mtime_ns
            OR NOT (merge_moved(f.path) OR (g.inode IS f.inode AND g.device IS merge_device(f.path, f.device)))));
UPDATE merge_checkpoint SET target = NULL, known = 0 WHERE known = 2 AND NOT same;
UPDATE merge_checkpoint
SET taken = (SELECT imported FROM source._checkpoints c WHERE c.id = merge_checkpoint.id)
          > (SELECT imported FROM main._checkpoints t WHERE t.id = merge_checkpoint.target)
WHERE known = 2;

UPDATE merge_checkpoint SET target = n.target
FROM (SELECT id, (SELECT coalesce(max(id), 0) FROM main._checkpoints) + row_number() OVER (ORDER BY id) AS target
      FROM merge_checkpoint WHERE target IS NULL) AS n
WHERE n.id = merge_checkpoint.id;

-- What they share, by its digests.
INSERT INTO merge_layout
SELECT l.id, t.id, t.id IS NOT NULL, t.id IS NOT NULL AND t.placement <> l.placement
FROM source._layouts l LEFT JOIN main._layouts t ON t.logical = l.logical
WHERE l.id IN (SELECT c.layout FROM merge_checkpoint m JOIN source._checkpoints c ON c.id = m.id WHERE m.taken);
UPDATE merge_layout SET target = n.target
FROM (SELECT id, (SELECT coalesce(max(id), 0) FROM main._layouts) + row_number() OVER (ORDER BY id) AS target
      FROM merge_layout WHERE NOT known) AS n
WHERE n.id = merge_layout.id;

INSERT INTO merge_meta
SELECT x.id, t.id, t.id IS NOT NULL
FROM source._metas x LEFT JOIN main._metas t ON t.digest = x.digest
WHERE x.id IN (SELECT c.meta FROM merge_checkpoint m JOIN source._checkpoints c ON c.id = m.id WHERE m.taken);
UPDATE merge_meta SET target = n.target
FROM (SELECT id, (SELECT coalesce(max(id), 0) FROM main._metas) + row_number() OVER (ORDER BY id) AS target
      FROM merge_meta WHERE NOT known) AS n
WHERE n.id = merge_meta.id;
