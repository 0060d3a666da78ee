-- shared.sql - what a checkpoint has that another one has, too: its own hashed tensors, each once,
-- wherever they lie. `WHERE checkpoint_id = ...` costs that checkpoint alone; without it all pairs are counted.
WITH pair AS (
  SELECT DISTINCT c.id AS checkpoint_id, y.id >> 24 AS other_id, x.id AS tensor_id, t.nbytes
  FROM checkpoints c
  -- From the checkpoint to its hashes: the filter on c comes first.
  CROSS JOIN tensor_hashes x ON x.id BETWEEN c.id << 24 AND (c.id << 24) + 16777215
  CROSS JOIN tensor_hashes y ON y.hash = x.hash AND y.id >> 24 <> c.id
  JOIN layout_tensors t ON t.id = (c.layout << 24) + (x.id & 16777215)
  WHERE $checkpoint_id IS NULL OR c.id = $checkpoint_id
)
SELECT p.checkpoint_id, a.name AS checkpoint, p.other_id, b.name AS other,
       count(*) AS tensors, sum(p.nbytes) AS nbytes
FROM pair p
JOIN labels a ON a.id = p.checkpoint_id
JOIN labels b ON b.id = p.other_id
GROUP BY p.checkpoint_id, p.other_id
