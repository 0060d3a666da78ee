-- 10_views.sql - the public views that need nothing but SQLite 3.40.
--
-- A tensor's id is ID_FIRST(checkpoint) + ord (README.md, "Tables").
-- No JSON functions here: SQLite 3.40 refuses them in views where trusted_schema is off.

-- Each tensor of each checkpoint: its columns in the layout, its position there (ord), its id, and
-- the checkpoint's first id, from which its files are numbered. The views below are built on this
-- one. Both conditions of the join are needed: the range finds the tensors of a checkpoint;
-- ID_OWNER finds the checkpoints of a tensor that was found by its name. (SQLite omits a LEFT JOIN
-- if the query does not use its columns. It stands in the middle, since a view that ends in one is
-- computed as a whole where it is joined with something.)
CREATE VIEW _checkpoint_tensors AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint, c.path, c.placed, ID_FIRST(c.id) AS first_id,
       ID_FIRST(c.id) + ID_ORD(t.id) AS tensor_id, ID_ORD(t.id) AS ord, t.name,
       t.dtype, t.shape, t.elements, t.nbytes, t.module, t.storage, t.file, t.start, t.stored
FROM _checkpoints c
LEFT JOIN _labels l ON l.id = c.id
JOIN _layout_tensors t
  ON t.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
 AND c.layout = ID_OWNER(t.id);

-- Columns that few queries use (where the bytes are stored) come from scalar subqueries, not from
-- outer joins, so that an aggregate over the view does not compute them.
CREATE VIEW tensor AS
SELECT t.tensor_id AS id, t.checkpoint_id, t.checkpoint, t.path, t.ord, t.name, t.dtype, t.shape,
       iif(t.shape = '[]', 0, length(t.shape) - length(replace(t.shape, ',', '')) + 1)
         AS rank,
       t.elements,
       t.nbytes,
       iif(t.placed, (SELECT p.stored FROM _placements p WHERE p.id = t.tensor_id), t.stored)
         AS stored,
       CASE iif(t.placed, (SELECT p.storage FROM _placements p WHERE p.id = t.tensor_id),
                t.storage)
         WHEN 1 THEN 'range' WHEN 2 THEN 'pieces' WHEN 3 THEN 'chunks'
         WHEN 4 THEN 'inline' ELSE 'none' END AS storage,
       (SELECT f.path FROM _files f
        WHERE f.id = t.first_id + iif(t.placed,
            (SELECT p.file FROM _placements p WHERE p.id = t.tensor_id), t.file)) AS file,
       iif(t.placed,
           (SELECT p.start + f.base FROM _placements p
            JOIN _files f ON f.id = t.first_id + p.file
            WHERE p.id = t.tensor_id AND p.storage = 1),
           iif(t.storage = 1,
               t.start + (SELECT f.base FROM _files f WHERE f.id = t.first_id + t.file),
               NULL)) AS offset,
       (SELECT h.hash FROM _tensor_hashes x JOIN _content_hashes h ON h.id = x.hash
        WHERE x.id = t.tensor_id) AS hash
FROM _checkpoint_tensors t;

-- NOT INDEXED leaves the range of ids, where SQLite would build an index by key for the statement, and go
-- through all of a key for each checkpoint.
CREATE VIEW metadata AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint, m.key,
       coalesce(m.value, (SELECT t.text FROM _long_facts f JOIN _long_texts t ON t.id = f.text
                          WHERE f.id = m.id)) AS value
FROM _checkpoints c
JOIN _meta_facts m NOT INDEXED ON m.id BETWEEN ID_FIRST(c.meta) AND ID_LAST(c.meta)
LEFT JOIN _labels l ON l.id = c.id;
