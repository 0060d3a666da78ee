-- 13_content.sql - hashes, as views.

-- A look-up by hash: `WHERE hash = '…'` finds its tensors through an index.
CREATE VIEW content AS
SELECT h.hash, x.id AS tensor_id, x.id >> 24 AS checkpoint_id
FROM content_hashes h JOIN tensor_hashes x ON x.hash = h.id;

-- Equal tensors that are stored more than once. A place is where a tensor's bytes begin: hard links,
-- symbolic links to one file and tied tensors of one file share theirs, and are no waste.
CREATE VIEW duplicate AS
WITH placed AS (
  SELECT x.hash, t.dtype, t.shape, t.nbytes, x.id,
         f.device || ':' || f.inode || ':' ||
         CASE WHEN c.placed THEN coalesce(p.start + f.base, 'x' || x.id)
              WHEN t.storage = 1 THEN t.start + f.base ELSE 'x' || (t.id & 16777215) END AS place
  FROM (SELECT hash FROM tensor_hashes GROUP BY hash HAVING count(*) > 1) h
  JOIN tensor_hashes x ON x.hash = h.hash
  JOIN checkpoints c ON c.id = x.id >> 24
  JOIN layout_tensors t ON t.id = (c.layout << 24) + (x.id & 16777215)
  LEFT JOIN placements p ON c.placed AND p.id = x.id AND p.storage = 1
  LEFT JOIN files f ON f.id = (c.id << 24) + coalesce(p.file, t.file, 0)
)
SELECT (SELECT h.hash FROM content_hashes h WHERE h.id = d.hash) AS hash, d.dtype, d.shape, d.nbytes,
       count(DISTINCT d.place) AS copies,
       (count(DISTINCT d.place) - 1) * d.nbytes AS wasted,
       '[' || group_concat(d.id) || ']' AS tensor_ids
FROM placed d
GROUP BY d.hash, d.dtype, d.shape
HAVING count(DISTINCT d.place) > 1;
