-- unlike.sql - unlike(a, b): the positions at which two checkpoints do not have tensors of the same name,
-- dtype, shape and (where both are known) hash. What is left is all that diff(a, b) can find different, and
-- mostly little: one walk over two lists that lie side by side.
-- columns: ord
-- parameters: :a, :b
WITH
  given(a, b) AS (SELECT :a, :b), -- their order as arguments
  -- Their layouts, how far the ids of these are apart, and the tensors of the first; NULL: no such checkpoint.
  side(a, b, apart, tensors) AS (
    SELECT x.layout, y.layout, ID_FIRST(y.layout - x.layout), coalesce(l.tensors, 0)
    FROM (SELECT 1) LEFT JOIN checkpoints x ON x.id = :a LEFT JOIN checkpoints y ON y.id = :b
    LEFT JOIN layouts l ON l.id = x.layout
  )
SELECT ID_ORD(x.id) AS ord
FROM side s
CROSS JOIN layout_tensors x ON s.apart IS NOT 0 AND x.id BETWEEN ID_FIRST(s.a) AND ID_LAST(s.a)
LEFT JOIN layout_tensors y ON y.id = x.id + s.apart
WHERE y.name IS NOT x.name OR y.dtype IS NOT x.dtype OR y.shape IS NOT x.shape
UNION
SELECT ID_ORD(y.id) FROM side s CROSS JOIN layout_tensors y ON y.id BETWEEN ID_FIRST(s.b) + s.tensors AND ID_LAST(s.b)
UNION
SELECT ID_ORD(h.id)
FROM tensor_hashes h CROSS JOIN tensor_hashes g ON g.id = h.id + ID_FIRST(:b - :a) AND g.hash <> h.hash
WHERE h.id BETWEEN ID_FIRST(:a) AND ID_LAST(:a)
