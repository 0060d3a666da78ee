-- 2_known.sql - checkpoints that are here at another path, and checkpoints whose files are the ones here.
UPDATE merge_checkpoint SET here = pair.target, known = 2
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
UPDATE merge_checkpoint SET here = NULL, known = 0 WHERE known = 2 AND NOT same;
UPDATE merge_checkpoint
SET taken = imported > (SELECT t.imported FROM main._checkpoints t WHERE t.id = merge_checkpoint.target)
WHERE known = 2;
