-- 12_leaf.sql - what a map sees of a checkpoint: its tensors and its null leaves, in the
-- file's order, which is that of `place`. Empty containers take no part. (+kind: SQLite
-- would rather make an index of the whole table on it than take the range of ids.)
CREATE VIEW leaf AS
SELECT checkpoint_id, (ord << 25) + (1 << 24) AS place, name, tensor_id, dtype, shape
FROM checkpoint_tensors
UNION ALL
SELECT c.id, (x.before << 25) + (x.id & 16777215), x.name, NULL, CAST(NULL AS TEXT),
       CAST(NULL AS TEXT)
FROM checkpoints c
JOIN layout_nodes x
  ON x.id BETWEEN c.layout << 24 AND (c.layout << 24) + 16777215
 AND c.layout = x.id >> 24
WHERE +x.kind = 'null';
