-- 12_leaf.sql - what a map sees of a checkpoint: its tensors and its null leaves, but no empty
-- containers. `place` sorts them in the file's order: tensor 5 has ID_FIRST(11), and the null
-- leaves between tensors 4 and 5 have ID_FIRST(10) + k. (+kind: without the +, SQLite would build
-- an index of the whole table on it rather than use the range of ids. +tensor_id has no affinity,
-- like NULL: if the affinities of the two halves differ, SQLite runs the view as a coroutine,
-- which takes three times as long.)
CREATE VIEW leaf AS
SELECT checkpoint_id, ID_FIRST(2 * ord + 1) AS place, name, +tensor_id AS tensor_id, dtype,
       shape
FROM _checkpoint_tensors
UNION ALL
SELECT c.id, ID_FIRST(2 * x.before) + ID_ORD(x.id), x.name, NULL, CAST(NULL AS TEXT),
       CAST(NULL AS TEXT)
FROM _checkpoints c
JOIN _layout_nodes x
  ON x.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
 AND c.layout = ID_OWNER(x.id)
WHERE +x.kind = 'null';
