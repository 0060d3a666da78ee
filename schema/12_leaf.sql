-- 12_leaf.sql - what a map sees of a checkpoint: its tensors and its null leaves, in the
-- file's order, which is that of `place`. Empty containers take no part. (+kind: SQLite
-- would rather make an index of the whole table on it than take the range of ids. +tensor_id has
-- no affinity, as NULL has none: where columns of the two sides differ in that, SQLite hands
-- each row from the view to the query, which takes three times as long.)
CREATE VIEW leaf AS
SELECT checkpoint_id, ID_FIRST(2 * ord + 1) AS place, name, +tensor_id AS tensor_id, dtype,
       shape
FROM checkpoint_tensors
UNION ALL
SELECT c.id, ID_FIRST(2 * x.before) + ID_ORD(x.id), x.name, NULL, CAST(NULL AS TEXT),
       CAST(NULL AS TEXT)
FROM checkpoints c
JOIN layout_nodes x
  ON x.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
 AND c.layout = ID_OWNER(x.id)
WHERE +x.kind = 'null';
