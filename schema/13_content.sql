-- 13_content.sql - hashes, as views.

-- A look-up by hash: `WHERE hash = '…'` finds its tensors through an index.
CREATE VIEW content AS
SELECT h.hash, x.id AS tensor_id, x.id >> 24 AS checkpoint_id
FROM content_hashes h JOIN tensor_hashes x ON x.hash = h.id;

-- Hashed tensors whose content another one has too, with the place where their bytes begin: hard
-- links, symbolic links to one file and tied tensors of one file share theirs, and are no waste.
-- A place is an integer where it can be: counting distinct texts takes longer than all the joins.
CREATE VIEW copy AS
WITH store AS MATERIALIZED (
  SELECT id, base,
         iif(inode IS NULL, NULL, dense_rank() OVER (ORDER BY device, inode)) AS number
  FROM files
)
SELECT x.hash AS content, t.dtype, t.shape, t.nbytes, x.id AS tensor_id, c.id AS checkpoint_id,
       CASE WHEN c.placed AND p.id IS NULL THEN 'tensor ' || x.id
            WHEN NOT c.placed AND t.storage <> 1 THEN -(f.number << 24) - (t.id & 16777215)
            WHEN f.number >> 22 OR iif(c.placed, p.start, t.start) + f.base >> 40
            THEN f.number || ':' || (iif(c.placed, p.start, t.start) + f.base)
            ELSE (f.number << 40) + iif(c.placed, p.start, t.start) + f.base END AS place
FROM (SELECT hash FROM tensor_hashes GROUP BY hash HAVING count(*) > 1) h
JOIN tensor_hashes x ON x.hash = h.hash
JOIN checkpoints c ON c.id = x.id >> 24
JOIN layout_tensors t ON t.id = (c.layout << 24) + (x.id & 16777215)
LEFT JOIN placements p ON c.placed AND p.id = x.id AND p.storage = 1
LEFT JOIN store f ON f.id = (c.id << 24) + coalesce(p.file, t.file, 0);

-- Equal tensors that are stored more than once.
CREATE VIEW duplicate AS
SELECT (SELECT h.hash FROM content_hashes h WHERE h.id = d.content) AS hash, d.dtype, d.shape, d.nbytes,
       count(DISTINCT d.place) AS copies,
       (count(DISTINCT d.place) - 1) * d.nbytes AS wasted,
       '[' || group_concat(d.tensor_id) || ']' AS tensor_ids
FROM copy d
GROUP BY d.content, d.dtype, d.shape
HAVING count(DISTINCT d.place) > 1;

-- Whose copies they are: the place that was catalogued first is the original, each other one is the
-- waste of the checkpoint that holds it. The sum is that of duplicate.wasted.
CREATE VIEW waste AS
WITH place AS (
  SELECT content, dtype, shape, nbytes, min(tensor_id) AS first
  FROM copy GROUP BY content, dtype, shape, place
), numbered AS (
  SELECT first >> 24 AS checkpoint_id, nbytes,
         row_number() OVER (PARTITION BY content, dtype, shape ORDER BY first) AS turn
  FROM place
)
SELECT n.checkpoint_id, l.name AS checkpoint, c.run, count(*) AS tensors, sum(n.nbytes) AS nbytes
FROM numbered n
JOIN checkpoints c ON c.id = n.checkpoint_id
JOIN labels l ON l.id = n.checkpoint_id
WHERE n.turn > 1
GROUP BY n.checkpoint_id;
