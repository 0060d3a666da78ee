-- unlike.sql - unlike(a, b): the positions at which two checkpoints do not have tensors of the same name,
-- dtype, shape and (where both are known) hash. What is left is all that diff(a, b) can find different, and
-- mostly little: one walk over two lists that lie side by side.
-- columns: ord
-- parameters: :a, :b
WITH
  given(a, b) AS (SELECT :a, :b), -- their order as arguments
  -- Where their layouts' tensors begin, and how far apart these are; NULL: there is no such checkpoint.
  side(a, b, apart, tensors) AS (
    SELECT x.layout << 24, y.layout << 24, (y.layout - x.layout) << 24, coalesce(l.tensors, 0)
    FROM (SELECT 1) LEFT JOIN checkpoints x ON x.id = :a LEFT JOIN checkpoints y ON y.id = :b
    LEFT JOIN layouts l ON l.id = x.layout
  )
SELECT x.id - s.a AS ord
FROM side s
CROSS JOIN layout_tensors x ON s.apart IS NOT 0 AND x.id BETWEEN s.a AND s.a + 16777215
LEFT JOIN layout_tensors y ON y.id = x.id + s.apart
WHERE y.name IS NOT x.name OR y.dtype IS NOT x.dtype OR y.shape IS NOT x.shape
UNION
SELECT y.id - s.b FROM side s CROSS JOIN layout_tensors y ON y.id BETWEEN s.b + s.tensors AND s.b + 16777215
UNION
SELECT h.id & 16777215
FROM tensor_hashes h CROSS JOIN tensor_hashes g ON g.id = h.id + ((:b - :a) << 24) AND g.hash <> h.hash
WHERE h.id BETWEEN :a << 24 AND (:a << 24) + 16777215
