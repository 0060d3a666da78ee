-- 8_content.sql - hashes, statistics and findings of `verify`: for checkpoints taken over, and for checkpoints here with the
-- same files.
INSERT OR IGNORE INTO main._content_hashes(hash)
SELECT h.hash
FROM merge_checkpoint m
CROSS JOIN source._tensor_hashes x ON x.id BETWEEN ID_FIRST(m.id) AND ID_LAST(m.id)
CROSS JOIN source._content_hashes h ON h.id = x.hash
WHERE m.taken OR m.same;
INSERT OR IGNORE INTO main._tensor_hashes
SELECT ID_FIRST(m.target) + ID_ORD(x.id), here.id
FROM merge_checkpoint m
CROSS JOIN source._tensor_hashes x ON x.id BETWEEN ID_FIRST(m.id) AND ID_LAST(m.id)
CROSS JOIN source._content_hashes h ON h.id = x.hash
CROSS JOIN main._content_hashes here ON here.hash = h.hash
WHERE m.taken OR m.same;
INSERT OR IGNORE INTO main._checkpoint_hashes
SELECT m.target, h.hash FROM merge_checkpoint m CROSS JOIN source._checkpoint_hashes h ON h.id = m.id
WHERE m.taken OR m.same;

-- Tensors without statistics here get theirs: the row of their hash and dtype, if there is one, else a new one, which
-- tensors of one hash and dtype share.
DELETE FROM merge_statistic;
INSERT INTO merge_statistic
SELECT ID_FIRST(m.target) + ID_ORD(x.id), s.id, h.hash, s.dtype, known.id
FROM merge_checkpoint m
CROSS JOIN source._tensor_statistics x ON x.id BETWEEN ID_FIRST(m.id) AND ID_LAST(m.id)
CROSS JOIN source._statistics s ON s.id = x.statistics
LEFT JOIN main._tensor_hashes h ON h.id = ID_FIRST(m.target) + ID_ORD(x.id)
LEFT JOIN main._statistics known ON known.hash = h.hash AND known.dtype = s.dtype
WHERE (m.taken OR m.same)
  AND NOT EXISTS (SELECT 1 FROM main._tensor_statistics t WHERE t.id = ID_FIRST(m.target) + ID_ORD(x.id));
UPDATE merge_statistic SET target = n.target
FROM (SELECT tensor, (SELECT coalesce(max(id), 0) FROM main._statistics)
             + dense_rank() OVER (ORDER BY hash, dtype, iif(hash IS NULL, origin, 0)) AS target
      FROM merge_statistic WHERE target IS NULL) AS n
WHERE n.tensor = merge_statistic.tensor;
INSERT INTO main._statistics
SELECT n.target, n.hash, s.dtype, s.elements, s.finite, s.zeros, s.nans, s.infs, s.subnormals, s.min, s.max, s.mean,
       s.std, s.l2, s.histogram
FROM (SELECT target, hash, min(origin) AS origin FROM merge_statistic
      WHERE target > (SELECT coalesce(max(id), 0) FROM main._statistics) GROUP BY target) n
JOIN source._statistics s ON s.id = n.origin
ORDER BY n.target;
INSERT INTO main._tensor_statistics SELECT tensor, target FROM merge_statistic ORDER BY tensor;

-- The later verification counts.
DELETE FROM main._damages WHERE checkpoint IN
  (SELECT m.target FROM merge_checkpoint m JOIN source._verifications v ON v.id = m.id
   JOIN main._verifications k ON k.id = m.target WHERE m.same AND v.at > k.at);
DELETE FROM main._verifications WHERE id IN
  (SELECT m.target FROM merge_checkpoint m JOIN source._verifications v ON v.id = m.id
   JOIN main._verifications k ON k.id = m.target WHERE m.same AND v.at > k.at);
INSERT INTO main._damages
SELECT m.target, d.name, merge_path(d.file), d.offset, d.code, d.message
FROM merge_checkpoint m CROSS JOIN source._damages d ON d.checkpoint = m.id
WHERE (m.taken OR m.same) AND NOT EXISTS (SELECT 1 FROM main._verifications k WHERE k.id = m.target)
  AND NOT EXISTS (SELECT 1 FROM main._damages k WHERE k.checkpoint = m.target)
ORDER BY d.rowid;
INSERT OR IGNORE INTO main._verifications
SELECT m.target, v.at, v.quick, v.open FROM merge_checkpoint m CROSS JOIN source._verifications v ON v.id = m.id
WHERE m.taken OR m.same;
