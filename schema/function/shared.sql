-- shared.sql - what a checkpoint has in common with each other one: its hashed tensors that the
-- other has, too, each counted once, wherever they are stored; the same for the other (other_tensors); and their
-- distinct contents, equally many from both sides: a checkpoint may hold a content more than once.
-- `WHERE checkpoint_id = ...` computes only the pairs of this checkpoint.
WITH own AS MATERIALIZED (
  SELECT c.id AS checkpoint_id, x.hash, count(*) AS tensors, sum(t.nbytes) AS nbytes, min(t.nbytes) AS content
  FROM _checkpoints c
  -- CROSS JOIN: filter the checkpoints first, then look up their hashes.
  CROSS JOIN _tensor_hashes x ON x.id BETWEEN ID_FIRST(c.id) AND ID_LAST(c.id)
  JOIN _layout_tensors t ON t.id = ID_FIRST(c.layout) + ID_ORD(x.id)
  WHERE $checkpoint_id IS NULL OR c.id = $checkpoint_id
  GROUP BY c.id, x.hash
), meeting AS (
  -- If another checkpoint has several tensors of one hash, the first counts.
  SELECT o.*, ID_OWNER(y.id) AS other_id, NOT EXISTS (SELECT 1 FROM _tensor_hashes z
           WHERE z.hash = y.hash AND z.id BETWEEN ID_FIRST(ID_OWNER(y.id)) AND y.id - 1) AS first
  FROM own o CROSS JOIN _tensor_hashes y ON y.hash = o.hash AND ID_OWNER(y.id) <> o.checkpoint_id
), pair AS (
  SELECT checkpoint_id, other_id, sum(first * tensors) AS tensors, sum(first * nbytes) AS nbytes, count(*) AS other_tensors,
         sum(first) AS contents, sum(first * content) AS content_nbytes
  FROM meeting
  GROUP BY other_id, checkpoint_id  -- (In this order it sorts faster.)
)
SELECT p.checkpoint_id, a.name AS checkpoint, p.other_id, b.name AS other, p.tensors, p.nbytes,
       p.other_tensors, p.contents, p.content_nbytes, (p.checkpoint_id << 31) + p.other_id AS id
FROM pair p
JOIN _labels a ON a.id = p.checkpoint_id
JOIN _labels b ON b.id = p.other_id
