-- 12_leaf.sql - what a map sees of a checkpoint: its tensors and its null leaves, in the
-- file's order, which is that of `place`. Empty containers take no part. (+kind: SQLite
-- would rather make an index of the whole table on it than take the range of ids.)
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
