-- 13_content.sql - hashes, as views.

-- The tensors of a hash: `WHERE hash = '…'` uses an index.
CREATE VIEW content AS
SELECT h.hash, x.id AS tensor_id, c.id AS checkpoint_id
FROM _checkpoints c
JOIN _tensor_hashes x
  ON x.id BETWEEN ID_FIRST(c.id) AND ID_LAST(c.id)
 AND c.id = ID_OWNER(x.id)
JOIN _content_hashes h ON h.id = x.hash;

-- Hashed tensors, and the place where the bytes of each begin. Tensors in hard links and symbolic
-- links to one file, and tied tensors of one file, have the same place. A place is an integer
-- where possible, because counting distinct texts takes longer than all the joins.
CREATE VIEW _place AS
WITH numbered AS (
  SELECT id, base, iif(inode IS NULL, NULL, dense_rank() OVER (ORDER BY device, inode)) AS number
  FROM _files
), store AS MATERIALIZED (
  SELECT id, base, number, iif(number >> 22, NULL, (number << 40) + base) AS place FROM numbered
)
SELECT x.hash AS content, t.dtype, t.shape, t.nbytes, x.id AS tensor_id, c.id AS checkpoint_id,
       CASE WHEN c.placed AND p.id IS NULL THEN 'tensor ' || x.id
            WHEN NOT c.placed AND t.storage <> 1 THEN -ID_FIRST(f.number) - ID_ORD(t.id)
            WHEN f.place IS NULL OR coalesce(p.start, t.start) + f.base >> 40
            THEN f.number || ':' || (coalesce(p.start, t.start) + f.base)
            ELSE f.place + coalesce(p.start, t.start) END AS place
FROM _tensor_hashes x
JOIN _checkpoints c ON c.id = ID_OWNER(x.id)
JOIN _layout_tensors t ON t.id = ID_FIRST(c.layout) + ID_ORD(x.id)
LEFT JOIN _placements p ON p.id = iif(c.placed, x.id, NULL) AND p.storage = 1
LEFT JOIN store f ON f.id = ID_FIRST(c.id) + coalesce(p.file, t.file, 0);

-- Checkpoints that may share bytes with others: one of their files has another name as well, or
-- its inode is not known.
CREATE VIEW _linked AS
SELECT DISTINCT ID_OWNER(f.id) AS checkpoint_id
FROM _files f LEFT JOIN (SELECT device, inode FROM _files GROUP BY device, inode HAVING count(*) > 1) l
  ON l.device = f.device AND l.inode = f.inode
WHERE l.inode IS NOT NULL OR f.inode IS NULL;

-- Contents that several tensors have. Usually they are `alike`: the same tensor of one layout
-- (frozen weights), or of one dtype and shape in several layouts, at most once in each. Then
-- each has a place of its own, except in linked files. (CROSS JOIN keeps the order of the index,
-- so that GROUP BY need not sort. iif() avoids look-ups if there are no links.)
CREATE VIEW _repeated AS
WITH same_bytes AS MATERIALIZED (
  SELECT x.hash, count(*) AS tensors, min(x.id) AS original,
         max(iif((SELECT count(*) FROM _linked), c.id IN (SELECT checkpoint_id FROM _linked), 0)) AS linked,
         min(ID_FIRST(c.layout) + ID_ORD(x.id)) AS first, max(ID_FIRST(c.layout) + ID_ORD(x.id)) AS last
  FROM _tensor_hashes x CROSS JOIN _checkpoints c ON c.id = ID_OWNER(x.id)
  WHERE x.hash IN (SELECT hash FROM _tensor_hashes GROUP BY hash HAVING count(*) > 1)
  GROUP BY x.hash
), several AS (
  SELECT DISTINCT x.hash, ID_FIRST(c.layout) + ID_ORD(x.id) AS layout_tensor
  FROM same_bytes s CROSS JOIN _tensor_hashes x ON x.hash = s.hash CROSS JOIN _checkpoints c ON c.id = ID_OWNER(x.id)
  WHERE s.first <> s.last
), kin AS (
  SELECT s.hash FROM several s CROSS JOIN _layout_tensors t ON t.id = s.layout_tensor
  GROUP BY s.hash
  HAVING count(*) = count(DISTINCT ID_OWNER(s.layout_tensor))
     AND count(*) = count(t.dtype) AND min(t.dtype) = max(t.dtype)
     AND count(*) = count(t.shape) AND min(t.shape) = max(t.shape)
)
SELECT hash AS content, tensors, original, first AS layout_tensor,
       first = last OR hash IN (SELECT hash FROM kin) AS alike, linked
FROM same_bytes;

-- Equal tensors that are stored more than once. Where contents are alike, places are looked up and
-- counted only in linked files, since only those can share one. Where they are not, the same bytes
-- may have several dtypes and shapes, which count separately.
CREATE VIEW duplicate AS
WITH r AS MATERIALIZED (SELECT content, tensors, layout_tensor, alike, linked FROM _repeated),
links AS MATERIALIZED (
  SELECT content, count(*) - count(DISTINCT place) AS tensors
  FROM _place
  WHERE content IN (SELECT content FROM r WHERE alike AND linked) AND checkpoint_id IN (SELECT checkpoint_id FROM _linked)
  GROUP BY content
), counted AS (
  SELECT r.content, t.dtype, t.shape, t.nbytes, r.tensors - coalesce(k.tensors, 0) AS copies,
         (SELECT group_concat(x.id) FROM _tensor_hashes x WHERE x.hash = r.content) AS tensors
  FROM r JOIN _layout_tensors t ON t.id = r.layout_tensor LEFT JOIN links k ON k.content = r.content
  WHERE r.alike
  UNION ALL
  SELECT content, dtype, shape, nbytes, count(DISTINCT place), group_concat(tensor_id)
  FROM _place
  WHERE content IN (SELECT content FROM r WHERE NOT alike)
  GROUP BY content, dtype, shape
)
SELECT (SELECT h.hash FROM _content_hashes h WHERE h.id = d.content) AS hash, d.dtype, d.shape, d.nbytes,
       d.copies, (d.copies - 1) * d.nbytes AS wasted, '[' || d.tensors || ']' AS tensor_ids
FROM counted d
WHERE d.copies > 1;

-- Duplicates by checkpoint: the place that was catalogued first is the original, and each other
-- one is waste of the checkpoint that holds it. The sum equals the sum of duplicate.wasted.
CREATE VIEW waste AS
WITH r AS MATERIALIZED (SELECT content, original, layout_tensor, alike, linked FROM _repeated),
links AS (
  SELECT tensor_id, row_number() OVER (PARTITION BY content, place ORDER BY tensor_id) AS turn
  FROM _place
  WHERE content IN (SELECT content FROM r WHERE alike AND linked) AND checkpoint_id IN (SELECT checkpoint_id FROM _linked)
), stored AS (
  SELECT content, dtype, shape, nbytes, min(tensor_id) AS first
  FROM _place
  WHERE content IN (SELECT content FROM r WHERE NOT alike)
  GROUP BY content, dtype, shape, place
), numbered AS (
  SELECT first, nbytes, row_number() OVER (PARTITION BY content, dtype, shape ORDER BY first) AS turn
  FROM stored
), wasted AS (
  SELECT ID_OWNER(x.id) AS checkpoint_id, t.nbytes
  FROM r JOIN _layout_tensors t ON t.id = r.layout_tensor
  CROSS JOIN _tensor_hashes x ON x.hash = r.content AND x.id > r.original
  WHERE r.alike AND (NOT r.linked OR x.id NOT IN (SELECT tensor_id FROM links WHERE turn > 1))
  UNION ALL
  SELECT ID_OWNER(first), nbytes FROM numbered WHERE turn > 1
), summed AS (
  SELECT checkpoint_id, count(*) AS tensors, sum(nbytes) AS nbytes FROM wasted GROUP BY checkpoint_id
)
SELECT s.checkpoint_id, l.name AS checkpoint, l.run, s.tensors, s.nbytes
FROM summed s
JOIN _labels l ON l.id = s.checkpoint_id;
