-- shared.sql - what a checkpoint has that another one has, too: its own hashed tensors, each once,
-- wherever they lie. `WHERE checkpoint_id = ...` costs that checkpoint alone; without it all pairs are counted.
WITH own AS MATERIALIZED (
  SELECT c.id AS checkpoint_id, x.hash, count(*) AS tensors, sum(t.nbytes) AS nbytes
  FROM checkpoints c
  -- From the checkpoint to its hashes: the filter on c comes first.
  CROSS JOIN tensor_hashes x ON x.id BETWEEN ID_FIRST(c.id) AND ID_LAST(c.id)
  JOIN layout_tensors t ON t.id = ID_FIRST(c.layout) + ID_ORD(x.id)
  WHERE $checkpoint_id IS NULL OR c.id = $checkpoint_id
  GROUP BY c.id, x.hash
), pair AS (
  -- Of another checkpoint's tensors with one hash, the first counts.
  SELECT o.checkpoint_id, ID_OWNER(y.id) AS other_id, sum(o.tensors) AS tensors, sum(o.nbytes) AS nbytes
  FROM own o CROSS JOIN tensor_hashes y ON y.hash = o.hash AND ID_OWNER(y.id) <> o.checkpoint_id
  WHERE NOT EXISTS (SELECT 1 FROM tensor_hashes z WHERE z.hash = y.hash AND z.id BETWEEN ID_FIRST(ID_OWNER(y.id)) AND y.id - 1)
  GROUP BY ID_OWNER(y.id), o.checkpoint_id  -- (Sorts quicker by what differs.)
)
SELECT p.checkpoint_id, a.name AS checkpoint, p.other_id, b.name AS other, p.tensors, p.nbytes,
       (p.checkpoint_id << 31) + p.other_id AS id
FROM pair p
JOIN labels a ON a.id = p.checkpoint_id
JOIN labels b ON b.id = p.other_id
