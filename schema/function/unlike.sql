-- unlike.sql - unlike(a, b): pairs of tensors of two checkpoints that are not the same, by their
-- positions: one of a and the one of b at its place, or one alone. All other pairs have the same name,
-- dtype, shape and (if both are known) hash. The result contains everything that diff(a, b) can
-- find different, and usually little else.
--
-- `run` says which runs of tensors are at corresponding places. In a run that is `alike`, tensors
-- can differ in their hashes only: the digests of their blocks are equal, or they are of one
-- layout. The other runs are read and compared.
-- columns: ord_a, ord_b
-- parameters: :a, :b
WITH
  given(a, b) AS (SELECT :a, :b), -- argument order
  side(a, b, runs) AS (
    SELECT x.layout, y.layout,
           iif(x.layout = y.layout, json_array(json_array(0, l.tensors, 0, l.tensors, 1)),
               block_runs(p.blocks, coalesce(l.tensors, 0), q.blocks, coalesce(m.tensors, 0)))
    FROM (SELECT 1) LEFT JOIN _checkpoints x ON x.id = :a LEFT JOIN _checkpoints y ON y.id = :b
    LEFT JOIN _layouts l ON l.id = x.layout LEFT JOIN _layouts m ON m.id = y.layout
    LEFT JOIN _layout_blocks p ON p.id = x.layout LEFT JOIN _layout_blocks q ON q.id = y.layout
  ),
  run(a, b, at_a, rows_a, at_b, rows_b, alike) AS MATERIALIZED (
    SELECT s.a, s.b, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM side s CROSS JOIN json_each(runs)
  )
SELECT ID_ORD(x.id) AS ord_a, ID_ORD(y.id) AS ord_b
FROM run r
CROSS JOIN _layout_tensors x ON NOT alike AND x.id BETWEEN ID_FIRST(r.a) + at_a AND ID_FIRST(r.a) + at_a + rows_a - 1
LEFT JOIN _layout_tensors y ON y.id = ID_FIRST(r.b) + at_b + iif(ID_ORD(x.id) - at_a < rows_b, ID_ORD(x.id) - at_a, NULL)
WHERE y.name IS NOT x.name OR y.dtype IS NOT x.dtype OR y.shape IS NOT x.shape
UNION
SELECT NULL, ID_ORD(y.id)
FROM run r CROSS JOIN _layout_tensors y
ON NOT alike AND y.id BETWEEN ID_FIRST(r.b) + at_b + rows_a AND ID_FIRST(r.b) + at_b + rows_b - 1
UNION
SELECT ID_ORD(h.id), ID_ORD(g.id)
FROM run r
CROSS JOIN _tensor_hashes h ON h.id BETWEEN ID_FIRST(:a) + at_a AND ID_FIRST(:a) + at_a + min(rows_a, rows_b) - 1
CROSS JOIN _tensor_hashes g ON g.id = h.id + ID_FIRST(:b - :a) + at_b - at_a AND g.hash <> h.hash
